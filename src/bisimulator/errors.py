"""Checks of user input. Every message names the argument, shows its value and the rule, and says how to fix it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

_SUM_TOLERANCE = 1e-6


class Interrupted(Exception):
    """The user stopped the work; everything finished so far is saved."""


class JobsFailed(Exception):
    """Some jobs failed; the others are finished and saved."""


class DiskFull(OSError):
    """The disk is full; files written before are complete."""


class HasShape(Protocol):
    """Any array: NumPy's or JAX's."""

    @property
    def shape(self) -> tuple[int, ...]: ...


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an "unknown X" message: the closest names, then all of them.

    Example:
        >>> did_you_mean("recal", ["recall", "return"])
        " Did you mean 'recall'? Known: recall, return."
    """
    known = sorted(known)
    close = difflib.get_close_matches(str(name), known, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"{hint} Known: {', '.join(known)}."


def check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Raise a ValueError that suggests close names unless `name` is one of `known`."""
    known = list(known)
    if name not in known:
        raise ValueError(f"Unknown {what} {name!r}.{did_you_mean(name, known)}")


def check_keywords(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a TypeError that suggests close names unless every given keyword is one of `known`."""
    known = list(known)
    for name in given:
        if name not in known:
            raise TypeError(f"{what} has no parameter {name!r}.{did_you_mean(name, known)}")


def check_array(
    name: str, value: object, *, ndim: tuple[int, ...], hint: str = "pass numbers"
) -> NDArray[np.float64]:
    """Convert to a finite float array with one of the allowed numbers of dimensions.

    Args:
        name: the argument as the user typed it.
        value: what the user passed.
        ndim: the allowed numbers of dimensions.
        hint: how to fix a wrong value.

    Raises:
        ValueError: if the value is not numeric, not finite or has another number of dimensions.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numeric, got {value!r}; {hint}") from None
    if array.ndim not in ndim:
        expected = " or ".join(map(str, ndim))
        raise ValueError(f"{name} must have {expected} dimension(s), got shape {array.shape}; {hint}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {value!r}; remove NaN and infinity")
    return array


def check_distribution(name: str, value: object, *, ndim: tuple[int, ...] = (1,)) -> NDArray[np.float64]:
    """Convert to probabilities that sum to 1 along the last axis."""
    array = check_array(name, value, ndim=ndim, hint="pass probabilities")
    if array.shape[-1] == 0:
        raise ValueError(f"{name} is empty; pass at least one probability")
    if (array < 0).any():
        raise ValueError(f"{name} must not be negative, got {array.min():g}; pass probabilities")
    totals = array.sum(-1)
    if (abs(totals - 1) > _SUM_TOLERANCE).any():
        worst = totals.flat[int(abs(totals - 1).argmax())]
        raise ValueError(f"{name} must sum to 1, got {worst:.4g}; did you pass counts? divide by their sum")
    return array


def check_probabilities(name: str, value: object, *, ndim: tuple[int, ...] = (1,)) -> NDArray[np.float64]:
    """Convert to numbers in [0, 1], which need not sum to 1."""
    array = check_array(name, value, ndim=ndim, hint="pass probabilities")
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass at least one probability")
    if (array < 0).any() or (array > 1).any():
        wrong = array[(array < 0) | (array > 1)].flat[0]
        raise ValueError(f"{name} must lie in [0, 1], got {wrong:g}; did you pass percentages? divide by 100")
    return array


def check_int(name: str, value: object, *, min: int, max: int | None = None) -> int:
    """Convert to an int within [min, max]; NumPy integers are fine, 3.0 and True are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be a whole number, got {value!r}; pass an int")
    if value < min:
        raise ValueError(f"{name} must be at least {min}, got {value}; pass {min} or more")
    if max is not None and value > max:
        raise ValueError(f"{name} must be at most {max}, got {value}; pass {max} or less")
    return int(value)


def check_real(name: str, value: object, *, min: float = -np.inf, max: float = np.inf) -> float:
    """Convert to a finite float within [min, max]."""
    number = check_array(name, value, ndim=(0,), hint="pass one number").item()
    if not min <= number <= max:
        raise ValueError(f"{name} must lie in [{min:g}, {max:g}], got {number:g}; choose a value inside")
    return float(number)


def check_shape(name: str, array: HasShape, expected: tuple[int, ...], meaning: str) -> None:
    """Raise a ValueError that explains the axes (`meaning`) unless the array has the expected shape."""
    if array.shape != expected:
        raise ValueError(
            f"{name} must have shape {expected} ({meaning}), got {array.shape}; pass one value per entry"
        )
