"""Values in units of their own mean and standard deviation, so that rewards of any size are learned alike (PopArt).

The critic's outputs are (value - mean) / sd of recent returns, separately for every stream. When mean and standard
deviation move, its last layer moves with them, so that the values stay as they are (van Hasselt et al., 2016).
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.policies import MLP

_RATE = 0.05  # weight of the newest batch, once there were 20


class ValueScale(eqx.Module):
    """Mean and standard deviation of the returns of every stream."""

    mean: Float[Array, "K"]
    sd: Float[Array, "K"]
    batches: Float[Array, ""]  # seen so far

    @staticmethod
    def start(streams: int) -> ValueScale:
        return ValueScale(jnp.zeros(streams), jnp.ones(streams), jnp.float32(0))

    def values(self, outputs: Float[Array, "*B K"]) -> Float[Array, "*B K"]:
        """What the critic's outputs stand for."""
        return outputs * self._like(self.sd, outputs) + self._like(self.mean, outputs)

    def outputs(self, values: Float[Array, "*B K"]) -> Float[Array, "*B K"]:
        """What the critic should say."""
        return (values - self._like(self.mean, values)) / self._like(self.sd, values)

    def update(self, critic: MLP, returns: Float[Array, "*B K"]) -> tuple[ValueScale, MLP]:
        """The scale after a batch, and the critic that says the same in it."""
        axes = tuple(range(returns.ndim - 1))
        rate = jnp.maximum(1 / (self.batches + 1), _RATE)
        mean = self.mean + rate * (returns.mean(axes) - self.mean)
        # around the new mean; a constant stream keeps a scale that nothing is divided by zero with
        around = returns - self._like(mean, returns)
        square = (1 - rate) * (self.sd**2 + (self.mean - mean) ** 2) + rate * (around**2).mean(axes)
        first = self.batches == 0
        sd = jnp.sqrt(jnp.maximum(jnp.where(first, (around**2).mean(axes), square), 1e-8))
        weights = critic.weights[-1] * (self.sd / sd)[None]
        biases = (critic.biases[-1] * self.sd + self.mean - mean) / sd
        moved: MLP = eqx.tree_at(lambda c: (c.weights[-1], c.biases[-1]), critic, (weights, biases))
        return ValueScale(mean, sd, self.batches + 1), moved

    def _like(self, number: Float[Array, "K"], array: Float[Array, "*B K"]) -> Float[Array, "*B K"]:
        return jnp.broadcast_to(number, array.shape)
