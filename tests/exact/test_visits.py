"""Expectations of policies that look at past loans: against those on scores alone, and against all histories."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bisimulator
from bisimulator.envs import _lending_chain
from bisimulator.envs.lending_delayed_impact import MOVES
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.visits import max_visits
from bisimulator.goals import DEMANDS, Moments
from tests.exact.chains import moves_of, random_moves

FIELDS = (
    "average_return",
    "people",
    "group_return",
    "applied",
    "approved",
    "qualified",
    "approved_qualified",
    "final_scores",
)
M = Moments()


def by_history(env, table):
    size = max_visits(env)
    return np.broadcast_to(table[:, :, None, None], (*table.shape, size, size))


@pytest.mark.parametrize("population", [1, 3, 1000])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"groups": 3, "c_max": 4, "score_up": 2},
        {"conscientiousness": (0.55, 0.1)},
        {"moves": MOVES, "rejected_moves": (0.3, 0.1)},
    ],
)
def test_a_policy_that_ignores_past_loans_has_the_expectations_of_its_table(population, params):
    env = bisimulator.make("lending", population=population, horizon=10 * population, **params)
    env = env.with_omega(env.scenario.person_model.true_omega(env.params))
    table = np.random.default_rng(0).random(env.params.initial.shape)
    result, expected = expect(env, by_history(env, table)), expect(env, table)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(result, name), getattr(expected, name), rtol=1e-8, atol=1e-9)


def all_histories(env, accept):
    """Moments per group, step by step over every (type, score, repaid, defaulted) as keys of a dictionary."""
    chain = person_chain(env)
    to_default, to_repaid, rejected = moves_of(env.params)
    moments = np.zeros((env.num_groups, M.FINAL + chain.num_scores))
    for g in range(env.num_groups):
        people = {
            (h, c, 0, 0): q * p
            for h, q in enumerate(chain.type_probs)
            for c, p in enumerate(chain.initial[g])
        }
        for _ in range(chain.horizon):
            later = {}
            for (h, c, r, d), mass in people.items():
                p, a, visit = chain.repayment[h, g, c], accept[g, c, r, d], mass * chain.visit_rate
                reward = a * (p * chain.reward_repaid + (1 - p) * chain.reward_default)
                moments[g, : M.ENDED] += visit * np.array([reward, 0, 1, a, p, a * p])
                away = visit * (1 - a) * rejected[g]
                states = [((h, c, r, d), mass - visit * a - away)]
                for e in range(chain.num_scores):
                    states += [
                        ((h, e, r + 1, d), visit * a * p * to_repaid[c, e]),
                        ((h, e, r, d + 1), visit * a * (1 - p) * to_default[c, e]),
                        ((h, e, r, d), away * (p * to_repaid[c, e] + (1 - p) * to_default[c, e])),
                    ]
                for state, share in states:
                    later[state] = later.get(state, 0.0) + share
            people = later
        for (_, c, _, _), mass in people.items():
            moments[g, M.FINAL + c] += mass
    moments[:, M.PEOPLE] = moments[:, M.ENDED] = 1
    return moments * chain.group_sizes[:, None]


@given(
    st.integers(0, 2**32),
    st.sampled_from([(1, 4), (2, 5), (3, 6)]),
    st.sampled_from([None, (0.5, 0.2)]),
    st.integers(1, 3),
)
@settings(max_examples=12)
def test_moments_are_those_of_all_histories_step_by_step(seed, size, conscientiousness, groups):
    rng = np.random.default_rng(seed)
    env = bisimulator.make(
        "lending",
        initial=rng.dirichlet(np.ones(3), groups),
        repayment=rng.random((groups, 3)).round(1),
        group_probs=rng.dirichlet(np.ones(groups)),
        conscientiousness=conscientiousness,
        reward_default=-2.0,
        population=size[0],
        horizon=size[1],
        **random_moves(rng, 3),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lending_chain, "_QUADRATURE_NODES", 3)
        accept = rng.random((groups, 3, max_visits(env), max_visits(env)))
        exact, expected = expect(env, accept), all_histories(env, accept)
    precision = 1e-9 if env.params.moves is None else 1e-6  # tables of moves are in single precision
    np.testing.assert_allclose(exact.moments, expected, rtol=precision, atol=precision)
    assert exact.average_return == pytest.approx(expected[:, M.REWARD].sum())
    np.testing.assert_allclose(exact.recall, expected[:, M.APPROVED_QUALIFIED] / expected[:, M.QUALIFIED])


def test_goals_measure_expectations_as_they_measure_episodes():
    """The rates of every demand on exact moments are the properties of the expectation."""
    exact = expect(bisimulator.make("lending"), np.tile(np.arange(7) >= 3, (2, 1)).astype(float))
    known = np.ones(2, bool)

    def reached(name):
        demand = DEMANDS[name](0.0)
        return float(demand.reached(demand.rates(exact.moments, np), known, np))

    assert reached("min-recall") == pytest.approx(exact.recall.min())
    assert reached("recall-gap") == pytest.approx(exact.recall_gap)
    assert reached("credit-gap") == pytest.approx(exact.credit_gap)
    assert reached("min-approval") == pytest.approx((exact.approved / exact.applied).min())
    assert reached("return-gap") == pytest.approx(np.ptp(exact.group_return / exact.people))


def test_another_number_of_past_loans_is_refused():
    env = bisimulator.make("lending", population=5, horizon=20)
    size = max_visits(env)
    with pytest.raises(ValueError, match="groups x scores x repaid x defaulted"):
        expect(env, np.ones((2, 7, size - 1, size - 1)))
