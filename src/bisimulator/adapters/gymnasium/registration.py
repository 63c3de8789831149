"""The Gymnasium ids: one for every environment of the registry, single and vector."""

from __future__ import annotations

import gymnasium

from bisimulator import registry
from bisimulator.core import View


def gymnasium_id(name: str, view: View = "queue") -> str:
    """The Gymnasium id of an environment, or of its life view.

    Example:
        >>> gymnasium_id("lending-10-groups")
        'bisimulator/Lending10Groups-v0'
        >>> gymnasium_id("lending", "life")
        'bisimulator/LendingLife-v0'
    """
    words = "".join(part.capitalize() for part in name.split("-"))
    return f"bisimulator/{words}{'Life' * (view == 'life')}-v0"


def views_of(name: str) -> list[View]:
    """The views that an environment has. What other packages offer is not imported here: they have the queue."""
    if registry.is_entry_point("environment", name) or registry.lookup("environment", name).life is None:
        return ["queue"]
    return ["queue", "life"]


def register_all() -> None:
    """Register every environment with Gymnasium, for `gymnasium.make` and `gymnasium.make_vec`.

    `import bisimulator` and `bisimulator.register` call it. Environments that are registered already stay as they are.
    """
    for name in registry.names("environment"):
        for view in views_of(name):
            if gymnasium_id(name, view) not in gymnasium.registry:
                gymnasium.register(
                    id=gymnasium_id(name, view),
                    entry_point="bisimulator.adapters.gymnasium.env:BisimulatorEnv",
                    vector_entry_point="bisimulator.adapters.gymnasium.vector_env:BisimulatorVectorEnv",
                    kwargs={"scenario": name, "view": view},
                )
