"""Evaluation without simulation: the exact expectations of any policy that has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Env, Values
from bisimulator.exact.chain import Expectation, expect, why_no_chain
from bisimulator.exact.visits import max_visits
from bisimulator.policies import DependsOn, Policy, as_policy

_MAX_HISTORY = 200  # visits; beyond, the table of past loans does not fit into memory
_NUMBERS_AT_ONCE = (
    2**26
)  # of observations, 256 MB; each has one number per group, so all would be the groups squared


def exact_evaluation(env: Env, policy: Policy | Callable[..., ArrayLike] | ArrayLike) -> Expectation | None:
    """What an episode brings in exact expectation, without simulation.

    It exists where every person is a finite Markov chain (lending, us-credit) and the policy's acceptance
    probabilities are known: networks, greedy or sampled, fixed rules and functions of observations, also those that
    look at past loans. A policy of your own needs `accept_probability`.

    Args:
        env: an environment from `bisimulator.make`.
        policy: anything that `bisimulator.evaluate` takes.

    Returns:
        Expected values per group; None if there is no exact answer, so that only `bisimulator.evaluate` remains.

    Example:
        >>> exact_evaluation(bisimulator.make("lending"), lambda obs: obs[:, 0] >= 0.5)
        Expectation: average return 3654.4, recall gap 0.593, credit gap 3.06
          group 1: return 3036, recall 0.917, loans 4335.9
          group 2: return 618.41, recall 0.324, loans 1010
        >>> exact_evaluation(bisimulator.make("college"), bisimulator.policies.accept_all()) is None
        True
    """
    accept, _ = acceptance_table(env, as_policy(policy))
    return None if accept is None else expect(env, accept)


_NOT_MARKOV: dict[DependsOn, str] = {
    "time": "The policy depends on the time, so a person's chain is not the same from visit to visit.",
    "episode": "The policy is refitted during the episode, so a person's chain depends on everybody else's.",
}


def acceptance_table(
    env: Env, policy: Policy
) -> tuple[Float[Values, "G C"] | Float[Values, "G C K K"] | None, str]:
    """`pi(accept | group, score)`, or `pi(accept | group, score, repaid, defaulted)` if it looks at past loans.

    Without an exact answer: None, and why there is none, in a sentence.
    """
    reason = why_no_chain(env)
    if reason:
        return None, f"{reason[0].upper()}{reason[1:]}."
    if policy.depends_on in _NOT_MARKOV:
        return None, _NOT_MARKOV[policy.depends_on]
    if _sees_clock(env, policy):
        return None, "The policy sees a clock, so a person's chain is not the same from visit to visit."
    size = 1 if policy.depends_on == "score" else max_visits(env)
    if size > _MAX_HISTORY:
        return None, f"A person applies up to {size} times, too often to enumerate every history of loans."
    accept = acceptance(env, policy, size)
    if accept is None:
        return (
            None,
            "The policy may act at random and does not implement accept_probability(env, observations).",
        )
    return (accept[:, :, 0, 0] if (accept == accept[:, :, :1, :1]).all() else accept), ""


def _sees_clock(env: Env, policy: Policy) -> bool:
    model = env.scenario.person_model
    return model is not None and policy.depends_on == "observation" and model.has_clock(env.params)


def acceptance(env: Env, policy: Policy, size: int) -> Float[Values, "G C k k"] | None:
    """`pi(accept | group, score, repaid, defaulted)` for fewer than `size` loans in all; None if it is unknown.

    For more loans, which nobody has, it is the one of people without past loans.
    """
    model = env.scenario.person_model
    if model is None or _sees_clock(env, policy):
        return None
    policy.bind(env)  # refuses a policy of another environment
    repaid, defaulted = np.indices((size, size))
    possible = repaid + defaulted < size

    def seen(groups: Sequence[int]) -> Float[np.ndarray, "g C n D"]:
        return np.asarray(model.observations(env.params, size, groups))[:, :, possible]

    by_history = _by_group(env, policy, seen)
    if by_history is None:
        numbers = size**2 * env.params.num_scores * env.observation_size
        by_history = _by_observation(env, policy, seen, max(1, _NUMBERS_AT_ONCE // numbers))
    if by_history is None:
        return None
    accept = np.tile(by_history[:, :, :1, None], (1, 1, size, size))
    accept[:, :, possible] = by_history
    return accept


_Seen: TypeAlias = Callable[[Sequence[int]], Float[np.ndarray, "g C n D"]]  # by these groups


def _by_group(env: Env, policy: Policy, seen: _Seen) -> Float[Values, "G C n"] | None:
    """The acceptance probabilities of a policy that can be asked without the group one-hot."""
    rest = np.delete(seen([0])[0], range(1, 1 + env.num_groups), -1)
    known = policy.accept_by_group(env, jnp.asarray(rest.reshape(-1, rest.shape[-1])))
    return None if known is None else np.asarray(known, np.float64).reshape(-1, *rest.shape[:-1])


def _by_observation(
    env: Env, policy: Policy, seen: _Seen, groups_at_once: int
) -> Float[Values, "G C n"] | None:
    """Those of any other policy, a few groups at a time."""
    known = []
    for first in range(0, env.num_groups, groups_at_once):
        obs = seen(range(first, min(first + groups_at_once, env.num_groups)))
        probability = policy.accept_probability(env, jnp.asarray(obs.reshape(-1, obs.shape[-1])))
        if probability is None:
            return None
        known.append(np.asarray(probability, np.float64).reshape(obs.shape[:-1]))
    return np.concatenate(known)
