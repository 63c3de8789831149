"""The parameters of attention: their meaning, defaults and checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, wraps
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.envs._without_applicants import WithoutApplicants, no_omega
from bisimulator.errors import check_array, check_int, check_names, check_real, check_shape, shown

RATES = (8.0, 6.0, 4.0, 3.0, 1.5)
HARDER: dict[str, tuple[float, ...]] = {
    "rates": (30.0, 25.0, 22.5, 17.5, 12.5),
    "rate_up": (0.08, 0.2, 0.4, 0.8, 2.0),
    "rate_down": (0.004, 0.01, 0.016, 0.02, 0.04),
}
MAX_LOCATIONS = 10_000
HISTORY = 8  # steps that an observation shows


class Params(WithoutApplicants, eqx.Module):
    """Parameters of attention. All numbers but the units are arrays, so a sweep over them is a `vmap`."""

    rates: Float[Array, "K"]  # expected incidents per step at the start
    rate_up: Float[Array, "K"]  # how far a rate rises in a step without attention
    rate_down: Float[Array, "K"]  # how far every unit lowers it
    miss: Float[Array, ""] | None  # None: a unit discovers an incident for sure
    reward_seen: Float[Array, ""]
    reward_missed: Float[Array, ""]
    horizon: Int[Array, ""]
    omega: Float[Array, "K 0"]
    units: int = eqx.field(static=True)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())

    @property
    def num_groups(self) -> int:
        return int(self.rates.shape[-1])

    @property
    def population(self) -> int:
        """The locations."""
        return self.num_groups

    @property
    def group_probs(self) -> Float[Array, "K"]:
        return jnp.full(self.num_groups, 1 / self.num_groups)

    @property
    def num_scores(self) -> int:
        return 1

    @property
    def observation_size(self) -> int:
        return HISTORY * 4 * self.num_groups


def make_params(
    *,
    groups: int | None = None,
    rates: ArrayLike | None = None,
    units: int = 6,
    rate_up: ArrayLike = 0.1,
    rate_down: ArrayLike = 0.1,
    miss: float = 0.0,
    reward_seen: float = 1.0,
    reward_missed: float = -0.25,
    horizon: int = 1000,
    group_names: Sequence[str] = (),
) -> Params:
    """Check the parameters of attention.

    Args:
        groups: number of locations; only needed if `rates` does not imply it. Rates then lie between the usual ones.
        rates: (groups,), expected incidents per step at the start.
        units: how many units are allocated in a step.
        rate_up: (groups,) or one number, how far a location's rate rises in a step without attention.
        rate_down: (groups,) or one number, how far every unit lowers it.
        miss: probability that a single unit misses an incident; u units that are left miss it with miss**u.
        reward_seen: reward for a discovered incident.
        reward_missed: (negative) reward for an incident that is not discovered.
        horizon: steps until the episode is truncated.
        group_names: names of the locations in tables and pages.

    Raises:
        ValueError: if a value or a shape is wrong.

    Example:
        >>> make_params(groups=3, units=4, miss=0.1)
    """
    start = _rates(rates, groups)
    count = len(start)
    missed = check_real("miss", miss, min=0, max=1)
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    return Params(
        rates=as_float(start),
        rate_up=as_float(_per_location("rate_up", rate_up, count)),
        rate_down=as_float(_per_location("rate_down", rate_down, count)),
        miss=as_float(missed) if missed else None,
        reward_seen=as_float(check_real("reward_seen", reward_seen)),
        reward_missed=as_float(check_real("reward_missed", reward_missed)),
        horizon=as_int(check_int("horizon", horizon, min=1)),
        omega=no_omega(count),
        units=check_int("units", units, min=1, max=10_000),
        group_names=check_names(group_names, count),
    )


@wraps(make_params)
def make_harder_params(**settings: Any) -> Params:
    """As those of attention, with the numbers of ELBERT-PO for what is left out."""
    rates, groups = settings.get("rates"), settings.get("groups")
    default = len(RATES) if groups is None else groups
    count = default if rates is None else len(check_array("rates", rates, ndim=(1,)))
    numbers = {name: interpolated(values, count) for name, values in HARDER.items()}
    return make_params(**{**numbers, "units": 30, "reward_seen": 0.0, "horizon": 1024, **settings})


def interpolated(values: Sequence[float], count: int) -> Float[Values, "K"]:
    """The values at `count` places that are evenly spaced from the first to the last."""
    places = np.linspace(0, len(values) - 1, check_int("groups", count, min=1, max=MAX_LOCATIONS))
    return np.interp(places, np.arange(len(values)), values)


def _rates(rates: ArrayLike | None, groups: int | None) -> Float[Values, "K"]:
    if groups is not None:
        groups = check_int("groups", groups, min=1, max=MAX_LOCATIONS)
    if rates is None:
        return interpolated(RATES, groups or len(RATES))
    given = check_array("rates", rates, ndim=(1,), hint="pass one rate per location")
    check_shape("rates", given, (groups or len(given),), "one per location; leave groups out to infer them")
    if given.size == 0 or (given < 0).any():
        raise ValueError(
            f"rates must be one or more numbers from 0 on, got {shown(rates)}; pass (8, 6, 4), for example"
        )
    return given


def _per_location(name: str, value: ArrayLike, count: int) -> Float[Values, "K"]:
    numbers = check_array(name, value, ndim=(0, 1), hint="pass one number, or one per location")
    numbers = np.full(count, numbers) if numbers.ndim == 0 else numbers
    check_shape(name, numbers, (count,), "one per location")
    if (numbers < 0).any():
        raise ValueError(f"{name} must not be negative, got {numbers.min():g}; pass 0 or more")
    return numbers
