"""Checks of user input. Every message names the argument, shows its value and the rule, and says how to fix it."""

from __future__ import annotations

import difflib
import types
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bisimulator._text import printable

_SUM_TOLERANCE = 1e-6
_LARGEST = 1e28  # so that a sum over the longest episode is finite in single precision
_MAX_SEEDS, MAX_SEED = 10_000, 2**32 - 1
_MAX_INT = 2**31 - 2  # what 32 bits hold, so that no sum or size of an array overflows silently
MAX_EPISODES = 1_000_000  # per seed


class Interrupted(Exception):
    """The user stopped the work; everything finished so far is saved."""


class JobsFailed(Exception):
    """Some jobs failed; the others are finished and saved."""


class DiskFull(OSError):
    """The disk is full; files written before are complete."""


# What is raised where an input is too large for the machine; XLA's error for it is a RuntimeError.
TOO_LARGE = (MemoryError, OverflowError, RecursionError, RuntimeError)


def explain(error: BaseException) -> str:
    """An error in one sentence, with what to do about it if the machine was too small."""
    text = " ".join(str(error).split("\n")[0].split()) or type(error).__name__
    if isinstance(error, RecursionError):
        return "the input is nested too deeply; pass numbers, or lists of them"
    if isinstance(error, MemoryError) and error.args:
        return text
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text:
        return f"there is not enough memory ({text}); use a smaller population or horizon, or fewer groups or seeds"
    if isinstance(error, OverflowError):
        return f"a number is too large ({text}); pass a smaller one"
    return text


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
    known = sorted(map(_one_line, known))
    close = difflib.get_close_matches(str(name), known, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    return f"{hint} Known: {', '.join(known)}."


def _one_line(name: object) -> str:
    """A name that may come from a file, without line breaks and control characters."""
    return " ".join(printable(name).split())


def check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Raise a ValueError that suggests close names unless `name` is one of `known`."""
    known = list(known)
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"Unknown {what} {shown(name)}.{did_you_mean(name, known)}")


def check_keywords(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a TypeError that suggests close names unless every given keyword is one of `known`."""
    known = list(known)
    for name in given:
        if name not in known:
            raise TypeError(f"{what} has no parameter {name!r}.{did_you_mean(name, known)}")


def check_array(
    name: str,
    value: object,
    *,
    ndim: tuple[int, ...],
    hint: str = "pass numbers",
    kinds: str = "iuf",
) -> NDArray[np.float64]:
    """Convert to a finite float array with one of the allowed numbers of dimensions.

    Args:
        name: the argument as the user typed it.
        value: what the user passed.
        ndim: the allowed numbers of dimensions.
        hint: how to fix a wrong value.
        kinds: the allowed kinds of NumPy types: whole numbers and floats, but neither texts nor True and False.

    Raises:
        ValueError: if the value is not numeric, not finite, too large for single precision, or has another number of
            dimensions.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise ValueError(f"{name} must be numeric, got {shown(value)}; {hint}") from None
    if array.size and array.dtype.kind not in kinds:
        raise ValueError(f"{name} must be numeric, got {shown(value)}; {hint}")
    array = array.astype(np.float64)
    if array.ndim not in ndim:
        expected = " or ".join(map(str, ndim))
        raise ValueError(f"{name} must have {expected} dimension(s), got shape {array.shape}; {hint}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {shown(value)}; remove NaN and infinity")
    if array.size and abs(array).max() > _LARGEST:
        raise ValueError(f"{name} must lie in [{-_LARGEST:g}, {_LARGEST:g}], got {shown(value)}; rescale it")
    return array


def shown(value: object) -> str:
    """A value in a message, on one line: its beginning if it is long."""
    try:
        text = _one_line(repr(value))
    except (ValueError, RecursionError):  # a number with thousands of digits, a list within itself
        text = f"a value of type {type(value).__name__} that is too long to print"
    return text if len(text) <= 200 else f"{text[:200]}..."


def check_distribution(name: str, value: object, *, ndim: tuple[int, ...] = (1,)) -> NDArray[np.float64]:
    """Convert to probabilities that sum to 1 along the last axis."""
    array = check_array(name, value, ndim=ndim, hint="pass probabilities")
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass at least one probability")
    if (array < 0).any():
        raise ValueError(f"{name} must not be negative, got {array.min():g}; pass probabilities")
    totals = array.sum(-1)
    if (abs(totals - 1) > _SUM_TOLERANCE).any():
        worst = totals.flat[int(abs(totals - 1).argmax())]
        raise ValueError(f"{name} must sum to 1, got {worst:.4g}; did you pass counts? divide by their sum")
    return array


def check_probabilities(name: str, value: object, *, ndim: tuple[int, ...] = (1,)) -> NDArray[np.float64]:
    """Convert to numbers in [0, 1], which need not sum to 1; True and False are 1 and 0."""
    array = check_array(name, value, ndim=ndim, hint="pass probabilities", kinds="biuf")
    if array.size == 0:
        raise ValueError(f"{name} is empty; pass at least one probability")
    if (array < 0).any() or (array > 1).any():
        wrong = array[(array < 0) | (array > 1)].flat[0]
        raise ValueError(f"{name} must lie in [0, 1], got {wrong:g}; did you pass percentages? divide by 100")
    return array


def check_int(name: str, value: object, *, min: int, max: int = _MAX_INT) -> int:
    """Convert to an int within [min, max]; NumPy integers are fine, 3.0 and True are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise ValueError(f"{name} must be a whole number, got {shown(value)}; pass an int")
    if value < min:
        raise ValueError(f"{name} must be at least {min}, got {shown(int(value))}; pass {min} or more")
    if value > max:
        raise ValueError(f"{name} must be at most {max}, got {shown(int(value))}; pass {max} or less")
    return int(value)


def check_seeds(seeds: object, *, min: int = 1) -> tuple[int, ...]:
    """The seeds, from how many there are or which ones; each once, and at least `min` of them."""
    if isinstance(seeds, np.ndarray) and seeds.ndim == 1:
        seeds = seeds.tolist()
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        return tuple(range(check_int("seeds", seeds, min=min, max=_MAX_SEEDS)))
    if not isinstance(seeds, Sequence):
        raise ValueError(f"seeds must be a number or a list, got {shown(seeds)}; pass [0, 1, 2] or 3")
    given = tuple(seeds[: _MAX_SEEDS + 1])  # a range may be too long for the memory
    if not min <= len(given) <= _MAX_SEEDS:
        few = f"{len(given)} of them" if len(given) < min else "more"
        raise ValueError(f"seeds must be {min} to {_MAX_SEEDS}, got {few}; pass [0, 1, 2] or 3")
    checked = tuple(check_int("a seed", seed, min=0, max=MAX_SEED) for seed in given)
    if len(set(checked)) < len(checked):
        twice = next(seed for seed in checked if checked.count(seed) > 1)
        raise ValueError(f"seeds must differ, got {twice} twice; use more episodes instead")
    return checked


def check_names(names: object, groups: int) -> tuple[str, ...]:
    """The names of the groups, one each and all different; none at all is fine."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(
            f"group_names must be a list of names, got {shown(names)}; pass names such as ('a', 'b')"
        )
    checked = tuple(names)
    if checked and (len(checked) != groups or not all(isinstance(name, str) for name in checked)):
        raise ValueError(
            f"group_names must be {groups} names, one per group, got {shown(names)}; pass names such as ('a', 'b')"
        )
    if len(set(checked)) < len(checked):
        raise ValueError(f"group_names must differ, got {shown(names)}; rename one of them")
    return checked


def check_bool(name: str, value: object) -> bool:
    """True or False, and nothing that only behaves like it."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be true or false, got {shown(value)}; pass {name}=True")
    return bool(value)


def check_function(name: str, value: object) -> None:
    """Raise a TypeError unless the value can be called."""
    if not callable(value):
        raise TypeError(f"{name} must be a function, got {shown(value)}; pass one, such as {name}=print")


def check_path(name: str, value: object) -> Path:
    """Convert to a path; a text that no file can be called is refused."""
    if not isinstance(value, str | Path):
        raise TypeError(f"{name} must be a path, got {shown(value)}; pass a text such as 'results'")
    if "\0" in str(value) or not str(value).strip():
        raise ValueError(f"{name} must be a path, got {shown(value)}; pass a text such as 'results'")
    return Path(value)


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


def check_options(config: object, signed: Collection[str] = ()) -> None:
    """Check every field of a configuration against its annotation. Only `signed` numbers may be negative.

    Raises:
        ValueError: if a value is of another type, not finite or negative.
    """
    for name, kind in get_type_hints(type(config)).items():
        if name in signed:
            check_real(name, getattr(config, name))
        else:
            _check_option(name, getattr(config, name), kind)


def _check_option(name: str, value: Any, kind: Any) -> None:
    inner = get_args(kind)
    if kind is bool:
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {shown(value)}")
    elif kind is int:
        check_int(name, value, min=0)
    elif kind is float:
        check_real(name, value, min=0)
    elif get_origin(kind) is Literal:
        check_known(name, value, inner)
    elif get_origin(kind) is tuple:
        if not isinstance(value, tuple):
            raise ValueError(
                f"{name} must be a tuple, got {shown(value)}; pass it in brackets, such as (64,)"
            )
        for entry in value:
            _check_option(name, entry, inner[0])
    elif get_origin(kind) in (Union, types.UnionType) and value is not None:
        _check_option(name, value, inner[0])
