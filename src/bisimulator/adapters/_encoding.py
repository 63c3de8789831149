"""People as numbers: any observation and action space to the arrays that the losses take.

A row is (score, group one-hot, everything else that is observed), as our own environments' observations are. Entries
with bounds are brought to 0..1; entries without are standardised once, by the first batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from bisimulator.errors import check_int

Score = int | str | Callable[[Any], Any] | None
Rows = NDArray[np.float32]

_MOST_ACTIONS = 1024  # each action is an output of the network, and a cell in which people are matched
_UNBOUNDED = 1e6  # bounds beyond this say nothing about what values are usual


class Encoding:
    """`score`: by what people are matched, an index, a key of a dict observation or a function of observations.

    `group_entries` are the entries of the flattened observation that only repeat the group. `reject` is the action that
    turns a person down, from which the gauge counts.
    """

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        num_groups: int,
        *,
        score: Score = None,
        group_entries: Sequence[int] = (),
        reject: Any = None,
    ):
        self.observation_space = observation_space
        self.num_groups = check_int("num_groups", num_groups, min=2)
        self._flat = flat_box(observation_space)
        self._sizes, self._starts = _action_sizes(action_space)
        self.num_actions = int(np.prod(self._sizes))
        self._reject = 0
        if reject is not None:
            self._reject = int(self.actions(np.asarray(reject)[None])[0])
        self.score = check_score(score, observation_space)
        hidden = {int(i) for i in group_entries}
        if isinstance(self.score, int):
            hidden.add(self.score)
        wrong = [i for i in hidden if not 0 <= i < self._flat.shape[0]]
        if wrong:
            raise ValueError(
                f"the observation has {self._flat.shape[0]} entries, so there is no entry {wrong[0]}; "
                "count from 0 in the flattened observation"
            )
        self._kept = np.array([i for i in range(self._flat.shape[0]) if i not in hidden], np.intp)
        self.size = 1 + num_groups + self._kept.size
        self.shift, self.scale = self._from_bounds()

    def rows(self, observations: Any, group: NDArray[Any]) -> Rows:
        """One row a person; the observations have one leading axis. Scaled as far as the scaling is known."""
        group = np.asarray(group)
        flat = flatten_batch(self.observation_space, observations, group.size)
        one_hot = np.eye(self.num_groups, dtype=np.float32)[group]
        parts = (self._scores(observations, flat)[:, None], one_hot, flat[:, self._kept])
        scale = np.where(np.isnan(self.scale), 1, self.scale)
        return ((np.concatenate(parts, 1) - self.shift) / scale).astype(np.float32)

    def settle(self, rows: Rows) -> Rows:
        """Fix the scaling of entries without bounds by these rows; returns the rows in that scaling."""
        open_ended = np.isnan(self.scale)
        mean, sd = rows.mean(0), rows.std(0)
        self.shift = np.where(open_ended, mean, self.shift).astype(np.float32)
        self.scale = np.where(open_ended, np.maximum(sd, 1e-6), self.scale).astype(np.float32)
        return np.where(open_ended, (rows - self.shift) / self.scale, rows).astype(np.float32)

    @property
    def settled(self) -> bool:
        return not np.isnan(self.scale).any()

    def actions(self, actions: Any) -> NDArray[np.int32]:
        """Actions as numbers 0, 1, ... of which 0 rejects; several numbers at once become one."""
        array = np.asarray(actions).astype(np.int64).reshape(len(actions), -1) - self._starts
        index = np.ravel_multi_index(tuple(array.T), tuple(self._sizes)).astype(np.int32)
        if self._reject:  # that action and 0 change places
            index = np.where(index == self._reject, 0, np.where(index == 0, self._reject, index))
        return index.astype(np.int32)

    def _scores(self, observations: Any, flat: Rows) -> Rows:
        if isinstance(self.score, int):
            return flat[:, self.score]
        if isinstance(self.score, str):
            return np.asarray(observations[self.score], np.float32).reshape(len(flat), -1)[:, 0]
        score = np.asarray(self.score(observations), np.float32)
        if score.shape != (len(flat),):
            raise ValueError(
                f"score must give one number for each of {len(flat)} observations, got shape {score.shape}; "
                "observations come with a leading axis, as in `lambda obs: obs[:, 3]`"
            )
        return score

    def _from_bounds(self) -> tuple[Rows, Rows]:
        """Shift and scale of every entry of a row; the scale is NaN where there are no bounds."""
        low, high = self._flat.low.astype(np.float64), self._flat.high.astype(np.float64)
        bounded = (low > -_UNBOUNDED) & (high < _UNBOUNDED) & (high > low)
        shift, scale = np.where(bounded, low, 0), np.where(bounded, high - low, np.nan)
        first = (shift[self.score], scale[self.score]) if isinstance(self.score, int) else (0.0, np.nan)
        groups = np.zeros(self.num_groups), np.ones(self.num_groups)
        rows = [np.concatenate([[first[i]], groups[i], (shift, scale)[i][self._kept]]) for i in (0, 1)]
        return rows[0].astype(np.float32), rows[1].astype(np.float32)


def flat_box(space: spaces.Space[Any]) -> spaces.Box[Any]:
    """The observation space as one row of numbers, or a refusal."""
    flat = spaces.utils.flatten_space(space) if space.is_np_flattenable else None
    if not isinstance(flat, spaces.Box):
        raise ValueError(
            f"observations must have a fixed number of entries, got {space}; "
            "put a gymnasium.wrappers.TransformObservation around the environment that gives a Box or a Dict of Boxes"
        )
    return flat


def check_score(score: Score, space: spaces.Space[Any]) -> int | str | Callable[[Any], Any]:
    if score is None:
        if isinstance(space, spaces.Box) and len(space.shape) == 1:
            return 0
        raise ValueError(
            f"by what are people matched? observations are {space}, which has no first number that could be a score; "
            'pass score=: a key as "income", a place in the flattened observation, or a function of observations'
        )
    if isinstance(score, str):
        if not isinstance(space, spaces.Dict) or score not in space.spaces:
            keys = ", ".join(map(repr, space.spaces)) if isinstance(space, spaces.Dict) else "none"
            raise ValueError(f"the observation has no key {score!r}; its keys are: {keys}")
        return score
    return score if callable(score) else check_int("score", score, min=0)


def flatten_batch(space: spaces.Space[Any], values: Any, number: int) -> Rows:
    """`gymnasium.spaces.utils.flatten` of every observation of a batch (arrays with a leading axis)."""
    if isinstance(space, spaces.Dict):
        parts = [flatten_batch(inner, values[key], number) for key, inner in space.spaces.items()]
        return np.concatenate(parts, 1)
    if isinstance(space, spaces.Tuple):
        parts = [flatten_batch(inner, part, number) for inner, part in zip(space.spaces, values, strict=True)]
        return np.concatenate(parts, 1)
    array = np.asarray(values).reshape(number, -1)
    if isinstance(space, spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[array[:, 0].astype(np.int64) - int(space.start)]
    if isinstance(space, spaces.MultiDiscrete):
        whole = array.astype(np.int64) - space.start.reshape(-1)
        hot = [np.eye(n, dtype=np.float32)[whole[:, i]] for i, n in enumerate(space.nvec.reshape(-1))]
        return np.concatenate(hot, 1)
    return array.astype(np.float32)


def _action_sizes(space: spaces.Space[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many values each of an action's numbers can have, and the least of them."""
    if isinstance(space, spaces.Discrete):
        sizes, starts = np.array([space.n]), np.array([space.start])
    elif isinstance(space, spaces.MultiDiscrete):
        sizes, starts = space.nvec.reshape(-1), space.start.reshape(-1)
    elif isinstance(space, spaces.MultiBinary):
        sizes, starts = np.full(int(np.prod(space.shape)), 2), np.zeros(int(np.prod(space.shape)), np.int64)
    else:
        raise ValueError(
            f"actions must be Discrete, MultiDiscrete or MultiBinary, got {space}: people are compared with people "
            "who got the same decision, and continuous decisions are never the same; cut them into a few steps"
        )
    if np.prod(sizes.astype(float)) > _MOST_ACTIONS:
        raise ValueError(
            f"there are {np.prod(sizes.astype(float)):.0f} different actions, and at most {_MOST_ACTIONS} "
            "can be compared; decide on fewer things at once"
        )
    return sizes.astype(np.int64), starts.astype(np.int64)
