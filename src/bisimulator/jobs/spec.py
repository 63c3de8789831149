"""A job in full: everything that decides its numbers, so that equal specs give equal results."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

from bisimulator import __version__, registry
from bisimulator.core import Env, make
from bisimulator.errors import check_int, check_keywords
from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import Rule
from bisimulator.solvers import trainer
from bisimulator.solvers.trainer import SOLVERS

VERSION = 3  # of the jobs' meaning: raised when the same spec would give other numbers
_VERSIONS = {"version": VERSION, "package": __version__}


@dataclasses.dataclass(frozen=True)
class Spec:
    scenario: str
    method: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the scenario
    seeds: tuple[int, ...] = tuple(range(10))
    steps: int = 400_000  # environment steps of training per seed
    episodes: int = 5  # evaluation episodes per seed
    greedy: bool = True  # evaluate the most probable action; False: sampled, as in training
    curve_every: int = 10_000  # steps of training between two evaluations of the learning curve; 0: no curve
    curve_episodes: int = 5  # episodes per seed of each of them
    solver: Any = None  # configuration of the solver; None where nothing is trained
    config: Any = None  # configuration of the method

    def to_dict(self) -> dict[str, Any]:
        return json.loads(json.dumps({**_VERSIONS, **dataclasses.asdict(self)}))

    @property
    def name(self) -> str:
        """Scenario, method and a hash of everything: the job's folder."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return f"{self.scenario}/{self.method}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"

    def make_env(self) -> Env:
        return make(self.scenario, **self.settings)

    def make_solver(self, env: Env) -> Any:
        entry = registry.lookup("method", self.method)
        return trainer.make_solver(entry, env, self.steps, self.solver, self.config)


def make_spec(scenario: str, method: str, *, solver: Any = None, config: Any = None, **other: Any) -> Spec:
    """A checked spec with the method's default configurations filled in."""
    entry = registry.lookup("method", method)
    registry.lookup("environment", scenario)
    seeds = other.pop("seeds", 10)
    if isinstance(seeds, int):
        seeds = tuple(range(check_int("seeds", seeds, min=1)))
    if isinstance(entry, LearnedMethod):
        solver = SOLVERS[entry.solver][1]() if solver is None else solver
        config = entry.config if config is None else config
        check_int("steps", other.get("steps", Spec.steps), min=solver.batch)
    elif isinstance(entry, Rule):
        config = entry.config if config is None else config
        other |= {"steps": 0, "curve_every": 0, "curve_episodes": 1}  # nothing is trained
    for name, least in (("episodes", 1), ("curve_every", 0), ("curve_episodes", 1)):
        check_int(name, other.get(name, getattr(Spec, name)), min=least)
    return Spec(scenario, method, seeds=tuple(seeds), solver=solver, config=config, **other)


def spec_from_dict(stored: dict[str, Any]) -> Spec:
    """The spec that `to_dict` wrote."""
    stored = {k: v for k, v in stored.items() if k not in _VERSIONS}
    check_keywords("a stored job", stored, [f.name for f in dataclasses.fields(Spec)])
    entry = registry.lookup("method", stored["method"])
    stored["seeds"] = tuple(stored["seeds"])
    if isinstance(entry, LearnedMethod):
        stored["solver"] = SOLVERS[entry.solver][1](**_tuples(stored["solver"]))
    stored["config"] = type(entry.config)(**_tuples(stored["config"] or {}))
    return Spec(**stored)


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """Configurations are hashable, so what JSON reads as a list was a tuple."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
