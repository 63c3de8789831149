"""What an audit is about: a policy, and the people as it sees them."""

from __future__ import annotations

import dataclasses
import html

from bisimulator.core import Env
from bisimulator.exact.chain import why_no_chain
from bisimulator.exact.kinds import Kinds
from bisimulator.policies import Policy


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AuditedPolicy:
    """A policy, the environment as it sees it, and how it is called and described."""

    name: str
    description: str  # what it does, in one sentence
    env: Env
    policy: Policy
    notes: tuple[str, ...] = ()
    whole_bins: Env | None = None  # the environment before its bins were split at the policy's thresholds
    kinds: Kinds | None = None  # of a model of further columns: how it treats the people of the data
    given_group: bool = False  # such a model is told the group

    @property
    def people_env(self) -> Env:
        """The environment of the people as they were given, for everything that is not about this policy."""
        return self.env if self.whole_bins is None else self.whole_bins

    def __repr__(self) -> str:
        return f"AuditedPolicy({self.name!r} on {self.env.name!r}: {self.description})"

    def _repr_html_(self) -> str:
        name, env, description = map(html.escape, (self.name, self.env.name, self.description))
        return f"<p><b>{name}</b> on {env}: {description}</p>"


def check_auditable(env: Env) -> None:
    """Raise an error that says what can be audited unless people are Markov chains, apart from observation dynamics."""
    reason = why_no_chain(with_true_scores(env))
    if reason:
        raise ValueError(
            f"an audit needs a lending environment, such as lending-us-2003, and in {env.name!r} {reason}; simulate it "
            "instead (bisimulator simulate, bisimulator.evaluate)"
        )


def with_true_scores(env: Env) -> Env:
    """The environment in which everybody sees true scores, where exact tools apply."""
    model = env.scenario.person_model
    return env if model is None else env.with_omega(model.true_omega(env.params))
