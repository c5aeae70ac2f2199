"""Small data, and chains that are fitted once for all tests of this folder."""

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from numpy.typing import NDArray
from sklearn.datasets import make_multilabel_classification

from xdcc.chain import DynamicChainClassifier

matplotlib.use("Agg")

type Data = tuple[NDArray[np.float32], NDArray[np.int64]]
type Fit = Callable[..., DynamicChainClassifier]


@pytest.fixture(scope="session")
def data() -> Data:
    X, Y = make_multilabel_classification(
        n_samples=100, n_features=6, n_classes=4, n_labels=2, random_state=1
    )
    return X.astype(np.float32), Y


@pytest.fixture(scope="session")
def fit(data: Data) -> Fit:
    """Fit a small chain, once for each set of parameters."""
    fitted: dict[str, DynamicChainClassifier] = {}

    def fit_chain(**params: Any) -> DynamicChainClassifier:
        key = repr(sorted(params.items()))
        if key not in fitted:
            small = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "split_method": "sumGain"}
            paper = {"propagate": "in_sample", "chain_length": None}
            fitted[key] = DynamicChainClassifier(**{**small, **paper, **params}).fit(*data)
        return fitted[key]

    return fit_chain


@pytest.fixture(autouse=True)
def _no_open_figures() -> Iterator[None]:
    yield
    pyplot.close("all")
