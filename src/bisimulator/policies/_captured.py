"""What a function of the user refers to: the values it was written with, and random generators.

A compiled program has all of them as they were when it was traced.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import random
from collections.abc import Callable, Iterator

import jax
import numpy as np

_CALLS = 16  # one coin toss per call goes unnoticed once in 2**15 functions


def captured_values(function: Callable[..., object]) -> str:
    """A digest of the numbers, texts and arrays that a function refers to; other objects by their identity."""
    digest = hashlib.sha256()
    for value in _referred(function):
        if isinstance(value, np.ndarray | jax.Array) and value.dtype != object:
            digest.update(f"{value.dtype}{value.shape}".encode() + np.asarray(value).tobytes())
        else:
            plain = isinstance(value, bool | int | float | complex | str | bytes | tuple | list | dict | None)
            digest.update((repr(value) if plain else str(id(value))).encode())
    return digest.hexdigest()


def draws_random_numbers(function: Callable[..., object], *arguments: object) -> bool:
    """Whether it answers equal arguments differently, or moves a random generator on."""
    before = _generator_states(function)
    first, *others = (np.asarray(function(*arguments)) for _ in range(_CALLS))
    return _generator_states(function) != before or any(not np.array_equal(first, x) for x in others)


def _generator_states(function: Callable[..., object]) -> list[str]:
    states = [str(random.getstate()), str(np.random.get_state(legacy=False))]  # noqa: NPY002
    for value in _referred(function):
        if isinstance(value, np.random.Generator):
            states.append(str(value.bit_generator.state))
        elif isinstance(value, np.random.RandomState):
            states.append(str(value.get_state(legacy=False)))
        elif isinstance(value, random.Random):
            states.append(str(value.getstate()))
    return states


def _referred(function: Callable[..., object]) -> Iterator[object]:
    """Globals, closure, defaults and attributes of whatever can be called."""
    if isinstance(function, functools.partial):
        yield from (*function.args, *function.keywords.values())
        yield from _referred(function.func)
    elif inspect.ismethod(function):
        yield from getattr(function.__self__, "__dict__", {}).values()
        yield from _referred(function.__func__)
    elif inspect.isfunction(function):
        names = inspect.getclosurevars(function)
        yield from (*names.nonlocals.values(), *names.globals.values())
        yield from (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    else:
        yield from getattr(function, "__dict__", {}).values()
