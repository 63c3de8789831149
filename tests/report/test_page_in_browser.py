"""The page in a real browser, as wide as a desktop screen and as a phone."""

import io
import json

import numpy as np
import pytest

from bisimulator.report.report_page import render_report
from tests.report.browser import HOW_TO_GET, find_browser
from tests.report.synthetic_results import (
    HOSTILE,
    REFERENCE,
    hostile_method,
    several_results,
    synthetic_result,
)

pytestmark = pytest.mark.skipif(find_browser() is None, reason=HOW_TO_GET)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    with hostile_method():
        path.write_text(
            render_report([*several_results(), synthetic_result(method=HOSTILE)]), encoding="utf-8"
        )
    return path


def drawn(browser, method):
    """How many lines and points of a method there are on the page."""
    return browser.run(
        f"[...document.querySelectorAll('.line, .dot')].filter(e => e.dataset.method === {json.dumps(method)}).length"
    )


def test_it_is_printed_light_and_nothing_is_cut(browser, path):
    browser.open(path, width=718, dark=True)  # A4 without margins
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert (
        browser.run(
            "Math.max(...[...document.querySelectorAll('table, .canvas')].map(e => e.getBoundingClientRect().right))"
        )
        <= 718
    )


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, False), (1280, True)])
def test_it_loads_without_a_complaint_and_asks_for_nothing(browser, path, width, dark):
    from PIL import Image

    browser.requests.clear()
    browser.open(path, width=width, dark=dark)
    assert browser.problems == []
    assert [url for url in browser.requests if url != "about:blank"] == [path.as_uri()]
    charts, places = browser.run(
        "[document.querySelectorAll('.chart > svg.canvas[width]').length, document.querySelectorAll('.chart').length]"
    )
    assert charts == places > 10
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")  # nothing sticks out
    with Image.open(io.BytesIO(browser.screenshot())) as picture:
        pixels = np.asarray(picture.convert("L"))
    assert (np.median(pixels) < 50) == dark
    assert pixels.std() > 5  # something is written on it


def test_a_click_hides_a_method_everywhere_and_the_address_keeps_it(browser, path):
    browser.open(path)
    before, others = drawn(browser, "ppo"), drawn(browser, "dqn")
    assert before > 4
    browser.run("document.querySelector('[data-toggle=ppo]').click()")
    assert drawn(browser, "ppo") == 0
    assert drawn(browser, "dqn") == others
    assert browser.run("location.hash") == "#hide=ppo"
    assert (
        browser.run("[...document.querySelectorAll('[data-toggle=ppo]')].map(b => b.ariaPressed)")
        == ["false"] * 2
    )
    browser.run("document.querySelector('[data-show-all]').click()")
    assert drawn(browser, "ppo") == before
    assert browser.run("location.hash") == ""


def test_an_address_brings_the_view_back(browser, path):
    browser.open(path, fragment="#hide=ppo,dqn,nobody")
    assert (drawn(browser, "ppo"), drawn(browser, "dqn")) == (0, 0)
    assert drawn(browser, "ppo-bisimulator") > 0
    browser.open(path, fragment="#hide=%E0%A4%A")  # not a text at all
    assert drawn(browser, "ppo") > 0
    assert browser.problems == []


def test_all_methods_can_be_hidden(browser, path):
    browser.open(path)
    browser.run(
        "document.querySelectorAll('.legend')[0].querySelectorAll('[data-toggle]').forEach(b => b.click())"
    )
    assert browser.run("document.querySelectorAll('.line[data-method], .dot').length") == 0
    assert browser.problems == []


def test_a_column_sorts_both_ways_by_its_numbers(browser, path):
    browser.open(path)
    rows = "[...document.querySelector('table.sortable').tBodies[0].rows]"
    column = f"{rows}.map(row => parseFloat(row.cells[1].dataset.value))"
    before = browser.run(column)
    for direction in (1, -1):
        browser.run("document.querySelector('table.sortable th:nth-child(2) button').click()")
        assert browser.run(column) == sorted(before, key=lambda x: direction * x)
    assert browser.run("document.querySelector('table.sortable th:nth-child(2)').ariaSort") == "descending"


def test_the_pointer_and_the_arrow_keys_show_the_values(browser, path):
    browser.open(path)
    browser.run("document.querySelectorAll('.charts .chart')[0].scrollIntoView()")
    x, y = browser.run(
        "(() => { const r = document.querySelectorAll('.charts .chart svg.canvas')[0].getBoundingClientRect();"
        " return [r.left + r.width - 25, r.top + r.height / 2] })()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    tip = "document.querySelectorAll('.charts .chart')[0].querySelector('.tip')"
    assert browser.run(f"{tip}.hidden") is False
    assert "training steps: 400,000" in browser.run(f"{tip}.textContent")
    assert browser.run(f"{tip}.querySelectorAll('.tip-line').length") == 6
    browser.run("document.querySelectorAll('.chart svg.canvas')[0].focus()")
    for key in ("ArrowRight", "ArrowRight", "End", "Home", "ArrowLeft"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
    first = "document.querySelectorAll('.chart')[0].querySelector('.tip')"
    assert "average return" in browser.run(f"{first}.textContent")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert browser.run(f"{first}.hidden") is True


def test_another_measure_of_fairness_can_be_chosen(browser, path):
    browser.open(path)
    title = "document.querySelectorAll('.chart')[0].querySelectorAll('.axis')[1].textContent"
    assert browser.run(title).startswith("recall gap")
    browser.run(
        "(() => { const choice = document.querySelector('.controls select'); choice.value = 1;"
        " choice.dispatchEvent(new Event('change')) })()"
    )
    assert browser.run(title).startswith("credit gap")
    hollow = "document.querySelectorAll('.chart')[0].querySelectorAll('.hollow').length"
    assert browser.run(hollow) == 4
    browser.run("document.querySelector('.controls input').click()")
    assert browser.run(hollow) == 0


def test_the_frontier_and_accept_all_are_drawn_within_the_frame(browser, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_report(several_results(), {"lending": REFERENCE}), encoding="utf-8")
    browser.open(path)
    assert browser.problems == []
    script = """(() => {
      const canvas = document.querySelectorAll('.chart svg.canvas')[0];
      const line = canvas.querySelector('.frontier').parentNode.getBoundingClientRect();
      const frame = canvas.getBoundingClientRect();
      return [document.querySelectorAll('.frontier').length, line.left > frame.left && line.bottom < frame.bottom,
              [...canvas.querySelectorAll('.name')].filter(t => t.textContent === 'accept-all').length];
    })()"""
    assert browser.run(script) == [1, True, 2]  # the job, and the exact value


def test_names_of_points_overlap_neither_each_other_nor_the_frame(browser, path):
    browser.open(path)
    script = """(() => {
      const canvas = document.querySelectorAll('.chart svg.canvas')[0];
      const boxes = [...canvas.querySelectorAll('.name')].map(t => t.getBoundingClientRect());
      const frame = canvas.getBoundingClientRect();
      const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom - 3 <= b.top || b.bottom - 3 <= a.top;
      return [boxes.length, boxes.every((a, i) => boxes.slice(i + 1).every(b => apart(a, b))),
              boxes.every(a => a.left >= frame.left && a.right <= frame.right && a.top >= frame.top)];
    })()"""
    assert browser.run(script) == [6, True, True]


def test_a_name_with_a_script_in_it_is_only_a_name(browser, path):
    browser.open(path)
    assert drawn(browser, HOSTILE) > 4
    buttons = "[...document.querySelectorAll('[data-toggle]')]"
    browser.run(f"{buttons}.find(button => button.dataset.toggle === {json.dumps(HOSTILE)}).click()")
    fragment = browser.run("location.hash")
    browser.open(path, fragment=fragment)
    assert drawn(browser, HOSTILE) == 0
    assert browser.run("typeof window.hacked") == "undefined"
    assert browser.problems == []
