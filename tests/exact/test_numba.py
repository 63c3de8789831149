"""Compilation must work where nothing can be written, and must not slow down `import bisimulator`."""

import subprocess
import sys

from bisimulator.exact import _numba as compiled


def test_without_any_folder_for_the_cache(monkeypatch):
    calls = []

    def njit(function=None, *, cache=False):
        calls.append(cache)
        if function is not None:
            return function
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compiled, "njit", njit)
    assert compiled.compiled(abs) is abs
    assert calls == [True, False]


def test_importing_the_package_does_not_import_numba():
    code = "import sys, bisimulator, bisimulator.exact; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
