"""Rezaei-Shoshtari et al. (2024): every method of every table, with the defaults of this package."""

from __future__ import annotations

from bisimulator import published, registry
from bisimulator.jobs.paper import Paper, PaperJob


def paper_methods(scenario: str) -> list[str]:
    """The registered methods that have a row in the paper's table of a scenario, in its order."""
    rows = published.methods(scenario)
    known = {name: registry.lookup("method", name).published for name in registry.names("method")}
    found = [name for name, row in known.items() if row in rows]
    return sorted(found, key=lambda name: rows.index(known[name]))


def jobs() -> list[PaperJob]:
    return [
        PaperJob(scenario, method, registry.lookup("method", method).published)
        for scenario in registry.names("environment")
        for method in paper_methods(scenario)
    ]


PAPER = Paper(
    name="bisimulator",
    citation='Rezaei-Shoshtari et al., "Fairness in Reinforcement Learning with Bisimulation Metrics" (2024)',
    jobs=jobs,
    seeds=10,
)
