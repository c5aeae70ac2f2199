"""Cumulated and standard predictions, worked out by hand for a chain of two rounds."""

import numpy as np
import pytest

from xdcc.chain.cumulation import (
    accumulate,
    cumulated_proba,
    labels_from_proba,
    standard_proba,
)
from xdcc.chain.propagation import PropagationRule, propagate

NAN = np.nan

# Round 1 propagates label 0 (0.9) of the first row and label 2 (0.1) of the second; round 2
# propagates label 1 (0.2) of the first row, which had 0.6 before, and label 1 (0.5) of the second.
ROUND_1 = np.array([[0.9, 0.6, 0.3], [0.4, 0.3, 0.1]])
ROUND_2 = np.array([[0.95, 0.2, 0.25], [0.45, 0.5, 0.7]])


def _after_two_rounds() -> tuple[np.ndarray, np.ndarray]:
    P, running = np.full((2, 3), NAN), np.zeros((2, 3))
    for Y_proba in (ROUND_1, ROUND_2):
        accumulate(running, Y_proba, np.isnan(P))
        propagate(P, Y_proba, PropagationRule())
    return P, running


def test_two_rounds_propagate_as_described() -> None:
    P, _ = _after_two_rounds()
    np.testing.assert_array_equal(P, [[0.9, 0.2, NAN], [NAN, 0.5, 0.1]])


def test_standard_is_zero_where_nothing_was_propagated() -> None:
    P, _ = _after_two_rounds()
    np.testing.assert_array_equal(standard_proba(P), [[0.9, 0.2, 0], [0, 0.5, 0.1]])


def test_equation_9() -> None:
    P, running = _after_two_rounds()
    np.testing.assert_array_equal(
        cumulated_proba(running, P, "equation9"), [[0.9, 0.2, 0.3], [0.45, 0.5, 0.1]]
    )


def test_authors_keep_an_early_maximum_of_a_label_propagated_as_negative() -> None:
    P, running = _after_two_rounds()
    np.testing.assert_array_equal(
        cumulated_proba(running, P, "authors"), [[0.9, 0.6, 0.3], [0.45, 0.5, 0.1]]
    )


def test_result_is_a_copy() -> None:
    P, running = _after_two_rounds()
    for result in (
        standard_proba(P),
        cumulated_proba(running, P, "equation9"),
        cumulated_proba(running, P, "authors"),
    ):
        assert not np.shares_memory(result, P)
        assert not np.shares_memory(result, running)


@pytest.mark.parametrize(
    ("prediction", "cumulation", "half"),
    [
        ("cumulated", "equation9", 1),
        ("cumulated", "authors", 0),
        ("standard", "equation9", 1),
        ("standard", "authors", 1),
    ],
)
def test_side_of_one_half(prediction: str, cumulation: str, half: int) -> None:
    labels = labels_from_proba(np.array([[0.4, 0.5, 0.6]]), prediction, cumulation)
    np.testing.assert_array_equal(labels, [[0, half, 1]])
    assert labels.dtype == np.int64
