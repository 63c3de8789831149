"""The one way in which jobs are run: by an executor, with a live view of their progress."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from bisimulator import registry
from bisimulator.core import Env
from bisimulator.errors import JobsFailed, check_bool, check_path, shown
from bisimulator.jobs.executors import Event, Executor, Listener, run_locally
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result
from bisimulator.report.console import SafeConsole
from bisimulator.report.progress import JobStates, progress_view


@dataclasses.dataclass(frozen=True)
class Finished:
    """The results of some jobs, in their order."""

    results: list[Result]
    failures: dict[str, str]  # title of a job -> why it failed
    seconds: float  # of training and evaluation, over all starts

    def raise_failures(self) -> None:
        """Raise if a job failed, once the others are reported."""
        if self.failures:
            reasons = "; ".join(f"{title}: {reason}" for title, reason in self.failures.items())
            total = len(self.results) + len(self.failures)
            raise JobsFailed(f"{len(self.failures)} of {total} jobs failed: {reasons}")


def run_jobs(
    specs: Sequence[Spec],
    out: Path,
    console: Console | None,
    *,
    executor: Executor = run_locally,
    as_json: bool = False,
    listener: Listener | None = None,
) -> Finished:
    """Run jobs, or load those that are finished, and show their progress; `console` None: silently.

    Every job is checked before the first one runs. One that fails does not stop the others.
    """
    for spec in specs:
        spec.make_env()
    states = JobStates(specs)
    with progress_view(states, console, as_json) as show:

        def tell(event: Event) -> None:
            show(event)
            if listener is not None:
                listener(event)

        results = executor(specs, out, tell)
    return Finished(
        results=[result for result in results if result is not None],
        failures={job.title: job.message for job in states.jobs if job.state == "failed"},
        seconds=sum(job.seconds for job in states.jobs),
    )


@contextmanager
def job_folder(out: str | Path | None) -> Iterator[Path]:
    """Where jobs are stored; with None, a temporary folder that is gone afterwards."""
    if out is not None:
        yield check_path("out", out)
        return
    with tempfile.TemporaryDirectory(prefix="bisimulator-") as folder:
        yield Path(folder)


def console_of(progress: bool) -> Console | None:
    """A terminal or notebook to show progress on."""
    return SafeConsole(stderr=True) if check_bool("progress", progress) else None


def scenario_of(env: Env | str) -> tuple[str, dict[str, object]]:
    """The name and the settings of an environment, by which a job stores it."""
    if isinstance(env, str):
        registry.lookup("environment", env)
        return env, {}
    if not isinstance(env, Env):
        raise TypeError(f"env must be a name or come from bisimulator.make, got {shown(env)}")
    if env.name not in registry.names("environment"):
        raise ValueError(
            f"the environment {env.name!r} is not registered, so a job could not be resumed; call "
            f"bisimulator.register('environment', {env.name!r}, scenario) first"
        )
    return env.name, dict(env.settings)


def warn_of_failures(finished: Finished) -> None:
    for title, reason in finished.failures.items():
        warnings.warn(f"{title} failed: {reason}", stacklevel=4)
