"""Boosters of all folds against one training after the other."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.datasets import make_multilabel_classification

from xdcc.base.folds import TrainsOutOfFold, stratified_folds
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.boosting.out_of_fold import RowDraws

X, Y = make_multilabel_classification(
    n_samples=150, n_features=8, n_classes=4, n_labels=2, random_state=0
)
FOLDS = stratified_folds(Y.astype(float), 3)
WEIGHT = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)


def _classifier(**params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(
        **{"n_estimators": 40, "max_depth": 3, "max_bin": 16, "n_jobs": 1, **params}
    )


def _rows(draws: RowDraws, iteration: int, fold: int) -> np.ndarray:
    """Mark the rows that are drawn: all of them in the first round."""
    bits = draws.bits(iteration, fold)
    if bits is None:
        return np.ones(draws.n_rows, dtype=bool)
    return np.random.Generator(bits).random(draws.n_rows) < draws.share


def one_after_the_other(
    n_rounds: int, labels: np.ndarray, weight: np.ndarray | None, **params: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of each fold after each iteration, and the log-loss of all of them."""
    staged = np.empty((n_rounds, *labels.shape))
    for fold in range(3):
        out = fold == FOLDS
        all_rows = np.ones(len(X)) if weight is None else weight
        train = xgb.QuantileDMatrix(X, label=labels, weight=weight, max_bin=16)
        native = {"objective": "multilabel:logistic", "max_depth": 3, "max_bin": 16, "eta": 0.3}
        draws = RowDraws(params.get("subsample", 1.0), 0, 0, len(X))
        booster = xgb.Booster(native | params | {"subsample": 1}, [train])
        for iteration in range(n_rounds):
            drawn = _rows(draws, iteration, fold)
            train.set_weight(np.where(out | ~drawn, 0, all_rows))
            booster.update(train, iteration)
        for iteration in range(n_rounds):
            proba = booster.predict(xgb.DMatrix(X), iteration_range=(0, iteration + 1))
            staged[iteration, out] = proba[out]
    entry_weight = (np.ones(len(X)) if weight is None else weight)[:, None] * ~np.isnan(labels)
    right = np.where(labels == 1, staged, 1 - staged)
    return staged, -(entry_weight * np.log(right)).sum(axis=(1, 2))


@pytest.mark.parametrize(
    ("weight", "unknown", "params"),
    [(None, False, {}), (WEIGHT, True, {}), (None, False, {"sketch_size": 1, "subsample": 0.7})],
)
def test_the_best_iteration_of_all_folds(
    weight: np.ndarray | None, unknown: bool, params: dict[str, Any]
) -> None:
    labels = Y.astype(float)
    if unknown:
        labels[::6, 1] = np.nan
    staged, loss = one_after_the_other(40, labels, weight, **params)
    best = int(loss.argmin())
    assert 2 < best < 35
    found = _classifier(**params).out_of_fold(X, labels, FOLDS, weight, patience=40)
    np.testing.assert_allclose(found.proba, staged[best], atol=1e-6)
    assert [model.booster_.num_boosted_rounds() for model in found.estimators] == [best + 1] * 3
    for fold, model in enumerate(found.estimators):
        rows = fold == FOLDS
        np.testing.assert_allclose(model.predict_proba(X)[rows], staged[best, rows], atol=1e-6)
        assert model.best_iteration_ == best
    assert found.unfitted.get_params() == _classifier(**params, n_estimators=best + 1).get_params()
    assert not hasattr(found.unfitted, "booster_")


def test_the_loss_is_computed_less_often_in_long_trainings() -> None:
    """It is computed after each of 100 rounds, then after every second, from 150 every third."""
    params = {"eta": 0.04}
    staged, loss = one_after_the_other(160, Y.astype(float), None, **params)
    looked = np.array([*range(100), *range(101, 150, 2), *range(152, 160, 3), 159])
    assert loss.argmin() not in looked
    best = int(looked[loss[looked].argmin()])
    found = _classifier(learning_rate=0.04, n_estimators=160).out_of_fold(X, Y, FOLDS, patience=160)
    assert found.unfitted.n_estimators == best + 1
    np.testing.assert_allclose(found.proba, staged[best], atol=1e-6)


def test_patience_ends_training() -> None:
    model = _classifier(learning_rate=1.0, max_depth=6, n_estimators=1000)
    patient = model.out_of_fold(X, Y, FOLDS, patience=5)
    again = model.out_of_fold(X, Y, FOLDS, patience=10)
    assert patient.unfitted.n_estimators <= again.unfitted.n_estimators < 50
    assert not hasattr(model, "n_labels_")


def test_fewer_iterations_than_would_be_best() -> None:
    found = _classifier(n_estimators=2).out_of_fold(X, Y, FOLDS)
    assert found.unfitted.n_estimators == 2


def test_early_stopping_rounds_are_not_needed_for_the_final_training() -> None:
    found = _classifier(early_stopping_rounds=3).out_of_fold(X, Y, FOLDS)
    found.unfitted.fit(X, Y)


def test_names_and_categories() -> None:
    frame = pd.DataFrame(X[:, :3], columns=["a[0]", "b", "c"])
    frame["kind"] = pd.Categorical(np.where(Y[:, 0] == 1, "yes", "no"))
    labels = pd.DataFrame(Y, columns=list("wxyz"))
    found = _classifier().out_of_fold(frame, labels, FOLDS)
    assert found.estimators[0].label_names_.tolist() == list("wxyz")
    assert ((found.proba[:, 0] >= 0.5) == (Y[:, 0] == 1)).all()
    model = found.estimators[1]
    np.testing.assert_allclose(
        model.predict_proba(frame)[FOLDS == 1], found.proba[FOLDS == 1], atol=1e-6
    )
    assert model.booster_.feature_names == ["a[0]", "b", "c", "kind"]


@pytest.mark.usefixtures("threads")
def test_the_same_for_any_number_of_threads() -> None:
    options = {"sketch_size": 1, "labels_per_tree": 2, "random_state": 3}
    one, two = (_classifier(n_jobs=n, **options).out_of_fold(X, Y, FOLDS) for n in (1, 2))
    np.testing.assert_array_equal(one.proba, two.proba)


def test_the_classifier_says_that_it_can() -> None:
    assert isinstance(_classifier(), TrainsOutOfFold)


def test_bad_input() -> None:
    with pytest.raises(ValueError, match="base_score has 2 entries for 4 labels"):
        _classifier(base_score=[0.5, 0.5]).out_of_fold(X, Y, FOLDS)
    with pytest.raises(ValueError, match="n_estimators=0"):
        _classifier(n_estimators=0).out_of_fold(X, Y, FOLDS)
    with pytest.raises(ValueError, match=r"folds has the shape \(3,\); it must be \(150,\)"):
        _classifier().out_of_fold(X, Y, FOLDS[:3])


def test_training_ends_when_it_is_told_to() -> None:
    asked: list[int] = []

    def should_end(n_iterations: int) -> bool:
        asked.append(n_iterations)
        return n_iterations == 4

    found = _classifier().out_of_fold(X, Y, FOLDS, should_end=should_end)
    assert asked == [1, 2, 3, 4]
    expected = _classifier(n_estimators=4).out_of_fold(X, Y, FOLDS)
    np.testing.assert_array_equal(found.proba, expected.proba)
    assert found.unfitted.n_estimators == expected.unfitted.n_estimators <= 4


def test_rows_that_are_drawn() -> None:
    """The updater draws rows itself if a round has several trees or a method is named."""
    drawn = RowDraws.of({"subsample": 0.3, "seed": 1}, 10_000)
    assert drawn is not None
    assert _rows(drawn, 1, 0).mean() == pytest.approx(0.3, abs=0.02)
    assert (_rows(drawn, 1, 0) != _rows(drawn, 1, 1)).any()
    assert (_rows(drawn, 1, 0) != _rows(drawn, 2, 0)).any()
    assert _rows(drawn, 0, 0).all()
    assert RowDraws.of({}, 5) is None
    for other in ({"labels_per_tree": 2}, {"num_parallel_tree": 2}, {"sampling_method": "uniform"}):
        assert RowDraws.of({"subsample": 0.3, **other}, 5) is None


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize(
    "params", [{}, {"subsample": 0.7, "sketch_size": 1}, {"labels_per_tree": 2, "subsample": 0.7}]
)
def test_folds_side_by_side(n_jobs: int, params: dict[str, Any], threads: None) -> None:
    """Dense rows, whose boosters can change threads, and rows with gaps, whose boosters stay."""
    for rows in (X, np.where(X > 1, np.nan, X)):
        one, several = (
            _classifier(n_jobs=n, **params).out_of_fold(rows, Y, FOLDS) for n in (1, n_jobs)
        )
        np.testing.assert_array_equal(several.margins, one.margins)
        assert several.unfitted.n_estimators == one.unfitted.n_estimators
        for found, expected in zip(several.estimators, one.estimators, strict=True):
            assert found.booster_.save_raw() == expected.booster_.save_raw()


def test_models_of_all_rows_side_by_side() -> None:
    data = _classifier()._begin_fit(X, Y)
    for params in ({}, {"subsample": 0.7, "sketch_size": 1}):
        one, two = (
            _classifier(n_jobs=n, n_estimators=70, **params)._fit_with_seeds(data, [3, 4, 5])
            for n in (1, 2)
        )
        for found, expected in zip(two, one, strict=True):
            assert found.booster_.save_raw() == expected.booster_.save_raw()
            assert found.n_jobs == 2
