"""Learns the observation parameters omega of any environment: (1+1) evolution on J_dyn, one episode per candidate.

`methods.bisimulator` does the same in one compiled program for the library's own environments. Here the environment is
a Gymnasium environment and the policy any function, so the search runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias, cast

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.core import ActType, ObsType
from jaxtyping import Array, Float, Int, Key
from numpy.typing import ArrayLike

from bisimulator.adapters._pytrees import stack
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.group_info import env_attribute, missing_group
from bisimulator.bisim.dynamics import fit, j_dyn
from bisimulator.bisim.one_plus_one import Search, propose, select
from bisimulator.methods.bisimulator import Config
from bisimulator.policies.networks import MLP

_MAX_EPISODE = 10  # times `compared`: the maximum length of an episode

Model: TypeAlias = tuple[MLP, optax.OptState]  # psi and the state of its optimizer


class ObservedChanges(NamedTuple):
    """Decisions, and how they changed what is observed of the person decided on."""

    rows: Float[Array, "B D"]
    action: Int[Array, "B"]
    next_rows: Float[Array, "B D"]
    group: Int[Array, "B"]


def improve_omega(
    corrector: Corrector,
    env: gymnasium.Env[ObsType, ActType],
    act: Callable[[ObsType], ActType],
    candidates: int | None = None,
) -> None:
    """Try candidates for omega in `env` and keep the best, in `corrector.omega` and in `env`.

    Every candidate gets the same seeds, so candidates differ by omega alone.

    Args:
        corrector: the correction of the training, after its first `learn()`.
        env: an environment of its own, with observation parameters that can be set.
        act: the current policy, from an observation to an action.
        candidates: how many to try, by default `dynamics_steps` of the configuration.

    Raises:
        ValueError: if the environment has no observation parameters or gives no `next_self_observation`, or if nothing
            was learned yet.

    Example:
        >>> improve_omega(corrector, MyEnv(), lambda obs: int(obs[0] > 0), candidates=20)
        >>> training_env.unwrapped.set_observation_params(corrector.omega)
    """
    setter = env_attribute(env, "set_observation_params")
    if setter is None or not corrector.omega.size:
        raise ValueError(
            "the environment has no observation parameters; it needs observation_params, observation_params_bounds "
            "and set_observation_params(values), or pass dynamics_steps=0 to learn the reward correction alone"
        )
    if not corrector.encoding.is_fitted:
        raise ValueError("omega is learned after the reward correction; call learn() first")
    set_params = cast("Callable[[ArrayLike], None]", setter)
    config, key = corrector.config, corrector.next_key()
    k_fit, k_match, k_steps = jax.random.split(key, 3)
    seed = int(jax.random.randint(jax.random.fold_in(key, 3), (), 0, 2**31 - 1))
    evaluate = partial(_loss, config, corrector.encoding.num_groups, k_fit, k_match)

    def loss(omega: Float[Array, "G K"], model: Model, steps: int) -> tuple[Float[Array, ""], Model]:
        set_params(np.asarray(omega))
        changes = observe_changes(corrector, env, act, config.compared, seed)
        result: tuple[Float[Array, ""], Model] = evaluate(steps, model, changes)
        return result

    lower, upper = _bounds(corrector)
    state = corrector.state
    first, model = loss(state.omega, (state.psi, state.psi_adam), config.psi_first_steps)
    search = Search(state.omega, first, model, jnp.float32(0.15))
    for k in jax.random.split(k_steps, config.dynamics_steps if candidates is None else candidates):
        candidate = propose(k, search, lower, upper)
        search = select(search, candidate, *loss(candidate, search.aux, config.psi_steps))
    set_params(np.asarray(search.x))
    corrector.state = eqx.tree_at(
        lambda s: (s.omega, s.psi, s.psi_adam, s.j_dyn), state, (search.x, *search.aux, search.loss)
    )


def observe_changes(
    corrector: Corrector,
    env: gymnasium.Env[ObsType, ActType],
    act: Callable[[ObsType], ActType],
    number: int,
    seed: int,
) -> ObservedChanges:
    """`number` decisions spread evenly over whole episodes, because effects on observations accumulate."""
    observations: list[ObsType] = []
    actions: list[ActType] = []
    next_selves: list[ObsType] = []
    groups: list[int] = []
    episode = 0
    while len(groups) < number:
        obs, _ = env.reset(seed=seed + episode)
        episode, ended, start = episode + 1, False, len(groups)
        while not ended and len(groups) - start < _MAX_EPISODE * number:
            action = act(obs)
            observations.append(obs)
            obs, _, terminated, truncated, info = env.step(action)
            if "group" not in info:
                raise missing_group()
            if "next_self_observation" not in info:
                raise ValueError(
                    "info has no 'next_self_observation', without which omega cannot be learned; wrap the environment: "
                    "WithGroups(env, ..., next_self=lambda before, action, after, info: ...), or pass dynamics_steps=0"
                )
            actions.append(action)
            next_selves.append(info["next_self_observation"])
            groups.append(int(info["group"]))
            ended = terminated or truncated
    chosen = np.linspace(0, len(groups) - 1, number).astype(np.intp)
    group = np.array(groups, np.int64)[chosen]
    encoding = corrector.encoding
    return ObservedChanges(
        rows=jnp.asarray(encoding.rows(stack([observations[i] for i in chosen]), group)),
        action=jnp.asarray(encoding.actions(np.stack([np.asarray(actions[i]) for i in chosen]))),
        next_rows=jnp.asarray(encoding.rows(stack([next_selves[i] for i in chosen]), group)),
        group=jnp.asarray(group, jnp.int32),
    )


def _bounds(corrector: Corrector) -> tuple[Float[Array, "G K"], Float[Array, "G K"]]:
    omega = corrector.state.omega
    pair = corrector.config.omega_bounds or corrector.bounds
    lower, upper = (jnp.broadcast_to(jnp.asarray(x, jnp.float32), omega.shape) for x in pair)
    if corrector.config.only_raise:  # the first group keeps its omega: bounds of width 0
        lower, upper = lower.at[0].set(omega[0]), upper.at[0].set(omega[0])
    return lower, upper


@partial(jax.jit, static_argnums=(0, 1, 4))
def _loss(
    config: Config,
    num_groups: int,
    k_fit: Key[Array, ""],
    k_match: Key[Array, ""],
    steps: int,
    model: Model,
    changes: ObservedChanges,
) -> tuple[Float[Array, ""], Model]:
    """Fit psi to the changes, then J_dyn."""
    psi, adam = fit(
        model[0],
        model[1],
        k_fit,
        changes.rows,
        changes.action,
        changes.next_rows,
        steps=steps,
        minibatch=config.psi_minibatch,
        learning_rate=config.psi_learning_rate,
    )
    value = j_dyn(
        psi,
        k_match,
        changes.rows,
        changes.action,
        changes.group,
        gamma=config.gamma,
        num_groups=num_groups,
        quantiles=config.quantiles,
    )
    return value, (psi, adam)
