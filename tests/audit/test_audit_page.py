"""The page loads nothing and shows the result of the audit."""

import re
from html.parser import HTMLParser

import pytest

import bisimulator
from bisimulator.audit.analysis import audit
from bisimulator.audit.audit_page import GROUP_COLUMNS, cell, render_audit
from bisimulator.audit.audited_policy import read_policy
from bisimulator.audit.words import caveats, summary_statements

VOID = {"meta", "br", "img", "link", "use", "path", "rect", "circle"}


@pytest.fixture(scope="module")
def page(result):
    return render_audit(result)


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
    assert not {"script", "iframe", "object", "link", "img"} & set(tags.seen)
    assert all(link.startswith("#") for link in tags.links)
    assert "default-src 'none'" in page
    assert not re.search(r"url\((?!#)", page)
    assert tags.seen.count("svg") == 3


def test_names_from_outside_are_escaped(page):
    assert "<b>up</b>" not in page
    assert "&lt;b&gt;up&lt;/b&gt;" in page
    assert "First &amp; last." in page


def test_it_has_every_sentence_and_every_number(page, result):
    from markupsafe import escape

    for title, text in summary_statements(result):
        assert str(escape(title)) in page
        assert str(escape(text)) in page
    for sentence in caveats():
        assert str(escape(sentence)) in page
    for g in range(2):
        for column in GROUP_COLUMNS:
            assert f"<td>{cell(result, column, g)}</td>" in page


def test_names_of_groups_in_figures_are_written_as_they_are(env):
    named = bisimulator.make("lending", **{**env.settings, "group_names": ("$x_{$", "_b")})
    text = render_audit(audit(read_policy("600", named), people="", seeds=2, episodes=1))
    # once in the legend of each of two figures; as mathematics the name would be wrong
    for name in (r"\$x_\{\$", "_b"):
        assert len(re.findall(rf"<text[^>]*>{name}</text>", text)) == 2


def test_it_is_the_same_each_time(page, result):
    again = render_audit(result)
    assert again == page


def test_cells(result):
    assert re.fullmatch(r"\d+\.\d% ± \d+\.\d", cell(result, "recall", 0))
    assert re.fullmatch(r"\d+", cell(result, "score_start", 0))
