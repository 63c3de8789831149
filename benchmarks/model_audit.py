"""An audit of a gradient boosting model of several columns on 50,000 people: how long it takes, part by part.

Run `python benchmarks/model_audit.py`. It makes the people, fits the model on half of them, and audits it on all. Times
are those of this machine; CPU seconds are the ones to compare on a busy one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

import bisimulator

FEATURES = ("income", "age", "debt", "years_employed")
T = TypeVar("T")


def make_records(people: int, seed: int = 100) -> dict[str, NDArray[Any]]:
    """People of four groups, whose scores and further columns are correlated with repayment."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c", "d"], people, p=[0.5, 0.2, 0.2, 0.1])
    shift = np.array([0, -25, -40, -70])[np.searchsorted(["a", "b", "c", "d"], group)]
    score = np.clip(rng.normal(640 + shift, 80), 300, 850).round()
    income = rng.lognormal(3.5 + (score - 600) / 600, 0.5).round(1)
    debt = (income * rng.gamma(2, 0.2, people)).round(1)
    repaid = rng.random(people) < 1 / (1 + np.exp((540 - score) / 70 + 0.4 * (debt / income - 0.4)))
    return {
        "group": group,
        "score": score,
        "income": income,
        "age": rng.integers(18, 80, people).astype(float),
        "debt": debt,
        "years_employed": rng.gamma(2, 4, people).round(1),
        "repaid": repaid.astype(int),
    }


def fit(records: dict[str, NDArray[Any]], iterations: int = 100) -> HistGradientBoostingClassifier:
    half = len(records["score"]) // 2
    table = np.column_stack([records[name] for name in ("score", *FEATURES)])[:half]
    return HistGradientBoostingClassifier(max_iter=iterations, random_state=100).fit(
        table, records["repaid"][:half]
    )


def timed(what: str, run: Callable[[], T]) -> T:
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    print(f"{what:32} {time.perf_counter() - wall:7.1f} s, {time.process_time() - cpu:7.1f} s of CPU")
    return result


def main(people: int, bins: int) -> None:
    records = timed(f"making {people:,} people", lambda: make_records(people))
    model = timed("fitting the model", lambda: fit(records))
    population = timed(
        "reading them",
        lambda: bisimulator.Population.from_frame(
            records, features=FEATURES, bins=bins, score_range=(300, 850)
        ),
    )
    found = timed(
        "audit", lambda: bisimulator.audit(model, population, cutoff=0.8, reward_default=-4, horizon=10_000)
    )
    with tempfile.TemporaryDirectory() as folder:
        timed("page and tables", lambda: found.save(folder))
    kinds = found.result.audited.kinds
    print(f"kinds of people: {0 if kinds is None else len(kinds.group):,}")
    print(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50_000)
    parser.add_argument("--bins", type=int, default=22)
    arguments = parser.parse_args()
    main(arguments.people, arguments.bins)
