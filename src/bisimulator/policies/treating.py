"""Rules for contact networks: whom to treat."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Act, Env, Scenario, Values, graphs
from bisimulator.errors import check_shape
from bisimulator.policies.fixed import Constant
from bisimulator.policies.policy import Policy
from bisimulator.policies.rules import NoConfig, Rule


class TreatFirst(Policy):
    """Treat the person with the highest priority of those whom a treatment changes; nobody if there is none.

    Among equals, the first one is treated.
    """

    priority: Float[Array, "N"]

    def bind(self, env: Env) -> Act:
        check_shape("priority", self.priority, (env.params.population,), f"one per person of {env.name}")
        return lambda key, obs: _first(env, obs, jnp.broadcast_to(self.priority, _people(env, obs)))


class TreatAtRandom(Policy):
    """Treat somebody at random of those whom a treatment changes; nobody if there is none."""

    def bind(self, env: Env) -> Act:
        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            return _first(env, obs, jax.random.uniform(key, _people(env, obs)))

        return act


def _people(env: Env, obs: Float[Array, "... D"]) -> tuple[int, ...]:
    return (*obs.shape[:-1], env.params.population)


def _first(env: Env, obs: Float[Array, "... D"], priority: Float[Array, "... N"]) -> Int[Array, "..."]:
    network = env.scenario.network
    if network is None:
        raise ValueError(
            f"{env.name!r} has no contact network; use an environment with one, such as 'infectious'"
        )
    treatable = network.treatable(obs, env.params)
    chosen = jnp.where(treatable, priority, -jnp.inf).argmax(-1) + 1
    return jnp.where(treatable.any(-1), chosen, 0).astype(jnp.int32)


def _has_network(scenario: Scenario) -> bool:
    return scenario.network is not None


def _by(centrality: Callable[[np.ndarray], Values]) -> Callable[[NoConfig, Env], Policy]:
    def build(config: NoConfig, env: Env) -> Policy:
        assert env.scenario.network is not None
        contacts = np.asarray(env.scenario.network.contacts(env.params)) > 0
        return TreatFirst(jnp.asarray(centrality(contacts), jnp.float32))

    return build


NOBODY: Rule[NoConfig] = Rule("Treat nobody", lambda config, env: Constant(0), applies=_has_network)
DEGREE: Rule[NoConfig] = Rule(
    "Treat who has the most contacts, of those whom it helps", _by(graphs.degree), applies=_has_network
)
EIGENVECTOR: Rule[NoConfig] = Rule(
    "Treat who has the highest eigenvector centrality, of those whom it helps",
    _by(graphs.eigenvector_centrality),
    applies=_has_network,
)
BETWEENNESS: Rule[NoConfig] = Rule(
    "Treat who is on the most shortest paths between others, of those whom it helps",
    _by(lambda contacts: graphs.betweenness(contacts)[0]),
    applies=_has_network,
)
