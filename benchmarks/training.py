"""How fast training is: against Stable-Baselines3, and what the Bisimulator, the baselines and many groups cost.

Run `python benchmarks/training.py`. All contestants take turns in one run, and a ratio is the median over rounds, so a
busy machine slows both sides alike. Compiling happens before and is shown on its own. `--quick` checks that it runs;
its ratios mean nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from multiprocessing.connection import Connection
from typing import Any

import jax
import torch
from numpy_attention import NumpyAttention
from numpy_lending import NumpyLending
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import DummyVecEnv

from bisimulator import registry
from bisimulator.jobs.learning_curves import Recorder
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.solvers import trainer
from bisimulator.solvers._shards import available_cores
from bisimulator.solvers.dqn import DQNConfig
from bisimulator.solvers.ppo import PPOConfig
from bisimulator.solvers.solver import Solver

STEPS = 400_000  # of a whole training
BASELINES = {"r-ppo": "<= 2", "a-ppo": "<= 2", "lag-ppo": "<= 2", "elbert": "<= 3"}


@dataclasses.dataclass(frozen=True)
class Size:
    seeds: int = 10
    rounds: int = 5
    seconds: float = 2.0  # of each contestant in each round
    adapt_rounds: int = 3
    candidates: int | None = None  # for omega; None: the method's own number


QUICK = Size(seeds=2, rounds=1, seconds=0.0, adapt_rounds=1, candidates=2)


class _Training:
    """In a worker: some seeds' training as `trainer.train` does it, without progress and checkpoints."""

    def __init__(self, spec: Spec, seeds: tuple[int, ...]):
        self.spec, self.seeds, env = spec, seeds, spec.make_env()
        self.solver = spec.make_solver(env)
        env = env.in_view(spec.view)
        self.env = dataclasses.replace(env, params=self.solver.method.training_params(env.params))
        self.shards = jax.block_until_ready(trainer.init(self.env, self.solver, seeds))

    def run(self, updates: int) -> None:
        one = partial(trainer._advance, self.solver, self.env.scenario, self.env.params, count=updates)
        self.shards = tuple(jax.block_until_ready(one(shard))[0] for shard in self.shards)

    def adapt(self) -> None:
        """One improvement of omega."""
        horizon = int(self.env.params.horizon)
        one = partial(trainer._adapt, self.solver, self.env.scenario, self.env.params, horizon=horizon)
        self.shards = tuple(jax.block_until_ready(one(shard)) for shard in self.shards)

    def record(self) -> None:
        """One evaluation of the learning curve, as `jobs.learning_curves` makes it: whole episodes and all metrics."""
        self.recorder(self.shards, {})

    @cached_property
    def recorder(self) -> Recorder:
        spec = dataclasses.replace(self.spec, seeds=self.seeds)
        return Recorder(spec, spec.make_env(), self.solver)


def _work(pipe: Connection) -> None:
    """In a worker: make the trainings that are asked for, and do with them what is asked."""
    made: dict[str, _Training] = {}
    while (task := pipe.recv()) is not None:
        name, what, *arguments = task
        if what == "make":
            made[name] = _Training(*arguments)
        else:
            getattr(made[name], what)(*arguments)
        pipe.send(None)


class Workers:
    """One process per core, each with a share of the seeds and one thread of XLA's, as jobs are run."""

    def __init__(self) -> None:
        context, self.pipes = multiprocessing.get_context("spawn"), []
        before, os.environ["NPROC"] = os.environ.get("NPROC"), "1"
        for _ in range(available_cores()):
            here, there = context.Pipe()
            context.Process(target=_work, args=(there,), daemon=True).start()
            self.pipes.append(here)
        os.environ.pop("NPROC") if before is None else os.environ.update(NPROC=before)

    def __call__(self, *task: Any) -> None:
        self.each([task] * len(self.pipes))

    def each(self, tasks: Sequence[tuple[Any, ...]]) -> None:
        for pipe, task in zip(self.pipes, tasks, strict=True):
            pipe.send(task)
        for pipe in self.pipes:
            pipe.recv()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in self.pipes:
            pipe.send(None)


class Ours:
    """The training of a job, with its view, its goal and its solver's options, on all cores."""

    def __init__(self, workers: Workers, size: Size, method: str, scenario: str = "lending", **options: Any):
        config = registry.lookup("method", method).config
        if size.candidates and getattr(config, "dynamics_steps", 0):
            options["config"] = dataclasses.replace(config, dynamics_steps=size.candidates)
        self.spec = make_spec(scenario, method, seeds=size.seeds, steps=STEPS, **options)
        self.workers, self.name = workers, f"{scenario} {method} {sorted(options.items(), key=str)}"
        cores = len(workers.pipes)
        shares = [self.spec.seeds[core::cores] for core in range(cores)]
        workers.each([(self.name, "make", self.spec, share) for share in shares])

    @property
    def solver(self) -> Solver:
        return self.spec.make_solver(self.spec.make_env())

    def run(self, updates: int) -> int:
        """Train; returns the environment steps of all seeds together."""
        self.workers(self.name, "run", updates)
        return updates * self.spec.solver.batch * len(self.spec.seeds)

    def adapt(self) -> None:
        """One improvement of omega, for all seeds."""
        self.workers(self.name, "adapt")

    def curve_share(self, rounds: int) -> float:
        """What the learning curve adds to the time of training, taking turns with the training between two of them."""
        updates = round(self.spec.curve_every / self.spec.solver.batch)
        seen: list[tuple[float, float]] = []
        for _ in range(rounds + 1):
            trained = seconds(lambda: self.run(updates))
            seen.append((seconds(lambda: self.workers(self.name, "record")), trained))
        return statistics.median(evaluated / trained for evaluated, trained in seen[1:])


class BareLending(NumpyLending):
    """Without what nobody asks for: Stable-Baselines3 would copy `info` in every step."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        obs, reward, _, truncated = self.advance(action)
        return obs, reward, False, truncated, {}


def their_ppo(env: Callable[[], Any] = BareLending) -> BaseAlgorithm:
    """Stable-Baselines3's PPO with the same networks, batches and hyperparameters."""
    c = PPOConfig()
    return PPO(
        "MlpPolicy",
        DummyVecEnv([env] * c.num_envs),
        n_steps=c.rollout,
        batch_size=c.minibatch,
        n_epochs=c.epochs,
        learning_rate=c.learning_rate,
        gamma=c.gamma,
        gae_lambda=c.gae_lambda,
        clip_range=c.clip,
        clip_range_vf=c.clip,
        ent_coef=c.entropy,
        vf_coef=c.value,
        max_grad_norm=c.max_grad_norm,
        policy_kwargs={
            "activation_fn": torch.nn.Tanh,
            "net_arch": {"pi": list(c.hidden), "vf": list(c.hidden)},
        },
        seed=0,
        device="cpu",
    )


def their_dqn() -> BaseAlgorithm:
    """Stable-Baselines3's DQN with the same network, batches and hyperparameters."""
    c = DQNConfig()
    return DQN(
        "MlpPolicy",
        DummyVecEnv([BareLending] * c.num_envs),
        train_freq=(c.rollout, "step"),
        gradient_steps=c.epochs,
        batch_size=c.minibatch,
        buffer_size=c.capacity,
        learning_starts=0,
        learning_rate=c.learning_rate,
        gamma=c.gamma,
        target_update_interval=c.target_every * c.batch,
        exploration_fraction=c.epsilon_fraction,
        exploration_final_eps=c.epsilon_end,
        policy_kwargs={"activation_fn": torch.nn.Tanh, "net_arch": list(c.hidden)},
        seed=0,
        device="cpu",
    )


class Theirs:
    """A model of Stable-Baselines3."""

    def __init__(self, make: Callable[[], BaseAlgorithm], batch: int, threads: int):
        self.model, self.batch, self.threads = make(), batch, threads

    def run(self, updates: int) -> int:
        torch.set_num_threads(self.threads)
        self.model.learn(updates * self.batch, reset_num_timesteps=False)
        return updates * self.batch


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


@dataclasses.dataclass(frozen=True)
class Rates:
    """Steps a second of every contestant in every round."""

    seen: dict[str, list[float]]
    compiling: dict[str, float]  # the seconds that the first update took longer

    def median(self, name: str) -> float:
        return statistics.median(self.seen[name])

    def ratio(self, name: str, *peers: str) -> float:
        """Of a contestant to the fastest of its peers, round by round: a busy minute slows both of them."""
        peer = max(peers, key=self.median)
        pairs = zip(self.seen[name], self.seen[peer], strict=True)
        return statistics.median(ours / theirs for ours, theirs in pairs)


def rates(contestants: dict[str, Any], size: Size) -> Rates:
    """Let all of them take turns."""
    first = {name: seconds(lambda c=c: c.run(1)) for name, c in contestants.items()}
    second = {name: seconds(lambda c=c: c.run(1)) for name, c in contestants.items()}
    updates = {name: max(1, round(size.seconds / taken)) for name, taken in second.items()}
    seen: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(size.rounds):
        for name, contestant in contestants.items():
            began = time.perf_counter()
            steps = contestant.run(updates[name])
            seen[name].append(steps / (time.perf_counter() - began))
    return Rates(seen, {name: max(first[name] - second[name], 0.0) for name in contestants})


def attention(size: Size) -> None:
    """Five seeds of PPO on attention, whose actions are real numbers, against Stable-Baselines3's PPO."""
    size = dataclasses.replace(size, seeds=min(5, size.seeds))
    with Workers() as workers:
        contestants = {
            f"attention: ppo, {size.seeds} seeds": Ours(workers, size, "ppo", "attention"),
            **{
                f"attention: Stable-Baselines3 PPO, torch threads: {n}": Theirs(
                    partial(their_ppo, NumpyAttention), PPOConfig().batch, n
                )
                for n in sorted({1, torch.get_num_threads()})
            },
        }
        found = rates(contestants, size)
    print(f"\n{'attention':60}{'steps/s':>10}")
    for name in found.seen:
        print(f"{name:60}{found.median(name):10,.0f}")
    print(f"{'ratio to Stable-Baselines3 (the faster)':60}{found.ratio(*found.seen):10.1f}{'>= 30':>9}")


def goals(size: Size) -> None:
    """What lives and a goal cost, with the same options of the solver; the queue has no clock for the critic."""
    goal = "min-recall=0.9"
    with Workers() as workers:
        options = dataclasses.asdict(make_spec("lending", "ppo", goal=goal).solver)
        ours = partial(Ours, workers, size, "ppo")
        without_clock = options | {"critic_clock": False}
        queue, lives, clock, towards = "queue", "lives", "lives, the critic sees the clock", f"lives, {goal}"
        contestants = {
            queue: ours(view="queue", solver=without_clock),
            lives: ours(view="life", solver=without_clock),
            clock: ours(view="life", solver=options),
            towards: ours(view="life", goal=goal, solver=options),
        }
        found = rates(contestants, size)
    print(f"\n{f'ppo on lending, {size.seeds} seeds together':60}{'steps/s':>10}")
    for name in found.seen:
        print(f"{name:60}{found.median(name):10,.0f}")
    print(f"{'steps/s: lives / queue':60}{found.ratio(lives, queue):10.2f}{'>= 1':>9}")
    print(f"{'time: with a goal / without':60}{found.ratio(clock, towards):10.2f}{'<= 1.15':>9}")
    print(f"{'time: with a goal / without goal and clock':60}{found.ratio(lives, towards):10.2f}")


def main(size: Size) -> None:
    threads = sorted({1, torch.get_num_threads()})
    with Workers() as workers:
        ours = partial(Ours, workers, size, view="queue")
        full = ours("ppo-bisimulator")
        contestants = {
            "ppo": ours("ppo"),
            "dqn": ours("dqn"),
            "ppo-bisimulator-reward": ours("ppo-bisimulator-reward"),
            "ppo-bisimulator, without improving omega": full,
            **{name: ours(name) for name in BASELINES},
            "ppo, 100 groups": ours("ppo", settings={"groups": 100}),
            "ppo-bisimulator-reward, 100 groups": ours("ppo-bisimulator-reward", settings={"groups": 100}),
            **{
                f"Stable-Baselines3 {name}, torch threads: {n}": Theirs(make, batch, n)
                for name, make, batch in (
                    ("PPO", their_ppo, PPOConfig().batch),
                    ("DQN", their_dqn, DQNConfig().batch),
                )
                for n in threads
            },
        }
        found = rates(contestants, size)
        curve = contestants["ppo"].curve_share(3 * size.rounds)
        adapt_first = seconds(full.adapt)
        adapt = statistics.median(seconds(full.adapt) for _ in range(size.adapt_rounds))

    print(f"{f'lending, {size.seeds} seeds together':44}{'steps/s':>12}{'compiling':>12}")
    for name in found.seen:
        shown = "" if name.startswith("Stable") else f"{found.compiling[name]:10.1f} s"
        print(f"{name:44}{found.median(name):12,.0f}{shown:>12}")
    print(f"{'one improvement of omega':44}{adapt:10.2f} s{max(adapt_first - adapt, 0):10.1f} s")

    theirs = {
        kind: [name for name in found.seen if name.startswith(f"Stable-Baselines3 {kind}")]
        for kind in ("PPO", "DQN")
    }
    updates, calls = full.solver.updates, full.solver.method.adapt_at(full.solver.updates)
    steps = updates * full.solver.config.batch * size.seeds
    plain = steps / found.median("ppo")
    whole = steps / found.median("ppo-bisimulator, without improving omega") + len(calls) * adapt
    reward = "ppo-bisimulator-reward"
    print(f"\n{'ratio':60}{'here':>8}{'wanted':>9}")
    for name, ratio, wanted in (
        ("steps/s: ppo / Stable-Baselines3 (the faster)", found.ratio("ppo", *theirs["PPO"]), ">= 80"),
        ("steps/s: dqn / Stable-Baselines3 (the faster)", found.ratio("dqn", *theirs["DQN"]), ">= 40"),
        ("time: ppo-bisimulator-reward / ppo", found.ratio("ppo", reward), "<= 1.6"),
        *((f"time: {name} / ppo", found.ratio("ppo", name), wanted) for name, wanted in BASELINES.items()),
        (f"time: ppo-bisimulator ({len(calls)} x omega) / ppo, whole training", whole / plain, "<= 4"),
        ("time: ppo, 100 groups / 2 groups", found.ratio("ppo", "ppo, 100 groups"), "<= 2"),
        ("time: evaluations of the learning curve / ppo", curve, "<= 0.3"),
        (f"time: {reward}, 100 / 2", found.ratio(reward, f"{reward}, 100 groups"), "<= 2"),
    ):
        print(f"{name:60}{ratio:8.2f}{wanted:>9}")
    print(f"\nA whole training of {size.seeds} seeds: ppo {plain:.0f} s, ppo-bisimulator {whole:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a smoke run: two seeds, one round")
    chosen = QUICK if parser.parse_args().quick else Size()
    main(chosen)
    goals(chosen)
    attention(chosen)
