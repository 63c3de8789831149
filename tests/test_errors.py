"""Every message names the argument, shows the value and the rule, and says how to fix it."""

import re

import numpy as np
import pytest

from bisimulator import errors
from tests.messages import refused

WRONG = [
    (errors.check_array, ("x", "abc"), {"ndim": (1,)}, ["x must be numeric", "'abc'", "pass numbers"]),
    (errors.check_array, ("x", [[1], [1, 2]]), {"ndim": (2,)}, ["x must be numeric", "pass numbers"]),
    (errors.check_array, ("x", [1, 2]), {"ndim": (0, 2)}, ["0 or 2 dimension", "(2,)", "pass numbers"]),
    (errors.check_array, ("x", [1, np.nan]), {"ndim": (1,)}, ["x must be finite", "nan", "remove NaN"]),
    (errors.check_distribution, ("p", [2, 3]), {}, ["p must sum to 1", "got 5", "divide by their sum"]),
    (errors.check_distribution, ("p", [-0.5, 1.5]), {}, ["must not be negative", "-0.5", "probabilities"]),
    (errors.check_distribution, ("p", []), {}, ["p is empty", "at least one"]),
    (errors.check_distribution, ("p", [[1, 0], [0.5, 0.4]]), {"ndim": (2,)}, ["sum to 1", "0.9"]),
    (errors.check_probabilities, ("p", [50.0]), {}, ["[0, 1]", "got 50", "divide by 100"]),
    (errors.check_probabilities, ("p", [-0.1]), {}, ["[0, 1]", "got -0.1"]),
    (errors.check_probabilities, ("p", []), {}, ["p is empty"]),
    (errors.check_int, ("n", 0), {"min": 1}, ["n must be at least 1", "got 0", "pass 1 or more"]),
    (errors.check_int, ("n", 9), {"min": 1, "max": 8}, ["at most 8", "got 9", "pass 8 or less"]),
    (errors.check_int, ("n", 3.0), {"min": 1}, ["whole number", "3.0", "pass an int"]),
    (errors.check_int, ("n", True), {"min": 0}, ["whole number", "True"]),
    (errors.check_real, ("x", 2), {"min": 0, "max": 1}, ["[0, 1]", "got 2", "inside"]),
    (errors.check_real, ("x", [1, 2]), {}, ["0 dimension", "pass one number"]),
    (errors.check_real, ("x", np.inf), {}, ["finite"]),
    (errors.check_path, ("out", "a\0b"), {}, ["out must be a path", "pass a text such as 'results'"]),
    (errors.check_path, ("out", ""), {}, ["out must be a path", "''"]),
    (errors.check_real, ("x", 1e39), {}, ["[-1e+28, 1e+28]", "1e+39", "rescale"]),
    (errors.check_real, ("x", 10**400), {}, ["x must be numeric", "1000", "pass one number"]),
    (errors.check_real, ("x", 10**5000), {}, ["x must be numeric", "type int", "pass one number"]),
    (errors.check_real, ("x", True), {}, ["x must be numeric", "True"]),
    (errors.check_real, ("x", "1.5"), {}, ["x must be numeric", "'1.5'"]),
    (errors.check_array, ("x", ["1", "2"]), {"ndim": (1,)}, ["x must be numeric", "'2'"]),
    (errors.check_int, ("n", 10**5000), {"min": 1, "max": 8}, ["at most 8", "type int", "pass 8 or less"]),
    (errors.check_seeds, ([3, 4, 3],), {}, ["seeds must differ", "3 twice"]),
    (errors.check_seeds, (10**30,), {}, ["seeds must be at most 10000"]),
    (errors.check_seeds, (range(10**30),), {}, ["seeds must be 1 to 10000"]),
    (errors.check_seeds, ("123",), {}, ["whole number", "'123'"]),
    (errors.check_seeds, ([3.7],), {}, ["a seed", "whole number", "3.7"]),
    (errors.check_seeds, ([],), {}, ["seeds must be 1 to 10000", "0 of them", "[0, 1, 2]"]),
    (errors.check_seeds, ({1: 2},), {}, ["a number or a list", "{1: 2}"]),
    (
        errors.check_shape,
        ("x", np.ones(2), (3,), "one per group"),
        {},
        ["(3,)", "one per group", "(2,)", "one value per entry"],
    ),
    (
        errors.check_known,
        ("metric", "recal", ["recall", "return"]),
        {},
        ["'recal'", "mean 'recall'", "return"],
    ),
]


@pytest.mark.parametrize(("check", "arguments", "keywords", "parts"), WRONG)
def test_an_error_names_the_argument_the_value_and_the_fix(check, arguments, keywords, parts):
    with refused(parts):
        check(*arguments, **keywords)


def test_an_unknown_keyword_suggests_the_closest_one():
    with pytest.raises(TypeError, match=re.escape("no parameter 'popluation'. Did you mean 'population'?")):
        errors.check_keywords("environment 'lending'", ["popluation"], ["population", "horizon"])
    errors.check_keywords("environment 'lending'", ["horizon"], ["population", "horizon"])


def test_a_name_close_to_no_other_still_lists_the_known_names():
    assert errors.did_you_mean("zzz", ["recall", "approvals"]) == " Known: approvals, recall."


def test_valid_values_are_returned():
    assert errors.check_int("n", np.int64(3), min=3, max=3) == 3
    assert errors.check_real("x", 1, min=1, max=1) == 1.0
    np.testing.assert_array_equal(errors.check_distribution("p", (0.25, 0.75)), [0.25, 0.75])
    np.testing.assert_array_equal(errors.check_probabilities("p", [0, 1]), [0.0, 1.0])
    assert errors.check_array("x", 3, ndim=(0,)).dtype == np.float64


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "there is not enough memory (MemoryError); use a smaller population"),
        (
            RuntimeError("RESOURCE_EXHAUSTED: Out of memory\nallocating 3 GB"),
            "not enough memory (RESOURCE_EXHAUSTED",
        ),
        (OverflowError("int too large"), "a number is too large (int too large); pass a smaller one"),
        (RecursionError("maximum recursion depth"), "nested too deeply"),
        (ValueError("two\nlines"), "two"),
    ],
)
def test_errors_of_the_machine_are_sentences(error, message):
    assert message in errors.explain(error)
    assert "\n" not in errors.explain(error)
