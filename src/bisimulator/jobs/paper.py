"""The jobs behind the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bisimulator import published, registry
from bisimulator.errors import check_known
from bisimulator.jobs.spec import Spec, make_spec


def paper_methods(scenario: str) -> list[str]:
    """The registered methods that have a row in the paper's table of a scenario, in its order."""
    rows = published.methods(scenario)
    known = {
        name: getattr(registry.lookup("method", name), "published", "") for name in registry.names("method")
    }
    found = [name for name, row in known.items() if row in rows]
    return sorted(found, key=lambda name: rows.index(known[name]))


def paper_jobs(
    scenarios: Sequence[str] | None = None, methods: Sequence[str] | None = None, **fields: Any
) -> list[Spec]:
    """Every method of every table of the paper, or of some; `fields` are those of `make_spec`.

    A method that is asked for by name is run in every scenario, whether the paper has it there or not.
    """
    for scenario in scenarios or ():
        check_known("environment", scenario, registry.names("environment"))
    for method in methods or ():
        check_known("method", method, registry.names("method"))
    chosen = scenarios or [name for name in registry.names("environment") if published.methods(name)]
    return [
        make_spec(scenario, method, **fields)
        for scenario in dict.fromkeys(chosen)
        for method in dict.fromkeys(methods or paper_methods(scenario))
    ]
