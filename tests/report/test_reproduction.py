"""The sentence after a reproduction."""

from bisimulator.report.reproduction import reproduction_sentence
from bisimulator.report.sentences import width_sentence
from bisimulator.report.verdicts import compare_with_paper, count_verdicts
from tests.report.synthetic_results import several_results


def test_the_sentence_has_the_time_and_the_verdicts():
    results = several_results()
    counts = count_verdicts(compare_with_paper(results))
    assert reproduction_sentence(results, 3723.0) == (
        f"7 jobs, 1:02:03 of training and evaluation in all processes together. "
        f"Of the paper's 186 numbers {counts.matched} are matched "
        f"(the 95% intervals overlap), {counts.beaten} beaten, {counts.missed} missed and 158 not run. "
        f"{width_sentence(counts)}"
    )
