"""Example of the paper: the toy data of Table 1 give the tree of Figure 1."""

import numpy as np
import pytest

from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.comparators.lacovac._growing import KINDS

LABELS = ["crime", "horror", "drama"]
FEATURES = ["love", "dark"]
KIND_NAMES = {number: name for name, number in KINDS.items()}


@pytest.fixture
def toy_tree(toy_data):
    tree = LaCovaCClassifier(
        threshold_size="train", min_samples_split=3, min_samples_leaf=2, n_jobs=1
    )
    return tree.fit(*toy_data)


def described(tree, node=0):
    """The subtree of a node as nested tuples: labels, kind and children."""
    labels = tuple(LABELS[j] for j in tree.labels(node))
    kind = KIND_NAMES[tree.kind[node]]
    if kind == "leaf":
        leaf = tree.labelsets(node)
        shares = {tuple(row): p for row, p in zip(leaf.labelsets.tolist(), leaf.proba, strict=True)}
        return labels, shares
    below = [described(tree, child) for child in tree.children(node)]
    if kind == "vertical":
        return labels, "vertical", below
    return labels, FEATURES[tree.feature[node]], below


def test_tree_is_that_of_figure_1(toy_tree):
    crime_horror = ("crime", "horror")
    dark = [
        # dark = 0: three films; crime and horror are independent
        (
            crime_horror,
            "vertical",
            [
                (("crime",), {(1,): pytest.approx(2 / 3), (0,): pytest.approx(1 / 3)}),
                (("horror",), {(1,): pytest.approx(2 / 3), (0,): pytest.approx(1 / 3)}),
            ],
        ),
        # dark = 1: nine films, four without and five with love
        (
            crime_horror,
            "love",
            [
                (crime_horror, {(0, 1): 0.5, (1, 0): 0.5}),
                (crime_horror, {(0, 1): 0.4, (1, 0): 0.4, (1, 1): 0.2}),
            ],
        ),
    ]
    drama = [(("drama",), {(0,): 1.0}), (("drama",), {(1,): 1.0})]
    assert described(toy_tree.tree_) == (
        tuple(LABELS),
        "vertical",
        [(crime_horror, "dark", dark), (("drama",), "love", drama)],
    )


def test_leaf_of_section_3_1(toy_tree):
    """Both marginals are 0.6, but the two most probable labelsets contain only one label each."""
    leaf = toy_tree.apply([[1, 1]])[0, 0]
    labels, labelsets, proba = toy_tree.leaf_labelsets(leaf)
    assert labels.tolist() == [0, 1]
    assert sorted(labelsets[:2].tolist()) == [[0, 1], [1, 0]]
    np.testing.assert_allclose(proba, [0.4, 0.4, 0.2])
    np.testing.assert_allclose(toy_tree.predict_proba([[1, 1]]), [[0.6, 0.6, 1.0]])
    crime, horror, drama = toy_tree.predict([[1, 1]])[0]
    assert crime + horror == 1
    assert drama == 1


def test_threshold_of_the_node_gives_another_tree(toy_data):
    """With λ as in the text, no correlation among the five films is significant (λ_5 = 0.98)."""
    tree = LaCovaCClassifier(min_samples_split=3, min_samples_leaf=2, n_jobs=1).fit(*toy_data)
    leaves = tree.apply([[1, 1]])[0]
    assert len(set(leaves)) == 3
