"""Xu et al. (2024), ELBERT-PO: reward and bias in three environments, with goals and simple rules beside them.

The authors train for 5 million steps. What is shorter or otherwise different here was chosen on seeds from 100 on,
`benchmarks/tune_papers.py`; docs/results/elbert.md shows what was tried.
"""

from __future__ import annotations

from typing import Any

from bisimulator.jobs.paper import Paper, PaperJob

LENDING: dict[str, Any] = {
    "steps": 400_000,
    "episodes": 3,
    "curve_every": 20_000,
    "curve_episodes": 3,
    "greedy": False,
}
FASTER = LENDING | {"solver": {"learning_rate": 3e-4, "minibatch": 256}}
INFECTIOUS: dict[str, Any] = {
    "steps": 800_000,
    "episodes": 200,
    "curve_every": 40_000,
    "curve_episodes": 50,
    "greedy": False,
    "solver": {
        "num_envs": 64,
        "rollout": 32,
        "minibatch": 256,
        "epochs": 4,
        "learning_rate": 1e-3,
        "gamma": 0.95,  # an episode has 20 steps; with 0.99 most of a value is what comes after its end
        "entropy": 0.001,
        "hidden": (128, 64),
        "input_scale": 1.0,
    },
}
ATTENTION: dict[str, Any] = {
    "steps": 200_000,
    "episodes": 5,
    "curve_every": 20_000,
    "curve_episodes": 2,
    "solver": {
        "num_envs": 64,
        "rollout": 32,
        "minibatch": 256,
        "epochs": 4,
        "learning_rate": 3e-4,
        "entropy": 0.0,
        "hidden": (128, 64),
        "input_scale": 1.0,
        "normalize_values": True,
    },
}
REGULARISED = {"omega": 0.05, "beta_vt": 0.15, "beta_div": 0.15}  # POCAR's values for A-PPO


def jobs() -> list[PaperJob]:
    return [
        PaperJob("lending-delayed-impact", "ppo", "G-PPO", LENDING),
        PaperJob("lending-delayed-impact", "r-ppo", "R-PPO", FASTER),
        PaperJob("lending-delayed-impact", "a-ppo", "A-PPO", LENDING),
        PaperJob("lending-delayed-impact", "elbert", "ELBERT-PO", FASTER),
        PaperJob("lending-delayed-impact", "ppo", options=LENDING | {"goal": "recall-gap=0.02"}),
        *(
            PaperJob("lending-delayed-impact", name, options={"episodes": LENDING["episodes"]})
            for name in ("threshold", "max-util", "accept-all")
        ),
        PaperJob("infectious-harder", "ppo", "G-PPO", INFECTIOUS),
        PaperJob(
            "infectious-harder", "r-ppo", "R-PPO", INFECTIOUS | {"config": {"zeta": 0.1, "omega": 0.05}}
        ),
        PaperJob("infectious-harder", "a-ppo", "A-PPO", INFECTIOUS | {"config": REGULARISED}),
        PaperJob("infectious-harder", "elbert", "ELBERT-PO", INFECTIOUS | {"config": {"a": 50.0}}),
        PaperJob("infectious-harder", "ppo", options=INFECTIOUS | {"goal": "benefit-gap=0.05"}),
        *(_rule("infectious-harder", name, INFECTIOUS) for name in ("nobody", "random", "degree")),
        PaperJob("attention-harder", "ppo", "G-PPO", ATTENTION),
        PaperJob("attention-harder", "r-ppo", "R-PPO", ATTENTION | {"config": {"zeta": 20.0, "omega": 0.05}}),
        PaperJob("attention-harder", "a-ppo", "A-PPO", ATTENTION | {"config": REGULARISED}),
        PaperJob("attention-harder", "elbert", "ELBERT-PO", ATTENTION | {"config": {"a": 20_000.0}}),
        PaperJob("attention-harder", "ppo", options=ATTENTION | {"goal": "benefit-gap=0.05"}),
        *(_rule("attention-harder", name, ATTENTION) for name in ("uniform", "proportional")),
    ]


def _rule(scenario: str, method: str, options: dict[str, Any]) -> PaperJob:
    return PaperJob(scenario, method, method, {"episodes": options["episodes"]})


PAPER = Paper(
    name="elbert",
    citation='Xu et al., "Adapting Static Fairness to Sequential Decision-Making" (2024), ELBERT-PO',
    jobs=jobs,
)
