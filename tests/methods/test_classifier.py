"""The classifier against scikit-learn's logistic regression, and what it knows."""

import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods.classifier import Config, build, likely_to_succeed
from bisimulator.policies.adaptive import Counts


@pytest.mark.parametrize("seed", range(5))
def test_it_decides_like_scikit_learn(seed):
    sklearn = pytest.importorskip("sklearn.linear_model", reason="comes with the extra `oracle`")
    rng = np.random.default_rng(seed)
    groups, scores = 3, 6
    people = rng.integers(5, 60, (groups, scores))
    chance = rng.uniform(0.1, 0.9, (groups, scores))
    qualified = rng.binomial(people, chance)
    policy = likely_to_succeed(
        Counts(jnp.asarray(people, jnp.float32), jnp.asarray(qualified / people, jnp.float32)),
        jnp.float32(1),
        jnp.float32(-1),
    )
    rows = np.array([[c / (scores - 1), *np.eye(groups)[g]] for g in range(groups) for c in range(scores)])
    x = np.vstack([rows, rows])
    y = np.repeat([1, 0], len(rows))
    weight = np.concatenate([qualified.ravel(), (people - qualified).ravel()])
    model = sklearn.LogisticRegression(C=100.0, fit_intercept=False, tol=1e-8, max_iter=1000)
    model.fit(x, y, sample_weight=weight)
    margin = model.decision_function(rows)
    clear = np.abs(margin) > 1e-3
    assert ((margin > 0) == np.asarray(policy).ravel())[clear].all()


def test_groups_that_always_or_never_succeed_leave_the_weights_finite():
    chance = jnp.array([[1.0] * 4, [0.0] * 4])
    policy = likely_to_succeed(Counts(jnp.full((2, 4), 50.0), chance), jnp.float32(1), jnp.float32(-1))
    assert policy.tolist() == [[1] * 4, [0] * 4]


def test_whoever_knows_raised_scores_asks_for_more():
    """Observed scores promise more than they hold, so knowing the population admits fewer than past records do."""
    env = bisimulator.make("college")
    rates = [
        bisimulator.evaluate(env, build(Config(knows=knows), env), seeds=3, episodes=2).summary["recall_g2"][
            0
        ]
        for knows in ("population", "cohort")
    ]
    assert rates[0] < rates[1]
