"""The search behind the configurations of `reproduce --paper`, on seeds that no table reports.

    python benchmarks/tune_papers.py elbert --scenarios infectious-harder [--seeds 2]

Every configuration that was run is a row of tuning_papers.csv beside this file and is not run again. Seeds are 100 and
up, the tables' are 0 to 4. A row passes if it is at least as good as published: reward not lower by more than 3%, bias
not higher by more than .02. docs/results/elbert.md shows the table.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bisimulator import published
from bisimulator.evaluation import mean_and_interval, metric_columns
from bisimulator.files import write_csv
from bisimulator.jobs.paper import PaperJob
from bisimulator.jobs.papers import find_paper
from bisimulator.jobs.run import use_compilation_cache
from bisimulator.jobs.spec import make_spec
from bisimulator.report.paper_points import BIAS, REWARD, PointComparison
from bisimulator.report.verdicts import MISSED
from bisimulator.solvers import trainer
from bisimulator.solvers.evaluator import evaluate_training

TABLE = Path(__file__).parent / "tuning_papers.csv"
FIRST_SEED = 100
COLUMNS = ("paper", "scenario", "method", "steps", "options", "seeds", "evaluation", REWARD, BIAS, "passes")
KEY = COLUMNS[:6]

# changes of the paper's options, by scenario; every method is tried with each
CHANGES: dict[str, list[dict[str, Any]]] = {
    "lending-delayed-impact": [{}, {"solver": {"learning_rate": 5e-5, "minibatch": 64}}],
    "infectious-harder": [{}, {"solver": {"learning_rate": 3e-4}}, {"solver": {"entropy": 0.01}}],
    "attention-harder": [{}, {"solver": {"normalize_values": False}}, {"solver": {"entropy": 0.01}}],
}


def merged(options: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options with changes; those of the solver and of the method one by one."""
    result = dict(options)
    for name, value in changes.items():
        result[name] = {**result.get(name, {}), **value} if isinstance(value, dict) else value
    return result


def try_out(job: PaperJob, options: Mapping[str, Any], seeds: int) -> dict[str, dict[str, float]]:
    """Reward and bias of one configuration, with sampled and with greedy actions."""
    numbers = tuple(range(FIRST_SEED, FIRST_SEED + seeds))
    spec = make_spec(job.scenario, job.method, **{**options, "seeds": numbers})
    env = spec.make_env()
    solver = spec.make_solver(env)
    training = trainer.train(env, solver, spec.seeds, view=spec.view)
    found = {}
    for evaluation in ("sampled", "greedy"):
        outcome = evaluate_training(
            env, solver, training, numbers, episodes=spec.episodes, greedy=evaluation == "greedy"
        )
        columns = metric_columns(env, outcome)
        found[evaluation] = {metric: mean_and_interval(columns[metric])[0] for metric in (REWARD, BIAS)}
    return found


def row_key(paper: str, job: PaperJob, options: Mapping[str, Any], seeds: int) -> dict[str, str]:
    """The columns that say what was run."""
    shown = {name: options[name] for name in ("solver", "config", "goal") if name in options}
    return {
        "paper": paper,
        "scenario": job.scenario,
        "method": job.row or job.method,
        "steps": str(options["steps"]),
        "options": json.dumps(shown),
        "seeds": str(seeds),
    }


def passes(paper: str, job: PaperJob, means: Mapping[str, float]) -> str:
    points = published.points(paper)
    if (job.scenario, job.row, REWARD) not in points:
        return ""
    found = [
        PointComparison(m, (mean, 0.0), points[job.scenario, job.row, m], rule=False, seeds=0)
        for m, mean in means.items()
    ]
    return "no" if any(c.verdict == MISSED for c in found) else "yes"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paper", choices=("elbert", "pocar"))
    parser.add_argument("--scenarios", nargs="+", default=list(CHANGES))
    parser.add_argument("--methods", nargs="+")
    parser.add_argument(
        "--changes", type=json.loads, nargs="+", help='only these, such as \'{"solver": {"gamma": 1.0}}\''
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    use_compilation_cache()
    for job in find_paper(arguments.paper).jobs():
        if "steps" not in job.options or job.scenario not in arguments.scenarios:
            continue
        if arguments.methods and job.method not in arguments.methods:
            continue
        for changes in arguments.changes or CHANGES.get(job.scenario, [{}]):
            _try_once(arguments, job, changes)


def _try_once(arguments: argparse.Namespace, job: PaperJob, changes: Mapping[str, Any]) -> None:
    options = merged(job.options, changes)
    key = row_key(arguments.paper, job, options, arguments.seeds)
    rows = list(csv.DictReader(arguments.table.open())) if arguments.table.exists() else []
    if any({name: row[name] for name in KEY} == key for row in rows):
        return
    began = time.process_time()
    for evaluation, means in try_out(job, options, arguments.seeds).items():
        numbers = {metric: f"{mean:.4f}" for metric, mean in means.items()}
        row = key | {"evaluation": evaluation, **numbers, "passes": passes(arguments.paper, job, means)}
        rows.append(row)
        print(*row.values(), f"{time.process_time() - began:.0f} s of CPU", flush=True)
    write_csv(arguments.table, COLUMNS, [[r[c] for c in COLUMNS] for r in rows])


if __name__ == "__main__":
    main()
