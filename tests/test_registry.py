"""Names lead to objects, and wrong names to the right ones."""

import subprocess
import sys
from typing import get_args

import pytest

from bisimulator import registry


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


def test_the_registry_itself_imports_no_environment():
    code = "import sys, bisimulator.registry; sys.exit(any(m.startswith('bisimulator.envs.') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
