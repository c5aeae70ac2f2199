"""A clock that jumps while a model is trained, saved or loaded changes nothing."""

from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import xdcc
from xdcc.serving import load_model, save_model

CLOCK = cycle([1.8e9, 1.8e9 - 86_400, 0.0, 4e9, 4e9])
"""Back by a day, back to the epoch, far ahead, and standing still."""

CLASSIFIERS = [
    xdcc.MultiLabelClassifier("hamming_accuracy", cv=2, time_budget=1e6, random_state=0, verbose=1),
    xdcc.BoomerClassifier(n_rules=10, random_state=0, verbose=1),
    xdcc.CTBNMixtureClassifier(C=1.0, max_components=2, n_anneal=5, random_state=0, verbose=1),
]
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)


def trained(classifier, path):
    model = classifier.fit(X, Y)
    save_model(model, path)
    return load_model(path).predict_proba(X), path.read_bytes()


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_a_clock_that_jumps(classifier, tmp_path, monkeypatch):
    proba, written = trained(classifier, tmp_path / "before.xdcc")
    seconds = getattr(classifier, "summary_", {}).get("seconds")
    with monkeypatch.context() as jumping:
        jumping.setattr("time.time", lambda: next(CLOCK))
        proba_after, written_after = trained(classifier, tmp_path / "after.xdcc")
    assert_array_equal(proba_after, proba)
    if seconds is None:  # the table of `MultiLabelClassifier` has seconds
        assert written_after == written
    else:
        assert min(classifier.summary_["seconds"]) >= 0
