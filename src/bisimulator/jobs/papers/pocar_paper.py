"""Yu et al. (2022), POCAR: A-PPO in attention, infectious and lending, with plain PPO, R-PPO and rules beside it."""

from __future__ import annotations

from bisimulator.jobs.paper import Paper, PaperJob
from bisimulator.jobs.papers.elbert_paper import ATTENTION, INFECTIOUS, LENDING, REGULARISED


def jobs() -> list[PaperJob]:
    trained = ("ppo", "r-ppo", "a-ppo")
    regularised = {"config": REGULARISED}
    return [
        *(
            PaperJob(scenario, method, options=options | (regularised if method == "a-ppo" else {}))
            for scenario, options in (("attention", ATTENTION), ("infectious", INFECTIOUS))
            for method in trained
        ),
        *(PaperJob("lending-delayed-impact", method, options=LENDING) for method in trained),
        *(PaperJob("attention", name, name, {"episodes": 10}) for name in ("uniform", "proportional")),
        *(PaperJob("infectious", name, name, {"episodes": 200}) for name in ("nobody", "random", "degree")),
    ]


PAPER = Paper(
    name="pocar",
    citation='Yu et al., "Policy Optimization with Advantage Regularization for Long-Term Fairness in Decision '
    'Systems" (2022), POCAR',
    jobs=jobs,
)
