"""`bisimulator certify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console


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
    from bisimulator.report.certificates import show_run_certificate

    show_run_certificate(run, seed=seed, gamma=gamma, console=Console())
