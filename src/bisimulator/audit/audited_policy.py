"""What `bisimulator audit` is asked to look at: thresholds, a rule's name, a finished job or a Python function."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bisimulator import policies, registry
from bisimulator.core import Env
from bisimulator.errors import did_you_mean
from bisimulator.people._bins import nearest_edge
from bisimulator.policies.rules import rule_policy

OTHERS = "others"  # in thresholds: every group that is not named


@dataclasses.dataclass(frozen=True)
class Audited:
    """A policy, the environment as it sees it, and how people call it."""

    name: str
    words: str  # what it does, one sentence
    env: Env
    policy: Any
    notes: tuple[str, ...] = ()


def read_policy(text: str, env: Env | None, *, in_bins: bool = False, seed: int | None = None) -> Audited:
    """The policy that `text` names. `env` may be None for a finished job, which knows its own."""
    if (Path(text) / "config.json").is_file():
        return _from_job(Path(text), env, seed)
    if env is None:
        raise ValueError(
            f"{text!r} is not the folder of a finished job, so people are needed: --population people.csv or "
            "--scenario lending-us-2003"
        )
    if ":" in text:
        return from_function(text, load_function(text), env)
    if text in registry.names("method"):
        return _from_rule(text, env)
    return from_thresholds(text, env, in_bins=in_bins)


def from_thresholds(text: str, env: Env, *, in_bins: bool = False) -> Audited:
    """`640`, or `white=640,black=620`: accept from this score on; in bins where scores have no other scale."""
    asked = _levels_by_group(text, env)
    edges = () if in_bins else env.params.score_edges
    if not edges:
        words = ", ".join(f"{name} from score {asked[name]:g} on" for name in env.group_names)
        levels = [asked[name] for name in env.group_names]
        return Audited(text, f"Accepts {words}.", env, policies.thresholds(levels))
    bins = [nearest_edge(asked[name], np.array(edges)) for name in env.group_names]
    notes = [
        f"A threshold of {asked[name]:g} lies within a bin of scores; the nearest edge is used, {edges[level]:g}."
        for name, level in zip(env.group_names, bins, strict=True)
        if edges[0] < asked[name] < edges[-1] and abs(edges[level] - asked[name]) > 1e-9
    ]
    used = {name: edges[level] for name, level in zip(env.group_names, bins, strict=True)}
    if len(set(used.values())) == 1:
        words = f"Accepts everybody from score {next(iter(used.values())):g} on, whatever the group."
    else:
        words = f"Accepts {', '.join(f'{name} from {level:g}' for name, level in used.items())} on."
    return Audited(text, words, env, policies.thresholds(bins), tuple(dict.fromkeys(notes)))


def _levels_by_group(text: str, env: Env) -> dict[str, float]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) == 1 and "=" not in text:
        return dict.fromkeys(env.group_names, _threshold(text, env))
    levels: dict[str, float] = {}
    for part in parts:
        name, equals, value = part.rpartition("=")
        name = name.strip()
        if not equals or (name not in env.group_names and name != OTHERS):
            known = [*env.group_names, OTHERS]
            raise ValueError(f"no group is called {name or part!r}.{did_you_mean(name or part, known)}")
        if name in levels:
            raise ValueError(f"group {name!r} has two thresholds; name it once")
        levels[name] = _threshold(value, env)
    rest = levels.pop(OTHERS, None)
    left = [name for name in env.group_names if name not in levels]
    if left and rest is None:
        raise ValueError(f"no threshold for {', '.join(left)}; name every group, or add {OTHERS}=...")
    return levels | dict.fromkeys(left, rest if rest is not None else 0.0)


def _threshold(text: str, env: Env) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        rules = ", ".join(
            n for n in registry.names("method") if isinstance(registry.lookup("method", n), policies.Rule)
        )
        raise ValueError(
            f"{text!r} is not a policy; pass thresholds (640, or {env.group_names[0]}=640,{OTHERS}=620), a rule "
            f"({rules}), the folder of a finished job, or a function (module:name, or file.py:name)"
        )
    return value


def _from_rule(name: str, env: Env, config: object = None) -> Audited:
    policy = rule_policy(name, env, config)
    return Audited(name, f"{registry.lookup('method', name).summary}.", env, policy)


def _from_job(folder: Path, env: Env | None, seed: int | None) -> Audited:
    from bisimulator.jobs.run import load, load_policies

    result = load(folder)
    if result is None:
        raise ValueError(
            f"{folder} holds a job that is not finished; run the same command again to go on with it"
        )
    spec = result.spec
    if spec.solver is None:
        return _from_rule(spec.method, spec.make_env() if env is None else env, spec.config)
    _, trained = load_policies(folder)
    if seed is not None and seed not in spec.seeds:
        raise ValueError(f"seed {seed} was not trained; choose one of {', '.join(map(str, spec.seeds))}")
    place = 0 if seed is None else spec.seeds.index(seed)
    seen, policy = trained[place]
    if env is not None:
        if (env.num_groups, env.observation_size) != (seen.num_groups, seen.observation_size):
            raise ValueError(
                f"{folder} was trained for {seen.num_groups} groups and {seen.observation_size} observed numbers; "
                f"these people have {env.num_groups} and {env.observation_size}"
            )
        seen = env.with_omega(seen.params.omega)
    words = f"A network, trained by {spec.method} on {spec.scenario} (seed {spec.seeds[place]})."
    return Audited(f"{spec.method} (seed {spec.seeds[place]})", words, seen, policy)


def load_function(text: str) -> Callable[..., Any]:
    """`package.module:function` or `path/file.py:function`; the module is imported, nothing is evaluated."""
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
    function: Callable[..., Any] = getattr(module, name)
    return function


def from_function(text: str, function: Callable[..., Any], env: Env) -> Audited:
    """A function of (score, group), asked for every group and bin, or one of observations, as `evaluate` takes it."""
    if set(inspect.signature(function).parameters) != {"score", "group"}:
        return Audited(text, f"Decides by the function {text}, from the observations.", env, function)
    edges = env.params.score_edges
    scores = [(low + high) / 2 for low, high in pairwise(edges)] or range(env.params.num_scores)
    table = [[_answer(function, score, group, text) for score in scores] for group in env.group_names]
    where = "at the middle of each bin of scores" if edges else "at each score"
    return Audited(text, f"Decides by the function {text}, asked {where}.", env, policies.table(table))


def _answer(function: Callable[..., Any], score: float, group: str, text: str) -> float:
    answer = function(score=score, group=group)
    try:
        chance = float(answer)
    except (TypeError, ValueError):
        chance = float("nan")
    if not 0 <= chance <= 1:
        raise ValueError(
            f"{text} must return True, False or a probability, got {answer!r} for score {score:g} of group {group!r}"
        )
    return chance
