"""`bisimulator.register`: environments, methods and metrics of one's own."""

from __future__ import annotations

from bisimulator import registry
from bisimulator.adapters import register_all
from bisimulator.registry import Kind


def register(kind: Kind, name: str, entry: object) -> None:
    """Add an environment, a method or a metric, so that it works in every function and command.

    An environment also gets its Gymnasium id, as `bisimulator.adapters.gymnasium_id(name)` gives it.

    Args:
        kind: "environment", "method" or "metric".
        name: what to ask for, such as "my-bank"; it must not be taken.
        entry: a `core.Scenario`; a `policies.Rule` or a `methods.hooks.LearnedMethod`; a `core.Metric`.

    Raises:
        ValueError: if the kind is unknown or the name is taken.

    Example:
        >>> bisimulator.register("environment", "my-bank", MY_SCENARIO)
        >>> bisimulator.train("my-bank", "ppo")

    A package does the same for everybody who installs it with an entry point in its `pyproject.toml`; the groups are
    `bisimulator.environments`, `bisimulator.methods` and `bisimulator.metrics`:

        [project.entry-points."bisimulator.environments"]
        my-bank = "my_package.bank:MY_SCENARIO"
    """
    registry.register(kind, name, entry)
    if kind == "environment":
        register_all()
