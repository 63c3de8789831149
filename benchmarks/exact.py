"""The exact tools against the same algorithm with POT's transport, and their running times.

Run `python benchmarks/exact.py`. Contestants take turns in one run and medians are compared, so a busy machine
slows all of them alike. `--quick` leaves the slow yardsticks out.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import ot
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import bicgstab

import bisimulator
from bisimulator.exact import bisimulation_metric

GAMMA = 0.99
Array = NDArray[np.float64]


def two_group_chain(n: int, seed: int = 0) -> tuple[Array, Array, NDArray[np.int64]]:
    """n state-group pairs in two groups; every state leads to 3 to 10 others of its group."""
    rng, half = np.random.default_rng(seed), n // 2
    transition = np.zeros((n, n))
    for x in range(n):
        support = rng.choice(half, rng.integers(3, min(10, half) + 1), replace=False) + half * (x >= half)
        transition[x, support] = rng.dirichlet(np.ones(len(support)))
    return transition, rng.random(n), np.repeat([0, 1], half)


def howard_with_pot(transition: Array, reward: Array, groups: NDArray[Any], tol: float) -> Array:
    """The same iteration, every coupling solved from scratch by POT's network simplex."""
    half = int((groups == 0).sum())
    left, right = transition[:half, :half], transition[half:, half:]
    cost = abs(reward[:half, None] - reward[half:])
    rows, cols = ([np.flatnonzero(p) for p in side] for side in (left, right))
    d, size = cost.copy(), half * (len(reward) - half)
    while True:
        entries, width = [], np.empty_like(cost)
        for x in range(half):
            for y in range(len(reward) - half):
                part = np.ascontiguousarray(d[np.ix_(rows[x], cols[y])])
                plan = ot.emd(left[x, rows[x]], right[y, cols[y]], part)
                width[x, y] = (plan * part).sum()
                entries.append((rows[x][:, None] * cost.shape[1] + cols[y], plan))
        new = cost + GAMMA * width
        if abs(new - d).max() / (1 - GAMMA) <= tol:
            return d
        counts = [plan.size for _, plan in entries]
        place = np.repeat(np.arange(size), counts)
        into = np.concatenate([index.ravel() for index, _ in entries])
        flow = np.concatenate([plan.ravel() for _, plan in entries])
        system = sp.eye_array(size) - GAMMA * sp.csr_array((flow, (place, into)), shape=(size, size))
        d = bicgstab(system, cost.ravel(), x0=d.ravel(), rtol=1e-14, maxiter=400)[0].reshape(cost.shape)


def emd2_pass(transition: Array, d: Array) -> None:
    """One application of F with POT: what value iteration does thousands of times."""
    half = len(d)
    left, right = transition[:half, :half], transition[half:, half:]
    for p in left:
        for q in right:
            ot.emd2(p, q, d)


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def metric_rows(sizes: list[int], repeats: int) -> None:
    print(f"Cross-group metric, gamma {GAMMA}, supports 3 to 10, error bound 1e-8")
    print(
        f"{'n':>5} {'warm Howard':>12} {'Howard, POT':>12} {'ratio':>7} {'value iteration, POT':>21}  error bound"
    )
    for n in sizes:
        chain = two_group_chain(n)
        result = bisimulation_metric(*chain[:2], GAMMA, groups=chain[2], tol=1e-8)
        run = partial(bisimulation_metric, *chain[:2], GAMMA, groups=chain[2], tol=1e-8)
        yardstick = partial(howard_with_pot, *chain, tol=1e-8)
        check(yardstick(), result.distance)
        times = [(seconds(run), seconds(yardstick)) for _ in range(repeats)]
        # steps until gamma^k d_max / (1 - gamma) <= 1e-8, times one measured step
        steps = np.log(1e-8 * (1 - GAMMA) / result.distance.max()) / np.log(GAMMA)
        whole = steps * seconds(partial(emd2_pass, chain[0], result.distance))
        a, b = (statistics.median(side) for side in zip(*times, strict=True))
        print(f"{n:5} {a:10.4f} s {b:10.3f} s {b / a:6.0f}x {whole:17.0f} s  {result.error_bound:9.1e}")


def check(theirs: Array, ours: Array) -> None:
    if abs(theirs - ours).max() > 3e-8:
        raise AssertionError(f"the contestants disagree by {abs(theirs - ours).max():.1e}")


def large_metric(n: int) -> None:
    """On all cores."""
    chain, cpu = two_group_chain(n), time.process_time()
    taken = seconds(lambda: bisimulation_metric(*chain[:2], GAMMA, groups=chain[2], tol=1e-8))
    cpu, memory = time.process_time() - cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"n = {n:,}, cross-group: {taken:.1f} s, {cpu:.1f} s of CPU, peak memory of the process {memory:.2f} GB"
    )


def frontier_rows(quick: bool) -> None:
    env = bisimulator.make("lending")
    bisimulator.frontier(env, levels=[1.0])  # compile
    one = statistics.median(seconds(lambda: bisimulator.exact.best_return(env, 0.9)) for _ in range(5))
    print(f"Frontier of lending: one recall query {one * 1000:.0f} ms")
    for criterion in ("min-recall", "recall-gap", "credit-gap"):
        taken = seconds(partial(bisimulator.frontier, env, criterion))
        print(f"  {criterion}: 31 points {taken:.1f} s, any policy and stationary")
    for groups in (10,) if quick else (10, 100):
        many, cpu = bisimulator.make("lending", groups=groups), time.process_time()
        taken = seconds(partial(bisimulator.frontier, many))
        cpu = time.process_time() - cpu
        print(f"  min-recall, {groups} groups: 31 points {taken:.1f} s, {cpu:.1f} s of CPU")


def softmax_policy(observations: jax.Array) -> jax.Array:
    """A stand-in for a trained network that draws its actions: logits of score, group and shares of past loans."""
    group = jnp.sin(7.0 * observations[..., 1:-2].argmax(-1))
    accept = (
        5.4 * observations[..., 0]
        - 1.8
        + 0.2 * group
        + 2.5 * observations[..., -2]
        - 3 * observations[..., -1]
    )
    return jnp.stack([jnp.zeros_like(accept), accept], -1)


def certificate_rows(quick: bool) -> None:
    """Certificates of policies with another acceptance probability for every history of loans."""
    print("Certificates of softmax policies, the bank's reward over an episode")
    for name in ("lending",) if quick else ("lending", "lending-10-groups", "lending-conscientiousness"):
        stand_in = bisimulator.policies.Network(softmax_policy, False)
        certificate_row(f"{name}, stand-in", bisimulator.make(name), stand_in)
        if not quick:
            trained = bisimulator.train(name, "ppo", seeds=1, greedy=False, progress=False)
            certificate_row(f"{name}, trained", trained.env(), trained.policy())


def certificate_row(name: str, env: bisimulator.Env, policy: bisimulator.policies.Policy) -> None:
    cpu = time.process_time()
    entry = bisimulator.certify(env, policy).main
    cpu = time.process_time() - cpu
    print(
        f"  {name}: gap {entry.gap:.4f}, bound {entry.bound:.4f}, width {entry.bound_width:.2g}; {cpu:.0f} s of CPU"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="n up to 100, one repeat, nothing large")
    quick = parser.parse_args().quick
    bisimulation_metric(*two_group_chain(14)[:2], GAMMA)  # compile
    metric_rows([14, 100] if quick else [14, 100, 200], repeats=1 if quick else 5)
    if not quick:
        large_metric(1_000)
        large_metric(5_000)
    frontier_rows(quick)
    certificate_rows(quick)


if __name__ == "__main__":
    main()
