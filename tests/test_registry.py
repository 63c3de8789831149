"""Names lead to objects, and wrong names to the right ones."""

from typing import get_args

import gymnasium
import pytest

from bisimulator import registry
from bisimulator.adapters import register_all


@pytest.mark.parametrize("kind", get_args(registry.Kind))
def test_every_name_is_lower_case_and_leads_to_something_with_one_line_about_it(kind):
    for name in registry.names(kind):
        assert name == name.lower().replace("_", "-")
        summary = registry.lookup(kind, name).summary
        assert summary
        assert "\n" not in summary


def test_an_unknown_name_gets_close_ones_and_all():
    with pytest.raises(ValueError, match=r"Unknown environment 'lendng'\. Did you mean 'lending'") as raised:
        registry.lookup("environment", "lendng")
    assert all(name in str(raised.value) for name in registry.names("environment"))


def test_metrics_are_registered_under_their_own_names():
    for name in registry.names("metric"):
        assert registry.lookup("metric", name).name == name.replace("-", "_")


class Offered:
    """An entry point of another package, whose module cannot be imported."""

    name = "their-bank"

    def load(self):
        raise ImportError("their package is broken")


def test_names_of_other_packages_are_listed_without_importing_them(monkeypatch):
    monkeypatch.setattr(registry, "_entry_points", lambda kind: {"their-bank": Offered()})
    assert registry.names("environment")[-1] == "their-bank"
    assert registry.is_entry_point("environment", "their-bank")
    register_all()  # `import bisimulator` does the same
    assert gymnasium.registry.pop("bisimulator/TheirBank-v0").kwargs == {
        "scenario": "their-bank",
        "view": "queue",
    }
    with pytest.raises(ImportError, match="their package is broken"):
        registry.lookup("environment", "their-bank")
