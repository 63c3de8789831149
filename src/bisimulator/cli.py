"""The command line: it parses, calls one function of `report` or `experiments`, and turns errors into messages.

A subcommand is a function below and a line in `COMMANDS`. What is slow to import is imported inside it.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from bisimulator import __version__
from bisimulator.errors import Interrupted, check_known


def list_names() -> None:
    """Environments, methods and metrics, one line each."""
    from bisimulator.report.listing import show_registry

    show_registry(Console())


def simulate(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")],
    seeds: int = 10,
    episodes: int = 5,
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")] = (),
    next_to: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="METHOD ...")] = None,
) -> None:
    """Fixed policies on a scenario: results of each group, next to the paper's.

    Args:
      scenario: an environment of `bisimulator list`.
      policies: one or more of accept-all, reject-all, threshold.
      seeds: independent repetitions; the intervals are over them.
      episodes: episodes of each seed.
      settings: parameters of the scenario, such as population=500.
      next_to: published methods to show; all by default.
    """
    if not policies:
        raise ValueError("got no policy; name one or more, such as accept-all threshold")
    from bisimulator.report.simulation import show_simulation

    show_simulation(
        scenario,
        policies,
        settings=parse_settings(settings),
        seeds=seeds,
        episodes=episodes,
        next_to=next_to,
        console=Console(),
    )


def make_train(method_name: str) -> Callable[..., None]:
    """`train` with the options of one method, so that --help shows them with their defaults."""
    from bisimulator import registry
    from bisimulator.learn.trainer import SOLVERS
    from bisimulator.methods.hooks import LearnedMethod

    entry = registry.lookup("method", method_name)
    if not isinstance(entry, LearnedMethod):
        raise ValueError(
            f"{method_name!r} needs no training; try: bisimulator simulate SCENARIO {method_name}"
        )
    solver_type = SOLVERS[entry.solver][1]

    def train(
        scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
        name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="METHOD")],
        method: Any = entry.config,
        solver: Any = solver_type(),  # noqa: B008
        seeds: int = 10,
        steps: int = 400_000,
        episodes: int = 5,
        greedy: bool = True,
        settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")] = (),
        out: Path = Path("runs"),
    ) -> None:
        """Train a method on a scenario with all seeds at once, then evaluate it.

        Args:
          scenario: an environment of `bisimulator list`.
          name: a method of `bisimulator list`; its options follow below.
          method: options of the method.
          solver: options of the solver under it.
          seeds: independent repetitions, trained together.
          steps: environment steps of training per seed.
          episodes: evaluation episodes per seed.
          greedy: evaluate the most probable action; otherwise sampled, as in training.
          settings: parameters of the scenario, such as population=500.
          out: folder of the results; a job that is there is not run again, one that stopped is resumed.
        """
        from bisimulator.experiments.spec import make_spec
        from bisimulator.report.comparison import show_training

        if name != method_name:
            raise ValueError(
                f"got the options of {method_name!r} for {name!r}; name scenario and method first"
            )
        options = {"seeds": seeds, "steps": steps, "episodes": episodes, "greedy": greedy}
        spec = make_spec(
            scenario, name, solver=solver, config=method, settings=parse_settings(settings), **options
        )
        show_training(spec, out, Console())

    train.__annotations__ |= {"method": type(entry.config), "solver": solver_type}
    return train


def compare(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    methods: Annotated[str | None, tyro.conf.arg(metavar="A,B,C")] = None,
    seeds: int = 10,
    steps: int = 400_000,
    episodes: int = 5,
    greedy: bool = True,
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")] = (),
    out: Path = Path("runs"),
) -> None:
    """Several methods on a scenario: the paper's table next to the published numbers.

    Args:
      scenario: an environment of `bisimulator list`.
      methods: comma-separated methods; all by default.
      seeds: independent repetitions, trained together.
      steps: environment steps of training per seed.
      episodes: evaluation episodes per seed.
      greedy: evaluate the most probable action; otherwise sampled, as in training.
      settings: parameters of the scenario, such as population=500.
      out: folder of the results; a job that is there is not run again, one that stopped is resumed.
    """
    from bisimulator import registry
    from bisimulator.report.comparison import show_comparison

    names = list(registry.METHODS) if methods is None else [m.strip() for m in methods.split(",")]
    options = {"seeds": seeds, "steps": steps, "episodes": episodes, "greedy": greedy}
    show_comparison(scenario, names, out, Console(), settings=parse_settings(settings), **options)


def certify(
    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")],
    seed: int | None = None,
    gamma: float = 0.99,
) -> None:
    """How fair a trained policy is: with proof where the world is finite, otherwise as an estimate.

    Args:
      run: the folder of a finished training, as `bisimulator train` names it.
      seed: whose policy; the first one by default.
      gamma: discount from one visit of a person to the next.
    """
    from bisimulator.report.truth import show_run_certificate

    show_run_certificate(run, seed=seed, gamma=gamma, console=Console())


def frontier(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    criterion: Literal["min-recall", "recall-gap", "credit-gap"] = "min-recall",
    levels: tuple[float, ...] | None = None,
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")] = (),
    runs: Path | None = None,
    figure: Path | None = None,
) -> None:
    """The best return that any policy can have at each level of fairness, and how far each method is from it.

    Args:
      scenario: a lending environment of `bisimulator list`.
      criterion: what is asked of the policy.
      levels: where; evenly spaced by default.
      settings: parameters of the scenario, such as population=500.
      runs: a folder of finished jobs to put beside the published points.
      figure: file of a plot, such as frontier.png.
    """
    from bisimulator.experiments.run import find_runs
    from bisimulator.report.truth import MethodPoint, show_frontier

    found = [] if runs is None else [r for r in find_runs(runs) if r.spec.scenario == scenario]
    show_frontier(
        scenario,
        criterion=criterion,
        levels=levels,
        settings=parse_settings(settings),
        results=[MethodPoint.from_summary(r.spec.method, r.summary) for r in found],
        figure=figure,
        console=Console(),
    )


COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_names,
    "simulate": simulate,
    "compare": compare,
    "certify": certify,
    "frontier": frontier,
}
_SHOWN_METHOD = "ppo-bisimulator"  # whose options `train --help` shows where no method is named


def commands_for(arguments: Sequence[str]) -> dict[str, Callable[..., None]]:
    """All commands; `train` with the options of the method that is named. It is slow to make, so only when needed."""
    if not arguments or arguments[0].startswith("-"):
        return {**COMMANDS, "train": make_train(_SHOWN_METHOD)}
    if arguments[0] != "train":
        return COMMANDS
    from bisimulator import registry

    named = [a for a in arguments[1:] if a in registry.METHODS]
    words = [a for a in arguments[1:3] if not a.startswith("-")]  # an unknown name gets its "did you mean"
    return {**COMMANDS, "train": make_train([*named, *words[1:], _SHOWN_METHOD][0])}


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`population=500` as {"population": 500}; values are Python literals: numbers, lists, None."""
    parsed = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"settings look like name=value, got {setting!r}; try population=500")
        try:
            parsed[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(
                f"{name} must be a number or a list of numbers, got {text!r}; try {name}=0.5 or '{name}=[0.5, 0.5]'"
            ) from None
    return parsed


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 130: stopped by Ctrl-C, 2: the user's input was wrong.

    Errors are messages without a traceback unless BISIMULATOR_TRACEBACK is set.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"bisimulator {__version__}")
        return 0
    try:
        commands = commands_for(arguments)
        if arguments and not arguments[0].startswith("-"):
            check_known("command", arguments[0], [*commands, "train"])
        tyro.extras.subcommand_cli_from_dict(
            commands, prog="bisimulator", description="Long-term group fairness.", args=arguments
        )
    except KeyboardInterrupt:
        print("bisimulator: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, TypeError, FloatingPointError, Interrupted) as error:
        if os.environ.get("BISIMULATOR_TRACEBACK"):
            raise
        print(f"bisimulator: {error}", file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
