"""Small multilayer perceptrons as plain pytrees: orthogonal weights, tanh between the layers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bisimulator import files
from bisimulator.core import Act, Env
from bisimulator.errors import check_path
from bisimulator.policies._layers import perceptron
from bisimulator.policies.policy import Policy

# One weight from each of many groups to each unit would be most of a training's work, so the first layer takes more
# groups than this by fixed codes. What tells groups apart is then learned by the layers after it.
_MOST_WEIGHED = 32

_MAX_ROWS = 4096  # observations that are evaluated at once


class MLP(eqx.Module):
    weights: list[Float[Array, "I O"]]
    biases: list[Float[Array, "O"]]
    input_scale: float = eqx.field(static=True, default=1.0)
    coded: int = eqx.field(static=True, default=0)  # entries 1..coded are a group one-hot, taken by its code
    unseen: int = eqx.field(
        static=True, default=0
    )  # entries 1..unseen are a group one-hot, at which it does not look

    @property
    def inputs(self) -> int:
        return self.weights[0].shape[0] + self.coded + self.unseen

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        seen, code = self._inputs(x.reshape(-1, x.shape[-1]))
        return perceptron(seen, self.weights, self.biases, code).reshape(*x.shape[:-1], -1)

    def sharpened(self, factor: float | Float[Array, ""]) -> MLP:
        """The same network with its outputs times `factor`, so that their softmax is nearer to the largest one."""
        last = [x[-1] * factor for x in (self.weights, self.biases)]
        return dataclasses.replace(
            self, weights=[*self.weights[:-1], last[0]], biases=[*self.biases[:-1], last[1]]
        )

    def of_group(self, group: Int[Array, ""]) -> MLP:
        """The network of one of many groups, for observations without the group one-hot."""
        bias, *biases = self.biases
        if self.coded:
            bias = bias + self.input_scale * jnp.asarray(group_codes(self.coded, len(bias)))[group]
        return MLP(self.weights, [bias, *biases], self.input_scale)

    def _inputs(self, x: Float[Array, "B I"]) -> tuple[Float[Array, "B J"], Float[Array, "B H"] | None]:
        """What the first layer weighs, and what a group's code adds to its units."""
        scale = self.input_scale
        if self.unseen:
            x = jnp.concatenate([x[:, :1], x[:, 1 + self.unseen :]], -1)
        if not self.coded:
            return x * scale, None
        score, group, other = jnp.split(x, [1, 1 + self.coded], axis=-1)
        number = (group @ jnp.arange(self.coded, dtype=x.dtype)).astype(jnp.int32)  # faster than argmax
        codes = jnp.asarray(group_codes(self.coded, self.weights[0].shape[1]))
        return jnp.concatenate([score, other], -1) * scale, codes.at[number].get(mode="clip") * scale


@cache  # a network is traced, or called, more than once
def group_codes(groups: int, width: int) -> Float[np.ndarray, "G W"]:
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
    group_blind: bool = False,
) -> MLP:
    """Orthogonal initialisation, gain sqrt(2) inside and `output_scale` at the end, biases 0 (as CleanRL).

    `groups`: how many entries after the first are the group one-hot, as in every observation of ours; a `group_blind`
    network does not look at them. It begins as if it saw the same group all the time, so that its units begin at
    different scores, as those of a network that sees groups.
    """
    unseen = groups if group_blind else 0
    coded = groups if groups > _MOST_WEIGHED and hidden and not group_blind else 0
    constant = bool(unseen and hidden)  # one more entry, which is always 1
    sizes = (inputs - coded - unseen + constant, *hidden, outputs)
    scales = [2**0.5] * len(hidden) + [output_scale]
    keys = jax.random.split(key, len(scales))
    weights = [
        jax.nn.initializers.orthogonal(scale)(k, (i, o), jnp.float32)
        for k, scale, i, o in zip(keys, scales, sizes[:-1], sizes[1:], strict=True)
    ]
    biases = [jnp.zeros(o) for o in sizes[1:]]
    if constant:
        biases[0], weights[0] = weights[0][-1] * input_scale, weights[0][:-1]
    return MLP(weights, biases, input_scale, coded, unseen)


class Gaussian(eqx.Module):
    """Independent normal distributions; their standard deviations do not depend on the observation (as CleanRL)."""

    mean: MLP
    log_sd: Float[Array, "A"]

    def __call__(self, obs: Float[Array, "... D"]) -> Float[Array, "... A"]:
        return self.mean(obs)

    def sharpened(self, factor: float | Float[Array, ""]) -> Gaussian:
        """With standard deviations divided by `factor`."""
        return Gaussian(self.mean, self.log_sd - jnp.log(factor))

    def sample(self, key: Key[Array, ""], obs: Float[Array, "... D"]) -> Float[Array, "... A"]:
        """Actions, which may lie outside of the environment's bounds; steps clip them."""
        mean = self.mean(obs)
        return mean + self._broadcast(jnp.exp(self.log_sd), mean) * jax.random.normal(key, mean.shape)

    def log_prob(self, obs: Float[Array, "*B D"], action: Float[Array, "*B A"]) -> Float[Array, "*B"]:
        mean = self.mean(obs)
        log_sd = self._broadcast(self.log_sd, mean)
        z = (action - mean) / jnp.exp(log_sd)
        return -(z**2 / 2 + log_sd + math.log(2 * math.pi) / 2).sum(-1)

    def entropy(self) -> Float[Array, ""]:
        return (self.log_sd + math.log(2 * math.pi * math.e) / 2).sum()

    def _broadcast(self, value: Float[Array, "A"], like: Float[Array, "*B A"]) -> Float[Array, "*B A"]:
        return jnp.broadcast_to(value, like.shape)


class Categoricals(eqx.Module):
    """Independent numbered choices; the network has one output for each option of each of them."""

    outputs: MLP
    nvec: tuple[int, ...] = eqx.field(static=True)  # how many options each choice has

    def __call__(self, obs: Float[Array, "... D"]) -> Int[Array, "... A"]:
        """The most probable options."""
        return jnp.stack([logits.argmax(-1) for logits in self._logits(obs)], -1)

    def sharpened(self, factor: float | Float[Array, ""]) -> Categoricals:
        return Categoricals(self.outputs.sharpened(factor), self.nvec)

    def sample(self, key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "... A"]:
        keys = jax.random.split(key, len(self.nvec))
        drawn = [jax.random.categorical(k, x) for k, x in zip(keys, self._logits(obs), strict=True)]
        return jnp.stack(drawn, -1)

    def log_prob_and_entropy(
        self, obs: Float[Array, "*B D"], action: Int[Array, "*B A"]
    ) -> tuple[Float[Array, "*B"], Float[Array, "*B"]]:
        """The log probabilities of the actions, and the entropies."""
        chosen, entropy = jnp.zeros(obs.shape[:-1]), jnp.zeros(obs.shape[:-1])
        for i, logits in enumerate(self._logits(obs)):
            chosen += (logits * jax.nn.one_hot(action[..., i], logits.shape[-1])).sum(-1)
            entropy -= (jnp.exp(logits) * logits).sum(-1)
        return chosen, entropy

    def _logits(self, obs: Float[Array, "... D"]) -> list[Float[Array, "... N"]]:
        ends = np.cumsum(self.nvec)[:-1].tolist()
        return [jax.nn.log_softmax(part) for part in jnp.split(self.outputs(obs), ends, axis=-1)]


class Network(Policy):
    """A trained network from observations to one output per action: the largest one, or sampled by softmax.

    Of actions that are real numbers it has the mean of each: taken as it is, or as the mean of a normal distribution.
    """

    network: Callable[[Float[Array, "*B D"]], Float[Array, "*B A"]]
    greedy: bool = eqx.field(static=True, default=True)

    def bind(self, env: Env) -> Act:
        network = self.network
        if isinstance(network, Gaussian):
            low, high = env.action_space.bounds

            def act_in_bounds(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Float[Array, "... A"]:
                return jnp.clip(network(obs) if self.greedy else network.sample(key, obs), low, high)

            return act_in_bounds
        if isinstance(network, Categoricals):
            return lambda key, obs: network(obs) if self.greedy else network.sample(key, obs)

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            outputs = self.network(obs)
            return outputs.argmax(-1) if self.greedy else jax.random.categorical(key, outputs)

        return act

    def to_onnx(self, path: str | Path) -> None:
        """Write the network as an ONNX file, which onnxruntime runs without this library.

        Its input is `observations`, (people, numbers), as the environment makes them. Its outputs are `probabilities`,
        (people, actions), and `action`, the most probable one of each; a policy that is not greedy draws its actions by
        the probabilities.

        Raises:
            ValueError: if actions are real numbers, or the network is not an `MLP`.
            ImportError: if onnx is not installed (`pip install 'bisimulator[models]'`).

        Example:
            >>> result.policy(0).to_onnx("policy.onnx")
        """
        from bisimulator.policies.onnx_export import onnx_bytes

        if not isinstance(self.network, MLP):
            raise ValueError(
                f"to_onnx writes networks with discrete actions (MLP), got {type(self.network).__name__}; save the "
                "training instead: result.save(folder)"
            )
        files.write_bytes(check_path("path", path), onnx_bytes(self.network, greedy=self.greedy))

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        return _accept_probability(self.network, self.greedy, _accepting(env), obs)

    def accept_by_group(self, env: Env, rest: Float[Array, "B R"]) -> Float[Array, "G B"] | None:
        if not (isinstance(self.network, MLP) and self.network.coded + self.network.unseen):
            return None
        return _accept_by_group(self.network, self.greedy, _accepting(env), jnp.arange(env.num_groups), rest)


def _accepting(env: Env) -> Float[Array, "A"]:
    return env.scenario.accepts(jnp.arange(env.num_actions)).astype(jnp.float32)


@eqx.filter_jit  # compiled once for the networks of all seeds
def _accept_probability(
    network: Callable[[Float[Array, "*B D"]], Float[Array, "*B A"]],
    greedy: bool,
    accepting: Float[Array, "A"],
    obs: Float[Array, "*B D"],
) -> Float[Array, "*B"]:
    def probability(obs: Float[Array, "b D"]) -> Float[Array, "b"]:
        outputs = network(obs)
        return accepting[outputs.argmax(-1)] if greedy else jax.nn.softmax(outputs) @ accepting

    # in parts: products of more rows than fit into the cache are a thousand times slower
    rows = obs.reshape(-1, obs.shape[-1])
    parts = -(-len(rows) // _MAX_ROWS)
    padded = jnp.pad(rows, ((0, parts * _MAX_ROWS - len(rows)), (0, 0)))
    found: Float[Array, "P R"] = jax.lax.map(probability, padded.reshape(parts, _MAX_ROWS, -1))
    return found.reshape(-1)[: len(rows)].reshape(obs.shape[:-1])


@eqx.filter_jit
def _accept_by_group(
    network: MLP,
    greedy: bool,
    accepting: Float[Array, "A"],
    groups: Int[Array, "G"],
    rest: Float[Array, "B R"],
) -> Float[Array, "G B"]:
    def of_group(group: Int[Array, ""]) -> Float[Array, "B"]:
        return _accept_probability(network.of_group(group), greedy, accepting, rest)

    found: Float[Array, "G B"] = jax.lax.map(of_group, groups)
    return found
