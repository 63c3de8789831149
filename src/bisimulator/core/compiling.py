"""How much XLA optimises a program."""

from __future__ import annotations

from typing import Final

# For programs that run seldom: the older of XLA's two code generators, and one level less of optimisation, take half of
# the time to compile. Only loops of training run slower by it (PPO and DQN 2.5 times). What a program of evaluation
# computes is the same, bit for bit.
BRIEFLY: Final[dict[str, bool | int | float | str]] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
}
