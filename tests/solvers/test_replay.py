"""The ring keeps the newest transitions, and samples what is there, evenly."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.methods.hooks import Transitions
from bisimulator.solvers.replay import empty_replay

CAPACITY, SIZE, GROUPS, SEEDS = 12, 6, 3, 2


def transitions(numbers):
    """Transitions (S, B) that can be told apart by any of their fields."""
    x = jnp.asarray(numbers, jnp.float32)
    whole = x.astype(jnp.int32)

    def obs(shift):
        group = jax.nn.one_hot((whole + int(4 * shift)) % GROUPS, GROUPS)
        return jnp.concatenate([x[..., None] + shift, group, -x[..., None], x[..., None] / 7], -1)

    odd = whole % 2 == 1
    return Transitions(
        obs(0.0), whole, whole > 5, x, obs(0.5), odd, whole % 3 == 0, whole % GROUPS, ~odd, obs(0.25)
    )


push = jax.jit(lambda ring, new: ring.push(new))


def pushed(batches):
    """What one seed is given, the other gets with the numbers raised by 100."""
    replay = empty_replay(SEEDS, CAPACITY, SIZE, GROUPS)
    for batch in batches:
        replay = push(replay, transitions([batch, np.add(batch, 100)]))
    return replay


def draw(replay, count, key=0):
    return replay.sample(jax.random.split(jax.random.key(key), SEEDS), (count,))


@pytest.fixture(scope="module")
def full():
    return pushed([range(4 * i, 4 * i + 4) for i in range(5)])


def test_it_keeps_the_newest(full):
    drawn = draw(full, 500)
    assert set(drawn.reward[0].tolist()) == set(range(8, 20))
    assert set(drawn.reward[1].tolist()) == set(range(108, 120))
    assert int(full.size) == CAPACITY
    assert int(full.next) == 20 % CAPACITY


def test_before_it_is_full_only_what_was_stored_is_drawn():
    replay = pushed([range(7, 11)])
    assert int(replay.size) == 4
    assert set(draw(replay, 500).reward[0].tolist()) == {7, 8, 9, 10}


def test_every_transition_is_drawn_equally_often_and_stays_whole(full):
    drawn = draw(full, 20_000, key=1)
    numbers = np.asarray(drawn.reward)
    seen = np.bincount(numbers[0].astype(int))[8:]
    # 11 degrees of freedom: 31.3 has probability 1e-3
    assert ((seen - 20_000 / 12) ** 2 / (20_000 / 12)).sum() < 31.3
    jax.tree.map(np.testing.assert_array_equal, drawn, transitions(numbers))


def test_batches_have_the_shape_that_is_asked_for(full):
    drawn = full.sample(jax.random.split(jax.random.key(0), SEEDS), (3, 5))
    assert drawn.reward.shape == (SEEDS, 3, 5)
    assert drawn.next_self_obs.shape == (SEEDS, 3, 5, SIZE)


def test_drawing_is_by_the_key(full):
    first, again, other = (draw(full, 20, key).reward for key in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (np.asarray(first) != np.asarray(other)).any()


def test_a_row_is_as_short_with_many_groups():
    widths = {empty_replay(1, 4, groups + 3, groups).rows.shape[-1] for groups in (1, 2, 100)}
    assert len(widths) == 1
