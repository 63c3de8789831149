"""The HTML page: one file that loads nothing, rendered from a template that escapes everything."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from bisimulator._text import printable
from bisimulator.jobs.references import ACCEPT_ALL, Reference
from bisimulator.jobs.store import Result
from bisimulator.report import _charts as charts
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._page_sections import ChartList, Fields, section
from bisimulator.report._styles import group_colours, style
from bisimulator.report.paper_points import PaperPoints, points_sentence
from bisimulator.report.sentences import join_names, paper_sentence
from bisimulator.report.summary import counts_by_scenario

if TYPE_CHECKING:
    from jinja2 import Template

TITLE = "Long-term group fairness: results"
SCRIPTS = ("dom.js", "chart.js", "scatter.js", "page.js")
PACKAGES = ("bisimulator", "jax", "numpy", "equinox", "optax")
_OVERLAP = (
    "Matched, beaten and missed compare the 95% intervals as the paper prints them, to two decimals. If they do not "
    "overlap, better means a higher return or recall, and a lower gap, spread or burden."
)
_VERDICT_NOTES = ("the 95% intervals overlap", "they do not, ours is better", "they do not, ours is worse")
_POINT_NOTES = ("as good within the tolerance", "better than the reading error", "worse than the tolerance")
_EXPLANATIONS = (
    "A number is the mean over seeds, and each seed is the mean of its evaluation episodes; after ± stands the half "
    "width of the 95% interval (Student's t). Bold: the best value of a column and all within 5% of it, as in the "
    "paper.",
    _OVERLAP,
    "Evaluation episodes have the same random numbers for all methods, so methods that decide alike have equal rows.",
    "Recall: the share of the qualified who were accepted, over the whole episode. Recall gap: largest minus smallest "
    "recall of a group. Credit gap: distance between the groups' final credit scores, in score points. Social burden: "
    "mean cost paid by the admitted who paid anything.",
    "Click a method above the figures to hide or show it everywhere; the address stores the selection. In a figure the "
    "arrow keys move from point to point.",
)


def render_report(
    results: Sequence[Result],
    references: Mapping[str, Reference] | None = None,
    points: PaperPoints | None = None,
) -> str:
    """The page for any finished jobs, as HTML; `references` and `points` as for `write_report`."""
    from markupsafe import Markup

    scenarios = by_scenario(results)
    collected: ChartList = []
    known = references or {}
    sections = [
        section(scenario, f"scenario-{i}", collected, known.get(scenario.name, Reference()), points)
        for i, scenario in enumerate(scenarios)
    ]
    css = _template("report.css") + _colours(scenarios)
    script = f'"use strict";\n(() => {{\n{"".join(map(_template, SCRIPTS))}}})();\n'
    return page_template("report.html.j2").render(
        title=TITLE,
        subtitle=_subtitle(scenarios, points),
        paper_sentence=paper_sentence(results) if points is None else points_sentence(points),
        verdicts=[_bar(name, numbers) for name, numbers in _verdicts(results, points).items()],
        scenarios=sections,
        explanations=[text for text in _EXPLANATIONS if points is None or text is not _OVERLAP],
        verdict_notes=_VERDICT_NOTES if points is None else _POINT_NOTES,
        made_with=made_with(),
        data=Markup(script_json({"looks": charts.looks(scenarios), "charts": collected})),
        style=Markup(css),
        script=Markup(script),
        style_hash=_hash(css),
        script_hash=_hash(script),
    )


def page_template(name: str) -> Template:
    """A template whose values are data: markup is escaped, and what a terminal would obey is removed."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if type(value) is str else value,  # not `Markup`
    )
    return environment.from_string(_template(name))


def script_json(value: object) -> str:
    """JSON for a script element: nothing in it can end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: the rest is escaped
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def made_with() -> str:
    """Versions and machine with which the page is written."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"Written with {versions}; {machine}, {os.cpu_count()} cores."


def _template(name: str) -> str:
    return resources.files("bisimulator.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """For the content security policy, which allows this text and no other."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _colours(scenarios: Sequence[ScenarioResults]) -> str:
    """The methods' and the groups' colours as CSS variables, for light and dark screens."""
    entries = {entry.key: entry for scenario in scenarios for entry in scenario.entries}
    numbers = {scenario.env.num_groups for scenario in scenarios}
    light = {f"--m{i}": entry.style.colour for i, entry in enumerate(entries.values())}
    dark = {f"--m{i}": entry.style.on_dark for i, entry in enumerate(entries.values())}
    accepting = style(ACCEPT_ALL)
    light["--accept-all"], dark["--accept-all"] = accepting.colour, accepting.on_dark
    for number in sorted(numbers):
        for g in range(number):
            light[f"--g{number}-{g}"] = group_colours(number)[g]
            dark[f"--g{number}-{g}"] = group_colours(number, dark=True)[g]
    variables = [" ".join(f"{name}: {colour};" for name, colour in theme.items()) for theme in (light, dark)]
    light_rule, dark_rule = (f":root {{ {each} }}" for each in variables)
    return f"{light_rule}\n@media screen and (prefers-color-scheme: dark) {{ {dark_rule} }}\n"


def _verdicts(results: Sequence[Result], points: PaperPoints | None) -> dict[str, Mapping[str, int]]:
    """How many numbers of each scenario have which verdict, and "all" for the sum."""
    if points is None:
        return {name: counts.by_verdict for name, counts in counts_by_scenario(results).items()}
    return {**{name: points.counts(name) for name in points.scenarios}, "all": points.counts()}


def _subtitle(scenarios: Sequence[ScenarioResults], points: PaperPoints | None) -> str:
    jobs = sum(len(scenario.entries) for scenario in scenarios)
    where = join_names([scenario.name for scenario in scenarios], max=8)
    paper = (
        "“Fairness in Reinforcement Learning with Bisimulation Metrics”"
        if points is None
        else points.paper.citation
    )
    return f"{jobs} job{'s' * (jobs > 1)} in {where}, compared with the numbers of {paper}."


def _bar(name: str, numbers: Mapping[str, int]) -> Fields:
    parts, start = [], 0
    for kind, number in numbers.items():
        parts.append({"kind": kind.replace(" ", "-"), "start": start, "number": number})
        start += number
    text = ", ".join(f"{number} {kind}" for kind, number in numbers.items() if number)
    return {"name": name, "total": start, "parts": parts, "text": f"{text} of {start}"}
