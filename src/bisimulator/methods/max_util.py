"""Max-util (Liu et al. 2018): one threshold for everybody, the one with the greatest expected profit right now.

No group is looked at, and neither is the future: the threshold maximises the profit of deciding once on everybody
in the population as it stands.
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
    """Choices of what the rule may know, not tuned; the authors' rule knows the population."""

    knows: Knowledge = "population"  # what it is fitted to: everybody, what it has seen, or past records
    every: int = 100  # decisions between two fits; 0: only at the start

    def __post_init__(self) -> None:
        check_knowledge(self.knows, self.every)


def best_threshold(counts: Counts, gain: Float[Array, ""], loss: Float[Array, ""]) -> Float[Array, "G C"]:
    """Accept iff the score is at least the one with the greatest expected profit; the higher one of equals."""
    profit = (counts.people * (counts.chance * gain + (1 - counts.chance) * loss)).sum(0)
    from_here = jnp.cumsum(
        jnp.append(profit, 0.0)[::-1]
    )  # accept nobody, the top score, the two top scores ...
    slack = 1e-5 * jnp.abs(profit).sum()
    number = jnp.argmax(from_here >= from_here.max() - slack)
    accept = jnp.arange(profit.size) >= profit.size - number
    return jnp.broadcast_to(accept.astype(jnp.float32), counts.people.shape)


def build(config: Config, env: Env) -> Adaptive:
    return Adaptive(best_threshold, config.knows, config.every)


MAX_UTIL = Rule(
    summary="The threshold with the greatest expected profit right now, the same for all groups",
    published="Max-util",
    config=Config(),
    build=build,
)
