"""Folds: stratified by labels, by groups, and by splitters of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from iterstrat.ml_stratifiers import MultilabelStratifiedKFold
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, make_folds, stratified_folds

RNG = np.random.default_rng(0)


def test_rare_labels_are_dealt_out_evenly() -> None:
    Y = (RNG.random((300, 12)) < np.linspace(0.02, 0.5, 12)).astype(np.float32)
    folds = stratified_folds(Y, 3, 0)
    assert set(folds.tolist()) == {0, 1, 2}
    assert np.ptp(np.bincount(folds)) <= 30
    positives = np.stack([Y[folds == fold].sum(axis=0) for fold in range(3)])
    assert np.ptp(positives, axis=0).max() <= 4
    shuffled = np.stack([Y[rows].sum(axis=0) for rows in np.split(RNG.permutation(300), 3)])
    assert np.ptp(shuffled, axis=0).max() > 4  # chance does worse


@pytest.mark.parametrize(
    ("n_rows", "n_labels", "share"), [(40, 3, 0.6), (300, 80, 0.03), (7, 2, 0)]
)
def test_folds_are_those_of_the_library(n_rows: int, n_labels: int, share: float) -> None:
    Y = RNG.random((n_rows, n_labels)) < share
    present = np.column_stack((Y, ~Y.any(axis=1))).astype(int)
    library = MultilabelStratifiedKFold(5, shuffle=True, random_state=3)
    folds = stratified_folds(Y, 5, 3)
    for fold, (_, rows) in enumerate(library.split(Y, present)):
        np.testing.assert_array_equal(np.flatnonzero(folds == fold), rows)


def test_rows_without_labels_are_dealt_out_too() -> None:
    folds = stratified_folds(np.zeros((20, 3)), 4, 0)
    np.testing.assert_array_equal(np.bincount(folds), [5, 5, 5, 5])


def test_seed_decides() -> None:
    Y = (RNG.random((60, 4)) < 0.4).astype(np.float32)
    Y[0, 0] = np.nan
    np.testing.assert_array_equal(stratified_folds(Y, 2), stratified_folds(Y, 2, 0))
    assert (stratified_folds(Y, 2, 0) != stratified_folds(Y, 2, 1)).any()
    np.testing.assert_array_equal(
        stratified_folds(Y, 2, np.random.RandomState(5)), stratified_folds(Y, 2, 5)
    )


def test_more_folds_than_rows() -> None:
    with pytest.raises(ValueError, match="4 folds need as many rows, but n_samples=3"):
        stratified_folds(np.zeros((3, 2)), 4)


LABELS = (np.random.default_rng(1).random((30, 3)) < 0.4).astype(np.float32)
DATA = FitData(np.arange(30.0)[:, np.newaxis], LABELS, None)


def _made(cv, groups=None, data=DATA):
    return make_folds(cv, data.X, data.Y, groups, data=data, random_state=0)


def test_a_number_makes_stratified_folds_or_keeps_groups_together() -> None:
    for cv, n_folds in ((3, 3), (np.int64(4), 4), (None, 5)):
        folds = _made(cv)
        np.testing.assert_array_equal(folds.test, stratified_folds(LABELS, n_folds, 0))
        assert folds.train is None
        assert folds.n_folds == n_folds
    groups = np.array(list("abcdefghij")).repeat([1, 5, 1, 5, 1, 5, 1, 5, 1, 5])
    folds = _made(3, groups)
    assert folds.n_folds == 3
    assert all(len(set(folds.test[groups == group])) == 1 for group in groups)
    assert np.bincount(folds.test).min() >= 8


@pytest.mark.parametrize("cv", [GroupKFold(3), LeaveOneGroupOut()])
def test_splitters_get_groups(cv) -> None:
    groups = np.arange(30) % 5
    folds = _made(cv, groups)
    for fold, (train, test) in enumerate(cv.split(LABELS, LABELS, groups)):
        np.testing.assert_array_equal(np.flatnonzero(folds.tests(fold)), test)
        np.testing.assert_array_equal(np.flatnonzero(folds.trains(fold)), train)
    assert folds.train is None


class _Recorder:
    """A splitter that records its arguments."""

    def split(self, X, y, groups):
        self.asked = X, y, groups
        return KFold(2).split(X)


def test_splitters_get_the_data_of_the_user() -> None:
    cv, X, Y = _Recorder(), pd.DataFrame(DATA.X), LABELS.tolist()
    groups = pd.Series(range(30))
    make_folds(cv, X, Y, groups, data=DATA, random_state=0)
    assert cv.asked[0] is X
    assert cv.asked[1] is Y
    np.testing.assert_array_equal(cv.asked[2], groups)
    make_folds(cv, X.rename(columns={0: "day"}), Y, "day", data=DATA, random_state=0)
    np.testing.assert_array_equal(cv.asked[2], DATA.X[:, 0])
    make_folds(cv, DATA, DATA.Y, None, data=DATA, random_state=0)
    assert cv.asked[0] is DATA.X


def test_ordered_time() -> None:
    """The first rows are never tested, and a fold trains on earlier rows only."""
    for cv in (TimeSeriesSplit(4), list(TimeSeriesSplit(4).split(LABELS))):
        folds = _made(cv)
        np.testing.assert_array_equal(folds.test, np.arange(30) // 6 - 1)
        assert folds.n_folds == 4
        for fold in range(4):
            assert (
                np.flatnonzero(folds.trains(fold)).max() < np.flatnonzero(folds.tests(fold)).min()
            )
        np.testing.assert_array_equal(folds.tested, np.arange(30) >= 6)
        tested, numbers = folds.of_tested(DATA)
        np.testing.assert_array_equal(tested.X, DATA.X[6:])
        np.testing.assert_array_equal(numbers, folds.test[6:])


def test_rows_that_no_fold_tests_train_in_all() -> None:
    folds = Folds.of(np.array([0, -1, 1, 0]), 4)
    np.testing.assert_array_equal(folds.trains(0), [False, True, True, False])
    assert Folds.of(folds, 4) is folds
    assert Folds(np.array([0, 1])).of_tested(DATA)[0] is DATA


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([0, 1], r"folds has the shape \(2,\); it must be \(3,\), one per row"),
        ([0.0, 1.0, 0.0], "whole numbers from 0"),
        ([0, 2, 0], "none left out"),
        ([0, 1, -2], "-1 for a row that no fold tests"),
    ],
)
def test_bad_folds(folds, message) -> None:
    with pytest.raises(ValueError, match=message):
        Folds.of(np.array(folds), 3)


REST = [*range(2, 30)]


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (31, None, "31 folds need as many rows, but n_samples=30"),
        (4, [0, 1, 2] * 10, "4 folds need as many groups, but groups has 3 different values"),
        (3, [0, 1], r"groups has the shape \(2,\); it must be \(30,\)"),
        (GroupKFold(2), None, "'groups' parameter should not be None"),
        (StratifiedKFold(2), None, "Supported target types are"),
        (RepeatedKFold(n_splits=2, random_state=0), None, "rules out repeated and random splits"),
        (ShuffleSplit(4, test_size=0.5, random_state=0), None, "can be tested once at most"),
        ([([0], [1])], None, "cv has 1 folds; it must have at least 2"),
        ([], None, "cv has 0 folds"),
        ([(REST, [0]), (REST, [])], None, "no rows among the test rows of fold 1 of cv"),
        ([([], [0]), (REST, [1])], None, "no rows among the training rows of fold 0 of cv"),
        ([(REST, [0, 5]), (REST, [1])], None, "Fold 0 of cv trains and tests on row 5"),
        ([(REST, [0]), (REST, [30])], None, "Row 30 is among the test rows .* n_samples=30"),
        ([([-1], [0]), (REST, [1])], None, "Row -1 is among the training rows of fold 0"),
        ([(REST, [0, 0]), (REST, [1])], None, "Row 0 is 2 times among the test rows of fold 0"),
        ([([3, 3], [0]), (REST, [1])], None, "Row 3 is 2 times among the training rows of fold 0"),
        ([(REST, [0]), (REST, [0])], None, "cv tests row 0 in the folds 0 and 1"),
        ([(REST, [0.5]), (REST, [1])], None, "The test rows of fold 0 of cv are not a list of pos"),
        ([(REST, [[0]]), (REST, [1])], None, "The test rows of fold 0 of cv are not a list of pos"),
        ([(REST, [True, False])], None, "are not a list of positions"),
        ([REST], None, "Fold 0 of cv is not a pair of training and test rows"),
    ],
)
def test_bad_splits(cv, groups, message) -> None:
    with pytest.raises(ValueError, match=message):
        _made(cv, groups)


def test_every_fold_needs_a_known_label_to_train_on() -> None:
    Y = LABELS.copy()
    Y[:10] = np.nan
    with pytest.raises(ValueError, match="Fold 0 of cv trains on no row with a known label"):
        _made(TimeSeriesSplit(2), data=DATA._replace(Y=Y))
    weight = np.arange(30.0) >= 10
    with pytest.raises(ValueError, match="a positive weight"):
        _made(TimeSeriesSplit(2), data=DATA._replace(sample_weight=weight.astype(float)))
