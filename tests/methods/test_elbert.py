"""The streams, bias and advantage of ELBERT-PO compared with the formula in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods.elbert import Config, State, build
from tests.methods.batches import group_batch, random_batch

TWO = bisimulator.make("lending", population=6, horizon=100)
THREE = bisimulator.make("lending", groups=3, population=6, horizon=100)


def learned(method, env, batch):
    @jax.jit
    def learn(batch):
        return method.learn(jax.random.key(0), method.init(jax.random.key(0), env, 3), batch)[0]

    return learn(batch)


def test_streams_are_demand_and_benefit_of_every_group():
    batch, method = random_batch(0, groups=3), build(Config(), THREE)
    streams = np.asarray(method.streams(None, batch))
    assert method.num_streams(THREE) == streams.shape[-1] == 6
    for g in range(3):
        demand = np.asarray(batch.qualified & (batch.group == g))
        np.testing.assert_array_equal(streams[..., g], demand)
        np.testing.assert_array_equal(streams[..., 3 + g], demand & (np.asarray(batch.action) == 1))


def test_rates_are_recalls_of_the_batch_and_memory_adds_earlier_batches():
    batch = random_batch(1)
    state = learned(build(Config(memory=0.0), TWO), TWO, batch)
    for g in range(2):
        demand = np.asarray(batch.qualified & (batch.group == g))
        assert state.rates[g] == pytest.approx(np.asarray(batch.action)[demand].mean())
    method = build(Config(memory=0.5), TWO)
    twice, _ = method.learn(jax.random.key(0), learned(method, TWO, batch), batch)
    np.testing.assert_allclose(twice.demand, 1.5 * state.demand)


@pytest.mark.parametrize(("env", "groups"), [(TWO, 2), (THREE, 3)])
def test_the_advantage_agrees_with_the_formula(env, groups):
    method = build(Config(a=5000.0, beta=5.0), env)
    state = learned(method, env, random_batch(2, steps=40, groups=groups))
    rng = np.random.default_rng(0)
    raw = rng.normal(size=(16, 1 + 2 * groups)).astype(np.float32)
    each = (raw - raw.mean(0)) / raw.std(0)
    b, u = (
        np.asarray(state.demand) * 5000 * groups / float(state.decisions),
        np.asarray(state.benefit) * 5000 * groups / float(state.decisions),
    )

    def squared_bias(u):
        z = u / b
        if groups == 2:
            return (z.max() - z.min()) ** 2
        return ((np.log(np.exp(5 * z).sum()) + np.log(np.exp(-5 * z).sum())) / 5) ** 2

    expected = each[:, 0].astype(np.float64)
    for g in range(groups):
        step = np.zeros(groups)
        step[g] = 1e-4 * b[g]
        slope = (squared_bias(u + step) - squared_bias(u - step)) / 2e-4  # d bias^2 / d z_g
        expected -= 5000.0 * slope * (each[:, 1 + groups + g] / b[g] - u[g] / b[g] ** 2 * each[:, 1 + g])
    got = jax.jit(method.advantage)(state, raw, ())
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def test_a_group_without_demand_does_not_change_the_advantage():
    method = build(Config(), TWO)
    state = State(demand=jnp.array([10.0, 0.0]), benefit=jnp.array([5.0, 0.0]), decisions=jnp.float32(20))
    raw = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
    advantage = jax.jit(method.advantage)(state, raw, ())
    assert np.isfinite(advantage).all()
    np.testing.assert_allclose(advantage, (raw[:, 0] - raw[:, 0].mean()) / raw[:, 0].std(), atol=1e-4)


@pytest.mark.parametrize("wrong", [{"a": -1}, {"beta": 0}, {"memory": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)


def test_decisions_about_all_groups_have_the_supply_and_demand_of_an_episode():
    env = bisimulator.make("infectious", horizon=40)
    method, batch = build(Config(a=50.0), env), group_batch(3)
    streams = np.asarray(method.streams(None, batch))
    supply, demand = (np.asarray(batch.tallies[name]) for name in ("supply", "demand"))
    np.testing.assert_array_equal(streams, np.concatenate([demand, supply], -1))
    state = learned(method, env, batch)
    raw = np.random.default_rng(0).normal(size=(16, 5)).astype(np.float32)
    each = (raw - raw.mean(0)) / raw.std(0)
    b, u = (40 * x.mean((0, 1)) for x in (demand, supply))
    z = u / b
    slope = 2 * (z[0] - z[1]) * np.array([1, -1])
    expected = each[:, 0] - 50 * ((each[:, 3:] / b - u / b**2 * each[:, 1:3]) @ slope)
    got = jax.jit(method.advantage)(state, raw, ())
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4)
