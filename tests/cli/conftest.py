"""What is printed is looked at as it is on a wide terminal, where no line breaks."""

import pytest


@pytest.fixture
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
