"""The choice of ``"auto"`` against the race written out, and the quality of its predictions."""

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from scipy import sparse

from xdcc.base.fit_data import FitData
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.boosting.sketch_choice import (
    FEW_LABELS,
    FEWEST_ROWS,
    RACE_DEPTH,
    RACE_RATE,
    RACE_ROUNDS,
    RACE_ROWS,
    WORTH_HALVING,
    choose_sketch,
)
from xdcc.chain import DynamicChainClassifier

PARAMS = {"objective": "multilabel:logistic", "nthread": 1, "sketch_size": "auto"}


def labels_of_their_own(seed: int, n_rows: int = 1200, n_labels: int = 16) -> Any:
    """Each label depends on features of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2 * n_labels)).astype(np.float32)
    score = np.where(X[:, ::2] > 0, 2, -2) * np.where(X[:, 1::2] > 0.5, 1, -1)
    return X, (rng.logistic(size=score.shape) < score).astype(np.float32)


def labels_of_one_score(seed: int, n_rows: int = 1200, n_labels: int = 16) -> Any:
    """All labels depend on the same number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 12)).astype(np.float32)
    score = X[:, :4].sum(axis=1, keepdims=True) + rng.normal(size=n_labels)
    return X, (rng.logistic(size=score.shape) < score).astype(np.float32)


def choose(X: Any, Y: Any, weight: Any = None, **params: Any) -> dict[str, int]:
    return choose_sketch(PARAMS | params, FitData(X, Y, weight))


def race_by_hand(X: Any, Y: Any, seed: int) -> int:
    """Group size by `xgboost.train` alone."""
    held_out = np.random.RandomState(seed).permutation(len(Y))[:RACE_ROWS][: len(Y) // 3]
    hidden = Y.copy()
    hidden[held_out] = np.nan
    losses = []
    n_labels = Y.shape[1]
    sizes = [n_labels]
    while sizes[-1] > 2:
        sizes.append(max(2, -(-n_labels // 2 ** len(sizes))))
    for size in sizes:
        curve: dict[str, Any] = {}
        xgb.train(
            {
                "objective": "multilabel:logistic",
                "eta": RACE_RATE,
                "max_depth": RACE_DEPTH,
                "sketch_size": 1,
                "labels_per_tree": size,
                "seed": seed,
                "eval_metric": "logloss",
            },
            xgb.DMatrix(X, hidden),
            RACE_ROUNDS,
            evals=[(xgb.DMatrix(X[held_out], Y[held_out]), "held_out")],
            evals_result=curve,
            verbose_eval=False,
        )
        losses.append(min(curve["held_out"]["logloss"]))
        if len(losses) > 1 and losses[-1] >= (1 - WORTH_HALVING) * losses[-2]:
            return sizes[len(losses) - 2]
    return sizes[-1]


@pytest.mark.parametrize("make", [labels_of_their_own, labels_of_one_score])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_race_by_hand(make: Any, seed: int) -> None:
    X, Y = make(seed)
    by_hand = race_by_hand(X, Y, seed)
    assert choose(X, Y, seed=seed)["labels_per_tree"] == (0 if by_hand == 16 else by_hand)
    assert (by_hand == 16) == (make is labels_of_one_score)


@pytest.mark.usefixtures("threads")
def test_the_same_for_any_number_of_threads_and_again() -> None:
    X, Y = labels_of_their_own(3)
    assert choose(X, Y, nthread=1) == choose(X, Y, nthread=2) == choose(X, Y, nthread=3)


def test_a_matrix_that_is_there_is_raced_on_and_stays_as_it_was() -> None:
    X, Y = labels_of_their_own(1)
    Y[3, 2] = np.nan
    matrix = xgb.DMatrix(X, Y)
    assert choose_sketch(PARAMS, FitData(X, Y, None), matrix) == choose(X, Y)
    np.testing.assert_array_equal(matrix.get_label().reshape(Y.shape), Y)
    given = xgb.train(PARAMS | {"sketch_size": 1}, matrix, 3)
    fresh = xgb.train(PARAMS | {"sketch_size": 1}, xgb.DMatrix(X, Y), 3)
    assert given.save_raw() == fresh.save_raw()
    with pytest.raises(xgb.core.XGBoostError, match="gbm type"):
        choose_sketch(PARAMS | {"booster": "none"}, FitData(X, Y, None), matrix)
    np.testing.assert_array_equal(matrix.get_label().reshape(Y.shape), Y)


def test_more_rows_than_the_race_has() -> None:
    X, Y = labels_of_their_own(1, n_rows=RACE_ROWS + 1)
    matrix = xgb.DMatrix(X, Y)
    assert choose_sketch(PARAMS, FitData(X, Y, None), matrix) == choose(X, Y)
    np.testing.assert_array_equal(matrix.get_label().reshape(Y.shape), Y)


def test_what_is_given_is_kept() -> None:
    X, Y = labels_of_their_own(0)
    assert choose(X, Y, sketch_size=0) == {}
    assert choose(X, Y, labels_per_tree=3) == {"sketch_size": 1}
    assert choose(X, Y, labels_per_tree=0) == {"sketch_size": 1}
    assert list(choose(X, Y, sketch_size=2, labels_per_tree="auto")) == ["labels_per_tree"]


def test_the_first_size_where_nothing_can_be_said() -> None:
    X, Y = labels_of_their_own(0)
    n = FEWEST_ROWS - 1
    assert choose(X[:n], Y[:n]) == {"sketch_size": 1, "labels_per_tree": 0}
    many = np.tile(Y[:n], 2)[:, : FEW_LABELS + 1]
    assert choose(X[:n], many) == {"sketch_size": 1, "labels_per_tree": FEW_LABELS // 2 + 1}
    assert choose(X, Y[:, :2]) == {"sketch_size": 1, "labels_per_tree": 0}
    held_out = np.random.RandomState(0).permutation(len(Y))[: len(Y) // 3]
    unknown, weight = Y.copy(), np.ones(len(Y), np.float32)
    unknown[held_out], weight[held_out] = np.nan, 0
    assert choose(X, unknown)["labels_per_tree"] == 0
    assert choose(X, Y, weight)["labels_per_tree"] == 0


def test_unknown_labels_weights_sparse_features_and_parameters_of_labels() -> None:
    X, Y = labels_of_their_own(0)
    Y[::5, 3] = np.nan
    weight = np.random.default_rng(0).uniform(0.5, 2, len(Y)).astype(np.float32)
    for features in (X, sparse.csr_matrix(np.maximum(X, 0))):
        found = choose(features, Y, weight, label_weight=[1.0] * 16, base_score=[0.5] * 16)
        assert 0 < found["labels_per_tree"] < 16


def test_estimator() -> None:
    X, Y = labels_of_their_own(0)
    options: dict[str, Any] = {"n_estimators": 10, "n_jobs": 1}
    auto = MultiLabelXGBClassifier(sketch_size="auto", **options).fit(X, Y)
    assert auto.sketch_size_ == 1
    assert 0 < auto.labels_per_tree_ < 16
    given = MultiLabelXGBClassifier(
        sketch_size=1, labels_per_tree=auto.labels_per_tree_, **options
    ).fit(X, Y)
    np.testing.assert_array_equal(auto.predict_proba(X), given.predict_proba(X))
    exact = MultiLabelXGBClassifier(**options).fit(X, Y)
    assert (exact.sketch_size_, exact.labels_per_tree_) == (0, 0)


def test_models_of_folds_do_not_choose_again() -> None:
    X, Y = labels_of_their_own(0)
    model = MultiLabelXGBClassifier(n_estimators=5, sketch_size="auto", n_jobs=1)
    found = model.out_of_fold(X, Y, np.arange(len(X)) % 2)
    size = found.estimators[0].labels_per_tree_
    assert 0 < size < 16
    assert found.unfitted.get_params()["labels_per_tree"] == size
    assert found.unfitted.get_params()["sketch_size"] == 1
    assert model.sketch_size == "auto"


def test_chain() -> None:
    X, Y = labels_of_their_own(0, n_labels=8)
    options: dict[str, Any] = {
        "n_estimators": 5,
        "chain_length": 2,
        "end_label": True,
        "base_score": [0.5] * 8,
        "interaction_constraints": [list(range(16))],
        "split_method": "sumGain",
        "n_jobs": 1,
    }
    size = choose(X, Y)["labels_per_tree"]
    auto = DynamicChainClassifier(sketch_size="auto", **options).fit(X, Y)
    given = DynamicChainClassifier(sketch_size=1, labels_per_tree=size, **options).fit(X, Y)
    np.testing.assert_array_equal(auto.predict_proba(X), given.predict_proba(X))


def test_bad_input() -> None:
    X, Y = labels_of_their_own(0, n_rows=20)
    with pytest.raises(ValueError, match=r"sketch_size='few': .* below 2\*\*31 or 'auto'"):
        MultiLabelXGBClassifier(sketch_size="few").fit(X, Y)
    with pytest.raises(ValueError, match=r"labels_per_tree=-1: .* below 2\*\*31 or 'auto'"):
        MultiLabelXGBClassifier(labels_per_tree=-1).fit(X, Y)
    for cls in (MultiLabelXGBClassifier, DynamicChainClassifier):
        model = cls(sketch_size="auto", split_method="maxGain")
        with pytest.raises(ValueError, match="sketch_size='auto' with split_method='maxGain'"):
            model.fit(X, Y)


def held_out_loss(X: Any, Y: Any, **params: Any) -> float:
    """Log-loss of the best iteration on a third of the rows."""
    n = len(Y) // 3
    model = MultiLabelXGBClassifier(
        n_estimators=100, max_depth=4, early_stopping_rounds=5, n_jobs=1, **params
    )
    model.fit(X[n:], Y[n:], eval_set=[(X[:n], Y[:n])])
    return min(model.evals_result_["validation_0"]["logloss"])


def test_predicts_better_than_exact_trees_and_than_a_sketch_of_all_labels() -> None:
    """It is better on seven of seven sets, which chance alone does once in 128 times."""
    for seed in range(7):
        X, Y = labels_of_their_own(seed, n_rows=2000, n_labels=10)
        auto = held_out_loss(X, Y, sketch_size="auto")
        assert auto < held_out_loss(X, Y)
        assert auto < held_out_loss(X, Y, sketch_size=1)
