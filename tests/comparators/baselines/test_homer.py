"""HOMER: clusters, the hierarchy, and training rows."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from xdcc.comparators.baselines import HOMER
from xdcc.comparators.baselines.homer import LabelGroup, balanced_k_means
from xdcc.comparators.baselines.learner import seeded


def test_balanced_clusters_by_hand() -> None:
    # Unbalanced clusters would be {0, 0.1, 0.2, 1} and {9, 9.5}; one point must change sides.
    points = np.array([[0], [0.1], [0.2], [1], [9], [9.5]])
    clusters = balanced_k_means(points, 2, np.random.RandomState(0))
    assert len({*clusters[:3]}) == len({*clusters[3:]}) == 1
    assert clusters[0] != clusters[3]


@given(
    n_points=st.integers(1, 12),
    n_clusters=st.integers(1, 5),
    seed=st.integers(0, 2**31),
)
def test_sizes_differ_by_one_and_no_exchange_helps(
    n_points: int, n_clusters: int, seed: int
) -> None:
    n_clusters = min(n_clusters, n_points)
    random = np.random.RandomState(seed)
    points = random.rand(n_points, 2)
    clusters = balanced_k_means(points, n_clusters, random)
    sizes = np.bincount(clusters, minlength=n_clusters)
    assert sizes.max() - sizes.min() <= 1
    centres = np.stack([points[clusters == k].mean(axis=0) for k in range(n_clusters)])
    distance = ((points[:, np.newaxis] - centres) ** 2).sum(axis=2)
    for one in range(n_points):
        for other in range(one):
            now = distance[one, clusters[one]] + distance[other, clusters[other]]
            changed = distance[one, clusters[other]] + distance[other, clusters[one]]
            assert now <= changed + 1e-9


def _groups(group: LabelGroup) -> list[LabelGroup]:
    return [group, *(inner for child in group.children for inner in _groups(child))]


def test_hierarchy_divides_the_labels(rows: Any) -> None:
    Y = np.tile(rows.Y, 3)  # twelve labels
    for n_children in (2, 3, 20):
        root = HOMER(n_children=n_children, random_state=0).fit(rows.X, Y).root_
        np.testing.assert_array_equal(root.labels, range(12))
        for group in _groups(root):
            if group.children:
                parts = np.concatenate([child.labels for child in group.children])
                np.testing.assert_array_equal(np.sort(parts), group.labels)
                assert 2 <= len(group.children) <= n_children
            else:
                assert len(group.labels) == 1


def test_models_are_trained_on_rows_with_a_label_of_the_parent(rows: Any) -> None:
    learner = DecisionTreeClassifier(max_depth=2)
    tree = seeded(learner, np.random.RandomState(0))  # as in the model
    model = HOMER(estimator=learner, n_children=2, random_state=0).fit(rows.X, rows.Y)
    expected, predicted = np.ones((2, 50, 4))
    for first in model.root_.children:
        present = rows.Y[:, first.labels].any(axis=1)
        tree.fit(rows.X, present)
        positive = tree.predict_proba(rows.X_new)[:, 1]
        expected[:, first.labels] *= positive[:, np.newaxis]
        predicted[:, first.labels] *= (positive >= 0.5)[:, np.newaxis]
        for leaf in first.children:
            (label,) = leaf.labels
            tree.fit(rows.X[present], rows.Y[present, label])
            positive = tree.predict_proba(rows.X_new)[:, 1]
            expected[:, label] *= positive
            predicted[:, label] *= positive >= 0.5
    np.testing.assert_allclose(model.predict_proba(rows.X_new), expected)
    np.testing.assert_array_equal(model.predict(rows.X_new), predicted)


def test_weights_count_as_repeated_rows(rows: Any) -> None:
    weight = np.random.default_rng(0).integers(1, 3, len(rows.X))
    weighted = HOMER(n_children=4, random_state=0).fit(rows.X, rows.Y, weight)
    repeated = HOMER(n_children=4, random_state=0)
    repeated.fit(np.repeat(rows.X, weight, axis=0), np.repeat(rows.Y, weight, axis=0))
    np.testing.assert_allclose(
        weighted.predict_proba(rows.X_new), repeated.predict_proba(rows.X_new)
    )


@pytest.mark.parametrize("n_children", [1, 2.5, "3"])
def test_invalid_number_of_children(n_children: Any, rows: Any) -> None:
    with pytest.raises(ValueError, match=r"n_children=.*a whole number at least 2"):
        HOMER(n_children=n_children).fit(rows.X, rows.Y)
