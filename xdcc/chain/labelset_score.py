"""``LabelsetScore``: one score of joint, independent labels and frequency in training.

The most probable labelset is the best for subset accuracy if the joint distribution is right. It
never is quite, and a labelset that occurs in training deserves trust. So candidates U, labelsets
that the chain finds probable and known ones that independent labels do, are compared by

    a * log P_chain(U | x) + (1 - a) * sum over j of log P(y_j = U_j | x) + c * log(1 + n_U),

n_U being how often U occurs in training. The weights a and c are those with the highest subset
accuracy on rows that the models have not seen.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import Labels
from xdcc.chain.order_free_inference import LabelStates, Margins, probable_labelsets, walk_to
from xdcc.decision.cuts import Floats
from xdcc.decision.labelsets import KnownLabelsets

_JOINT = (1.0, 0.75, 0.5, 0.25, 0.0)
_PRIOR = (0.0, 0.25, 0.5, 0.75, 1.0)
_N_KNOWN = 10
"""Known labelsets that are candidates for a row."""
_PRIOR_OF_CANDIDATES = 0.5
BLOCK_ENTRIES = 2**20
"""Rows times labels times beams of a row that are followed at a time."""
_SLACK = np.log(100)
"""Labelsets a hundred times less probable than the greedy one are no candidates."""


class Candidates(NamedTuple):
    """Labelsets that are compared, with what is known of each.

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
        """Search candidates.

        Parameters
        ----------
        states : callable
            Makes states of some of the rows, by their numbers.
        margins : float32 array of shape (n_rows, n_labels)
            Of the first classifier.
        known : KnownLabelsets
            Of training.
        n_beams : int
            As in :func:`~xdcc.chain.order_free_inference.probable_labelsets`.

        Returns
        -------
        Candidates
        """
        every = np.arange(len(margins))
        found = probable_labelsets(states(every), n_beams, _SLACK)
        row, labels = _likely_known(known, margins)
        open_ = states(row)
        agrees = (np.isnan(open_.revealed) | (open_.revealed == labels)).all(axis=1)
        row, labels = row[agrees], labels[agrees]
        log_prob = np.zeros(len(row))
        for step in walk_to(states(row), labels.astype(np.float32)):
            log_prob += step.log_prob

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
        """Take the candidate of each row with the highest score; of equal ones the first.

        Parameters
        ----------
        joint, prior : float
            The weights a and c.

        Returns
        -------
        int8 array of shape (n_rows, n_labels)
        """
        score = self.parts @ (joint, 1 - joint, prior)
        order = np.lexsort((-score, self.row))
        first = np.unique(self.row[order], return_index=True)[1]
        return self.labels[order[first]]


class LabelsetScore(NamedTuple):
    """The score, ready to predict.

    Attributes
    ----------
    joint, prior : float
        The weights a and c.
    known : KnownLabelsets
        Of training.
    """

    joint: float
    prior: float
    known: KnownLabelsets

    @classmethod
    def choose(
        cls,
        held_out: Iterable[tuple[Candidates, Labels, NDArray[np.floating]]],
        known: KnownLabelsets,
    ) -> Self:
        """Choose the weights.

        Parameters
        ----------
        held_out : iterable of tuples
            Candidates of rows that no model and no count has seen, their labels, and weights.
        known : KnownLabelsets
            Of all rows.

        Returns
        -------
        LabelsetScore
            Of equally good weights those nearest to the most probable labelset alone.
        """
        right = np.zeros((len(_JOINT), len(_PRIOR)))
        for candidates, truth, weight in held_out:
            for position in np.ndindex(right.shape):
                labels = candidates.best(_JOINT[position[0]], _PRIOR[position[1]])
                right[position] += weight @ (labels == truth).all(axis=1)
        a, c = np.unravel_index(right.argmax(), right.shape)
        return cls(_JOINT[a], _PRIOR[c], known)


def whole_rows(Y: Labels, weight: NDArray[np.floating] | None) -> NDArray[np.bool_]:
    """Tell which rows count as labelsets: every label is known, and the weight is positive.

    Parameters
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float array of shape (n_samples,) or None
        Weights of the rows.

    Returns
    -------
    bool array of shape (n_samples,)

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, np.nan], [0, 0]], dtype=np.float32)
    >>> whole_rows(Y, np.array([1.0, 1.0, 0.0]))
    array([ True, False, False])
    """
    is_whole = ~np.isnan(Y).any(axis=1)
    return is_whole if weight is None else is_whole & (weight > 0)


def held_out_candidates(
    boosters: Sequence[xgb.Booster | None],
    margins: Margins,
    Y: Labels,
    weight: NDArray[np.floating] | None,
    folds: NDArray[np.intp],
    *,
    n_beams: int,
    wanted: NDArray[np.bool_],
) -> Iterator[tuple[NDArray[np.intp], xgb.Booster | None, Candidates]]:
    """Find candidates for rows that were left out in training, fold by fold.

    Parameters
    ----------
    boosters : sequence of xgboost.Booster or None
        Trained without the first fold, the second, and so on.
    margins : float32 array of shape (n_samples, n_labels)
        Of the first classifier, out of fold.
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown.
    weight : float array of shape (n_samples,) or None
        Weights of the rows.
    folds : int array of shape (n_samples,)
        Fold of each row.
    n_beams : int
        As in :meth:`Candidates.find`.
    wanted : bool array of shape (n_samples,)
        For which rows.

    Yields
    ------
    rows : int array
        Some of the rows of a fold.
    booster : xgboost.Booster or None
        Trained without the fold.
    candidates : Candidates
        Of these rows, with the known labelsets of the other folds. A fold without which no known
        labelset is left has none.
    """
    is_whole = whole_rows(Y, weight)
    for fold, booster in enumerate(boosters):
        others, places = is_whole & (folds != fold), np.flatnonzero(wanted & (folds == fold))
        if not others.any():
            continue
        known = KnownLabelsets.of(Y[others], None if weight is None else weight[others])
        for block in row_blocks((len(places), Y.shape[1] * n_beams), BLOCK_ENTRIES):
            rows = places[block]
            states = LabelStates(booster, margins[rows], np.full_like(Y[rows], np.nan))
            yield rows, booster, Candidates.find(states.take, margins[rows], known, n_beams)


def _likely_known(
    known: KnownLabelsets, margins: Margins
) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """Find the known labelsets of each row that are likeliest if labels are independent."""
    n_most = min(_N_KNOWN, len(known.labelsets))
    rows, labels = [], []
    for block in known.posterior_blocks(expit(margins.astype(np.float64))):
        likely, labelsets = block.likeliest(n_most, _PRIOR_OF_CANDIDATES)
        rows.append(block.rows.start + likely)
        labels.append(labelsets)
    return np.concatenate(rows), np.concatenate(labels)
