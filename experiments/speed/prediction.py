"""How fast compiled models predict, beside XGBoost's `inplace_predict` and Treelite.

The suite ``predict`` trains a booster of 100 trees of depth 6 in each process, and measures the CPU
time in which one thread predicts margins of 1 to 10,000 rows (training rows, drawn with
replacement). ``python -m experiments.speed.prediction`` prints the median time of one row of a
DataFrame, and of one row and 10,000 rows of yeast for chains and mixtures, in turns with the
estimators, and the size of each compiled model's file. The same rows are predicted several times in
a row, so the model is in the cache.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from experiments.speed.data import Features, Labels
from experiments.speed.stopwatch import measure_cost
from experiments.speed.suites import Job
from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier, LaCovaCForestClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.data import load_dataset
from xdcc.distillation import DistilledClassifier
from xdcc.serving import CompiledModel, save_model, to_treelite

type Predict = Callable[[Any], Any]

BATCHES = (1, 10, 100, 1000, 10_000)
"""Numbers of rows."""
SECONDS = 0.5
"""Least time for calls with each batch, after the first one."""
LEAST_CALLS = 5
N_TURNS = 15
MODELS = {
    "dynamic chain": DynamicChainClassifier(chain_length=None, propagate="in_sample", n_jobs=1),
    "order-free chain": OrderFreeChainClassifier(n_jobs=1),
    "mixture, F1": MultiLabelClassifier("example_f1", n_jobs=1),
    "mixture, subset accuracy": MultiLabelClassifier("subset_accuracy", n_jobs=1),
    "folds, F1": MultiLabelClassifier("example_f1", refit=False, n_jobs=1),
    "folds, subset accuracy": MultiLabelClassifier("subset_accuracy", refit=False, n_jobs=1),
    "refit, F1": MultiLabelClassifier("example_f1", refit=True, n_jobs=1),
    "refit, subset accuracy": MultiLabelClassifier("subset_accuracy", refit=True, n_jobs=1),
    "student of the mixture, F1": DistilledClassifier(
        MultiLabelClassifier("example_f1", n_jobs=1), n_jobs=1
    ),
    "random decision trees": RandomDecisionTreeClassifier(n_jobs=1),
    "random decision trees, no chain": RandomDecisionTreeClassifier(chain=None, n_jobs=1),
    "rules": BoomerClassifier(n_jobs=1),
    "LaCovaC tree": LaCovaCClassifier(n_jobs=1),
    "LaCovaC forest": LaCovaCForestClassifier(n_jobs=1),
}


def measure_prediction(job: Job, X: Features, Y: Labels, time_limit: float) -> dict[str, Any]:
    """Train a booster and predict margins of batches of rows with the candidate.

    Returns
    -------
    dict
        `microseconds_1` to `microseconds_10000`: median CPU time of a call with that many rows; and
        the fields of `Cost` of all calls.
    """
    model = MultiLabelXGBClassifier(n_estimators=job.rounds, n_jobs=1).fit(X, Y)
    predictors = _predictors(model)
    predict, stock = predictors[job.candidate](), predictors["inplace_predict"]()
    rows: Any = X[np.random.default_rng(job.seed).integers(0, X.shape[0], max(BATCHES))]
    np.testing.assert_allclose(predict(rows[:100]), stock(rows[:100]), atol=1e-5)

    def measure() -> dict[str, float]:
        return {f"microseconds_{n}": 1e6 * _median_seconds(predict, rows[:n]) for n in BATCHES}

    found, cost = measure_cost(measure, time_limit)
    return found | vars(cost)


def _predictors(model: MultiLabelXGBClassifier) -> dict[str, Callable[[], Predict]]:
    """Return how each candidate is made; each predicts margins with one thread."""

    def stock() -> Predict:
        booster = model.booster_
        booster.set_param({"nthread": 1})
        return lambda X: booster.inplace_predict(X, predict_type="margin", validate_features=False)

    def treelite() -> Predict:
        from treelite import gtil

        trees = to_treelite(model)
        return lambda X: gtil.predict(trees, X, nthread=1, pred_margin=True)[:, :, 0]

    return {
        "inplace_predict": stock,
        "compiled": lambda: CompiledModel(model, n_jobs=1).decision_function,
        "treelite": treelite,
    }


def _median_seconds(predict: Predict, X: Any) -> float:
    """Return the median CPU time of a call."""
    if sp.issparse(X):
        X.sort_indices()
    predict(X)
    found: list[float] = []
    end = time.process_time() + SECONDS
    while (start := time.process_time()) < end or len(found) < LEAST_CALLS:
        predict(X)
        found.append(time.process_time() - start)
    return float(np.median(found))


def compare(
    what: str, before: Predict, after: Predict, X: Any, n_calls: int, n_turns: int = N_TURNS
) -> None:
    """Print the median CPU times of two ways to predict, in turns of `n_calls` after one more."""
    seconds: dict[Predict, list[float]] = {before: [], after: []}
    for _ in range(n_turns):
        for predict, found in seconds.items():
            predict(X)
            for _ in range(n_calls):
                start = time.process_time()
                predict(X)
                found.append(time.process_time() - start)
    old, new = (np.median(found) * 1e3 for found in seconds.values())
    print(f"{what} {old:.4f} ms, compiled {new:.4f} ms, {old / new:.1f} times as fast", flush=True)


def compare_models(names: Iterable[str]) -> None:
    """Compare compiled models with their estimators, for one row and for 10,000."""
    train, test = load_dataset("yeast", "train"), load_dataset("yeast", "test")
    X = np.asarray(test.X, dtype=np.float32)
    many = X[np.random.default_rng(0).integers(0, len(X), BATCHES[-1])]
    for name in names:
        model = MODELS[name]
        compiled = CompiledModel(model.fit(train.X, train.Y), n_jobs=1)
        print(f"{name}: file of the compiled model {_megabytes(compiled):.2f} MB", flush=True)
        for method in ("predict_proba", "predict"):
            what = f"{name}, {method}: estimator"
            before, after = getattr(model, method), getattr(compiled, method)
            compare(what, before, after, X[:1], 20)
        what = f"{name}, predict, {len(many)} rows: estimator"
        compare(what, model.predict, compiled.predict, many, 1, n_turns=1)


def _megabytes(model: CompiledModel) -> float:
    """Return the size of its file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        save_model(model, file)
        return file.stat().st_size / 1e6


def compare_frame() -> None:
    """Compare a booster with its estimator, for one row of a DataFrame with categories."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(500, 30))).add_prefix("number ")
    for name in (f"category {i}" for i in range(8)):
        X[name] = pd.Categorical(random.choice(["red", "green", "blue"], len(X)))
    Y = random.integers(0, 2, (len(X), 6))
    model = MultiLabelXGBClassifier(n_estimators=100, n_jobs=1).fit(X, Y)
    compiled = CompiledModel(model, n_jobs=1)
    what = "booster, predict_proba of a row with 8 categories: estimator"
    compare(what, model.predict_proba, compiled.predict_proba, X[:1], 20)


if __name__ == "__main__":
    compare_frame()
    compare_models(sys.argv[1:] or MODELS)
