"""Learning curves: evaluations during a training, and the solver's diagnostics."""

from __future__ import annotations

import bisect
import dataclasses

import numpy as np

from bisimulator._html import code_html
from bisimulator.core import Env, Outcome
from bisimulator.evaluation import metric_columns, seed_means
from bisimulator.jobs.spec import Spec
from bisimulator.solvers._shards import Shards
from bisimulator.solvers.evaluator import Evaluator
from bisimulator.solvers.solver import Solver
from bisimulator.solvers.trainer import Diagnostics

DIAGNOSTIC = "solver/"  # how the names of the solver's own diagnostics begin, among a curve's values


@dataclasses.dataclass(frozen=True, repr=False)
class Curves:
    """One point per evaluation; the last one is at the end of the training."""

    steps: np.ndarray  # (P,) environment steps of each seed so far
    values: dict[str, np.ndarray]  # metric -> (P, S), the mean over a seed's evaluation episodes

    def arrays(self) -> dict[str, np.ndarray]:
        return {"steps": self.steps, **self.values}

    def __repr__(self) -> str:
        last = f" up to step {self.steps[-1]:,}" if len(self.steps) else ""
        return f"Curves({len(self.steps)} points{last}, {len(self.values)} columns in .values)"

    def _repr_html_(self) -> str:
        return code_html(repr(self))


def curves_from_arrays(arrays: dict[str, np.ndarray]) -> Curves:
    return Curves(arrays["steps"], {name: values for name, values in arrays.items() if name != "steps"})


def evaluation_points(updates: int, batch: int, every: int) -> tuple[int, ...]:
    """The updates after which to evaluate: the first ones at or past each multiple of `every` steps, and the last."""
    if not every:
        return ()
    points = {-(-steps // batch) for steps in range(every, updates * batch, every)}
    return tuple(sorted({*points, updates}))


class Recorder:
    """Evaluates a training at its points; `rows` is what it has so far and can be stored with a checkpoint."""

    def __init__(self, spec: Spec, env: Env, solver: Solver, rows: dict[str, np.ndarray] | None = None):
        self.points = evaluation_points(solver.updates, solver.config.batch, spec.curve_every)
        self._spec, self._env, self._solver = spec, env, solver
        self._rows = {name: list(values) for name, values in (rows or {}).items()}
        self._evaluators: dict[int, Evaluator] = {}

    def __call__(self, training: Shards, diagnostics: Diagnostics) -> None:
        columns = metric_columns(self._env, self.evaluate(training, self._spec.curve_episodes))
        row = {name: seed_means(values) for name, values in columns.items()}
        for name, values in {**row, **{DIAGNOSTIC + name: x for name, x in diagnostics.items()}}.items():
            self._rows.setdefault(name, []).append(values)

    def evaluate(self, training: Shards, episodes: int) -> Outcome:
        if episodes not in self._evaluators:
            self._evaluators[episodes] = Evaluator(
                self._env, self._solver, self._spec.seeds, episodes=episodes, greedy=self._spec.greedy
            )
        return self._evaluators[episodes](training)

    @property
    def rows(self) -> dict[str, np.ndarray]:
        return {name: np.stack(values) for name, values in self._rows.items()}

    def check(self, update: int) -> None:
        """Stored rows must be those of the points up to `update`."""
        wanted = bisect.bisect_right(self.points, update)
        for name, values in self._rows.items():
            if len(values) != wanted:
                raise ValueError(f"holds {len(values)} points of {name} where {wanted} are expected")
        if wanted and not self._rows:
            raise ValueError(f"holds no learning curve where {wanted} points are expected")

    def curves(self) -> Curves | None:
        if not self.points:
            return None
        return Curves(np.asarray(self.points) * self._solver.config.batch, self.rows)
