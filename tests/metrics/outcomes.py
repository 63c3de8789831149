"""Small outcomes with given counts."""

import numpy as np

from bisimulator.core import COUNTS, SCORE_GRID, Outcome


def outcome(true_scores, tallies=None, **counts):
    """Two episodes, the second with doubled counts, so that leading axes are tested."""
    true = np.array(true_scores, np.float32)
    groups, scores = true.shape
    table = np.zeros((groups, len(COUNTS)), np.float32)
    for name, values in counts.items():
        table[:, COUNTS.index(name)] = values
    observed = np.zeros((groups, (scores - 1) * SCORE_GRID + 1), np.float32)
    observed[:, ::SCORE_GRID] = true
    twice = [np.stack([x, 2 * x]) for x in (table, true, observed, np.zeros((1, groups), np.float32))]
    both = {
        name: np.stack([np.array(x, float), 2 * np.array(x, float)]) for name, x in (tallies or {}).items()
    }
    return Outcome(*twice, tallies=both or None)
