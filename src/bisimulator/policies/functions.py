"""A policy from any function of observations, and from whatever else users pass as one."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Act, Env
from bisimulator.policies.fixed import table
from bisimulator.policies.policy import Policy
from bisimulator.policies.timed import clock


class Function(Policy):
    """Any function of observations (B, D) to actions (B,); with two arguments, (key, observations)."""

    function: Callable[..., ArrayLike] = eqx.field(static=True)

    @property
    def takes_key(self) -> bool:
        arguments = inspect.signature(self.function).parameters.values()
        return sum(a.default is a.empty and a.kind is not a.VAR_KEYWORD for a in arguments) == 2

    def bind(self, env: Env) -> Act:
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
            _check_actions(np.asarray(self.function(np.zeros(batch.shape, np.float32))), (2,))
            return lambda key, obs: self._call_numpy(obs)
        _check_actions(out, (2,))

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            flat = obs.reshape(-1, obs.shape[-1])
            actions = self.function(key, flat) if self.takes_key else self.function(flat)
            return jnp.asarray(actions).astype(jnp.int32).reshape(obs.shape[:-1])

        return act

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"] | None:
        """Known for a function of observations alone, which cannot draw random actions."""
        if self.takes_key:
            return None
        return env.scenario.accepts(self.bind(env)(jax.random.key(0), obs)).astype(jnp.float32)

    def _call_numpy(self, obs: Float[Array, "... D"]) -> Int[Array, "..."]:
        def call(obs: NDArray[np.float32]) -> NDArray[np.int32]:
            obs = np.asarray(obs)
            actions = np.asarray(self.function(obs.reshape(-1, obs.shape[-1])))
            _check_actions(actions, (obs.size // obs.shape[-1],))
            return actions.astype(np.int32).reshape(obs.shape[:-1])

        shape = jax.ShapeDtypeStruct(obs.shape[:-1], jnp.int32)
        actions: Int[Array, "..."] = jax.pure_callback(call, shape, obs, vmap_method="expand_dims")
        return actions


def _check_actions(actions: object, expected: tuple[int, ...]) -> None:
    """Whole numbers, one per observation; `actions` is whatever the user's function returned."""
    shape, dtype = getattr(actions, "shape", None), getattr(actions, "dtype", None)
    if shape != expected or dtype is None:
        raise ValueError(
            f"a policy must return one action for each observation: for shape (B, D) it must return (B,), "
            f"got {shape} where {expected} was expected; use axis=-1, as in `observations[..., 0] >= 0.5`"
        )
    if np.dtype(dtype).kind not in "bui":
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
        return Function(policy)
    if isinstance(policy, np.ndarray | jax.Array | list | tuple):
        return clock(policy) if np.ndim(policy) == 3 else table(policy)
    raise TypeError(
        f"got {policy!r} as a policy; pass bisimulator.policies.*, a function of observations, "
        "or an array of acceptance probabilities (groups, scores)"
    )
