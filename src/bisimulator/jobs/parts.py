"""A job in parts, one per seed, that other machines can run: joined, they are the job as if it had run in one piece.

Each seed trains and is evaluated in a program of its own, so its numbers do not depend on the other seeds.
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from bisimulator import files
from bisimulator.core import Outcome
from bisimulator.jobs._lock import only_one
from bisimulator.jobs.learning_curves import Curves
from bisimulator.jobs.seal import CONFIG, PARTS
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result, load, save, weight_shapes, with_weights


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the job at index `job` of a list: a job of its own, stored below the folder of the whole one."""

    job: int
    index: int
    out: Path
    spec: Spec = dataclasses.field(compare=False)
    job_folder: Path = dataclasses.field(compare=False)  # of the whole job

    @property
    def folder(self) -> Path:
        return self.out / self.spec.name


def parts_of(job: int, spec: Spec, out: Path) -> list[Part]:
    """One part per seed of a training. A rule has nothing to train and stays whole, as does a single seed."""
    whole = out / spec.name
    if spec.solver is None or len(spec.seeds) == 1:
        return [Part(job, 0, out, spec, whole)]
    return [
        Part(job, i, whole / PARTS, dataclasses.replace(spec, seeds=(seed,)), whole)
        for i, seed in enumerate(spec.seeds)
    ]


def join_stored(job: int, spec: Spec, out: Path) -> tuple[Result | None, list[Part]]:
    """The result from the stored parts of a job, which it replaces; or None, and the parts that are not whole."""
    parts, folder = parts_of(job, spec, out), out / spec.name
    kept = load(folder, spec)  # there is only one part, or another command was faster
    if kept is not None:
        return kept, []
    found = [load(part.folder, part.spec) for part in parts]
    missing = [part for part, result in zip(parts, found, strict=True) if result is None]
    if missing:
        return None, missing
    like = weight_shapes(parts[0].spec)
    joined = join(spec, [with_weights(result, like) for result in found if result is not None])
    with only_one(folder, patience=float("inf")):
        files.write_json(folder / CONFIG, spec.to_dict())
        save(joined, folder)
        shutil.rmtree(folder / PARTS, ignore_errors=True)
    return joined, []


def join(spec: Spec, parts: Sequence[Result]) -> Result:
    """The job's result from those of its parts, in the order of its seeds."""
    outcome: Outcome = jax.tree.map(lambda *shards: np.concatenate(shards), *(part.outcome for part in parts))
    curves = [part.curves for part in parts if part.curves is not None]
    return Result(
        spec,
        outcome,
        {name: np.concatenate([part.learned[name] for part in parts]) for name in parts[0].learned},
        _join_curves(curves) if curves else None,
        seconds=sum(part.seconds for part in parts),
        weights=[shard for part in parts for shard in part.weights or ()],
    )


def _join_curves(curves: Sequence[Curves]) -> Curves:
    names = curves[0].values
    return Curves(
        curves[0].steps, {name: np.concatenate([c.values[name] for c in curves], axis=1) for name in names}
    )
