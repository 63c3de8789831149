"""What the params of scenarios have in common in which a step decides on all groups at once."""

from __future__ import annotations

from typing import NoReturn

import jax.numpy as jnp
from jaxtyping import Array, Float


class WithoutApplicants:
    """Nobody applies: there are no observed scores to adjust, and no probability of being qualified."""

    @property
    def omega_scale(self) -> float:
        return 1.0

    @property
    def score_edges(self) -> tuple[float, ...]:
        return ()

    @property
    def qualified_probs(self) -> NoReturn:
        raise TypeError("nobody applies here, so nobody is qualified; check Scenario.applicants first")

    @property
    def accept_rewards(self) -> NoReturn:
        raise TypeError("nobody applies here, so nobody is accepted; check Scenario.applicants first")


def no_omega(groups: int) -> Float[Array, "G 0"]:
    """Observation dynamics without any parameter."""
    return jnp.zeros((groups, 0))
