"""Max-util (Liu et al. 2018): one threshold for everybody, with the highest expected immediate profit.

The rule ignores groups and the future: its threshold maximises the profit of deciding once on everybody in the current
population.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.core import Env
from bisimulator.policies import Rule
from bisimulator.policies.adaptive import Adaptive, Counts, Knowledge, check_knowledge


@dataclasses.dataclass(frozen=True)
class Config:
    """What the rule may know; nothing is tuned. The authors' rule knows the population."""

    knows: Knowledge = "population"  # fitted to everybody, what it has seen, or records of a cohort
    every: int = 100  # decisions between two fits; 0: only at the start

    def __post_init__(self) -> None:
        check_knowledge(self.knows, self.every)


def best_threshold(counts: Counts, gain: Float[Array, ""], loss: Float[Array, ""]) -> Float[Array, "G C"]:
    """Accept from the threshold with the highest expected profit; the highest threshold if several are equal."""
    profit = (counts.people * (counts.chance * gain + (1 - counts.chance) * loss)).sum(0)
    # of accepting nobody, the highest score, the two highest scores, ...
    total = jnp.cumsum(jnp.append(profit, 0.0)[::-1])
    tolerance = 1e-5 * jnp.abs(profit).sum()
    number = jnp.argmax(total >= total.max() - tolerance)
    accept = jnp.arange(profit.size) >= profit.size - number
    return jnp.broadcast_to(accept.astype(jnp.float32), counts.people.shape)


def build(config: Config, env: Env) -> Adaptive:
    return Adaptive(best_threshold, config.knows, config.every)


MAX_UTIL = Rule(
    summary="One threshold for all groups: the highest expected immediate profit",
    published="Max-util",
    config=Config(),
    build=build,
)
