"""Random edits of model files are refused or predict; some hundred here, the rest by name."""

import importlib.util
import os
import signal
from pathlib import Path

import pytest
import xgboost as xgb

from xdcc.base import booster_scan_reference
from xdcc.base._booster_scan import scan


@pytest.fixture(scope="module")
def edits():
    path = Path(__file__).with_name("model_edits.py")
    spec = importlib.util.spec_from_file_location("model_edits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def models(edits):
    with xgb.config_context(verbosity=0):  # gblinear is deprecated
        return edits.Models()


def test_some_edits(edits, models):
    counts, findings = edits.run(models, range(600))
    assert findings == []
    assert sum(counts.values()) == 600
    # An edit of each kind was refused, and one was harmless.
    for kind in ("json", "ubj", "xdcc"):
        assert counts[f"{kind}: refused"] > 20
        assert counts[f"{kind}: predicts"] > 0


@pytest.mark.fuzz
def test_many_edits(edits, models):
    _, findings = edits.run(models, range(10**6, 10**6 + 100_000))
    assert findings == []


def test_a_crash_is_reported(edits, monkeypatch):
    """It ends its child, and not the campaign."""

    def outcome(models, kind, content):
        if content == b"crash":
            os.kill(os.getpid(), signal.SIGKILL)
        raise RuntimeError("odd")

    monkeypatch.setattr(edits, "outcome", outcome)
    monkeypatch.setattr(edits, "edited", lambda _, number: ("json", [b"", b"crash"][number % 2]))
    counts, findings = edits.run(None, range(4))
    assert sorted(findings) == [
        [0, "json", "RuntimeError: odd"],
        [1, "json", "the child ended with -9"],
        [2, "json", "RuntimeError: odd"],
        [3, "json", "the child ended with -9"],
    ]
    assert sum(counts.values()) == 4


def test_the_twin_reads_the_same(models):
    """What an unedited model holds, told by both."""
    for contents in models.boosters:
        for content in contents:
            trees = booster_scan_reference.scan(content, deepest=32)
            found = scan(content, deepest=32)["learner"]["gradient_booster"]["model"].get("trees")
            if found is None:
                assert trees == []
                continue
            assert found.n_trees == len(trees)
            widths = [int(tree["tree_param"]["size_leaf_vector"]) for tree in trees]
            assert (found.smallest_width, found.largest_width) == (min(widths), max(widths))
            features = [
                feature
                for tree in trees
                for feature, left in zip(tree["split_indices"], tree["default_left"], strict=True)
                if (feature, left) != (booster_scan_reference.DELETED, 1)
            ]
            assert found.largest_feature == max(features)
