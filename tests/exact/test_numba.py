"""Compilation works where nothing can be written, and loops on all cores do all work once."""

import numpy as np
import pytest

from bisimulator.exact import _numba


def test_without_a_writable_cache_folder(monkeypatch):
    calls = []

    def njit(*, cache, nogil):
        assert nogil
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(_numba, "njit", njit)
    assert _numba.compiled(abs) is abs
    assert calls == [True, False]


@pytest.mark.parametrize("items", [0, 1, 9, 100, 1001])
def test_ranges_are_all_items_once(items, monkeypatch):
    monkeypatch.setattr(_numba, "_WORTH_A_THREAD", 10)
    seen = np.zeros(items, int)

    def work(first, end):
        seen[first:end] += 1
        return end - first

    assert sum(_numba.on_all_cores(work, items)) == items
    assert (seen == 1).all()
