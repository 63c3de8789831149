"""From the `info` of a Gymnasium step to the library's metrics."""

from __future__ import annotations

from typing import Any

from bisimulator.core import Outcome


def ended_outcome(info: dict[str, Any]) -> Outcome:
    """The outcome of what ended in this step: one episode, or with a leading axis the vector's ended copies.

    `bisimulator.evaluation.metric_columns(env.unwrapped.env, ended_outcome(info))` gives every metric.
    """
    info = info.get("final_info", info)  # where a SameStep vector environment puts the end of an episode
    if "outcome" not in info:
        raise ValueError(
            "no episode ended in this step, so there is no outcome; ask when terminated or truncated"
        )
    fields = {name: value for name, value in info["outcome"].items() if not name.startswith("_")}
    if "_outcome" in info:
        fields = {name: value[info["_outcome"]] for name, value in fields.items()}
    return Outcome(**fields)
