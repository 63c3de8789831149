"""The page: one file that needs nothing else, written from a template with everything escaped."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from importlib import resources
from typing import Any

from bisimulator.jobs.run import Result
from bisimulator.report import _charts as charts
from bisimulator.report import findings
from bisimulator.report._by_scenario import Scene, scenes
from bisimulator.report._page_sections import section
from bisimulator.report._styles import group_colours
from bisimulator.report.summary import tally
from bisimulator.report.verdicts import Score

TITLE = "Long-term group fairness: what was found"
SCRIPTS = ("dom.js", "chart.js", "scatter.js", "page.js")
PACKAGES = ("bisimulator", "jax", "numpy", "equinox", "optax")


def page(results: Sequence[Result]) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    found = scenes(results)
    collected: list[charts.Chart] = []
    sections = [section(scene, f"scenario-{i}", collected) for i, scene in enumerate(found)]
    style = _template("report.css") + _colours(found)
    script = f'"use strict";\n(() => {{\n{"".join(map(_template, SCRIPTS))}}})();\n'
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(_template("report.html.j2")).render(
        title=TITLE,
        subtitle=_subtitle(found),
        score=findings.score_sentence(results),
        tally=[_bar(name, s) for name, s in tally(results).items()],
        scenes=sections,
        reading=_reading(),
        made_with=made_with(),
        data=Markup(script_json({"looks": charts.looks(found), "charts": collected})),
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def script_json(value: Any) -> str:
    """JSON that can stand within a script element: nothing in it can end the element or begin another."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII: the rest is escaped
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def made_with() -> str:
    """Versions and machine of whoever writes the page."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"Written with {versions}; {machine}, {os.cpu_count()} cores."


def _template(name: str) -> str:
    return resources.files("bisimulator.report").joinpath("templates", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page's policy allows to run: this text and no other."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _colours(found: Sequence[Scene]) -> str:
    """The methods' and the groups' colours as variables, for light and dark screens."""
    entries = {entry.key: entry for scene in found for entry in scene.entries}
    numbers = {scene.entries[0].result.spec.make_env().num_groups for scene in found}
    light = {f"--m{i}": entry.style.colour for i, entry in enumerate(entries.values())}
    dark = {f"--m{i}": entry.style.on_dark for i, entry in enumerate(entries.values())}
    for number in sorted(numbers):
        for g in range(number):
            light[f"--g{number}-{g}"] = group_colours(number)[g]
            dark[f"--g{number}-{g}"] = group_colours(number, dark=True)[g]
    variables = [" ".join(f"{name}: {colour};" for name, colour in theme.items()) for theme in (light, dark)]
    return (
        f":root {{ {variables[0]} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {variables[1]} }} }}\n"
    )


def _subtitle(found: Sequence[Scene]) -> str:
    jobs = sum(len(scene.entries) for scene in found)
    where = findings.listed([scene.scenario for scene in found], max=8)
    paper = "“Fairness in Reinforcement Learning with Bisimulation Metrics”"
    return f"{jobs} job{'s' * (jobs > 1)} in {where}, next to the numbers of {paper}."


def _bar(name: str, s: Score) -> dict[str, Any]:
    parts, start = [], 0
    for kind, number in s.counts.items():
        parts.append({"kind": kind.replace(" ", "-"), "start": start, "number": number})
        start += number
    text = ", ".join(f"{number} {kind}" for kind, number in s.counts.items() if number)
    return {"name": name, "total": s.total, "parts": parts, "text": f"{text} of {s.total}"}


def _reading() -> list[str]:
    return [
        "A number is the mean over seeds, each seed being the mean of its evaluation episodes; after ± stands the half "
        "width of the 95% interval (Student's t). Bold: the best of a column and all within 5% of it, as in the paper.",
        "Matched, beaten and missed compare the 95% intervals as the paper prints them, to two decimals. Where they do "
        "not overlap, better means a higher return or recall, and a lower gap, spread or burden.",
        "Evaluation episodes have the same random numbers for all methods, so methods that decide alike have "
        "equal rows.",
        "Recall: the share of the qualified who were accepted, over the whole episode. Recall gap: largest minus "
        "smallest recall of a group. Credit gap: distance between the groups' final credit scores, in score points. "
        "Social burden: mean cost paid by the admitted who paid anything.",
        "Click a method above the figures to hide or show it everywhere; the address then holds the view. In a figure "
        "the arrow keys move from point to point.",
    ]
