"""`bisimulator compare`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._job_options import JobOptions, split_names
from bisimulator.cli._settings import Settings, parse_settings
from bisimulator.cli._sweep import Sweep


def make_compare(sweep: Sweep | None = None, solver_sweep: Sweep | None = None) -> Callable[..., None]:
    """`compare` with the options whose values are tried (see `split_sweep`)."""

    def compare(
        scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
        methods: Annotated[str | None, tyro.conf.arg(metavar="A,B,C")] = None,
        settings: Settings = (),
        sweep_goal: str | None = None,
        jobs: Annotated[JobOptions, tyro.conf.OmitArgPrefixes] = JobOptions(),  # noqa: B008
    ) -> None:
        """Train several methods on a scenario and print the paper's table, with our numbers and the published ones.

        --method.OPTION VALUE ... and --solver.OPTION VALUE ... train one variant per value, such as
        --methods ppo-bisimulator --method.gauge kappa --method.kappa 0 0.05 0.1. (PPO: about 30 s per job on 2 cores.)
        With --sweep-goal, each of them at every level of a goal.

        Args:
          scenario: an environment of `bisimulator list`.
          methods: comma-separated methods; all by default.
          settings: parameters of the scenario, such as population=500.
          sweep_goal: train every variant towards several levels of a goal, such as min-recall=0.7:1:0.05.
          jobs: how the jobs run and where they are stored; tables go to OUT/SCENARIO.
        """
        from bisimulator import registry
        from bisimulator.api.comparing import make_variants
        from bisimulator.policies.rules import methods_for
        from bisimulator.report.comparison import in_one_sentence, paper_table, print_notes, write_comparison

        console = make_console()
        specs = make_variants(
            scenario,
            split_names(methods) or methods_for(registry.lookup("environment", scenario)),
            sweep or {},
            solver_sweep or {},
            sweep_goal or (),
            settings=parse_settings(settings),
            **jobs.spec_fields,
        )
        finished = jobs.run(specs, console)
        if finished.results:
            written = write_comparison(finished.results, jobs.out / scenario)
            if not jobs.json:
                console.print(paper_table(finished.results), "")
                print_notes(finished.results, console)
                if len(finished.results) > 1:
                    console.print(in_one_sentence(finished.results), soft_wrap=True, markup=False)
                console.print(f"Written: {', '.join(map(str, written))}", soft_wrap=True, markup=False)
        finished.raise_failures()

    return compare
