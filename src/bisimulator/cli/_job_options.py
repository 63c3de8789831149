"""The options that `train`, `compare` and `reproduce` share: how jobs run and where they are stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from rich.console import Console

    from bisimulator.api._running import Finished
    from bisimulator.jobs.executors import Executor, Listener
    from bisimulator.jobs.spec import Spec

_SEEDS, _QUICK_SEEDS, _FAST_SEEDS = 10, 2, 5
_QUICK_STEPS = 40_000


@dataclasses.dataclass(frozen=True)
class JobOptions:
    """How jobs run and where they are stored."""

    seeds: int | None = None
    """independent repetitions, trained together; 10, 5 with --fast, or 2 with --quick"""
    steps: int | None = None
    """environment steps of training per seed; 400,000, a quarter of it with --fast, or a tenth with --quick"""
    episodes: int | None = None
    """evaluation episodes per seed; 5 by default"""
    greedy: Literal["yes", "no"] | None = None
    """evaluate the most probable action (yes) or sampled actions (no); by default a policy acts as it was learned, that
    is sampled with PPO and greedy with DQN"""
    view: Literal["queue", "life"] | None = None
    """episodes of training: the queue of all applicants, or the decisions about one person (life), which is the default
    with a goal and of some methods"""
    goal: tuple[str, ...] = ()
    """fairness goals to reach with the highest return, such as min-recall=0.9 credit-gap=2.5"""
    group_blind: bool = False
    """the policies do not see the group; goals are still measured by group"""
    curve_every: int | None = None
    """training steps between two evaluations of the learning curve, 10,000 by default; 0: no curve"""
    curve_episodes: int | None = None
    """episodes per seed of each of these evaluations; 5 by default"""
    quick: bool = False
    """for a first look: 2 seeds and a tenth of the steps"""
    fast: bool = False
    """for PPO on lives, also with a goal: 5 seeds, larger steps of learning and a quarter of the decisions; on lending
    within 3% of the provable optimum after a few seconds"""
    out: Path = Path("runs")
    """folder of the jobs; finished jobs are loaded, stopped ones are resumed"""
    executor: Literal["local", "ray"] = "local"
    """local: on all cores of this machine; ray: on a Ray cluster"""
    processes: int | None = None
    """worker processes of the local executor; by default one per core where that is worth starting them, 1: none, all
    work is done in this process"""
    ray_address: str | None = None
    """address of a running Ray cluster, such as auto; by default one is started on this machine"""
    json: bool = False
    """print one JSON object per line instead of text"""
    track: Literal["tensorboard"] | None = None
    """tensorboard: write event files to OUT/tensorboard"""

    @property
    def spec_fields(self) -> dict[str, Any]:
        """The fields of a job's spec."""
        usual: dict[str, Any] = {"seeds": _FAST_SEEDS if self.fast else _SEEDS}
        if self.quick:
            usual = {"seeds": _QUICK_SEEDS, "steps": _QUICK_STEPS}
        return usual | self.given_fields

    @property
    def given_fields(self) -> dict[str, Any]:
        """Those fields that were given on the command line."""
        fields: dict[str, Any] = {
            "seeds": self.seeds,
            "steps": self.steps,
            "episodes": self.episodes,
            "greedy": None if self.greedy is None else self.greedy == "yes",
            "view": self.view,
            "goal": self.goal or None,
            "group_blind": self.group_blind or None,
            "fast": self.fast or None,
            "curve_every": self.curve_every,
            "curve_episodes": self.curve_episodes,
        }
        return {name: value for name, value in fields.items() if value is not None}

    def paper_fields(self, seeds: int, share: float) -> dict[str, Any]:
        """Arguments of `plan_jobs` for a paper with so many seeds; `share` of its training steps with --quick."""
        quick = {"seeds": _QUICK_SEEDS, "share": share} if self.quick else {"seeds": seeds}
        return {**quick, **self.given_fields}

    def run(self, specs: Sequence[Spec], console: Console) -> Finished:
        """Run the jobs with a live view of their progress."""
        from bisimulator.api._running import run_jobs

        return run_jobs(
            specs,
            self.out,
            console,
            executor=self._executor(),
            as_json=self.json,
            listener=self._tracker(specs),
        )

    def _executor(self) -> Executor:
        from bisimulator.jobs.executors import run_locally

        if self.executor == "ray":
            from bisimulator.jobs._ray import run_on_ray

            if self.processes is not None:
                raise ValueError(
                    f"--processes {self.processes} is for --executor local; leave one of them out"
                )
            return partial(run_on_ray, address=self.ray_address)
        if self.ray_address is not None:
            raise ValueError(f"--ray-address {self.ray_address} needs --executor ray; add it")
        return partial(run_locally, processes=self.processes)

    def _tracker(self, specs: Sequence[Spec]) -> Listener | None:
        if self.track is None:
            return None
        from bisimulator.jobs.tensorboard import TensorBoard

        return TensorBoard(specs, self.out / "tensorboard")


def split_names(names: str | None) -> list[str] | None:
    """`a, b` -> ["a", "b"]."""
    return None if names is None else [name.strip() for name in names.split(",")]
