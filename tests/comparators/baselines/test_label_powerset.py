"""Label powerset by hand, and compared with a decision tree on labelset numbers."""

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from xdcc.comparators.baselines import LabelPowerset
from xdcc.comparators.baselines.learner import seeded


def test_leaves_by_hand() -> None:
    X = np.array([[0], [0], [0], [1], [1], [2]])
    Y = np.array([[1, 1], [1, 1], [0, 1], [0, 0], [1, 0], [0, 1]])
    model = LabelPowerset().fit(X, Y)
    # Two labelsets occur twice, the others once; ties are in lexicographic order.
    np.testing.assert_array_equal(model.labelsets_, [[0, 1], [1, 1], [0, 0], [1, 0]])
    np.testing.assert_allclose(
        model.predict_labelset_proba([[0], [1], [2]]),
        [[1 / 3, 2 / 3, 0, 0], [0, 0, 1 / 2, 1 / 2], [1, 0, 0, 0]],
    )
    np.testing.assert_allclose(model.predict_proba([[0], [1]]), [[2 / 3, 1], [1 / 2, 0]])
    # A tie in the second leaf goes to the lexicographically smaller labelset.
    np.testing.assert_array_equal(model.predict([[0], [1], [2]]), [[1, 1], [0, 0], [0, 1]])


def test_equals_a_tree_on_labelset_numbers(rows: Any) -> None:
    learner = DecisionTreeClassifier(max_depth=3)
    model = LabelPowerset(estimator=learner, random_state=2).fit(rows.X, rows.Y)
    number = [[*map(tuple, model.labelsets_)].index(tuple(row)) for row in rows.Y]
    tree = seeded(learner, np.random.RandomState(2)).fit(rows.X, number)
    np.testing.assert_array_equal(
        model.predict(rows.X_new), model.labelsets_[tree.predict(rows.X_new)]
    )


def test_weights_count_as_repeated_rows(rows: Any) -> None:
    weight = np.random.default_rng(0).integers(0, 3, len(rows.X))
    learner = DecisionTreeClassifier(max_depth=3)
    weighted = LabelPowerset(estimator=learner, random_state=0).fit(rows.X, rows.Y, weight)
    repeated = LabelPowerset(estimator=learner, random_state=0)
    repeated.fit(np.repeat(rows.X, weight, axis=0), np.repeat(rows.Y, weight, axis=0))
    np.testing.assert_array_equal(weighted.labelsets_, repeated.labelsets_)
    np.testing.assert_allclose(
        weighted.predict_proba(rows.X_new), repeated.predict_proba(rows.X_new)
    )
