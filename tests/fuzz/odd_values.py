"""What people pass by mistake or on purpose, and the rule: a clean error or a sane result, never anything else."""

import math
import traceback

import numpy as np
import pytest
from hypothesis import strategies as st

# 300 examples in `make test`, 20,000 in `make check-long`
EXAMPLES = pytest.mark.parametrize("examples", [300, pytest.param(20_000, marks=pytest.mark.long)])
CLEAN = (ValueError, TypeError)  # what wrong input may raise

NAMES = st.sampled_from(
    [
        "US$ $x_{",
        "_hidden",
        "[/b]",
        "[red]",
        "=1+1",
        "@SUM(A1)",
        "-x",
        "\x1b[31mred",
        "a\u202eb",
        "é",
        "",
        "a,b",
        '"',
    ]
)
NUMBERS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([0.5, 1.5, -0.1, 1e-50, 1e39, -1e308, math.inf, math.nan, 10**30, 2**31, 2**63, True]),
    st.floats(),
    st.sampled_from([np.int8(2), np.float32(0.5), np.int64(3), np.bool_(1), np.float64("nan"), 3 + 1j]),
)
SCALARS = st.one_of(NUMBERS, st.none(), st.sampled_from(["1", "1.5", "ab", "", "None"]), NAMES)
ODD = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=4),
    st.lists(st.lists(NUMBERS, max_size=4), max_size=4),
    st.tuples(NUMBERS, NUMBERS),
    st.dictionaries(st.sampled_from("ab"), SCALARS, max_size=2),
    st.sampled_from([np.ones((2, 7)), np.zeros((0, 3)), object(), lambda: 1, b"x", {1, 2}]),
)


def check_clean(error):
    """A message of one sentence or two that the library wrote, with no traceback or object addresses in it."""
    text = str(error)
    assert text
    assert "\n" not in text.strip()
    assert "Traceback" not in text
    assert is_raised_on_purpose(error), repr(error)


def is_raised_on_purpose(error):
    """Whether a `raise` of the library made it, and not a call that went wrong."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "bisimulator" in last.filename and last.line.startswith("raise ")
