"""Whole episodes of the policies that are being trained, the same people each time."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Key, PyTree

from bisimulator.core import Env, Outcome, Params, Scenario
from bisimulator.core.compiling import BRIEFLY
from bisimulator.policies import Network
from bisimulator.simulation import evaluation_keys, plan, play, summarise
from bisimulator.solvers._shards import Shards, on_all_cores, shard_seeds
from bisimulator.solvers.solver import Solver, TrainingState


class Evaluator:
    """Episodes (S, episodes) of every seed's policy, in the environment with its own omega in force.

    What is random but the policy is drawn once, so that evaluations during a training cost little and differ by
    what was learned alone.
    """

    def __init__(self, env: Env, solver: Solver, seeds: tuple[int, ...], *, episodes: int, greedy: bool):
        self._env, self._solver, self._greedy = env, solver, greedy
        self._horizon = int(env.params.horizon)
        keys = [evaluation_keys(shard, episodes) for shard in shard_seeds(seeds)]
        self._planned = [_plan(env.scenario, env.params, k, self._horizon) for k in keys]

    def __call__(self, training: Shards) -> Outcome:
        env = self._env
        with on_all_cores() as map_shards:
            outcomes = map_shards(
                lambda pair: _play(
                    self._solver, env.scenario, env.params, *pair, self._horizon, self._greedy
                ),
                zip(training, self._planned, strict=True),
            )
        outcome: Outcome = jax.tree.map(
            lambda *shards: np.concatenate([np.asarray(x) for x in shards]), *outcomes
        )
        return outcome


def evaluate_training(
    env: Env,
    solver: Solver,
    training: Shards,
    seeds: tuple[int, ...],
    *,
    episodes: int = 5,
    greedy: bool = True,
) -> Outcome:
    """One evaluation of every seed's policy."""
    return Evaluator(env, solver, seeds, episodes=episodes, greedy=greedy)(training)


@partial(jax.jit, static_argnums=(0, 3), compiler_options=BRIEFLY)
def _plan(scenario: Scenario, params: Params, keys: Key[Array, "S E"], horizon: int) -> PyTree:
    return jax.vmap(jax.vmap(lambda key: plan(scenario, key, params, horizon)))(keys)


@partial(jax.jit, static_argnums=(0, 1, 5, 6), compiler_options=BRIEFLY)
def _play(
    solver: Solver,
    scenario: Scenario,
    params: Params,
    training: TrainingState,
    planned: PyTree,
    horizon: int,
    greedy: bool,
) -> Outcome:
    def one_seed(theta: PyTree, method: PyTree, planned: PyTree) -> Outcome:
        seen = solver.method.observe_params(method, params)
        act = Network(solver.policy(theta), greedy).bind(Env("", scenario, seen))

        def one_episode(planned: PyTree) -> Outcome:
            decisions, state = play(scenario, planned, act, seen, horizon)
            return summarise(decisions, state, scenario, seen)

        return jax.vmap(one_episode)(planned)

    return jax.vmap(one_seed)(training.theta, training.method, planned)
