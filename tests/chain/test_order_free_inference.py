"""Inference in an order-free chain against its reference implementation and all labelsets.

The reference implementation takes one row at a time, without pruning and without shared states.
"""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.chain.order_free_inference import (
    LabelStates,
    draw_labelsets,
    probable_labelsets,
    walk_to,
)
from xdcc.chain.order_free_training import train_order_free
from xdcc.chain.propagation import NO_LABEL

type Floats = NDArray[np.float64]
type LogOdds = Callable[[Floats], Floats]
"""From labels, NaN where one is open, to the log-odds of all, (n_labels,); for one row."""


def next_label(log_odds: Floats, revealed: Floats) -> int:
    """Find the most certain open label, the first of equal ones; -1 if no label is open."""
    certain = -1
    for label, z in enumerate(log_odds):
        if np.isnan(revealed[label]) and (certain < 0 or abs(z) > abs(log_odds[certain])):
            certain = label
    return certain


def log_prob(predict: LogOdds, y: Floats, order: list[int] | None = None) -> float:
    """Return the logarithm of the probability of a labelset, a float, by the chain rule.

    Parameters
    ----------
    predict : callable
        Prediction function of the row.
    y : float array of shape (n_labels,)
        Zeros and ones.
    order : list, optional
        The labels are appended to it in the order in which they were revealed.
    """
    revealed, total = np.full(len(y), np.nan), 0.0
    for _ in y:
        z = predict(revealed)
        label = next_label(z, revealed)
        proba = 1 / (1 + np.exp(-float(z[label])))
        total += np.log(proba if y[label] == 1 else 1 - proba)
        revealed[label] = y[label]
        if order is not None:
            order.append(label)
    return total


def labelset_probabilities(predict: LogOdds, revealed: Floats) -> dict[tuple[int, ...], float]:
    """Walk through the whole tree of values.

    Parameters
    ----------
    predict : callable
        Prediction function of the row.
    revealed : float array of shape (n_labels,)
        0, 1, or NaN where a label is open.

    Returns
    -------
    dict
        Probability of every labelset that agrees with what is revealed; they sum to one.
    """
    z = predict(revealed)
    label = next_label(z, revealed)
    if label < 0:
        return {tuple(int(value) for value in revealed): 1.0}
    found = {}
    for value in (0, 1):
        child = revealed.copy()
        child[label] = value
        proba = 1 / (1 + np.exp(-float(z[label]) if value else float(z[label])))
        for labelset, rest in labelset_probabilities(predict, child).items():
            found[labelset] = proba * rest
    return found


N_LABELS = 4
ALL = np.array(list(product((0, 1), repeat=N_LABELS)), dtype=np.float32)
PARAMS = {
    "objective": "multilabel:logistic",
    "max_depth": 3,
    "eta": 0.3,
    "lambda": 1.0,
    "subsample": 0.7,
    "sketch_size": 1,
    "max_bin": 64,
    "seed": 0,
    "nthread": 1,
}
NOTHING = np.full((12, N_LABELS), np.nan, dtype=np.float32)


@pytest.fixture(scope="module")
def margins() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(300, N_LABELS)).astype(np.float32)


@pytest.fixture(scope="module")
def booster(margins: np.ndarray) -> xgb.Booster:
    """Labels that are nearly the same, and one that is the opposite."""
    y = margins.mean(axis=1, keepdims=True) + 0.3 * np.random.default_rng(2).normal(
        size=margins.shape
    )
    Y = (y > 0).astype(np.float32)
    Y[:, 3] = 1 - Y[:, 3]
    data = FitData(margins, Y, None)
    trained = train_order_free(data, np.arange(300) % 3, PARAMS, n_estimators=20, n_masks=5)
    assert trained.booster is not None
    return trained.booster


@pytest.fixture
def row_predictor(booster: xgb.Booster, margins: np.ndarray) -> Callable[[int], LogOdds]:
    """Predictions of a row by a matrix of its own, not in place."""

    def of_row(row: int) -> LogOdds:
        start = margins[row : row + 1]

        def predict(revealed: np.ndarray) -> np.ndarray:
            joined = np.concatenate((start, revealed[np.newaxis].astype(np.float32)), axis=1)
            matrix = xgb.DMatrix(joined, base_margin=start, nthread=1)
            return booster.predict(matrix, output_margin=True, strict_shape=True)[0]

        return predict

    return of_row


def test_likelihood_and_order_are_those_of_the_twin(booster, margins, row_predictor) -> None:
    Y = ALL[np.arange(12) % len(ALL)]
    total, order = np.zeros(12), []
    for step in walk_to(LabelStates(booster, margins[:12], NOTHING), Y):
        total += step.log_prob
        order.append(step.label)
    for row in range(12):
        expected_order: list[int] = []
        expected = log_prob(row_predictor(row), Y[row], expected_order)
        assert [labels[row] for labels in order] == expected_order
        np.testing.assert_allclose(total[row], expected, rtol=1e-6)


def test_probabilities_of_all_labelsets_sum_to_one(booster, margins) -> None:
    total = np.zeros(12)
    for labelset in ALL:
        states = LabelStates(booster, margins[:12], NOTHING)
        steps = walk_to(states, np.tile(labelset, (12, 1)))
        total += np.exp(sum(step.log_prob for step in steps))
    np.testing.assert_allclose(total, 1, rtol=1e-12)


def test_skipped_labels_leave_a_distribution_of_the_others(booster, margins) -> None:
    total = np.zeros(12)
    for pair in product((0, 1), repeat=2):
        Y = NOTHING.copy()
        Y[:, [1, 3]] = pair
        states = LabelStates(booster, margins[:12], NOTHING)
        total += np.exp(sum(step.log_prob for step in walk_to(states, Y)))
        assert np.isnan(states.revealed[:, [0, 2]]).all()
    np.testing.assert_allclose(total, 1, rtol=1e-12)


@pytest.mark.parametrize("known", [None, 1])
def test_the_search_finds_the_most_probable_labelset(booster, margins, row_predictor, known):
    revealed = NOTHING.copy()
    if known is not None:
        revealed[::2, known] = 1
    found = probable_labelsets(LabelStates(booster, margins[:12], revealed), n_beams=32)
    best = found.first()
    assert best.shape == (12, N_LABELS)
    for row in range(12):
        expected = labelset_probabilities(row_predictor(row), revealed[row].astype(float))
        np.testing.assert_allclose(sum(expected.values()), 1)
        assert tuple(best[row]) == max(expected, key=lambda labels: expected[labels])
        first = np.flatnonzero(found.row == row)[0]
        np.testing.assert_allclose(np.exp(found.log_prob[first]), max(expected.values()), rtol=1e-6)


def test_with_slack_all_labelsets_are_found(booster, margins, row_predictor) -> None:
    found = probable_labelsets(LabelStates(booster, margins[:3], NOTHING[:3]), 16, slack=np.inf)
    np.testing.assert_array_equal(found.row, np.repeat(np.arange(3), 16))
    for row in range(3):
        expected = labelset_probabilities(row_predictor(row), NOTHING[row].astype(float))
        here = found.row == row
        assert (np.diff(found.log_prob[here]) <= 0).all()
        np.testing.assert_allclose(
            np.exp(found.log_prob[here]),
            [expected[tuple(labels)] for labels in found.labels[here]],
            rtol=1e-6,
        )


def test_one_beam_is_no_worse_than_greedy(booster, margins) -> None:
    """Also where the greedy labelset has been dropped for a better beginning."""
    narrow = probable_labelsets(LabelStates(booster, margins, NOTHING[:1].repeat(300, 0)), 1)
    wide = probable_labelsets(LabelStates(booster, margins, NOTHING[:1].repeat(300, 0)), 16)
    np.testing.assert_array_equal(narrow.row, np.arange(300))
    first = np.unique(wide.row, return_index=True)[1]
    assert (wide.log_prob[first] >= narrow.log_prob).all()


def test_draws_are_as_frequent_as_probable(booster, margins, row_predictor) -> None:
    revealed = NOTHING[:2].copy()
    revealed[1, 2] = 0
    rng = np.random.default_rng(0)
    drawn = draw_labelsets(LabelStates(booster, margins[:2], revealed), 20_000, rng)
    assert drawn.shape == (2, 20_000, N_LABELS)
    for row in range(2):
        expected = labelset_probabilities(row_predictor(row), revealed[row].astype(float))
        for labels, proba in expected.items():
            share = (drawn[row] == labels).all(axis=1).mean()
            assert abs(share - proba) < 4 * np.sqrt(proba / 20_000) + 1e-4
    halves = drawn[0].reshape(2, 10_000, N_LABELS).mean(axis=1)
    np.testing.assert_allclose(halves[0], halves[1], atol=0.03)  # in no order


def test_without_a_booster_labels_are_independent(margins) -> None:
    Y = ALL[np.arange(12) % len(ALL)]
    steps = list(walk_to(LabelStates(None, margins[:12], NOTHING), Y))
    assert len(steps) == N_LABELS
    expected = -np.logaddexp(0, np.where(Y == 1, -margins[:12], margins[:12])).sum(axis=1)
    np.testing.assert_allclose(sum(step.log_prob for step in steps), expected, rtol=1e-6)
    mode = probable_labelsets(LabelStates(None, margins[:12], NOTHING), 4).first()
    np.testing.assert_array_equal(mode, margins[:12] > 0)


def test_nothing_to_decide(booster, margins) -> None:
    revealed = np.zeros((12, N_LABELS), dtype=np.float32)
    states = LabelStates(booster, margins[:12], revealed)
    assert list(walk_to(states, revealed)) == []
    label, _ = states.most_certain(states.log_odds())
    assert (label == NO_LABEL).all()
    found = probable_labelsets(states, 4)
    np.testing.assert_array_equal(found.labels, 0)
    np.testing.assert_array_equal(found.log_prob, 0)
