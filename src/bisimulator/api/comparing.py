"""`bisimulator.compare`, and what it returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bisimulator import registry
from bisimulator._html import html_table
from bisimulator._lazy import import_pandas
from bisimulator._text import aligned
from bisimulator.api._running import scenario_of
from bisimulator.api.training import TrainingResult, train_all
from bisimulator.core import Env
from bisimulator.errors import check_keywords, check_path, shown
from bisimulator.goals import Goal
from bisimulator.jobs.labels import labels
from bisimulator.jobs.references import Reference, references
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.jobs.store import Result
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Rule
from bisimulator.policies.rules import methods_for
from bisimulator.report._table_columns import short_title, table_columns
from bisimulator.report.text import number
from bisimulator.report.write import write_report
from bisimulator.solvers.trainer import SOLVERS

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

Options = Mapping[str, Sequence[object]]  # option -> the values to try


def compare(
    env: Env | str,
    methods: Sequence[str] | None = None,
    *,
    sweep: Options | None = None,
    solver_sweep: Options | None = None,
    goals: str | Sequence[str | Goal] = (),
    seeds: int | Sequence[int] = 10,
    steps: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    **options: Any,
) -> Comparison:
    """Train and evaluate several methods, or variants of a method, on one environment.

    Args:
        env: an environment from `bisimulator.make`, or its name.
        methods: methods of `bisimulator list`; all of them by default.
        sweep: options of the methods with the values to try, such as `{"kappa": [0, 0.05, 0.1]}`.
        solver_sweep: the same for options of the solvers, such as `{"learning_rate": [5e-5, 3e-4]}`.
        goals: goals to try, each with every variant: levels of one goal, `NAME=FROM:TO:STEP`, or a list of goals.
        seeds: how many seeds, or which ones.
        steps: environment steps of training per seed; 400,000 by default, 100,000 with `fast`.
        out: folder in which the jobs are stored; without it nothing is written.
        progress: show progress in a terminal or a notebook.
        **options: further options of `bisimulator.train`: goal, control, view, fast, episodes, greedy, curve_every,
            curve_episodes. Rules are not trained, so they are evaluated without a goal.

    Returns:
        The result of every job by its label. A job that failed is in `failed`, with a warning; the others are there.

    Example:
        >>> comparison = bisimulator.compare("lending", ["ppo", "ppo-bisimulator"], seeds=3, out="runs")
        >>> comparison["ppo"].summary["recall_gap"]
        >>> comparison.plot()
    """
    scenario, settings = scenario_of(env)
    if isinstance(methods, str) or not isinstance(methods, Iterable | None):
        raise TypeError(f"methods must be a list of names, got {shown(methods)}; pass ['ppo', 'accept-all']")
    names = methods_for(registry.lookup("environment", scenario)) if methods is None else list(methods)
    specs = make_variants(
        scenario,
        names,
        _checked("sweep", sweep),
        _checked("solver_sweep", solver_sweep),
        goals,
        settings=settings,
        seeds=seeds,
        steps=steps,
        **options,
    )
    results, failures = train_all(specs, out, progress)
    written = labels([result.spec for result in results])
    return Comparison(scenario, dict(zip(written, results, strict=True)), failures)


def _checked(name: str, sweep: Options | None) -> Options:
    """The values to try of each option; none at all is fine."""
    if sweep is None:
        return {}
    values = sweep.values() if isinstance(sweep, Mapping) else [None]
    if any(isinstance(each, str) or not isinstance(each, Iterable) for each in values):
        raise TypeError(
            f"{name} must map options to lists of values, got {shown(sweep)}; pass {{'alpha': [1, 2]}}"
        )
    return sweep


def make_variants(
    scenario: str,
    methods: Sequence[str],
    sweep: Options,
    solver_sweep: Options,
    goals: str | Sequence[str | Goal] = (),
    **fields: Any,
) -> list[Spec]:
    """One spec per method and combination of the values to try; a method without an option is not varied in it."""
    if goals and fields.get("goal") is not None:
        raise ValueError("a goal and a sweep over goals exclude each other; leave one of them out")
    entries: dict[str, LearnedMethod | Rule] = {name: registry.lookup("method", name) for name in methods}
    method_options = {name: _option_names(entry.config) for name, entry in entries.items()}
    solver_options = {
        name: _option_names(SOLVERS[entry.solver][1]()) if isinstance(entry, LearnedMethod) else []
        for name, entry in entries.items()
    }
    known = [option for names in method_options.values() for option in names]
    check_keywords(f"the methods {', '.join(methods)}", sweep, known)
    check_keywords("their solvers", solver_sweep, [o for names in solver_options.values() for o in names])
    learned = {"goal", "control", "view", "fast"}  # rules are not trained, so these say nothing about them
    of_rules = {name: value for name, value in fields.items() if name not in learned}
    asked = Goal.sweep(goals)
    to_reach = [{**fields, "goal": goal} for goal in asked] or [fields]
    return [
        make_spec(scenario, method, config=config or None, solver=solver or None, **other)
        for method in methods
        for other in (to_reach if isinstance(entries[method], LearnedMethod) else [of_rules])
        for config in _combinations({o: v for o, v in sweep.items() if o in method_options[method]})
        for solver in _combinations({o: v for o, v in solver_sweep.items() if o in solver_options[method]})
    ]


def _option_names(config: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(config)]


def _combinations(options: Options) -> list[dict[str, object]]:
    return [dict(zip(options, values, strict=True)) for values in product(*options.values())]


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison(Mapping[str, TrainingResult]):
    """The results of several jobs on one environment, by label."""

    scenario: str
    results: Mapping[str, TrainingResult]
    failed: Mapping[str, str]  # title of a job -> why it failed

    def __getitem__(self, label: str) -> TrainingResult:
        return self.results[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def summary(self) -> dict[str, dict[str, tuple[float, float]]]:
        """label -> metric -> (mean, half width of the 95% confidence interval)."""
        return {label: result.summary for label, result in self.results.items()}

    def to_frame(self) -> pandas.DataFrame:
        """One row per job, one column per metric: the means over seeds."""
        pandas = import_pandas()
        means = {
            label: {metric: mean for metric, (mean, _) in summary.items()}
            for label, summary in self.summary.items()
        }
        return pandas.DataFrame.from_dict(means, orient="index")

    def plot(self) -> Figure:
        """Return against fairness: where each job stands, with its 95% intervals, accept-all and the frontier."""
        from bisimulator.report.figures import tradeoff

        return next(iter(tradeoff.draw(self._jobs, self._references).values()))

    def report(self, out: str | Path) -> list[Path]:
        """Write tables, figures and the page to a folder; returns the files written."""
        return write_report(self._jobs, check_path("out", out), references=self._references)

    @property
    def _jobs(self) -> list[Result]:
        return [result.result for result in self.results.values()]

    @cached_property
    def _references(self) -> dict[str, Reference]:
        """Accept-all and the frontier, computed once."""
        return references(self._jobs)

    @property
    def _grid(self) -> tuple[list[str], list[list[str]]]:
        first = next(iter(self.results.values()), None)
        metrics = [] if first is None else table_columns(self.scenario, list(first.summary))
        rows = [[label, *(number(*s[m]) for m in metrics)] for label, s in self.summary.items()]
        return ["method", *map(short_title, metrics)], rows

    def __repr__(self) -> str:
        head, rows = self._grid
        return "\n".join([f"Comparison on {self.scenario}", *aligned([head, *rows])])

    def _repr_html_(self) -> str:
        return html_table(f"Comparison on {self.scenario}", *self._grid)
