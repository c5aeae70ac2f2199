"""The comparison with GPUs, on machines without one."""

import numpy as np
import pytest

from experiments.speed import gpu_peers


def test_nothing_is_measured_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None)
    assert gpu_peers.main() == 0
    printed = capsys.readouterr()
    assert not printed.out
    assert "no NVIDIA GPU" in printed.err


def test_xgboost_trains_to_the_goal(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).astype(np.float32)
    Y = (X[:, :2] > 0).astype(np.float32)
    monkeypatch.setattr(gpu_peers, "GOAL", 0.2)
    params = {"objective": "multilabel:logistic", "learning_rate": 0.5}
    found = gpu_peers.with_xgboost(params, ((X, Y), (X, Y)))
    assert found["loss"] <= 0.2
    assert found["rounds"] % 5 == 0


def test_a_training_ends_after_the_longest_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_peers, "LONGEST", -1.0)
    found = gpu_peers.time_to_goal(iter(range(9)), lambda round_: None, lambda: 1.0)
    assert found["rounds"] == 1
