"""Reading an order-free chain: likelihood, samples, the most probable labelset.

The booster says for any row, with any labels revealed, how probable each open label is. All
readings walk in the same way: of the open labels the surest, whose log-odds are farthest from 0,
comes next; its value is given (likelihood), drawn (samples), or both are followed (search). Which
label that is depends only on what is revealed, so every path through the binary tree of values
leads to one labelset, and the product of the probabilities along it is P(y | x): they sum to one
over all labelsets.

Rows and their copies advance together, a label each per step. The matrix that the booster reads,
[margins | revealed labels], is changed in place. Samples that have had the same values so far are
one state with a number of them, and a labelset that cannot become the most probable any more is not
followed: most rows have a few states only.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.chain.propagation import NO_LABEL

type Floats = NDArray[np.float64]
type Margins = NDArray[np.float32]
type LabelNumbers = NDArray[np.intp]


class LabelStates:
    """Rows of which some labels are revealed.

    Parameters
    ----------
    booster : xgboost.Booster or None
        What was trained on [margins | revealed labels]; None says that labels do not depend.
    margins : float32 array of shape (n_states, n_labels)
        Margins of the first classifier.
    revealed : float32 array of shape (n_states, n_labels)
        0, 1, or NaN where a label is open.
    """

    def __init__(self, booster: xgb.Booster | None, margins: Margins, revealed: Margins) -> None:
        self._booster = booster
        self._margins = margins
        self._joined = np.concatenate((margins, revealed), axis=1, dtype=np.float32)

    def __len__(self) -> int:
        """Count the states."""
        return len(self._margins)

    @property
    def margins(self) -> Margins:
        """Margins of the first classifier, (n_states, n_labels). Not a copy."""
        return self._margins

    @property
    def revealed(self) -> Margins:
        """Revealed labels, (n_states, n_labels), NaN where a label is open. Not a copy."""
        return self._joined[:, self._margins.shape[1] :]

    def log_odds(self) -> Margins:
        """Predict all labels, given those that are revealed.

        Returns
        -------
        float32 array of shape (n_states, n_labels)
            Of revealed labels it says nothing.
        """
        if self._booster is None:
            return self._margins
        found: Margins = self._booster.inplace_predict(
            self._joined,
            base_margin=self._margins,
            predict_type="margin",
            validate_features=False,
            strict_shape=True,
        )
        return found

    def surest(
        self, log_odds: Margins, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[LabelNumbers, Floats]:
        """Find the open label of each state that is farthest from even odds.

        Parameters
        ----------
        log_odds : float32 array of shape (n_states, n_labels)
            As predicted.
        allowed : bool array of shape (n_states, n_labels), optional
            Labels to choose from.

        Returns
        -------
        label : int array of shape (n_states,)
            The first of equally sure ones, `NO_LABEL` where no label is open.
        z : float64 array of shape (n_states,)
            Its log-odds.
        """
        candidates = np.isnan(self.revealed)
        if allowed is not None:
            candidates &= allowed
        label = np.where(candidates, np.abs(log_odds), -1).argmax(axis=1)
        every = np.arange(len(label))
        z = log_odds[every, label].astype(np.float64)
        return np.where(candidates[every, label], label, NO_LABEL), z

    def reveal(self, label: LabelNumbers, value: NDArray[Any]) -> None:
        """Reveal a label of each state.

        Parameters
        ----------
        label : int array of shape (n_states,)
            Which; nothing happens where it is `NO_LABEL`.
        value : array of shape (n_states,)
            0 or 1.
        """
        states = np.flatnonzero(label != NO_LABEL)
        self.revealed[states, label[states]] = value[states]

    def take(self, states: NDArray[np.intp]) -> Self:
        """Copy states.

        Parameters
        ----------
        states : int array of shape (n,)
            Which, each as often as wanted.

        Returns
        -------
        LabelStates
        """
        return type(self)(self._booster, self._margins[states], self.revealed[states])


class Decision(NamedTuple):
    """A step on the way to given labels.

    Attributes
    ----------
    label : int array of shape (n_states,)
        What was revealed, `NO_LABEL` where nothing was left.
    proba : float64 array of shape (n_states,)
        Its probability to be 1, given what had been revealed.
    log_prob : float64 array of shape (n_states,)
        Logarithm of the probability of the value that it has; 0 where nothing was left.
    """

    label: LabelNumbers
    proba: Floats
    log_prob: Floats


def walk_to(states: LabelStates, Y: NDArray[np.floating]) -> Iterator[Decision]:
    """Reveal given labels in the chain's order.

    Parameters
    ----------
    states : LabelStates
        Where to begin. They are changed.
    Y : float array of shape (n_states, n_labels)
        0, 1, or NaN for labels that are passed over, as if the chain had fewer.

    Yields
    ------
    Decision
        Until nothing is left in any state.
    """
    allowed = ~np.isnan(Y)
    every = np.arange(len(Y))
    while allowed.any():
        label, z = states.surest(states.log_odds(), allowed)
        if (label == NO_LABEL).all():
            return
        value = Y[every, label]
        log_prob = np.where(label == NO_LABEL, 0, _log_proba(z, value))
        yield Decision(label, expit(z), log_prob)
        states.reveal(label, value)


class Labelsets(NamedTuple):
    """Labelsets of rows.

    Attributes
    ----------
    row : int array of shape (n,)
        The rows, in order.
    labels : int8 array of shape (n, n_labels)
        Zeros and ones; of a row the most probable first.
    log_prob : float64 array of shape (n,)
        Logarithms of their probabilities.
    """

    row: NDArray[np.intp]
    labels: NDArray[np.int8]
    log_prob: Floats

    def first(self) -> NDArray[np.int8]:
        """Take the most probable one of each row, (n_rows, n_labels)."""
        return self.labels[np.unique(self.row, return_index=True)[1]]


def probable_labelsets(states: LabelStates, n_beams: int, slack: float = 0.0) -> Labelsets:
    """Search labelsets of high probability (beam search).

    A partial labelset loses probability with every further label, so one that is less probable
    than the greedy labelset, which takes the more probable value each time, is not followed. As
    long as no row has more than `n_beams` others, what is found first is the most probable
    labelset for certain.

    Parameters
    ----------
    states : LabelStates
        Rows; labels that are revealed stay.
    n_beams : int
        How many partial labelsets of a row are followed at most.
    slack : float, default=0.0
        How much lower than that of the greedy labelset the logarithm of a probability may be.

    Returns
    -------
    Labelsets
        At least one for each row.
    """
    n_rows = len(states)
    greedy = states.take(np.arange(n_rows))
    least = np.zeros(n_rows)
    while True:
        label, z = greedy.surest(greedy.log_odds())
        if (label == NO_LABEL).all():
            break
        least += np.where(label == NO_LABEL, 0, _log_proba(z, z >= 0))
        greedy.reveal(label, z >= 0)

    beams = states.take(np.arange(n_rows))
    row, log_prob = np.arange(n_rows), np.zeros(n_rows)
    while True:
        label, z = beams.surest(beams.log_odds())
        open_ = np.flatnonzero(label != NO_LABEL)
        if not len(open_):
            break
        # Each with the value 1 (where nothing is open: as it is), then some with the value 0.
        state = np.concatenate((np.arange(len(beams)), open_))
        value = np.arange(len(state)) < len(beams)
        label, z = label[state], z[state]
        log_prob = log_prob[state] + np.where(label == NO_LABEL, 0, _log_proba(z, value))
        row = row[state]
        kept = _best_of_rows(row, log_prob, n_beams, least - slack)
        beams = beams.take(state[kept])
        beams.reveal(label[kept], value[kept])
        row, log_prob = row[kept], log_prob[kept]

    lost = np.setdiff1d(np.arange(n_rows), row)
    row = np.concatenate((row, lost))
    log_prob = np.concatenate((log_prob, least[lost]))
    labels = np.concatenate((beams.revealed, greedy.revealed[lost])).astype(np.int8)
    order = np.lexsort((-log_prob, row))
    return Labelsets(row[order], labels[order], log_prob[order])


def draw_labelsets(states: LabelStates, n_draws: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw labelsets.

    Parameters
    ----------
    states : LabelStates
        Rows; labels that are revealed stay.
    n_draws : int
        How many for each.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    int8 array of shape (n_states, n_draws, n_labels)
        Independent draws.
    """
    n_rows = len(states)
    states = states.take(np.arange(n_rows))
    row, count = np.arange(n_rows), np.full(n_rows, n_draws)
    while True:
        label, z = states.surest(states.log_odds())
        if (label == NO_LABEL).all():
            break
        with_it = np.where(label == NO_LABEL, count, rng.binomial(count, expit(z)))
        count = np.concatenate((with_it, count - with_it))
        state = np.flatnonzero(count)
        value = state < len(states)
        count, state = count[state], state % len(states)
        states = states.take(state)
        states.reveal(label[state], value)
        row = row[state]
    row, drawn = np.repeat(row, count), np.repeat(states.revealed.astype(np.int8), count, axis=0)
    # The draws of a row in random order.
    order = np.lexsort((rng.random(len(row)), row))
    return drawn[order].reshape(n_rows, n_draws, -1)


def _best_of_rows(
    row: NDArray[np.intp], log_prob: Floats, n_most: int, least: Floats
) -> NDArray[np.intp]:
    """Choose the most probable states of each row, in the order of rows."""
    likely = np.flatnonzero(log_prob >= least[row])
    order = likely[np.lexsort((-log_prob[likely], row[likely]))]
    in_order = row[order]
    rank = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    return order[rank < n_most]


def _log_proba(z: Floats, value: NDArray[Any]) -> Floats:
    """Compute the logarithm of the probability of 1 (where `value` is 1) or 0 by log-odds."""
    return -np.logaddexp(0, np.where(value == 1, -z, z))
