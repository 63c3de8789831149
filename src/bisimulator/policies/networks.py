"""Small multilayer perceptrons as plain pytrees: orthogonal weights, tanh between the layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Act, Env
from bisimulator.policies.policy import Policy

# One weight from each of many groups to each unit would be most of a training's work, so the first layer takes more
# groups than this by fixed codes. What tells groups apart is then learned by the layers after it.
_MOST_WEIGHED = 32


class MLP(eqx.Module):
    weights: list[Float[Array, "I O"]]
    biases: list[Float[Array, "O"]]
    input_scale: float = eqx.field(static=True, default=1.0)
    coded: int = eqx.field(static=True, default=0)  # entries 1..coded are a group one-hot, taken by its code

    @property
    def inputs(self) -> int:
        return self.weights[0].shape[0] + self.coded

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        x = self._first(x)
        for w, b in zip(self.weights[1:], self.biases[1:], strict=True):
            x = _affine(jnp.tanh(x), w, b)
        return x

    def _first(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        w, b, scale = self.weights[0], self.biases[0], self.input_scale
        if not self.coded:
            return _affine(x * scale, w, b)
        score, group, other = jnp.split(x, [1, 1 + self.coded], axis=-1)
        number = (group @ jnp.arange(self.coded, dtype=x.dtype)).astype(jnp.int32)  # faster than argmax
        code = jnp.asarray(_codes(self.coded, w.shape[1])).at[number].get(mode="clip")
        return _affine(jnp.concatenate([score, other], -1) * scale, w, b) + code * scale


def _affine(x: Float[Array, "... I"], w: Float[Array, "I O"], b: Float[Array, "O"]) -> Float[Array, "... O"]:
    out = x @ w
    return out + jnp.broadcast_to(b, out.shape)


@cache  # a network is traced, or called, more than once
def _codes(groups: int, width: int) -> Float[np.ndarray, "G W"]:
    """What the weights of a first layer's one-hot entries would be at the start: orthogonal, of length sqrt(2)."""
    drawn = np.random.default_rng(0).normal(size=(max(groups, width), min(groups, width)))
    q = np.linalg.qr(drawn)[0]
    codes = (2**0.5 * (q if groups > width else q.T)).astype(np.float32)
    codes.setflags(write=False)
    return codes


def make_mlp(
    key: Key[Array, ""],
    inputs: int,
    hidden: Sequence[int],
    outputs: int,
    output_scale: float,
    input_scale: float = 1.0,
    *,
    groups: int = 0,
) -> MLP:
    """Orthogonal initialisation, gain sqrt(2) inside and `output_scale` at the end, biases 0 (as CleanRL).

    `groups`: how many entries after the first are the group one-hot, as in every observation of ours.
    """
    coded = groups if groups > _MOST_WEIGHED and hidden else 0
    sizes = (inputs - coded, *hidden, outputs)
    scales = [2**0.5] * len(hidden) + [output_scale]
    keys = jax.random.split(key, len(scales))
    weights = [
        jax.nn.initializers.orthogonal(scale)(k, (i, o), jnp.float32)
        for k, scale, i, o in zip(keys, scales, sizes[:-1], sizes[1:], strict=True)
    ]
    return MLP(weights, [jnp.zeros(o) for o in sizes[1:]], input_scale, coded)


class Network(Policy):
    """A trained network from observations to one output per action: the largest one, or sampled by softmax."""

    network: Callable[[Float[Array, "*B D"]], Float[Array, "*B A"]]
    greedy: bool = eqx.field(static=True, default=True)

    def bind(self, env: Env) -> Act:
        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            outputs = self.network(obs)
            return outputs.argmax(-1) if self.greedy else jax.random.categorical(key, outputs)

        return act

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        outputs = self.network(obs)
        if self.greedy:
            return env.scenario.accepts(outputs.argmax(-1)).astype(jnp.float32)
        accepting = env.scenario.accepts(jnp.arange(outputs.shape[-1])).astype(jnp.float32)
        return jax.nn.softmax(outputs) @ accepting
