"""`bisimulator certify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from bisimulator.cli._console import make_console


def certify(
    run: Annotated[tyro.conf.Positional[Path | None], tyro.conf.arg(metavar="RUN")] = None,
    seed: int | None = None,
    gamma: float = 0.99,
    out: Path = Path("runs"),
) -> None:
    """Certify how fair a trained policy is: exactly on lending, elsewhere estimated (seconds to a minute).

    Args:
      run: the folder of a finished training; without it, the finished trainings in --out are listed.
      seed: the seed whose policy is certified; the first one by default.
      gamma: discount from one visit of a person to the next.
      out: folder of the jobs to list.
    """
    from bisimulator.evaluation.certify import certify as certify_policy
    from bisimulator.jobs.store import load_policies
    from bisimulator.report.certificates import print_certificate
    from bisimulator.report.job_tables import print_certifiable

    console = make_console()
    if run is None:
        print_certifiable(out, console)
        return
    result, policies = load_policies(run)
    seeds = result.spec.seeds
    if seed is not None and seed not in seeds:
        raise ValueError(f"--seed {seed} was not trained; choose one of {', '.join(map(str, seeds))}")
    index = 0 if seed is None else seeds.index(seed)
    env, policy = policies[index]
    title = f"{result.spec.method} on {result.spec.scenario}, seed {seeds[index]}"
    print_certificate(certify_policy(env, policy, gamma), env, title=title, console=console)
