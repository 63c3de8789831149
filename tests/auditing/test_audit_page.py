"""The page loads nothing and shows the result of the audit."""

import dataclasses
import re
from html.parser import HTMLParser

import numpy as np

from bisimulator.auditing._figures import draw_frontier
from bisimulator.auditing.audit_page import GROUP_COLUMNS, cell, render_audit
from bisimulator.auditing.decision_words import rule_in_words
from bisimulator.auditing.section_words import caveats
from bisimulator.auditing.summary_words import summary_statements

VOID = {"meta", "br", "img", "link", "use", "path", "rect", "circle"}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def test_it_loads_nothing_and_runs_no_script(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert page.startswith("<!doctype html>")
    assert not {"script", "iframe", "object", "link", "img"} & set(tags.seen)
    assert all(link.startswith("#") for link in tags.links)
    assert "default-src 'none'" in page
    assert not re.search(r"url\((?!#)", page)
    # three figures of 3, 3 and 4 panels with a legend of two groups each, and the frontier
    assert tags.seen.count("svg") == (3 + 2) + (3 + 2) + (4 + 2) + 1


def test_names_from_outside_are_escaped(page):
    assert "<b>up</b>" not in page
    assert "&lt;b&gt;up&lt;/b&gt;" in page
    assert "First &amp; last." in page
    for name in ("&lt;b&gt;up&lt;/b&gt;", "down"):
        assert page.count(f"</svg>{name}</span>") == 3  # once in the legend of each of three figures


def test_it_has_every_sentence_and_every_number(page, result):
    from markupsafe import escape

    for title, text in summary_statements(result):
        assert str(escape(title)) in page
        assert str(escape(text)) in page
    for sentence in caveats():
        assert str(escape(sentence)) in page
    for g in range(2):
        for column in GROUP_COLUMNS:
            assert (
                f'<td data-title="{GROUP_COLUMNS[column][0]}">{cell(result, column, g)}</td>'
                in page.replace("&#39;", "'")
            )


def test_labels_of_the_frontier_keep_clear_of_the_arrows(result):
    groups = {**result.groups, "recall": (np.full(2, 0.3), np.full(2, np.nan))}  # far left: a long arrow
    changed = dataclasses.replace(result.consequences, groups=groups)
    axis = draw_frontier(dataclasses.replace(result, consequences=changed)).axes[0]
    boxes = [text.get_window_extent() for text in axis.texts if text.get_text()]
    arrows = [text for text in axis.texts if not text.get_text()]
    assert len(arrows) == 2
    for arrow in arrows:
        for place in np.linspace(*axis.transData.transform([arrow.xyann, arrow.xy]), 100):
            assert not any(box.contains(*place) for box in boxes)


def test_it_shows_the_policies_that_it_names(page, result):
    from markupsafe import escape

    assert "Score by score, beside the audited policy: fairer_policy.csv." in page
    for row in result.fairer.table:
        assert f"<td>{escape(rule_in_words(row, result.audited.people_env))}</td>" in page
    assert (
        f'<td>fairer, earns no less</td><td data-title="earned">{result.fairer.row.earned:,.0f}</td>' in page
    )


def test_it_is_the_same_each_time(page, result):
    again = render_audit(result)
    assert again == page


def test_on_an_exact_page_nothing_is_simulated(page, result):
    assert "±" not in page
    assert "nothing is simulated" in page
    assert cell(result, "recall", 0) == f"{100 * result.row.recalls[0]:.1f}%"


def test_simulated_numbers_of_a_page_have_intervals_and_contradict_no_exact_one(simulated, result):
    assert not simulated.is_exact
    for column in ("approval_rate", "recall", "precision", "score_end", "loans"):
        (mean, half), (exact, _) = simulated.groups[column], result.groups[column]
        assert (abs(mean - exact) < 2 * half).all(), column
        assert all(" ± " in cell(simulated, column, g) for g in range(2))
    assert abs(simulated.earned - result.earned) < 2 * simulated.consequences.earned_half_width
    np.testing.assert_allclose(simulated.best.upper_bound, result.best.upper_bound)


def test_a_simulated_mean_above_the_bound_is_said_to_be_chance(simulated):
    above = dataclasses.replace(
        simulated.consequences, earned=simulated.earned + 2 * abs(simulated.regret) + 1
    )
    lucky = dataclasses.replace(simulated, consequences=above)
    assert lucky.regret < 0
    assert (
        "lies above this bound, which can only be by chance"
        in dict(summary_statements(lucky))["What it earns"]
    )


def test_the_page_begins_with_what_is_audited_and_what_drives_it(page):
    begin = page[page.index("<h1>") : page.index("<h2>Summary</h2>")]
    assert "Audit: accept &lt;b&gt;up&lt;/b&gt; from 600, down from 450" in begin
    assert "Accepts &lt;b&gt;up&lt;/b&gt; from score 600, down from score 450 on." in begin
    assert "nobody set it: score_up, score_down: defaults of lending" in begin
    assert "2 times what a repaid loan earns, so a single loan pays where more than 67% repay" in begin
    assert "reward_default set for this audit; reward_repaid: default of lending" in begin
    assert "5 times each on average" in begin
