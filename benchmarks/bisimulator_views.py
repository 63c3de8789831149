"""Trains the Bisimulator on lives and on the queue, with every gauge, and writes the tables of its page.

    python benchmarks/bisimulator_views.py [--out runs/views] [--page docs/methods/bisimulator.md]

Seeds are 100 to 119, which no other table reports. Jobs that are finished are not repeated. Values are exact where they
exist, otherwise simulated.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bisimulator import files, published, registry
from bisimulator.jobs.expectations import exact_expectations
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.report._table_columns import group_recalls
from bisimulator.report.tables import Grid, markdown

SEEDS = tuple(range(100, 120))
EPISODES = 5  # per seed, where there are no exact values
ENOUGH = 0.99  # the published recalls are 1.00, or 0.99 with DQN
SCENARIOS = ("lending", "lending-conscientiousness", "lending-10-groups", "college")
METHODS = ("ppo-bisimulator-reward", "ppo-bisimulator", "dqn-bisimulator-reward", "dqn-bisimulator")
# in words -> options of `make_spec`
VARIANTS: dict[str, dict[str, Any]] = {
    "lives, raising (default)": {},
    "lives, raising, no penalty": {"config": {"penalty": 0.0}},
    "lives, centred": {"config": {"gauge": "centred"}},
    "lives, free, no penalty": {"config": {"gauge": "free", "penalty": 0.0}},
    "queue, raising": {"view": "queue"},
    "queue, centred": {"view": "queue", "config": {"gauge": "centred"}},
    "queue, one-sided with a floor, no penalty (default of 0.1)": {
        "view": "queue",
        "config": {"gauge": "one-sided", "penalty": 0.0},
    },
    "queue, one-sided without a floor, no penalty": {
        "view": "queue",
        "config": {"gauge": "one-sided", "floor": 0.0, "penalty": 0.0},
    },
    "queue, free, no penalty, all actions together (the paper)": {
        "view": "queue",
        "config": {"gauge": "free", "penalty": 0.0, "same_action": False},
    },
}


def defaults(out: Path) -> Grid:
    """The methods that the paper has in each of its scenarios, with all options at their defaults."""
    head = ["environment", "method", "view", *_COLUMNS]
    rows = []
    for scenario in SCENARIOS:
        in_paper = published.methods(scenario)
        for method in (m for m in METHODS if registry.lookup("method", m).published in in_paper):
            spec = make_spec(scenario, method, **_JOB)
            rows.append([scenario, method, spec.view, *measure(spec, out)])
            print(" | ".join(rows[-1]), flush=True)
    return Grid(head, rows)


def variants(out: Path) -> Grid:
    """PPO with the reward correction on lending: what the view and the gauge do."""
    rows = []
    for words, options in VARIANTS.items():
        rows.append([words, *measure(make_spec("lending", METHODS[0], **options, **_JOB), out)])
        print(" | ".join(rows[-1]), flush=True)
    return Grid(["view and gauge", *_COLUMNS], rows)


_JOB: dict[str, Any] = {"seeds": SEEDS, "episodes": EPISODES, "curve_every": 0}
_COLUMNS = ("return", "credit gap", "lowest recall", "worst seed", f"seeds below {ENOUGH:g}")


def measure(spec: Spec, out: Path) -> list[str]:
    """Mean return and credit gap, the lowest recall of a group in the mean and in the worst seed, and bad seeds."""
    values = by_seed(spec, out)
    lowest = values["recall"].min(0)
    gap = f"{values['credit_gap'].mean():.2f}" if "credit_gap" in values else "-"
    return [
        f"{values['return'].mean():.1f}",
        gap,
        f"{lowest.mean():.3f}",
        f"{lowest.min():.3f}",
        f"{(lowest < ENOUGH).sum()} of {len(spec.seeds)}",
    ]


def by_seed(spec: Spec, out: Path) -> Mapping[str, np.ndarray]:
    """Return, credit gap where there is one, and the recalls of groups (G, S); exact if that is possible."""
    result = run(spec, out)
    exact = exact_expectations(result)
    if exact is not None:
        return {
            "return": np.array([e.average_return for e in exact]),
            "credit_gap": np.array([e.credit_gap for e in exact]),
            "recall": np.array([e.recall for e in exact]).T,
        }
    columns = {name: values.mean(1) for name, values in result.columns.items()}
    found = {
        "return": columns["average_return"],
        "recall": np.array([columns[n] for n in group_recalls(columns)]),
    }
    return found | ({"credit_gap": columns["credit_gap"]} if "credit_gap" in columns else {})


def filled(text: str, name: str, table: str) -> str:
    """The page with the table between `<!-- NAME:begin -->` and `<!-- NAME:end -->`."""
    block = re.compile(rf"(<!-- {name}:begin -->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"the page has no block {name!r}; add <!-- {name}:begin --> and <!-- {name}:end -->")
    return block.sub(lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/views"))
    parser.add_argument("--page", type=Path, default=None, help="the Markdown page whose tables are written")
    options = parser.parse_args()
    tables = {
        "variants": markdown(variants(options.out)),
        "views": markdown(defaults(options.out), numbers_from=3),
    }
    if options.page:
        text = options.page.read_text(encoding="utf-8")
        for name, table in tables.items():
            text = filled(text, name, table)
        files.write_bytes(options.page, text.encode())


if __name__ == "__main__":
    main()
