"""`bisimulator reproduce`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

_Names = Annotated[str | None, tyro.conf.arg(metavar="A,B,C")]


def reproduce(
    scenario: _Names = None,
    methods: _Names = None,
    seeds: int | None = None,
    steps: int | None = None,
    episodes: int = 5,
    curve_every: int = 10_000,
    curve_episodes: int = 5,
    quick: bool = False,
    out: Path = Path("runs"),
    executor: Literal["local", "ray"] = "local",
    ray_address: str | None = None,
    json: bool = False,
    track: Literal["tensorboard"] | None = None,
) -> None:
    """Run every method of every table of the paper, then write all tables and figures and a page.

    It can be stopped at any time; the same command goes on where it was.

    Args:
      scenario: comma-separated environments; those of the paper by default.
      methods: comma-separated methods; by default those that the paper has in the scenario's table.
      seeds: independent repetitions, trained together; 10 by default, 2 if quick.
      steps: environment steps of training per seed; 400,000 by default, a tenth of it if quick.
      episodes: evaluation episodes per seed.
      curve_every: steps of training between two evaluations of the learning curves; 0: no curves.
      curve_episodes: episodes per seed of each of them.
      quick: for looking around: 2 seeds and a tenth of the steps.
      out: folder of the jobs and the report; a job that is there is not run again, one that stopped is resumed.
      executor: local: one job after the other on all cores of this machine; ray: side by side on a Ray cluster.
      ray_address: of a running cluster, such as auto; by default one is started on this machine.
      json: tell everything as one JSON object a line.
      track: tensorboard: write event files to OUT/tensorboard.
    """
    from bisimulator.jobs.executors import run_locally
    from bisimulator.jobs.paper import paper_jobs
    from bisimulator.report.reproduction import show_reproduction

    options = {"episodes": episodes, "curve_every": curve_every, "curve_episodes": curve_episodes}
    if steps is not None:
        options["steps"] = steps
    specs = paper_jobs(_split(scenario), _split(methods), seeds, quick, **options)
    run = run_locally
    if executor == "ray":
        from bisimulator.jobs._ray import run_on_ray

        run = partial(run_on_ray, address=ray_address)
    elif ray_address is not None:
        raise ValueError(f"--ray-address {ray_address} does nothing without --executor ray; add it")
    tracker = None
    if track == "tensorboard":
        from bisimulator.jobs.tensorboard import TensorBoard

        tracker = TensorBoard(specs, out / "tensorboard")
    show_reproduction(specs, out, Console(), executor=run, as_json=json, track=tracker)


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",")]
