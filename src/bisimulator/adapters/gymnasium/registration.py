"""The Gymnasium ids: one for every environment of the registry, single and vector."""

from __future__ import annotations

import gymnasium

from bisimulator import registry


def gymnasium_id(name: str) -> str:
    """The Gymnasium id of an environment.

    Example:
        >>> gymnasium_id("lending-10-groups")
        'bisimulator/Lending10Groups-v0'
    """
    return f"bisimulator/{''.join(part.capitalize() for part in name.split('-'))}-v0"


def register_all() -> None:
    """Register every environment with Gymnasium, for `gymnasium.make` and `gymnasium.make_vec`.

    `import bisimulator` calls it. Call it again after `bisimulator.register("environment", ...)`: environments that
    are registered already stay as they are.

    Example:
        >>> bisimulator.register("environment", "my-bank", MY_SCENARIO)
        >>> register_all()
        >>> gymnasium.make("bisimulator/MyBank-v0")
    """
    for name in registry.names("environment"):
        if gymnasium_id(name) not in gymnasium.registry:
            gymnasium.register(
                id=gymnasium_id(name),
                entry_point="bisimulator.adapters.gymnasium.env:BisimulatorEnv",
                vector_entry_point="bisimulator.adapters.gymnasium.vector_env:BisimulatorVectorEnv",
                kwargs={"scenario": name},
            )
