"""Jobs in TensorBoard: training as it goes, and each learning curve when its job is finished."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bisimulator import registry
from bisimulator.jobs.executors import Event
from bisimulator.jobs.spec import Spec


class TensorBoard:
    """A listener that writes event files below `folder`, one run per job."""

    def __init__(self, specs: Sequence[Spec], folder: Path):
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise ValueError(
                "--track tensorboard needs tensorboardX; install it with: pip install 'bisimulator[track]'"
            ) from None
        self._make = SummaryWriter
        self._specs, self._folder = specs, folder
        self._writers: dict[int, Any] = {}

    def __call__(self, event: Event) -> None:
        if event.progress is not None:
            p, writer = event.progress, self._writer(event.job)
            writer.add_scalar("training/return", p.episode_return, p.steps)
            for name, value in p.diagnostics.items():  # as CleanRL groups them
                writer.add_scalar(f"losses/{name}", value, p.steps)
            rate = registry.lookup("environment", self._specs[event.job].scenario).main_rate
            for group, value in enumerate(p.recall, start=1):
                writer.add_scalar(f"training/{rate}_g{group}", value, p.steps)
        if event.result is not None and event.result.curves is not None:
            writer = self._writer(event.job)
            for metric, values in event.result.curves.values.items():
                for steps, seeds in zip(event.result.curves.steps, values, strict=True):
                    known = seeds[~np.isnan(seeds)]
                    if known.size:
                        writer.add_scalar(f"evaluation/{metric}", float(known.mean()), int(steps))
        if event.kind in ("kept", "finished", "failed") and event.job in self._writers:
            self._writers.pop(event.job).close()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()

    def _writer(self, job: int) -> Any:
        if job not in self._writers:
            self._writers[job] = self._make(str(self._folder / self._specs[job].name))
        return self._writers[job]
