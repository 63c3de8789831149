"""Tests of many cases, of which `make test` runs a few and `make check-long` the others."""

from itertools import cycle, islice

import pytest


def diagonal(rows, columns, shift=0):
    """Pairs in which every row and every column is at least once; another shift gives other pairs."""
    columns = [*columns[shift:], *columns[:shift]]
    return list(islice(zip(cycle(rows), cycle(columns), strict=False), max(len(rows), len(columns))))


def matrix(rows, columns, shift=0):
    """All pairs, as parameters of a test; those that are not on the diagonal are long tests."""
    pairs = [(row, column) for row in rows for column in columns]
    return some(pairs, diagonal(rows, columns, shift))


def some(cases, short):
    """All cases, as parameters of a test; those that are not `short` are long tests."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[] if case in short else pytest.mark.long
        )
        for case in cases
    ]
