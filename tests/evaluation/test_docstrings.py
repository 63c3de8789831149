"""The examples in docstrings print what they say."""

import doctest
import importlib

import numpy as np
import pytest

import bisimulator


@pytest.mark.parametrize("name", ["_evaluate", "_exact_evaluation", "certify", "intervals"])
def test_examples(name):
    module = importlib.import_module(f"bisimulator.evaluation.{name}")
    result = doctest.testmod(module, extraglobs={"bisimulator": bisimulator, "np": np})
    assert result.attempted > 0
    assert result.failed == 0
