"""Running gaps of recalls and of benefit rates compared with a loop over decisions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.methods._running_gaps import recall_gap, running_gaps
from tests.methods.batches import group_batch, random_batch


def slow_gap(counts):
    recalls = [accepted / qualified for qualified, accepted in counts if qualified]
    return max(recalls) - min(recalls) if len(recalls) > 1 else 0.0


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_gaps_before_and_after_every_decision_agree_with_the_loop(seed, groups):
    batch = random_batch(seed, steps=40, num_envs=3, groups=groups)
    gaps = running_gaps(jnp.zeros((3, groups, 2)), batch)
    batch, (counts, before, after) = jax.tree.map(np.asarray, (batch, gaps))
    for env in range(3):
        slow = [[0, 0] for _ in range(groups)]
        for t in range(40):
            assert before[t, env] == pytest.approx(slow_gap(slow), abs=1e-6)
            if batch.qualified[t, env]:
                slow[int(batch.group[t, env])][0] += 1
                slow[int(batch.group[t, env])][1] += int(batch.action[t, env] == 1)
            assert after[t, env] == pytest.approx(slow_gap(slow), abs=1e-6)
            if batch.terminated[t, env] or batch.truncated[t, env]:
                slow = [[0, 0] for _ in range(groups)]
        np.testing.assert_array_equal(counts[env], slow)


def test_two_batches_give_the_same_as_one_long_batch():
    batch = random_batch(7, steps=20)
    whole = running_gaps(jnp.zeros((3, 2, 2)), batch)
    first, second = (
        jax.tree.map(lambda x, steps=steps: x[steps], batch) for steps in (slice(0, 9), slice(9, 20))
    )
    counts, _, after = running_gaps(jnp.zeros((3, 2, 2)), first)
    counts, _, later = running_gaps(counts, second)
    np.testing.assert_array_equal(counts, whole[0])
    np.testing.assert_array_equal(jnp.concatenate([after, later]), whole[2])


def test_a_gap_needs_two_groups():
    assert recall_gap(jnp.zeros((1, 3, 2))).tolist() == [0]
    assert recall_gap(jnp.array([[[4.0, 3.0], [0.0, 0.0]]])).tolist() == [0]


def test_decisions_about_all_groups_have_gaps_of_benefit_rates():
    """Supply / (demand + 1) since the episode began."""
    batch = group_batch(0, steps=30, num_envs=2, groups=3)
    counts, before, after = map(np.asarray, running_gaps(jnp.zeros((2, 3, 2)), batch))
    supply, demand = (np.asarray(batch.tallies[name]) for name in ("supply", "demand"))
    ended = np.asarray(batch.terminated | batch.truncated)
    assert ended.any()
    for env in range(2):
        total = np.zeros((3, 2))
        for t in range(30):
            for gap in (before, after):
                rates = total[:, 1] / (total[:, 0] + 1)
                assert gap[t, env] == pytest.approx(rates.max() - rates.min(), abs=1e-6)
                if gap is before:
                    total += np.stack([demand[t, env], supply[t, env]], -1)
            total *= not ended[t, env]
        np.testing.assert_array_equal(counts[env], total)
