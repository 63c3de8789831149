"""All ratios to other people's implementations in one table, docs/benchmarks.md, and whether one of them got worse.

    python benchmarks/run_all.py            # measure, compare with the stored ratios, write the table
    python benchmarks/run_all.py --quick    # fewer rounds; the goals train for a quarter of the steps
    python benchmarks/run_all.py --check    # measure and compare, write nothing
    python benchmarks/run_all.py --only environment exact

Contestants take turns, and every round gives one ratio, so that a busy machine slows both sides alike. The table has
the median of the rounds and their range. Ratios of environments and trainings are compared with the stored ones by a
factor (`WORSE`), never by absolute time; the exit code is 1 if one of them got worse. Rows that were not measured
stay.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import env_throughput
import exact
import jax
import numpy as np

import bisimulator

DOCS = Path(__file__).resolve().parents[1] / "docs"
STORED, PAGE = DOCS / "results" / "benchmarks.json", DOCS / "benchmarks.md"
WORSE = 0.7  # of the stored ratio
COMPARED = ("environment", "training")

Rate = Callable[[], float]  # does some work; how much of it per second


@dataclasses.dataclass(frozen=True)
class Row:
    """One ratio: how often our rate exceeds the peer's."""

    section: str
    name: str
    peer: str
    unit: str  # of the rates
    ours: float  # medians
    theirs: float
    ratio: float
    low: float  # of the rounds
    high: float
    rounds: int
    measured: str = ""  # when and where


def compare(
    section: str, unit: str, rounds: int, contestants: dict[str, Rate], against: dict[str, tuple[str, ...]]
) -> Iterator[Row]:
    """Rounds of all contestants, and a row for each name of `against`, compared with the fastest of its peers."""
    for run in contestants.values():
        run()  # compiles
    seen: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            seen[name].append(run())
    middle = {name: statistics.median(rates) for name, rates in seen.items()}
    for name, peers in against.items():
        peer = max(peers, key=middle.__getitem__)
        ratios = [ours / theirs for ours, theirs in zip(seen[name], seen[peer], strict=True)]
        spread = statistics.median(ratios), min(ratios), max(ratios)
        yield Row(section, name, peer, unit, middle[name], middle[peer], *spread, rounds)


def per_second(run: Callable[[], float]) -> Rate:
    """A rate from work that says how much it was."""

    def rate() -> float:
        began = time.perf_counter()
        return run() / (time.perf_counter() - began)

    return rate


def environment(quick: bool) -> Iterator[Row]:
    endless, e = {"horizon": 2**31 - 2}, env_throughput
    lives, queue = (f"{view}, rollout of 8 with new episodes" for view in ("lives of lending", "the queue"))
    contestants = {
        "NumPy": e.numpy_steps(),
        "lending, compiled rollout of 1024": e.rollout_steps("lending", 1024, **endless),
        "lending, Gymnasium vector API of 1024": e.vector_steps("bisimulator/Lending-v0", 1024, **endless),
        "NumPy, attention": e.numpy_attention_steps(),
        "attention, compiled rollout of 1024": e.rollout_steps("attention", 1024, 200, **endless),
        "NumPy, infectious": e.numpy_infectious_steps(),
        "infectious, compiled rollout of 1024": e.rollout_steps("infectious", 1024, 200, **endless),
        lives: e.view_steps("life", 8, 10_000),
        queue: e.view_steps("queue", 8, 10_000),
    }
    against = {
        name: (f"NumPy, {name.partition(',')[0]}",) if not name.startswith("lending") else ("NumPy",)
        for name in contestants
        if name.partition(",")[0] in ("lending", "attention", "infectious")
    }
    against[lives] = (queue,)
    rates = {name: per_second(run) for name, run in contestants.items()}
    yield from compare("environment", "steps/s", 3 if quick else 15, rates, against)


def training(quick: bool) -> Iterator[Row]:
    import torch
    import training as t
    from numpy_attention import NumpyAttention

    size = t.Size(rounds=2 if quick else 5, seconds=1.0 if quick else 2.0)
    goal = "min-recall=0.9"
    with_goal = dataclasses.asdict(t.make_spec("lending", "ppo", goal=goal).solver)
    without_clock = with_goal | {"critic_clock": False}
    lives, towards = "PPO on lives, as with a goal", f"PPO on lives, {goal}"
    same_on_lives, same_on_queue = "PPO on lives, without the clock", "PPO on the queue, the same options"
    threads = sorted({1, torch.get_num_threads()})
    theirs = {
        "PPO": (t.their_ppo, t.PPOConfig().batch),
        "DQN": (t.their_dqn, t.DQNConfig().batch),
        "PPO on attention": (partial(t.their_ppo, NumpyAttention), t.PPOConfig().batch),
    }
    with t.Workers() as workers:
        ours = partial(t.Ours, workers, size)
        queue = partial(ours, view="queue")
        contestants: dict[str, Any] = {
            "PPO": queue("ppo"),
            "DQN": queue("dqn"),
            "PPO on attention": ours("ppo", "attention"),
            "PPO with the reward-only Bisimulator": queue("ppo-bisimulator-reward"),
            "PPO, 100 groups": queue("ppo", settings={"groups": 100}),
            lives: ours("ppo", view="life", solver=with_goal),
            towards: ours("ppo", view="life", goal=goal, solver=with_goal),
            same_on_lives: ours("ppo", view="life", solver=without_clock),
            same_on_queue: queue("ppo", solver=without_clock),
        }
        for solver, (make, batch) in theirs.items():
            for n in threads:
                contestants[f"Stable-Baselines3 {solver}, {n} threads"] = t.Theirs(make, batch, n)
        rates = {name: _updates(contestant, size.seconds) for name, contestant in contestants.items()}
        against: dict[str, tuple[str, ...]] = {
            solver: tuple(f"Stable-Baselines3 {solver}, {n} threads" for n in threads) for solver in theirs
        }
        against |= dict.fromkeys(("PPO with the reward-only Bisimulator", "PPO, 100 groups"), ("PPO",))
        against |= {towards: (lives,), same_on_lives: (same_on_queue,)}
        yield from compare("training", "steps/s, 10 seeds", size.rounds, rates, against)


def _updates(contestant: Any, seconds: float) -> Rate:
    """As many updates per round as take about so many seconds."""
    contestant.run(1)
    began = time.perf_counter()
    contestant.run(1)
    updates = max(1, round(seconds / (time.perf_counter() - began)))
    return per_second(lambda: contestant.run(updates))


def exact_tools(quick: bool) -> Iterator[Row]:
    size = 100 if quick else 200
    chain = exact.two_group_chain(size)

    def ours() -> float:
        bisimulator.exact.bisimulation_metric(*chain[:2], exact.GAMMA, groups=chain[2], tol=1e-8)
        return 1.0

    def theirs() -> float:
        exact.howard_with_pot(*chain, tol=1e-8)
        return 1.0

    name, peer = f"cross-group metric, n = {size}", "the same iteration with POT"
    rates = {name: per_second(ours), peer: per_second(theirs)}
    yield from compare("exact", "metrics/s", 2 if quick else 5, rates, {name: (peer,)})


def goals(quick: bool) -> Iterator[Row]:
    """How often a policy within 2% of the optimum is trained per second: one training is one round."""
    import goals as g

    from bisimulator.exact.frontier import frontier

    env, steps = bisimulator.make("lending"), 100_000 if quick else 400_000
    best = float(frontier(env, levels=[0.0]).stationary_value[0])

    def until(points: list[tuple[float, float]]) -> float:
        return next((s for s, value in points if value >= (1 - g.WITHIN) * best), np.inf)

    ours = until(g.ours(env, "life", steps, 3))
    theirs = until(g.theirs(env, "life", steps, 1))
    if np.isfinite([ours, theirs]).all():
        rates = (1 / ours, 1 / theirs, theirs / ours)
        yield Row(
            "goals", "PPO on lives of lending", "Stable-Baselines3 PPO", "policies within 2%/s", *rates,
            rates[-1], rates[-1], 1,
        )  # fmt: skip


def model_audit(quick: bool) -> Iterator[Row]:
    """There is no peer; the yardstick is scikit-learn's fit of the model that is audited."""
    import model_audit as m

    people, bins = (10_000, 11) if quick else (50_000, 22)
    records = m.make_records(people)
    population = bisimulator.Population.from_frame(
        records, features=m.FEATURES, bins=bins, score_range=(300, 850)
    )
    model = m.fit(records)

    def fit() -> float:
        m.fit(records)
        return 1.0

    def audit() -> float:
        bisimulator.audit(model, population, cutoff=0.8, reward_default=-4, horizon=10_000)
        return 1.0

    name, peer = f"audit of gradient boosting, {people:,} people", "scikit-learn's fit of the model"
    rates = {name: per_second(audit), peer: per_second(fit)}
    yield from compare("model audit", "runs/s", 1 if quick else 3, rates, {name: (peer,)})


SECTIONS: dict[str, Callable[[bool], Iterator[Row]]] = {
    "environment": environment,
    "training": training,
    "exact": exact_tools,
    "goals": goals,
    "model audit": model_audit,
}


def machine() -> str:
    """The processor and the versions that matter; no names of hosts."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    versions = f"Python {platform.python_version()}, JAX {jax.__version__}"
    return f"{[*models, platform.machine()][0]}, {os.cpu_count()} cores, {versions}"


def stored() -> dict[tuple[str, str], Row]:
    rows = [Row(**row) for row in json.loads(STORED.read_text())] if STORED.exists() else []
    return {(row.section, row.name): row for row in rows}


def worse(rows: list[Row], before: dict[tuple[str, str], Row]) -> list[str]:
    """The environments and trainings whose ratio fell below the stored one by more than the factor, in words."""
    pairs = [(row, before.get((row.section, row.name))) for row in rows if row.section in COMPARED]
    return [
        f"{row.section}, {row.name}: {row.ratio:.3g} times {row.peer}, stored {old.ratio:.3g}"
        for row, old in pairs
        if old is not None and row.ratio < WORSE * old.ratio
    ]


def page(rows: list[Row]) -> str:
    """The table as Markdown."""
    lines = [
        "# Benchmarks",
        "",
        "Made by `python benchmarks/run_all.py`. Contestants take turns on one machine, and each round gives one",
        "ratio: how often our rate exceeds the peer's. Shown are the medians and, of the ratio, the range over the",
        "rounds. Ratios below 1 are what something costs. [Scaling](scaling.md) has the growth with people and groups.",
    ]
    for section in SECTIONS:
        own = [row for row in rows if row.section == section]
        if own:
            lines += ["", f"## {section.capitalize()}", ""]
            lines += ["| what | compared with | unit | here | there | ratio | range | rounds |"]
            lines += ["| --- | --- | --- | --- | --- | --- | --- | --- |"]
            lines += [
                f"| {r.name} | {r.peer} | {r.unit} | {_number(r.ours)} | {_number(r.theirs)} | {r.ratio:.3g} | "
                f"{r.low:.3g} to {r.high:.3g} | {r.rounds} |"
                for r in own
            ]
            lines += ["", *(f"Measured {when}." for when in sorted({row.measured for row in own}))]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds and smaller problems")
    parser.add_argument(
        "--check", action="store_true", help="compare with the stored ratios and write nothing"
    )
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="some of the sections"
    )
    options = parser.parse_args()
    before = stored()
    when = f"{time.strftime('%Y-%m-%d')} on {machine()}, load {os.getloadavg()[0]:.1f} at the start"
    when += ", --quick" if options.quick else ""
    measured: list[Row] = []
    for section in options.only:
        for row in SECTIONS[section](options.quick):
            measured.append(dataclasses.replace(row, measured=when))
            print(
                f"{row.section}: {row.name}: {row.ratio:.3g} times {row.peer} ({row.low:.3g} to {row.high:.3g})"
            )
            sys.stdout.flush()
    failures = worse(measured, before)
    if not options.check:
        kept = before | {(row.section, row.name): row for row in measured}
        rows = sorted(kept.values(), key=lambda row: list(SECTIONS).index(row.section))
        STORED.write_text(json.dumps([dataclasses.asdict(row) for row in rows], indent=2) + "\n")
        PAGE.write_text(page(rows))
    if failures:
        sys.exit("slower than the stored ratios:\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
