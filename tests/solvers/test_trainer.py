"""The loop around the compiled updates: chunks, checkpoints, Ctrl-C, progress, and what is not finite."""

import dataclasses
import os
import signal
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator import files, registry
from bisimulator.errors import Interrupted
from bisimulator.methods.hooks import Method
from bisimulator.solvers import trainer
from bisimulator.solvers.ppo import PPO, PPOConfig
from tests import probes

CONFIG = PPOConfig(
    num_envs=2,
    rollout=4,
    minibatch=8,
    epochs=2,
    learning_rate=1e-2,
    gamma=0.9,
    hidden=(8,),
    input_scale=1.0,
)
UPDATES, SEEDS, ADAPTED = 23, (3, 8), (6, 17)


@dataclasses.dataclass(frozen=True)
class Spoiling(Method):
    """Counts the updates, draws a number at each `adapt`, and can spoil one update.

    What to spoil stands in omega, an array, so that all tests share one compiled program: 1000 + u makes the
    reward of update u NaN, 2000 + u the method's own state.
    """

    def init(self, key, env, num_envs):
        return {"spoil": env.params.omega[0, 0], "updates": jnp.int32(0), "drawn": jnp.float32(0)}

    def learn(self, key, state, batch):
        count = state["updates"] + 1
        drawn = jnp.where(state["spoil"] == 2000 + count, jnp.inf, state["drawn"])
        return {**state, "updates": count, "drawn": drawn}, ()

    def reward(self, state, batch, extras):
        noise = jnp.where(jnp.isfinite(state["drawn"]), state["drawn"], 0.0)
        return jnp.where(state["spoil"] == 1000 + state["updates"], jnp.nan, batch.reward + noise)

    def adapt_at(self, updates):
        return ADAPTED

    def adapt(self, key, state, act, scenario, params, horizon):
        return {**state, "drawn": jax.random.normal(key)}


SOLVER = PPO(CONFIG, Spoiling(), UPDATES)


def env_with(spoil=0.0):
    return probes.probe(probes.MATCHING, omega=spoil)


def kept(training):
    """A copy: the next chunk reuses the memory of what it is given."""
    return jax.tree.map(lambda x: np.asarray(files._raw(x)).copy(), training)


def assert_same(a, b):
    jax.tree.map(np.testing.assert_array_equal, kept(a), kept(b))


@pytest.fixture(scope="module")
def undisturbed():
    return kept(trainer.train(env_with(), SOLVER, SEEDS))


def test_the_training_ends_after_all_updates_and_adapts_when_it_should(undisturbed):
    _, method = probes.all_seeds(undisturbed)
    assert {int(part.update) for part in undisturbed} == {UPDATES}
    assert method["updates"].tolist() == [UPDATES] * 2
    assert method["drawn"][0] != method["drawn"][1]
    assert 0 not in method["drawn"]


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_chunks_do_not_change_what_is_learned(undisturbed, monkeypatch, seconds):
    """One update at a time, and as many as fit before the next stop."""
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", seconds)
    told = []
    assert_same(trainer.train(env_with(), SOLVER, SEEDS, on_progress=told.append), undisturbed)
    ends = [p.update for p in told]
    assert ends == (list(range(1, UPDATES + 1)) if seconds == 0 else [1, *ADAPTED, UPDATES])


@pytest.mark.parametrize("at", [1, 6, 12, 22])
def test_saved_loaded_and_resumed_it_ends_bit_for_bit_the_same(undisturbed, monkeypatch, tmp_path, at):
    """Also when the checkpoint lies exactly where the method adapts."""
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    file, env = tmp_path / "checkpoint.npz", env_with()

    def keep(training):
        if int(training[0].update) == at:
            files.write_tree(file, training)

    trainer.train(env, SOLVER, SEEDS, on_checkpoint=keep, checkpoint_seconds=0.0)
    like = trainer.init_shapes(env, SOLVER, SEEDS)
    loaded = files.read_tree(file, like)
    assert {int(part.update) for part in loaded} == {at}
    assert_same(trainer.train(env, SOLVER, SEEDS, training=loaded), undisturbed)


def test_a_finished_training_is_not_trained_further(undisturbed):
    env = env_with()
    training = trainer.train(env, SOLVER, SEEDS)
    told = []
    assert_same(trainer.train(env, SOLVER, SEEDS, training=training, on_progress=told.append), undisturbed)
    assert told == []


def test_ctrl_c_keeps_a_checkpoint_and_a_second_start_finishes_the_same(undisturbed, monkeypatch, tmp_path):
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    file, env = tmp_path / "checkpoint.npz", env_with()

    def press(progress):
        if progress.update == 9:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=f"stopped after 9 of {UPDATES} updates"):
        trainer.train(
            env, SOLVER, SEEDS, on_progress=press, on_checkpoint=lambda t: files.write_tree(file, t)
        )
    assert signal.getsignal(signal.SIGINT) is before
    loaded = files.read_tree(file, trainer.init_shapes(env, SOLVER, SEEDS))
    assert {int(part.update) for part in loaded} == {9}
    assert_same(trainer.train(env, SOLVER, SEEDS, training=loaded), undisturbed)


@pytest.fixture
def heeds_ctrl_c():
    """What runs in the background ignores it, and so would these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeds_ctrl_c")
def test_a_second_ctrl_c_stops_at_once():
    before = signal.getsignal(signal.SIGINT)

    def press(progress):
        signal.raise_signal(signal.SIGINT)
        while signal.getsignal(signal.SIGINT) is not before:  # two that come close together are noted as one
            time.sleep(0.001)
        signal.raise_signal(signal.SIGINT)
        time.sleep(10)

    with pytest.raises(KeyboardInterrupt):
        trainer.train(env_with(), SOLVER, SEEDS, on_progress=press)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_a_reward_that_is_not_a_number_stops_with_the_update_and_what_it_was(monkeypatch, seconds):
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", seconds)
    with pytest.raises(FloatingPointError, match=r"^update 13: the loss and theta became NaN or infinite"):
        trainer.train(env_with(1013), SOLVER, SEEDS)


def test_a_method_that_is_not_finite_is_named_and_nothing_else():
    with pytest.raises(FloatingPointError, match=r"^update 4: the method became NaN or infinite"):
        trainer.train(env_with(2004), SOLVER, SEEDS)


def test_a_checkpoint_is_never_written_after_something_was_not_finite(monkeypatch):
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    seen = []
    with pytest.raises(FloatingPointError):
        trainer.train(
            env_with(1005),
            SOLVER,
            SEEDS,
            on_checkpoint=lambda t: seen.append(int(t[0].update)),
            checkpoint_seconds=0.0,
        )
    assert seen == [1, 2, 3, 4]


def test_progress_tells_steps_return_and_recall_of_each_chunk(monkeypatch):
    """Against a rollout by hand: MATCHING pays 1 or -1 a step, and `qualified` is "accepted" there."""
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    env, told, logged = env_with(), [], []
    join = trainer._join

    def watched(logs):
        logged.append(join(logs))
        return logged[-1]

    monkeypatch.setattr(trainer, "_join", watched)
    trainer.train(env, SOLVER, SEEDS, on_progress=told.append)
    assert [p.steps for p in told] == [CONFIG.batch * u for u in range(1, UPDATES + 1)]
    assert {p.updates for p in told} == {UPDATES}
    sums = logged[::2]  # of a chunk, then those of its last update
    for p, logs in zip(told, sums, strict=True):
        assert p.recall == (1.0,)
        assert p.steps_per_second > 0
        assert p.loss == pytest.approx(float(logs["loss"].mean()))
        per_decision = logs["reward"].sum() / (len(SEEDS) * CONFIG.batch)
        assert -1 <= per_decision <= 1
        assert p.episode_return == pytest.approx(per_decision * int(env.params.horizon))
    assert told[-1].episode_return > told[0].episode_return


@pytest.mark.parametrize("seconds", [0.0, 1e6])
def test_it_is_shown_at_the_asked_updates_after_adapting_and_before_a_checkpoint(
    undisturbed, monkeypatch, seconds
):
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", seconds)
    seen, order = {}, []

    def look(training, diagnostics):
        assert np.isfinite(diagnostics["loss"]).all()
        order.append("evaluated")
        seen[int(training[0].update)] = [float(part.method["drawn"][0]) for part in training]

    ended = trainer.train(
        env_with(),
        SOLVER,
        SEEDS,
        evaluate_at=(2, 6, 16, 17, UPDATES),
        on_evaluate=look,
        on_checkpoint=lambda training: order.append(int(training[0].update)),
        checkpoint_seconds=0.0,
    )
    assert_same(ended, undisturbed)
    assert list(seen) == [2, 6, 16, 17, UPDATES]
    assert seen[2] == [0.0, 0.0]
    assert 0.0 not in seen[6]  # ADAPTED there
    assert seen[16] == seen[6]
    assert seen[17] != seen[16]
    for update in seen:
        assert order[order.index(update) - 1] == "evaluated"


def test_checkpoints_that_take_long_come_less_often(monkeypatch):
    now, kept = [0.0], []
    monkeypatch.setattr(trainer.time, "monotonic", lambda: now[0])

    def keep(training):
        kept.append(now[0])
        now[0] += 2.0  # to write it

    checkpoints = trainer._Checkpoints(keep, 5.0)
    for _ in range(100):
        now[0] += 1.0
        checkpoints.offer((), now=False)
    assert kept == [5.0, 47.0, 89.0]  # 2 s of writing are a twentieth of 40 s
    checkpoints.offer((), now=True)
    assert len(kept) == 4


def test_a_training_shorter_than_one_update_is_refused():
    entry = registry.lookup("method", "ppo")
    with pytest.raises(ValueError, match="steps must be at least 8, got 7"):
        trainer.make_solver(entry, env_with(), 7, CONFIG)
    assert trainer.make_solver(entry, env_with(), 31, CONFIG).updates == 3
