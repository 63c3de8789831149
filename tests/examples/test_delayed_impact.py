"""The example of Liu et al.: its rules are what they claim to be, and its page says what the code computes."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import bisimulator

ROOT = Path(__file__).parents[2]
# Mean change of the black group's scores under MaxUtil, DemPar and EqOpt, read off the paper's figure.
PUBLISHED = {4: (8, -17, 6), 10: (4, 7, 9)}


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(ROOT / "examples" / "delayed_impact.py"))


@pytest.fixture(scope="module", params=PUBLISHED)
def curves(request, script):
    env = bisimulator.make("lending-us-2003", groups=script["GROUPS"])
    return request.param, script["Curves"](env, request.param)


@pytest.mark.long
def test_it_draws_a_picture_and_its_table_is_on_the_page(script, tmp_path, capsys):
    target = tmp_path / "images" / "impact.svg"
    script["main"](target)
    drawn = target.read_text(encoding="utf-8")
    assert all(f">{name}<" in drawn for name in ("MaxUtil", "DemPar", "EqOpt", "white", "black"))
    page = (ROOT / "docs" / "envs" / "us_credit.md").read_text(encoding="utf-8")
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) == 6
    assert all(row in page for row in rows)


def test_scores_change_as_published(curves):
    ratio, curve = curves
    for rule, published in zip(("MaxUtil", "DemPar", "EqOpt"), PUBLISHED[ratio], strict=True):
        change = curve.at(curve.change, curve.rates(rule))[1]
        assert change == pytest.approx(published, abs=1.5)  # a figure, and bins of 25 points
        assert np.sign(change) == np.sign(published)


def test_each_rule_earns_the_most_under_its_constraint(curves):
    _, curve = curves

    def earned(rates):
        return curve.sizes @ curve.at(curve.profit, np.asarray(rates))

    best, parity, equal = (curve.rates(rule) for rule in ("MaxUtil", "DemPar", "EqOpt"))
    grid = np.linspace(0, 1, 101)
    assert earned(best) >= max(earned((a, b)) for a in grid for b in grid)
    assert parity[0] == parity[1]
    assert earned(parity) >= max(earned((a, a)) for a in grid)
    recalls = curve.at(curve.repaid, equal) / curve.repaid[:, -1]
    assert recalls[0] == pytest.approx(recalls[1])
    assert earned(best) > earned(equal) > earned(parity)
