"""`bisimulator.register`: environments, methods and metrics of one's own."""

from __future__ import annotations

from bisimulator import registry
from bisimulator.adapters import register_all
from bisimulator.core import Metric, Scenario
from bisimulator.errors import check_known, shown
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Rule
from bisimulator.registry import Kind

_KINDS: dict[Kind, tuple[type, ...]] = {
    "environment": (Scenario,),
    "method": (Rule, LearnedMethod),
    "metric": (Metric,),
}


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
    check_known("kind", kind, _KINDS)
    if not isinstance(name, str) or not name.strip():
        raise TypeError(f"a name is a text, got {shown(name)}; pass one such as 'my-bank'")
    if not isinstance(entry, _KINDS[kind]):
        wanted = " or ".join(each.__name__ for each in _KINDS[kind])
        raise TypeError(
            f"{kind} {name!r} must be a {wanted}, got {shown(entry)}; see the guide on contributing"
        )
    registry.register(kind, name, entry)
    if kind == "environment":
        register_all()
