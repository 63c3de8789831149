"""Rules for admissions by a published threshold: a fixed one, and juries that learn one from the rounds so far."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Act, Admissions, Decisions, Env, Params, Scenario, State, Step
from bisimulator.errors import check_int, check_options, check_real
from bisimulator.policies.policy import DependsOn, Policy
from bisimulator.policies.rules import Rule
from bisimulator.simulation import episode_by_steps

GRID = 1000  # a learned threshold is a multiple of 1 / GRID


@dataclasses.dataclass(frozen=True)
class FixedConfig:
    """The option of the fixed jury."""

    threshold: float = 0.5  # the score from which applicants are admitted

    def __post_init__(self) -> None:
        check_real("threshold", self.threshold, min=0, max=1)


@dataclasses.dataclass(frozen=True)
class JuryConfig:
    """The option of juries that learn."""

    burn_in: int = 10  # rounds with threshold 0, in which everybody is admitted and nobody raises a score

    def __post_init__(self) -> None:
        check_options(self)
        check_int("burn_in", self.burn_in, min=1)


def _admissions(env: Env) -> Admissions:
    if env.scenario.admissions is None:
        raise ValueError(
            f"{env.name!r} publishes no threshold; use an environment that does, such as 'college-threshold'"
        )
    return env.scenario.admissions


class FixedJury(Policy):
    """Publish the same threshold in every round."""

    threshold: Float[Array, ""]

    def bind(self, env: Env) -> Act:
        _admissions(env)
        return lambda key, obs: jnp.full((*obs.shape[:-1], 1), self.threshold)


class Jury(Policy):
    """Learn the threshold with the fewest wrong decisions on everybody whose eligibility is known.

    For `burn_in` rounds everybody is admitted. A jury that does not refit learns from these alone. A robust one adds to
    every score what it can be worth to raise it by, as the applicants will once there is a threshold.
    """

    burn_in: int = eqx.field(static=True)
    refit: bool = eqx.field(static=True, default=False)
    robust: bool = eqx.field(static=True, default=False)
    depends_on: ClassVar[DependsOn] = "episode"

    def bind(self, env: Env) -> Act:
        """The threshold of the first rounds."""
        return FixedJury(jnp.float32(0)).bind(env)

    def rollout(self, env: Env, key: Key[Array, ""], horizon: int) -> tuple[Decisions, State]:
        """Step by step, with what the jury has learned as a part of the state, and its threshold as observation."""
        learning = _learning(env.scenario, _admissions(env), self)
        decisions, last = episode_by_steps(learning, key, lambda key, obs: obs, env.params, horizon)
        return decisions, last.state


class Memory(eqx.Module):
    """The state of the environment, and how many applicants the jury knows to be eligible, or not, at each score."""

    state: State
    eligible: Float[Array, "B"]
    ineligible: Float[Array, "B"]
    rounds: Int[Array, ""]
    threshold: Float[Array, "1"]


def _learning(scenario: Scenario, admissions: Admissions, jury: Jury) -> Scenario:
    """The same scenario with the jury's memory in its state."""

    def reset(key: Key[Array, ""], params: Params) -> Memory:
        nobody = jnp.zeros(GRID + 1)
        return Memory(scenario.reset(key, params), nobody, nobody, jnp.int32(0), jnp.zeros(1))

    def step(key: Key[Array, ""], memory: Memory, action: Array, params: Params) -> tuple[Memory, Step]:
        state, out = scenario.step(key, memory.state, action, params)
        last = admissions.last_round(out.obs, params)
        score = last.score
        if jury.robust:
            score = jnp.minimum(score + admissions.max_raise(params)[last.group], 1.0)
        place = jnp.floor(score * GRID + 1e-3).astype(jnp.int32)  # a multiple of 1 / GRID stays what it is
        learns = jnp.array(True) if jury.refit else memory.rounds < jury.burn_in
        eligible = memory.eligible.at[place].add(1.0 * (learns & last.eligible))
        ineligible = memory.ineligible.at[place].add(1.0 * (learns & last.admitted & ~last.eligible))
        rounds = memory.rounds + 1
        learned = jnp.where(rounds < jury.burn_in, 0.0, best_threshold(eligible, ineligible))
        after = Memory(state, eligible, ineligible, rounds, learned[None])
        return after, dataclasses.replace(out, obs=after.threshold, next_self_obs=after.threshold)

    def observe(memory: Memory, params: Params) -> Float[Array, "1"]:
        return memory.threshold

    return dataclasses.replace(scenario, reset=reset, step=step, observe=observe)


def best_threshold(eligible: Float[Array, "B"], ineligible: Float[Array, "B"]) -> Float[Array, ""]:
    """The highest threshold of those with the fewest wrong decisions; 0 until both kinds of applicants are known."""
    right_minus_wrong = jnp.cumsum((eligible - ineligible)[::-1])  # if all from a score on are admitted
    best = GRID - right_minus_wrong.argmax()
    both = (eligible.sum() > 0) & (ineligible.sum() > 0)
    return jnp.where(both, best / GRID, 0.0)


def _publishes(scenario: Scenario) -> bool:
    return scenario.admissions is not None


FIXED: Rule[FixedConfig] = Rule(
    "Publish a fixed threshold",
    lambda config, env: FixedJury(jnp.float32(config.threshold)),
    config=FixedConfig(),
    applies=_publishes,
)
STATIC: Rule[JuryConfig] = Rule(
    "Learn a threshold in the first rounds and keep it",
    lambda config, env: Jury(config.burn_in),
    config=JuryConfig(),
    applies=_publishes,
)
CONTINUOUS: Rule[JuryConfig] = Rule(
    "Learn a threshold again after every round",
    lambda config, env: Jury(config.burn_in, refit=True),
    config=JuryConfig(),
    applies=_publishes,
)
ROBUST: Rule[JuryConfig] = Rule(
    "Learn a threshold in the first rounds that expects applicants to raise their scores",
    lambda config, env: Jury(config.burn_in, robust=True),
    config=JuryConfig(),
    applies=_publishes,
)
