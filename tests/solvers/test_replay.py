"""The ring keeps the newest transitions, and samples what is there, evenly."""

import jax
import jax.numpy as jnp
import numpy as np

from bisimulator.methods.hooks import Transitions
from bisimulator.solvers.replay import empty_replay

CAPACITY, SIZE = 10, 3


def transitions(numbers):
    """Transitions that can be told apart: every field holds the number."""
    x = jnp.asarray(numbers, jnp.float32)
    obs, whole, flag = jnp.tile(x[:, None], (1, SIZE)), x.astype(jnp.int32), x % 2 == 1
    return Transitions(obs, whole, whole > 0, x, obs + 0.5, flag, ~flag, whole, flag, obs + 0.25)


def pushed(batches):
    replay = empty_replay(transitions([0]), CAPACITY)
    for batch in batches:
        replay = replay.push(transitions(batch))
    return replay


def test_it_keeps_the_newest():
    replay = pushed([range(4 * i, 4 * i + 4) for i in range(4)])
    assert sorted(replay.data.reward.tolist()) == list(range(6, 16))
    assert int(replay.size) == CAPACITY
    assert int(replay.next) == 16 % CAPACITY


def test_before_it_is_full_only_what_was_stored_is_drawn():
    replay = pushed([[7, 8, 9]])
    drawn = replay.sample(jax.random.key(0), 500)
    assert int(replay.size) == 3
    assert set(drawn.reward.tolist()) == {7, 8, 9}


def test_every_transition_is_drawn_equally_often_and_stays_whole():
    drawn = pushed([range(5), range(5, 13)]).sample(jax.random.key(1), 20_000)
    numbers = np.asarray(drawn.reward)
    seen = np.bincount(numbers.astype(int), minlength=13)
    assert (seen[:3] == 0).all()
    # 9 degrees of freedom: 28 has probability 1e-3
    assert ((seen[3:] - 2000.0) ** 2 / 2000).sum() < 28
    wanted = transitions(numbers)
    jax.tree.map(np.testing.assert_array_equal, drawn, wanted)


def test_drawing_is_by_the_key():
    replay = pushed([range(10)])
    first, again, other = (replay.sample(jax.random.key(k), 20).reward for k in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (np.asarray(first) != np.asarray(other)).any()


def test_pushing_and_drawing_compile_with_a_ring_for_each_seed():
    rings = jax.vmap(lambda _: empty_replay(transitions([0]), CAPACITY))(jnp.arange(2))
    batch = jax.tree.map(lambda *x: jnp.stack(x), transitions([1, 2, 3]), transitions([4, 5, 6]))
    rings = jax.jit(jax.vmap(lambda ring, new: ring.push(new)))(rings, batch)
    drawn = jax.vmap(lambda ring, key: ring.sample(key, 100))(rings, jax.random.split(jax.random.key(0)))
    assert [set(row.tolist()) for row in drawn.reward] == [{1, 2, 3}, {4, 5, 6}]
