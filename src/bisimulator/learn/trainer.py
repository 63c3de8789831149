"""Trains all seeds of a method in one compiled loop, in chunks between which progress is told and kept."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from bisimulator.core import ANOTHER_BRANCH, Env, Scenario
from bisimulator.errors import Interrupted, check_int
from bisimulator.learn.dqn import DQN, DQNConfig
from bisimulator.learn.interrupting import interruptible
from bisimulator.learn.parts import Parts, on_all_cores, split
from bisimulator.learn.ppo import PPO, PPOConfig
from bisimulator.methods.hooks import LearnedMethod

SOLVERS: dict[str, tuple[type, type]] = {"ppo": (PPO, PPOConfig), "dqn": (DQN, DQNConfig)}
_SECONDS_PER_CHUNK = 1.0
CHECKPOINT_SECONDS = 5.0  # what a kill costs at most; a checkpoint of the paper's jobs takes some 10 ms
_CHECKPOINT_SHARE = 0.05  # of the time, for jobs whose checkpoints are large


@dataclasses.dataclass(frozen=True)
class Progress:
    """What a progress bar or a learning curve shows of the last chunk, the mean over seeds."""

    update: int
    updates: int
    steps: int  # environment steps of each seed so far
    steps_per_second: float  # of all seeds together, over this chunk
    episode_return: float  # reward per decision of the chunk, times the horizon
    recall: tuple[float, ...]  # per group, over the chunk
    loss: float


def make_solver(
    method: LearnedMethod, env: Env, steps: int, solver_config: Any = None, config: Any = None
) -> Any:
    """The solver of a method for a training of `steps` environment steps per seed."""
    solver, default = SOLVERS[method.solver]
    solver_config = default() if solver_config is None else solver_config
    check_int("steps", steps, least=solver_config.batch)
    hooks = method.build(method.config if config is None else config, env)
    return solver(solver_config, hooks, updates=steps // solver_config.batch)


def train(
    env: Env,
    solver: Any,
    seeds: tuple[int, ...],
    *,
    training: Parts | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    evaluate_at: Sequence[int] = (),
    on_evaluate: Callable[[Parts], None] = lambda training: None,
    on_checkpoint: Callable[[Parts], None] = lambda training: None,
    checkpoint_seconds: float | None = None,
) -> Parts:
    """Train until the end, from `training` where it is given (its arrays are used up).

    Chunks never change what is learned. After each of the updates `evaluate_at` the training is shown to
    `on_evaluate`, which may look but not keep it; a checkpoint at such an update comes after it. Checkpoints come every
    `checkpoint_seconds`, less often where they would take more than a twentieth of the time; 0: after every chunk.
    """
    parts = init(env, solver, seeds) if training is None else training
    update, chunk = int(parts[0].update), 1
    adapt_at = {u for u in solver.method.adapt_at(solver.updates) if u < solver.updates}
    stops = sorted(u for u in {*adapt_at, *evaluate_at, solver.updates} if u > update)
    checkpoints = _Checkpoints(
        on_checkpoint, CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    )
    with interruptible() as interrupted, on_all_cores() as over_parts:
        while update < solver.updates:
            began, count = time.monotonic(), min(chunk, stops[0] - update)
            ran = over_parts(partial(_advance, solver, env.scenario, env.params, count=count), parts)
            parts, update = tuple(part for part, _ in ran), update + count
            logs = _join([jax.device_get(log) for _, log in ran])
            seconds = time.monotonic() - began
            on_progress(_progress(env, solver, update, count, seconds, len(seeds), logs))
            if update in adapt_at:
                adapt = partial(_adapt, solver, env.scenario, env.params, horizon=int(env.params.horizon))
                parts = over_parts(adapt, parts)
            if update in evaluate_at:
                on_evaluate(parts)
            if update == stops[0]:
                stops.pop(0)
            chunk = max(1, min(int(count * _SECONDS_PER_CHUNK / max(seconds, 1e-3)), 10 * chunk))
            checkpoints.offer(parts, now=interrupted.is_set())
            if interrupted.is_set():
                raise Interrupted(
                    f"stopped after {update} of {solver.updates} updates; the same command goes on from there"
                )
    on_checkpoint(parts)
    return parts


class _Checkpoints:
    """Every so many seconds, and less often where they would take more than a share of the time."""

    def __init__(self, keep: Callable[[Parts], None], seconds: float):
        self._keep, self._seconds = keep, seconds
        self._due = time.monotonic() + seconds

    def offer(self, training: Parts, now: bool) -> None:
        began = time.monotonic()
        if now or began >= self._due:
            self._keep(training)
            end = time.monotonic()
            self._due = end + (
                max(self._seconds, (end - began) / _CHECKPOINT_SHARE) if self._seconds else 0.0
            )


def init(env: Env, solver: Any, seeds: tuple[int, ...]) -> Parts:
    """Every seed's start, in parts of a few seeds; a seed starts the same whatever the other seeds are."""
    return tuple(
        _init(solver, env.scenario, env.params, jnp.stack([jax.random.key(int(s)) for s in part]))
        for part in split(seeds)
    )


def _join(logs: list[dict[str, Any]]) -> dict[str, Any]:
    """Logs of all parts along the seed axis, once all are found finite."""
    for log in logs:
        _check_finite(log.pop("bad"))
    return {name: np.concatenate([log[name] for log in logs]) for name in logs[0]}


@partial(jax.jit, static_argnums=(0, 1))
def _init(solver: Any, scenario: Scenario, params: Any, keys: Key[Array, "S"]) -> Any:
    return solver.init(keys, Env("", scenario, params))


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=3)
def _advance(
    solver: Any, scenario: Scenario, params: Any, training: Any, count: Int[Array, ""]
) -> tuple[Any, dict[str, Array]]:
    """`count` updates; logs are summed, and the first update that was not finite is remembered."""

    def body(_: Array, carry: tuple) -> tuple:
        training, sums, bad = carry
        after, logs = solver.update(training, scenario, params)
        finite = jnp.stack([jnp.isfinite(logs["loss"]).all(), _finite(after.theta), _finite(after.method)])
        first = (bad[0] < 0) & ~finite.all()
        bad = jnp.where(first, jnp.concatenate([after.update[None], ~finite]), bad)
        return after, jax.tree.map(jnp.add, sums, logs), bad

    shapes = jax.eval_shape(lambda t: solver.update(t, scenario, params)[1], training)
    sums = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    start = (training, sums, jnp.full(4, -1, jnp.int32))
    training, sums, bad = jax.lax.fori_loop(0, count, body, start)
    return training, {**sums, "bad": bad}


def _finite(tree: Any) -> Array:
    leaves = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([jnp.isfinite(x).all() for x in leaves]).all() if leaves else jnp.array(True)


def _check_finite(bad: np.ndarray) -> None:
    update, *wrong = bad.tolist()
    if update >= 0:
        what = [
            name
            for name, is_wrong in zip(("the loss", "theta", "the method"), wrong, strict=True)
            if is_wrong
        ]
        raise FloatingPointError(
            f"update {update}: {' and '.join(what)} became NaN or infinite; "
            "lower the learning rate or alpha, or start again from the last checkpoint with other settings"
        )


@partial(jax.jit, static_argnums=(0, 1), static_argnames="horizon")
def _adapt(solver: Any, scenario: Scenario, params: Any, training: Any, horizon: int) -> Any:
    """The method's change of the observation dynamics, for every seed side by side."""

    def one(key: Key[Array, ""], theta: Any, state: Any) -> Any:
        key = jax.random.fold_in(jax.random.fold_in(key, training.update), ANOTHER_BRANCH)
        return solver.method.adapt(key, state, solver.behave(theta), scenario, params, horizon)

    method = jax.vmap(one)(training.key, training.theta, training.method)
    return eqx.tree_at(lambda t: t.method, training, method)


def _progress(
    env: Env, solver: Any, update: int, count: int, seconds: float, seeds: int, logs: dict[str, Any]
) -> Progress:
    decisions = count * solver.config.batch
    recall = logs["approved_qualified"].sum(0) / np.maximum(logs["qualified"].sum(0), 1)
    return Progress(
        update=update,
        updates=solver.updates,
        steps=update * solver.config.batch,
        steps_per_second=seeds * decisions / max(seconds, 1e-9),
        episode_return=float(logs["reward"].mean() / decisions * int(env.params.horizon)),
        recall=tuple(recall.tolist()),
        loss=float(logs["loss"].mean() / count),
    )


def describe(solver: Any, training: Parts) -> dict[str, np.ndarray]:
    """What the method reports of itself, leading axis seeds."""
    parts = [jax.vmap(solver.method.describe, axis_size=p.key.shape[0])(p.method) for p in training]
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}
