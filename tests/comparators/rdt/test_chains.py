"""Posteriors and chains of small trees, against numbers computed by hand.

The root of the tree tests label 0: 0 leads to leaf 0, 1 to a test of feature 0 with leaves 1 and 2.

    leaf  N  positives of label 0, 1, 2
    0     4  0 1 3
    1     2  2 2 0
    2     2  2 1 0
"""

import numpy as np
import pytest

from xdcc.comparators.rdt.chains import ChainRule, decide_at_once, run_chain
from xdcc.comparators.rdt.forest import Forest, Weighting, forest_posteriors

EQUAL = Weighting(False, 0.0)


def tiny_forest():
    return Forest(
        start=np.array([0, 5]),
        kind=np.array([3, 0, 1, 0, 0], np.int8),
        index=np.array([0, 0, 0, 1, 2], np.int32),
        threshold=np.array([0.5, 0, 1.5, 0, 0], np.float32),
        value=np.array([0, 0, 1, 0, 1], np.float32),
        child=np.array([1, 0, 3, 0, 0], np.int32),
        branches=np.array([2, 0, 2, 0, 0], np.int32),
        disjunction=np.empty(0, np.int32),
        leaf_size=np.array([4, 2, 2], np.int32),
        label_start=np.array([0, 2, 4, 6]),
        label=np.array([1, 2, 0, 1, 0, 1], np.int32),
        label_count=np.array([1, 3, 2, 2, 2, 1], np.int32),
        labelset_start=np.array([0, 2, 3, 5]),
        labelset=np.array([0, 1, 2, 2, 3], np.int32),
        labelset_count=np.array([3, 1, 2, 1, 1], np.int32),
        n_labels=3,
        n_labelsets=4,
    )


def posteriors(x, known=None, *, sigma=1.0, weighting=EQUAL, labelsets=False):
    X = np.array([[x]], np.float32)
    marks = None if known is None else np.array([known], np.int8)
    proba, number = forest_posteriors(
        tiny_forest(), X, weighting, sigma=sigma, known=marks, labelsets=labelsets, n_threads=1
    )
    return proba[0], number[0]


@pytest.mark.parametrize(
    ("x", "known", "sigma", "proba"),
    [
        (1, None, 1, [2 / 6, 3 / 6, 3 / 6]),  # leaves 0 and 1
        (2, None, 1, [2 / 6, 2 / 6, 3 / 6]),  # leaves 0 and 2
        (np.nan, None, 1, [4 / 8, 4 / 8, 3 / 8]),
        (1, [0, -1, -1], 1, [0, 1 / 4, 3 / 4]),
        (1, [1, -1, -1], 1, [1, 1, 0]),
        (1.5, [1, -1, -1], 1, [1, 1, 0]),  # a value at the threshold goes to the first branch
        (np.nan, [1, -1, -1], 1, [1, 3 / 4, 0]),
        (1, [1, -1, -1], 0.5, [2 / 6, 3 / 6, 3 / 6]),  # the threshold of the test is .5: not active
        (1, [1, -1, -1], 0.6, [1, 1, 0]),
    ],
)
def test_posteriors(x, known, sigma, proba):
    found, number = posteriors(x, known, sigma=sigma)
    assert found == pytest.approx(proba)
    assert number == pytest.approx(sum(proba))


def test_labelset_posteriors():
    assert posteriors(2, labelsets=True)[0] == pytest.approx([3 / 6, 1 / 6, 1 / 6, 1 / 6])


def two_trees():
    """The tree above, and a leaf of four rows in which label 0 is always positive."""
    one = tiny_forest()
    return Forest(
        **vars(one)
        | {
            "start": np.array([0, 5, 6]),
            "kind": np.append(one.kind, np.int8(0)),
            "index": np.append(one.index, np.int32(3)),
            "threshold": np.append(one.threshold, np.float32(0)),
            "value": np.append(one.value, np.float32(0)),
            "child": np.append(one.child, np.int32(0)),
            "branches": np.append(one.branches, np.int32(0)),
            "leaf_size": np.append(one.leaf_size, np.int32(4)),
            "label_start": np.append(one.label_start, 7),
            "label": np.append(one.label, np.int32(0)),
            "label_count": np.append(one.label_count, np.int32(4)),
        }
    )


@pytest.mark.parametrize(
    ("weighting", "weights"),
    [
        # x = 1: the first tree has (1/3, 1/2, 1/2): 1 - 4/3 (2/9 + 1/4 + 1/4) = 1/27; the other 1
        (Weighting(True, 0.0), (1 / 27, 1)),
        (Weighting(False, 0.0), (1, 1)),
        (Weighting(False, 1.0), (6, 4)),
        (Weighting(True, 0.5), (6**0.5 / 27, 2)),
    ],
)
def test_tree_weights(weighting, weights):
    proba, number = forest_posteriors(
        two_trees(), np.ones((1, 1), np.float32), weighting, sigma=1.0, n_threads=1
    )
    mean = np.average([[1 / 3, 1 / 2, 1 / 2], [1, 0, 0]], axis=0, weights=weights)
    assert proba[0] == pytest.approx(mean)
    assert number[0] == pytest.approx(np.average([4 / 3, 1], weights=weights))


def run(x, *, order=None, threshold="label", candidates="open", early_stop=False):
    rule = ChainRule(None if order is None else np.array(order), threshold, candidates, early_stop)
    X = np.array([[x]], np.float32)
    trace = run_chain(tiny_forest(), X, rule, EQUAL, sigma=1.0, n_threads=1)
    return trace.labels[0].tolist(), trace.Y_pred[0].tolist(), trace.values()[0]


@pytest.mark.parametrize(
    ("options", "labels", "Y_pred", "values"),
    [
        # (2/6, 3/6, 3/6): label 0 is 0; then (0, 1/4, 3/4): a tie, label 1 is 0; R = 1: label 2
        ({}, [0, 1, 2], [0, 0, 1], [2 / 6, 1 / 4, 3 / 4]),
        ({"threshold": "probability"}, [0, 1, 2], [0, 0, 1], [2 / 6, 1 / 4, 3 / 4]),
        # R = 4/3 = 1: label 2 has .5 and is positive, so the others are not
        ({"order": [2, 1, 0]}, [2, 1, 0], [0, 0, 1], [3 / 6, 3 / 6, 2 / 6]),
        ({"order": [2, 1, 0], "threshold": "probability"}, [2, 1, 0], [0, 1, 1],
         [3 / 6, 3 / 6, 2 / 6]),
        # label 0 is 0; R stays 1: label 1 has 1/4 and is 0; label 2 is needed
        ({"order": [0, 1, 2]}, [0, 1, 2], [0, 0, 1], [2 / 6, 1 / 4, 3 / 4]),
        # label 2 has .5, 1 too: the lower index is positive, R = 1 is reached
        ({"candidates": "positive"}, [1, -1, -1], [0, 1, 0], [3 / 6, np.nan, np.nan]),
        # labels 1 and 2 have .5; both are positive, label 0 has 2/6
        ({"candidates": "positive", "threshold": "probability"}, [1, 2, -1], [0, 1, 1],
         [3 / 6, 3 / 6, np.nan]),
        ({"early_stop": True, "order": [2, 1, 0]}, [2, -1, -1], [0, 0, 1], [3 / 6, np.nan, np.nan]),
        # labels 0 and 1 are 0, R = 1: label 2 must be positive and needs no step
        ({"early_stop": True}, [0, 1, -1], [0, 0, 1], [2 / 6, 1 / 4, np.nan]),
    ],
)  # fmt: skip
def test_chains(options, labels, Y_pred, values):
    found = run(1, **options)
    assert found[:2] == (labels, Y_pred)
    assert found[2] == pytest.approx(values, nan_ok=True)


def test_decide_at_once():
    proba = np.array([[0.2, 0.7, 0.7], [0.6, 0.6, 0.1]])
    for number, expected in [
        ([1.5, 0.4], [[0, 1, 1], [0, 0, 0]]),  # half is rounded up
        ([1.4, 1.0], [[0, 1, 0], [1, 0, 0]]),  # ties: the lower index
    ]:
        found = decide_at_once(proba, np.array(number), "label")
        np.testing.assert_array_equal(found, expected)
    found = decide_at_once(np.array([[0.5, 0.49]]), np.array([0.0]), "probability")
    np.testing.assert_array_equal(found, [[1, 0]])
