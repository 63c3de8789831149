"""The options of solvers and controllers that nobody set: they depend on the view, the goal and the preset."""

from __future__ import annotations

from bisimulator.core import View
from bisimulator.goals import GoalConfig
from bisimulator.jobs._options import with_options
from bisimulator.solvers.solver import SolverConfig
from bisimulator.solvers.trainer import SOLVERS

STEPS = 400_000  # environment steps of training per seed: the paper's
FAST_STEPS = 100_000  # with the preset `fast`

# A life is short and ends, so nothing is discounted, and an update may take larger steps than the paper's on the queue.
_IN_LIVES: dict[str, dict[str, object]] = {
    "ppo": {"gamma": 1.0, "learning_rate": 6e-4, "minibatch": 256, "average": 0.2},
    "dqn": {"gamma": 1.0, "learning_rate": 2e-4, "average": 0.2},
}
# A goal changes the rewards during training. The policy is the average of the last ones, which moves less than each of
# them, and it stays stochastic: DQN samples too, because a greedy policy jumps between thresholds. What DQN explores
# counts towards the goal, so it stops early.
_WITH_GOAL: dict[str, dict[str, object]] = {
    "ppo": {
        "num_envs": 16,
        "learning_rate": 6e-4,
        "anneal_power": 2.0,
        "minibatch": 256,
        "average": 0.15,
        "sharpen": 2.0,
    },
    "dqn": {
        "learning_rate": 5e-5,
        "average": 0.2,
        "temperature": 0.05,
        "epsilon_end": 0.0,
        "epsilon_fraction": 0.2,
    },
}
# How much of a life is left says most of what a person's value is. A critic that knows it needs fewer of the decisions
# that follow to judge one, so judgements are less noisy, and with them what groups get. Without that noise a policy
# settles sooner, so a larger bonus for entropy keeps it trying.
_WITH_GOAL_IN_LIVES: dict[str, dict[str, object]] = {
    "ppo": {"critic_clock": True, "gae_lambda": 0.8, "entropy": 0.03},
    "dqn": {},
}

# violations are measured more precisely on lives (`goals.lives`), so the multipliers can follow them more closely
_CONTROL: dict[View, dict[str, object]] = {"life": {"eta": 0.4, "proportional": 20.0}, "queue": {}}

# The preset `fast`: larger steps of learning, which the critic's clock allows, and a quarter of the decisions.
_FAST: dict[str, dict[str, object]] = {"ppo": _WITH_GOAL_IN_LIVES["ppo"] | {"learning_rate": 1.2e-3}}


def default_solver(name: str, view: View, *, with_goal: bool, fast: bool = False) -> SolverConfig:
    """The solver's default configuration for a view, a goal and the preset `fast`."""
    in_lives = view == "life"
    changes = (_IN_LIVES[name] if in_lives else {}) | (_WITH_GOAL[name] if with_goal else {})
    if in_lives and with_goal:
        changes |= _WITH_GOAL_IN_LIVES[name]
    if fast:
        changes |= _FAST[name]
    return with_options(SOLVERS[name][1](), changes, f"solver {name!r}")


def default_control(view: View, control: object) -> GoalConfig:
    """The control of a goal in a view, with the options that are given."""
    what = "the control of a goal"
    return with_options(with_options(GoalConfig(), _CONTROL[view], what), control, what)
