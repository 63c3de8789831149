"""What a job learned about observations."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bisimulator.core import Env
from bisimulator.jobs.store import Result

_MAX_GROUPS = 10  # whose omega is written one by one


def learned_omega(result: Result) -> Float[np.ndarray, "S G K"] | None:
    """Omega of each seed after the training; None if the method never adapts it."""
    spec = result.spec
    if spec.solver is None or "omega" not in result.learned:
        return None
    solver = spec.make_solver(spec.make_env())
    return np.asarray(result.learned["omega"]) if solver.method.adapt_at(solver.updates) else None


def omega_in_words(env: Env, omega: Float[np.ndarray, "G K"]) -> str:
    """Omega of every group; of many groups the lowest and the highest of each entry."""
    names, groups = env.scenario.omega_names, env.group_names
    if len(groups) > _MAX_GROUPS:
        ends = [(values.argmin(), values.argmax()) for values in omega.T]
        return "; ".join(
            f"{name} from {omega[low, k]:.2f} (group {groups[low]}) to {omega[high, k]:.2f} (group {groups[high]})"
            for k, (name, (low, high)) in enumerate(zip(names, ends, strict=True))
        )
    rows = [", ".join(f"{name} {x:.2f}" for name, x in zip(names, row, strict=True)) for row in omega]
    return "; ".join(f"group {group}: {row}" for group, row in zip(groups, rows, strict=True))
