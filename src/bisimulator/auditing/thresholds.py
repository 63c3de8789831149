"""Thresholds as a policy: `640`, or `white=640,others=620`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bisimulator import policies
from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.split_bins import CountPeople, split_bins
from bisimulator.core import Env
from bisimulator.errors import did_you_mean
from bisimulator.policies import Policy
from bisimulator.policies.rules import rule_names

OTHERS = "others"  # every group that is not named
_MAX_NAMED = 6  # groups in a title


def from_thresholds(
    text: str, env: Env, *, in_bins: bool = False, count_people: CountPeople | None = None
) -> AuditedPolicy:
    """Accept from these scores on, exactly as they are typed.

    Args:
        text: one threshold, or one per group (`white=640,others=620`).
        env: the environment. If its scores are bins, they are split where a threshold lies within one.
        in_bins: thresholds count bins from 0, not points.
        count_people: counts the people of the data in the parts of the bins.

    Raises:
        ValueError: if the text is not of this form, or a threshold lies outside the scores.
    """
    levels, edges = parse_thresholds(text, env), env.params.score_edges
    low, high = (edges[0], edges[-1]) if edges and not in_bins else (0, env.params.num_scores)
    for level in levels.values():
        if not (low <= level < high or low == level):
            raise ValueError(
                f"a threshold must be a score from {low:g} to below {high:g}, got {level:g} in {text!r}; "
                "to accept everybody or nobody, audit accept-all or reject-all"
            )
    split, note = (env, "") if in_bins or not edges else split_bins(env, tuple(levels.values()), count_people)
    return AuditedPolicy(
        _title(levels), _description(levels, env, in_bins), split, _policy(levels, split, in_bins),
        notes=(note,) if note else (), whole_bins=env,
    )  # fmt: skip


def _policy(levels: Mapping[str, float], env: Env, in_bins: bool) -> Policy:
    edges, in_order = env.params.score_edges, [levels[name] for name in env.group_names]
    if in_bins or not edges:
        return policies.thresholds(in_order)
    return policies.thresholds([int(abs(np.array(edges) - level).argmin()) for level in in_order])


def _title(levels: Mapping[str, float]) -> str:
    """What is audited, in a few words: `accept from 640`."""
    distinct = set(levels.values())
    if len(distinct) == 1:
        return f"accept from {_exact(distinct.pop())}"
    named = [f"{name} from {_exact(level)}" for name, level in levels.items()][:_MAX_NAMED]
    more = f" and {len(levels) - _MAX_NAMED} more groups" if len(levels) > _MAX_NAMED else ""
    return f"accept {', '.join(named)}{more}"


def _description(levels: Mapping[str, float], env: Env, in_bins: bool) -> str:
    def score(level: float) -> str:
        if not in_bins or not env.params.score_edges:
            return _exact(level)
        return f"{env.params.score_edges[int(np.ceil(level))]:g} (bin {_exact(level)})"

    if len(set(levels.values())) == 1:
        return f"Accepts everybody from score {score(next(iter(levels.values())))} on, whatever the group."
    by_group = ", ".join(f"{name} from score {score(level)}" for name, level in levels.items())
    return f"Accepts {by_group} on."


def _exact(level: float) -> str:
    """Nothing is rounded."""
    short = f"{level:g}"
    return short if float(short) == level else repr(level)


def parse_thresholds(text: str, env: Env) -> dict[str, float]:
    """The threshold of each group, in the environment's order."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 and "=" not in text:
        return dict.fromkeys(env.group_names, _number(text, env))
    levels: dict[str, float] = {}
    for part in parts:
        name, equals, value = part.rpartition("=")
        name = name.strip()
        if not equals or (name not in env.group_names and name != OTHERS):
            known = [*env.group_names, OTHERS]
            raise ValueError(f"no group is called {name or part!r}.{did_you_mean(name or part, known)}")
        if name in levels:
            raise ValueError(f"group {name!r} has two thresholds; name it once")
        levels[name] = _number(value, env)
    rest = levels.pop(OTHERS, None)
    left = [name for name in env.group_names if name not in levels]
    if left and rest is None:
        raise ValueError(f"no threshold for {', '.join(left)}; name every group, or add {OTHERS}=...")
    return {name: levels[name] if name in levels else float(rest or 0.0) for name in env.group_names}


def _number(text: str, env: Env) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(
            f"{text!r} is not a policy; pass thresholds (640, or {env.group_names[0]}=640,{OTHERS}=620), a rule "
            f"({', '.join(rule_names())}), the folder of a finished job, or a function (module:name, or file.py:name)"
        )
    return value
