"""EO (Hardt et al. 2016, as used by D'Amour et al. 2020): the most profitable policy with equal recall for all groups.

Each group is accepted from the most promising score downwards until a share tau of its qualified people is accepted;
the last score is randomised so that tau is met exactly. The total expected profit is a concave, piecewise linear
function of tau, so the optimal tau is at one of its kinks, where no score of some group is randomised. All are tried.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.core import Env
from bisimulator.policies import Rule
from bisimulator.policies.adaptive import Adaptive, Counts, Knowledge, check_knowledge


@dataclasses.dataclass(frozen=True)
class Config:
    """What the rule may know. The published numbers are those of a rule that is fitted once, at the start."""

    knows: Knowledge = "population"  # fitted to everybody, what it has seen, or records of a cohort
    every: int = 0  # decisions between two fits; 0: only at the start, as in the published numbers

    def __post_init__(self) -> None:
        check_knowledge(self.knows, self.every)


def equal_recall(counts: Counts, gain: Float[Array, ""], loss: Float[Array, ""]) -> Float[Array, "G C"]:
    """pi(accept | group, score) with the same recall for all groups and the highest expected profit."""
    qualified = counts.people * counts.chance
    share = qualified / jnp.maximum(qualified.sum(1, keepdims=True), 1e-9)  # of the group's qualified people
    order = jnp.argsort(-counts.chance, axis=1, stable=True)
    ordered = jnp.take_along_axis(share, order, 1)
    before = jnp.cumsum(ordered, 1) - ordered
    profit = counts.people * (counts.chance * gain + (1 - counts.chance) * loss)

    def accept(tau: Float[Array, ""]) -> Float[Array, "G C"]:
        probability = jnp.clip((tau - before) / jnp.maximum(ordered, 1e-9), 0.0, 1.0)
        # a score without qualified people is accepted only if the next one is
        probability = jnp.where(ordered > 0, probability, (tau > before).astype(jnp.float32))
        groups = jnp.arange(probability.shape[0])[:, None]
        return jnp.zeros_like(probability).at[groups, order].set(probability)

    taus = jnp.append((before + ordered).reshape(-1), 0.0)
    profits = jax.vmap(lambda tau: (accept(tau) * profit).sum())(taus)
    return accept(taus[jnp.argmax(profits)])


def build(config: Config, env: Env) -> Adaptive:
    return Adaptive(equal_recall, config.knows, config.every)


EO = Rule(
    summary="Group thresholds with equal recall and the highest expected profit, fitted at the start",
    published="EO",
    config=Config(),
    build=build,
)
