"""The page of an audit: one file, nothing from the network, no scripts; everything from the user is escaped."""

from __future__ import annotations

import numpy as np

from bisimulator.certifying import Estimate
from bisimulator.exact.certificate import HORIZONS, SIGNALS
from bisimulator.report.audit.finding import GROUP_COLUMNS, Audit
from bisimulator.report.audit.pictures import pictures, svg
from bisimulator.report.audit.words import findings
from bisimulator.report.simulation import number


def render(found: Audit) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bisimulator.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("audit.html")
    return page.render(
        found=found,
        p=found.env.params,
        findings=findings(found),
        columns=GROUP_COLUMNS,
        groups=group_rows(found),
        certificate=None if isinstance(found.certificate, Estimate) else certificate_rows(found),
        estimate=found.certificate if isinstance(found.certificate, Estimate) else None,
        pictures={name: svg(figure) for name, figure in pictures(found).items()},
        settings=settings(found),
    )


def group_rows(found: Audit) -> list[tuple[str, list[str]]]:
    percent = {"share", "approval_rate", "recall", "precision"}
    return [
        (
            name,
            [
                f"{found.groups[c][g]:.1%}"
                if c in percent and np.isfinite(found.groups[c][g])
                else number(float(found.groups[c][g]))
                for c in GROUP_COLUMNS
            ],
        )
        for g, name in enumerate(found.names)
    ]


def certificate_rows(found: Audit) -> list[tuple[str, list[str]]]:
    views = found.certificate.views  # type: ignore[union-attr]
    return [
        (
            f"{SIGNALS[signal]}, {HORIZONS[horizon]}",
            [*(number(float(v)) for v in view.values), number(view.gap), number(view.bound)],
        )
        for (signal, horizon), view in views.items()
    ]


def settings(found: Audit) -> dict[str, str]:
    p, seeds = found.env.params, len(found.evaluation.seeds)
    episodes = found.evaluation.episodes["average_return"].shape[1]
    return {
        "people in the simulation": f"{p.population:,}",
        "decisions in an episode": f"{int(p.horizon):,}",
        "applications of an average person": f"{int(p.horizon) / p.population:g}",
        "episodes": f"{seeds} seeds x {episodes}",
        "a repaid loan moves the score by": f"+{int(p.score_up)} bins"
        if p.score_edges
        else f"+{int(p.score_up)}",
        "a default moves it by": f"-{int(p.score_down)} bins" if p.score_edges else f"-{int(p.score_down)}",
        "worth of a repaid loan, of a default": f"{float(p.reward_repaid):g}, {float(p.reward_default):g}",
    }
