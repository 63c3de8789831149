"""The grid search behind the baselines' hyperparameters: what was tried, on seeds that no table reports.

    python benchmarks/tune.py elbert --scenarios lending college

Every configuration that was run is a row of tuning.csv beside this file and is not run again. The seeds are 100 to
103, the tables' are 0 to 9. Policies are evaluated greedily, unless "evaluation" says "sampled". A row passes where its
return is not below the lower end of the published interval and its recall gap not above the upper one. The authors'
values are kept where they pass.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import time
from functools import cache
from pathlib import Path
from typing import TypeAlias

from bisimulator import published, registry
from bisimulator.core import Env, View
from bisimulator.evaluation import mean_and_interval, metric_columns
from bisimulator.files import write_csv
from bisimulator.jobs.run import use_compilation_cache
from bisimulator.jobs.spec import make_spec
from bisimulator.solvers import trainer
from bisimulator.solvers._shards import Shards
from bisimulator.solvers.evaluator import evaluate_training
from bisimulator.solvers.solver import Solver

TABLE = Path(__file__).parent / "tuning.csv"
SEEDS = (100, 101, 102, 103)
METRICS = (
    "average_return",
    "recall_gap",
    "recall_g1",
    "recall_g2",
    "recall_mean",
    "credit_gap",
    "social_burden_g2",
)
COLUMNS = ("method", "scenario", "settings", *METRICS, "passes")

Grid: TypeAlias = dict[str, tuple[float | str, ...]]

# of Lag-PPO: the constraint as the paper defines it, and how policies are evaluated
GREEDY_REWARD: Grid = {"constrain": ("reward",), "evaluation": ("greedy",)}
SAMPLED_REWARD: Grid = {"constrain": ("reward",), "evaluation": ("sampled",)}
# a list of grids: every combination within one is tried
GRIDS: dict[str, list[Grid]] = {
    "elbert": [{"a": (2e4, 2e5, 2e6), "memory": (0.0, 0.9)}],
    "a-ppo": [{"beta_vt": (0.25,), "beta_div": (0.25, 0.5, 1.0)}],
    "lag-ppo": [
        {**GREEDY_REWARD, "epsilon": (0.05,), "eta": (0.001, 0.01), "max_lambda": (1.0, 2.0, 100.0)},
        {**GREEDY_REWARD, "epsilon": (0.05,), "eta": (0.02, 0.03, 0.05, 0.1), "max_lambda": (100.0,)},
        {**GREEDY_REWARD, "epsilon": (0.05,), "eta": (0.1,), "max_lambda": (1.2, 2.0)},
        {**GREEDY_REWARD, "epsilon": (0.2, 0.35), "eta": (0.03,), "max_lambda": (100.0,)},
        {**GREEDY_REWARD, "penalty": ("reward",)},
        SAMPLED_REWARD,
        {**SAMPLED_REWARD, "penalty": ("reward",)},
        {**SAMPLED_REWARD, "combine": ("ratio",), "max_lambda": (100.0,)},
        {**SAMPLED_REWARD, "ascent": ("episode",), "eta": (0.1,)},
        {**SAMPLED_REWARD, "view": ("life",)},
        {"constrain": ("approvals",), "evaluation": ("sampled",)},
        {"constrain": ("approvals",), "evaluation": ("sampled",), "view": ("life",)},
    ],
    "r-ppo": [{"zeta": (0.5, 2.0, 8.0)}],
    "max-min-ppo": [{"eta": (1.0, 10.0, 100.0), "evaluation": ("sampled",)}],
    "ggf-ppo": [{"ratio": (2.0, 10.0), "evaluation": ("sampled",)}],
    "foc-ppo": [
        {"constrain": ("approvals",), "view": ("life",), "max_nu": (2.0, 0.5), "evaluation": ("sampled",)}
    ],
    "f-ppo-l": [{"beta_wider": (1.12,), "beta_closer": (0.0, 1.0), "evaluation": ("sampled",)}],
}


def candidates(method: str, scenario: str) -> list[dict[str, float | str]]:
    lives = registry.lookup("environment", scenario).life is not None
    return [
        dict(zip(grid, values, strict=True))
        for grid in GRIDS[method]
        if lives or "view" not in grid
        for values in itertools.product(*grid.values())
    ]


@cache  # the policies of a configuration are evaluated greedily and sampled
def trained(method: str, scenario: str, view: View, options: str) -> tuple[Env, Solver, Shards]:
    spec = make_spec(scenario, method, config=json.loads(options), view=view, seeds=SEEDS)
    env = spec.make_env()
    solver = spec.make_solver(env)
    return env, solver, trainer.train(env, solver, SEEDS, view=view)


def try_out(method: str, scenario: str, settings: dict[str, float | str]) -> dict[str, str]:
    """Settings are options of the method, "view" (by default queue) and "evaluation" (by default greedy)."""
    options = {name: value for name, value in settings.items() if name not in ("view", "evaluation")}
    view: View = "life" if settings.get("view") == "life" else "queue"
    env, solver, training = trained(method, scenario, view, json.dumps(options))
    greedy = settings.get("evaluation") != "sampled"
    outcome = evaluate_training(env, solver, training, SEEDS, greedy=greedy)
    columns = metric_columns(env, outcome)
    means = {name: mean_and_interval(columns[name])[0] for name in METRICS if name in columns}
    row = {name: f"{means[name]:.4f}" if name in means else "" for name in METRICS}
    return {
        "method": method,
        "scenario": scenario,
        "settings": json.dumps(settings),
        **row,
        "passes": passes(method, scenario, means),
    }


def passes(method: str, scenario: str, means: dict[str, float]) -> str:
    """As the paper prints them, to two decimals."""
    paper = published.row(scenario, registry.lookup("method", method).published)
    if not paper:
        return ""
    worst_return = paper["average_return"].mean - paper["average_return"].ci95
    worst_gap = paper["recall_gap"].mean + paper["recall_gap"].ci95
    good = means["average_return"] >= worst_return and round(means["recall_gap"], 2) <= round(worst_gap, 2)
    return "yes" if good else "no"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", choices=GRIDS)
    parser.add_argument("--scenarios", nargs="+", default=["lending", "lending-conscientiousness", "college"])
    parser.add_argument("--table", type=Path, default=TABLE)
    arguments = parser.parse_args()
    use_compilation_cache()
    for scenario in arguments.scenarios:
        for settings in candidates(arguments.method, scenario):
            rows = list(csv.DictReader(arguments.table.open())) if arguments.table.exists() else []
            same = (arguments.method, scenario, json.dumps(settings))
            if any((row["method"], row["scenario"], row["settings"]) == same for row in rows):
                continue
            began = time.monotonic()
            row = try_out(arguments.method, scenario, settings)
            write_csv(arguments.table, COLUMNS, [[r[c] for c in COLUMNS] for r in [*rows, row]])
            print(*row.values(), f"{time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
