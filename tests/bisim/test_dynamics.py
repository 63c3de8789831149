"""The dynamics model and J_dyn compared with closed forms and a transition with known parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import ot
import pytest

from bisimulator.bisim.dynamics import fit, j_dyn, make_dynamics, nll, predict, straight_through, w2
from bisimulator.policies.networks import MLP


def test_w2_of_one_feature_is_the_distance_between_quantile_functions():
    """Two samples of the same 4000 normal quantiles; in one dimension the optimal plan is sorted (POT)."""
    z = np.asarray(jax.scipy.stats.norm.ppf((np.arange(4000) + 0.5) / 4000), np.float64)
    for mean_a, sd_a, mean_b, sd_b in [(0.0, 1.0, 0.5, 0.3), (2.0, 0.1, -1.0, 0.1), (0.0, 1.0, 0.0, 2.0)]:
        sampled = np.sqrt(ot.wasserstein_1d(mean_a + sd_a * z, mean_b + sd_b * z, p=2))
        closed = jax.jit(w2)(jnp.array([mean_a]), jnp.array([sd_a]), jnp.array([mean_b]), jnp.array([sd_b]))
        assert float(closed) == pytest.approx(float(sampled), rel=1e-3)


def test_w2_of_several_features_is_the_distance_between_normal_distributions():
    """POT's closed form for any covariance, here diagonal ones."""
    rng = np.random.default_rng(0)
    mean_a, mean_b = rng.normal(size=(2, 5, 3))
    sd_a, sd_b = rng.uniform(0.1, 2, size=(2, 5, 3))
    got = jax.jit(w2)(*(jnp.asarray(x, jnp.float32) for x in (mean_a, sd_a, mean_b, sd_b)))
    expected = [
        ot.gaussian.bures_wasserstein_distance(
            mean_a[i], mean_b[i], np.diag(sd_a[i] ** 2), np.diag(sd_b[i] ** 2)
        )
        for i in range(5)
    ]
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_straight_through_rounds_and_passes_the_gradient():
    x = jnp.array([0.1, 0.3, 0.62])
    grid = jnp.array([0.25, 0.25, 0.0])
    np.testing.assert_allclose(straight_through(x, grid), [0, 0.25, 0.62], atol=1e-6)
    gradient = jax.grad(lambda x: (straight_through(x, grid) * jnp.array([1.0, 2.0, 3.0])).sum())(x)
    np.testing.assert_array_equal(gradient, [1, 2, 3])


FEATURES, ACTIONS = 2, 2


def linear_model(change, log_sd, by_action):
    """T_psi with one linear layer: next = obs + change + by_action * action, standard deviations exp(log_sd)."""
    weights = np.zeros((FEATURES + ACTIONS, 2 * FEATURES), np.float32)
    weights[FEATURES + 1, :FEATURES] = by_action
    return MLP([jnp.asarray(weights)], [jnp.asarray([*change, *log_sd], jnp.float32)])


def test_predictions_are_a_change_of_the_observation_with_bounded_standard_deviations():
    psi = linear_model((0.25, -0.5), (0.0, -100.0), (1.0, 0.0))
    obs = jnp.array([[0.5, 1.0], [0.0, 2.0]])
    mean, sd = jax.jit(predict)(psi, obs, jnp.array([0, 1]))
    np.testing.assert_allclose(mean, [[0.75, 0.5], [1.25, 1.5]])
    np.testing.assert_allclose(sd[:, 0], 1)
    assert 0 < float(sd[0, 1]) < 0.01  # never 0: the likelihood would be infinite


def test_nll_and_its_gradient_are_those_of_a_normal_density():
    rng = np.random.default_rng(1)
    obs, next_obs = rng.normal(size=(2, 30, FEATURES)).astype(np.float32)
    action, weight = rng.integers(0, ACTIONS, 30), rng.integers(0, 3, 30).astype(np.float32)
    change, log_sd, by_action = np.array([0.1, -0.2]), np.array([0.2, -0.7]), np.array([0.5, 0.25])
    psi = linear_model(change, log_sd, by_action)
    value, gradient = jax.jit(jax.value_and_grad(nll))(
        psi, jnp.asarray(obs), jnp.asarray(action), jnp.asarray(next_obs), weight=jnp.asarray(weight)
    )
    error = (next_obs - obs - change - by_action * action[:, None]) / np.exp(log_sd)
    share = (weight / weight.sum())[:, None]
    assert float(value) == pytest.approx(((error**2 / 2 + log_sd) * share).sum(), rel=1e-5)
    expected = [*(-error / np.exp(log_sd) * share).sum(0), *((1 - error**2) * share).sum(0)]
    np.testing.assert_allclose(gradient.biases[0], expected, rtol=1e-4, atol=1e-5)


def test_nll_with_a_grid_uses_the_rounded_mean():
    obs, action = jnp.zeros((1, FEATURES)), jnp.zeros(1, jnp.int32)
    psi = linear_model((0.4, 0.4), (0.0, 0.0), (0.0, 0.0))
    observed = jnp.array([[0.5, 0.5]])
    compiled = jax.jit(nll)
    rounded = compiled(psi, obs, action, observed, grid=jnp.array([0.5, 0.0]))
    assert float(rounded) == pytest.approx(0.5 * 0.1**2, abs=1e-7)
    assert float(compiled(psi, obs, action, observed)) == pytest.approx(2 * 0.5 * 0.1**2, abs=1e-7)


def test_fit_recovers_a_known_linear_gaussian_transition():
    """next = .8 obs + .3 action + noise of sd .1 and .2; invalid decisions contain nonsense."""
    rng = np.random.default_rng(2)
    size = 4000
    obs, action = rng.uniform(-1, 1, size=(size, FEATURES)), rng.integers(0, ACTIONS, size)
    valid = rng.random(size) < 0.8
    noise = rng.normal(size=(size, FEATURES)) * [0.1, 0.2]
    next_obs = np.where(valid[:, None], 0.8 * obs + 0.3 * action[:, None] + noise, 50.0)
    data = [jnp.asarray(obs, jnp.float32), jnp.asarray(action), jnp.asarray(next_obs, jnp.float32)]
    psi = jax.jit(lambda key: make_dynamics(key, FEATURES, ACTIONS, (16,)))(jax.random.key(0))
    trained = jax.jit(
        lambda psi, *data: fit(
            psi,
            optax.adam(3e-3).init(psi),
            jax.random.key(1),
            *data,
            steps=1500,
            minibatch=256,
            learning_rate=3e-3,
            valid=jnp.asarray(valid),
        )[0]
    )(psi, *data)
    at = np.array([[-0.5, 0.5], [0.0, 0.0], [0.5, -0.25]], np.float32)
    for a in range(ACTIONS):
        mean, sd = jax.jit(predict)(trained, jnp.asarray(at), jnp.full(3, a))
        np.testing.assert_allclose(mean, 0.8 * at + 0.3 * a, atol=0.05)
        np.testing.assert_allclose(sd, np.tile([0.1, 0.2], (3, 1)), rtol=0.15)


GROUPS = 2


def people(shift):
    """The same 40 people twice, once as group 0 and once as group 1, whose scores are `shift` higher."""
    rng = np.random.default_rng(3)
    score, other = rng.permutation(40) / 40, rng.random(40)
    rows = [
        np.concatenate(
            [(score + g * shift)[:, None], np.tile(np.eye(GROUPS)[g], (40, 1)), other[:, None]], -1
        )
        for g in range(GROUPS)
    ]
    return (
        jnp.asarray(np.concatenate(rows), jnp.float32),
        jnp.asarray(np.tile(rng.integers(0, ACTIONS, 40), GROUPS)),
        jnp.asarray(np.repeat(np.arange(GROUPS), 40)),
    )


def blind_model(by_group=(0.0, 0.0), sd_by_group=(0.0, 0.0)):
    """T_psi of observation (score, one-hot, one more) that adds `by_group` to the score."""
    size = 2 + GROUPS
    weights = np.zeros((size + ACTIONS, 2 * size), np.float32)
    weights[1 : 1 + GROUPS, 0] = by_group
    weights[1 : 1 + GROUPS, size] = sd_by_group
    return MLP([jnp.asarray(weights)], [jnp.asarray(np.repeat([0.0, -2.0], size), jnp.float32)])


@jax.jit
def compiled_loss(psi, obs, action, group, valid):
    return j_dyn(psi, jax.random.key(0), obs, action, group, gamma=0.9, num_groups=GROUPS, valid=valid)


def loss(psi, obs, action, group, valid=None):
    return float(compiled_loss(psi, obs, action, group, valid))


def test_j_dyn_is_0_for_groups_with_the_same_dynamics():
    assert loss(blind_model(), *people(0.0)) == pytest.approx(0, abs=1e-6)


def test_j_dyn_grows_with_the_distance_between_next_observations():
    """All quantiles of one group lie `shift` higher, so W2 is the shift and J_dyn gamma times it."""
    for shift in (0.1, 0.2, 0.4):
        assert loss(blind_model(), *people(shift)) == pytest.approx(0.9 * shift, rel=1e-4)
    for shift in (0.1, 0.2, 0.4):
        assert loss(blind_model((0.0, shift)), *people(0.0)) == pytest.approx(0.9 * shift, rel=1e-4)


def test_j_dyn_depends_on_differences_of_the_standard_deviation():
    assert loss(blind_model(sd_by_group=(0.0, 0.5)), *people(0.0)) > 0.01


def test_j_dyn_ignores_group_entries_and_invalid_decisions():
    psi = blind_model()
    # a model that predicts other one-hot entries for group 1: they differ by definition and do not count
    other_one_hot = MLP([psi.weights[0].at[2, 1].set(7.0)], psi.biases)
    assert loss(other_one_hot, *people(0.0)) == pytest.approx(0, abs=1e-6)
    obs, action, group = people(0.0)
    valid = jnp.arange(80) % 40 < 30
    far = jnp.where(valid[:, None], obs, 99.0)
    assert loss(psi, far, action, group, valid) == pytest.approx(0, abs=1e-6)


def test_j_dyn_is_0_if_a_group_is_absent():
    obs, action, group = people(0.3)
    assert loss(blind_model(), obs, action, group, group == 0) == 0
