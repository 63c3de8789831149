"""Observations and actions of any Gymnasium space as the arrays that the losses take.

A row is (score, group one-hot, all other observed entries), like the observations of the library's own environments.
Entries with bounds are scaled to 0..1; entries without are standardised once, by the first batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from gymnasium import spaces
from jaxtyping import PyTree
from numpy.typing import ArrayLike, NDArray

from bisimulator.errors import check_int

Observations: TypeAlias = PyTree[ArrayLike]  # arrays with one leading axis
ScoreFunction: TypeAlias = Callable[[Observations], ArrayLike]
Score: TypeAlias = int | str | ScoreFunction | None
Rows: TypeAlias = NDArray[np.float32]

_MAX_ACTIONS = 1024  # each action is an output of the network, and a cell in which people are matched
_UNBOUNDED = 1e6  # bounds beyond this do not tell which values are usual


class Encoding:
    """Encodes decisions of one environment.

    Args:
        observation_space: of a single environment.
        action_space: of a single environment.
        num_groups: how many groups there are.
        score: what people are sorted by when they are matched: an entry of the flattened observation, a key of a dict
            observation or a function of a batch of observations. By default the first entry.
        group_entries: entries of the flattened observation that only repeat the group.
        reject: the action that rejects a person, by default the first.
    """

    def __init__(
        self,
        observation_space: spaces.Space[object],
        action_space: spaces.Space[object],
        num_groups: int,
        *,
        score: Score = None,
        group_entries: Sequence[int] = (),
        reject: ArrayLike | None = None,
    ) -> None:
        self.observation_space = observation_space
        self.num_groups = check_int("num_groups", num_groups, min=2)
        self._flat = flat_box(observation_space)
        self._sizes, self._starts = _action_sizes(action_space)
        self.num_actions = int(np.prod(self._sizes))
        self._reject = 0
        if reject is not None:
            self._reject = int(self.actions(np.asarray(reject)[None])[0])
        self.score = check_score(score, observation_space)
        left_out = {int(i) for i in group_entries}
        if isinstance(self.score, int):
            left_out.add(self.score)
        size = self._flat.shape[0]
        wrong = [i for i in left_out if not 0 <= i < size]
        if wrong:
            raise ValueError(
                f"score and group_entries must be entries of the flattened observation, 0 to {size - 1}, "
                f"got {wrong[0]}; pass score=0, for example"
            )
        self._other_entries = np.array([i for i in range(size) if i not in left_out], np.intp)
        self.size = 1 + num_groups + self._other_entries.size
        self.shift, self.scale = self._scaling_from_bounds()

    def rows(self, observations: Observations, group: ArrayLike) -> Rows:
        """One row per decision, scaled as far as the scaling is known."""
        groups = np.asarray(group)
        flat = flatten_batch(self.observation_space, observations, groups.size)
        one_hot = np.eye(self.num_groups, dtype=np.float32)[groups]
        entries = (self._scores(observations, flat)[:, None], one_hot, flat[:, self._other_entries])
        scale = np.where(np.isnan(self.scale), 1, self.scale)
        return ((np.concatenate(entries, 1) - self.shift) / scale).astype(np.float32)

    def fit_scaling(self, rows: Rows) -> Rows:
        """Fix the scaling of entries without bounds by these rows; returns the rows in that scaling."""
        unbounded = np.isnan(self.scale)
        mean, sd = rows.mean(0), rows.std(0)
        self.shift = np.where(unbounded, mean, self.shift).astype(np.float32)
        self.scale = np.where(unbounded, np.maximum(sd, 1e-6), self.scale).astype(np.float32)
        return np.where(unbounded, (rows - self.shift) / self.scale, rows).astype(np.float32)

    @property
    def is_fitted(self) -> bool:
        """Whether the scaling of every entry is known."""
        return not np.isnan(self.scale).any()

    def actions(self, actions: ArrayLike) -> NDArray[np.int32]:
        """Actions as numbers 0, 1, ... of which 0 rejects; several numbers per action become one."""
        array = np.asarray(actions)
        columns = array.astype(np.int64).reshape(len(array), -1) - self._starts
        index: NDArray[np.int32] = np.ravel_multi_index(tuple(columns.T), tuple(self._sizes)).astype(np.int32)
        if self._reject:  # the rejecting action and 0 swap places
            index = np.where(index == self._reject, 0, np.where(index == 0, self._reject, index))
        return index.astype(np.int32)

    def _scores(self, observations: Observations, flat: Rows) -> Rows:
        if isinstance(self.score, int):
            return flat[:, self.score]
        if isinstance(self.score, str):
            return np.asarray(observations[self.score], np.float32).reshape(len(flat), -1)[:, 0]
        score = np.asarray(self.score(observations), np.float32)
        if score.shape != (len(flat),):
            raise ValueError(
                f"score must return one number for each of {len(flat)} observations, got shape {score.shape}; "
                "observations have a leading axis: pass score=lambda obs: obs[:, 3], for example"
            )
        return score

    def _scaling_from_bounds(self) -> tuple[Rows, Rows]:
        """Shift and scale of every entry of a row; the scale is NaN if there are no bounds."""
        low, high = self._flat.low.astype(np.float64), self._flat.high.astype(np.float64)
        bounded = (low > -_UNBOUNDED) & (high < _UNBOUNDED) & (high > low)
        shift, scale = np.where(bounded, low, 0), np.where(bounded, high - low, np.nan)
        first_shift, first_scale = 0.0, np.nan
        if isinstance(self.score, int):
            first_shift, first_scale = shift[self.score], scale[self.score]
        others, groups = self._other_entries, self.num_groups
        row_shift = np.concatenate([[first_shift], np.zeros(groups), shift[others]])
        row_scale = np.concatenate([[first_scale], np.ones(groups), scale[others]])
        return row_shift.astype(np.float32), row_scale.astype(np.float32)


def flat_box(space: spaces.Space[object]) -> spaces.Box[np.floating | np.integer]:
    """The observation space as one row of numbers; raises if it has no fixed size."""
    flat = spaces.utils.flatten_space(space) if space.is_np_flattenable else None
    if not isinstance(flat, spaces.Box):
        raise ValueError(
            f"observations must have a fixed number of entries, got {space}; wrap the environment in "
            "gymnasium.wrappers.TransformObservation, for example with spaces.Box(0, 1, (3,)) as its space"
        )
    return flat


def check_score(score: Score, space: spaces.Space[object]) -> int | str | ScoreFunction:
    if score is None:
        if isinstance(space, spaces.Box) and len(space.shape) == 1:
            return 0
        raise ValueError(
            f"score must say by which number people are matched, because observations are {space}, got None; "
            'pass score="income" (a key), score=0 (an entry of the flattened observation) or '
            "score=lambda obs: obs[:, 0]"
        )
    if isinstance(score, str):
        keys = list(space.spaces) if isinstance(space, spaces.Dict) else []
        if score not in keys:
            names = ", ".join(map(repr, keys)) or "none, because observations are not a Dict"
            raise ValueError(f"score must be a key of the observation, got {score!r}; its keys are: {names}")
        return score
    return score if callable(score) else check_int("score", score, min=0)


def flatten_batch(space: spaces.Space[object], values: Observations, number: int) -> Rows:
    """`gymnasium.spaces.utils.flatten` for a batch of `number` observations."""
    if isinstance(space, spaces.Dict):
        columns = [flatten_batch(inner, values[key], number) for key, inner in space.spaces.items()]
        return np.concatenate(columns, 1)
    if isinstance(space, spaces.Tuple):
        columns = [
            flatten_batch(inner, value, number) for inner, value in zip(space.spaces, values, strict=True)
        ]
        return np.concatenate(columns, 1)
    array = np.asarray(values).reshape(number, -1)
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[array[:, 0].astype(np.int64) - int(space.start)]
    if isinstance(space, spaces.MultiDiscrete):
        index = array.astype(np.int64) - space.start.reshape(-1)
        one_hot = [np.eye(n, dtype=np.float32)[index[:, i]] for i, n in enumerate(space.nvec.reshape(-1))]
        return np.concatenate(one_hot, 1)
    return array.astype(np.float32)


def _action_sizes(space: spaces.Space[object]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many values each number of an action can have, and the smallest of them."""
    if isinstance(space, spaces.Discrete):
        sizes, starts = np.array([space.n]), np.array([space.start])
    elif isinstance(space, spaces.MultiDiscrete):
        sizes, starts = space.nvec.reshape(-1), space.start.reshape(-1)
    elif isinstance(space, spaces.MultiBinary):
        sizes, starts = np.full(int(np.prod(space.shape)), 2), np.zeros(int(np.prod(space.shape)), np.int64)
    else:
        raise ValueError(
            f"actions must be Discrete, MultiDiscrete or MultiBinary, got {space}: people are compared with people who "
            "got the same decision, and continuous decisions are never the same; discretise them, for example to "
            "spaces.Discrete(5)"
        )
    number = np.prod(sizes.astype(float))
    if number > _MAX_ACTIONS:
        raise ValueError(
            f"there can be at most {_MAX_ACTIONS} different actions, got {number:.0f} in {space}; "
            "decide on fewer things at once, for example with spaces.Discrete(2)"
        )
    return sizes.astype(np.int64), starts.astype(np.int64)
