"""Our own environments' omega as the settable observation parameters of the convention (`adapters.groups`)."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from bisimulator import core
from bisimulator.adapters.gymnasium._simulation import Simulation
from bisimulator.errors import check_array, check_shape


class ObservationParams:
    """For a class with an `env` and its `_simulation`."""

    env: core.Env
    _simulation: Simulation

    @property
    def num_groups(self) -> int:
        return self.env.num_groups

    @property
    def group_entries(self) -> range:
        """The entries of an observation that say the group."""
        return range(1, 1 + self.env.num_groups)

    @property
    def observation_params(self) -> NDArray[np.float32]:
        """omega, (groups, `observation_params_names`)."""
        return np.array(self.env.params.omega)

    @property
    def observation_params_bounds(self) -> tuple[float, float]:
        return self.env.omega_bounds

    @property
    def observation_params_names(self) -> tuple[str, ...]:
        return self.env.scenario.omega_names

    def set_observation_params(self, values: Any) -> None:
        """Other observation dynamics from the next decision on; what has been observed stays."""
        omega, now = check_array("observation_params", values, ndim=(2,)), self.env.params.omega
        check_shape("observation_params", omega, now.shape, "a row a group")
        low, high = self.observation_params_bounds
        if omega.min() < low or omega.max() > high:
            wrong = omega[(omega < low) | (omega > high)][0]
            raise ValueError(
                f"observation_params must lie in [{low:g}, {high:g}], got {wrong:g}; choose one inside"
            )
        self.env = self._simulation.env = self.env.with_omega(jnp.asarray(omega, now.dtype))
