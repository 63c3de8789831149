"""Episodes in batches: the same results, in bounded memory."""

import dataclasses

import jax
import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.cli import app as cli
from bisimulator.simulation import batches, check_memory, evaluation_keys

ENV = bisimulator.make("lending", population=10, horizon=20)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_batches_change_nothing(monkeypatch, size):
    def run(keys):
        return {"bits": jax.random.key_data(keys), "batch": np.full(keys.size, keys.size)}

    keys = jax.random.split(jax.random.key(0), 4)
    monkeypatch.setattr(batches, "episodes_at_once", lambda env: size)
    found = batches.in_batches(ENV, keys, run)
    np.testing.assert_array_equal(found["bits"], jax.random.key_data(keys))
    assert set(found["batch"]) == {size}  # always the same size, so that nothing compiles twice


def test_an_evaluation_in_batches_is_the_same(monkeypatch):
    whole = bisimulator.evaluate(ENV, policies.random(0.5), seeds=2, episodes=2)
    monkeypatch.setattr(batches, "_MEMORY", 1)
    parts = bisimulator.evaluate(ENV, policies.random(0.5), seeds=2, episodes=2)
    for field in dataclasses.fields(whole.outcome):
        one, other = (getattr(e.outcome, field.name) for e in (whole, parts))
        np.testing.assert_array_equal(one, other)


def test_ten_million_people_are_evaluated_one_episode_at_a_time():
    assert batches.episodes_at_once(bisimulator.make("lending")) >= 50
    assert batches.episodes_at_once(bisimulator.make("lending", population=10_000_000)) == 1


def test_what_no_machine_can_hold_is_refused_in_a_sentence(capsys):
    arguments = ["simulate", "lending", "accept-all", "--set", "population=2147483646", "horizon=2147483646"]
    assert cli.main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("bisimulator: an episode takes about")
    assert error.rstrip().endswith("use a smaller population or horizon")


def test_more_episodes_than_any_memory_holds_are_refused():
    with pytest.raises(ValueError, match="at most 10,000,000, got 11 x 1,000,000; use fewer"):
        evaluation_keys(range(11), 1_000_000)


def test_episodes_of_a_training_that_do_not_fit_are_refused():
    env = bisimulator.make("lending", population=2**31 - 2)
    with pytest.raises(MemoryError, match="50 episodes take about"):
        check_memory(env, 50)
