"""Policies that look at past loans: against the table if they ignore them, and against all histories one by one."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bisimulator
from bisimulator.envs import _lending_chain
from bisimulator.envs.lending_delayed_impact import MOVES
from bisimulator.exact import _history as history
from bisimulator.exact._entries import SIGNALS
from bisimulator.exact._history import certify_history
from bisimulator.exact.certificate import certify_table
from bisimulator.exact.chain import person_chain, without_rare_types
from bisimulator.exact.visits import max_visits, visit_distribution
from tests.exact.chains import moves_of, random_moves


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"groups": 3, "c_max": 4},
        {"conscientiousness": (0.55, 0.1), "c_max": 3},
        {"moves": MOVES, "rejected_moves": (0.3, 0.1)},
    ],
)
def test_a_policy_that_ignores_history_has_the_certificate_of_its_table(params):
    env = bisimulator.make("lending", population=20, horizon=60, **params)
    table = np.random.default_rng(0).random(env.params.initial.shape)
    result = certify_history(env, by_history(env, table))
    expected = certify_table(env, table)
    for signal in SIGNALS:
        entry, other = result.entry(signal, "episode"), expected.entry(signal, "episode")
        np.testing.assert_allclose(entry.values, other.values, atol=1e-9)
        np.testing.assert_allclose(entry.bounds, other.bounds, atol=1e-9)
        for field in ("gap", "bound", "worst_distance", "over_time", "between_people"):
            assert getattr(entry, field) == pytest.approx(getattr(other, field), abs=1e-9)
        assert entry.groups == other.groups
        assert entry.worst_pair == other.worst_pair
        assert entry.error_bound < 1e-9


def by_history(env, table):
    size = max_visits(env)
    return np.broadcast_to(table[:, :, None, None], (*table.shape, size, size))


@given(
    st.integers(0, 2**32),
    st.sampled_from([(1, 3), (2, 3)]),
    st.sampled_from([[0, 1], [0, 0.5, 1], np.linspace(0, 1, 11)]),
    st.sampled_from([None, (0.5, 0.2)]),
)
@settings(max_examples=12, deadline=None)
def test_bounds_are_those_of_all_histories_one_by_one(seed, size, probabilities, conscientiousness):
    rng = np.random.default_rng(seed)
    groups, scores = (2, 2) if conscientiousness else (int(rng.integers(2, 4)), 3)
    env = bisimulator.make(
        "lending",
        initial=rng.dirichlet(np.ones(scores), groups),
        repayment=rng.random((groups, scores)).round(1),
        conscientiousness=conscientiousness,
        population=size[0],
        horizon=size[1],
        **random_moves(rng, scores),
    )
    accept = rng.choice(probabilities, (groups, scores, max_visits(env), max_visits(env)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            _lending_chain, "_QUADRATURE_NODES", 3
        )  # values of conscientiousness; more would be too slow
        compare_with_one_by_one(env, accept, rng)


def compare_with_one_by_one(env, accept, rng):
    certificate = certify_history(env, accept)
    for signal in SIGNALS:
        entry = certificate.entry(signal, "episode")
        assert (entry.gaps <= entry.bounds + entry.error_bound).all()
        assert entry.error_bound < 1e-9
        assert entry.gap == pytest.approx(np.ptp(entry.values), abs=1e-12)
        assert entry.over_time + entry.between_people == pytest.approx(entry.slack, abs=1e-9)
        assert entry.pairing.sum() == pytest.approx(1)
    signal = rng.choice(list(SIGNALS))
    entry, (g, h) = certificate.entry(signal, "episode"), rng.choice(env.num_groups, 2, replace=False)
    values, bound = one_by_one(env, accept, signal, g, h)
    np.testing.assert_allclose(entry.values[[g, h]], values, atol=1e-8)
    assert entry.bounds[g, h] == pytest.approx(bound, abs=1e-8)


def one_by_one(env, accept, signal, g, h):
    """Two groups' values and W1(d), by recursion over every pair of histories, with POT's transport."""
    tail, _ = visit_distribution(env.params.horizon, 1 / env.params.population)
    chain = without_rare_types(person_chain(env))
    repayment, weight = chain.repayment, chain.type_probs
    to_default, to_repaid, rejected = moves_of(env.params)
    top, seen = accept.shape[1] - 1, {}

    def visit(group, state):
        """The expected signal, and the next states with their probabilities."""
        latent, c, r, d = state
        p, a = repayment[latent, group, c], accept[group, c, r, d]
        expected = {"reward": a * (2 * p - 1), "loans": a, "repaid": a * p}[signal]
        away = (1 - a) * rejected[group]
        after, probs = [state], [1 - a - away]
        for e in range(top + 1):
            after += [(latent, e, r + 1, d), (latent, e, r, d + 1), (latent, e, r, d)]
            move = p * to_repaid[c, e], (1 - p) * to_default[c, e]
            probs += [a * move[0], a * move[1], away * sum(move)]
        possible = np.array(probs) > 0
        kept = np.array(probs)[possible]
        return expected, [s for s, q in zip(after, possible, strict=True) if q], kept / kept.sum()

    def value(k, group, state):
        if k == accept.shape[-1]:
            return 0.0
        signals, after, probs = visit(group, state)
        return tail[k] * signals + sum(
            q * value(k + 1, group, s) for q, s in zip(probs, after, strict=True) if q
        )

    def distance(k, x, y):
        if k == accept.shape[-1]:
            return 0.0
        if (k, x, y) not in seen:
            (r_x, to_x, p_x), (r_y, to_y, p_y) = visit(g, x), visit(h, y)
            cost = np.array(
                [[p * q and distance(k + 1, s, t) for t, q in zip(to_y, p_y, strict=True)]
                 for s, p in zip(to_x, p_x, strict=True)]
            )  # fmt: skip
            seen[k, x, y] = tail[k] * abs(r_x - r_y) + ot.emd2(p_x, p_y, cost)
        return seen[k, x, y]

    people = [(latent, c, 0, 0) for latent in range(len(weight)) for c in range(top + 1)]
    shares = [(weight[:, None] * chain.initial[group]).ravel() for group in (g, h)]
    values = [
        sum(w * value(0, i, s) for w, s in zip(share, people, strict=True))
        for i, share in zip((g, h), shares, strict=True)
    ]
    return values, ot.emd2(*shares, np.array([[distance(0, x, y) for y in people] for x in people]))


def test_one_loan_each_by_hand():
    """Two steps, one person: accept only who never had a loan. Exactly one loan, worth 2 p - 1."""
    env = bisimulator.make("lending", initial=[[1, 0], [0, 1]], repayment=[0.3, 0.9], population=1, horizon=2)
    accept = np.zeros((2, 2, 2, 2))
    accept[:, :, 0, 0] = 1
    certificate = certify_history(env, accept)
    np.testing.assert_allclose(certificate.entry("loans", "episode").values, [1, 1])
    np.testing.assert_allclose(certificate.values, [-0.4, 0.8], atol=1e-6)
    assert certificate.gap == pytest.approx(1.2, abs=1e-6)
    assert certificate.bound == pytest.approx(1.2, abs=1e-6)
    assert "Tight" in certificate.explanation
    with pytest.raises(ValueError, match="no discounted entry"):
        certificate.entry("reward", "discounted")


def test_one_group():
    env = bisimulator.make("lending", groups=1, population=5, horizon=10)
    certificate = certify_history(env, by_history(env, np.ones((1, 7))))
    assert certificate.bound == 0
    assert "only one group" in certificate.explanation


def random_policy(env):
    size = max_visits(env)
    return np.random.default_rng(0).random((env.num_groups, env.params.num_scores, size, size))


@pytest.mark.parametrize("limit", ["MAX_CELLS", "MAX_PAIRS"])
@pytest.mark.parametrize("allowed", [2_000, 100, 0])
@pytest.mark.parametrize(
    "settings",
    [
        {"groups": 3},
        {"conscientiousness": (0.5, 0.2)},
        {"moves": np.full((2, 2, 2), 0.5), "rejected_moves": (0.3, 0.1)},
    ],
)
def test_merged_histories_give_a_bound_and_its_width(monkeypatch, limit, allowed, settings):
    monkeypatch.setattr(_lending_chain, "_QUADRATURE_NODES", 3)
    env = bisimulator.make("lending", population=2, horizon=5, c_max=2, **settings)
    accept = random_policy(env)
    full = certify_history(env, accept)
    monkeypatch.setattr(history, limit, allowed)
    merged = certify_history(env, accept)
    for signal in SIGNALS:
        entry, exact = merged.entry(signal, "episode"), full.entry(signal, "episode")
        assert exact.bound_width == 0
        np.testing.assert_array_equal(entry.values, exact.values)
        assert (exact.bounds <= entry.bounds + 1e-9).all()
        assert exact.bound >= entry.bound - entry.bound_width - 1e-9
        assert entry.worst_distance >= 0
        assert entry.over_time + entry.between_people == pytest.approx(entry.slack, abs=1e-9)
        assert ("up to" in entry.explanation) == (entry.bound_width > 0)


def test_wrong_shape():
    env = bisimulator.make("lending", population=1, horizon=2)
    with pytest.raises(ValueError, match="groups x scores x repaid x defaulted"):
        certify_history(env, np.ones((2, 7, 3, 3)))
