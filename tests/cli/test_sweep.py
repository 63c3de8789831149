"""Options with several values on the command line."""

import pytest

from bisimulator.cli._sweep import split_sweep


def test_values_follow_their_option_and_the_rest_stays():
    arguments = "lending --methods ppo --method.kappa 0 0.05 --seeds 2 --solver.learning-rate 1e-4"
    rest, method, solver = split_sweep([*arguments.split(), "--method.gauge", "kappa", "free"])
    assert rest == ["lending", "--methods", "ppo", "--seeds", "2"]
    assert method == {"kappa": [0, 0.05], "gauge": ["kappa", "free"]}
    assert solver == {"learning_rate": [1e-4]}


def test_an_equals_sign_and_negative_numbers():
    assert split_sweep(["--method.alpha=2", "-5"]) == ([], {"alpha": [2, -5]}, {})


def test_tuples_and_words_are_values():
    assert split_sweep(["--solver.hidden", "(4,4)", "True"])[2] == {"hidden": [(4, 4), True]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method.kappa"], "needs at least one value"),
        (["--method.kappa", "1", "--method.kappa", "2"], "stands twice"),
    ],
)
def test_mistakes_are_explained(arguments, message):
    with pytest.raises(ValueError, match=message):
        split_sweep(arguments)
