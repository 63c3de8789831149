"""Policies that need no training, and the way to make a policy of any function.

A policy is bound to an environment before it acts: `bind(env)` gives `act(key, observations) -> actions`, which
works on any leading axes. A function of observations is a policy too (see `as_policy`).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Env, Scenario, Step
from bisimulator.errors import check_array, check_probabilities, check_real, check_shape

Act = Callable[[Key[Array, ""], Float[Array, "... D"]], Int[Array, "..."]]


@runtime_checkable
class Policy(Protocol):
    def bind(self, env: Env) -> Act: ...


class Constant(eqx.Module):
    """The same action for everybody."""

    action: int = eqx.field(static=True)

    def bind(self, env: Env) -> Act:
        return lambda key, obs: jnp.full(obs.shape[:-1], self.action, jnp.int32)


class Random(eqx.Module):
    """Accept each applicant with the same probability."""

    probability: Float[Array, ""]

    def bind(self, env: Env) -> Act:
        return lambda key, obs: jax.random.bernoulli(key, self.probability, obs.shape[:-1]).astype(jnp.int32)


class Thresholds(eqx.Module):
    """Accept iff the observed score is at least the group's threshold."""

    levels: Float[Array, "G"]

    def bind(self, env: Env) -> Act:
        check_shape("thresholds", self.levels, (env.num_groups,), f"one a group of {env.name}")
        top = max(env.params.num_scores - 1, 1)

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            level = obs[..., 1 : 1 + env.num_groups] @ self.levels
            # half a thousandth of a point: observed scores come as float32 fractions of the top score
            return (obs[..., 0] * top >= level - 5e-4).astype(jnp.int32)

        return act


class Table(eqx.Module):
    """pi(accept | group, score) as an array (G, C); observed scores are rounded to the nearest whole one."""

    probabilities: Float[Array, "G C"]

    def bind(self, env: Env) -> Act:
        wanted = (env.num_groups, env.params.num_scores)
        check_shape("the policy table", self.probabilities, wanted, f"groups x scores of {env.name}")
        top = max(env.params.num_scores - 1, 1)

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            score = jnp.round(obs[..., 0] * top).astype(jnp.int32)
            group = jnp.argmax(obs[..., 1 : 1 + env.num_groups], -1)
            chance = self.probabilities[group, score]
            return (jax.random.uniform(key, chance.shape) < chance).astype(jnp.int32)

        return act


class Clock(eqx.Module):
    """pi_t(accept | group, score) as an array (T, G, C): a table for every step, as `Frontier.policy` gives.

    It acts on observations that end with the number of the step (`with_clock`), which `evaluate` sees to.
    """

    probabilities: Float[Array, "T G C"]

    def check(self, env: Env) -> None:
        wanted = (int(env.params.horizon), env.num_groups, env.params.num_scores)
        check_shape("the policy", self.probabilities, wanted, f"steps x groups x scores of {env.name}")

    def bind(self, env: Env) -> Act:
        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            step = obs[..., -1].astype(jnp.int32)
            score = jnp.round(obs[..., 0] * max(env.params.num_scores - 1, 1)).astype(jnp.int32)
            group = jnp.argmax(obs[..., 1 : 1 + env.num_groups], -1)
            chance = self.probabilities[step, group, score]
            return (jax.random.uniform(key, chance.shape) < chance).astype(jnp.int32)

        return act


def with_clock(scenario: Scenario) -> Scenario:
    """The same scenario, every observation followed by the number of the step."""

    def seen(obs: Float[Array, "D"], state: Any) -> Float[Array, "E"]:
        return jnp.append(obs, state.t.astype(jnp.float32))

    def step(key: Key[Array, ""], state: Any, action: Int[Array, ""], params: Any) -> tuple[Any, Step]:
        state, out = scenario.step(key, state, action, params)
        return state, dataclasses.replace(
            out, obs=seen(out.obs, state), next_self_obs=seen(out.next_self_obs, state)
        )

    def observe(state: Any, params: Any) -> Float[Array, "E"]:
        return seen(scenario.observe(state, params), state)

    return dataclasses.replace(scenario, step=step, observe=observe)


class Network(eqx.Module):
    """A trained network from observations to one output an action: the largest one, or sampled by softmax."""

    network: Callable[[Float[Array, "*B D"]], Float[Array, "*B A"]]
    greedy: bool = eqx.field(static=True, default=True)

    def bind(self, env: Env) -> Act:
        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            outputs = self.network(obs)
            return outputs.argmax(-1) if self.greedy else jax.random.categorical(key, outputs)

        return act

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        outputs = self.network(obs)
        if self.greedy:
            return (outputs.argmax(-1) == 1).astype(jnp.float32)
        return jax.nn.softmax(outputs)[..., 1]


class Function(eqx.Module):
    """Any function of observations (B, D) to actions (B,); with two arguments, (key, observations)."""

    function: Callable[..., Any] = eqx.field(static=True)

    def bind(self, env: Env) -> Act:
        arguments = inspect.signature(self.function).parameters.values()
        takes_key = sum(a.default is a.empty and a.kind is not a.VAR_KEYWORD for a in arguments) == 2
        batch = jax.ShapeDtypeStruct((2, env.observation_size), jnp.float32)
        key = jax.eval_shape(lambda: jax.random.key(0))
        try:
            out = jax.eval_shape(self.function, *((key, batch) if takes_key else (batch,)))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            if takes_key:
                raise TypeError(
                    "a policy that takes (key, observations) must be written with jax.numpy; "
                    "a plain NumPy function takes (observations)"
                ) from error
            self._check_output(np.asarray(self.function(np.zeros(batch.shape, np.float32))), (2,))
            return lambda key, obs: self._call_numpy(obs)
        self._check_output(out, (2,))

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            flat = obs.reshape(-1, obs.shape[-1])
            actions = self.function(key, flat) if takes_key else self.function(flat)
            return jnp.asarray(actions).astype(jnp.int32).reshape(obs.shape[:-1])

        return act

    def _call_numpy(self, obs: Float[Array, "... D"]) -> Int[Array, "..."]:
        def call(obs: np.ndarray) -> np.ndarray:
            obs = np.asarray(obs)
            actions = np.asarray(self.function(obs.reshape(-1, obs.shape[-1])))
            self._check_output(actions, (obs.size // obs.shape[-1],))
            return actions.astype(np.int32).reshape(obs.shape[:-1])

        shape = jax.ShapeDtypeStruct(obs.shape[:-1], jnp.int32)
        return jax.pure_callback(call, shape, obs, vmap_method="expand_dims")

    @staticmethod
    def _check_output(actions: Any, wanted: tuple[int, ...]) -> None:
        got, dtype = getattr(actions, "shape", None), getattr(actions, "dtype", None)
        if got != wanted:
            raise ValueError(
                f"a policy must return one action for each observation: for shape (B, D) it must return (B,), "
                f"got {got} where {wanted} was expected; use axis=-1, as in `observations[..., 0] >= 0.5`"
            )
        if np.dtype(dtype).kind not in "bui":
            raise TypeError(
                f"a policy must return actions, whole numbers or True and False, got {dtype}; "
                "compare probabilities with a random number, or pass policies.table(probabilities)"
            )


def accept_all() -> Policy:
    return Constant(1)


def reject_all() -> Policy:
    return Constant(0)


def random(probability: float = 0.5) -> Policy:
    return Random(jnp.float32(check_real("probability", probability, least=0, most=1)))


def thresholds(levels: Any) -> Policy:
    """Accept iff the observed score is at least the group's level: `thresholds((3, 3))`."""
    return Thresholds(jnp.asarray(check_array("thresholds", levels, ndim=(1,)), jnp.float32))


def table(probabilities: Any) -> Policy:
    """pi(accept | group, score), shape (groups, scores)."""
    return Table(jnp.asarray(check_probabilities("the policy table", probabilities, ndim=(2,)), jnp.float32))


def clock(probabilities: Any) -> Policy:
    """pi_t(accept | group, score), shape (steps, groups, scores)."""
    return Clock(jnp.asarray(check_probabilities("the policy", probabilities, ndim=(3,)), jnp.float32))


def as_policy(policy: Any) -> Policy:
    """A policy from a policy, a function of observations, or an array pi(accept | group, score).

    An array with a third axis in front, pi_t(accept | group, score), is a policy with a clock.
    """
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        return Function(policy)
    if isinstance(policy, np.ndarray | jax.Array | list | tuple):
        return clock(policy) if np.ndim(policy) == 3 else table(policy)
    raise TypeError(
        f"got {policy!r} as a policy; pass bisimulator.policies.*, a function of observations, "
        "or an array of acceptance probabilities (groups, scores)"
    )


@dataclasses.dataclass(frozen=True)
class NoConfig:
    """Nothing to configure."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """A method that needs no training: `build(config, env)` makes its policy for an environment."""

    summary: str
    build: Callable[[Any, Env], Policy]
    published: str = ""  # its name in the paper's tables
    config: Any = NoConfig()


def _middle_threshold(env: Env) -> Policy:
    """The lowest score at which accepting pays as far as the score alone tells, the same for all groups."""
    p, (gain, loss) = env.params, env.params.stakes
    profit = p.group_probs @ (p.chance * gain + (1 - p.chance) * loss) > 1e-6
    level = int(np.argmax(profit)) if np.any(profit) else len(profit)
    return thresholds((level,) * env.num_groups)


ACCEPT_ALL = Rule("Accept everybody", lambda config, env: accept_all())
REJECT_ALL = Rule("Reject everybody", lambda config, env: reject_all())
THRESHOLD = Rule(
    "Accept where the score alone says that a single decision pays, the same for all groups",
    lambda config, env: _middle_threshold(env),
)
