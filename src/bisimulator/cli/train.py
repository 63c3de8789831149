"""`bisimulator train`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console

from bisimulator.cli._settings import Settings, parse_settings


def make_train(method_name: str) -> Callable[..., None]:
    """`train` with the options of one method, so that --help shows them with their defaults.

    A rule has nothing to train and no solver; it is evaluated and kept like the others.
    """
    from bisimulator import registry
    from bisimulator.methods.hooks import LearnedMethod
    from bisimulator.policies import NoConfig
    from bisimulator.solvers.trainer import SOLVERS

    entry = registry.lookup("method", method_name)
    solver_type = SOLVERS[entry.solver][1] if isinstance(entry, LearnedMethod) else NoConfig

    def train(
        scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
        name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="METHOD")],
        method: Any = entry.config,
        solver: Any = solver_type(),  # noqa: B008
        seeds: int = 10,
        steps: int = 400_000,
        episodes: int = 5,
        greedy: bool = True,
        curve_every: int = 10_000,
        curve_episodes: int = 5,
        settings: Settings = (),
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
          curve_every: steps of training between two evaluations of the learning curve; 0: no curve.
          curve_episodes: episodes per seed of each of them.
          settings: parameters of the scenario, such as population=500.
          out: folder of the results; a job that is there is not run again, one that stopped is resumed.
        """
        from bisimulator.jobs.spec import make_spec
        from bisimulator.report.comparison import show_training

        if name != method_name:
            raise ValueError(
                f"got the options of {method_name!r} for {name!r}; name scenario and method first"
            )
        options = {"seeds": seeds, "steps": steps, "episodes": episodes, "greedy": greedy}
        options |= {"curve_every": curve_every, "curve_episodes": curve_episodes}
        spec = make_spec(
            scenario,
            name,
            solver=None if solver_type is NoConfig else solver,
            config=method,
            settings=parse_settings(settings),
            **options,
        )
        show_training(spec, out, Console())

    train.__annotations__ |= {"method": type(entry.config), "solver": solver_type}
    return train
