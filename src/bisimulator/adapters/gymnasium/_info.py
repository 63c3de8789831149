"""What `info` holds: who was decided on in a step, and the outcome of an episode at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bisimulator.adapters.group_info import Info
from bisimulator.core import Outcome

if TYPE_CHECKING:
    from bisimulator.adapters.gymnasium._batched_env import StepResult


_END_OF_EPISODE = ("outcome", "final_obs", "final_info")  # what is in `info` at the end of an episode only


def ended_outcome(info: Info) -> Outcome:
    """The outcome of what ended in this step, from which `metric_columns` computes every metric.

    Args:
        info: the `info` of a step of one of the library's Gymnasium environments.

    Returns:
        The outcome of the episode. For a vector environment it has a leading axis with the environments that ended.

    Raises:
        ValueError: if no episode ended in this step.

    Example:
        >>> obs, reward, terminated, truncated, info = env.step(action)
        >>> if terminated or truncated:
        ...     metrics = metric_columns(env.unwrapped.env, ended_outcome(info))
    """
    info = info.get("final_info", info)  # where a SameStep vector environment puts the end of an episode
    if "outcome" not in info:
        raise ValueError(
            "info has no 'outcome' because no episode ended in this step; "
            "call ended_outcome(info) when terminated or truncated"
        )
    fields = {name: value for name, value in info["outcome"].items() if not name.startswith("_")}
    if "_outcome" in info:
        fields = {name: value[info["_outcome"]] for name, value in fields.items()}
    return Outcome.from_arrays(fields)


def step_info(result: StepResult) -> dict[str, NDArray[np.generic]]:
    """What `info` says about the people decided on, or about each group; one row per environment."""
    if result.tallies:
        return dict(result.tallies)
    return {
        "group": result.group,
        "qualified": result.qualified,
        "accepted": result.accepted,
        "cost": result.cost,
        "next_self_observation": result.next_self_obs,
    }


def info_of_one(info: Mapping[str, NDArray[np.generic]], index: int) -> Info:
    """The `info` of a single environment: plain Python numbers, and its row of the arrays."""
    rows = {
        name: values[index]
        for name, values in info.items()
        if not name.startswith("_") and name not in _END_OF_EPISODE
    }
    return {name: row if row.ndim else row.item() for name, row in rows.items()}


def with_masks(values: Mapping[str, object], present: NDArray[np.bool_]) -> Info:
    """Gymnasium's convention: `_key` says for which environments `key` holds a value."""
    return {**values, **{f"_{name}": present.copy() for name in values}}


def zero_absent(values: NDArray[np.generic], present: NDArray[np.bool_]) -> NDArray[np.generic]:
    """Zeros where an environment has no value."""
    mask = present.reshape(-1, *[1] * (values.ndim - 1))
    return np.where(mask, values, np.zeros((), values.dtype))
