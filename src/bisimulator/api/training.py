"""`bisimulator.train`, and what it returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bisimulator import files
from bisimulator._html import html_table
from bisimulator._lazy import import_pandas
from bisimulator.api._running import console_of, job_folder, run_jobs, scenario_of, warn_of_failures
from bisimulator.core import Env, Values, View
from bisimulator.errors import check_path
from bisimulator.evaluation.goal_outcome import GoalOutcome, goal_outcomes
from bisimulator.exact.chain import Expectation
from bisimulator.goals import Goal
from bisimulator.jobs.expectations import exact_expectations
from bisimulator.jobs.learning_curves import Curves
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.jobs.store import Result, load, save, seed_policy, with_weights
from bisimulator.policies import Policy
from bisimulator.report.text import headline_rows

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def train(
    env: Env | str,
    method: str = "ppo-bisimulator",
    *,
    seeds: int | Sequence[int] = 10,
    steps: int | None = None,
    solver: Mapping[str, object] | None = None,
    goal: str | Goal | Sequence[str] | None = None,
    control: Mapping[str, object] | None = None,
    view: View | None = None,
    group_blind: bool = False,
    fast: bool = False,
    episodes: int = 5,
    greedy: bool | None = None,
    curve_every: int = 10_000,
    curve_episodes: int = 5,
    out: str | Path | None = None,
    progress: bool = True,
    **method_options: object,
) -> TrainingResult:
    """Train a method with all seeds at once, then evaluate it.

    Args:
        env: an environment from `bisimulator.make`, or its name.
        method: a method of `bisimulator list`. A rule is not trained; it is evaluated all the same.
        seeds: how many seeds, or which ones.
        steps: environment steps of training per seed; 400,000 by default, 100,000 with `fast`.
        solver: options of the solver, such as `{"learning_rate": 3e-4}`.
        goal: a fairness goal, such as "min-recall=0.9", or several of them.
        control: options of the controller that sets the goal's multipliers, such as `{"eta": 0.1}`.
        view: what an episode of training is: "queue", the queue of all applicants, or "life", the decisions about one
            person. By default "life" with a goal or `fast`, otherwise the method's own.
        group_blind: the policy does not see the group; a goal is still measured by group.
        fast: a preset for PPO on lives: larger steps of learning, and a quarter of the decisions.
        episodes: evaluation episodes per seed.
        greedy: evaluate the most probable action (True) or sampled actions (False). By default a policy acts as its
            solver has learned it: PPO's samples, and DQN's is greedy unless it has a temperature.
        curve_every: training steps between two evaluations of the learning curve; 0: no curve.
        curve_episodes: episodes per seed of each of these evaluations.
        out: folder in which the job is stored. A finished job is loaded, and a stopped one is resumed. Without it,
            nothing is written.
        progress: show progress in a terminal or a notebook.
        **method_options: options of the method, such as `alpha=2`.

    Returns:
        Policies, summary, learning curves and more.

    Raises:
        TypeError: if an option does not exist; the message names the closest ones.
        ValueError: if a value is wrong.
        JobsFailed: if the training failed, for example because a loss became NaN.

    Example:
        >>> result = bisimulator.train("lending", "ppo", seeds=3, steps=100_000)
        >>> result.summary["recall_g2"]  # mean and half width of the 95% interval
        >>> bisimulator.certify(result.env(0), result.policy(0))
    """
    scenario, settings = scenario_of(env)
    spec = make_spec(
        scenario,
        method,
        settings=settings,
        solver=solver,
        config=method_options or None,
        goal=goal,
        control=control,
        view=view,
        group_blind=group_blind,
        fast=fast,
        seeds=seeds,
        steps=steps,
        episodes=episodes,
        greedy=greedy,
        curve_every=curve_every,
        curve_episodes=curve_episodes,
    )
    with job_folder(out) as folder:
        finished = run_jobs([spec], folder, console_of(progress))
        finished.raise_failures()
        return TrainingResult.of(finished.results[0])


def train_all(
    specs: Sequence[Spec], out: str | Path | None, progress: bool
) -> tuple[list[TrainingResult], Mapping[str, str]]:
    """The jobs that succeeded, and title -> reason of those that failed, with a warning; raises if all failed."""
    with job_folder(out) as folder:
        finished = run_jobs(specs, folder, console_of(progress))
        if not finished.results:
            finished.raise_failures()
        warn_of_failures(finished)
        return [TrainingResult.of(result) for result in finished.results], finished.failures


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingResult:
    """A finished training: one policy per seed, the results of their evaluation, and learning curves."""

    result: Result

    @property
    def spec(self) -> Spec:
        """Everything that determines the numbers."""
        return self.result.spec

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.spec.seeds

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """metric -> (mean, half width of the 95% confidence interval), both over seeds."""
        return self.result.summary

    @property
    def episodes(self) -> Mapping[str, Values]:
        """metric -> (seeds, episodes): the value of every evaluation episode."""
        return self.result.columns

    @property
    def curves(self) -> Curves | None:
        """Evaluations during training; None if nothing was trained or `curve_every` was 0."""
        return self.result.curves

    @property
    def learned(self) -> Mapping[str, Any]:
        """What the method learned in addition to the policy, such as omega; leading axis seeds."""
        return self.result.learned

    @cached_property
    def expectations(self) -> list[Expectation] | None:
        """The exact results of each seed, per group; None if only simulated ones are known."""
        return exact_expectations(self.result)

    @cached_property
    def goal_outcomes(self) -> list[GoalOutcome]:
        """The result of each demand of the goal, compared with the provable optimum; empty without a goal.

        Values are exact where they can be, otherwise those of the evaluation episodes; each outcome says which.
        """
        if not self.spec.goal:
            return []
        goal, env = Goal.parse(self.spec.goal), self.spec.make_env()
        return goal_outcomes(goal, env, self.result.outcome, self.expectations)

    def policy(self, seed: int | None = None) -> Policy:
        """The policy of a seed; of the first one by default."""
        return seed_policy(self.result, self.seeds[0] if seed is None else seed)[1]

    def env(self, seed: int | None = None) -> Env:
        """The environment as that seed's policy sees it: with the observation dynamics it learned, if any."""
        return seed_policy(self.result, self.seeds[0] if seed is None else seed)[0]

    def to_frame(self) -> pandas.DataFrame:
        """One row per seed and episode, one column per metric."""
        pandas = import_pandas()
        rows = [
            {"seed": seed, "episode": e}
            | {name: float(values[s, e]) for name, values in self.episodes.items()}
            for s, seed in enumerate(self.seeds)
            for e in range(self.spec.episodes)
        ]
        return pandas.DataFrame(rows)

    def plot(self, metric: str = "average_return") -> Figure:
        """The learning curve of a metric, with its 95% interval over seeds."""
        from bisimulator.report.figures.learning_curve_figures import draw_curve

        return draw_curve(self.result, metric)

    def save(self, folder: str | Path) -> None:
        """Write the job to a folder; `TrainingResult.load` reads it."""
        path = check_path("folder", folder)
        files.write_json(path / "config.json", self.spec.to_dict())
        save(self.result, path)

    @classmethod
    def of(cls, result: Result) -> TrainingResult:
        """From the result of a job, as `jobs.run` returns it."""
        return cls(with_weights(result))

    @classmethod
    def load(cls, folder: str | Path) -> TrainingResult:
        """A finished job from its folder, as `train`, `compare` and the commands write it."""
        path = check_path("folder", folder)
        result = load(path)
        if result is None:
            raise ValueError(f"{path} holds no finished job; `bisimulator runs list` shows those that are")
        return cls.of(result)

    @cached_property
    def _title(self) -> str:
        spec = self.spec
        trained = f", {spec.steps:,} training steps" if spec.steps else ""
        return (
            f"{spec.method} on {spec.scenario}: {len(spec.seeds)} seeds x {spec.episodes} episodes{trained}"
        )

    def __repr__(self) -> str:
        lines = [f"  {title}: {value}" for title, value in headline_rows(self.summary)]
        lines += [f"  {outcome}" for outcome in self.goal_outcomes]
        return "\n".join([f"TrainingResult of {self._title}", *lines])

    def _repr_html_(self) -> str:
        return html_table(self._title, ["", "mean ± 95%"], headline_rows(self.summary))
