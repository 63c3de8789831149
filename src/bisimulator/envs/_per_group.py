"""Parameters with one number per group."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.errors import check_array, check_int, check_shape

MAX_GROUPS = 10_000


def count_groups(groups: int | None, **per_group: ArrayLike | None) -> int:
    """The number of groups: `groups`, or else what the first parameter that is given implies, or else 2."""
    if groups is not None:
        return check_int("groups", groups, min=1, max=MAX_GROUPS)
    given = {name: value for name, value in per_group.items() if value is not None}
    sizes = [len(np.atleast_1d(check_array(name, x, ndim=(0, 1, 2)))) for name, x in given.items()]
    if sizes and sizes[0] == 0:
        raise ValueError("got no group; pass at least one entry, such as score_mean=(8, 5)")
    return sizes[0] if sizes else 2


def per_group(name: str, value: ArrayLike, groups: int, *, negative: bool = True) -> Float[Values, "G"]:
    """One number per group; a single number holds for all groups."""
    array = check_array(name, value, ndim=(0, 1))
    array = np.full(groups, array) if array.ndim == 0 else array
    check_shape(name, array, (groups,), "one per group")
    if not negative and (array < 0).any():
        raise ValueError(f"{name} must not be negative, got {array.min():g}; pass a standard deviation")
    return array
