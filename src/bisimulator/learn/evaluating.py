"""Whole episodes of the policies that are being trained, the same people each time."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from bisimulator.core import ANOTHER_BRANCH, Env, Outcome, Scenario
from bisimulator.learn.parts import Parts, on_all_cores, split
from bisimulator.policies import Network
from bisimulator.simulate import plan, play, summarise


def evaluation_keys(seeds: tuple[int, ...], episodes: int) -> Key[Array, "S episodes"]:
    """Keys of the evaluation episodes: they descend from the seed by another branch than those of training."""
    return jnp.stack(
        [jax.random.split(jax.random.fold_in(jax.random.key(s), ANOTHER_BRANCH), episodes) for s in seeds]
    )


class Evaluator:
    """Episodes (S, episodes) of every seed's policy, in the environment with its own omega in force.

    What is random but the policy is drawn once, so that evaluations during a training cost little and differ by
    what was learned alone.
    """

    def __init__(self, env: Env, solver: Any, seeds: tuple[int, ...], *, episodes: int, greedy: bool):
        self._env, self._solver, self._greedy = env, solver, greedy
        self._horizon = int(env.params.horizon)
        keys = [evaluation_keys(part, episodes) for part in split(seeds)]
        self._planned = [_plan(env.scenario, env.params, k, self._horizon) for k in keys]

    def __call__(self, training: Parts) -> Outcome:
        env = self._env
        with on_all_cores() as over_parts:
            outcomes = over_parts(
                lambda pair: _play(
                    self._solver, env.scenario, env.params, *pair, self._horizon, self._greedy
                ),
                zip(training, self._planned, strict=True),
            )
        return jax.tree.map(lambda *parts: np.concatenate([np.asarray(x) for x in parts]), *outcomes)


def evaluate_training(
    env: Env, solver: Any, training: Parts, seeds: tuple[int, ...], *, episodes: int = 5, greedy: bool = True
) -> Outcome:
    """One evaluation of every seed's policy."""
    return Evaluator(env, solver, seeds, episodes=episodes, greedy=greedy)(training)


@partial(jax.jit, static_argnums=(0, 3))
def _plan(scenario: Scenario, params: Any, keys: Key[Array, "S E"], horizon: int) -> Any:
    return jax.vmap(jax.vmap(lambda key: plan(scenario, key, params, horizon)))(keys)


@partial(jax.jit, static_argnums=(0, 1, 5, 6))
def _play(
    solver: Any, scenario: Scenario, params: Any, training: Any, planned: Any, horizon: int, greedy: bool
) -> Outcome:
    def one_seed(theta: Any, method: Any, planned: Any) -> Outcome:
        seen = solver.method.observe_params(method, params)
        act = Network(solver.policy(theta), greedy).bind(Env("", scenario, seen))

        def one_episode(planned: Any) -> Outcome:
            decisions, state = play(scenario, planned, act, seen, horizon)
            return summarise(decisions, state, scenario, seen)

        return jax.vmap(one_episode)(planned)

    return jax.vmap(one_seed)(training.theta, training.method, planned)
