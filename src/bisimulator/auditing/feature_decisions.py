"""Decisions by score, group and further columns of the data: asked for every person at every score.

A loan moves a person's score, and everything else about the person stays. So a model is asked once about each row of
the data at each bin of scores, and whoever is treated alike is one kind of people, whose numbers are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator import policies
from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.core import Env, Values
from bisimulator.exact.chain import why_no_chain
from bisimulator.exact.kinds import kinds_of
from bisimulator.people._bins import Feature, ScoredRows
from bisimulator.report.console import make_console

SCORE, GROUP = "score", "group"
_AT_ONCE = 100_000  # rows of the model's table, which bounds its memory

# column -> its values, one per row of the model's table
Inputs: TypeAlias = Mapping[str, Any]


def from_rows(
    name: str,
    description: str,
    decide: Callable[[Inputs], Float[Values, "N"]],
    env: Env,
    rows: ScoredRows,
    columns: Sequence[str],
    *,
    progress: bool = False,
) -> AuditedPolicy:
    """A policy of score, group and further columns, for the people of the data.

    Args:
        name: what it is called.
        description: what it does, without the full stop.
        decide: the probability that each is accepted, from all columns by name.
        env: the environment of these people.
        rows: the people.
        columns: what the policy looks at.
        progress: show how far it is.

    Raises:
        ValueError: if observed scores differ from true ones, or the people are not those of the environment.
    """
    reason = why_no_chain(env)
    if reason:
        raise ValueError(f"a model of further columns cannot be audited here: {reason}")
    edges = np.array(env.params.score_edges)
    accept = decide_for_all(decide, env, rows, progress=progress)
    kinds = kinds_of(rows.groups, rows.bin_of(edges), accept, env.num_groups)
    further = [column for column in columns if column in rows.features]
    given_group = any(column.partition("=")[0] == GROUP for column in columns)
    given_group |= any(_tells_group(rows.features[column], rows) for column in further)
    by_score = kinds.decided_by_score
    if by_score is not None:
        note = (
            f"No decision depends on {', '.join(further)}: equal groups and bins of scores are treated alike."
        )
        return AuditedPolicy(name, f"{description}.", env, policies.table(by_score), (note,))
    average = policies.table(np.nan_to_num(kinds.average))
    notes = _notes(len(rows.scores), len(edges) - 1, further)
    return AuditedPolicy(name, f"{description}.", env, average, notes, None, kinds, given_group)


def decide_for_all(
    decide: Callable[[Inputs], Float[Values, "N"]], env: Env, rows: ScoredRows, *, progress: bool = False
) -> Float[Values, "N C"]:
    """The decisions on each row of the data at each bin of scores."""
    scores = rows.scores_in_bins(np.array(env.params.score_edges))
    people, bins = scores.shape
    groups = np.array(env.group_names, object)[rows.groups]
    accept = np.empty((people, bins))
    size = max(_AT_ONCE // bins, 1)
    for start in _shown(range(0, people, size), progress):
        these = slice(start, start + size)
        inputs = {SCORE: scores[these].ravel(), GROUP: np.repeat(groups[these], bins)}
        inputs |= {name: np.repeat(values[these], bins) for name, values in rows.features.items()}
        accept[these] = np.asarray(decide(inputs), np.float64).reshape(-1, bins)
    return accept


def _shown(steps: Sequence[int], progress: bool) -> Iterator[int] | Iterable[int]:
    """The steps, with a progress bar on a terminal or in a notebook."""
    from rich.progress import track

    console = make_console(stderr=True)
    if not progress or not (console.is_terminal or console.is_jupyter):
        return steps
    return track(steps, "Asking the model about everybody", console=console, transient=True)


def _tells_group(feature: Feature, rows: ScoredRows) -> bool:
    """Whether it has one value in each group, and not the same in all."""
    values = [set(feature[rows.groups == g].tolist()) for g in range(rows.num_groups)]
    return all(len(own) == 1 for own in values) and len(set.union(*values)) > 1


def _notes(people: int, bins: int, further: Sequence[str]) -> tuple[str, ...]:
    names = ", ".join(further)
    return (
        f"The model looks at more than score and group ({names}). It was asked about each of the {people:,} people of "
        f"the data at each of the {bins} bins of scores: a loan moves the score to the same place in another bin, "
        "everything else about a person stays. People of an episode are drawn from the data; nothing is simulated.",
        f"At equal score and group everybody repays alike in this audit. What the other columns ({names}) tell about "
        "repayment beyond that does not count in the model's favour.",
    )
