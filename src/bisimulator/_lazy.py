"""What is imported on first use, because it is slow to import or need not be installed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package; `modules` maps a name to the module that defines it.

    Example:
        __getattr__, __dir__ = lazy(__name__, {"certify": "bisimulator.evaluation.certify"})
    """

    def __getattr__(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # the next access is direct
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return __getattr__, __dir__


def import_pandas() -> Any:
    """pandas, which only data frames need."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame() needs pandas; install it with: pip install pandas") from None
    return pandas
