"""What every solver's configuration must satisfy; wrong values are told before anything compiles."""

from __future__ import annotations

from typing import Any

from bisimulator.errors import check_int, check_real


def check_solver_config(config: Any) -> None:
    for name in ("num_envs", "rollout", "minibatch", "epochs"):
        check_int(name, getattr(config, name), least=1)
    check_real("learning_rate", config.learning_rate, least=0)
    check_real("gamma", config.gamma, least=0, most=1)
    check_real("input_scale", config.input_scale, least=1e-9)
    for width in config.hidden:
        check_int("a hidden layer", width, least=1)
