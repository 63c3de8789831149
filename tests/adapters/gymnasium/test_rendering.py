"""The frames show what happens in the episode."""

import gymnasium
import numpy as np
import pytest

from bisimulator.adapters import BisimulatorEnv, BisimulatorVectorEnv
from bisimulator.adapters.gymnasium import _render_panels as panels
from bisimulator.adapters.gymnasium import rendering
from bisimulator.core import SCORE_GRID

SMALL = {"population": 20, "horizon": 130}


def frames(env, actions, seed=0):
    env.reset(seed=seed)
    rendered = [env.render()]
    for action in actions:
        env.step(action)
        rendered.append(env.render())
    return rendered


@pytest.mark.parametrize(("name", "params"), [("lending", {}), ("lending-10-groups", {}), ("college", {})])
def test_frames(name, params):
    first, *_, last = frames(BisimulatorEnv(name, render_mode="rgb_array", **SMALL, **params), (1, 0, 1))
    assert first.shape == (540, 960, 3)
    assert first.dtype == np.uint8
    assert not np.array_equal(first, last)


def test_a_frame_depends_on_the_episode_alone():
    """It does not depend on which frames were drawn before."""
    every = BisimulatorEnv("lending", render_mode="rgb_array", **SMALL)
    *_, last = frames(every, [1] * 30)
    once = BisimulatorEnv("lending", render_mode="rgb_array", **SMALL)
    once.reset(seed=0)
    for _ in range(30):
        once.step(1)
    np.testing.assert_array_equal(once.render(), last)
    last[:] = 0  # belongs to the caller
    assert once.render().any()


def test_the_frame_is_legible():
    """Nothing is cut off at the border, and most of the frame is empty."""
    env = BisimulatorEnv("lending-10-groups", render_mode="rgb_array", **SMALL)
    *_, frame = frames(env, [1] * 20)
    border = np.concatenate(
        [frame[:3].reshape(-1, 3), frame[-3:].reshape(-1, 3), frame[:, :3].reshape(-1, 3)]
    )
    assert (border == 255).all()
    assert 0.7 < (frame == 255).all(-1).mean() < 0.98


def test_a_vector_environment_renders_each_environment():
    env = BisimulatorVectorEnv("lending", 3, render_mode="rgb_array", **SMALL)
    env.reset(seed=0)
    for _ in range(3):
        env.step(np.ones(3, int))
    rendered = env.render()
    assert len(rendered) == 3
    single = BisimulatorEnv("lending", render_mode="rgb_array", **SMALL)
    np.testing.assert_array_equal(frames(single, (1, 1, 1), seed=1)[-1], rendered[1])
    env.close()


def test_one_group_and_two_scores():
    env = BisimulatorEnv("lending", render_mode="rgb_array", groups=1, c_max=2, population=3, horizon=4)
    assert len(frames(env, (1, 1, 1, 1))) == 5


def test_needs_a_mode_and_a_reset():
    env = BisimulatorEnv("lending", **SMALL)
    env.reset(seed=0)
    with pytest.raises(gymnasium.error.UnsupportedMode, match='render_mode="rgb_array"'):
        env.render()
    with pytest.raises(gymnasium.error.ResetNeeded, match="before reset"):
        BisimulatorEnv("lending", render_mode="rgb_array", **SMALL).render()
    with pytest.raises(ValueError, match=r"Unknown render_mode 'rgb'. Did you mean 'rgb_array'"):
        BisimulatorEnv("lending", render_mode="rgb", **SMALL)


def test_human_mode_without_a_screen(monkeypatch):
    monkeypatch.setattr(rendering.sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert rendering.available_render_modes() == ["rgb_array"]
    with pytest.raises(gymnasium.error.UnsupportedMode, match=r"needs a screen .* render_mode=\"rgb_array\""):
        gymnasium.make("bisimulator/Lending-v0", render_mode="human", **SMALL)


def test_human_mode_with_a_backend_that_has_no_window(monkeypatch):
    """There is a screen, but matplotlib is set to draw without one."""
    matplotlib = pytest.importorskip("matplotlib")
    monkeypatch.setattr(rendering, "can_show_window", lambda: True)
    with matplotlib.rc_context({"backend": "agg"}):
        env = gymnasium.make("bisimulator/Lending-v0", render_mode="human", **SMALL)
        with pytest.raises(gymnasium.error.UnsupportedMode, match="backend 'agg' has none"):
            env.reset(seed=0)
    env.close()


def test_human_mode_draws_into_the_window(monkeypatch):
    """Every reset and step updates the window, and render returns None."""
    shown = []

    def figure(window):
        plain = new_figure(False)
        plain.canvas.blit = lambda box: shown.append(np.asarray(plain.canvas.buffer_rgba()).copy())
        return plain

    new_figure = rendering._new_figure
    monkeypatch.setattr(rendering, "can_show_window", lambda: True)
    monkeypatch.setattr(rendering, "_new_figure", figure)
    env = BisimulatorEnv("lending", render_mode="human", **SMALL)
    assert "human" in env.metadata["render_modes"]
    env.reset(seed=0)
    env.step(1)
    assert env.render() is None
    assert len(shown) == 3
    assert not np.array_equal(shown[0], shown[1])
    env.close()
    env.close()


def test_observed_scores_are_shared_between_whole_scores():
    people = np.zeros((1, 2 * SCORE_GRID + 1))
    people[0, SCORE_GRID // 2] = 4
    people[0, 2 * SCORE_GRID] = 1
    assert panels.to_whole_scores(people, 3).tolist() == [[2, 2, 1]]


@pytest.mark.parametrize("values", [[0.5, 0.5], [0, 0, 0, 0], [1, 1, 0.99], [0.2, 0.9]])
def test_labels_do_not_overlap(values):
    heights = panels.spread_apart(np.array(values, float), 0.11)
    assert (np.diff(np.sort(heights)) >= 0.11 - 1e-3).all()
    assert heights.max() <= 1 + 1e-9


@pytest.mark.parametrize("groups", [1, 2, 6, 7, 10, 30])
def test_each_group_has_its_own_colour(groups):
    colours = panels.group_colours(groups)
    assert len({tuple(c) for c in colours}) == groups
