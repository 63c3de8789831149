"""omega of the library's environments as the observation parameters of the convention in `adapters.group_info`."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bisimulator import core
from bisimulator.adapters.gymnasium._batched_env import BatchedEnv
from bisimulator.errors import check_array, check_shape


class ObservationParamsMixin:
    """Implements `AdjustableEnv` for a class with an `env` and its `_batch`."""

    env: core.Env
    _batch: BatchedEnv

    @property
    def num_groups(self) -> int:
        return self.env.num_groups

    @property
    def decisions_per_person(self) -> float:
        """How often a person is decided on, on average."""
        return self.env.horizon / self.env.params.population

    @property
    def group_entries(self) -> range:
        """The entries of an observation that encode the group; none if a step decides on all groups."""
        return range(1, 1 + self.env.num_groups * self.env.scenario.applicants)

    @property
    def observation_params(self) -> NDArray[np.float32]:
        """omega, (groups, `observation_params_names`)."""
        return np.array(self.env.params.omega)

    @property
    def observation_params_bounds(self) -> tuple[float, float]:
        return self.env.omega_bounds

    @property
    def observation_params_names(self) -> tuple[str, ...]:
        """What the columns of `observation_params` mean."""
        return self.env.scenario.omega_names

    def set_observation_params(self, values: ArrayLike) -> None:
        """Change the observation dynamics from the next decision on; earlier observations stay as they are.

        Args:
            values: omega, one row per group and one column per `observation_params_names`.

        Raises:
            ValueError: if the shape is wrong or a value lies outside `observation_params_bounds`.

        Example:
            >>> env.set_observation_params([[1.0, 1.0], [1.5, 0.5]])
        """
        omega, current = check_array("observation_params", values, ndim=(2,)), self.env.params.omega
        check_shape("observation_params", omega, current.shape, "one row per group")
        low, high = self.observation_params_bounds
        if ((omega < low) | (omega > high)).any():
            wrong = omega[(omega < low) | (omega > high)][0]
            raise ValueError(
                f"observation_params must lie in [{low:g}, {high:g}], got {wrong:g}; pass {high:g}, for example"
            )
        self.env = self._batch.env = self.env.with_omega(jnp.asarray(omega, current.dtype))
