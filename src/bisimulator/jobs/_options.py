"""Configurations of solvers, methods and goals: from a user's options, and from what a job stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

import jax
import numpy as np

from bisimulator.errors import check_keywords, shown

C = TypeVar("C")


def with_options(default: C, options: object, what: str) -> C:
    """The default configuration with some options changed; a configuration of the same type is taken as it is."""
    if options is None:
        return default
    if isinstance(options, type(default)):
        return options
    if not isinstance(options, Mapping):
        raise TypeError(f"options of {what} must be a mapping from names to values, got {shown(options)}")
    known = [f.name for f in dataclasses.fields(default)]  # type: ignore[arg-type]
    check_keywords(what, options, known)
    changed: C = dataclasses.replace(default, **_hashable(options))  # type: ignore[type-var]
    return changed


def stored_options(kind: type[C], stored: Mapping[str, Any]) -> C:
    """A configuration as it was stored; one of another version may have other options."""
    check_keywords("a stored configuration", stored, [f.name for f in dataclasses.fields(kind)])  # type: ignore[arg-type]
    return kind(**_hashable(stored))


def _hashable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Configurations are hashable and can be stored, so a list stands for a tuple and NumPy's numbers for Python's."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in plain(values).items()}


def plain(value: Any) -> Any:
    """Settings as JSON stores them: arrays become lists."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return np.asarray(value).tolist()
    return [plain(v) for v in value] if isinstance(value, list | tuple) else value
