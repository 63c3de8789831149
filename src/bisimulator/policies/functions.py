"""A policy from any function of observations, and from whatever else users pass as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Act, ActionSpace, Env
from bisimulator.errors import check_probabilities, shown
from bisimulator.policies._captured import captured_values, draws_random_numbers
from bisimulator.policies.fixed import table
from bisimulator.policies.policy import Policy
from bisimulator.policies.timed import clock
from bisimulator.simulation import check_action_range


class Function(Policy):
    """Any function of observations (B, D) to actions (B, ...); with two arguments, (key, observations).

    A function that draws random numbers of its own, such as NumPy's, is called anew in every step. Its evaluations
    differ from call to call, and no exact tool takes it; (key, observations) is reproducible.
    """

    function: Callable[..., ArrayLike] = eqx.field(static=True)
    captured: str = eqx.field(static=True, default="")  # so that no program is used again with other values

    @property
    def takes_key(self) -> bool:
        return _num_arguments(self.function) == 2

    def bind(self, env: Env) -> Act:
        called, space = self._called(env), env.action_space
        if called != "compiled":
            return lambda key, obs: self._call(env, obs, each=called == "each time")

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Array:
            flat = obs.reshape(-1, obs.shape[-1])
            actions = self.function(key, flat) if self.takes_key else self.function(flat)
            return jnp.asarray(actions).astype(space.dtype).reshape(*obs.shape[:-1], *space.shape)

        return act

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"] | None:
        """Known for a function of observations alone, unless it draws random numbers."""
        if self.takes_key or self._called(env) == "each time":
            return None
        actions = self.bind(env)(jax.random.key(0), obs)
        check_action_range(env, actions.min(), actions.max())
        return env.scenario.accepts(actions).astype(jnp.float32)

    def _called(self, env: Env) -> Literal["compiled", "for all episodes", "each time"]:
        """Whether it can be compiled, is written with NumPy, or draws random numbers. Wrong functions raise."""
        batch = jax.ShapeDtypeStruct((2, env.observation_size), jnp.float32)
        key = jax.eval_shape(lambda: jax.random.key(0))
        try:
            out = jax.eval_shape(self.function, *((key, batch) if self.takes_key else (batch,)))
        except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError) as error:
            if self.takes_key:
                raise TypeError(
                    "a policy that takes (key, observations) must be written with jax.numpy; "
                    "a plain NumPy function takes (observations)"
                ) from error
            _check_actions(np.asarray(self.function(np.zeros(batch.shape, np.float32))), 2, env.action_space)
            return "each time" if self._draws_random_numbers(env, np.asarray) else "for all episodes"
        _check_actions(out, 2, env.action_space)
        if not self._draws_random_numbers(env, jnp.asarray):
            return "compiled"
        if self.takes_key:
            raise TypeError(
                "a policy that takes (key, observations) must draw with the key alone, and this one gives other "
                "actions for equal arguments; use jax.random, or a function of observations"
            )
        return "each time"

    def _draws_random_numbers(self, env: Env, as_array: Callable[..., ArrayLike]) -> bool:
        obs = np.linspace(0, 1, 64 * env.observation_size, dtype=np.float32).reshape(64, -1)
        with jax.ensure_compile_time_eval():
            arguments = (jax.random.key(0), as_array(obs)) if self.takes_key else (as_array(obs),)
            return draws_random_numbers(self.function, *arguments)

    def _call(self, env: Env, obs: Float[Array, "... D"], *, each: bool) -> Array:
        """Call it from the compiled program: for each episode by itself, or for all of them at once."""
        space = env.action_space

        def call(obs: NDArray[np.float32]) -> NDArray[np.generic]:
            obs = np.asarray(obs)
            actions = np.asarray(self.function(obs.reshape(-1, obs.shape[-1])))
            _check_actions(actions, obs.size // obs.shape[-1], space)
            return actions.astype(space.dtype).reshape(*obs.shape[:-1], *space.shape)

        shape, method = (
            jax.ShapeDtypeStruct((*obs.shape[:-1], *space.shape), space.dtype),
            "sequential" if each else "expand_dims",
        )
        actions: Array = jax.pure_callback(call, shape, obs, vmap_method=method)
        return actions


def _num_arguments(function: Callable[..., ArrayLike]) -> int:
    """How many arguments have no default."""
    arguments = inspect.signature(function).parameters.values()
    return sum(a.default is a.empty and a.kind is not a.VAR_KEYWORD for a in arguments)


def _check_arguments(function: Callable[..., ArrayLike]) -> None:
    try:
        fits = _num_arguments(function) in (1, 2)
    except (ValueError, TypeError):  # a built-in function, which does not tell
        fits = False
    if not fits:
        raise TypeError(
            f"a policy must be a function of (observations) or of (key, observations), got {shown(function)}; "
            "pass lambda observations: observations[:, 0] >= 0.5, for example"
        )


def _check_actions(actions: object, number: int, space: ActionSpace) -> None:
    """One action per observation; `actions` is whatever the user's function returned."""
    shape, dtype = getattr(actions, "shape", None), getattr(actions, "dtype", None)
    expected, batch = (number, *space.shape), ", ".join(["B", *map(str, space.shape)])
    if shape != expected or dtype is None:
        raise ValueError(
            f"a policy must return one action for each observation: for shape (B, D) it must return "
            f"({batch}{',' * (not space.shape)}), got {shape} where {expected} was expected; "
            "use axis=-1, as in `observations[..., 0] >= 0.5`"
        )
    if np.dtype(dtype).kind not in f"b{space.kinds}":
        raise TypeError(
            f"a policy must return actions, whole numbers or True and False, got {dtype}; "
            "compare probabilities with a random number, or pass policies.table(probabilities)"
        )


def as_policy(policy: Policy | Callable[..., ArrayLike] | ArrayLike) -> Policy:
    """A policy from a policy, a function of observations, or an array `pi(accept | group, score)`.

    An array with a third axis in front, `pi_t(accept | group, score)`, is a policy with a clock.
    """
    if isinstance(policy, Policy):
        return policy
    if callable(policy):
        _check_arguments(policy)
        return Function(policy, captured_values(policy))
    if isinstance(policy, np.ndarray | jax.Array | list | tuple):
        probabilities = check_probabilities("the policy table", policy, ndim=(2, 3))
        return clock(probabilities) if probabilities.ndim == 3 else table(probabilities)
    raise TypeError(
        f"got {shown(policy)} as a policy; pass bisimulator.policies.*, a function of observations, "
        "or an array of acceptance probabilities (groups, scores)"
    )
