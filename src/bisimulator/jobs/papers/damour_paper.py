"""D'Amour et al. (2020) and Atwood et al. (2019): rules in their environments. Nothing is trained."""

from __future__ import annotations

from bisimulator.jobs.paper import Paper, PaperJob

# a random first patient who recovers soon, and no step before the first treatment
ATWOOD = {"recovery": 0.5, "first_patient": None, "untreated_steps": 0}


def jobs() -> list[PaperJob]:
    many, few = {"episodes": 1000}, {"episodes": 10}
    return [
        *(
            PaperJob("infectious", name, name, many | {"settings": ATWOOD})
            for name in ("nobody", "eigenvector", "degree", "betweenness")
        ),
        PaperJob(
            "attention",
            "uniform",
            "uniform, constant rates",
            few | {"settings": {"rate_up": 0.0, "rate_down": 0.0}},
        ),
        PaperJob("attention", "uniform", "uniform", few),
        PaperJob("attention", "proportional", "proportional", few),
        PaperJob("lending-delayed-impact", "threshold", "score >= 3", few),
        PaperJob("lending-delayed-impact", "threshold", "score >= 2", few | {"config": {"min_score": 2}}),
        PaperJob("lending-delayed-impact", "accept-all", "everybody", few),
        PaperJob("lending-delayed-impact", "max-util", options=few),
        PaperJob("lending-delayed-impact", "eo", options=few),
    ]


PAPER = Paper(
    name="damour",
    citation='D\'Amour et al., "Fairness is not static" (2020); Atwood et al., "Fair Treatment Allocations in Social '
    'Networks" (2019)',
    jobs=jobs,
    quick_share=1.0,
)
