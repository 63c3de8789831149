"""Trains all seeds of a method in one compiled loop, in chunks between which progress is told and kept."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from bisimulator.core import ANOTHER_BRANCH, Env, Outcome, Scenario
from bisimulator.errors import Interrupted, check_int
from bisimulator.learn.dqn import DQN, DQNConfig
from bisimulator.learn.ppo import PPO, PPOConfig
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Network
from bisimulator.simulate import episode, summarise

SOLVERS: dict[str, tuple[type, type]] = {"ppo": (PPO, PPOConfig), "dqn": (DQN, DQNConfig)}
Parts = tuple[Any, ...]  # the training of a few seeds each
_SEEDS_PER_PART = 5
_SECONDS_PER_CHUNK = 1.0


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
    on_checkpoint: Callable[[Parts], None] = lambda training: None,
    checkpoint_seconds: float = 30.0,
) -> Parts:
    """Train until the end, from `training` where it is given (its arrays are used up).

    Chunks never change what is learned.
    """
    parts = init(env, solver, seeds) if training is None else training
    update, chunk = int(parts[0].update), 1
    stops = [u for u in solver.method.adapt_at(solver.updates) if u > update] + [solver.updates]
    saved = time.monotonic()
    with _interruptible() as interrupted, _on_all_cores() as over_parts:
        while update < solver.updates:
            began, count = time.monotonic(), min(chunk, stops[0] - update)
            ran = over_parts(partial(_advance, solver, env.scenario, env.params, count=count), parts)
            parts, update = tuple(part for part, _ in ran), update + count
            logs = _join([jax.device_get(log) for _, log in ran])
            seconds = time.monotonic() - began
            on_progress(_progress(env, solver, update, count, seconds, len(seeds), logs))
            if update == stops[0] and update < solver.updates:
                adapt = partial(_adapt, solver, env.scenario, env.params, horizon=int(env.params.horizon))
                parts = over_parts(adapt, parts)
                stops.pop(0)
            chunk = max(1, min(int(count * _SECONDS_PER_CHUNK / max(seconds, 1e-3)), 10 * chunk))
            if interrupted.is_set() or time.monotonic() - saved > checkpoint_seconds:
                on_checkpoint(parts)
                saved = time.monotonic()
            if interrupted.is_set():
                raise Interrupted(
                    f"stopped after {update} of {solver.updates} updates; the same command goes on from there"
                )
    on_checkpoint(parts)
    return parts


def init(env: Env, solver: Any, seeds: tuple[int, ...]) -> Parts:
    """Every seed's start, in parts of a few seeds; a seed starts the same whatever the other seeds are."""
    return tuple(
        _init(solver, env.scenario, env.params, jnp.stack([jax.random.key(int(s)) for s in part]))
        for part in _split(seeds)
    )


def _split(seeds: tuple[int, ...]) -> list[np.ndarray]:
    """Parts that run side by side, one a core. They do not depend on the machine, so neither do the numbers."""
    count = max(-(-len(seeds) // _SEEDS_PER_PART), min(2, len(seeds)))
    return np.array_split(np.asarray(seeds), count)


@contextmanager
def _on_all_cores() -> Iterator[Callable[[Callable[[Any], Any], Iterable[Any]], tuple]]:
    """A map over parts in threads: one compiled loop of small steps keeps one core busy, not more."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        yield lambda f, parts: tuple(threads.map(lambda part: jax.block_until_ready(f(part)), parts))


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


def evaluate_training(
    env: Env, solver: Any, training: Parts, seeds: tuple[int, ...], *, episodes: int = 5, greedy: bool = True
) -> Outcome:
    """Episodes (S, episodes) of every seed's policy in the environment with its own omega in force."""
    horizon, splits = int(env.params.horizon), _split(seeds)
    keys = [evaluation_keys(tuple(part.tolist()), episodes) for part in splits]
    with _on_all_cores() as over_parts:
        outcomes = over_parts(
            lambda pair: _evaluate(solver, env.scenario, env.params, *pair, horizon, greedy),
            zip(training, keys, strict=True),
        )
    return jax.tree.map(lambda *parts: np.concatenate([np.asarray(x) for x in parts]), *outcomes)


def describe(solver: Any, training: Parts) -> dict[str, np.ndarray]:
    """What the method reports of itself, leading axis seeds."""
    parts = [jax.vmap(solver.method.describe, axis_size=p.key.shape[0])(p.method) for p in training]
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}


def evaluation_keys(seeds: tuple[int, ...], episodes: int) -> Key[Array, "S episodes"]:
    """Keys of the evaluation episodes: they descend from the seed by another branch than those of training."""
    return jnp.stack(
        [jax.random.split(jax.random.fold_in(jax.random.key(s), ANOTHER_BRANCH), episodes) for s in seeds]
    )


@partial(jax.jit, static_argnums=(0, 1, 5, 6))
def _evaluate(
    solver: Any,
    scenario: Scenario,
    params: Any,
    training: Any,
    keys: Key[Array, "S E"],
    horizon: int,
    greedy: bool,
) -> Outcome:
    def one_seed(theta: Any, method: Any, keys: Key[Array, "E"]) -> Outcome:
        seen = solver.method.observe_params(method, params)
        act = Network(solver.policy(theta), greedy).bind(Env("", scenario, seen))

        def one_episode(key: Key[Array, ""]) -> Outcome:
            decisions, state = episode(scenario, key, act, seen, horizon)
            return summarise(decisions, state, scenario, seen)

        return jax.vmap(one_episode)(keys)

    return jax.vmap(one_seed)(training.theta, training.method, keys)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Ctrl-C sets a flag that is looked at between chunks; a second Ctrl-C interrupts at once."""
    flag = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        flag.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield flag
    finally:
        signal.signal(signal.SIGINT, before)
