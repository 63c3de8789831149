"""A model, its correction and omega are saved together and continue together."""

import equinox as eqx
import numpy as np
import pytest
from stable_baselines3 import PPO

from bisimulator.adapters.sb3 import BisimulatorCallback, BisimulatorVecEnv, load, save

OPTIONS = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu"}
SMALL = {"hidden": (4,), "psi_hidden": (4,), "alpha": 2.0, "dynamics_steps": 0, "learning_rate": 0.05}


def test_what_was_saved_is_loaded(venv, tmp_path):
    model, callback = PPO("MlpPolicy", venv, **OPTIONS), BisimulatorCallback(batch=64, every=64, **SMALL)
    model.learn(128, callback=callback)
    omega = np.array([[0.5, 1.0], [1.5, 0.25]], np.float32)
    callback.corrector.state = eqx.tree_at(lambda state: state.omega, callback.corrector.state, omega)
    save(tmp_path / "runs" / "lending", model, callback)
    assert sorted(p.name for p in (tmp_path / "runs").iterdir()) == ["lending.bisimulator.npz", "lending.zip"]
    with np.load(tmp_path / "runs" / "lending.bisimulator.npz", allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored.files)

    fresh = BisimulatorVecEnv("lending", 4, population=20, horizon=30)
    again, loaded = load(tmp_path / "runs" / "lending.zip", PPO, fresh, device="cpu")
    np.testing.assert_array_equal(fresh.get_attr("observation_params")[0], omega)
    assert loaded.corrector.config == callback.corrector.config
    obs = fresh.reset()
    np.testing.assert_array_equal(
        again.predict(obs, deterministic=True)[0], model.predict(obs, deterministic=True)[0]
    )
    group, action = obs[:, 1:3].argmax(1), np.ones(4, int)
    correction = loaded.corrector.correction(obs, action, group)
    assert correction.all()
    np.testing.assert_array_equal(correction, callback.corrector.correction(obs, action, group))
    updates = loaded.corrector.updates
    again.learn(64, callback=loaded, reset_num_timesteps=False)
    assert loaded.corrector.updates == updates + 1


def test_a_model_without_a_correction(venv, tmp_path):
    PPO("MlpPolicy", venv, **OPTIONS).save(tmp_path / "plain")
    with pytest.raises(FileNotFoundError, match=r"plain.bisimulator.npz is missing.*PPO.load"):
        load(tmp_path / "plain", PPO, venv)
