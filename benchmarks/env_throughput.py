"""How many steps a second: Gymnasium's vector API and a compiled rollout against plain NumPy Python.

Run `python benchmarks/env_throughput.py`. All contestants take turns in one run and the medians are compared, so a
busy machine slows all of them alike. "Ratio" is to the NumPy environment with one copy, unless it says otherwise.
Each contestant has one thread: NumPy uses one, and more of XLA's slow a loop of small steps down.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.setdefault("NPROC", "1")  # threads of XLA's pool, read when JAX starts

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from numpy_attention import NumpyAttention
from numpy_infectious import NumpyInfectious
from numpy_lending import NumpyLending

import bisimulator
from bisimulator.solvers.rollout import EnvBatch, rollout, start

Steps = Callable[[], int]  # does some work, says how many environment steps it was


def numpy_steps(number: int = 40_000) -> Steps:
    """The bare transition in a loop, without Gymnasium's `info`: the fastest way to use it."""
    env, actions = NumpyLending(horizon=2**31), np.random.default_rng(0).integers(2, size=number).tolist()
    env.reset(seed=0)

    def run() -> int:
        for action in actions:
            env.advance(action)
        return number

    return run


def numpy_attention_steps(number: int = 4_000) -> Steps:
    env = NumpyAttention(horizon=2**31)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-3, 3, (number, 5))

    def run() -> int:
        for action in actions:
            env.step(action)
        return number

    return run


def numpy_infectious_steps(number: int = 8_000) -> Steps:
    env, actions = NumpyInfectious(), np.random.default_rng(0).integers(35, size=number).tolist()
    env.reset(seed=0)

    def run() -> int:
        for action in actions:
            env.step(action)
        return number

    return run


def vector_steps(name: str, copies: int, number: int = 500, **params: Any) -> Steps:
    """Gymnasium's vector API, with rewards, flags and full `info` as NumPy arrays in every step."""
    env = gymnasium.make_vec(name, num_envs=copies, vectorization_mode="vector_entry_point", **params)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(2, size=(number, copies))

    def run() -> int:
        for row in actions:
            env.step(row)
        return number * copies

    return run


def rollout_steps(name: str, copies: int, number: int = 1_500, **params: Any) -> Steps:
    """A compiled loop with a random policy: observations, actions and rewards never leave the program."""
    env = bisimulator.make(name, **params)
    keys = jax.random.split(jax.random.key(0), copies)

    @jax.jit
    def start(params: Any) -> Any:
        return jax.lax.map(lambda key: env.scenario.reset(key, params), keys)

    @partial(jax.jit, donate_argnums=0)
    def roll(states: Any, begin: int, params: Any) -> tuple[Any, jax.Array]:
        def decide(carry: tuple, t: jax.Array) -> tuple:
            states, total = carry
            k_act = jax.random.fold_in(jax.random.key(1), t)
            action = random_actions(env, k_act, copies)
            k_step = jax.vmap(lambda key: jax.random.fold_in(key, t))(keys)
            states, step = jax.vmap(lambda k, s, a: env.scenario.step(k, s, a, params))(
                k_step, states, action
            )
            return (states, total + step.reward.sum() + step.obs.sum()), None

        return jax.lax.scan(decide, (states, 0.0), begin + jnp.arange(number))[0]

    progress = [start(env.params), 0]

    def run() -> int:
        states, total = roll(progress[0], progress[1], env.params)
        total.block_until_ready()
        progress[:] = [states, progress[1] + number]
        return number * copies

    return run


def view_steps(view: str, copies: int, number: int = 400) -> Steps:
    """The rollouts that solvers learn from, whose episodes end and begin anew; random policy."""
    env = bisimulator.make("lending").in_view(view)
    params = jax.tree.map(lambda x: jnp.asarray(x)[None], env.params)
    actions = partial(random_actions, env, copies=copies)

    def act(theta: None, keys: jax.Array, obs: jax.Array) -> jax.Array:
        return actions(keys[0])[None]

    @partial(jax.jit, donate_argnums=0)
    def roll(envs: EnvBatch, key: jax.Array) -> tuple[EnvBatch, jax.Array]:
        envs, batch = rollout(env.scenario, envs, act, None, key[None], params, number)
        return envs, batch.reward.sum() + batch.obs.sum()

    progress = [
        jax.jit(lambda: start(env.scenario, jax.random.split(jax.random.key(0), 1), params, copies))(),
        0,
    ]

    def run() -> int:
        envs, total = roll(progress[0], jax.random.fold_in(jax.random.key(1), progress[1]))
        total.block_until_ready()
        progress[:] = [envs, progress[1] + 1]
        return number * copies

    return run


def random_actions(env: bisimulator.Env, key: jax.Array, copies: int) -> jax.Array:
    """Actions at random; of applicants one bit each."""
    if env.scenario.applicants:
        return (jax.random.bits(key, (copies,)) >> 31).astype(jnp.int32)
    (low, high), shape = env.action_space.bounds, (copies, *env.action_space.shape)
    if env.scenario.discrete:
        return jax.random.randint(key, shape, int(low), int(high) + 1)
    return jax.random.uniform(key, shape, minval=low, maxval=high)


def rates(contestants: dict[str, Steps], repeats: int) -> dict[str, float]:
    """Median steps a second of each, taking turns; the first round compiles and does not count."""
    seen: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(repeats + 1):
        for name, run in contestants.items():
            begin = time.perf_counter()
            steps = run()
            if turn > 0:
                seen[name].append(steps / (time.perf_counter() - begin))
    return {name: float(np.median(values)) for name, values in seen.items()}


def speed(repeats: int) -> None:
    endless = {"horizon": 2**31 - 2}
    # college's rollout has people enough that no pool is empty before the last round
    contestants = {
        "NumPy, 1 copy": numpy_steps(),
        "Gymnasium vector API, 1024 copies": vector_steps("bisimulator/Lending-v0", 1024, **endless),
        "compiled rollout, 1024 copies": rollout_steps("lending", 1024, **endless),
        "compiled rollout, 8 copies": rollout_steps("lending", 8, **endless),
        "college, vector API, 1024 copies": vector_steps("bisimulator/College-v0", 1024, **endless),
        "college, compiled rollout, 1024 copies": rollout_steps(
            "college", 1024, population=40_000, **endless
        ),
    }
    found = rates(contestants, repeats)
    wanted = {"Gymnasium vector API, 1024 copies": 12, "compiled rollout, 1024 copies": 40}
    base = found["NumPy, 1 copy"]
    print(f"{'lending':42}{'steps/s':>14}{'ratio':>9}{'wanted':>9}")
    for name, rate in found.items():
        goal = f">= {wanted[name]}" if name in wanted else ""
        print(f"{name:42}{rate:14,.0f}{rate / base:9.1f}{goal:>9}")


def about_all_groups(repeats: int) -> None:
    """Environments whose steps are about all groups, each against its own NumPy version."""
    endless = {"horizon": 2**31 - 2}
    pairs = {
        "attention": numpy_attention_steps(),
        "infectious": numpy_infectious_steps(),
    }
    contestants = {f"{name}, NumPy, 1 copy": run for name, run in pairs.items()}
    for name in pairs:
        contestants[f"{name}, compiled rollout, 1024 copies"] = rollout_steps(name, 1024, 200, **endless)
    found = rates(contestants, repeats)
    print(f"\n{'steps about all groups':42}{'steps/s':>14}{'ratio':>9}{'wanted':>9}")
    for name, rate in found.items():
        ratio, goal = (
            rate / found[f"{name.partition(',')[0]}, NumPy, 1 copy"],
            "" if "NumPy" in name else ">= 40",
        )
        print(f"{name:42}{rate:14,.0f}{ratio:9.1f}{goal:>9}")


def views(repeats: int) -> None:
    """Single lives against the queue."""
    found = rates(
        {
            f"{view} {copies}": view_steps(view, copies, number)
            for view in ("queue", "life")
            for copies, number in ((8, 10_000), (1024, 400))
        },
        repeats,
    )
    print(
        f"\n{'rollouts of lending, with new episodes':42}{'queue':>14}{'lives':>14}{'ratio':>9}{'wanted':>9}"
    )
    for copies in (8, 1024):
        queue, life = (found[f"{view} {copies}"] for view in ("queue", "life"))
        print(f"{f'{copies} copies':42}{queue:14,.0f}{life:14,.0f}{life / queue:9.2f}{'>= 1':>9}")


def population(repeats: int, copies: int = 64) -> None:
    """The cost of a step when there are a thousand times as many people."""
    sizes = {"1,000": 1_000, "1,000,000": 1_000_000}
    params = {"horizon": 2**31 - 2}
    found = rates(
        {f"{kind} {size}": make(name, copies, population=people, **params)
         for size, people in sizes.items()
         for kind, make, name in (("vector", vector_steps, "bisimulator/Lending-v0"),
                                  ("rollout", rollout_steps, "lending"))},
        repeats,
    )  # fmt: skip
    print(f"\n{f'cost of a step, {copies} copies':42}{'1,000':>14}{'1,000,000':>14}{'ratio':>9}{'wanted':>9}")
    for kind, label in (("vector", "Gymnasium vector API"), ("rollout", "compiled rollout")):
        small, large = (1e9 / found[f"{kind} {size}"] for size in sizes)
        print(f"{label:42}{small:11,.0f} ns{large:11,.0f} ns{large / small:9.2f}{'<= 1.5':>9}")


def ten_million() -> None:
    env = gymnasium.make("bisimulator/Lending-v0", population=10_000_000)
    begin = time.perf_counter()
    env.reset(seed=0)
    reset = time.perf_counter() - begin
    env.step(1)
    begin = time.perf_counter()
    for _ in range(200):
        env.step(1)
    step = (time.perf_counter() - begin) / 200
    print(
        f"\n10,000,000 people, Gymnasium, 1 copy: reset {reset:.1f} s (with compiling), step {step * 1e6:.0f} us"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15, help="rounds of each contestant (median is shown)")
    repeats = parser.parse_args().repeats
    speed(repeats)
    about_all_groups(repeats)
    views(repeats)
    population(repeats)
    ten_million()


if __name__ == "__main__":
    main()
