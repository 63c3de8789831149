"""Trains all seeds of a method in one compiled loop, in chunks between which progress is reported and saved."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree
from numpy.typing import NDArray

from bisimulator.core import ANOTHER_BRANCH, Env, Params, Scenario, View
from bisimulator.core.compiling import BRIEFLY
from bisimulator.errors import Interrupted, check_int
from bisimulator.methods.hooks import LearnedMethod, Method
from bisimulator.solvers._interrupt import interruptible
from bisimulator.solvers._shards import Shards, on_all_cores, shard_seeds
from bisimulator.solvers.dqn import DQN, DQNConfig
from bisimulator.solvers.ppo import PPO, PPOConfig
from bisimulator.solvers.solver import Solver, SolverConfig, TrainingState, check_hooks

SOLVERS: dict[str, tuple[type[Solver], type[SolverConfig]]] = {
    "ppo": (PPO, PPOConfig),
    "dqn": (DQN, DQNConfig),
}
_SECONDS_PER_CHUNK = 1.0
_BRIEF_STEPS = 100_000  # per seed; shorter trainings compile longer than they run
CHECKPOINT_SECONDS = 5.0  # the most that a kill costs; a checkpoint of the paper's jobs takes about 10 ms
_CHECKPOINT_SHARE = 0.05  # the most of the time that checkpoints take, for jobs with large ones
_COUNTED = ("reward", "approved", "qualified", "approved_qualified")  # logs that are counts of decisions

Diagnostics = Mapping[str, Float[NDArray[np.float32], "S"]]


@dataclasses.dataclass(frozen=True)
class Progress:
    """The last chunk, averaged over seeds: what a progress bar or TensorBoard shows.

    How many updates a chunk has depends on how long they take, so two runs may report other averages of the same
    training. What is learned, and learning curves, do not depend on it.
    """

    update: int
    updates: int
    steps: int  # environment steps of each seed so far
    steps_per_second: float  # of all seeds together, over this chunk
    episode_return: float  # reward per decision of the chunk, times the horizon
    recall: tuple[float, ...]  # per group, over the chunk; of decisions about all groups, the benefit rate
    diagnostics: Mapping[str, float]  # the solver's own: loss, entropy, approx_kl, td_error, ...

    @property
    def loss(self) -> float:
        return self.diagnostics["loss"]


def make_solver(
    method: LearnedMethod,
    env: Env,
    steps: int,
    solver_config: SolverConfig | None = None,
    config: object | None = None,
    wrap: Callable[[Method], Method] | None = None,
) -> Solver:
    """The solver of a method for a training of `steps` environment steps per seed.

    `wrap` adds to the method's hooks, as `methods.goal_hooks.with_goal` does.
    """
    solver, default = SOLVERS[method.solver]
    solver_config = default() if solver_config is None else solver_config
    check_int("steps", steps, min=solver_config.batch)
    hooks = method.build(method.config if config is None else config, env)
    hooks = hooks if wrap is None else wrap(hooks)
    check_hooks(solver, hooks)
    return solver(solver_config, hooks, updates=steps // solver_config.batch)  # type: ignore[call-arg]


def train(
    env: Env,
    solver: Solver,
    seeds: tuple[int, ...],
    *,
    view: View = "queue",
    training: Shards | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
    evaluate_at: Sequence[int] = (),
    on_evaluate: Callable[[Shards, Diagnostics], None] = lambda training, diagnostics: None,
    on_checkpoint: Callable[[Shards], None] = lambda training: None,
    checkpoint_seconds: float | None = None,
) -> Shards:
    """Train to the end, from `training` if it is given (its arrays are donated).

    `view` "life" trains on single lives instead of the queue of applicants (see `Env.life`); whatever else looks at the
    environment, such as the search for observation dynamics, sees the queue.
    Chunks never change what is learned. After each of the updates `evaluate_at`, `on_evaluate` gets the training, which
    it must not keep, and the diagnostics of that update; a checkpoint at such an update comes after it. Checkpoints
    come every `checkpoint_seconds`, less often if they would take more than a twentieth of the time; 0: after each
    chunk.
    """
    rollouts = env.in_view(view)
    rollouts = dataclasses.replace(rollouts, params=solver.method.training_params(rollouts.params))
    shards = init(rollouts, solver, seeds) if training is None else training
    update, chunk = int(shards[0].update), 1
    adapt_at = {u for u in solver.method.adapt_at(solver.updates) if u < solver.updates}
    stops = sorted(u for u in {*adapt_at, *evaluate_at, solver.updates} if u > update)
    checkpoints = _Checkpoints(
        on_checkpoint, CHECKPOINT_SECONDS if checkpoint_seconds is None else checkpoint_seconds
    )
    with interruptible() as interrupted, on_all_cores() as map_shards:
        while update < solver.updates:
            began, count = time.monotonic(), min(chunk, stops[0] - update)
            advanced = map_shards(
                partial(_advance, solver, rollouts.scenario, rollouts.params, count=count), shards
            )
            shards, update = tuple(shard for shard, _, _ in advanced), update + count
            sums, last = (_join([jax.device_get(a[i]) for a in advanced]) for i in (1, 2))
            seconds = time.monotonic() - began
            on_progress(_progress(env, solver, update, count, seconds, len(seeds), sums))
            if update in adapt_at:
                adapt = partial(_adapt, solver, env.scenario, env.params, horizon=env.horizon)
                shards = map_shards(adapt, shards)
            if update in evaluate_at:
                on_evaluate(shards, {name: last[name] for name in last if name not in _COUNTED})
            if update == stops[0]:
                stops.pop(0)
            chunk = max(1, min(int(count * _SECONDS_PER_CHUNK / max(seconds, 1e-3)), 10 * chunk))
            checkpoints.offer(shards, now=interrupted.is_set())
            if interrupted.is_set():
                raise Interrupted(
                    f"stopped after {update} of {solver.updates} updates; run the same command again to resume"
                )
    on_checkpoint(shards)
    return shards


class _Checkpoints:
    """Every so many seconds, and less often where they would take more than a share of the time."""

    def __init__(self, save: Callable[[Shards], None], seconds: float):
        self._save, self._seconds = save, seconds
        self._due = time.monotonic() + seconds

    def offer(self, training: Shards, now: bool) -> None:
        began = time.monotonic()
        if now or began >= self._due:
            self._save(training)
            end = time.monotonic()
            self._due = end + (
                max(self._seconds, (end - began) / _CHECKPOINT_SHARE) if self._seconds else 0.0
            )


def init(env: Env, solver: Solver, seeds: tuple[int, ...]) -> Shards:
    """Every seed's initial state; a seed starts the same whatever the other seeds are."""
    return tuple(
        _init(solver, env.scenario, env.params, jnp.stack([jax.random.key(int(s)) for s in shard]))
        for shard in shard_seeds(seeds)
    )


def init_shapes(env: Env, solver: Solver, seeds: tuple[int, ...]) -> Shards:
    """The shapes and types of what `init` returns, without computing it."""

    @cache  # shards of equally many seeds have the same
    def of_shard(size: int) -> TrainingState:
        keys = jax.eval_shape(lambda: jax.random.split(jax.random.key(0), size))
        shapes: TrainingState = jax.eval_shape(lambda keys: solver.init(keys, env), keys)
        return shapes

    return tuple(of_shard(len(shard)) for shard in shard_seeds(seeds))


def _join(logs: list[dict[str, NDArray[np.float32]]]) -> dict[str, NDArray[np.float32]]:
    """Logs of all shards along the seed axis, once all of them are known to be finite."""
    for log in logs:
        _check_finite(log.pop("first_bad"))
    return {name: np.concatenate([log[name] for log in logs]) for name in logs[0]}


@partial(jax.jit, static_argnums=(0, 1), compiler_options=BRIEFLY)
def _init(solver: Solver, scenario: Scenario, params: Params, keys: Key[Array, "S"]) -> TrainingState:
    started: TrainingState = solver.init(keys, Env("", scenario, params))
    return started


def _advance(
    solver: Solver, scenario: Scenario, params: Params, training: TrainingState, count: int
) -> tuple[TrainingState, dict[str, Array], dict[str, Array]]:
    """`count` updates; the sum of their logs and the last ones, each with the first update that was not finite."""
    advance = _jit_advance(_is_brief(solver))
    advanced: tuple[TrainingState, dict[str, Array], dict[str, Array]] = advance(
        solver, scenario, params, training, count
    )
    return advanced


@cache
def _jit_advance(briefly: bool) -> Callable[..., Any]:
    options = BRIEFLY if briefly else None
    return jax.jit(_updates, static_argnums=(0, 1), donate_argnums=3, compiler_options=options)


def _is_brief(solver: Solver) -> bool:
    """Whether the training is over before optimising its program would have paid off."""
    return solver.updates * solver.config.batch < _BRIEF_STEPS


def _updates(
    solver: Solver, scenario: Scenario, params: Params, training: TrainingState, count: Int[Array, ""]
) -> tuple[TrainingState, dict[str, Array], dict[str, Array]]:
    one_update = jax.jit(solver.update, static_argnums=1)  # traced once for the shapes and the loop

    def body(_: Array, carry: tuple[TrainingState, PyTree, PyTree, Array]) -> PyTree:
        training, sums, _, bad = carry
        after, logs = one_update(training, scenario, params)
        finite = jnp.stack([jnp.isfinite(logs["loss"]).all(), _finite(after.theta), _finite(after.method)])
        first = (bad[0] < 0) & ~finite.all()
        bad = jnp.where(first, jnp.concatenate([after.update[None], ~finite]), bad)
        return after, jax.tree.map(jnp.add, sums, logs), logs, bad

    shapes = jax.eval_shape(lambda t: one_update(t, scenario, params)[1], training)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    start = (training, zeros, zeros, jnp.full(4, -1, jnp.int32))
    training, sums, last, bad = jax.lax.fori_loop(0, count, body, start)
    return training, {**sums, "first_bad": bad}, {**last, "first_bad": bad}


def _finite(tree: PyTree) -> Array:
    leaves = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return jnp.stack([jnp.isfinite(x).all() for x in leaves]).all() if leaves else jnp.array(True)


def _check_finite(bad: NDArray[np.generic]) -> None:
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


def _adapt(
    solver: Solver, scenario: Scenario, params: Params, training: TrainingState, horizon: int
) -> TrainingState:
    """The method's change of the observation dynamics, for every seed side by side."""
    adapted: TrainingState = _jit_adapt(_is_brief(solver))(solver, scenario, params, training, horizon)
    return adapted


@cache
def _jit_adapt(briefly: bool) -> Callable[..., Any]:
    return jax.jit(_adaptation, static_argnums=(0, 1, 4), compiler_options=BRIEFLY if briefly else None)


def _adaptation(
    solver: Solver, scenario: Scenario, params: Params, training: TrainingState, horizon: int
) -> TrainingState:
    def one(key: Key[Array, ""], theta: PyTree, state: PyTree) -> PyTree:
        key = jax.random.fold_in(jax.random.fold_in(key, training.update), ANOTHER_BRANCH)
        return solver.method.adapt(key, state, solver.behave(theta), scenario, params, horizon)

    method = jax.vmap(one)(training.key, training.theta, training.method)
    adapted: TrainingState = eqx.tree_at(lambda t: t.method, training, method)
    return adapted


def _progress(
    env: Env,
    solver: Solver,
    update: int,
    count: int,
    seconds: float,
    seeds: int,
    sums: Mapping[str, NDArray[np.float32]],
) -> Progress:
    decisions = count * solver.config.batch
    recall = sums["approved_qualified"].sum(0) / np.maximum(sums["qualified"].sum(0), 1)
    return Progress(
        update=update,
        updates=solver.updates,
        steps=update * solver.config.batch,
        steps_per_second=seeds * decisions / max(seconds, 1e-9),
        episode_return=float(sums["reward"].mean() / decisions * env.horizon),
        recall=tuple(recall.tolist()),
        diagnostics={name: float(sums[name].mean() / count) for name in sums if name not in _COUNTED},
    )


def describe(solver: Solver, training: Shards) -> dict[str, NDArray[np.generic]]:
    """What the method reports of itself, leading axis seeds."""
    shards = [jax.vmap(solver.method.describe, axis_size=s.key.shape[0])(s.method) for s in training]
    return {name: np.concatenate([np.asarray(shard[name]) for shard in shards]) for name in shards[0]}
