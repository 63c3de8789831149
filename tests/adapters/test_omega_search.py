"""omega of any environment: the search makes the groups look alike."""

import numpy as np
import pytest

from bisimulator.adapters import Corrector, WithGroups
from bisimulator.adapters.omega_search import improve_omega, observe_changes
from tests.adapters.applicants import SHIFT, Applicants
from tests.adapters.test_group_info import Counter

OPTIONS = {
    "hidden": (4,),
    "psi_hidden": (8,),
    "compared": 800,
    "psi_first_steps": 300,
    "psi_steps": 1,
    "batch": 64,
    "dynamics_steps": 80,
    "only_raise": True,
}


def fitted(env):
    """A correction that has learned once, so that its scaling is fitted."""
    corrector = Corrector.from_env(env, **OPTIONS)
    obs, _ = env.reset(seed=0)
    for _ in range(64):
        before = obs
        obs, reward, _, _, info = env.step(1)
        corrector.record(before[None], [1], [reward], [info["group"]])
    corrector.learn()
    return corrector


@pytest.mark.long
def test_the_groups_scores_become_alike():
    """The scores understate two groups by 1 and 2; parameters that add just that make the groups look alike."""
    env = Applicants(people=1000, horizon=800)
    corrector = fitted(env)
    improve_omega(corrector, env, lambda obs: 1)
    assert np.ptp(corrector.omega[:, 0] - SHIFT) < 0.5  # 2 at the start
    assert corrector.omega[0, 0] == 0  # only_raise keeps it
    assert corrector.omega.min() >= 0
    assert corrector.omega.max() <= 3
    np.testing.assert_array_equal(env.observation_params, corrector.omega)
    assert corrector.describe()["j_dyn"] > 0


def test_candidates_are_tried_on_whole_episodes_with_common_random_numbers():
    env = Applicants(horizon=150)
    corrector = fitted(env)
    first = observe_changes(corrector, env, lambda obs: 1, 200, seed=4)  # two episodes, thinned evenly
    again = observe_changes(corrector, env, lambda obs: 1, 200, seed=4)
    np.testing.assert_array_equal(first.rows, again.rows)
    assert first.rows.shape == first.next_rows.shape == (200, corrector.encoding.size)
    env.set_observation_params(np.full((3, 1), 1.0))
    moved = observe_changes(corrector, env, lambda obs: 1, 200, seed=4)
    np.testing.assert_array_equal(moved.group, first.group)
    scale = corrector.encoding.scale[0]
    np.testing.assert_allclose((moved.rows - first.rows)[:, 0], 1 / scale, rtol=1e-3)


def test_environments_whose_omega_cannot_be_learned():
    env = WithGroups(Counter(), group=lambda obs: int(obs[0]) % 2, num_groups=2)
    with pytest.raises(ValueError, match=r"has no observation parameters.*dynamics_steps=0"):
        improve_omega(Corrector.from_env(env, batch=4), env, lambda obs: 1)
    env = Applicants()
    with pytest.raises(ValueError, match="learned after the reward correction"):
        improve_omega(Corrector.from_env(env, batch=4), env, lambda obs: 1)
    corrector = fitted(env)
    step = env.step
    env.step = lambda action: (*step(action)[:4], {"group": 0})
    with pytest.raises(ValueError, match="no 'next_self_observation'"):
        improve_omega(corrector, env, lambda obs: 1)
