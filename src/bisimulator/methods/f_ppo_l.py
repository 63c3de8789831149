"""F-PPO-L (Hu et al. 2023): PPO whose advantage is regularised by the distance between the groups' scores.

W is the Wasserstein distance between the score distributions of recent applicants of two groups, in score points. With
d_t the change of W by decision t, and gap_t the recall gap of the episode after it:
    L1_t = min(0, -d_t) if gap_t > omega, otherwise 0    L2_t = max(0, -d_t) if gap_t <= omega, otherwise 0
    A'_t = A_t + beta_wider L1_t + beta_closer L2_t, where each term is scaled to [0, 1] in the minibatch and the sum is
    standardised.
It is F-PPO without its short-term part, which changes actions by looking at whether people would repay.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._running_gaps import Counts, running_gaps
from bisimulator.methods.a_ppo import unit_scale
from bisimulator.methods.hooks import LearnedMethod, Method, Transitions, standardise


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters, with the authors' values for lending."""

    beta_wider: float = 1.12  # weight of decisions that widen the distance, while recalls differ
    beta_closer: float = 1.0  # weight of decisions that reduce the distance, while recalls agree
    omega: float = 0.005  # recall gaps up to this count as agreement
    window: float = 300.0  # recent applicants whose scores are compared

    def __post_init__(self) -> None:
        check_options(self)
        check_real("omega", self.omega, min=0, max=1)
        check_real("window", self.window, min=1)


class State(eqx.Module):
    """What is known about the current episode of every environment."""

    recalls: Counts
    scores: Float[Array, "E G C"]  # recent applicants at each score, after the decision on them


class Extras(eqx.Module):
    """The recall gap after every decision, and the change of the distance by it."""

    gap: Float[Array, "*B"]
    change: Float[Array, "*B"]


@dataclasses.dataclass(frozen=True)
class LongTerm(Method[State, Extras]):
    """The hooks of F-PPO-L."""

    config: Config
    num_groups: int
    num_scores: int

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> State:
        return State(
            jnp.zeros((num_envs, self.num_groups, 2)),
            jnp.zeros((num_envs, self.num_groups, self.num_scores)),
        )

    def learn(self, key: Key[Array, ""], state: State, batch: Transitions) -> tuple[State, Extras]:
        recalls, _, gap = running_gaps(state.recalls, batch)

        def count(scores: Array, step: Transitions) -> tuple[Array, Array]:
            others = (1 - 1 / self.config.window) * scores
            before, after = (others + self._person(step.group, obs) for obs in (step.obs, step.next_self_obs))
            ended = (step.terminated | step.truncated)[:, None, None]
            return jnp.where(ended, 0.0, after), distance(after) - distance(before)

        scores, change = jax.lax.scan(count, state.scores, batch)
        return State(recalls, scores), Extras(gap, change)

    def advantage(self, state: State, advantages: Float[Array, "B 1+K"], extras: Extras) -> Float[Array, "B"]:
        c, unequal = self.config, extras.gap > self.config.omega
        wider = jnp.where(unequal, jnp.minimum(0.0, -extras.change), 0.0)
        closer = jnp.where(unequal, 0.0, jnp.maximum(0.0, -extras.change))
        terms = unit_scale(advantages[:, 0]) + c.beta_wider * unit_scale(wider)
        return standardise(terms + c.beta_closer * unit_scale(closer))

    def _person(self, group: Int[Array, "E"], obs: Float[Array, "E D"]) -> Float[Array, "E G C"]:
        """1 at the person's group and observed score."""
        score = jnp.round(obs[:, 0] * (self.num_scores - 1)).astype(jnp.int32)
        of_group, at_score = jax.nn.one_hot(group, self.num_groups), jax.nn.one_hot(score, self.num_scores)
        return of_group[:, :, None] * at_score[:, None, :]


def distance(scores: Float[Array, "E G C"]) -> Float[Array, "E"]:
    """The Wasserstein distance between two groups' scores; for more, the area between the outermost distributions."""
    people = scores.sum(-1, keepdims=True)
    below, known = scores.cumsum(-1) / jnp.maximum(people, 1e-9), people > 0
    between = jnp.where(known, below, -jnp.inf).max(1) - jnp.where(known, below, jnp.inf).min(1)
    return jnp.where(known.sum((1, 2)) > 1, between.sum(-1), 0.0)


def build(config: Config, env: Env) -> LongTerm:
    return LongTerm(config, env.num_groups, env.params.num_scores)


F_PPO_L = LearnedMethod(
    summary="PPO whose advantage is regularised by the distance between the groups' score distributions",
    published="",
    solver="ppo",
    config=Config(),
    build=build,
)
