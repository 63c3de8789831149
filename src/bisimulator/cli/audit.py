"""`bisimulator audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._people_options import People
from bisimulator.cli._settings import Settings, parse_settings

if TYPE_CHECKING:
    from bisimulator.people.population import Population


def audit(
    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")],
    population: Path | None = None,
    people: Annotated[People, tyro.conf.OmitArgPrefixes] = People(),  # noqa: B008
    scenario: str | None = None,
    settings: Settings = (),
    goal: tuple[str, ...] = (),
    group_blind: bool = False,
    gamma: float | None = None,
    inputs: tuple[str, ...] = (),
    accepts: int = 1,
    cutoff: float | None = None,
    trusted: tuple[str, ...] = (),
    in_bins: bool = False,
    seed: int | None = None,
    seeds: int = 10,
    episodes: int = 5,
    out: Path = Path("audit"),
) -> None:
    """Audit how a policy treats the groups of a population over the years: write a page with tables, print a summary.

    Half a minute on 2 cores.

    Args:
      policy: thresholds (640, or white=640,others=620), a rule of `bisimulator list`, the folder of a finished job,
        a model (model.onnx, model.skops), or a function (module:function or file.py:function), which is imported and
        run.
      population: CSV file with one person per line, or of a table.
      people: columns of the file, and bins.
      scenario: a lending environment of `bisimulator list`, instead of a file.
      settings: parameters of lending, such as reward_default=-4 or horizon=20000.
      goal: one or more goals, such as min-recall=0.9; the page says whether the policy meets them, and names the best
        policy that does.
      group_blind: the policies that the page names do not see the group; takes a minute more.
      gamma: with --accepted: how many times less often those who were rejected in the past repay at most than the
        accepted with equal scores; 2 by default.
      inputs: what a model is given, in the order of its columns: score, group, group=NAME for 1 or 0, or names of
        --features; by default the score and all of these.
      accepts: the class of the people whom a model accepts; 0 if it predicts defaults.
      cutoff: accept from this probability of that class on; without it, if the model predicts it.
      trusted: types that a skops file may contain in addition to those that skops knows; loading them may run code.
      in_bins: thresholds count bins from 0, not points.
      seed: the seed of a trained job whose policy is audited; the first one by default.
      seeds: independent repetitions of the simulation.
      episodes: episodes per seed.
      out: folder of the page and its tables.
    """
    from bisimulator.auditing.audit import audit as audit_policy
    from bisimulator.auditing.audit_output import print_audit

    if population is not None and scenario is not None:
        raise ValueError("pass --population or --scenario, not both")
    chosen = parse_settings(settings)
    whose: Population | str | None = scenario
    if population is not None:
        whose = people.read(population)
        chosen = people.moves(whose) | chosen
    elif scenario is None and chosen:
        raise ValueError("settings need people: --population or --scenario; a finished job has its own")
    found = audit_policy(
        policy,
        whose,
        goal=goal or None,
        group_blind=group_blind,
        gamma=gamma,
        inputs=inputs or None,
        accepts=accepts,
        cutoff=cutoff,
        trusted=trusted,
        in_bins=in_bins,
        seed=seed,
        seeds=seeds,
        episodes=episodes,
        **chosen,
    )
    console = make_console()
    print_audit(found.result, console)
    written = ", ".join(str(path) for path in found.save(out))
    console.print(f"Written: {written}", soft_wrap=True, markup=False)
