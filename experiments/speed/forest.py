"""How much CPU time extra trees take to train: scikit-learn's, and ours on sketches.

``python -m experiments.speed.forest [data set ...]`` prints the CPU seconds of `fit` on one core
for 200 trees with scikit-learn's settings, the fastest of repeated runs that take turns.
"""

import sys
import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier

from xdcc.data import load_dataset
from xdcc.forest import SketchedExtraTreesClassifier

DATA = ("emotions", "yeast", "scene", "image", "enron", "slashdot", "bibtex")
N_RUNS = 2
SKETCH_SIZES = (1, 4)


def cpu_seconds(model: Any, X: Any, Y: Any) -> float:
    """Train a model and return the CPU seconds that it took."""
    start = time.process_time()
    model.fit(X, Y)
    return time.process_time() - start


def ratios(name: str) -> list[float]:
    """Print the times on a data set; return how many times longer scikit-learn takes."""
    data = load_dataset(name, None if name == "slashdot" else "train")
    X: Any = data.X
    dense = np.float32(X.toarray() if sparse.issparse(X) else X)
    theirs, ours = np.inf, np.full(len(SKETCH_SIZES), np.inf)
    for seed in range(N_RUNS):
        settings: dict[str, Any] = {"max_features": "sqrt", "n_jobs": 1, "random_state": seed}
        theirs = min(theirs, cpu_seconds(ExtraTreesClassifier(200, **settings), dense, data.Y))
        for i, size in enumerate(SKETCH_SIZES):
            model = SketchedExtraTreesClassifier(
                200, min_samples_leaf=1, sketch_size=size, **settings
            )
            ours[i] = min(ours[i], cpu_seconds(model, X, data.Y))
    print(name, f"{theirs:.3f}", ours.round(4).tolist(), (theirs / ours).round(1).tolist())
    return (theirs / ours).tolist()


if __name__ == "__main__":
    found = np.array([ratios(name) for name in sys.argv[1:] or DATA])
    means = np.exp(np.log(found).mean(axis=0)).round(1).tolist()
    print("geometric means for sketch_size", SKETCH_SIZES, means)
