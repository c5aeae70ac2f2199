"""Propagation against hand-computed rounds and a plain loop; the order of labels, told later."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from xdcc.chain.propagation import NO_LABEL, ChainOrder, propagate
from xdcc.prediction.propagation_rule import ORDERS, PropagationRule

NAN = np.nan


OPEN, ALL = PropagationRule("open"), PropagationRule("all")
RULES = [
    ALL,
    *(PropagationRule("open", order, k) for order in ORDERS for k in (1, 2, 3)),
]


def naive_propagate(
    P: NDArray[np.float32], Y_proba: NDArray[np.float32], rule: PropagationRule
) -> tuple[NDArray[np.float32], list[list[int]]]:
    """One row and one label at a time, without in-place changes."""
    P = P.copy()
    chosen = [
        [_propagate_one(P[i], Y_proba[i], rule) for _ in range(rule.labels_per_round)]
        for i in range(len(P))
    ]
    return P, chosen


def _propagate_one(
    p: NDArray[np.float32], proba: NDArray[np.float32], rule: PropagationRule
) -> int:
    competing = [j for j in range(len(p)) if rule.candidates == "all" or np.isnan(p[j])]
    if not competing:
        return NO_LABEL
    largest = max(proba[j] for j in competing)
    smallest = min(proba[j] for j in competing)
    wanted = largest if largest >= 0.5 else smallest
    tied = [j for j in competing if proba[j] == wanted]
    if rule.order == "certainty":
        farthest = max(abs(proba[j] - np.float32(0.5)) for j in competing)
        tied = [j for j in competing if abs(proba[j] - np.float32(0.5)) == farthest]
    label = tied[-1] if rule.candidates == "all" and largest >= 0.5 else tied[0]
    stored = p[label]
    if np.isnan(stored):
        p[label] = proba[label]
        return label
    if stored >= 0.5 and wanted >= 0.5:
        p[label] = max(stored, wanted)
    if stored < 0.5 and wanted < 0.5:
        p[label] = min(stored, wanted)
    return NO_LABEL


# Few distinct values, so that ties and 0.5 itself are frequent.
PROBABILITIES = st.sampled_from([0.0, 0.1, 0.25, 0.4999999, 0.5, 0.7, 0.9, 1.0])
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=6)


@st.composite
def chain_rounds(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    shape = draw(SHAPES)
    P = draw(arrays(np.float32, shape, elements=PROBABILITIES | st.just(NAN)))
    return P, draw(arrays(np.float32, shape, elements=PROBABILITIES))


@given(round_=chain_rounds(), rule=st.sampled_from(RULES))
@settings(max_examples=300, deadline=None)
def test_agrees_with_a_plain_loop(
    round_: tuple[NDArray[np.float32], NDArray[np.float32]], rule: PropagationRule
) -> None:
    P, Y_proba = round_
    expected_P, expected_labels = naive_propagate(P, Y_proba, rule)
    labels = propagate(P, Y_proba, rule)
    np.testing.assert_array_equal(P, expected_P)
    np.testing.assert_array_equal(labels, expected_labels)


@pytest.mark.parametrize("rule", [OPEN, ALL])
def test_largest_if_some_label_has_a_half_else_smallest(rule: PropagationRule) -> None:
    P = np.full((3, 3), NAN)
    Y_proba = np.array([[0.2, 0.8, 0.6], [0.3, 0.1, 0.4], [0.1, 0.5, 0.4]])
    labels = propagate(P, Y_proba, rule)
    np.testing.assert_array_equal(labels, [[1], [1], [1]])
    np.testing.assert_array_equal(P, [[NAN, 0.8, NAN], [NAN, 0.1, NAN], [NAN, 0.5, NAN]])


def test_open_ignores_what_was_propagated() -> None:
    P = np.array([[0.9, NAN, NAN], [0.9, 0.1, 0.2]])
    Y_proba = np.array([[0.95, 0.3, 0.2], [0.95, 0.6, 0.3]])
    labels = propagate(P, Y_proba, OPEN)
    np.testing.assert_array_equal(labels, [[2], [NO_LABEL]])
    np.testing.assert_array_equal(P, [[0.9, NAN, 0.2], [0.9, 0.1, 0.2]])


def test_all_raises_and_lowers_but_never_changes_sides() -> None:
    P = np.array([[0.6, NAN], [0.6, NAN], [0.2, NAN], [0.2, NAN], [0.1, NAN]])
    Y_proba = np.array([[0.7, 0.6], [0.55, 0.1], [0.8, 0.1], [0.1, 0.3], [0.2, 0.4]])
    labels = propagate(P, Y_proba, ALL)
    np.testing.assert_array_equal(labels, [[NO_LABEL]] * 5)
    np.testing.assert_array_equal(P[:, 0], [0.7, 0.6, 0.2, 0.1, 0.1])
    assert np.isnan(P[:, 1]).all()


def test_all_does_not_lower_a_positive() -> None:
    P = np.array([[0.6, NAN]])
    propagate(P, np.array([[0.1, 0.3]]), ALL)
    np.testing.assert_array_equal(P, [[0.6, NAN]])


def test_ties() -> None:
    high, low = np.array([[0.7, 0.7, 0.7]]), np.array([[0.2, 0.2, 0.2]])
    for rule, of_high in ((OPEN, 0), (ALL, 2)):
        assert propagate(np.full((1, 3), NAN), high, rule) == of_high
        assert propagate(np.full((1, 3), NAN), low, rule) == 0


def test_open_decides_every_label_in_as_many_rounds() -> None:
    rng = np.random.default_rng(0)
    P = np.full((20, 5), NAN)
    rounds = np.concatenate([propagate(P, rng.random((20, 5)), OPEN) for _ in range(5)], axis=1)
    np.testing.assert_array_equal(np.sort(rounds, axis=1), np.tile(np.arange(5), (20, 1)))
    assert (propagate(P, rng.random((20, 5)), OPEN) == NO_LABEL).all()


def test_certainty_takes_what_is_farthest_from_a_half() -> None:
    P = np.array([[NAN, NAN, NAN], [NAN, 0.9, NAN]])
    Y_proba = np.array([[0.8, 0.1, 0.6], [0.25, 0.99, 0.75]])
    labels = propagate(P, Y_proba, PropagationRule(order="certainty"))
    np.testing.assert_array_equal(labels, [[1], [0]])
    np.testing.assert_array_equal(P, [[NAN, 0.1, NAN], [0.25, 0.9, NAN]])


def test_several_labels_in_their_order_until_none_is_left() -> None:
    P = np.array([[NAN, NAN, NAN], [NAN, 0.9, NAN], [0.1, 0.2, NAN]])
    Y_proba = np.array([[0.6, 0.1, 0.8], [0.3, 0.99, 0.2], [0.9, 0.9, 0.9]])
    labels = propagate(P, Y_proba, PropagationRule(labels_per_round=2))
    np.testing.assert_array_equal(labels, [[2, 0], [2, 0], [2, NO_LABEL]])


@pytest.mark.parametrize("rule", [OPEN, ALL])
def test_leaves_rows_alone_that_are_not_asked_for(rule: PropagationRule) -> None:
    P = np.full((2, 2), NAN)
    labels = propagate(P, np.array([[0.9, 0.1], [0.9, 0.1]]), rule, np.array([False, True]))
    np.testing.assert_array_equal(labels, [[NO_LABEL], [0]])
    np.testing.assert_array_equal(P, [[NAN, NAN], [0.9, NAN]])


@pytest.mark.parametrize("further", [{"order": "certainty"}, {"labels_per_round": 2}])
def test_all_goes_with_the_papers_rule_only(further: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="candidates='all' goes with order='positive' and labels"):
        PropagationRule("all", **further)


def test_rounds_of_labels() -> None:
    labels = np.array([[2, 0], [1, -1], [-1, 1]])
    order = ChainOrder(labels, np.zeros(labels.shape, dtype=np.float32))
    np.testing.assert_array_equal(order.rounds(3), [[2, 3, 1], [3, 1, 3], [3, 2, 3]])
