"""`bisimulator train`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._job_options import JobOptions
from bisimulator.cli._settings import Settings, parse_settings

if TYPE_CHECKING:
    from rich.console import Console


def make_train(method_name: str, typed: Sequence[str] = ()) -> Callable[..., None]:
    """`train` with the options of one method, so that --help shows them with their defaults.

    A rule has nothing to train and no solver; it is evaluated and stored like the others. `typed`: the arguments.
    Options that are not among them have other defaults with a goal or a view (`jobs.spec`).
    """
    from bisimulator import registry
    from bisimulator.goals import GoalConfig
    from bisimulator.jobs.spec import default_config
    from bisimulator.methods.hooks import LearnedMethod
    from bisimulator.policies import NoConfig
    from bisimulator.solvers.trainer import SOLVERS

    entry = registry.lookup("method", method_name)
    place = next((a for a in typed if a in registry.names("environment")), "")
    config = default_config(place, method_name)
    solver_type = SOLVERS[entry.solver][1] if isinstance(entry, LearnedMethod) else NoConfig

    def train(
        scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
        name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="METHOD")],
        method: Any = config,
        solver: Any = solver_type(),  # noqa: B008
        settings: Settings = (),
        sweep_goal: str | None = None,
        control: Any = GoalConfig(),  # noqa: B008
        jobs: Annotated[JobOptions, tyro.conf.OmitArgPrefixes] = JobOptions(),  # noqa: B008
    ) -> None:
        """Train a method on a scenario with all seeds at once, then evaluate it (PPO: about 30 s on 2 cores).

        Args:
          scenario: an environment of `bisimulator list`.
          name: a method of `bisimulator list`; its options follow below.
          method: options of the method.
          solver: options of its solver.
          settings: parameters of the scenario, such as population=500.
          sweep_goal: train with several levels of a goal, such as min-recall=0.7:1:0.05, and plot the results next to
            the provable optimum.
          control: options of the controller that sets the multipliers of a goal.
          jobs: how the job runs and where it is stored.
        """
        from bisimulator.api import TrainingResult
        from bisimulator.jobs.spec import make_spec
        from bisimulator.report.comparison import paper_table, print_notes

        if name != method_name:
            raise ValueError(
                f"got the options of {method_name!r} for {name!r}; write scenario and method first"
            )
        console = make_console()
        fields = {
            "solver": None if solver_type is NoConfig else typed_options("solver", solver, typed),
            "config": typed_options("method", method, typed),
            "settings": parse_settings(settings),
            "control": typed_options("control", control, typed) or None,
            **jobs.spec_fields,
        }
        if sweep_goal is not None:
            _sweep_goal(scenario, name, sweep_goal, fields, jobs, console)
            return
        spec = make_spec(scenario, name, **fields)
        finished = jobs.run([spec], console)
        finished.raise_failures()
        if not jobs.json:
            console.print(paper_table(finished.results), "")
            print_notes(finished.results, console)
            if spec.goal:
                for outcome in TrainingResult.of(finished.results[0]).goal_outcomes:
                    console.print(str(outcome), soft_wrap=True, markup=False)
            console.print(f"Stored in {jobs.out / spec.name}", soft_wrap=True, markup=False)

    train.__annotations__ |= {"method": type(config), "solver": solver_type, "control": GoalConfig}
    return train


def _sweep_goal(
    scenario: str, name: str, levels: str, fields: dict[str, Any], jobs: JobOptions, console: Console
) -> None:
    """Jobs at several levels of a goal, their table and their picture."""
    from bisimulator import files
    from bisimulator.api import LearnedFrontier, TrainingResult
    from bisimulator.api.sweeping import goal_specs
    from bisimulator.report.figures._canvas import encode

    if fields.pop("goal", None) is not None:
        raise ValueError("--goal and --sweep-goal exclude each other; leave one of them out")
    specs = goal_specs(scenario, name, levels, **fields)
    finished = jobs.run(specs, console)
    if finished.results:
        learned = LearnedFrontier.of([TrainingResult.of(result) for result in finished.results])
        figure, blind = learned.plot(), "-group-blind" if jobs.group_blind else ""
        written = [jobs.out / f"{scenario}-{name}-{learned.goal}{blind}.{kind}" for kind in ("svg", "png")]
        for path in written:
            files.write_bytes(path, encode(figure, path.suffix[1:]))
        if not jobs.json:
            console.print(str(learned), soft_wrap=True, markup=False)
            console.print(f"Wrote {' and '.join(map(str, written))}", soft_wrap=True, markup=False)
    finished.raise_failures()


def typed_options(group: str, config: Any, arguments: Sequence[str]) -> dict[str, object]:
    """The options of a solver or method that stand on the command line, with the values that were parsed."""
    prefix = f"--{group}."
    names = [a.removeprefix(prefix).partition("=")[0] for a in arguments if a.startswith(prefix)]
    typed = {name.removeprefix("no-").replace("-", "_") for name in names}
    return {f.name: getattr(config, f.name) for f in dataclasses.fields(config) if f.name in typed}
