"""Yu et al. (2022), POCAR: A-PPO in attention, infectious and lending, with plain PPO, R-PPO and rules beside it."""

from __future__ import annotations

from bisimulator.jobs.paper import Paper, PaperJob
from bisimulator.jobs.papers.elbert_paper import ATTENTION, INFECTIOUS, LENDING


def jobs() -> list[PaperJob]:
    return [
        *(
            PaperJob(scenario, method, options=options)
            for scenario, options in (
                ("attention", ATTENTION),
                ("infectious", INFECTIOUS),
                ("lending-delayed-impact", LENDING),
            )
            for method in ("ppo", "r-ppo", "a-ppo")
        ),
        *(PaperJob("attention", name, name, {"episodes": 10}) for name in ("uniform", "proportional")),
        *(PaperJob("infectious", name, name, {"episodes": 200}) for name in ("nobody", "random", "degree")),
    ]


PAPER = Paper(
    name="pocar",
    citation='Yu et al., "Policy Optimization with Advantage Regularization for Long-Term Fairness in Decision '
    'Systems" (2022), POCAR',
    jobs=jobs,
)
