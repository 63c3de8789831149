"""The policy of an audit: thresholds, a rule's name, a finished job or a Python function."""

from __future__ import annotations

import dataclasses
import html
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from bisimulator import policies, registry
from bisimulator.core import Env
from bisimulator.errors import did_you_mean
from bisimulator.jobs.labels import changed_options
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import load, load_policies
from bisimulator.people._bins import nearest_edge
from bisimulator.policies import Policy
from bisimulator.policies.rules import rule_policy

OTHERS = "others"  # in thresholds: every group that is not named


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AuditedPolicy:
    """A policy, the environment as it sees it, and how it is called and described."""

    name: str
    description: str  # what it does, in one sentence
    env: Env
    policy: Policy
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"AuditedPolicy({self.name!r} on {self.env.name!r}: {self.description})"

    def _repr_html_(self) -> str:
        name, env, description = map(html.escape, (self.name, self.env.name, self.description))
        return f"<p><b>{name}</b> on {env}: {description}</p>"


def read_policy(
    text: str, env: Env | None, *, in_bins: bool = False, seed: int | None = None
) -> AuditedPolicy:
    """The policy that `text` names.

    Args:
        text: thresholds (`640`, or `white=640,others=620`), a rule of `bisimulator list`, the folder of a finished job,
            or a function (`module:name`, or `file.py:name`), which is imported.
        env: the environment; None for a finished job means its own.
        in_bins: thresholds count bins from 0, not points.
        seed: which policy of a trained job; the first one by default.

    Raises:
        ValueError: if `text` is none of these; the message says what is expected.

    Example:
        >>> read_policy("640", bisimulator.make("lending-us-2003"))
    """
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


def from_thresholds(text: str, env: Env, *, in_bins: bool = False) -> AuditedPolicy:
    """`640`, or `white=640,black=620`: accept from this score on; in bins if scores have no other unit."""
    levels = _levels_by_group(text, env)
    edges = () if in_bins else env.params.score_edges
    if not edges:
        parts = ", ".join(f"{name} from score {levels[name]:g} on" for name in env.group_names)
        in_order = [levels[name] for name in env.group_names]
        return AuditedPolicy(text, f"Accepts {parts}.", env, policies.thresholds(in_order))
    bins = [nearest_edge(levels[name], np.array(edges)) for name in env.group_names]
    notes = [
        f"A threshold of {levels[name]:g} lies within a bin of scores; the nearest edge is used, {edges[edge]:g}."
        for name, edge in zip(env.group_names, bins, strict=True)
        if edges[0] < levels[name] < edges[-1] and abs(edges[edge] - levels[name]) > 1e-9
    ]
    used = {name: edges[edge] for name, edge in zip(env.group_names, bins, strict=True)}
    if len(set(used.values())) == 1:
        description = f"Accepts everybody from score {next(iter(used.values())):g} on, whatever the group."
    else:
        description = f"Accepts {', '.join(f'{name} from {level:g}' for name, level in used.items())} on."
    return AuditedPolicy(text, description, env, policies.thresholds(bins), tuple(dict.fromkeys(notes)))


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


def _from_rule(name: str, env: Env) -> AuditedPolicy:
    return AuditedPolicy(name, f"{registry.lookup('method', name).summary}.", env, rule_policy(name, env))


def _from_rule_job(spec: Spec, env: Env | None) -> AuditedPolicy:
    """The rule with the job's own options."""
    env = spec.make_env() if env is None else env
    options = {
        name.removeprefix("config."): value
        for name, value in changed_options(spec).items()
        if name.startswith("config.")
    }
    changed = ", ".join(f"{name} {value}" for name, value in options.items())
    summary = registry.lookup("method", spec.method).summary
    description = f"{summary} ({changed})." if changed else f"{summary}."
    return AuditedPolicy(spec.method, description, env, rule_policy(spec.method, env, spec.config))


def _from_job(folder: Path, env: Env | None, seed: int | None) -> AuditedPolicy:
    result = load(folder)
    if result is None:
        raise ValueError(f"{folder} holds a job that is not finished; the same command resumes it")
    spec = result.spec
    if spec.solver is None:
        return _from_rule_job(spec, env)
    _, trained = load_policies(folder)
    if seed is not None and seed not in spec.seeds:
        raise ValueError(f"seed {seed} was not trained; choose one of {', '.join(map(str, spec.seeds))}")
    index = 0 if seed is None else spec.seeds.index(seed)
    own_env, policy = trained[index]
    if env is not None:
        if (env.num_groups, env.observation_size) != (own_env.num_groups, own_env.observation_size):
            raise ValueError(
                f"{folder} was trained for {own_env.num_groups} groups and {own_env.observation_size} observed "
                f"numbers; these people have {env.num_groups} and {env.observation_size}"
            )
        own_env = env.with_omega(own_env.params.omega)
    description = f"A network, trained by {spec.method} on {spec.scenario} (seed {spec.seeds[index]})."
    return AuditedPolicy(f"{spec.method} (seed {spec.seeds[index]})", description, own_env, policy)


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


def from_function(text: str, function: Callable[..., ArrayLike], env: Env) -> AuditedPolicy:
    """A function of `score` and `group`, called once per group and bin; or any function that `evaluate` takes."""
    if set(inspect.signature(function).parameters) != {"score", "group"}:
        description = f"Decides by the function {text}, from the observations."
        return AuditedPolicy(text, description, env, policies.as_policy(function))
    edges = env.params.score_edges
    scores = [(low + high) / 2 for low, high in pairwise(edges)] or range(env.params.num_scores)
    table = [[_probability(function, score, group, text) for score in scores] for group in env.group_names]
    where = "at the middle of each bin of scores" if edges else "at each score"
    return AuditedPolicy(text, f"Decides by the function {text}, called {where}.", env, policies.table(table))


def _probability(function: Callable[..., ArrayLike], score: float, group: str, text: str) -> float:
    returned = function(score=score, group=group)
    try:
        probability = float(np.asarray(returned))
    except (TypeError, ValueError):
        probability = float("nan")
    if not 0 <= probability <= 1:
        raise ValueError(
            f"{text} must return True, False or a probability, got {returned!r} for score {score:g} of group {group!r}"
        )
    return probability
