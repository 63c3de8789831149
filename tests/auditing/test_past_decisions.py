"""Numbers over gamma are those of an audit with other rates, and ranges hold for any gamma of each group."""

import itertools

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.past_decisions import NumbersOverGamma
from bisimulator.exact.chain import expect

SETTINGS = {"reward_default": -2, "population": 100, "horizon": 300}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(100)
    score = rng.integers(300, 851, 2000)
    group = np.where(rng.random(2000) < 0.6, "a", "b")
    accepted = rng.random(2000) < (score - 250) / 600
    repaid = np.where(rng.random(2000) < score / 900, "1", "0")
    columns = {"group": group, "score": score, "accepted": accepted, "repaid": np.where(accepted, repaid, "")}
    return bisimulator.Population.from_frame(columns, accepted="accepted", bins=4, score_range=(300, 850))


@pytest.fixture(scope="module")
def found(people):
    return bisimulator.audit(620, people, gamma=3, goal="min-recall=0.9", **SETTINGS)


def exact(people, table, gammas):
    """The oracle: each group with a gamma of its own."""
    rates = np.array([people.with_gamma(gamma).repayment[g] for g, gamma in enumerate(gammas)])
    env = bisimulator.make("lending", **people.params(**SETTINGS) | {"repayment": rates.tolist()})
    return expect(env, table)


def test_gamma_1_is_the_audit_itself(found):
    over, result = found.verdict.rejected.policy, found.result
    assert over.returns[0] == pytest.approx(found.verdict.earned)
    np.testing.assert_allclose(over.groups["recall"][0], result.row.recalls)
    assert found.verdict.rejected.bound[0] == pytest.approx(found.verdict.bound)
    assert found.verdict.rejected.accept_all[0] == pytest.approx(result.accept_all.earned)
    assert found.verdict.rejected.reached["min-recall=0.9"][0] == pytest.approx(result.goals[0].reached[0])


def test_numbers_at_gamma_are_those_of_people_with_these_rates(found, people):
    table, over = found.verdict.fairer_policy.table, found.verdict.rejected.alternatives["fairer_policy"]
    for k, gamma in enumerate(found.verdict.rejected.gammas):
        expected = exact(people, table, (gamma, gamma))
        np.testing.assert_allclose(over.group_returns[k], expected.group_return, rtol=1e-5)
        np.testing.assert_allclose(over.groups["recall"][k], expected.recall, rtol=1e-5)


def test_ranges_hold_for_different_gammas_of_the_groups(found, people):
    table, rejected = found.verdict.fairer_policy.table, found.verdict.rejected
    over = rejected.alternatives["fairer_policy"]
    each = [exact(people, table, gammas) for gammas in itertools.product(rejected.gammas, repeat=2)]
    returns = [e.average_return for e in each]
    assert over.earned == pytest.approx((min(returns), max(returns)), rel=1e-5)
    recalls = [e.recall.min() for e in each]
    assert over.smallest_recall == pytest.approx((min(recalls), max(recalls)), rel=1e-5)
    rates = [e.approved / e.applied for e in each]
    ratios = [r.min() / r.max() for r in rates]
    assert over.acceptance_ratio[0] == pytest.approx(min(ratios), rel=1e-5)
    assert over.acceptance_ratio[1] >= max(ratios) - 1e-9


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([[0.4, 0.8], [0.5, 0.6]], (0.5, 0.5 / 0.6)),
        ([[0.4, 0.5], [0.6, 0.45]], (0.45 / 0.6, 1.0)),  # the ranges overlap, so the rates can be equal
        ([[0.4, np.nan], [0.5, np.nan]], (np.nan, np.nan)),
        ([[0.0, 0.8], [0.0, 0.6]], (np.nan, np.nan)),
    ],
)
def test_the_range_of_the_ratio(rates, expected):
    over = NumbersOverGamma({"approval_rate": np.array(rates)}, np.zeros((2, 2)))
    assert over.acceptance_ratio == pytest.approx(expected, nan_ok=True)


def test_the_page_has_the_ranges_and_says_up_to_which_gamma_a_finding_holds(found):
    words = dict(found.statements)
    low, high = found.verdict.rejected.policy.earned
    unknown = words["What past decisions leave unknown"]
    assert f"earns {low:,.0f} to {high:,.0f}" in unknown
    assert "up to 3 times less often" in unknown
    assert f"({low:,.0f} to {high:,.0f})" in words["What it earns"]
    over = found.verdict.rejected.alternatives["fairer_policy"]
    assert over.returns[0] > found.verdict.earned > over.returns[-1]
    assert "earns more up to a gamma of " in words["What is possible without earning less"]
    assert "<h2>Past decisions</h2>" in found.page
    assert [row["gamma"] for row in found.tables["gamma"]] == pytest.approx([1, 1.5, 2, 2.5, 3])


def test_without_past_decisions_there_is_nothing_to_range_over(people, env):
    with pytest.raises(ValueError, match=r"gamma=2 .* accepted=, the column of past decisions"):
        bisimulator.audit(600, env, gamma=2)
    with pytest.raises(ValueError, match=r"gamma must lie in \[1, inf\], got 0.5"):
        bisimulator.audit(600, people, gamma=0.5)
