"""The classifier compared with the logistic regression of scikit-learn, and the effect of what it knows."""

import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods.classifier import Config, build, likely_to_succeed
from bisimulator.policies.adaptive import Counts


@pytest.mark.parametrize("seed", range(5))
def test_decisions_agree_with_scikit_learn(seed):
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


def test_weights_are_finite_if_a_group_always_or_never_succeeds():
    chance = jnp.array([[1.0] * 4, [0.0] * 4])
    policy = likely_to_succeed(Counts(jnp.full((2, 4), 50.0), chance), jnp.float32(1), jnp.float32(-1))
    assert policy.tolist() == [[1] * 4, [0] * 4]


@pytest.mark.long
def test_a_rule_that_knows_raised_scores_admits_fewer_people():
    """Raised scores predict less success, so a rule fitted to them admits fewer than one fitted to past records."""
    env = bisimulator.make("college")
    rates = [
        bisimulator.evaluate(env, build(Config(knows=knows), env), seeds=3, episodes=2).summary["recall_g2"][
            0
        ]
        for knows in ("population", "cohort")
    ]
    assert rates[0] < rates[1]
