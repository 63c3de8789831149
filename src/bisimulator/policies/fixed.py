"""Policies that decide by group and observed score alone: `pi(accept | group, score)`."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key
from numpy.typing import ArrayLike

from bisimulator.core import Act, Env
from bisimulator.errors import check_array, check_probabilities, check_real, check_shape
from bisimulator.policies.policy import DependsOn, Policy


class Constant(Policy):
    """The same action for everybody."""

    action: int = eqx.field(static=True)
    depends_on: ClassVar[DependsOn] = "score"

    def bind(self, env: Env) -> Act:
        space = env.action_space
        return lambda key, obs: jnp.full((*obs.shape[:-1], *space.shape), self.action, space.dtype)

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        accepted = env.scenario.accepts(jnp.int32(self.action)).astype(jnp.float32)
        return jnp.broadcast_to(accepted, obs.shape[:-1])


class Random(Policy):
    """Accept each applicant with the same probability."""

    probability: Float[Array, ""]
    depends_on: ClassVar[DependsOn] = "score"

    def bind(self, env: Env) -> Act:
        require_applicants(env)
        return lambda key, obs: jax.random.bernoulli(key, self.probability, obs.shape[:-1]).astype(jnp.int32)

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        return jnp.broadcast_to(self.probability, obs.shape[:-1])


class Thresholds(Policy):
    """Accept iff the observed score is at least the group's threshold."""

    levels: Float[Array, "G"]
    depends_on: ClassVar[DependsOn] = "score"

    def bind(self, env: Env) -> Act:
        require_applicants(env)
        check_shape("thresholds", self.levels, (env.num_groups,), f"one per group of {env.name}")
        return lambda key, obs: self._accepts(env, obs).astype(jnp.int32)

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        return self._accepts(env, obs).astype(jnp.float32)

    def _accepts(self, env: Env, obs: Float[Array, "... D"]) -> Array:
        level = obs[..., 1 : 1 + env.num_groups] @ self.levels
        # half a thousandth of a point: observed scores come as float32 fractions of the top score
        return obs[..., 0] * _top_score(env) >= level - 5e-4


class Table(Policy):
    """`pi(accept | group, score)` as an array (G, C); observed scores are rounded to the nearest whole one."""

    probabilities: Float[Array, "G C"]
    depends_on: ClassVar[DependsOn] = "score"

    def bind(self, env: Env) -> Act:
        require_applicants(env)
        expected = (env.num_groups, env.params.num_scores)
        check_shape("the policy table", self.probabilities, expected, f"groups x scores of {env.name}")

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            chance = self.accept_probability(env, obs)
            return (jax.random.uniform(key, chance.shape) < chance).astype(jnp.int32)

        return act

    def accept_probability(self, env: Env, obs: Float[Array, "... D"]) -> Float[Array, "..."]:
        return self.probabilities[group_and_score(env, obs)]


def require_applicants(env: Env) -> None:
    """Raise a ValueError where nobody applies whom a policy could accept or reject."""
    if not env.scenario.applicants:
        raise ValueError(
            f"this policy decides on applicants by group and score, and {env.name!r} has none; "
            "pass a function of its observations, or a rule of `bisimulator list`"
        )


def group_and_score(env: Env, obs: Float[Array, "... D"]) -> tuple[Int[Array, "..."], Int[Array, "..."]]:
    """The group and the nearest whole score that an observation shows."""
    score = jnp.round(obs[..., 0] * _top_score(env)).astype(jnp.int32)
    return jnp.argmax(obs[..., 1 : 1 + env.num_groups], -1), score


def _top_score(env: Env) -> int:
    return max(env.params.num_scores - 1, 1)


def accept_all() -> Constant:
    """Accept everybody."""
    return Constant(1)


def reject_all() -> Constant:
    """Reject everybody."""
    return Constant(0)


def random(probability: float = 0.5) -> Random:
    """Accept everybody with the same probability, whatever is observed."""
    return Random(jnp.float32(check_real("probability", probability, min=0, max=1)))


def thresholds(levels: ArrayLike) -> Thresholds:
    """Accept iff the observed score is at least the group's level, such as `thresholds((3, 3))`."""
    return Thresholds(jnp.asarray(check_array("thresholds", levels, ndim=(1,)), jnp.float32))


def table(probabilities: ArrayLike) -> Table:
    """Accept with probability `pi(accept | group, score)`, an array (groups, scores)."""
    return Table(jnp.asarray(check_probabilities("the policy table", probabilities, ndim=(2,)), jnp.float32))
