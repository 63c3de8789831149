"""The HTML page: it loads nothing, everything is escaped, and its numbers are those of the results."""

import base64
import dataclasses
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from bisimulator import registry
from bisimulator.policies.rules import methods_for
from bisimulator.report._charts import plain
from bisimulator.report.report_page import page_template, render_report, script_json
from tests.report.synthetic_results import (
    HOSTILE,
    REFERENCE,
    hostile_method,
    several_results,
    synthetic_result,
)


class Reader(HTMLParser):
    """Start tags with their attributes, and the text within scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inside, self.texts = [], "", {"script": [], "style": [], "": []}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.inside = "" if tag == self.inside else self.inside

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside][-1] += data
        else:
            self.texts[""].append(data)

    @property
    def data(self):
        return json.loads(self.texts["script"][0])


@pytest.fixture(scope="module")
def results():
    return several_results()


def test_equal_results_give_equal_pages_however_long_they_took(results):
    slower = [dataclasses.replace(result, seconds=1e4) for result in results]
    assert render_report(slower) == render_report(results)


@pytest.fixture(scope="module")
def text(results):
    return render_report(results)


@pytest.fixture(scope="module")
def read(text):
    return Reader(text)


def test_nothing_is_fetched(text, read):
    for tag, attributes in read.tags:
        assert tag not in ("link", "iframe", "object", "img", "base")
        assert "src" not in attributes
        assert not attributes.get("href", "#").startswith(("http", "//", "file"))
    assert "url(" not in text
    assert "@import" not in text


def test_only_the_pages_own_script_and_style_may_run(read):
    policy = next(a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind, content in (("script", read.texts["script"][1]), ("style", read.texts["style"][0])):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert not any(name.startswith("on") or name == "style" for _, a in read.tags for name in a)


def test_names_are_escaped_everywhere(results):
    with hostile_method():
        reader = Reader(render_report([synthetic_result(method=HOSTILE), results[0]]))
    assert [tag for tag, _ in reader.tags].count("script") == 2
    assert "img" not in [tag for tag, _ in reader.tags]
    toggles = [a["data-toggle"] for _, a in reader.tags if "data-toggle" in a]
    assert toggles == ["ppo", HOSTILE]
    assert reader.data["looks"][HOSTILE]["label"] == HOSTILE


def test_json_cannot_end_its_script():
    value = {"a": HOSTILE, "b": "\u2028<!--"}
    assert json.loads(script_json(value)) == value
    assert not set("<>&\u2028") & set(script_json(value))


def test_numbers_that_json_does_not_have_are_left_out():
    assert [plain(x) for x in (np.nan, np.inf, 1.0, 2 / 3, np.float32(1e-7))] == [
        None,
        None,
        1,
        0.66667,
        1e-07,
    ]
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))


def test_every_chart_has_its_place_and_every_place_its_chart(read):
    used = [int(a["data-chart"]) for _, a in read.tags if "data-chart" in a]
    assert sorted(used) == list(range(len(read.data["charts"])))
    for chart in read.data["charts"]:
        for part in chart.get("options", [chart]):
            assert {s["method"] for s in part["series"] if "method" in s} <= set(read.data["looks"])


def test_the_scatter_has_the_means_and_intervals_of_the_results(read, results):
    scatter = next(chart for chart in read.data["charts"] if chart["kind"] == "scatter")
    option = next(option for option in scatter["options"] if option["xTitle"].startswith("recall gap"))
    for point in option["series"]:
        result = next(r for r in results if (r.spec.method, r.spec.scenario) == (point["method"], "lending"))
        expected = (*result.summary["recall_gap"], *result.summary["average_return"])
        np.testing.assert_allclose(
            [point["x"], point["xHalf"], point["y"], point["yHalf"]], expected, rtol=1e-4
        )
    assert {point["method"] for point in option["paper"]} == {
        point["method"] for point in option["series"]
    } - {"accept-all"}


def test_the_scatter_has_accept_all_and_the_frontier_if_they_are_known(results):
    reader = Reader(render_report(results, {"lending-10-groups": REFERENCE}))
    first, second = (chart["options"] for chart in reader.data["charts"] if chart["kind"] == "scatter")
    assert not any("references" in option or "frontier" in option for option in first)
    recall, credit = second
    (point,) = recall["references"]
    assert (point["label"], point["method"], point["x"], point["y"]) == ("accept-all", None, 0, 800)
    assert recall["frontier"] == [[0, 0.5], [900, 1200]]
    assert "frontier" not in credit
    words = " ".join(reader.texts[""])
    assert "accept-all was not among the jobs; its values are exact." in words
    assert "no policy has a higher expected return at that recall gap." in words
    assert "No frontier of the credit gap: it takes minutes." in words


def test_curves_have_every_evaluation(read, results):
    label = "recall gap during training in lending, one line per method"
    chart = next(chart for chart in read.data["charts"] if chart.get("label") == label)
    series = {s["method"]: s for s in chart["series"]}
    stored = results[0].curves
    assert series["ppo"]["x"] == stored.steps.tolist()
    np.testing.assert_allclose(series["ppo"]["y"], stored.values["recall_gap"].mean(1), rtol=1e-4)
    assert "x" not in series["accept-all"]  # a horizontal line


def test_the_table_can_be_sorted_by_the_numbers_behind_it(read, results):
    cells = [a["data-value"] for tag, a in read.tags if tag == "td" and "data-value" in a]
    assert repr(results[0].summary["average_return"][0]) in cells


def test_the_configuration_behind_each_number_is_there(text, results):
    shown = re.findall(r"<pre>(.*?)</pre>", text, re.S)
    assert len(shown) == len(results)
    for spec in (result.spec for result in results):
        assert spec.name in text
    assert json.loads(html.unescape(shown[0])) in [result.spec.to_dict() for result in results]
    assert "Python 3" in text
    assert f"bisimulator {__import__('bisimulator').__version__}" in text


def test_the_summary_says_what_was_run_and_what_was_not(read):
    words = " ".join(read.texts[""])
    assert "Of the paper's 186 numbers 28 were run here" in words
    assert "not run here: PPO + Bisimulator (Reward only), ELBERT-PO." in words


def test_a_single_rule_with_one_seed_is_enough():
    reader = Reader(
        render_report([synthetic_result(method="accept-all", seeds=1, settings={"population": 50})])
    )
    assert "None of the paper's 186 numbers was run here." in " ".join(reader.texts[""])


def test_of_many_groups_some_are_shown_and_settings_are_reported():
    many = synthetic_result(
        method="ppo-bisimulator", recalls=np.linspace(1, 0.5, 100), settings={"groups": 100}
    )
    text = render_report([many])
    assert "Settings that differ from the paper's: groups 100." in html.unescape(text)
    assert "10 of 100 groups." in text
    assert '"group 100"' in text
    assert '"group 2"' not in text


def test_settings_that_differ_between_jobs_are_not_reported_for_the_scenario():
    results = [synthetic_result(settings={"population": 50}), synthetic_result(method="dqn")]
    assert "Settings that differ" not in render_report(results)


def test_a_full_report_stays_small():
    """Eleven methods with 40 evaluations; the paper has four scenarios, so a quarter of 3 MB each."""
    usable = methods_for(registry.lookup("environment", "lending"))
    methods = [name for name in usable if name not in ("reject-all", "threshold")][:11]
    assert len(render_report([synthetic_result(method=method, points=40) for method in methods])) < 750_000


def test_values_of_a_page_are_data():
    name = "\x1b[31m<script>US$ $x_{[/b]\x1b]0;unfinished"
    page = page_template("report.html.j2")
    assert page.environment.from_string("{{ x }}|after").render(x=name) == "&lt;script&gt;US$ $x_{[/b]|after"
