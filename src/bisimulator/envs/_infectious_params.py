"""The parameters of infectious: their meaning, defaults and checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal, TypeAlias, get_args

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from bisimulator.core.graphs import Labels, communities
from bisimulator.envs._contact_network import adjacency_matrix, karate_club
from bisimulator.envs._without_applicants import WithoutApplicants, no_omega
from bisimulator.errors import check_array, check_int, check_known, check_names, check_real, check_shape

Model: TypeAlias = Literal["SI", "SIR", "SEIR"]
SUSCEPTIBLE = 0  # the first letter of every model


class Params(WithoutApplicants, eqx.Module):
    """Parameters of infectious. All numbers but the model and the untreated steps are arrays."""

    contacts: Float[Array, "N N"]  # 1 where two people are in contact
    group: Int[Array, "N"]
    first_patient: Float[Array, "N"]  # probability of being the first one who is infected
    infection: Float[Array, ""]  # probability that a contact with somebody infected infects, per step
    incubation: Float[Array, ""]  # probability that somebody exposed becomes infected (SEIR)
    recovery: Float[Array, ""]  # probability that somebody infected recovers (SIR, SEIR)
    relapse: Float[Array, ""]  # probability that somebody recovered is susceptible again (SIR, SEIR)
    horizon: Int[Array, ""]
    omega: Float[Array, "G 0"]
    model: Model = eqx.field(static=True)
    num_groups: int = eqx.field(static=True)
    untreated_steps: int = eqx.field(static=True)  # steps of the disease before the first decision
    group_names: tuple[str, ...] = eqx.field(static=True, default=())

    @property
    def population(self) -> int:
        return int(self.group.shape[-1])

    @property
    def group_probs(self) -> Float[Array, "G"]:
        return jnp.zeros(self.num_groups).at[self.group].add(1 / self.population)

    @property
    def infected(self) -> int:
        """Which letter of the model stands for infected people."""
        return self.model.index("I")

    @property
    def treatable(self) -> int:
        """Which letter stands for those whom a treatment changes."""
        return self.infected if self.model == "SI" else SUSCEPTIBLE

    @property
    def num_scores(self) -> int:
        return len(self.model)

    @property
    def observation_size(self) -> int:
        return self.population * self.num_scores


def make_params(
    *,
    edges: ArrayLike | None = None,
    groups: int | Sequence[int] = 2,
    model: Model = "SIR",
    infection: float = 0.5,
    incubation: float = 0.5,
    recovery: float = 0.005,
    relapse: float = 0.0,
    first_patient: int | None = 0,
    untreated_steps: int = 1,
    horizon: int = 20,
    group_names: Sequence[str] = (),
) -> Params:
    """Check the parameters of infectious.

    Args:
        edges: (M, 2), who is in contact with whom, as numbers from 0; Zachary's karate club by default.
        groups: everybody's group, numbered from 0; or how many communities of the network to take as groups.
        model: "SI": treatment makes infected people susceptible again. "SIR": treatment makes susceptible people
            immune. "SEIR": in addition, people are exposed before they are infected.
        infection: probability that a contact with somebody infected infects, per step.
        incubation: probability that somebody exposed becomes infected, per step (SEIR).
        recovery: probability that somebody infected recovers, per step (SIR and SEIR).
        relapse: probability that somebody recovered, or treated, is susceptible again, per step (SIR and SEIR).
        first_patient: who is infected at the start; None: anybody, with equal probabilities.
        untreated_steps: how many steps the disease spreads before the first decision.
        horizon: decisions until the episode is truncated.
        group_names: names of the groups in tables and pages.

    Raises:
        ValueError: if a value or a shape is wrong.

    Example:
        >>> make_params(edges=[(0, 1), (1, 2), (2, 3)], groups=[0, 0, 1, 1], model="SEIR")
    """
    check_known("model", model, get_args(Model))
    contacts = adjacency_matrix(karate_club() if edges is None else edges)
    people = len(contacts)
    labels = _groups(groups, contacts)
    count = int(labels.max()) + 1
    first = np.full(people, 1 / people)
    if first_patient is not None:
        first = np.eye(people)[check_int("first_patient", first_patient, min=0, max=people - 1)]
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    probs = {"infection": infection, "incubation": incubation, "recovery": recovery, "relapse": relapse}
    return Params(
        contacts=as_float(contacts),
        group=as_int(labels),
        first_patient=as_float(first),
        **{name: as_float(check_real(name, value, min=0, max=1)) for name, value in probs.items()},
        horizon=as_int(check_int("horizon", horizon, min=1)),
        omega=no_omega(count),
        model=model,
        num_groups=count,
        untreated_steps=check_int("untreated_steps", untreated_steps, min=0, max=10_000),
        group_names=check_names(group_names, count),
    )


def _groups(groups: int | Sequence[int], contacts: np.ndarray) -> Labels:
    if isinstance(groups, int | np.integer):
        return communities(contacts, int(groups))
    given = check_array(
        "groups", groups, ndim=(1,), hint="pass a number of communities, or one group per person"
    )
    check_shape("groups", given, (len(contacts),), "one per person of edges")
    labels = given.astype(np.int64)
    if (labels != given).any() or set(labels.tolist()) != set(range(int(labels.max()) + 1)):
        raise ValueError(
            f"groups must be numbered from 0 without gaps, got {sorted(set(given.tolist()))}; pass 0, 1, ..."
        )
    return labels
