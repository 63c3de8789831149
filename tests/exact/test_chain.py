"""The exact chain against a slow recursion in time with dense integration, and against the paper's tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import norm

import bisimulator
from bisimulator import published
from bisimulator.exact import chain
from tests.exact.chains import moves_of

ACCEPT_ALL = np.ones((2, 7))
MOVES = [
    {},
    {"score_up": 0, "score_down": 2, "omega": [(0, 2)] * 2},
    {"score_up": 3, "omega": [(3, 1)] * 2},
    {"moves": np.random.default_rng(0).dirichlet(np.ones(4), (2, 4)), "rejected_moves": (0.5, 0.125)},
]
FROM_3 = np.tile(np.arange(7) >= 3, (2, 1)).astype(float)


def slow(env, accept, nodes=801):
    """Step by step; hidden conscientiousness on a dense grid of eight standard deviations."""
    p = env.params
    repayment, weight = np.asarray(p.repayment, float)[None], np.ones(1)
    if p.conscientiousness is not None:
        mean, sd = np.asarray(p.conscientiousness, float)
        z = np.linspace(-8, 8, nodes)
        weight = norm.pdf(z) / norm.pdf(z).sum()
        repayment = np.clip((repayment + (mean + sd * z)[:, None, None]) / 2, 0, 1)
    share = np.asarray(p.group_probs, float)
    now = np.broadcast_to(np.asarray(p.initial, float), repayment.shape).copy()
    visits = np.zeros_like(now)
    to_default, to_repaid, away = moves_of(p)
    for _ in range(int(p.horizon)):
        visits += now / p.population
        moving = (accept + (1 - accept) * away[:, None]) * now / p.population
        now = now - moving + (moving * repayment) @ to_repaid + (moving * (1 - repayment)) @ to_default
    visits = p.population * share[:, None] * visits * weight[:, None, None]
    reward = (
        visits * accept * (repayment * float(p.reward_repaid) + (1 - repayment) * float(p.reward_default))
    )
    return {
        "average_return": reward.sum(),
        "group_return": reward.sum((0, 2)),
        "applied": visits.sum((0, 2)),
        "approved": (visits * accept).sum((0, 2)),
        "qualified": (visits * repayment).sum((0, 2)),
        "approved_qualified": (visits * accept * repayment).sum((0, 2)),
        "final_scores": (now * weight[:, None, None]).sum(0),
    }


@settings(max_examples=30)
@given(
    accept=hnp.arrays(float, (2, 4), elements=st.floats(0, 1)),
    repayment=hnp.arrays(float, (2, 4), elements=st.floats(0, 1, width=32)),
    population=st.integers(1, 30),
    horizon=st.integers(1, 70),
    moves=st.sampled_from(MOVES),
    share=st.floats(0.125, 0.875, width=32),
)
def test_doubling_agrees_with_step_by_step(accept, repayment, population, horizon, moves, share):
    env = bisimulator.make(
        "lending",
        c_max=4,
        groups=2,
        repayment=repayment,
        population=population,
        horizon=horizon,
        group_probs=(share, 1 - share),
        reward_default=-1.5,
        **moves,
    )
    exact = chain.expect(env, accept)
    for name, value in slow(env, accept).items():
        np.testing.assert_allclose(getattr(exact, name), value, rtol=2e-6, atol=1e-7)


@pytest.fixture(
    scope="module", params=[(s, t) for s in ("lending", "lending-conscientiousness") for t in (0, 3)]
)
def case(request):
    scenario, threshold = request.param
    policy = ACCEPT_ALL if threshold == 0 else FROM_3
    return request.param, bisimulator.make(scenario), policy


def test_the_papers_environments_agree_with_dense_integration(case):
    _, env, policy = case
    exact = chain.expect(env, policy)
    for name, value in slow(env, policy).items():
        np.testing.assert_allclose(getattr(exact, name), value, rtol=1e-6)


# Return, credit gap and recalls as first computed when the environments were inferred from the paper's tables.
# With conscientiousness that was done on a coarse grid, hence the tolerance: .15% of the return, .005 score points.
FIRST_COMPUTED = {
    ("lending", 0): (3570.7, 2.214, 1, 1),
    ("lending", 3): (3654.4, 3.059, 0.917, 0.324),
    ("lending-conscientiousness", 0): (2103.7, 1.544, 1, 1),
    ("lending-conscientiousness", 3): (1838.8, 2.560, 0.855, 0.237),
}


def test_the_four_rows_that_identified_the_environments(case):
    name, env, policy = case
    exact = chain.expect(env, policy)
    average_return, credit_gap, *recall = FIRST_COMPUTED[name]
    coarse = name[0] == "lending-conscientiousness"
    assert abs(exact.average_return / average_return - 1) < (1.5e-3 if coarse else 2e-5)
    assert abs(exact.credit_gap - credit_gap) < (5e-3 if coarse else 5e-4)
    np.testing.assert_allclose(exact.recall, recall, atol=6e-4)


def test_the_paper_reports_the_same(case):
    """Accept-all is the Bisimulator's row, accepting from 3 on is Max-util's: within the paper's intervals."""
    (scenario, threshold), env, policy = case
    exact = chain.expect(env, policy)
    ours = {
        "average_return": exact.average_return,
        "credit_gap": exact.credit_gap,
        "recall_g1": exact.recall[0],
        "recall_g2": exact.recall[1],
        "recall_gap": exact.recall_gap,
    }
    for metric, theirs in published.row(scenario, "Max-util" if threshold else "PPO + Bisimulator").items():
        # both numbers are rounded to two decimals, each by up to .005
        assert abs(ours[metric] - theirs.mean) <= theirs.ci95 + 0.01


def test_ten_groups_under_accept_all_lie_within_the_papers_interval():
    exact = chain.expect(bisimulator.make("lending-10-groups"), np.ones((10, 7)))
    row = published.row("lending-10-groups", "PPO + Bisimulator")
    assert abs(exact.average_return - row["average_return"].mean) < row["average_return"].ci95


def test_rejecting_everybody_changes_nobody():
    env = bisimulator.make("lending")
    exact = chain.expect(env, np.zeros((2, 7)))
    np.testing.assert_allclose(exact.final_scores, np.asarray(env.params.initial), atol=1e-7)
    assert exact.average_return == 0
    np.testing.assert_allclose(exact.applied.sum(), 10_000)
    np.testing.assert_array_equal(exact.recall, 0)


@pytest.mark.parametrize(
    ("env", "policy", "phrases"),
    [
        (("college", {}), np.ones((2, 10)), ["no exact answer", "'college'", "simulate it"]),
        (
            ("lending", {"omega": [(2, 1), (1, 1)]}),
            ACCEPT_ALL,
            ["observed scores differ from true", "2.0", "simulate"],
        ),
        (("lending", {}), np.ones((2, 6)), ["policy must have shape (2, 7)", "(2, 6)"]),
        (("lending", {}), np.full((2, 7), 1.5), ["policy must lie in [0, 1]", "1.5"]),
    ],
)
def test_errors_are_explained(env, policy, phrases):
    name, keywords = env
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (every phrase of the message is checked below)
        chain.expect(bisimulator.make(name, **keywords), policy)
    for phrase in phrases:
        assert phrase in str(raised.value)
