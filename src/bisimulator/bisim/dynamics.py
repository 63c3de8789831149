"""The learned dynamics T_psi and the loss J_dyn of the observation dynamics (eqs. 10 and 11).

T_psi(s' | s, a, g) is a normal distribution over the next observation of the same applicant. J_dyn compares the next
observations of matched decisions on different groups. It depends on omega only through the data.
"""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.bisim.matching import match_quantiles
from bisimulator.policies.networks import MLP, make_mlp

_MIN_LOG_SD, _MAX_LOG_SD = -5.0, 1.0

DynamicsModel: TypeAlias = tuple[MLP, optax.OptState]  # psi, and the state of its optimizer


def make_dynamics(
    key: Key[Array, ""],
    observation: int,
    actions: int,
    hidden: tuple[int, ...],
    *,
    groups: int = 0,
) -> MLP:
    """Make psi, from observation and action one-hot to the mean change and log standard deviation of each feature."""
    return make_mlp(key, observation + actions, hidden, 2 * observation, 0.01, groups=groups)


def predict(
    psi: MLP, obs: Float[Array, "*B D"], action: Int[Array, "*B"]
) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
    """Mean and standard deviation of the next observation of the same applicant."""
    actions = psi.inputs - obs.shape[-1]
    out = psi(jnp.concatenate([obs, jax.nn.one_hot(action, actions)], -1))
    change, log_sd = jnp.split(out, 2, axis=-1)
    return obs + change, jnp.exp(jnp.clip(log_sd, _MIN_LOG_SD, _MAX_LOG_SD))


def straight_through(x: Float[Array, "*B"], grid: float | Float[Array, "*B"]) -> Float[Array, "*B"]:
    """Round x to multiples of `grid` (0: do not round), with the gradient of x itself."""
    grid = jnp.broadcast_to(grid, x.shape)
    safe = jnp.where(grid > 0, grid, 1.0)
    rounded = jnp.where(grid > 0, jnp.round(x / safe) * safe, x)
    return x + jax.lax.stop_gradient(rounded - x)


def nll(
    psi: MLP,
    obs: Float[Array, "B D"],
    action: Int[Array, "B"],
    next_obs: Float[Array, "B D"],
    *,
    grid: float | Float[Array, "D"] = 0.0,
    weight: Float[Array, "B"] | None = None,
) -> Float[Array, ""]:
    """Negative log-likelihood of the next observations, up to a constant.

    With `grid`, predicted means are rounded to possible values of discrete features, with a straight-through gradient
    (the paper). Without rounding, the default, a mean between two scores is learned as it is instead of being pushed to
    where the rounding changes.
    """
    mean, sd = predict(psi, obs, action)
    error = (next_obs - straight_through(mean, jnp.broadcast_to(grid, mean.shape))) / sd
    each = (0.5 * error**2 + jnp.log(sd)).sum(-1)
    return each.mean() if weight is None else (each * weight).sum() / jnp.maximum(weight.sum(), 1)


def fit(
    psi: MLP,
    adam: optax.OptState,
    key: Key[Array, ""],
    obs: Float[Array, "B D"],
    action: Int[Array, "B"],
    next_obs: Float[Array, "B D"],
    *,
    steps: int,
    minibatch: int,
    learning_rate: float,
    grid: float | Float[Array, "D"] = 0.0,
    valid: Bool[Array, "B"] | None = None,
) -> DynamicsModel:
    """Take `steps` steps of Adam on random minibatches of the data."""
    optimizer = optax.adam(learning_rate)
    weight = jnp.ones(obs.shape[0]) if valid is None else valid.astype(jnp.float32)

    def improve(model: DynamicsModel, key: Key[Array, ""]) -> tuple[DynamicsModel, None]:
        psi, adam = model
        pick = jax.random.randint(key, (minibatch,), 0, obs.shape[0])
        gradient = jax.grad(nll)(psi, obs[pick], action[pick], next_obs[pick], grid=grid, weight=weight[pick])
        change, adam = optimizer.update(gradient, adam)
        return (optax.apply_updates(psi, change), adam), None

    model, _ = jax.lax.scan(improve, (psi, adam), jax.random.split(key, steps))
    return model


def w2(
    mean_a: Float[Array, "*B D"],
    sd_a: Float[Array, "*B D"],
    mean_b: Float[Array, "*B D"],
    sd_b: Float[Array, "*B D"],
) -> Float[Array, "*B"]:
    """2-Wasserstein distance between two diagonal normal distributions; eq. (11) with Sigma^(1/2) = diag(sd)."""
    return jnp.sqrt(((mean_a - mean_b) ** 2 + (sd_a - sd_b) ** 2).sum(-1))


def j_dyn(
    psi: MLP,
    key: Key[Array, ""],
    obs: Float[Array, "B D"],
    action: Int[Array, "B"],
    group: Int[Array, "B"],
    *,
    gamma: float,
    num_groups: int,
    quantiles: int = 4,
    valid: Bool[Array, "B"] | None = None,
) -> Float[Array, ""]:
    """gamma * W2 between the predictions for matched quantiles, averaged over quantiles and pairs of groups; eq. (10).

    People are matched by observed score, for all actions together, because tau^pi averages over the policy. The one-hot
    entries of the group are left out, because they differ by definition.
    """
    matching = match_quantiles(
        key,
        obs[:, 0],
        jnp.zeros_like(action),
        group,
        num_cells=1,
        num_groups=num_groups,
        quantiles=quantiles,
        valid=valid,
    )
    mean, sd = predict(psi, obs, action)
    compared = jnp.r_[0, 1 + num_groups : obs.shape[-1]]
    mean, second = matching.mean(mean[:, compared])[0], matching.mean((mean**2 + sd**2)[:, compared])[0]
    # the people of a quantile are a mixture, with the variance of T_psi plus the variance between people
    sd = jnp.sqrt(jnp.maximum(second - mean**2, 0.0))
    distance = w2(mean[:, None], sd[:, None], mean[None], sd[None])
    present = matching.present[0]
    pairs = jnp.triu(jnp.ones((num_groups, num_groups)), 1)[..., None] * (present[:, None] & present[None])
    return gamma * (distance * pairs).sum() / jnp.maximum(pairs.sum(), 1)
