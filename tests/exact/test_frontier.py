"""The frontier against its published table, exhaustive linear programmes, the exact chain and simulation."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import bisimulator
from bisimulator import published
from bisimulator.exact._column_generation import ColumnPool
from bisimulator.exact._occupancy import groups_of
from bisimulator.exact._stationary import StationaryGroup, local_search
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.frontier import best_return, frontier
from bisimulator.goals import Moments
from bisimulator.goals.demands import MinRecall
from tests.exact.chains import flow, moves_of, random_moves

M = Moments()


@pytest.fixture(scope="module")
def lending():
    return bisimulator.make("lending")


@st.composite
def small_environments(draw, groups=(1, 3)):
    """Lending with a few people, scores and steps, so that one linear programme covers all policies."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    g, c = draw(st.integers(*groups)), draw(st.integers(2, 4))
    return bisimulator.make(
        "lending",
        initial=rng.dirichlet(np.ones(c), g),
        repayment=rng.uniform(0.1, 0.95, (g, c)),
        group_probs=rng.dirichlet(np.ones(g)),
        population=draw(st.sampled_from([1, 2, 7])),
        horizon=draw(st.integers(1, 12)),
        reward_default=-draw(st.sampled_from([1.0, 2.5])),
        **(draw(st.sampled_from([{}, {"score_up": 2}])) or random_moves(rng, c)),
    )


def with_default_omega(env):
    moves = jnp.array([env.params.score_up, env.params.score_down], jnp.float32)
    return env.with_omega(jnp.tile(moves, (env.num_groups, 1)))


def occupancy_programme(env, min_recall=None, max_credit_gap=None):
    """The best return as one linear programme over all occupancies x[g, t, c, a]: the definition itself."""
    groups = groups_of(person_chain(env))
    person = groups[0].types[0]
    T, C, G = person.horizon, len(person.initial), len(groups)
    index = np.arange(G * (T + 1) * C * 2).reshape(G, T + 1, C, 2)
    cost = np.zeros(index.size)
    for g, group in enumerate(groups):
        p = group.types[0]
        for t in range(T):
            cost[index[g, t, :, 1]] -= group.size * p.visit_rate * p.accept_reward
    equal, right = flow(env, groups, index)
    below = []
    for g, group in enumerate(groups if min_recall is not None else []):
        chance = group.types[0].repayment
        row = np.zeros(index.size)
        row[index[g, :T, :, 0]] += min_recall * chance
        row[index[g, :T, :, 1]] += (min_recall - 1) * chance
        below.append(row)
    bounds = np.zeros(len(below))
    if max_credit_gap is not None:  # two groups: signs of the CDF differences enumerate the absolute values
        cdf = np.zeros((G, C - 1, index.size))
        for g in range(G):
            for c in range(C - 1):
                cdf[g, c, index[g, T, : c + 1].ravel()] = 1
        signs = np.array(np.meshgrid(*[[-1, 1]] * (C - 1))).reshape(C - 1, -1).T
        below = signs @ (cdf[0] - cdf[1])
        bounds = np.full(len(below), max_credit_gap)
    result = linprog(cost, A_ub=below if len(below) else None, b_ub=bounds if len(below) else None,
                     A_eq=equal, b_eq=right)  # fmt: skip
    return -result.fun if result.status == 0 else None


def test_numbers_of_the_min_recall_table(lending):
    result = frontier(lending, levels=[1, 0.95, 0.9, 0.8, 0])
    np.testing.assert_allclose(result.value, [3570.7, 3788.2, 3914.3, 4101.3, 4197.8], atol=0.05)
    np.testing.assert_allclose(result.recalls[-1], [0.980, 0.712], atol=5e-4)
    assert (result.upper_bound - result.value < 1e-3).all()
    assert (result.upper_bound >= result.value).all()


def test_numbers_of_the_recall_gap_table(lending):
    result = frontier(lending, "recall-gap", levels=[0, 0.05, 0.1, 1])
    np.testing.assert_allclose(result.value, [3760.6, 3879.9, 3983.7, 4197.8], atol=0.05)
    np.testing.assert_allclose(result.recalls[0], [0.925, 0.925], atol=5e-4)
    assert (result.upper_bound - result.value < 1e-2).all()
    np.testing.assert_array_equal(result.levelling_down, [True, True, True, False])


def test_regret_of_the_published_points(lending):
    """Published recalls are rounded to .01, so a point may have half a hundredth less than it says."""
    regrets = {"PPO + Bisimulator": 29, "ELBERT-PO": 41, "PPO": 328, "EO": 400, "Max-util": 527}
    for method, regret in {**regrets, "A-PPO": 679, "Lag-PPO": 758}.items():
        row = published.row("lending", method)
        recalls = np.array([row["recall_g1"].mean, row["recall_g2"].mean]) - 0.005
        assert best_return(lending, recalls) - row["average_return"].mean == pytest.approx(regret, abs=0.5)


@given(small_environments(), st.sampled_from([0.0, 0.4, 0.8, 1.0]))
@settings(max_examples=25, deadline=None)
def test_min_recall_is_the_optimum_over_all_occupancies(env, level):
    env = with_default_omega(env)
    result = frontier(env, levels=[level])
    exact = occupancy_programme(env, min_recall=level)
    assert result.value[0] == pytest.approx(exact, rel=1e-6, abs=1e-6)
    assert result.upper_bound[0] >= exact - 1e-6 * max(1, abs(exact))
    assert (result.recalls[0] >= level - 1e-6).all()


@given(small_environments(groups=(2, 2)), st.sampled_from([0.05, 0.3, 0.8]))
@settings(max_examples=15, deadline=None)
def test_credit_gap_is_the_optimum_over_all_occupancies(env, level):
    env = with_default_omega(env)
    result = frontier(env, "credit-gap", levels=[level])
    exact = occupancy_programme(env, max_credit_gap=level)
    if exact is None:
        assert np.isnan(result.value[0])
        with pytest.raises(ValueError, match="no policy was found at level"):
            result.policy(0)
        return
    assert result.value[0] == pytest.approx(exact, rel=1e-6, abs=1e-6)
    assert result.upper_bound[0] >= exact - 1e-6 * max(1, abs(exact))
    assert result.credit_gap[0] <= level + 1e-6


@given(small_environments(groups=(2, 3)), st.sampled_from([0.0, 0.1, 0.3]))
@settings(max_examples=15, deadline=None)
def test_recall_gap_is_the_best_of_all_intervals(env, level):
    """Against a fine grid of intervals of recalls, each solved on its own."""
    env = with_default_omega(env)
    result = frontier(env, "recall-gap", levels=[level])
    pools = [ColumnPool(group) for group in groups_of(person_chain(env))]
    grid = np.linspace(0, 1 - level, 41)
    best = max(best_within(pools, rho, rho + level) for rho in grid)
    scale = max(1.0, abs(best))
    assert result.upper_bound[0] >= best - 1e-6 * scale
    assert result.value[0] >= best - 2e-6 * scale
    assert result.value[0] <= result.upper_bound[0] + 1e-9
    assert np.ptp(result.recalls[0]) <= level + 1e-6


def best_within(pools, low, high):
    total = 0.0
    for pool in pools:
        free = pool.moments[pool.unconstrained]
        recall = free[M.APPROVED_QUALIFIED] / free[M.QUALIFIED]
        side, bound = (-1.0, high) if recall > high else (1.0, low)
        constraint = np.zeros(len(free))
        constraint[M.APPROVED_QUALIFIED], constraint[M.QUALIFIED] = side, -side * bound
        total += pool.group.size * pool.best_under(constraint).mixture.moments[M.REWARD]
    return total


@given(st.integers(0, 2**32))
@settings(max_examples=8, deadline=None)
def test_no_policy_exceeds_the_frontier(lending, seed):
    accept = np.random.default_rng(seed).random((2, 7)).round(1)
    result = expect(lending, accept)
    assert best_return(lending, result.recall - 1e-9) >= result.average_return
    by_gap = frontier(lending, "credit-gap", levels=[result.credit_gap + 1e-9])
    assert by_gap.upper_bound[0] >= result.average_return


@pytest.mark.parametrize("criterion", ["min-recall", "recall-gap", "credit-gap"])
@pytest.mark.parametrize("name", ["lending", "lending-conscientiousness", "lending-harder"])
def test_stationary_policies_attain_their_values(name, criterion):
    env = bisimulator.make(name, population=20, horizon=200)
    loose = {"min-recall": 0.9, "recall-gap": 0.1, "credit-gap": 2.0}[criterion]
    result = frontier(env, criterion, levels=[loose])
    policy = result.policy(0, stationary=True)
    exact = expect(env, policy)
    assert exact.average_return == pytest.approx(result.stationary_value[0])
    np.testing.assert_allclose(exact.recall, result.stationary_recalls[0], atol=1e-9)
    met = {
        "min-recall": exact.recall.min() >= loose - 1e-6,
        "recall-gap": exact.recall_gap <= loose + 1e-6,
        "credit-gap": exact.credit_gap <= loose + 1e-6,
    }
    assert met[criterion]
    assert result.stationary_value[0] <= result.upper_bound[0] + 1e-6


def test_best_stationary_policy_beats_every_deterministic_one(lending):
    """All 128 policies of a group and mixtures of neighbours, at a level where some satisfy the demand."""
    group = StationaryGroup(groups_of(person_chain(lending))[1])
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * 7)).reshape(7, -1).T
    best = local_search([group], MinRecall(0.85), [np.full((1, 7), 0.5), np.ones((1, 7))])
    value = group.moments(best[0])[0][M.REWARD]
    for corner in corners:
        moments = group.moments(corner)[0]
        recall = moments[M.APPROVED_QUALIFIED] / moments[M.QUALIFIED]
        assert recall < 0.85 or moments[M.REWARD] <= value + 1e-9


@pytest.mark.parametrize(
    ("name", "population", "horizon"),
    [("lending", 1, 6), ("lending", 5, 40), ("lending", 1000, 10_000), ("lending-harder", 5, 40)],
)
def test_moments_of_a_stationary_policy_and_their_derivatives(name, population, horizon):
    env = bisimulator.make(name, population=population, horizon=horizon)
    accept = np.random.default_rng(1).random((2, 7))
    exact = expect(env, accept)
    for g, group in enumerate(groups_of(person_chain(env))):
        moments, slope = StationaryGroup(group).moments(accept[g])
        np.testing.assert_allclose(group.size * moments, exact.moments[g], rtol=1e-9, atol=1e-9)
        step = 1e-6 * np.eye(7)
        numeric = [
            (
                StationaryGroup(group).moments(accept[g] + h)[0]
                - StationaryGroup(group).moments(accept[g] - h)[0]
            )
            / 2e-6
            for h in step
        ]
        np.testing.assert_allclose(slope, np.stack(numeric, 1), atol=1e-7)


def time_dependent_moments(env, policy):
    """Expected (reward, repayers, accepted repayers) of pi_t(accept | group, score), step by step."""
    totals = []
    for g, group in enumerate(groups_of(person_chain(env))):
        p, share, total = group.types[0], group.types[0].initial.copy(), np.zeros(3)
        to_default, to_repaid, _ = moves_of(env.params)
        move = p.repayment[:, None] * to_repaid + (1 - p.repayment)[:, None] * to_default
        for accept in policy[:, g]:
            visit = p.visit_rate * share
            total += [visit @ (accept * p.accept_reward), visit @ p.repayment, visit @ (accept * p.repayment)]
            share = share - visit * accept + (visit * accept) @ move
        totals.append(total)
    return np.array(totals)


@pytest.mark.parametrize(
    ("criterion", "level"), [("min-recall", 0.9), ("recall-gap", 0.05), ("credit-gap", 2.2)]
)
def test_the_policy_attains_its_point(lending, criterion, level):
    result = frontier(lending, criterion, levels=[level])
    policy = result.policy(0)
    assert policy.shape == (10_000, 2, 7)
    assert policy.min() >= 0
    assert policy.max() <= 1 + 1e-12
    totals = time_dependent_moments(lending, policy)
    assert 500 * totals[:, 0].sum() == pytest.approx(result.value[0], rel=1e-9)
    np.testing.assert_allclose(totals[:, 2] / totals[:, 1], result.recalls[0], atol=1e-9)


def test_the_policy_attains_its_point_in_simulation():
    env = bisimulator.make("lending", population=50, horizon=500)
    result = frontier(env, levels=[0.9])
    simulated = bisimulator.evaluate(env, result.policy(0), seeds=40, episodes=10)
    mean, half = simulated.summary["average_return"]
    assert abs(mean - result.value[0]) < 2 * half  # about four standard errors
    accepted, qualified = (
        simulated.outcome.count(name).sum((0, 1)) for name in ("approved_qualified", "qualified")
    )
    np.testing.assert_allclose(accepted / qualified, result.recalls[0], atol=0.005)


def test_a_policy_for_another_horizon_is_refused():
    env = bisimulator.make("lending", population=5, horizon=10)
    policy = frontier(env, levels=[0.9]).policy(0)
    with pytest.raises(ValueError, match="steps x groups x scores"):
        bisimulator.evaluate(bisimulator.make("lending", population=5, horizon=11), policy)


def test_conscientiousness_is_an_upper_bound_and_says_so():
    env = bisimulator.make("lending-conscientiousness", population=20, horizon=200)
    result = frontier(env, levels=[0.5, 0.9, 1])
    assert not result.attained
    with pytest.raises(ValueError, match="knows everybody's conscientiousness"):
        result.policy(0)
    assert (result.stationary_value <= result.upper_bound + 1e-9).all()
    everybody = expect(env, np.ones((2, 7)))
    assert result.upper_bound[2] == pytest.approx(everybody.average_return)


def test_a_large_population_is_as_exact_as_a_small_one():
    """Hardly anybody applies twice, so each decision stands alone: accept wherever the expected reward is positive."""
    env = bisimulator.make("lending", population=10_000_000, horizon=1000)
    result = frontier(env, levels=[0.0])
    initial, gain = np.asarray(env.params.initial, float), 2 * np.linspace(0.3, 0.9, 7) - 1
    assert result.value[0] == pytest.approx(500 * (initial @ np.maximum(gain, 0)).sum(), rel=1e-3)
    strict = frontier(env, levels=[0.9])
    assert strict.upper_bound[0] - strict.value[0] <= 1e-6 * strict.value[0]
    np.testing.assert_allclose(strict.recalls[0].min(), 0.9, atol=1e-9)


def test_one_group_and_default_levels():
    env = bisimulator.make("lending", groups=1, population=20, horizon=100)
    for criterion in ("min-recall", "recall-gap", "credit-gap"):
        result = frontier(env, criterion)
        assert len(result.levels) == 31
        assert result.value.max() == pytest.approx(best_return(env, 0.0), abs=1e-4)
    assert (np.diff(frontier(env).value) <= 1e-6).all()


def test_only_accepting_everybody_reaches_full_recall(lending):
    result = frontier(lending, levels=[1.0])
    assert result.value[0] == pytest.approx(expect(lending, np.ones((2, 7))).average_return)
    assert result.stationary_value[0] == pytest.approx(result.value[0])


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("lending", {"criterion": "recal-gap"}, "Did you mean 'recall-gap'"),
        ("lending", {"levels": [90]}, "did you pass percentages"),
        ("lending", {"levels": [np.nan]}, "levels must be finite"),
        ("lending", {"criterion": "credit-gap", "levels": [-1]}, "must not be negative"),
        ("college", {}, "not a Markov chain"),
    ],
)
def test_bad_input(name, arguments, message):
    with pytest.raises(ValueError, match=message):
        frontier(bisimulator.make(name), **arguments)


def test_bad_recalls(lending):
    with pytest.raises(ValueError, match="one number or one per group"):
        best_return(lending, [0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="did you pass percentages"):
        best_return(lending, 95)


def test_hidden_scores_are_refused(lending):
    with pytest.raises(ValueError, match="observed scores differ from true ones"):
        frontier(lending.with_omega(jnp.array([[1.0, 1.0], [2.0, 0.5]])))


@pytest.mark.long
def test_all_recall_gaps_of_ten_groups_are_certified():
    env = bisimulator.make("lending-10-groups")
    result = frontier(env, "recall-gap", levels=[0, 0.1, 0.2])
    assert (result.upper_bound - result.value < 1e-2).all()
    assert (np.ptp(result.recalls, axis=1) <= result.levels + 1e-6).all()
    assert (result.stationary_value <= result.upper_bound).all()


def test_result_is_immutable(lending):
    with pytest.raises(dataclasses.FrozenInstanceError):
        frontier(lending, levels=[1.0]).value = None


def test_best_at_other_levels(lending):
    result = frontier(lending, levels=[1.0])
    assert result.best_at(0.9) == pytest.approx(3914.33, abs=0.01)
    assert result.best_at([0.9, 0.8]) == pytest.approx(best_return(lending, [0.9, 0.8]))
    with pytest.raises(ValueError, match="one per group"):
        result.best_at([0.9, 0.8, 0.7])
    gap = frontier(lending, "credit-gap", levels=[3.0])
    assert gap.best_at(2.2) == pytest.approx(3764.04, abs=0.01)
    assert np.isnan(gap.best_at(0.5))
    with pytest.raises(ValueError, match="level of credit-gap must be one number, got 2 numbers"):
        gap.best_at([2.2, 2.4])
    with pytest.raises(ValueError, match=r"level must not be negative \(score points\), got -1"):
        gap.best_at(-1)


@pytest.mark.parametrize(
    ("groups", "criterion", "message"),
    [
        (
            61,
            "credit-gap",
            "at most 60 groups, and 420 groups times scores, got 61 groups with 7 scores; merge",
        ),
        (1000, "recall-gap", "the frontier of recall-gap .*, got 1,000 groups with 7 scores; merge groups"),
        (1001, "min-recall", "at most 1,000 groups, got 1,001; merge groups"),
    ],
)
def test_too_many_groups_are_refused_before_anything_is_computed(groups, criterion, message):
    env = bisimulator.make("lending", groups=groups, population=20, horizon=5)
    with pytest.raises(ValueError, match=message):
        frontier(env, criterion)


@pytest.mark.parametrize("groups", [2, pytest.param(100, marks=pytest.mark.long)])
def test_progress_is_reported_after_every_level(groups):
    env, shares = bisimulator.make("lending", groups=groups, population=20, horizon=20), []
    best = frontier(env, levels=[0.5, 1.0], on_progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert (best.recalls[1] >= 1 - 1e-6).all()
    assert best.value[1] <= best.value[0] <= best.upper_bound[0]
