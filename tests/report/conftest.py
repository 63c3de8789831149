"""A wide terminal, on which no line is wrapped."""

import pytest


@pytest.fixture
def wide_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
