"""The learned dynamics T_psi and the loss J_dyn of the observation dynamics (eqs. 10 and 11).

T_psi(s' | s, a, g) is a normal distribution over the SAME applicant's next observation. J_dyn compares the next
observations that matched decisions of different groups lead to; it depends on omega through the data alone.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.bisim.matching import match_quantiles
from bisimulator.policies.networks import MLP, make_mlp

_LEAST_LOG_SD, _MOST_LOG_SD = -5.0, 1.0


def make_dynamics(
    key: Key[Array, ""],
    observation: int,
    actions: int,
    hidden: tuple[int, ...],
    *,
    groups: int = 0,
) -> MLP:
    """psi: observation and action one-hot to the mean change and the log standard deviation of each feature."""
    return make_mlp(key, observation + actions, hidden, 2 * observation, 0.01, groups=groups)


def predict(
    psi: MLP, obs: Float[Array, "*B D"], action: Int[Array, "*B"]
) -> tuple[Float[Array, "*B D"], Float[Array, "*B D"]]:
    """Mean and standard deviation of the same applicant's next observation."""
    actions = psi.inputs - obs.shape[-1]
    out = psi(jnp.concatenate([obs, jax.nn.one_hot(action, actions)], -1))
    change, log_sd = jnp.split(out, 2, axis=-1)
    return obs + change, jnp.exp(jnp.clip(log_sd, _LEAST_LOG_SD, _MOST_LOG_SD))


def straight_through(x: Float[Array, "*B"], grid: float | Float[Array, "*B"]) -> Float[Array, "*B"]:
    """x rounded to multiples of `grid` (0: left alone), with the gradient of x itself."""
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
    """Negative log likelihood of the next observations, up to a constant.

    With `grid` the predicted mean is rounded to what a discrete feature can be, straight through (the paper). The
    default leaves it unrounded: a mean between two scores is then learned as it is, not pushed to the rounding edge.
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
) -> tuple[MLP, optax.OptState]:
    """A number of Adam steps on random minibatches of the data."""
    optimizer = optax.adam(learning_rate)
    weight = jnp.ones(obs.shape[0]) if valid is None else valid.astype(jnp.float32)

    def improve(carry: tuple, key: Key[Array, ""]) -> tuple:
        psi, adam = carry
        pick = jax.random.randint(key, (minibatch,), 0, obs.shape[0])
        gradient = jax.grad(nll)(psi, obs[pick], action[pick], next_obs[pick], grid=grid, weight=weight[pick])
        change, adam = optimizer.update(gradient, adam)
        return (optax.apply_updates(psi, change), adam), None

    return jax.lax.scan(improve, (psi, adam), jax.random.split(key, steps))[0]


def w2(
    mean_a: Float[Array, "*B D"],
    sd_a: Float[Array, "*B D"],
    mean_b: Float[Array, "*B D"],
    sd_b: Float[Array, "*B D"],
) -> Float[Array, "*B"]:
    """2-Wasserstein distance of two diagonal normal distributions; eq. (11) with Sigma^(1/2) = diag(sd)."""
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
    """gamma * W2 between T_psi's predictions of matched quantiles, averaged over quantiles and pairs; eq. (10).

    People are matched by observed score whatever the action was: tau^pi has the policy averaged in. The group's own
    one-hot entries are left out, they differ by definition.
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
    seen = jnp.r_[0, 1 + num_groups : obs.shape[-1]]
    mean, second = matching.mean(mean[:, seen])[0], matching.mean((mean**2 + sd**2)[:, seen])[0]
    # a quantile's people are a mixture: its spread is that of T_psi and that of the people together
    sd = jnp.sqrt(jnp.maximum(second - mean**2, 0.0))
    distance = w2(mean[:, None], sd[:, None], mean[None], sd[None])
    present = matching.present[0]
    pairs = jnp.triu(jnp.ones((num_groups, num_groups)), 1)[..., None] * (present[:, None] & present[None])
    return gamma * (distance * pairs).sum() / jnp.maximum(pairs.sum(), 1)
