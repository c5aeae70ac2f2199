"""How long random decision trees take, and what shrinking leaf sets save.

    python -m experiments.benchmarks.rdt_speed [--data yeast] [--trees 300] [--threads 2]

Trains on the training part and predicts the test part with the dynamic chain (probability
method): once with the leaves that each instance reaches kept and shrunk, once with every tree
walked again from its root in every iteration (`xdcc.rdt.forest.read_forest`, which is compiled
and threaded in the same way). Both have to decide the same labels in the same order with the same
probabilities.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import check_features
from xdcc.data import load_dataset
from xdcc.rdt import RandomDecisionTreeClassifier
from xdcc.rdt.forest import Weighting, read_forest


def seconds[T](job: Callable[[], T], repeats: int = 1) -> tuple[float, T]:
    """Best time of a few, and the result."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = job()
        times.append(time.perf_counter() - begin)
    return min(times), result


def walk_again(
    model: RandomDecisionTreeClassifier, X: NDArray[np.float32] | sparse.csr_matrix, n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Order and probabilities of a dynamic chain that walks all trees in each iteration."""
    n_rows, n_labels = X.shape[0], model.n_labels_
    known = np.full((n_rows, n_labels), -1, np.int8)
    labels = np.empty((n_rows, n_labels), np.int64)
    Y_proba = np.empty((n_rows, n_labels))
    rows = np.arange(n_rows)
    for iteration in range(n_labels):
        proba, _ = read_forest(
            model.forest_, X, Weighting(True, 0.0), sigma=1.0, known=known, n_threads=n_threads
        )
        label = np.where(known < 0, np.abs(0.5 - proba), -1).argmax(axis=1)
        labels[:, iteration] = label
        Y_proba[rows, label] = proba[rows, label]
        known[rows, label] = proba[rows, label] >= 0.5
    return labels, Y_proba


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="yeast")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    train, test = load_dataset(options.data, "train"), load_dataset(options.data, "test")
    model = RandomDecisionTreeClassifier(
        n_estimators=options.trees,
        threshold="probability",
        categorical_features=[t == "nominal" for t in train.feature_types],
        random_state=0,
        n_jobs=options.threads,
    )
    fit, _ = seconds(lambda: model.fit(train.X, train.Y), 3)
    print(f"{options.data}: {options.trees} trees, {options.threads} threads")
    print(f"fit, {len(train)} rows: {fit:.2f} s")
    kept, trace = seconds(lambda: model.trace(test.X), 3)
    print(f"dynamic chain, {len(test)} rows, leaves kept: {kept:.2f} s")
    X = check_features(model, test.X)
    walked, (labels, Y_proba) = seconds(lambda: walk_again(model, X, options.threads))
    np.testing.assert_array_equal(labels, trace.labels)
    np.testing.assert_array_equal(Y_proba, trace.Y_proba)
    print(f"dynamic chain, trees walked again: {walked:.2f} s, {walked / kept:.1f} times as long")


if __name__ == "__main__":
    main()
