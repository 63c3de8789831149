"""Functions of score and group as policies, decided exactly where they change."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator import policies
from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.split_bins import CountPeople, split_bins
from bisimulator.core import Env, Values
from bisimulator.errors import did_you_mean, shown

# scores of one group, and the group's name -> the probability that each is accepted
Decide: TypeAlias = Callable[[Float[Values, "N"], str], Float[Values, "N"]]

_SAMPLES = 40  # scores of a bin at which a function is called to find where it changes
_MAX_SCORES = 120  # parts of bins in all; exact tools take minutes beyond
_BISECTIONS = 80  # until two neighbouring floats enclose the change


def from_function(
    text: str, function: Callable[..., ArrayLike], env: Env, *, count_people: CountPeople | None = None
) -> AuditedPolicy:
    """A function of `score` and `group`, or any function of observations that `evaluate` takes."""
    if not _takes_score_and_group(function):
        description = f"Decides by the function {text}, from the observations."
        return AuditedPolicy(text, description, env, policies.as_policy(function))

    def decide(scores: Float[Values, "N"], group: str) -> Float[Values, "N"]:
        return np.array([_probability(function, float(score), group, text) for score in scores])

    return from_decisions(
        text, f"Decides by the function {text} of score and group", decide, env, count_people
    )


def _takes_score_and_group(function: Callable[..., ArrayLike]) -> bool:
    try:
        return set(inspect.signature(function).parameters) == {"score", "group"}
    except (ValueError, TypeError):  # a built-in function, which does not tell
        return False


def from_decisions(
    name: str, description: str, decide: Decide, env: Env, count_people: CountPeople | None = None
) -> AuditedPolicy:
    """A policy that decides by score and group; bins are split where its decisions change."""
    edges = env.params.score_edges
    if not edges:
        scores = np.arange(env.params.num_scores, dtype=np.float64)
        return _table(name, f"{description}, at each score.", decide, env, env, [scores], ())
    changes = _changes(decide, env)
    split, note = (env, "") if changes is None else split_bins(env, changes, count_people)
    if changes is not None and split.params.num_scores <= max(_MAX_SCORES, env.params.num_scores):
        middles = [(np.array(split.params.score_edges[1:]) + split.params.score_edges[:-1]) / 2]
        return _table(name, f"{description}.", decide, split, env, middles, (note,) if note else ())
    parts = max(_MAX_SCORES // env.params.num_scores, 1)
    points = [low + (high - low) * j / parts for low, high in pairwise(edges) for j in range(parts)]
    split, _ = split_bins(env, points, count_people)
    fine = np.array(split.params.score_edges)
    samples = [fine[:-1] + np.diff(fine) * (j + 0.5) / _SAMPLES for j in range(_SAMPLES)]
    note = (
        f"Its decisions change at many scores. Each bin is split in {parts} equal parts, and in each part everybody is "
        "accepted with the average probability of its scores."
    )
    return _table(name, f"{description}.", decide, split, env, samples, (note,))


def _table(
    name: str,
    description: str,
    decide: Decide,
    env: Env,
    whole_bins: Env,
    scores: list[Values],
    notes: tuple[str, ...],
) -> AuditedPolicy:
    """The policy's table: averages over `scores`, one array of a score per bin for each sample."""
    table = [np.mean([decide(sample, group) for sample in scores], axis=0) for group in env.group_names]
    return AuditedPolicy(name, description, env, policies.table(np.array(table)), notes, whole_bins)


def _changes(decide: Decide, env: Env) -> list[float] | None:
    """The lowest score of each stretch with other decisions, over all groups; None if there are too many."""
    edges = np.array(env.params.score_edges)
    inside = (np.arange(_SAMPLES) + 0.5) / _SAMPLES
    samples = np.concatenate([low + np.append(0.0, inside) * (high - low) for low, high in pairwise(edges)])
    limit = max(_MAX_SCORES // env.params.num_scores, 1)
    found: set[float] = set()
    for group in env.group_names:
        values = decide(samples, group)
        places = np.flatnonzero(values[1:] != values[:-1])
        if len(places) > limit * len(edges):
            return None
        found |= set(_bisect(decide, group, samples[places], samples[places + 1]).tolist())
    return sorted(found)


def _bisect(decide: Decide, group: str, low: Values, high: Values) -> Values:
    """The lowest floats at which decisions are no longer those at `low`."""
    if not low.size:
        return high
    before = decide(low, group)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        same = decide(middle, group) == before
        low, high = np.where(same, middle, low), np.where(same, high, middle)
        if (np.nextafter(low, high) == high).all():
            break
    return high


def load_function(text: str) -> Callable[..., ArrayLike]:
    """The function that `package.module:function` or `path/file.py:function` names; the module is imported."""
    where, _, name = text.rpartition(":")
    if where.endswith(".py"):
        path = Path(where)
        if not path.is_file():
            raise ValueError(f"there is no file {where}; write file.py:function")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise ValueError(f"{where} cannot be imported as Python")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        if "" not in sys.path:
            sys.path.insert(0, "")  # as `python -m` finds modules of the current folder
        try:
            module = importlib.import_module(where)
        except ModuleNotFoundError as error:
            raise ValueError(
                f"cannot import {where!r}: {error}; write module:function or file.py:function"
            ) from None
    if not callable(getattr(module, name, None)):
        known = [n for n, value in vars(module).items() if callable(value) and not n.startswith("_")]
        raise ValueError(f"{where} has no function {name!r}.{did_you_mean(name, known)}")
    function: Callable[..., ArrayLike] = getattr(module, name)
    return function


def _probability(function: Callable[..., ArrayLike], score: float, group: str, text: str) -> float:
    returned = function(score=score, group=group)
    try:
        probability = float(np.asarray(returned))
    except (TypeError, ValueError):
        probability = float("nan")
    if not 0 <= probability <= 1:
        raise ValueError(
            f"{text} must return True, False or a probability, got {shown(returned)} for score {score:g} "
            f"of group {group!r}"
        )
    return probability
