"""Losses: values by hand, numerical derivatives, extreme scores, labelsets and probabilities."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference.boomer_derivatives import derivatives
from xdcc.comparators.boomer.losses import LOSSES
from xdcc.comparators.boomer.prediction import label_proba, labelset_proba, predict_labels

EVERY = pytest.mark.parametrize("name", LOSSES)
LOGISTIC = ("logistic_label_wise", "logistic_example_wise")


def labels_and_scores(seed, n_rows=6, n_labels=4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2, (n_rows, n_labels)), 2 * rng.normal(size=(n_rows, n_labels))


def every_labelset(n_labels):
    return np.array([*itertools.product((0, 1), repeat=n_labels)], np.int8)


def test_values_by_hand():
    Y, scores = np.array([[1, 0]]), np.array([[2.0, 0.5]])
    values = {name: loss.values(Y, scores)[0] for name, loss in LOSSES.items()}
    assert values["logistic_label_wise"] == pytest.approx(
        np.log(1 + np.exp(-2)) + np.log(1 + np.exp(0.5))
    )
    assert values["logistic_example_wise"] == pytest.approx(np.log(1 + np.exp(-2) + np.exp(0.5)))
    assert values["squared_label_wise"] == 1 + 1.5**2
    assert values["squared_hinge_label_wise"] == 1.5**2


def test_derivatives_by_hand():
    # Three labels at score 0: exp(0) = 1 each, and 1 for the constant.
    Y = np.array([[1, 0, 0]])
    gradients, hessians = derivatives("logistic_example_wise", Y, np.zeros((1, 3)))
    assert gradients[0].tolist() == [-0.25, 0.25, 0.25]
    assert hessians[0] == pytest.approx(
        np.array([[3, 1, 1], [1, 3, -1], [1, -1, 3]]) / 16, rel=1e-14
    )


@EVERY
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_numerical_derivatives(name, seed):
    loss, step = LOSSES[name], 1e-5
    Y, scores = labels_and_scores(seed)
    gradients, hessians = derivatives(name, Y, scores)
    for j in range(4):
        more, less = scores.copy(), scores.copy()
        more[:, j] += step
        less[:, j] -= step
        slope = (loss.values(Y, more) - loss.values(Y, less)) / (2 * step)
        assert gradients[:, j] == pytest.approx(slope, abs=1e-6)
        bend = (derivatives(name, Y, more)[0] - derivatives(name, Y, less)[0]) / (2 * step)
        edge = np.abs(np.abs(scores) - 1).min(axis=1) < 1e-4  # the kink of the squared hinge
        assert hessians[~edge, :, j] == pytest.approx(bend[~edge], abs=1e-5)


@EVERY
@pytest.mark.parametrize("size", [1000.0, -1000.0, 1e6])
def test_extreme_scores(name, size):
    loss, Y = LOSSES[name], np.array([[1, 0, 1], [0, 0, 0]])
    scores = np.full((2, 3), size)
    labelsets = every_labelset(3)
    for array in (
        loss.values(Y, scores),
        *derivatives(name, Y, scores),
        loss.labelset_losses(labelsets, scores),
        labelset_proba(loss, labelsets, scores),
        label_proba(loss, labelsets, scores),
    ):
        assert np.isfinite(array).all()
    predicted = predict_labels(loss, "known_labelsets", labelsets, scores)
    assert (predicted == (size > 0)).all() or "squared" in name


@EVERY
@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_labelset_losses(name, scale):
    loss = LOSSES[name]
    scores = scale * labels_and_scores(0)[1]
    labelsets = every_labelset(4)
    losses = loss.labelset_losses(labelsets, scores)
    for number, labelset in enumerate(labelsets):
        of_one = loss.values(np.tile(labelset, (len(scores), 1)), scores)
        assert losses[:, number] == pytest.approx(of_one, rel=1e-9, abs=1e-12)


@EVERY
def test_known_labelset_has_the_smallest_loss(name):
    loss = LOSSES[name]
    labelsets = every_labelset(5)[::3]
    scores = labels_and_scores(1, 50, 5)[1]
    predicted = predict_labels(loss, "known_labelsets", labelsets, scores)
    least = loss.labelset_losses(labelsets, scores).min(axis=1)
    assert loss.values(predicted, scores) == pytest.approx(least, rel=1e-12)


def test_equal_losses_go_to_the_more_frequent_labelset():
    loss = LOSSES["logistic_example_wise"]
    for labelsets in ([[0, 1], [1, 0]], [[1, 0], [0, 1]]):
        predicted = predict_labels(
            loss, "known_labelsets", np.array(labelsets, np.int8), np.full((1, 2), 0.3)
        )
        assert predicted.tolist() == [labelsets[0]]


def test_score_of_0_predicts_0():
    loss = LOSSES["logistic_label_wise"]
    predicted = predict_labels(loss, "sign", every_labelset(3), np.array([[0.0, -0.0, 1e-300]]))
    assert predicted.tolist() == [[0, 0, 1]]


def test_auto_depends_on_the_loss():
    labelsets = np.array([[1, 1], [0, 0]], np.int8)
    scores = np.array([[3.0, -1.0]])
    label_wise, example_wise = (LOSSES[name] for name in LOGISTIC)
    assert predict_labels(label_wise, "auto", labelsets, scores).tolist() == [[1, 0]]
    assert predict_labels(example_wise, "auto", labelsets, scores).tolist() == [[1, 1]]


@EVERY
def test_example_f1_is_the_best_of_all_labelsets(name):
    loss, labelsets = LOSSES[name], every_labelset(4)[[0, 3, 5, 9, 14]]
    scores = labels_and_scores(2, 30)[1]
    proba = labelset_proba(loss, labelsets, scores)
    candidates = every_labelset(4).astype(float)
    sizes = candidates.sum(axis=1)[:, None] + labelsets.sum(axis=1)
    f1 = np.where(sizes == 0, 1, 2 * candidates @ labelsets.T / np.maximum(sizes, 1))
    expected = proba @ f1.T
    predicted = predict_labels(loss, "example_f1", labelsets, scores)
    number = predicted @ [8, 4, 2, 1]
    assert expected[np.arange(30), number] == pytest.approx(expected.max(axis=1))


@pytest.mark.parametrize("name", [n for n in LOSSES if n != "logistic_example_wise"])
def test_label_wise_labelset_probabilities_are_products(name):
    loss, labelsets = LOSSES[name], every_labelset(4)
    scores = 0.3 * labels_and_scores(3)[1]
    marginals = label_proba(loss, labelsets, scores)
    # If all labelsets are known, the marginals of the product are the label probabilities.
    assert labelset_proba(loss, labelsets, scores) @ labelsets == pytest.approx(marginals, abs=1e-5)


def test_example_wise_probabilities():
    loss, labelsets = LOSSES["logistic_example_wise"], np.array([[1, 0], [0, 1], [0, 0]], np.int8)
    scores = np.array([[1.0, -2.0]])
    weights = 1 / (
        1 + np.array([np.exp(-1) + np.exp(-2), np.exp(1) + np.exp(2), np.exp(1) + np.exp(-2)])
    )
    proba = weights / weights.sum()
    assert labelset_proba(loss, labelsets, scores)[0] == pytest.approx(proba)
    assert label_proba(loss, labelsets, scores)[0] == pytest.approx(proba[:2])
