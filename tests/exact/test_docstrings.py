"""The examples in docstrings print what they say."""

import doctest
import importlib

import numpy as np
import pytest

import bisimulator

MODULES = (
    "_finite",
    "_frontier_result",
    "certificate",
    "chain",
    "frontier",
    "metric",
    "relation",
    "transport",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"bisimulator.exact.{name}")
    result = doctest.testmod(module, extraglobs={"bisimulator": bisimulator, "np": np})
    assert result.attempted > 0
    assert result.failed == 0
