"""A job in full: everything that decides its numbers, so that equal specs give equal results."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from bisimulator import __version__, registry
from bisimulator.core import Env, Scenario, View, make
from bisimulator.errors import (
    MAX_EPISODES,
    check_bool,
    check_int,
    check_keywords,
    check_known,
    check_seeds,
    shown,
)
from bisimulator.goals import Goal, GoalConfig
from bisimulator.jobs._options import plain, stored_options, with_options
from bisimulator.jobs.solver_defaults import FAST_STEPS, STEPS, default_control, default_solver
from bisimulator.methods.goal_hooks import with_goal
from bisimulator.methods.hooks import Hook, LearnedMethod, Method
from bisimulator.policies import Rule
from bisimulator.policies.rules import check_applies
from bisimulator.solvers import trainer
from bisimulator.solvers.solver import Solver, SolverConfig
from bisimulator.solvers.trainer import SOLVERS

VERSION = 11  # of what jobs mean: raised when the same spec would give other numbers (tests/golden)
_VERSIONS = {"version": VERSION, "package": __version__}

_MAX_POINTS = 10_000  # of a learning curve


@dataclasses.dataclass(frozen=True)
class Spec:
    """What to train and evaluate. `name` identifies it: a job with this name is not run again."""

    scenario: str
    method: str
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the scenario
    seeds: tuple[int, ...] = tuple(range(10))
    steps: int = STEPS  # environment steps of training per seed
    episodes: int = 5  # evaluation episodes per seed
    greedy: bool = True  # evaluate the most probable action; False: actions are sampled
    view: View = "queue"  # an episode of training: the queue of applicants, or one person's life
    goal: str = ""  # the fairness goal, as `Goal.parse` reads it; empty: none
    control: Any = None  # how the goal's multipliers are controlled; None without a goal
    curve_every: int = 10_000  # training steps between two evaluations of the learning curve; 0: no curve
    curve_episodes: int = 5  # episodes per seed of each of them
    solver: Any = None  # configuration of the solver; None if nothing is trained
    config: Any = None  # configuration of the method

    def to_dict(self) -> dict[str, Any]:
        stored: dict[str, Any] = json.loads(json.dumps({**_VERSIONS, **dataclasses.asdict(self)}))
        return stored

    @property
    def name(self) -> str:
        """Scenario, method and a hash of everything: the job's folder."""
        return stored_name(self.to_dict())

    def make_env(self) -> Env:
        return make(self.scenario, **self.settings)

    def make_solver(self, env: Env) -> Solver:
        entry = registry.lookup("method", self.method)
        goal = self._with_goal(env, SOLVERS[entry.solver][0].hooks) if self.goal else None
        return trainer.make_solver(entry, env, self.steps, self.solver, self.config, wrap=goal)

    def _with_goal(self, env: Env, hooks: frozenset[Hook]) -> Callable[[Method], Method]:
        return with_goal(
            Goal.parse(self.goal),
            env,
            self.control,
            lives=self.view == "life",
            streams="streams" in hooks,
            group_blind=self.solver.group_blind,
        )


def stored_name(stored: Mapping[str, Any]) -> str:
    """The name of the job that `Spec.to_dict` stored."""
    text = json.dumps(stored, sort_keys=True)
    return f"{stored['scenario']}/{stored['method']}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def make_spec(
    scenario: str,
    method: str,
    *,
    solver: SolverConfig | Mapping[str, object] | None = None,
    config: object = None,
    settings: Mapping[str, object] | None = None,
    seeds: int | Sequence[int] = 10,
    view: View | None = None,
    goal: str | Goal | Sequence[str] | None = None,
    control: GoalConfig | Mapping[str, object] | None = None,
    group_blind: bool = False,
    fast: bool = False,
    steps: int | None = None,
    greedy: bool | None = None,
    **other: Any,
) -> Spec:
    """A checked spec with the method's defaults filled in.

    Args:
        scenario: an environment of `bisimulator list`.
        method: a method of `bisimulator list`.
        solver: configuration of the solver, or only the options that differ from the default.
        config: configuration of the method, or only the options that differ from the default.
        settings: parameters of the scenario.
        seeds: how many seeds, or which ones.
        view: "life" or "queue"; by default that of `default_view`.
        goal: a fairness goal, such as "min-recall=0.9".
        control: how the goal's multipliers are controlled (`goals.GoalConfig`).
        group_blind: the policy does not look at the group, which a goal is still measured by.
        fast: the preset for PPO on lives that is close to the optimum after a quarter of the decisions.
        steps: environment steps of training per seed; 400,000 by default, 100,000 with `fast`.
        greedy: evaluate the most probable action; by default a policy acts as its solver has learned it: PPO's draws
            its actions, DQN's is greedy unless it has a temperature.
        **other: fields of `Spec`.
    """
    check_bool("group_blind", group_blind)
    check_bool("fast", fast)
    if greedy is not None:
        greedy = check_bool("greedy", greedy)
    asked = None if goal is None else Goal.parse(goal)
    if asked is None and control is not None:
        raise ValueError(
            f"control is for goals, got {shown(control)} without one; add goal=, such as 'min-recall=0.9'"
        )
    if view is None:
        view = default_view(scenario, method, with_goal=asked is not None or fast)
    _check_view(scenario, view, asked)
    _check_applicants(scenario, method, asked, group_blind)
    check_keywords("a job", other, [f.name for f in dataclasses.fields(Spec)])
    entry: LearnedMethod | Rule = registry.lookup("method", method)
    if fast:
        _check_fast(scenario, method, view)
    config = with_options(
        default_config(scenario, method, with_goal=asked is not None), config, f"method {method!r}"
    )
    if isinstance(entry, LearnedMethod):
        default = default_solver(entry.solver, view, with_goal=asked is not None, fast=fast)
        solver = with_options(default, solver, f"solver {entry.solver!r}")
        if group_blind:
            solver = with_options(solver, {"group_blind": True}, f"solver {entry.solver!r}")
        greedy = not solver.stochastic if greedy is None else greedy
        usual = FAST_STEPS if fast else STEPS
        other["steps"] = check_int("steps", usual if steps is None else steps, min=solver.batch)
    else:
        greedy = True if greedy is None else greedy
        _check_untrained(method, solver, asked, group_blind)
        other |= {"steps": 0, "curve_every": 0, "curve_episodes": 1}
    _check_evaluations(other)
    return Spec(
        scenario,
        method,
        settings=plain(settings or {}),
        seeds=check_seeds(seeds),
        view=view,
        goal="" if asked is None else asked.text,
        control=None if asked is None else default_control(view, control),
        greedy=greedy,
        solver=solver,
        config=config,
        **other,
    )


def default_view(scenario: str, method: str, *, with_goal: bool = False) -> View:
    """What a method is trained on: the queue if there are no lives; else lives with a goal, or what it declares."""
    if registry.lookup("environment", scenario).life is None:
        return "queue"
    entry: LearnedMethod | Rule = registry.lookup("method", method)
    declared: View = entry.view if isinstance(entry, LearnedMethod) else "queue"
    return "life" if with_goal else declared


def default_config(scenario: str, method: str, *, with_goal: bool = False) -> Any:
    """The method's default configuration for a scenario and a goal."""
    entry: LearnedMethod | Rule = registry.lookup("method", method)
    if not isinstance(entry, LearnedMethod):
        return entry.config
    config = entry.in_scenario.get(scenario, entry.config)
    return entry.for_goal(config) if with_goal else config


def _check_applicants(scenario: str, method: str, goal: Goal | None, group_blind: bool) -> None:
    """Refuse what needs applicants where a step decides on all groups at once."""
    found: Scenario = registry.lookup("environment", scenario)
    check_applies(method, scenario, found)
    if found.applicants:
        return
    everyone = f"{scenario!r} decides on all groups at once"
    if group_blind:
        raise ValueError(f"group_blind needs applicants of groups, and {everyone}; leave it out")
    for demand in () if goal is None else goal.demands:
        if demand.needs_applicants:
            raise ValueError(
                f"{demand.text!r} needs applicants, and {everyone}; ask for a benefit gap, such as benefit-gap=0.05"
            )
        if registry.lookup("method", method).solver == "dqn":
            raise ValueError(
                f"a goal of {scenario!r} is pursued by PPO, got the method {method!r}; pass 'ppo', for example"
            )


def _check_fast(scenario: str, method: str, view: View) -> None:
    """Refuse the preset where it was not made for."""
    entry: LearnedMethod | Rule = registry.lookup("method", method)
    if view != "life" or not isinstance(entry, LearnedMethod) or entry.solver != "ppo":
        raise ValueError(
            f"fast is a preset for PPO on lives, got the method {method!r} on {scenario!r} with the view {view!r}; "
            "leave it out, or pass 'ppo' and 'lending', for example"
        )


def _check_untrained(method: str, solver: object, goal: Goal | None, group_blind: bool) -> None:
    """Refuse for a rule what needs training."""
    if solver is not None:
        raise ValueError(f"{method!r} is not trained, so it has no solver options; got {shown(solver)}")
    if group_blind:
        raise ValueError(f"{method!r} is not trained, so it cannot be made group-blind; leave it out")
    if goal is not None:
        raise ValueError(f"{method!r} is not trained, so it cannot pursue a goal; got {goal.text!r}")


def _check_evaluations(fields: dict[str, Any]) -> None:
    """Check how often a job is evaluated, and fill in the defaults."""
    for name, default in (("episodes", Spec.episodes), ("curve_episodes", Spec.curve_episodes)):
        fields[name] = check_int(name, fields.get(name, default), min=1, max=MAX_EPISODES)
    every, steps = (
        check_int("curve_every", fields.get("curve_every", Spec.curve_every), min=0),
        fields["steps"],
    )
    if every and steps // every > _MAX_POINTS:
        raise ValueError(
            f"curve_every must give a learning curve at most {_MAX_POINTS:,} points, got {every} for "
            f"{steps:,} steps; pass {-(-steps // _MAX_POINTS)} or more, or 0 for no curve"
        )
    fields["curve_every"] = every


def _check_view(scenario: str, view: View, goal: Goal | None) -> None:
    check_known("view", view, get_args(View))
    if view == "life" and registry.lookup("environment", scenario).life is None:
        raise ValueError(
            f"{scenario!r} has no life view, because people influence each other there; use the view 'queue'"
        )
    if goal is not None and goal.needs_lives and view != "life":
        raise ValueError(f"{goal.text!r} is measured at the end of a life, so it needs the view 'life'")


def spec_from_dict(stored: Mapping[str, Any]) -> Spec:
    """The spec that `Spec.to_dict` wrote."""
    fields = {k: v for k, v in stored.items() if k not in _VERSIONS}
    check_keywords("a stored job", fields, [f.name for f in dataclasses.fields(Spec)])
    entry: LearnedMethod | Rule = registry.lookup("method", fields["method"])
    fields["seeds"] = tuple(fields["seeds"])
    if isinstance(entry, LearnedMethod):
        fields["solver"] = stored_options(SOLVERS[entry.solver][1], fields["solver"])
    fields["config"] = stored_options(type(entry.config), fields["config"] or {})
    if fields.get("goal"):
        fields["control"] = stored_options(GoalConfig, fields["control"])
    return Spec(**fields)
