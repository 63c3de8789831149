"""On what a job was computed: other processors and other versions of XLA may round differently."""

from __future__ import annotations

import importlib.metadata
import platform

_PACKAGES = ("jax", "jaxlib", "numpy")


def platform_in_words() -> str:
    """`Linux x86_64, Python 3.11.7, jax 0.7.0, ...`; without the number of cores, on which no number depends."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES]
    machine = f"{platform.system()} {platform.machine()}"
    return ", ".join([machine, f"Python {platform.python_version()}", *versions])
