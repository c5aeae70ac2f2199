"""The stopping score is the measure of its name in `xdcc.metrics`, which has other code."""

import numpy as np
import pytest

from xdcc import metrics
from xdcc.chain.stop_measure import stop_score
from xdcc.decision.measures import MEASURES

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("unknown", [0.0, 0.7])
@pytest.mark.parametrize("name", MEASURES)
def test_is_the_measure_of_that_name(name: str, unknown: float) -> None:
    Y = (RNG.random((40, 3)) < 0.4).astype(np.float32)
    Y[RNG.random(Y.shape) < unknown] = np.nan
    labels = (RNG.random(Y.shape) < 0.4).astype(np.int64)
    assert stop_score(name, Y, labels) == pytest.approx(getattr(metrics, name)(Y, labels))


@pytest.mark.parametrize("name", MEASURES)
def test_many_blocks_of_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Y = (RNG.random((40, 3)) < 0.4).astype(np.float32)
    labels = (RNG.random(Y.shape) < 0.4).astype(np.int64)
    monkeypatch.setattr("xdcc.base.label_rows._BLOCK_ENTRIES", 7)
    assert stop_score(name, Y, labels) == pytest.approx(getattr(metrics, name)(Y, labels))


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_known(name: str) -> None:
    with pytest.raises(ValueError, match="nothing to measure early stopping on: every label is"):
        stop_score(name, np.full((2, 3), np.nan), np.zeros((2, 3), dtype=np.int64))
