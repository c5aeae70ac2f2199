"""Small multi-label data for the baselines."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_multilabel_classification


class Rows(NamedTuple):
    """Training rows with four labels, and new rows."""

    X: NDArray[np.float32]
    Y: NDArray[np.int64]
    X_new: NDArray[np.float32]


@pytest.fixture
def rows() -> Rows:
    """150 rows, of which 100 are for training."""
    X, Y = make_multilabel_classification(
        n_samples=150, n_features=6, n_classes=4, n_labels=2, random_state=3
    )
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)  # logistic regression is fast
    return Rows(X[:100], Y[:100], X[100:])
