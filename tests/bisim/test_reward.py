"""The loss of the reward correction compared with a NumPy computation of eq. (8), and the gauges."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.bisim import reward
from bisimulator.bisim.reward import corrected_reward, corrections, mean_square_correction
from bisimulator.policies.networks import make_mlp

gauge_offset, j_rew = eqx.filter_jit(reward.gauge_offset), eqx.filter_jit(reward.j_rew)

SIZE, GROUPS, ACTIONS, ALPHA = 60, 3, 2, 1.7


@pytest.fixture(scope="module")
def batch():
    rng = np.random.default_rng(3)
    group = rng.integers(0, GROUPS, SIZE)
    score = rng.permutation(SIZE) / SIZE  # no ties, so the matching is deterministic
    obs = np.concatenate([score[:, None], np.eye(GROUPS)[group], rng.random((SIZE, 2))], -1)
    return {
        "obs": jnp.asarray(obs, jnp.float32),
        "action": jnp.asarray(rng.integers(0, ACTIONS, SIZE)),
        "reward": jnp.asarray(rng.normal(size=SIZE), jnp.float32),
        "group": jnp.asarray(group),
    }


@pytest.fixture(scope="module")
def phi():
    return make_mlp(jax.random.key(7), 1 + GROUPS + 2, (8,), ACTIONS, 1.0)


def mlp_by_hand(phi, x):
    (w0, w1), (b0, b1) = (
        [np.asarray(v, np.float64) for v in phi.weights],
        [np.asarray(v) for v in phi.biases],
    )
    return np.tanh(np.asarray(x, np.float64) @ w0 + b0) @ w1 + b1


def j_rew_by_hand(phi, batch, quantiles, same_action, valid):
    """Eq. (8) with quantile means: |mean R_i - mean R_j| for every pair of groups and every quantile."""
    action, group = np.asarray(batch["action"]), np.asarray(batch["group"])
    correction = mlp_by_hand(phi, batch["obs"])[np.arange(SIZE), action]
    total = np.asarray(batch["reward"], np.float64) + ALPHA * correction
    score = np.asarray(batch["obs"])[:, 0]
    loss = 0.0
    for cell in range(ACTIONS) if same_action else [None]:
        quantiles_of = []
        for g in range(GROUPS):
            who = np.flatnonzero((group == g) & valid & ((action == cell) if cell is not None else True))
            who = who[np.argsort(score[who])]
            quantile = np.arange(len(who)) * quantiles // max(len(who), 1)
            quantiles_of.append([total[who[quantile == q]] for q in range(quantiles)])
        for i in range(GROUPS):
            for j in range(i):
                for a, b in zip(quantiles_of[i], quantiles_of[j], strict=True):
                    if len(a) and len(b):
                        loss += abs(a.mean() - b.mean())
    return loss


@pytest.mark.parametrize("same_action", [True, False])
@pytest.mark.parametrize(("quantiles", "share"), [(4, 1.0), (6, 0.6), (1, 0.6)])
def test_j_rew_is_equation_8(phi, batch, quantiles, same_action, share):
    valid = np.arange(SIZE) < share * SIZE
    got = j_rew(
        phi,
        jax.random.key(0),
        **batch,
        alpha=ALPHA,
        num_groups=GROUPS,
        quantiles=quantiles,
        same_action=same_action,
        valid=None if share == 1 else jnp.asarray(valid),
    )
    np.testing.assert_allclose(got, j_rew_by_hand(phi, batch, quantiles, same_action, valid), rtol=1e-4)


def test_j_rew_allows_an_absent_group_and_an_absent_action(phi, batch):
    valid = (np.asarray(batch["group"]) != 1) & (np.asarray(batch["action"]) == 0)
    got, gradient = jax.value_and_grad(j_rew)(
        phi, jax.random.key(0), **batch, alpha=ALPHA, num_groups=GROUPS, valid=jnp.asarray(valid)
    )
    np.testing.assert_allclose(got, j_rew_by_hand(phi, batch, 4, True, valid), rtol=1e-4)
    assert all(np.isfinite(g).all() for g in jax.tree.leaves(gradient))


def test_j_rew_of_one_group_is_0(phi, batch):
    alone = {**batch, "group": jnp.zeros_like(batch["group"])}
    value, gradient = jax.value_and_grad(j_rew)(phi, jax.random.key(0), **alone, alpha=ALPHA, num_groups=1)
    assert value == 0
    assert all((np.asarray(g) == 0).all() for g in jax.tree.leaves(gradient))


def shifted(phi, shift):
    """R_phi plus a constant for each action."""
    biases = [*phi.biases[:-1], phi.biases[-1] + jnp.asarray(shift, jnp.float32)]
    return type(phi)(phi.weights, biases, phi.input_scale)


def test_j_rew_is_invariant_to_a_constant_per_action_if_actions_are_matched(phi, batch):
    def loss(phi, same_action):
        return j_rew(phi, jax.random.key(0), **batch, alpha=ALPHA, num_groups=GROUPS, same_action=same_action)

    moved = shifted(phi, [-3.0, 5.0])
    np.testing.assert_allclose(loss(moved, True), loss(phi, True), rtol=1e-5)
    assert abs(float(loss(moved, False) - loss(phi, False))) > 0.1


def test_the_corrected_reward_is_equation_9(phi, batch):
    offset = jnp.array([0.3, -0.2])
    got = corrected_reward(phi, offset, batch["obs"], batch["action"], batch["reward"], ALPHA)
    action = np.asarray(batch["action"])
    correction = mlp_by_hand(phi, batch["obs"])[np.arange(SIZE), action] - np.asarray(offset)[action]
    np.testing.assert_allclose(got, np.asarray(batch["reward"]) + ALPHA * correction, rtol=1e-4, atol=1e-5)


def group_means(phi, batch, offset):
    """m_a: the mean correction of each action over the people of the batch, groups weighted equally."""
    out = np.asarray(corrections(phi, batch["obs"], offset), np.float64)
    group = np.asarray(batch["group"])
    return np.mean([out[group == g].mean(0) for g in np.unique(group)], 0)


def test_the_mean_square_counts_actions_that_were_not_taken(phi, batch):
    by_hand = (ALPHA * mlp_by_hand(phi, batch["obs"])) ** 2
    found = mean_square_correction(phi, batch["obs"], ALPHA)
    np.testing.assert_allclose(found, by_hand.sum(-1).mean(), rtol=1e-5)


def offset_of(phi, batch, gauge, kappa=0.25, num_groups=GROUPS):
    return gauge_offset(phi, batch["obs"], batch["group"], gauge=gauge, kappa=kappa, num_groups=num_groups)


def test_the_free_gauge_does_not_change_the_correction(phi, batch):
    np.testing.assert_array_equal(offset_of(shifted(phi, [2.0, -2.0]), batch, "free"), [0, 0])


def test_the_centred_gauge_makes_every_action_neutral(phi, batch):
    moved = shifted(phi, [2.0, -2.0])
    np.testing.assert_allclose(group_means(moved, batch, offset_of(moved, batch, "centred")), 0, atol=1e-5)


def test_the_raising_gauge_takes_from_no_group_and_gives_one_nothing(phi, batch):
    moved = shifted(phi, [2.0, -2.0])
    out = np.asarray(mlp_by_hand(moved, batch["obs"])) - np.asarray(offset_of(moved, batch, "raising"))
    group = np.asarray(batch["group"])
    means = np.array([out[group == g].mean(0) for g in range(GROUPS)])
    assert means[:, 0].mean() == pytest.approx(0, abs=1e-5)
    assert (means[:, 1] - means[:, 0]).min() == pytest.approx(0, abs=1e-5)


def test_the_raising_gauge_adds_nothing_if_groups_are_alike(phi, batch):
    """It pays for what groups differ in, and is not a bonus for accepting."""
    alike = {
        "obs": jnp.concatenate([batch["obs"]] * 2),
        "group": jnp.repeat(jnp.arange(2), len(batch["obs"])),
    }
    moved = shifted(phi, [2.0, -2.0])
    centred, raising = (offset_of(moved, alike, gauge, num_groups=2) for gauge in ("centred", "raising"))
    np.testing.assert_allclose(raising, centred, atol=1e-5)


def test_the_kappa_gauge_favours_accepting_by_kappa(phi, batch):
    moved = shifted(phi, [2.0, -2.0])
    means = group_means(moved, batch, offset_of(moved, batch, "kappa"))
    np.testing.assert_allclose(means, [0, 0.25], atol=1e-5)


def test_the_one_sided_gauge_raises_accepting_if_the_correction_favours_rejecting(phi, batch):
    moved = shifted(phi, [2.0, -2.0])
    offset = offset_of(moved, batch, "one-sided")
    assert offset[0] == 0
    reject, accept = group_means(moved, batch, offset)
    assert accept == pytest.approx(reject, abs=1e-5)


def test_the_one_sided_gauge_does_not_change_a_correction_that_favours_accepting(phi, batch):
    np.testing.assert_array_equal(offset_of(shifted(phi, [-2.0, 2.0]), batch, "one-sided"), [0, 0])


@pytest.mark.parametrize("gauge", ["centred", "raising", "kappa", "one-sided"])
def test_groups_are_weighted_equally_however_many_decisions_they_have(phi, batch, gauge):
    """Repeating the people of group 0 ten times changes nothing, and groups without people do not count."""
    moved = shifted(phi, [2.0, -2.0])
    repeats = np.where(np.asarray(batch["group"]) == 0, 10, 1)
    repeated = {k: jnp.asarray(np.repeat(np.asarray(v), repeats, 0)) for k, v in batch.items()}
    once = offset_of(moved, batch, gauge)
    np.testing.assert_allclose(offset_of(moved, repeated, gauge), once, atol=1e-4)
    np.testing.assert_allclose(offset_of(moved, batch, gauge, num_groups=GROUPS + 2), once, atol=1e-6)
