"""Observation parameters omega of any environment: (1+1) evolution on J_dyn, each candidate tried on whole episodes.

`methods.bisimulator` does the same in one compiled program where the environment is ours. Here the environment is a
Gymnasium environment and the policy any function, so the search runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from bisimulator.adapters._pytrees import stacked
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.group_info import missing_group, offered
from bisimulator.bisim.dynamics import fit, j_dyn
from bisimulator.bisim.one_plus_one import Search, judge, propose
from bisimulator.methods.bisimulator import Config

_LONGEST = 10  # times `compared`: an episode may be as long as that


class Moves(NamedTuple):
    """Decisions, and what they made of the person decided on."""

    rows: Any
    action: Any
    next_rows: Any
    group: Any


def improve_omega(
    corrector: Corrector,
    env: gymnasium.Env[Any, Any],
    act: Callable[[Any], Any],
    candidates: int | None = None,
) -> None:
    """Try candidates (`dynamics_steps` of them) in `env` under the policy `act(observation) -> action`; keep the best.

    Every candidate meets the same seeds, so that candidates differ by omega alone.
    """
    set_params = offered(env, "set_observation_params")
    if set_params is None or not corrector.omega.size:
        raise ValueError(
            "the environment has no observation parameters; it needs observation_params, observation_params_bounds "
            "and set_observation_params(values), or pass dynamics_steps=0 to learn the reward correction alone"
        )
    if not corrector.encoding.settled:
        raise ValueError("omega is learned after the reward correction; call learn() first")
    config, key = corrector.config, corrector.next_key()
    k_fit, k_match, k_steps = jax.random.split(key, 3)
    seed = int(jax.random.randint(jax.random.fold_in(key, 3), (), 0, 2**31 - 1))
    judged = partial(_loss, config, corrector.encoding.num_groups, k_fit, k_match)

    def loss(omega: Any, model: tuple, steps: int) -> tuple:
        set_params(np.asarray(omega))
        return judged(steps, model, watch(corrector, env, act, config.compared, seed))

    lower, upper = _bounds(corrector)
    state = corrector.state
    first, model = loss(state.omega, (state.psi, state.psi_adam), config.psi_first_steps)
    search = Search(state.omega, first, model, jnp.float32(0.15))
    for k in jax.random.split(k_steps, config.dynamics_steps if candidates is None else candidates):
        candidate = propose(k, search, lower, upper)
        search = judge(search, candidate, *loss(candidate, search.aux, config.psi_steps))
    set_params(np.asarray(search.x))
    corrector.state = eqx.tree_at(
        lambda s: (s.omega, s.psi, s.psi_adam, s.j_dyn), state, (search.x, *search.aux, search.loss)
    )


def watch(
    corrector: Corrector, env: gymnasium.Env[Any, Any], act: Callable[[Any], Any], number: int, seed: int
) -> Moves:
    """`number` decisions spread evenly over whole episodes, because what is observed accumulates."""
    seen: list[Any] = []
    actions: list[Any] = []
    after: list[Any] = []
    groups: list[int] = []
    episode = 0
    while len(groups) < number:
        obs, _ = env.reset(seed=seed + episode)
        episode, over, least = episode + 1, False, len(groups)
        while not over and len(groups) - least < _LONGEST * number:
            action = act(obs)
            seen.append(obs)
            obs, _, terminated, truncated, info = env.step(action)
            if "group" not in info:
                raise missing_group()
            if "next_self_observation" not in info:
                raise ValueError(
                    "info has no 'next_self_observation', without which omega cannot be learned; wrap the environment: "
                    "WithGroups(env, ..., next_self=lambda before, action, after, info: ...), or pass dynamics_steps=0"
                )
            actions.append(action)
            after.append(info["next_self_observation"])
            groups.append(int(info["group"]))
            over = terminated or truncated
    kept = np.linspace(0, len(groups) - 1, number).astype(np.intp)
    group = np.array(groups, np.int64)[kept]
    encoding = corrector.encoding
    return Moves(
        encoding.rows(stacked([seen[i] for i in kept]), group),
        encoding.actions(np.stack([np.asarray(actions[i]) for i in kept])),
        encoding.rows(stacked([after[i] for i in kept]), group),
        group,
    )


def _bounds(corrector: Corrector) -> tuple[Array, Array]:
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
    model: tuple,
    moves: Moves,
) -> tuple:
    psi, adam = fit(
        model[0],
        model[1],
        k_fit,
        moves.rows,
        moves.action,
        moves.next_rows,
        steps=steps,
        minibatch=config.psi_minibatch,
        learning_rate=config.psi_learning_rate,
    )
    value = j_dyn(
        psi,
        k_match,
        moves.rows,
        moves.action,
        moves.group,
        gamma=config.gamma,
        num_groups=num_groups,
        quantiles=config.quantiles,
    )
    return value, (psi, adam)
