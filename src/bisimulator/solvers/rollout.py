"""Steps S seeds x E environments together and resets those that end.

Environments that all started together would all be of the same age at any time, and what is learned would swing with
the length of an episode. So their first episodes are cut to different lengths (`is_cut`).

The seed axis is explicit and the reset sits in one `cond` over the whole batch: under a `vmap` the population would
be selected, that is copied, at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bisimulator.core import ANOTHER_BRANCH, Params, Scenario, State, Step
from bisimulator.methods.hooks import Method, Transitions
from bisimulator.solvers.solver import BatchAct

T = TypeVar("T")
Prepared: TypeAlias = tuple[State, Float[Array, "S E D"]]  # states and observations to start with
_SMALL = 16  # numbers; a person's life has 7


class EnvBatch(eqx.Module):
    """The environments of all seeds and what they show."""

    key: Key[Array, "S E"]
    state: State  # leading axes (S, E)
    obs: Float[Array, "S E D"]
    t: Int[Array, ""]  # steps taken so far


def over_batch(f: Callable[..., T]) -> Callable[..., T]:
    """f(key, ..., params) of one environment -> the same for (S, E) environments; params differ by seed."""

    def mapped(*args: PyTree) -> T:
        *per_env, params = args
        inner = jax.vmap(f, in_axes=(*(0 for _ in per_env), None))
        out: T = jax.vmap(inner, in_axes=(*(0 for _ in per_env), 0))(*per_env, params)
        return out

    return mapped


def start(scenario: Scenario, keys: Key[Array, "S"], params: Params, num_envs: int) -> EnvBatch:
    """Fresh environments; `params` has a leading seed axis."""
    pairs = jax.vmap(lambda key: jax.random.split(key, (num_envs, 2)))(keys)
    state = over_batch(scenario.reset)(pairs[..., 0], params)
    obs = over_batch(scenario.observe)(state, params)
    return EnvBatch(key=pairs[..., 1], state=state, obs=obs, t=jnp.int32(0))


def step_keys(envs: EnvBatch, t: Int[Array, ""]) -> Key[Array, "S E"]:
    """The keys of every environment's step at time t."""
    return jax.vmap(jax.vmap(lambda k: jax.random.fold_in(k, t)))(envs.key)


def step(
    scenario: Scenario,
    keys: Key[Array, "S E"],
    envs: EnvBatch,
    action: Int[Array, "S E"],
    params: Params,
    prepared: Prepared | None = None,
) -> tuple[EnvBatch, Step]:
    """One step of every environment. `Step.obs` is before any reset, `EnvBatch.obs` after it."""
    state, out = over_batch(scenario.step)(keys, envs.state, action, params)
    cut = is_cut(envs.t + 1, params.horizon, action.shape[1]) & ~out.terminated
    out = eqx.tree_at(lambda out: out.truncated, out, out.truncated | cut)
    ended = out.terminated | out.truncated

    def restart(fresh: Prepared) -> Prepared:
        chosen: Prepared = jax.tree.map(
            lambda new, old: jnp.where(_expand(ended, old), new, old), fresh, (state, out.obs)
        )
        return chosen

    if prepared is not None:
        state, obs = restart(prepared)
    else:
        state, obs = jax.lax.cond(
            ended.any(), lambda: restart(prepare(scenario, keys, params)), lambda: (state, out.obs)
        )
    return EnvBatch(key=envs.key, state=state, obs=obs, t=envs.t + 1), out


def prepare(scenario: Scenario, keys: Key[Array, "S E"], params: Params) -> Prepared:
    """What every environment would start with if its episode ended in the step with these keys."""
    reset_keys = jax.vmap(jax.vmap(lambda k: jax.random.fold_in(k, ANOTHER_BRANCH)))(keys)
    state = over_batch(scenario.reset)(reset_keys, params)
    return state, over_batch(scenario.observe)(state, params)


def is_small(envs: EnvBatch) -> bool:
    """Whether states are so small that starts are prepared for all steps at once, needed or not."""
    return bool(sum(x.size for x in jax.tree.leaves(envs.state)) <= _SMALL * envs.key.size)


def is_cut(t: Int[Array, ""], horizon: Int[Array, "S"], num_envs: int) -> Bool[Array, "S E"]:
    """Whether an environment's episode is truncated at time t: the i-th one's after (i + 1) / E of the horizon."""
    number, length = jnp.arange(num_envs)[None] + 1, horizon[:, None]
    # number * length / num_envs, rounded up, without a product that a long horizon would overflow
    return t == number * (length // num_envs) - (-number * (length % num_envs)) // num_envs


def rollout(
    scenario: Scenario,
    envs: EnvBatch,
    act: BatchAct,
    theta: PyTree,
    keys: Key[Array, "S"],
    params: Params,
    length: int,
) -> tuple[EnvBatch, Transitions]:
    """`length` steps of every environment; transitions have leading axes (S, T, E)."""

    def body(
        envs: EnvBatch, drawn: tuple[Key[Array, "S"], Key[Array, "S E"], Prepared | None]
    ) -> tuple[EnvBatch, Transitions]:
        k_act, k_step, prepared = drawn
        action = act(theta, k_act, envs.obs)
        after, out = step(scenario, k_step, envs, action, params, prepared)
        return after, as_transitions(scenario, envs.obs, action, out)

    # the keys of all steps at once: in the loop, one after the other, they would take longer than the steps
    times = jnp.arange(length)
    k_act = jax.vmap(lambda t: jax.vmap(lambda k: jax.random.fold_in(k, t))(keys))(times)
    k_step = jax.vmap(lambda t: step_keys(envs, envs.t + t))(times)
    prepared = jax.vmap(lambda keys: prepare(scenario, keys, params))(k_step) if is_small(envs) else None
    envs, batch = jax.lax.scan(body, envs, (k_act, k_step, prepared))
    return envs, jax.tree.map(lambda x: jnp.moveaxis(x, 0, 1), batch)


def as_transitions(
    scenario: Scenario, obs: Float[Array, "S E D"], action: Int[Array, "S E"], out: Step
) -> Transitions:
    return Transitions(
        obs=obs,
        action=action,
        accepted=scenario.accepts(action),
        reward=out.reward,
        next_obs=out.obs,
        terminated=out.terminated,
        truncated=out.truncated,
        group=out.group,
        qualified=out.qualified,
        next_self_obs=out.next_self_obs,
        tallies=out.tallies,
        remaining=out.remaining,
    )


def seed_by_seed(init: Callable[[Key[Array, ""]], T], keys: Key[Array, "S"]) -> T:
    """init(key) of every seed, one after the other.

    Side by side, the orthogonal initialisation's LAPACK calls can deadlock in XLA's threads.
    """
    out: T = jax.lax.map(init, keys)
    return out


def observed_params(method: Method, states: PyTree, params: Params, seeds: int) -> Params:
    """Every seed's params, with its own observation dynamics, along a leading seed axis."""
    out: Params = jax.vmap(method.observe_params, in_axes=(0, None), axis_size=seeds)(states, params)
    return out


def batch_logs(batch: Transitions, diagnostics: dict[str, Array], num_groups: int) -> dict[str, Array]:
    """Every seed's progress in one batch (S, T, E): sums over its decisions, so that batches can be added up.

    `diagnostics` are the solver's own, (S,) each, among them its "loss".
    """

    def by_group(flags: Array) -> Array:
        count = jnp.zeros((flags.shape[0], num_groups))
        seed = jnp.broadcast_to(jnp.arange(flags.shape[0])[:, None, None], flags.shape)
        return count.at[seed, batch.group].add(flags)

    if batch.tallies is not None:  # supply and demand: what qualified applicants and approvals are elsewhere
        supply, demand = (batch.tallies[name].sum((1, 2)) for name in ("supply", "demand"))
        return {
            **diagnostics,
            "reward": batch.reward.sum((1, 2)),
            "approved": supply.sum(-1),
            "qualified": demand,
            "approved_qualified": supply,
        }
    return {
        **diagnostics,
        "reward": batch.reward.sum((1, 2)),
        "approved": batch.accepted.sum((1, 2)).astype(jnp.float32),
        "qualified": by_group(batch.qualified.astype(jnp.float32)),
        "approved_qualified": by_group((batch.qualified & batch.accepted).astype(jnp.float32)),
    }


def _expand(mask: Array, like: Array) -> Array:
    return mask.reshape(mask.shape + (1,) * (like.ndim - mask.ndim))
