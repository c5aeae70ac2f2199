"""Predicting with an order-free chain: likelihood, samples, the most probable labelset.

The booster predicts for any row, with any labels revealed, the probability of each open label. All
predictions proceed in the same way: the most certain open label, whose log-odds are farthest from
0, comes next; its value is given (likelihood), drawn (samples), or both are followed (search).
Which label that is depends only on the revealed ones, so every path through the binary tree of
values leads to one labelset, and the product of the probabilities along it is P(y | x): they sum to
one over all labelsets.

Rows and their copies advance together, a label each per step. The booster's matrix,
[margins | revealed labels], is changed in place. Samples with the same values so far are one
state with a count, and a labelset that can no longer become the most probable is dropped: most rows
have only a few states.

The most probable labelset is the best for subset accuracy if the joint distribution is right. It
never quite is, and a labelset that occurs in training is more credible. So candidates U, labelsets
that are probable by the chain and known ones that are probable by independent labels, are compared
by a :class:`LabelsetScore`,

    a * log P_chain(U | x) + (1 - a) * sum over j of log P(y_j = U_j | x) + c * log(1 + n_U),

n_U being how often U occurs in training. The weights a and c are those with the highest subset
accuracy on rows that the models have not seen.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import Labels
from xdcc.base.libraries import special, xgb
from xdcc.base.stored import stored
from xdcc.chain.propagation import NO_LABEL
from xdcc.decision.cuts import Floats
from xdcc.decision.labelsets import KnownLabelsets

type Margins = NDArray[np.float32]
type LabelNumbers = NDArray[np.intp]


class Links(Protocol):
    """Predicts labels from margins and revealed labels, as a booster does."""

    def inplace_predict(self, data: Any, **kwargs: Any) -> Any:
        """Predict for [margins | revealed labels]."""


class LabelStates:
    """Rows of which some labels are revealed.

    Parameters
    ----------
    booster : Links or None
        Booster trained on [margins | revealed labels]; None if labels do not depend on each other.
    margins : float32 array of shape (n_states, n_labels)
        Margins of the first classifier.
    revealed : float32 array of shape (n_states, n_labels)
        0, 1, or NaN where a label is open.
    """

    def __init__(self, booster: Links | None, margins: Margins, revealed: Margins) -> None:
        self._booster = booster
        self._margins = margins
        self._joined = np.concatenate((margins, revealed), axis=1, dtype=np.float32)

    @classmethod
    def begin(cls, booster: Links | None, margins: Margins) -> Self:
        """Make states of rows of which no label is revealed."""
        return cls(booster, margins, np.full_like(margins, np.nan))

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
            Meaningless for revealed labels.
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

    def most_certain(
        self, log_odds: Margins, allowed: NDArray[np.bool_] | None = None
    ) -> tuple[LabelNumbers, Floats]:
        """Find the open label of each state that is farthest from even odds, and its log-odds.

        Only labels that are `allowed` count, if that is given. The label is the first of equally
        certain ones, and `NO_LABEL` where no label is open.
        """
        candidates = np.isnan(self.revealed)
        if allowed is not None:
            candidates &= allowed
        label = np.where(candidates, np.abs(log_odds), -1).argmax(axis=1)
        every = np.arange(len(label))
        z = log_odds[every, label].astype(np.float64)
        return np.where(candidates[every, label], label, NO_LABEL), z

    def reveal(self, label: LabelNumbers, value: NDArray[Any]) -> None:
        """Reveal a label of each state, with a value 0 or 1; none where it is `NO_LABEL`."""
        states = np.flatnonzero(label != NO_LABEL)
        self.revealed[states, label[states]] = value[states]

    def take(self, states: NDArray[np.intp]) -> Self:
        """Copy states, each as often as its number is given."""
        return type(self)(self._booster, self._margins[states], self.revealed[states])


class Decision(NamedTuple):
    """A step on the way to given labels.

    Attributes
    ----------
    label : int array of shape (n_states,)
        Label that was revealed, `NO_LABEL` where none was left.
    proba : float64 array of shape (n_states,)
        Its probability to be 1, given what had been revealed.
    log_prob : float64 array of shape (n_states,)
        Logarithm of the probability of the value that it has; 0 where nothing was left.
    """

    label: LabelNumbers
    proba: Floats
    log_prob: Floats


def walk_to(states: LabelStates, Y: NDArray[np.floating]) -> Iterator[Decision]:
    """Reveal given labels in the chain's order, and yield decisions until nothing is left anywhere.

    `states` are changed. Y is `(n_states, n_labels)`; NaN is a label that is skipped, as if the
    chain had fewer.
    """
    allowed = ~np.isnan(Y)
    every = np.arange(len(Y))
    while allowed.any():
        label, z = states.most_certain(states.log_odds(), allowed)
        if (label == NO_LABEL).all():
            return
        value = Y[every, label]
        log_prob = np.where(label == NO_LABEL, 0, _log_proba(z, value))
        yield Decision(label, special.expit(z), log_prob)
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
        label, z = greedy.most_certain(greedy.log_odds())
        if (label == NO_LABEL).all():
            break
        least += np.where(label == NO_LABEL, 0, _log_proba(z, z >= 0))
        greedy.reveal(label, z >= 0)

    beams = states.take(np.arange(n_rows))
    row, log_prob = np.arange(n_rows), np.zeros(n_rows)
    while True:
        label, z = beams.most_certain(beams.log_odds())
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
    """Draw labelsets independently, `(n_states, n_draws, n_labels)`; revealed labels stay."""
    n_rows = len(states)
    states = states.take(np.arange(n_rows))
    row, count = np.arange(n_rows), np.full(n_rows, n_draws)
    while True:
        label, z = states.most_certain(states.log_odds())
        if (label == NO_LABEL).all():
            break
        with_it = np.where(label == NO_LABEL, count, rng.binomial(count, special.expit(z)))
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


_JOINT = (1.0, 0.75, 0.5, 0.25, 0.0)
_PRIOR = (0.0, 0.25, 0.5, 0.75, 1.0)
N_KNOWN = 10
"""Known labelsets that are candidates for a row."""
PRIOR_OF_CANDIDATES = 0.5
BLOCK_ENTRIES = 2**20
"""Rows times labels times beams of a row that are followed at a time."""
SLACK = np.log(100)
"""Labelsets a hundred times less probable than the greedy one are not candidates."""


class Candidates(NamedTuple):
    """Labelsets that are compared, with the parts of their scores.

    Attributes
    ----------
    row : int array of shape (n,)
        The rows, in order; at least one candidate for each.
    labels : int8 array of shape (n, n_labels)
        Zeros and ones.
    parts : float64 array of shape (n, 3)
        log P_chain, log P of independent labels, log(1 + n_U).
    """

    row: NDArray[np.intp]
    labels: NDArray[np.int8]
    parts: Floats

    @classmethod
    def find(
        cls,
        states: Callable[[NDArray[np.intp]], LabelStates],
        margins: Margins,
        known: KnownLabelsets,
        n_beams: int,
    ) -> Self:
        """Search candidates among the known labelsets and by a beam search.

        `states` makes states of some of the rows, by their numbers. `margins` are those of the
        first classifier, `(n_rows, n_labels)`.
        """
        every = np.arange(len(margins))
        found = probable_labelsets(states(every), n_beams, SLACK)
        row, labels = _likely_known(known, margins)
        begin = states(every)
        given = begin.revealed[row]
        agrees = (np.isnan(given) | (given == labels)).all(axis=1)
        row, labels = row[agrees], labels[agrees]
        log_prob = _log_prob_of(begin, row, labels)

        row = np.concatenate((found.row, row))
        labels = np.concatenate((found.labels, labels))
        signed = np.where(labels == 1, -1, 1) * margins[row].astype(np.float64)
        count = {key.tobytes(): n for key, n in zip(known.labelsets, known.counts, strict=True)}
        counts = np.array([float(count.get(each.tobytes(), 0)) for each in labels])
        parts = np.column_stack(
            (
                np.concatenate((found.log_prob, log_prob)),
                -np.logaddexp(0, signed).sum(axis=1),
                np.log1p(counts),
            )
        )
        order = np.argsort(row, kind="stable")
        return cls(row[order], labels[order], parts[order])

    def best(self, joint: float, prior: float) -> NDArray[np.int8]:
        """Take each row's candidate of the highest score, of equals the first."""
        score = self.parts @ (joint, 1 - joint, prior)
        order = np.lexsort((-score, self.row))
        first = np.unique(self.row[order], return_index=True)[1]
        return self.labels[order[first]]


@stored
class LabelsetScore(NamedTuple):
    """The score with its weights, ready to predict: the one rule for labelsets of a chain.

    Attributes
    ----------
    joint, prior : float
        The weights a and c.
    known : KnownLabelsets
        Labelsets of the training data.
    """

    joint: float
    prior: float
    known: KnownLabelsets

    def best(self, states: LabelStates, n_beams: int) -> NDArray[np.int8]:
        """Predict the labelset of the highest score for each row, (n_rows, n_labels)."""
        found = Candidates.find(states.take, states.margins, self.known, n_beams)
        return found.best(self.joint, self.prior)

    @classmethod
    def choose(
        cls,
        held_out: Iterable[tuple[Candidates, Labels, NDArray[np.floating]]],
        known: KnownLabelsets,
    ) -> Self:
        """Choose weights, of equally good ones the nearest to the most probable labelset alone.

        `held_out` are candidates of rows that no model and no count has seen, their labels, and
        weights.
        """
        right = np.zeros((len(_JOINT), len(_PRIOR)))
        for candidates, truth, weight in held_out:
            for position in np.ndindex(right.shape):
                labels = candidates.best(_JOINT[position[0]], _PRIOR[position[1]])
                right[position] += weight @ (labels == truth).all(axis=1)
        a, c = np.unravel_index(right.argmax(), right.shape)
        return cls(_JOINT[a], _PRIOR[c], known)


def held_out_candidates(
    boosters: "Sequence[xgb.Booster | None]",
    data: FitData,
    folds: NDArray[np.intp],
    *,
    n_beams: int,
    wanted: NDArray[np.bool_],
) -> "Iterator[tuple[NDArray[np.intp], xgb.Booster | None, Candidates]]":
    """Find candidates for rows that were left out in training, fold by fold.

    Parameters
    ----------
    boosters : sequence of xgboost.Booster or None
        Trained without the first fold, the second, and so on.
    data : FitData
        X are margins of the first classifier, float32, out of fold.
    folds : int array of shape (n_samples,)
        Fold of each row.
    n_beams : int
        As in :meth:`Candidates.find`.
    wanted : bool array of shape (n_samples,)
        Whether a row is wanted.

    Yields
    ------
    rows : int array
        Some of the rows of a fold.
    booster : xgboost.Booster or None
        Trained without the fold.
    candidates : Candidates
        Candidates for these rows; the known labelsets come from the other folds. There are none if
        the other folds have no known labelset.
    """
    is_whole = data.whole
    for fold, booster in enumerate(boosters):
        others, places = is_whole & (folds != fold), np.flatnonzero(wanted & (folds == fold))
        if not others.any():
            continue
        known = KnownLabelsets.of_data(data.take(others))
        for block in row_blocks((len(places), data.Y.shape[1] * n_beams), BLOCK_ENTRIES):
            rows = places[block]
            states = LabelStates.begin(booster, data.X[rows])
            yield rows, booster, Candidates.find(states.take, states.margins, known, n_beams)


def _log_prob_of(states: LabelStates, state: NDArray[np.intp], labels: NDArray[np.int8]) -> Floats:
    """Compute the logarithms of the probabilities of labelsets, given the state of each.

    Labelsets share states as long as the chain reveals the same labels.
    """
    every, log_prob = np.arange(len(state)), np.zeros(len(state))
    while True:
        label, z = states.most_certain(states.log_odds())
        if (label == NO_LABEL).all():
            return log_prob
        value = labels[every, label[state]].astype(np.intp)
        open_ = label[state] != NO_LABEL
        log_prob += np.where(open_, _log_proba(z[state], value), 0)
        reached, state = np.unique(2 * state + value, return_inverse=True)
        states = states.take(reached // 2)
        states.reveal(label[reached // 2], reached % 2)


def _likely_known(
    known: KnownLabelsets, margins: Margins
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Find the known labelsets of each row that are likeliest if labels are independent."""
    n_most = min(N_KNOWN, len(known.labelsets))
    wide = margins.astype(np.float64)
    return known.posterior_of(wide).likeliest(wide, n_most, PRIOR_OF_CANDIDATES)
