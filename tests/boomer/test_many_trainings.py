"""Ten trainings in one process, with all losses, heads and kinds of data."""

import resource
import sys

import numpy as np
import pytest
from scipy import sparse

from xdcc.boomer import BoomerClassifier
from xdcc.boomer.losses import LOSSES

MIB = 2**10 if sys.platform == "linux" else 2**20
"""Units of `ru_maxrss` in a mebibyte: kibibytes on Linux, bytes on macOS."""


def train_ten_times(n_rules):
    rng = np.random.default_rng(0)
    variants = [(loss, head) for loss in LOSSES for head in ("single", "complete")]
    variants += [("logistic_example_wise", "complete"), ("logistic_label_wise", "single")]
    for number, (loss, head) in enumerate(variants):
        n_rows, n_features, n_labels = rng.integers((50, 3, 1), (400, 60, 20))
        X = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < 0.7)
        Y = rng.random((n_rows, n_labels)) < 0.3
        model = BoomerClassifier(
            n_rules=n_rules, loss=loss, head=head, random_state=number, n_jobs=1 + number % 2
        )
        model.fit(sparse.csr_matrix(X) if number % 3 == 0 else X, Y)
        assert np.isfinite(model.predict_proba(X)).all()


def test_ten_trainings():
    train_ten_times(40)


@pytest.mark.slow
def test_memory_does_not_grow():
    """A training holds about 2 MiB; 200 leaky ones would show in the peak."""
    for _ in range(5):
        train_ten_times(20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        train_ten_times(20)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 16 * MIB
