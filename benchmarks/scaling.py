"""What a step, a training, an evaluation and a certificate cost with many people and many groups, and how that grows.

    python benchmarks/scaling.py            # writes the tables of docs/scaling.md
    python benchmarks/scaling.py --quick    # three sizes each, two rounds
    python benchmarks/scaling.py --only "exact evaluation" "frontier, min-recall"

Costs are CPU seconds, which a busy machine changes less than wall time; sizes take turns and medians are shown. The
growth is the exponent of a power law through the costs, over all sizes and over the last two.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import jax
import numpy as np
from env_throughput import rollout_steps

import bisimulator
from bisimulator import files, registry
from bisimulator.evaluation._exact_evaluation import acceptance_table
from bisimulator.jobs.seal import RESULTS, broken, seal
from bisimulator.policies.networks import make_mlp
from bisimulator.solvers import trainer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "scaling.md"
TRAINING_STEPS = 400_000
PEOPLE, GROUPS = (10**3, 10**4, 10**5, 10**6, 10**7), (2, 10, 100, 1000)
FEW_PEOPLE, FEW_GROUPS = 1000, 2
VISITS = 10  # of a person; the horizon of what is exact
Work = Callable[[], int]  # does some work; how many units it was


def step(people: int, groups: int) -> Work:
    """Environment steps of a compiled rollout of 8 environments."""
    return rollout_steps("lending", 8, 2000, population=people, groups=groups, horizon=2**31 - 2)


def training(people: int, groups: int, view: str = "queue") -> Work:
    """Environment steps of PPO with one seed, updates of the network included."""
    env = bisimulator.make("lending", population=people, groups=groups)
    solver = trainer.make_solver(
        registry.lookup("method", "ppo"), env, TRAINING_STEPS, trainer.PPOConfig(num_envs=2)
    )
    rollouts = env.in_view(view)
    state = list(trainer.init(rollouts, solver, (0,)))

    def run() -> int:
        count = 20
        advanced = trainer._advance(solver, rollouts.scenario, rollouts.params, state[0], count=count)
        state[0] = jax.block_until_ready(advanced)[0]
        return count * solver.config.batch

    return run


def evaluation(people: int, groups: int) -> Work:
    """Simulated decisions of an episode with 10,000 of them, from making the people to the metrics."""
    env = bisimulator.make("lending", population=people, groups=groups)

    def run() -> int:
        bisimulator.evaluate(env, bisimulator.policies.accept_all(), seeds=1, episodes=1)
        return env.horizon

    return run


def certificate(people: int, groups: int) -> Work:
    """Certificates of a policy by score."""
    env = bisimulator.make("lending", population=people, groups=groups, horizon=VISITS * people)
    table = np.tile(np.linspace(0.2, 0.9, env.params.num_scores), (groups, 1))

    def run() -> int:
        bisimulator.certify(env, table)
        return 1

    return run


def network_decisions(people: int, groups: int) -> Work:
    """What a network decides on every history of loans, which the exact tools ask of a trained policy."""
    env = bisimulator.make("lending", population=people, groups=groups, horizon=VISITS * people)
    network = make_mlp(jax.random.key(0), env.observation_size, (64, 64), 2, 1.0, groups=groups)

    def run() -> int:
        acceptance_table(env, bisimulator.policies.Network(network, False))
        return 1

    return run


def exact_evaluation(people: int, groups: int) -> Work:
    """Exact evaluations of a policy by score."""
    env = bisimulator.make("lending", population=people, groups=groups, horizon=VISITS * people)
    table = np.tile(np.linspace(0.2, 0.9, env.params.num_scores), (groups, 1))

    def run() -> int:
        bisimulator.exact.expect(env, table)
        return 1

    return run


def frontier(people: int, groups: int) -> Work:
    """Levels of a frontier of min-recall, all columns."""
    env = bisimulator.make("lending", population=people, groups=groups, horizon=VISITS * FEW_PEOPLE)

    def run() -> int:
        return len(bisimulator.frontier(env, levels=[0.8, 0.9, 1.0]).levels)

    return run


MEASURED: dict[str, tuple[Callable[[int, int], Work], str, float]] = {
    "step of a compiled rollout": (step, "us per step", 1e6),
    "training, PPO on the queue": (training, "us per step", 1e6),
    "training, PPO on lives": (partial(training, view="life"), "us per step", 1e6),
    "simulated evaluation": (evaluation, "us per decision", 1e6),
    "exact evaluation": (exact_evaluation, "ms", 1e3),
    "certificate of a policy by score": (certificate, "ms", 1e3),
    "a network's decisions on every history": (network_decisions, "ms", 1e3),
    "frontier, min-recall": (frontier, "ms per level", 1e3),
}


def costs(make: Callable[[int, int], Work], sizes: list[tuple[int, int]], rounds: int) -> list[float]:
    """CPU seconds per unit of every size, taking turns; the first round compiles and does not count."""
    work = [make(*size) for size in sizes]
    seen: list[list[float]] = [[] for _ in sizes]
    for turn in range(rounds + 1):
        for run, values in zip(work, seen, strict=True):
            began = time.process_time()
            units = run()
            if turn:
                values.append((time.process_time() - began) / units)
    return [statistics.median(values) for values in seen]


def growth(sizes: tuple[int, ...], cost: list[float]) -> tuple[float, float]:
    """The exponent of a power law through all costs, and through the last two."""
    x, y = np.log(sizes), np.log(cost)
    return float(np.polyfit(x, y, 1)[0]), float((y[-1] - y[-2]) / (x[-1] - x[-2]))


def rows(axis: str, sizes: tuple[int, ...], rounds: int, names: list[str]) -> list[str]:
    """The lines of a table, one per thing that is measured."""
    head = ["cost", "unit", *(f"{size:,} {axis}" for size in sizes), "growth", "of the last two"]
    lines = [" | ".join(["", *head, ""]).strip(), "|" + " --- |" * len(head)]
    for name in names:
        make, unit, scale = MEASURED[name]
        pairs = [(n, FEW_GROUPS) if axis == "people" else (FEW_PEOPLE, n) for n in sizes]
        found = costs(make, pairs, rounds)
        fitted = [f"n^{exponent:.2f}" for exponent in growth(sizes, found)]
        cells = [name, unit, *(f"{scale * cost:.3g}" for cost in found), *fitted]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def seconds(run: Callable[[], object]) -> float:
    """CPU seconds."""
    began = time.process_time()
    run()
    return time.process_time() - began


def reading(rows: int) -> tuple[float, float, float]:
    """CPU seconds and bytes of memory per past decision that is read from a file, and CPU seconds of the audit."""
    rng = np.random.default_rng(0)
    columns = rng.choice(["a", "b"], rows), rng.integers(300, 851, rows), rng.integers(0, 2, rows)
    lines = "\n".join(f"{g},{s},{r}" for g, s, r in zip(*columns, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.csv"
        path.write_text(f"group,score,repaid\n{lines}\n")
        del lines, columns
        before, people = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
        options = {"repaid": "repaid", "bins": 11, "score_range": (300, 850)}
        taken = seconds(lambda: people.append(bisimulator.Population.from_csv(path, **options)))
    memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return taken / rows, memory / rows, seconds(lambda: bisimulator.audit(600, people[0]))


def collecting(parts: int) -> float:
    """Wall seconds of the one process that collects a sweep, per part: files of usual size, sealed and read again."""
    content = np.random.default_rng(0).bytes(2**16)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for part in range(parts):
            place = Path(folder) / str(part)
            for name in RESULTS:
                files.write_bytes(place / name, content)
            seal(place)
            broken(place)
    return (time.perf_counter() - began) / parts


def large(rounds: int) -> list[str]:
    """What an audit of 10^9 decisions and a sweep of 10,000 trainings would cost, from measured rates."""
    # in a process of its own, because the peak of this one's memory is that of all rows before
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        read, memory, audited = fresh.submit(reading, 200_000).result()
    simulated, trained = (
        costs(make, [(FEW_PEOPLE, FEW_GROUPS)], rounds)[0] for make in (evaluation, training)
    )
    collected, decisions, trainings, cores = collecting(20), 10**9, 10_000, 1_000
    hours, sweep = 1 / 3600, trained * TRAINING_STEPS * trainings
    return [
        "| what | measured | 1,000,000,000 decisions, or 10,000 trainings |",
        "| --- | --- | --- |",
        f"| reading past decisions from a file | {1e6 * read:.2g} us, {memory:.0f} bytes each | "
        f"{decisions * read * hours:.2g} core hours, {decisions * memory / 1e9:.0f} GB |",
        f"| the audit of what was read, by bins | {audited:.2g} s, with compiling | {audited:.2g} s |",
        f"| simulating decisions | {1e6 * simulated:.2g} us each | {decisions * simulated * hours:.2g} core hours |",
        f"| training, {TRAINING_STEPS:,} steps each | {1e6 * trained:.2g} us per step | "
        f"{sweep * hours:.3g} core hours, {sweep / cores / 60:.2g} minutes on {cores:,} cores |",
        f"| collecting the trainings' files | {1e3 * collected:.2g} ms each | "
        f"{trainings * collected / 60:.2g} minutes, in one process |",
    ]


def write(begin: str, end: str, lines: list[str]) -> None:
    """Replace what stands between two marks of the page."""
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}\n{chr(10).join(lines)}\n{end}{rest.split(end)[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three sizes each and two rounds")
    parser.add_argument(
        "--only", nargs="+", choices=MEASURED, default=list(MEASURED), help="some of the rows"
    )
    options = parser.parse_args()
    rounds, every = (2, 2) if options.quick else (5, 1)
    when = (
        f"Measured {time.strftime('%Y-%m-%d')} with {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at "
    )
    when += f"the start, medians of {rounds} rounds, CPU time."
    text = [when, "", f"With {FEW_GROUPS} groups:", ""]
    text += rows("people", PEOPLE[::every], rounds, options.only)
    text += ["", f"With {FEW_PEOPLE:,} people:", ""]
    text += rows("groups", GROUPS[every - 1 :], rounds, options.only)
    write("<!-- scaling:begin -->", "<!-- scaling:end -->", text)
    if set(options.only) == set(MEASURED):
        write("<!-- large:begin -->", "<!-- large:end -->", large(rounds))


if __name__ == "__main__":
    main()
