"""Classifier: accept people whom a classifier, trained on past outcomes, expects to succeed.

The classifier is a logistic regression on the observed score and the group, trained for accuracy. Liu et al. (2018) and
the paper use it for college admissions, but it works in any scenario.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.core import Env
from bisimulator.policies import Rule
from bisimulator.policies.adaptive import Adaptive, Counts, Knowledge, check_knowledge

_NEWTON_STEPS = 12
_RIDGE = 1e-2  # keeps the weights finite if all outcomes of a group are the same


@dataclasses.dataclass(frozen=True)
class Config:
    """What the rule may know; nothing is tuned.

    The published recall of group 2, 0.53 with a wide interval, fits thresholds of 5 in some seeds and 6 in others: a
    classifier trained once on the records of another cohort, before anybody raised a score.
    """

    knows: Knowledge = "cohort"  # fitted to everybody, what it has seen, or records of a cohort
    every: int = 0  # decisions between two trainings; 0: only at the start

    def __post_init__(self) -> None:
        check_knowledge(self.knows, self.every)


def likely_to_succeed(counts: Counts, gain: Float[Array, ""], loss: Float[Array, ""]) -> Float[Array, "G C"]:
    """Accept where success is more likely than failure; accuracy ignores gain and loss."""
    groups, scores = counts.people.shape
    score = jnp.broadcast_to(jnp.linspace(0.0, 1.0, scores), (groups, scores))[..., None]
    group = jnp.broadcast_to(jnp.eye(groups)[:, None], (groups, scores, groups))
    features = jnp.concatenate([score, group], -1).reshape(groups * scores, groups + 1)
    people, chance = counts.people.reshape(-1), counts.chance.reshape(-1)

    def newton(weights: Float[Array, "F"], _: None) -> tuple[Float[Array, "F"], None]:
        p = jax.nn.sigmoid(features @ weights)
        gradient = features.T @ (people * (p - chance)) + _RIDGE * weights
        hessian = (features.T * (people * p * (1 - p))[None]) @ features + _RIDGE * jnp.eye(groups + 1)
        return weights - jnp.clip(jnp.linalg.solve(hessian, gradient), -5.0, 5.0), None

    weights, _ = jax.lax.scan(newton, jnp.zeros(groups + 1), None, _NEWTON_STEPS)
    return (features @ weights > 0).astype(jnp.float32).reshape(groups, scores)


def build(config: Config, env: Env) -> Adaptive:
    return Adaptive(likely_to_succeed, config.knows, config.every)


CLASSIFIER = Rule(
    summary="Accept people whom a logistic regression on score and group expects to succeed",
    published="Classifier",
    config=Config(),
    build=build,
)
