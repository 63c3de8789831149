"""Steps S seeds x E copies of an environment together and resets those that end.

The seed axis is explicit and the reset sits in one `cond` over all copies: under a `vmap` the population would
be selected, that is copied, at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import ANOTHER_BRANCH, Scenario, State, Step
from bisimulator.methods.hooks import Method, Transitions

# act(theta of all seeds, keys (S,), observations (S, E, D)) -> actions (S, E)
Act = Callable[[Any, Key[Array, "S"], Float[Array, "S E D"]], Int[Array, "S E"]]


class Copies(eqx.Module):
    """Where all copies of the environment stand."""

    key: Key[Array, "S E"]
    state: State  # leading axes (S, E)
    obs: Float[Array, "S E D"]
    t: Int[Array, ""]  # steps taken so far


def over_copies(f: Callable, params_axis: int | None = 0) -> Callable:
    """f(key, ..., params) for one copy -> the same for (S, E) copies, params differing by seed."""

    def mapped(*args: Any) -> Any:
        *per_copy, params = args
        inner = jax.vmap(f, in_axes=(*(0 for _ in per_copy), None))
        return jax.vmap(inner, in_axes=(*(0 for _ in per_copy), params_axis))(*per_copy, params)

    return mapped


def start(scenario: Scenario, keys: Key[Array, "S"], params: Any, num_envs: int) -> Copies:
    """Fresh copies; `params` has a leading seed axis."""
    pairs = jax.vmap(lambda key: jax.random.split(key, (num_envs, 2)))(keys)
    state = over_copies(scenario.reset)(pairs[..., 0], params)
    obs = over_copies(scenario.observe)(state, params)
    return Copies(key=pairs[..., 1], state=state, obs=obs, t=jnp.int32(0))


def step(scenario: Scenario, copies: Copies, action: Int[Array, "S E"], params: Any) -> tuple[Copies, Step]:
    """One step of every copy. `Step.obs` is the true next observation; `Copies.obs` is after a reset."""
    keys = jax.vmap(jax.vmap(lambda k: jax.random.fold_in(k, copies.t)))(copies.key)
    state, now = over_copies(scenario.step)(keys, copies.state, action, params)
    ended = now.terminated | now.truncated

    def reset_ended(state: State) -> tuple[State, Array]:
        reset_keys = jax.vmap(jax.vmap(lambda k: jax.random.fold_in(k, ANOTHER_BRANCH)))(keys)
        fresh = over_copies(scenario.reset)(reset_keys, params)
        state = jax.tree.map(lambda new, old: jnp.where(_expand(ended, old), new, old), fresh, state)
        return state, over_copies(scenario.observe)(state, params)

    state, obs = jax.lax.cond(ended.any(), reset_ended, lambda state: (state, now.obs), state)
    return Copies(key=copies.key, state=state, obs=obs, t=copies.t + 1), now


def rollout(
    scenario: Scenario,
    copies: Copies,
    act: Act,
    theta: Any,
    keys: Key[Array, "S"],
    params: Any,
    length: int,
) -> tuple[Copies, Transitions]:
    """`length` steps of every copy; transitions have leading axes (S, T, E)."""

    def body(copies: Copies, t: Int[Array, ""]) -> tuple[Copies, Transitions]:
        action = act(theta, jax.vmap(lambda k: jax.random.fold_in(k, t))(keys), copies.obs)
        after, now = step(scenario, copies, action, params)
        return after, as_transitions(copies.obs, action, now)

    copies, batch = jax.lax.scan(body, copies, jnp.arange(length))
    return copies, jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), batch)


def as_transitions(obs: Float[Array, "S E D"], action: Int[Array, "S E"], now: Step) -> Transitions:
    return Transitions(
        obs=obs,
        action=action,
        reward=now.reward,
        next_obs=now.obs,
        terminated=now.terminated,
        truncated=now.truncated,
        group=now.group,
        qualified=now.qualified,
        next_self_obs=now.next_self_obs,
    )


def seed_by_seed(init: Callable, keys: Key[Array, "S"]) -> Any:
    """init(key) of every seed, one after the other.

    Side by side, the orthogonal initialisation's LAPACK calls can wait for each other for ever in XLA's threads.
    """
    return jax.lax.map(init, keys)


def seen_params(method: Method, states: Any, params: Any, seeds: int) -> Any:
    """Every seed's params, with its own observation dynamics, along a leading seed axis."""
    return jax.vmap(method.observe_params, in_axes=(0, None), axis_size=seeds)(states, params)


def batch_logs(batch: Transitions, loss: Float[Array, "S"], num_groups: int) -> dict[str, Array]:
    """Every seed's progress in one batch (S, T, E): sums over its decisions, so that batches can be added up."""

    def by_group(flags: Array) -> Array:
        count = jnp.zeros((flags.shape[0], num_groups))
        seed = jnp.broadcast_to(jnp.arange(flags.shape[0])[:, None, None], flags.shape)
        return count.at[seed, batch.group].add(flags)

    return {
        "loss": loss,
        "reward": batch.reward.sum((1, 2)),
        "approved": (batch.action == 1).sum((1, 2)).astype(jnp.float32),
        "qualified": by_group(batch.qualified.astype(jnp.float32)),
        "approved_qualified": by_group((batch.qualified & (batch.action == 1)).astype(jnp.float32)),
    }


def _expand(mask: Array, like: Array) -> Array:
    return mask.reshape(mask.shape + (1,) * (like.ndim - mask.ndim))
