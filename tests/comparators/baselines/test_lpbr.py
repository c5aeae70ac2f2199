"""LPBR: which labels it merges, and that it equals BR or LP if it merges none or all."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.fit_data import FitData
from xdcc.comparators.baselines import LPBR, BinaryRelevance, LabelPowerset
from xdcc.comparators.baselines.learner import seeded
from xdcc.comparators.baselines.lpbr import _dependent_pairs


def _exclusive_labels() -> tuple[np.ndarray, np.ndarray]:
    """Labels 0 and 2 exclude each other and are almost independent of X; label 1 is independent.

    By itself neither 0 nor 2 is ever more probable than not, but the labelset {0} is the most
    probable one.
    """
    random = np.random.default_rng(0)
    X = random.random((400, 2))
    kind = random.choice(3, 400, p=[0.4, 0.35, 0.25])
    return X, np.column_stack((kind == 0, X[:, 1] > 0.5, kind == 1)).astype(int)


def test_dependent_labels_are_merged() -> None:
    X, Y = _exclusive_labels()
    learner = DecisionTreeClassifier(max_depth=1)
    model = LPBR(estimator=learner, random_state=0).fit(X, Y)
    assert sorted(group.tolist() for group in model.groups_) == [[0, 2], [1]]
    predicted = model.predict(X)
    np.testing.assert_array_equal(predicted[:, 1], Y[:, 1])
    assert (predicted[:, [0, 2]].sum(axis=1) == 1).mean() > 0.9


def test_groups_are_label_powersets() -> None:
    X, Y = _exclusive_labels()
    learner = DecisionTreeClassifier(max_depth=1)
    model = LPBR(estimator=learner, random_state=0).fit(X, Y)
    proba, labels = model.predict_proba(X), model.predict(X)
    seed = seeded(learner, np.random.RandomState(0)).random_state
    for group, part in zip(model.groups_, model.models_, strict=True):
        tree = DecisionTreeClassifier(max_depth=1, random_state=seed)
        number = [[*map(tuple, part.labelsets)].index(tuple(row)) for row in Y[:, group]]
        of_labelsets = tree.fit(X, number).predict_proba(X)
        np.testing.assert_allclose(proba[:, group], of_labelsets @ part.labelsets)
        np.testing.assert_array_equal(labels[:, group], part.labelsets[of_labelsets.argmax(axis=1)])


def test_without_dependent_labels_it_equals_binary_relevance(rows: Any) -> None:
    learner = DecisionTreeClassifier(max_depth=1)
    alone = LPBR(estimator=learner, alpha=1e-300, random_state=0).fit(rows.X, rows.Y)
    assert [group.tolist() for group in alone.groups_] == [[0], [1], [2], [3]]
    np.testing.assert_allclose(
        alone.predict_proba(rows.X_new),
        BinaryRelevance(estimator=learner, random_state=0)
        .fit(rows.X, rows.Y)
        .predict_proba(rows.X_new),
    )


def test_two_equal_labels_are_a_label_powerset() -> None:
    # Separate models predict equal labels equally, so merging them has no advantage. Merging labels
    # that exclude each other has one.
    X, Y = _exclusive_labels()
    learner = DecisionTreeClassifier(max_depth=1)
    both = LPBR(estimator=learner, random_state=1).fit(X, Y[:, [0, 2]])
    powerset = LabelPowerset(estimator=learner, random_state=1).fit(X, Y[:, [0, 2]])
    np.testing.assert_allclose(both.predict_proba(X), powerset.predict_proba(X))
    equal = LPBR(estimator=learner, random_state=1).fit(X, Y[:, [0, 0]])
    assert len(equal.groups_) == 2


def test_patience_ends_the_search() -> None:
    X, Y = _exclusive_labels()
    # Pairs of equal labels come first and fail; with patience=1, the search ends there.
    labels = Y[:, [1, 1, 0, 2]]
    learner = DecisionTreeClassifier(max_depth=1)
    assert len(LPBR(estimator=learner, patience=1, random_state=0).fit(X, labels).groups_) == 4
    assert len(LPBR(estimator=learner, patience=2, random_state=0).fit(X, labels).groups_) == 3


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_by_chi_squared(weighted: bool, rows: Any) -> None:
    weight = np.random.default_rng(0).integers(1, 4, 100) if weighted else np.ones(100, dtype=int)
    Y = np.column_stack((rows.Y, np.zeros(100, dtype=int)))
    data = FitData(rows.X, Y.astype(np.float32), weight.astype(np.float32) if weighted else None)
    repeated = np.repeat(Y, weight, axis=0)
    p_values = {}
    for one in range(4):
        for other in range(one + 1, 4):
            table = np.zeros((2, 2))
            np.add.at(table, (repeated[:, one], repeated[:, other]), 1)
            p_values[one, other] = stats.chi2_contingency(table, correction=False).pvalue
    expected = sorted((pair for pair in p_values if p_values[pair] < 0.2), key=p_values.__getitem__)
    assert 1 < len(expected) < 6
    assert list(_dependent_pairs(data, 0.2)) == expected


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"patience": 0}, "patience=0: it must be a whole number at least 1"),
        ({"cv": 1}, "cv=1: it must be a whole number at least 2"),
        ({"alpha": 0}, "alpha=0: it must be a number above 0 and at most 1"),
        ({"cv": 101}, "101 folds need as many rows, but n_samples=100"),
    ],
)
def test_invalid_parameters(params: Any, message: str, rows: Any) -> None:
    with pytest.raises(ValueError, match=message):
        LPBR(**params).fit(rows.X, rows.Y)
