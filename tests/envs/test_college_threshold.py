"""College-threshold compared with a NumPy implementation and with closed forms, and what its juries learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import bisimulator
from bisimulator.envs import college_threshold
from bisimulator.policies import juries
from bisimulator.policies.rules import rule_policy
from tests.messages import refused

# of the authors' experiments, with steeper prices than their defaults
EXPERIMENT = {"score_mean": (0.5, 0.5), "score_sd": 0.1, "group_probs": (0.5, 0.5), "costs": (5.0, 10.0)}


def reacting(scores, groups, threshold, costs, *, benefit=1.0, epsilon=0.0, max_raise=1.0):
    """The authors' rule for each applicant in turn: scores as presented, and what is paid."""
    shown, paid = [], []
    for score, group in zip(scores, groups, strict=True):
        cost = (threshold - score) * costs[group]
        worth = score < threshold and benefit * (1 - epsilon) - cost >= 0
        raises = worth and cost < max_raise * costs[group] + 1e-6
        shown.append(threshold if raises else score)
        paid.append(cost if raises else 0.0)
    return np.array(shown), np.array(paid)


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.4}, {"max_raise": 0.1}, {"benefit": 0.5}])
def test_applicants_raise_their_scores_if_it_is_worth_it(options):
    params = bisimulator.make("college-threshold", costs=(2.0, 5.0), **options).params
    rng = np.random.default_rng(0)
    scores, groups = rng.random(200).astype(np.float32), rng.integers(0, 2, 200)
    threshold = np.float32(0.6)
    shown, paid, needed = college_threshold.raise_scores(
        jnp.asarray(scores), jnp.asarray(groups), threshold, jnp.full(200, threshold), params
    )
    expected, cost = reacting(scores, groups, threshold, (2.0, 5.0), **options)
    np.testing.assert_allclose(shown, expected)
    np.testing.assert_allclose(paid, cost, rtol=1e-5)
    price = np.maximum(threshold - scores, 0) * np.array([2.0, 5.0])[groups]
    np.testing.assert_allclose(needed, price, rtol=1e-5, atol=1e-6)
    assert 0 < (paid > 0).sum() < (scores < threshold).sum()


def test_a_round_adds_up():
    env = bisimulator.make("college-threshold", costs=(2.0, 5.0), rewards=(1.0, -2.0, 3.0, -4.0), epsilon=0.2)
    state = jax.jit(env.reset)(jax.random.key(0))
    assert not np.asarray(env.observe(state)).any()
    after, step = jax.jit(env.step)(jax.random.key(1), state, jnp.array([0.7]))
    seen = college_threshold.last_round(step.obs, env.params)
    true, group = np.asarray(after.true_score), np.asarray(seen.group)
    eligible = true >= np.array([0.88, 0.66], np.float32)[group]
    admitted = np.asarray(seen.admitted)
    np.testing.assert_array_equal(seen.eligible, eligible & admitted)
    assert admitted[np.asarray(seen.score) >= 0.7].all()
    table = np.array([[3.0, -4.0], [-2.0, 1.0]])  # by admitted and eligible
    each = {
        "reward": table[admitted.astype(int), eligible.astype(int)] / 20,
        "supply": admitted & eligible,
        "demand": eligible,
        "applied": np.ones(20),
        "correct": admitted == eligible,
    }
    for name, values in each.items():
        expected = [values[group == g].sum() for g in range(2)]
        np.testing.assert_allclose(step.tallies[name], expected, rtol=1e-5, atol=1e-6)
    raised = np.asarray(seen.score) != true
    np.testing.assert_array_equal(
        step.tallies["burdened"], [(raised & (group == g) & admitted).sum() for g in range(2)]
    )


def exact(threshold, mean, sd, cost, factor=1.1):
    """Accuracy, and the mean cost of eligible applicants, of a group under a fixed threshold, without noise."""
    score, level = stats.norm(mean, sd), factor * mean
    admitted_from = threshold - 1 / cost  # who is farther below does not raise the score
    accuracy = 1 - abs(score.cdf(level) - score.cdf(admitted_from))
    grid = np.linspace(level, max(threshold, level), 4001)
    price = np.trapezoid((threshold - grid) * cost * score.pdf(grid), grid) / score.sf(level)
    return accuracy, price


@pytest.mark.parametrize("threshold", [0.62, 0.75])
def test_a_fixed_threshold_has_its_exact_accuracy_and_burden(threshold):
    env = bisimulator.make("college-threshold", **EXPERIMENT, horizon=200)
    policy = rule_policy("fixed-jury", env, juries.FixedConfig(threshold))
    columns = bisimulator.evaluate(env, policy, seeds=4, episodes=20).episodes
    for g, cost in enumerate((5.0, 10.0)):
        accuracy, price = exact(threshold, 0.5, 0.1, cost)
        for name, expected in (("accuracy", accuracy), ("eligible_burden", price)):
            values = columns[f"{name}_g{g + 1}"]
            assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(values.size) + 1e-4
    assert (columns["social_burden_g1"] <= 1 + 1e-6).all()  # nobody pays more than admission is worth


def test_a_threshold_of_0_admits_everybody_at_no_cost():
    env = bisimulator.make("college-threshold", horizon=20)
    columns = bisimulator.evaluate(env, lambda obs: 0 * obs[:, :1], seeds=2, episodes=2).episodes
    assert (columns["eligible_burden_mean"] == 0).all()
    assert np.isnan(columns["social_burden_g1"]).all()
    supply = columns["benefit_rate_g1"]
    assert ((supply > 0.9) & (supply < 1)).all()  # all eligible ones, divided by their number + 1
    assert not {"recall_gap", "approval_rate_gap", "credit_gap"} & set(columns)


def test_the_best_threshold_is_the_highest_with_the_fewest_wrong_decisions():
    eligible, ineligible = np.zeros(juries.GRID + 1), np.zeros(juries.GRID + 1)
    assert juries.best_threshold(jnp.asarray(eligible), jnp.asarray(ineligible)) == 0
    eligible[[500, 700, 900]] = 2, 3, 4
    assert juries.best_threshold(jnp.asarray(eligible), jnp.asarray(ineligible)) == 0
    ineligible[[100, 600, 700]] = 5, 1, 1
    # from 0.7 on: 2 + 1 wrong decisions; from 0.5 on: 2
    assert juries.best_threshold(jnp.asarray(eligible), jnp.asarray(ineligible)) == pytest.approx(0.5)
    ineligible[600] = 4
    assert juries.best_threshold(jnp.asarray(eligible), jnp.asarray(ineligible)) == pytest.approx(0.7)


@pytest.fixture(scope="module")
def published():
    """The thresholds of every jury in an episode of the authors' experiment."""
    env = bisimulator.make("college-threshold", **EXPERIMENT)
    found = {}
    for name in ("static-jury", "continuous-jury", "robust-jury"):
        policy = rule_policy(name, env, juries.JuryConfig(25))
        rollout = jax.jit(lambda key, policy=policy: policy.rollout(env, key, 300))
        decisions, state = rollout(jax.random.key(3))
        assert int(state.t) == 300
        found[name] = np.asarray(decisions.action)[:, 0]
    return found


def test_juries_admit_everybody_at_first(published):
    for thresholds in published.values():
        assert (thresholds[:25] == 0).all()
        assert thresholds[25] > 0.5


def test_the_static_jury_finds_who_is_eligible_and_the_robust_one_what_they_will_present(published):
    """Eligible from 0.55 on; 0.55 + 1/10 and 0.55 + 1/5 once everybody raises the score as far as it is worth."""
    static, robust = published["static-jury"], published["robust-jury"]
    assert static[25] == pytest.approx(0.55, abs=0.01)
    assert 0.65 - 0.01 <= robust[25] <= 0.75 + 0.01
    assert (static[25:] == static[25]).all()
    assert (robust[25:] == robust[25]).all()


def test_the_continuous_jury_raises_its_threshold_as_applicants_react(published):
    continuous, robust = published["continuous-jury"], published["robust-jury"]
    assert continuous[25] == published["static-jury"][25]
    assert continuous[-1] > continuous[25] + 0.03
    assert continuous[-1] <= robust[-1] + 0.02


def test_other_environments_have_no_juries():
    with pytest.raises(ValueError, match="'attention' publishes no threshold"):
        juries.FixedJury(jnp.float32(0.5)).bind(bisimulator.make("attention"))
    with refused(["threshold must lie in [0, 1]", "1.5"]):
        juries.FixedConfig(1.5)
    with refused(["burn_in must be at least 1"]):
        juries.JuryConfig(0)


def test_noise_is_bounded_and_other_groups_are_possible():
    env = bisimulator.make("college-threshold", groups=3, score_noise=0.5, noise_max=0.2, applicants=50)
    np.testing.assert_allclose(env.params.score_mean, [0.8, 0.7, 0.6], rtol=1e-6)
    np.testing.assert_allclose(env.params.costs, [0.8, 1.0, 1.2], rtol=1e-6)
    after, step = jax.jit(lambda key: env.step(key, env.reset(key), jnp.zeros(1)))(jax.random.key(0))
    difference = np.asarray(college_threshold.last_round(step.obs, env.params).score - after.true_score)
    assert 0.19 < abs(difference).max() <= 0.2 + 1e-6
    people = np.bincount(np.asarray(env.scenario.snapshot(after).group), minlength=3)
    np.testing.assert_allclose(people / 50, env.params.group_probs, atol=0.02)


def test_applicants_who_do_not_know_the_threshold_may_miss_it():
    """An aim below the published threshold is not worth anything; one above costs more."""
    params = bisimulator.make("college-threshold", threshold_noise=0.1).params
    score, group = jnp.full(2, 0.5), jnp.zeros(2, int)
    shown, paid, _ = college_threshold.raise_scores(
        score, group, jnp.float32(0.6), jnp.array([0.55, 0.7]), params
    )
    np.testing.assert_allclose(shown, [0.5, 0.7])
    np.testing.assert_allclose(paid, [0, 0.2 * 0.8], rtol=1e-5)


WRONG = [
    ({"costs": (0, 1)}, ["costs must be positive"]),
    ({"score_mean": (0.5, 0.5), "costs": (1, 2, 3)}, ["costs must have shape (2,)"]),
    ({"group_probs": (0.5, 0.6)}, ["group_probs"]),
    ({"score_sd": -1}, ["score_sd must not be negative"]),
    ({"rewards": (1, -1)}, ["rewards must have shape (4,)"]),
    ({"max_raise": 2}, ["max_raise must lie in [0, 1]"]),
    ({"epsilon": -0.1}, ["epsilon must lie in [0, 1]"]),
    ({"applicants": 0}, ["applicants must be at least 1"]),
    ({"group_names": ("a",)}, ["group_names must be 2 names"]),
]


@pytest.mark.parametrize(("keywords", "parts"), WRONG)
def test_wrong_parameters_raise_an_error_that_names_the_rule(keywords, parts):
    with refused(parts):
        bisimulator.make("college-threshold", **keywords)
