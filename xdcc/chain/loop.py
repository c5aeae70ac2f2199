"""Running a chain round by round: the state of the rows, and prediction.

:class:`ChainState` is the state of a set of rows; its :meth:`~ChainState.advance` takes the
predictions of a round and propagates labels. Training (``training.py``) and prediction
(:class:`ChainRun`) both use it, so that a label is propagated in the same way in both. Section
3.2 of the XDCC paper.

:class:`LabelFeatures` is the matrix [X | P] that the boosters of a trained chain see. P has a
column for each label: its propagated probability, missing while the label is unknown. The matrix
is laid out once, with a place for everything that the rounds will propagate. Dense data end in the
columns of P. In sparse data each row of X is followed by as many free slots as its labels may
need; a slot that holds NaN is missing to the boosters.

The state gives two predictions. The *standard* prediction of a chain knows only what was
propagated and finds few positive labels in a short chain. The *cumulated* one (section 3.3 and
equation 9 of the paper) also keeps what rounds predicted but could not propagate: for a label that
is still open it takes the largest probability over the rounds so far, which :func:`accumulate`
keeps, round by round.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from xdcc.base.documentation import documented
from xdcc.base.input_form import Features
from xdcc.base.libraries import sparse, xgb
from xdcc.chain.propagation import NO_LABEL, at_end, propagate
from xdcc.prediction.propagation_rule import Cumulation, Prediction, PropagationRule


class ChainState:
    """The state of some rows in a chain. Each round changes it in place.

    Parameters
    ----------
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, all NaN. Kept, not copied.

    Attributes
    ----------
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.
    running : float32 array of shape (n_samples, n_labels)
        Largest probability of each label up to the round that propagated it.
    labels : int array of shape (n_samples, labels_per_round)
        Labels that the last round propagated, in their order, -1 where none.
    ended : bool array of shape (n_samples,)
        Rows that the end label has ended.

    Examples
    --------
    >>> state = ChainState(np.full((1, 2), np.nan, dtype=np.float32))
    >>> state.advance(np.array([[0.75, 0.25]], dtype=np.float32), PropagationRule())
    >>> state.P, state.labels
    (array([[0.75,  nan]], dtype=float32), array([[0]]))
    """

    labels: NDArray[np.intp]

    def __init__(self, P: NDArray[np.float32]) -> None:
        self.P = P
        self.running = np.zeros_like(P)
        self.ended = np.zeros(len(P), dtype=bool)

    def advance(self, Y_proba: NDArray[np.float32], rule: PropagationRule) -> None:
        """Take the probabilities of a round, `(n_samples, n_labels)`, and propagate by the rule.

        A further column is the end label. Rows that have ended are not read.
        """
        n_labels = self.P.shape[1]
        accumulate(self.running, Y_proba[:, :n_labels], np.isnan(self.P) & ~self.ended[:, None])
        if Y_proba.shape[1] > n_labels:
            self.ended |= at_end(self.P, Y_proba)
        self.labels = propagate(self.P, Y_proba[:, :n_labels], rule, where=~self.ended)

    def is_over(self) -> bool:
        """Return whether no row has a label left to propagate."""
        return not (np.isnan(self.P).any(axis=1) & ~self.ended).any()


@documented
class ChainRun:
    """Rows that run through the rounds of a trained chain.

    Parameters
    ----------
    {features}
    n_labels : int
        Number of labels.
    n_rounds : int
        Largest number of rounds.
    rule : PropagationRule
        The rule used in training.
    end_label : bool
        Whether the boosters have an end label.

    Attributes
    ----------
    state : ChainState
        State of the rows.
    """

    def __init__(
        self, X: Features, n_labels: int, n_rounds: int, rule: PropagationRule, end_label: bool
    ) -> None:
        n_slots = min(n_rounds * rule.labels_per_round, n_labels)
        self._features = LabelFeatures(X, n_labels + end_label, n_slots)
        self._rule = rule
        self.state = ChainState(self._features.P[:, :n_labels])

    def advance(self, boosters: "Sequence[xgb.Booster]") -> ChainState:
        """Run the next round by the mean of its boosters; return `state`."""
        state = self.state
        going = np.flatnonzero(~state.ended)
        Y_proba = np.zeros(self._features.P.shape, dtype=np.float32)
        if len(going):
            joined = self._features.joined
            if len(going) < len(Y_proba):
                joined = joined[going]
            Y_proba[going] = mean_proba(boosters, joined)
        state.advance(Y_proba, self._rule)
        self._features.take_in(state.labels)
        return state


def mean_proba(boosters: "Sequence[xgb.Booster]", joined: Features) -> NDArray[np.float32]:
    """Average the probabilities of boosters, `(n_samples, n_outputs)`, for [X | label features]."""
    total = np.zeros((joined.shape[0], 1), dtype=np.float32)
    for booster in boosters:
        total = total + booster.inplace_predict(joined, validate_features=False, strict_shape=True)
    return total / np.float32(len(boosters))


def run_chain(run: ChainRun, rounds: "Sequence[Sequence[xgb.Booster]]") -> Iterator[ChainState]:
    """Predict with the boosters of each round; yield the state, which the next round changes."""
    for boosters in rounds:
        yield run.advance(boosters)


class LabelFeatures:
    """X, augmented by the label features.

    Parameters
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Not changed.
    n_columns : int
        Number of label features.
    n_slots : int
        How many labels will be propagated in a row at most.

    Attributes
    ----------
    P : float32 array of shape (n_samples, n_columns)
        Propagated probabilities, NaN where there is none. After changes call `take_in`.
    joined : float32 array or CSR matrix of shape (n_samples, n_features + n_columns)
        [X | P] for ``xgboost.Booster.inplace_predict``. The CSR matrix holds the free slots as
        entries, and a row's labels in the order in which they were propagated.

    Examples
    --------
    >>> features = LabelFeatures(np.array([[0.5], [1.5]], np.float32), n_columns=2, n_slots=1)
    >>> features.P[1, 0] = 0.25
    >>> features.take_in(np.array([[-1], [0]]))
    >>> features.joined
    array([[0.5 ,  nan,  nan],
           [1.5 , 0.25,  nan]], dtype=float32)
    """

    P: NDArray[np.float32]
    joined: Features

    def __init__(self, X: Features, n_columns: int, n_slots: int) -> None:
        n_samples, self._n_features = X.shape
        self._n_slots = n_slots
        self._n_used = 0
        shape = (n_samples, self._n_features + n_columns)
        if sparse.issparse(X):
            self.joined = self._with_slots(X, shape)
            self.P = np.full((n_samples, n_columns), np.nan, dtype=np.float32)
        else:
            self.joined = np.empty(shape, dtype=np.float32)
            self.joined[:, : self._n_features] = X
            self.P = self.joined[:, self._n_features :]
            self.P.fill(np.nan)

    def take_in(self, labels: NDArray[np.intp]) -> None:
        """Copy the columns that a round wrote into `P` to the joined matrix.

        Parameters
        ----------
        labels : int array of shape (n_samples, labels_per_round)
            The labels that were newly propagated, `NO_LABEL` where none was. Where a row has
            none at all, the value of an older one may have changed.
        """
        if sparse.issparse(self.joined):
            self._fill_slots(self.joined, labels)
        self._n_used += labels.shape[1]

    def _with_slots(self, X: "sparse.csr_matrix", shape: tuple[int, int]) -> "sparse.csr_matrix":
        n_rows = X.shape[0]
        free = self._n_slots * np.arange(n_rows + 1)
        of_X = np.arange(X.nnz) + np.repeat(free[:-1], np.diff(X.indptr))
        indptr = X.indptr + free
        indices = np.full(indptr[-1], self._n_features)
        data = np.full(indptr[-1], np.nan, dtype=np.float32)
        indices[of_X] = X.indices[: X.nnz]
        data[of_X] = X.data[: X.nnz]
        return sparse.csr_matrix((data, indices, indptr), shape=shape)

    def _fill_slots(self, joined: "sparse.csr_matrix", labels: NDArray[np.intp]) -> None:
        indices, data = joined.indices, joined.data
        first_slot = joined.indptr[1:] - self._n_slots
        row, position = np.nonzero(labels != NO_LABEL)
        new = labels[row, position]
        slot = first_slot[row] + self._n_used + position
        indices[slot] = self._n_features + new
        data[slot] = self.P[row, new]

        row = np.flatnonzero((labels == NO_LABEL).all(axis=1))
        slots = first_slot[row, np.newaxis] + np.arange(self._n_used)
        old, position = np.nonzero(~np.isnan(data[slots]))
        slot = slots[old, position]
        data[slot] = self.P[row[old], indices[slot] - self._n_features]


def accumulate(
    running: NDArray[np.floating],
    Y_proba: NDArray[np.floating],
    was_open: NDArray[np.bool_],
) -> None:
    """Take a round's predictions into the running maximum of the labels that were open.

    All have the shape `(n_samples, n_labels)`. `running`, zeros before the first round, is changed.

    Examples
    --------
    >>> running = np.array([[0.6, 0.3]])
    >>> accumulate(running, np.array([[0.2, 0.8]]), was_open=np.array([[True, True]]))
    >>> running
    array([[0.6, 0.8]])
    """
    np.maximum(running, Y_proba, out=running, where=was_open)


def standard_proba(P: NDArray[np.floating]) -> NDArray[np.floating]:
    """Compute the standard prediction: the propagated probability, 0 where P has NaN for none.

    Examples
    --------
    >>> standard_proba(np.array([[0.9, np.nan]]))
    array([[0.9, 0. ]])
    """
    return np.where(np.isnan(P), 0, P)


def cumulated_proba(
    running: NDArray[np.floating], P: NDArray[np.floating], cumulation: Cumulation
) -> NDArray[np.floating]:
    """Compute the cumulated prediction.

    Parameters
    ----------
    running : float array of shape (n_samples, n_labels)
        The state that :func:`accumulate` keeps.
    P : float array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.
    cumulation : {"equation9", "authors"}
        ``"equation9"``: the propagated probability; for a label that is open, the maximum over
        the rounds. ``"authors"``: as the authors' code does, the maximum over the rounds up to
        and including the one that propagated the label, whatever was propagated; so a label
        propagated as negative is positive if an earlier round had more than 0.5.

    Returns
    -------
    float array of shape (n_samples, n_labels)
        Probabilities; a new array.

    Examples
    --------
    >>> running, P = np.array([[0.6, 0.3]]), np.array([[0.1, np.nan]])
    >>> cumulated_proba(running, P, "equation9")
    array([[0.1, 0.3]])
    >>> cumulated_proba(running, P, "authors")
    array([[0.6, 0.3]])
    """
    if cumulation == "authors":
        return running.copy()
    return np.where(np.isnan(P), running, P)


@documented
def labels_from_proba(
    Y_proba: NDArray[np.floating], prediction: Prediction, cumulation: Cumulation
) -> NDArray[np.int64]:
    """Decide which labels are positive.

    Parameters
    ----------
    Y_proba : float array of shape (n_samples, n_labels)
        A chain's prediction.
    prediction : {"cumulated", "standard"}
        Which one it is.
    cumulation : {"equation9", "authors"}
        How it was cumulated, if it was. The authors' code rounds, so that exactly 0.5 is
        negative; everywhere else it is positive.

    {returns_labels}

    Examples
    --------
    >>> labels_from_proba(np.array([[0.5, 0.3]]), "cumulated", "equation9")
    array([[1, 0]])
    >>> labels_from_proba(np.array([[0.5, 0.3]]), "cumulated", "authors")
    array([[0, 0]])
    """
    if prediction == "cumulated" and cumulation == "authors":
        return (Y_proba > 0.5).astype(np.int64)
    return (Y_proba >= 0.5).astype(np.int64)
