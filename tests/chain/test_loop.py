"""Where a round of the chain starts."""

import numpy as np
import pytest

from xdcc.chain.loop import open_base_score
from xdcc.validation import FitData

NAN = np.nan


def test_base_score_is_the_mean_of_what_is_known_and_open() -> None:
    X = np.zeros((4, 1), dtype=np.float32)
    Y = np.array([[0, 1, 1, 1], [0, 1, 1, NAN], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=np.float32)
    P = np.full(Y.shape, NAN, dtype=np.float32)
    P[:, 2] = 0.5
    P[2, 3] = 0.1
    found = open_base_score(FitData(X, Y, None), P)
    assert found == pytest.approx([1e-6, 1 - 1e-6, 0.5, 1 / 2], rel=1e-12)
    assert all(type(score) is float for score in found)
    weighted = open_base_score(FitData(X, Y, np.array([1, 1, 1, 3], dtype=np.float32)), P)
    assert weighted[3] == pytest.approx(1 / 4)
