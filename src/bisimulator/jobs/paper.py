"""The jobs behind the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence

from bisimulator import published, registry
from bisimulator.errors import check_known
from bisimulator.jobs.spec import Spec, make_spec

QUICK_SEEDS = 2
QUICK_SHARE = 10  # a quick job trains for this share of the steps


def paper_methods(scenario: str) -> list[str]:
    """The registered methods that have a row in the paper's table of a scenario, in its order."""
    rows = published.methods(scenario)
    known = {
        name: getattr(registry.lookup("method", name), "published", "") for name in registry.names("method")
    }
    found = [name for name, row in known.items() if row in rows]
    return sorted(found, key=lambda name: rows.index(known[name]))


def paper_jobs(
    scenarios: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    **options: object,
) -> list[Spec]:
    """Every method of every table of the paper, or of some; by default with 10 seeds, quickly with 2.

    A method that is asked for by name is run in every scenario, whether the paper has it there or not.
    """
    for scenario in scenarios or ():
        check_known("environment", scenario, registry.names("environment"))
    for method in methods or ():
        check_known("method", method, registry.names("method"))
    options["seeds"] = seeds if seeds is not None else QUICK_SEEDS if quick else len(Spec.seeds)
    if quick:
        options.setdefault("steps", Spec.steps // QUICK_SHARE)
    wanted = scenarios or [name for name in registry.names("environment") if published.methods(name)]
    return [
        make_spec(scenario, method, **options)
        for scenario in dict.fromkeys(wanted)
        for method in dict.fromkeys(methods or paper_methods(scenario))
    ]
