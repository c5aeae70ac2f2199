"""How fast compiled models predict, in turns with XGBoost's `inplace_predict` and the estimators.

``python -m experiments.speed.prediction [data set ...]`` trains a booster of 100 trees of depth 6
on each data set, and prints the median CPU time in which one thread predicts the margins of 10,000
rows (training rows, drawn with replacement) and of one row. ``--models`` prints the median time of
one row of yeast for chains and mixtures. Single rows are predicted several times in a row, so the
model is in the cache.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.data import load_dataset
from xdcc.serving import CompiledModel

type Predict = Callable[[Any], object]

DATA = ("yeast", "tmc2007-500", "bibtex")
N_ROWS = 10_000
N_TURNS = 15
MODELS = {
    "dynamic chain": DynamicChainClassifier(chain_length=None, propagate="in_sample", n_jobs=1),
    "order-free chain": OrderFreeChainClassifier(n_jobs=1),
    "mixture, F1": MultiLabelClassifier("example_f1", n_jobs=1),
    "mixture, subset accuracy": MultiLabelClassifier("subset_accuracy", n_jobs=1),
}


def compare(what: str, before: Predict, after: Predict, X: Any, n_calls: int) -> None:
    """Print the median CPU times of two ways to predict, in turns of `n_calls` after one more."""
    seconds: dict[Predict, list[float]] = {before: [], after: []}
    for _ in range(N_TURNS):
        for predict, found in seconds.items():
            predict(X)
            for _ in range(n_calls):
                start = time.process_time()
                predict(X)
                found.append(time.process_time() - start)
    old, new = (np.median(found) * 1e3 for found in seconds.values())
    print(f"{what} {old:.4f} ms, compiled {new:.4f} ms, {old / new:.1f} times as fast", flush=True)


def compare_boosters(name: str) -> None:
    """Compare a booster with XGBoost."""
    data = load_dataset(name, "train")
    X: Any = data.X[np.random.default_rng(0).integers(0, data.X.shape[0], N_ROWS)]
    X = sparse.csr_matrix(X, dtype=np.float32) if sparse.issparse(X) else np.float32(X)
    model = MultiLabelXGBClassifier(n_estimators=100, n_jobs=1).fit(data.X, data.Y)
    model.booster_.set_param({"nthread": 1})
    compiled = CompiledModel(model, n_jobs=1)

    def stock(X: Any) -> Any:
        return model.booster_.inplace_predict(X, predict_type="margin", validate_features=False)

    assert np.array_equal(stock(X), compiled.decision_function(X))
    for rows, n_calls in (X, 1), (X[:1], 100):
        what = f"{name}, {model.n_labels_} labels, {rows.shape[0]} rows: inplace_predict"
        compare(what, stock, compiled.decision_function, rows, n_calls)


def compare_models() -> None:
    """Compare chains and mixtures with their estimators, for one row."""
    train, test = load_dataset("yeast", "train"), load_dataset("yeast", "test")
    for name, model in MODELS.items():
        compiled = CompiledModel(model.fit(train.X, train.Y), n_jobs=1)
        for method in ("predict_proba", "predict"):
            what = f"{name}, {method}: estimator"
            before, after = getattr(model, method), getattr(compiled, method)
            compare(what, before, after, np.float32(test.X[:1]), 20)


if __name__ == "__main__":
    if "--models" in sys.argv:
        compare_models()
    else:
        for data_set in sys.argv[1:] or DATA:
            compare_boosters(data_set)
