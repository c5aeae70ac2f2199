"""Propagation against hand-computed rounds and a plain loop over rows and labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from xdcc.chain.propagation import CANDIDATES, NO_LABEL, propagate

NAN = np.nan


def naive_propagate(
    P: NDArray[np.float32], Y_proba: NDArray[np.float32], candidates: str
) -> tuple[NDArray[np.float32], list[int]]:
    """One row and one label at a time, without in-place changes."""
    P = P.copy()
    chosen = []
    for i in range(len(P)):
        competing = [j for j in range(P.shape[1]) if candidates == "all" or np.isnan(P[i, j])]
        if not competing:
            chosen.append(NO_LABEL)
            continue
        largest = max(Y_proba[i, j] for j in competing)
        smallest = min(Y_proba[i, j] for j in competing)
        wanted = largest if largest >= 0.5 else smallest
        tied = [j for j in competing if Y_proba[i, j] == wanted]
        label = tied[-1] if candidates == "all" and largest >= 0.5 else tied[0]
        stored = P[i, label]
        if np.isnan(stored):
            P[i, label] = wanted
            chosen.append(label)
            continue
        if stored >= 0.5 and wanted >= 0.5:
            P[i, label] = max(stored, wanted)
        if stored < 0.5 and wanted < 0.5:
            P[i, label] = min(stored, wanted)
        chosen.append(NO_LABEL)
    return P, chosen


# Few distinct values, so that ties and 0.5 itself are frequent.
PROBABILITIES = st.sampled_from([0.0, 0.1, 0.25, 0.4999999, 0.5, 0.7, 0.9, 1.0])
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=6)


@st.composite
def chain_rounds(draw: st.DrawFn) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    shape = draw(SHAPES)
    P = draw(arrays(np.float32, shape, elements=PROBABILITIES | st.just(NAN)))
    return P, draw(arrays(np.float32, shape, elements=PROBABILITIES))


@given(round_=chain_rounds(), candidates=st.sampled_from(CANDIDATES))
@settings(max_examples=200, deadline=None)
def test_agrees_with_a_plain_loop(
    round_: tuple[NDArray[np.float32], NDArray[np.float32]], candidates: str
) -> None:
    P, Y_proba = round_
    expected_P, expected_labels = naive_propagate(P, Y_proba, candidates)
    labels = propagate(P, Y_proba, candidates)
    np.testing.assert_array_equal(P, expected_P)
    np.testing.assert_array_equal(labels, expected_labels)


@pytest.mark.parametrize("candidates", CANDIDATES)
def test_largest_if_some_label_has_a_half_else_smallest(candidates: str) -> None:
    P = np.full((3, 3), NAN)
    Y_proba = np.array([[0.2, 0.8, 0.6], [0.3, 0.1, 0.4], [0.1, 0.5, 0.4]])
    labels = propagate(P, Y_proba, candidates)
    np.testing.assert_array_equal(labels, [1, 1, 1])
    np.testing.assert_array_equal(P, [[NAN, 0.8, NAN], [NAN, 0.1, NAN], [NAN, 0.5, NAN]])


def test_open_ignores_what_was_propagated() -> None:
    P = np.array([[0.9, NAN, NAN], [0.9, 0.1, 0.2]])
    Y_proba = np.array([[0.95, 0.3, 0.2], [0.95, 0.6, 0.3]])
    labels = propagate(P, Y_proba, "open")
    np.testing.assert_array_equal(labels, [2, NO_LABEL])
    np.testing.assert_array_equal(P, [[0.9, NAN, 0.2], [0.9, 0.1, 0.2]])


def test_all_raises_and_lowers_but_never_changes_sides() -> None:
    P = np.array([[0.6, NAN], [0.6, NAN], [0.2, NAN], [0.2, NAN], [0.1, NAN]])
    Y_proba = np.array([[0.7, 0.6], [0.55, 0.1], [0.8, 0.1], [0.1, 0.3], [0.2, 0.4]])
    labels = propagate(P, Y_proba, "all")
    np.testing.assert_array_equal(labels, [NO_LABEL] * 5)
    np.testing.assert_array_equal(P[:, 0], [0.7, 0.6, 0.2, 0.1, 0.1])
    assert np.isnan(P[:, 1]).all()


def test_all_does_not_lower_a_positive() -> None:
    P = np.array([[0.6, NAN]])
    propagate(P, np.array([[0.1, 0.3]]), "all")
    np.testing.assert_array_equal(P, [[0.6, NAN]])


def test_ties() -> None:
    high, low = np.array([[0.7, 0.7, 0.7]]), np.array([[0.2, 0.2, 0.2]])
    for candidates, of_high in (("open", 0), ("all", 2)):
        assert propagate(np.full((1, 3), NAN), high, candidates) == of_high
        assert propagate(np.full((1, 3), NAN), low, candidates) == 0


def test_open_decides_every_label_in_as_many_rounds() -> None:
    rng = np.random.default_rng(0)
    P = np.full((20, 5), NAN)
    rounds = np.stack([propagate(P, rng.random((20, 5)), "open") for _ in range(5)], axis=1)
    np.testing.assert_array_equal(np.sort(rounds, axis=1), np.tile(np.arange(5), (20, 1)))
    assert (propagate(P, rng.random((20, 5)), "open") == NO_LABEL).all()
