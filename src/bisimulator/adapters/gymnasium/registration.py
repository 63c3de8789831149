"""The Gymnasium ids: one for every environment of the registry."""

from __future__ import annotations

import gymnasium

from bisimulator import registry


def gymnasium_id(name: str) -> str:
    """`lending-10-groups` -> `bisimulator/Lending10Groups-v0`."""
    return f"bisimulator/{''.join(part.capitalize() for part in name.split('-'))}-v0"


def register_all() -> None:
    """Make every environment known to `gymnasium.make` and `gymnasium.make_vec`; safe to repeat."""
    for name in registry.names("environment"):
        if gymnasium_id(name) not in gymnasium.registry:
            gymnasium.register(
                id=gymnasium_id(name),
                entry_point="bisimulator.adapters.gymnasium.env:BisimulatorEnv",
                vector_entry_point="bisimulator.adapters.gymnasium.vector_env:BisimulatorVectorEnv",
                kwargs={"scenario": name},
            )
