"""Gradient-norm clipping is optax's, for one vector."""

import jax
import numpy as np
import optax
import pytest

from bisimulator.solvers._clipping import clip_vector


@pytest.mark.parametrize("size", [1, 255, 256, 3843])
@pytest.mark.parametrize("max_norm", [1e-3, 0.5, 1e3])
def test_it_clips_as_optax_does(size, max_norm):
    gradient = np.random.default_rng(size).normal(size=size).astype(np.float32)
    ours, theirs = (
        jax.jit(lambda g, clip=clip: clip.update(g, clip.init(g))[0])(gradient)
        for clip in (clip_vector(max_norm), optax.clip_by_global_norm(max_norm))
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert np.linalg.norm(ours) <= max_norm * (1 + 1e-5)


def test_no_gradient_stays_none():
    clip = clip_vector(0.5)
    zeros = np.zeros(7, np.float32)
    np.testing.assert_array_equal(jax.jit(lambda g: clip.update(g, clip.init(g))[0])(zeros), zeros)
