"""Which policies get a certificate and which an estimate, and that both are right."""

import dataclasses
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.evaluation import certify as certifying
from bisimulator.evaluation.certify import Estimate, certify
from bisimulator.exact.certificate import certify_table


@pytest.fixture(scope="module")
def env():
    return bisimulator.make("lending", population=50, horizon=500)


@pytest.mark.parametrize(
    ("policy", "table"),
    [
        (policies.accept_all(), np.ones((2, 7))),
        (policies.reject_all(), np.zeros((2, 7))),
        (policies.random(0.25), np.full((2, 7), 0.25)),
        (policies.thresholds((2, 4)), [[0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1]]),
        (np.full((2, 7), 0.5), np.full((2, 7), 0.5)),
        (lambda obs: obs[:, 0] >= 0.5, [[0, 0, 0, 1, 1, 1, 1]] * 2),
    ],
)
def test_policies_on_scores_get_the_certificate_of_their_table(env, policy, table):
    certificate, expected = certify(env, policy), certify_table(env, table)
    assert certificate.exact
    for key, entry in expected.entries.items():
        np.testing.assert_allclose(certificate.entries[key].values, entry.values, atol=1e-12)
        assert certificate.entries[key].bound == pytest.approx(entry.bound, abs=1e-9)


class ForgivesOnce(policies.Policy):
    """Accepts with a probability that falls with the share of defaults: a stand-in for a trained network."""

    def accept_probability(self, env, obs):
        return 1 - 0.8 * obs[..., -1]

    def bind(self, env):
        def act(key, obs):
            probability = self.accept_probability(env, obs)
            return jax.random.bernoulli(key, probability).astype(jnp.int32)

        return act


def test_policies_on_history_get_exact_values_and_a_bound():
    env = bisimulator.make("lending", population=50, horizon=50, c_max=4)
    result = certify(env, ForgivesOnce())
    assert result.exact
    simulated = bisimulator.evaluate(env, ForgivesOnce(), seeds=30, episodes=10).summary
    for g, value in enumerate(result.values):
        mean, half = simulated[f"return_g{g + 1}"]
        assert abs(mean - value) < 2 * half
    assert result.gap <= result.bound + result.main.error_bound
    assert result.bound < 2 * result.gap


@pytest.mark.parametrize(
    ("make", "policy", "reason"),
    [
        (lambda env: bisimulator.make("college"), policies.accept_all(), "People influence each other"),
        (lambda env: env.with_omega(jnp.array([[1.0, 1.0], [2.0, 0.5]])), policies.accept_all(), "omega"),
        (lambda env: env, lambda key, obs: obs[:, 0] > 0.4, "accept_probability"),
        (lambda env: env, np.ones((500, 2, 7)), "depends on the time"),
        (lambda env: bisimulator.make("lending", population=4), lambda obs: obs[:, 0] > 0.4, "too often"),
    ],
)
def test_everything_else_is_an_estimate_and_says_why(env, monkeypatch, make, policy, reason):
    monkeypatch.setattr(certifying, "evaluate", simulated([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]))
    result = certify(make(env), policy, seeds=3)
    assert not result.exact
    assert reason in result.reason
    assert reason in str(result)
    assert "not a proof" in str(result)


def test_an_estimate_by_simulation():
    env = bisimulator.make("college", population=40, horizon=40)
    result = certify(env, policies.accept_all(), seeds=6, episodes=4)
    low, high = result.interval
    assert 0 < low <= result.gap <= high
    assert result.values[0] > result.values[1]  # accepting everybody, the first group succeeds more often
    assert (result.seeds, result.episodes) == (6, 4)


def simulated(returns):
    """An `evaluate` that gives these returns, (groups, seeds), with one episode per seed."""
    table = np.asarray(returns, float)

    def evaluate(env, policy, *, episodes, seeds):
        assert len(seeds) == table.shape[1]
        return SimpleNamespace(episodes={f"return_g{g + 1}": row[:, None] for g, row in enumerate(table)})

    return evaluate


def middle_scores(key, obs):
    return obs[:, 0] > 0.4


def estimate(monkeypatch, env, returns):
    monkeypatch.setattr(certifying, "evaluate", simulated(returns))
    return certify(env, middle_scores, seeds=np.shape(returns)[1], episodes=1)


def test_interval_by_hand(env, monkeypatch):
    """Differences 0, 1, 2: mean 1, standard error 1 / sqrt(3), Student's quantile 4.303 with 2 degrees."""
    result = estimate(monkeypatch, env, [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    np.testing.assert_allclose(result.values, [2, 1])
    assert result.gap == 1
    assert result.groups == (0, 1)
    np.testing.assert_allclose(result.interval, (0, 1 + 4.3027 / np.sqrt(3)), atol=1e-3)


def test_intervals_have_their_nominal_coverage(env, monkeypatch):
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        low, high = estimate(monkeypatch, env, rng.normal([[5.0], [2.0]], 1, (2, 8))).interval
        covered += low <= 3 <= high
    assert 0.92 <= covered / 400 <= 0.98  # 95%, three standard errors


def test_episodes_in_which_a_group_is_absent_are_left_out(env, monkeypatch):
    result = estimate(monkeypatch, env, [[1.0, 2.0, 3.0, 9.0], [1.0, 1.0, 1.0, np.nan]])
    assert result.gap == 1
    with pytest.raises(ValueError, match="use more seeds, or a larger population"):
        estimate(monkeypatch, env, [[1.0, 2.0], [1.0, np.nan]])


def test_one_group_has_no_gap(monkeypatch):
    env = bisimulator.make("lending", groups=1)
    assert estimate(monkeypatch, env, [[1.0, 2.0]]).gap == 0


def test_too_few_seeds(env):
    with pytest.raises(ValueError, match="seeds must be at least 2"):
        certify(env, lambda key, obs: obs[:, 0] > 0.4, seeds=1)


def test_estimates_print_in_one_line_and_escape_names(monkeypatch):
    env = bisimulator.make("lending", population=50, horizon=500, group_names=("a", "<i>"))
    env = dataclasses.replace(env, name="<b>&")
    result = estimate(monkeypatch, env, [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]])
    assert repr(result).startswith("Estimate for <b>& from 3 seeds x 1 episodes, not a proof: ")
    assert len(repr(result).splitlines()) == 1
    page = result._repr_html_()
    assert "Estimate for &lt;b&gt;&amp; from" in page
    assert "group &lt;i&gt;" in page
    assert "<b>" not in page
    assert "<i>" not in page


def test_estimates_without_group_names_number_them():
    result = Estimate("college", "Because.", np.array([2.0, 1.0]), (0, 1), 1.0, (0.5, 1.5), 10, 5)
    assert "return per person of group 2" in result._repr_html_()


def test_more_than_a_thousand_groups_are_refused():
    with pytest.raises(ValueError, match="at most 1,000 groups, got 1,001; merge groups"):
        certify(bisimulator.make("lending", groups=1001), policies.accept_all())
