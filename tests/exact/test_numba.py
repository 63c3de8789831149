"""Compilation works where nothing can be written, and does not slow down `import bisimulator`."""

import subprocess
import sys

from bisimulator.exact import _numba


def test_without_a_writable_cache_folder(monkeypatch):
    calls = []

    def njit(*, cache):
        calls.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(_numba, "njit", njit)
    assert _numba.compiled(abs) is abs
    assert calls == [True, False]


def test_importing_the_package_does_not_import_numba():
    code = "import sys, bisimulator, bisimulator.exact; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
