"""Folds, and the predictions of models that were trained without a fold.

By default every label is about as frequent in each fold as in all rows. A rare label in a single
fold cannot be learned there or measured elsewhere, so rows are dealt out by iterative
stratification (:mod:`xdcc.base.stratification`). :func:`make_folds` also takes groups, which stay
together, and scikit-learn's splitters: with those for time series, a fold trains on earlier rows
only, and the first rows are in no fold's test part.

An estimator that can train the models of all folds together, and find out in the same training
how long to train, has a method ``out_of_fold`` with the signature of :class:`TrainsOutOfFold`;
estimators of this package also have ``_out_of_fold``, which takes checked data.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.base.domains import Either, Number, Splits
from xdcc.base.fit_data import FitData
from xdcc.base.groups import grouped_folds, read_groups
from xdcc.base.seeds import generator_from
from xdcc.base.stratification import deal_out
from xdcc.base.workers import count_folds, grand_total

CV = Either(Number(low=2, whole=True), Splits(), None)
"""Values of a parameter `cv` that :func:`make_folds` takes."""

_N_FOLDS = 5
"""Where `cv` is None, as in scikit-learn."""


def stratified_folds(
    Y: NDArray[np.floating | np.bool_],
    n_folds: int,
    random_state: int | np.random.RandomState | None = None,
) -> NDArray[np.intp]:
    """Deal rows out to folds, label by label.

    Parameters
    ----------
    Y : float or bool array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown, which is dealt out like 0; a probability like the nearer of both.
    n_folds : int
        Number of folds, from 2 to n_samples.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0.

    Returns
    -------
    int array of shape (n_samples,)
        Number of each row's fold, from 0.

    Raises
    ------
    ValueError
        If there are not as many rows as folds.

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> folds = stratified_folds(Y, 2, random_state=0)
    >>> Y[folds == 0].sum(axis=0), Y[folds == 1].sum(axis=0)
    (array([1, 1]), array([1, 1]))
    """
    if n_folds > len(Y):
        raise ValueError(f"{n_folds} folds need as many rows, but n_samples={len(Y)}.")
    present = np.nan_to_num(Y) >= 0.5
    # Whether a row has no label at all is dealt out like a label.
    present = np.column_stack((present, ~present.any(axis=1)))
    return deal_out(present, n_folds, generator_from(random_state))


@dataclass(frozen=True, eq=False)
class Folds:
    """The rows on which the model of each fold is tested and trained.

    Attributes
    ----------
    test : int array of shape (n_samples,)
        The fold that tests each row, from 0; -1 for a row that no fold tests.
    train : sequence of bool arrays of shape (n_samples,), one for each fold, or None
        The rows that each fold trains on; None for all that it does not test.

    Examples
    --------
    >>> folds = Folds(np.array([-1, 0, 1]))
    >>> folds.n_folds, folds.trains(0), folds.tests(0)
    (2, array([ True, False,  True]), array([False,  True, False]))
    """

    test: NDArray[np.intp]
    train: Sequence[NDArray[np.bool_]] | None = None

    @classmethod
    def of(cls, folds: "Self | NDArray[np.intp]", n_samples: int) -> "Folds":
        """Check the fold of each row, -1 for a row that no fold tests; `Folds` stay as they are.

        Examples
        --------
        >>> Folds.of(np.array([0, 1]), 3)
        Traceback (most recent call last):
        ValueError: folds has the shape (2,); it must be (3,), one per row.
        """
        if isinstance(folds, Folds):
            return folds
        test = np.asarray(folds)
        if test.shape != (n_samples,):
            raise ValueError(
                f"folds has the shape {test.shape}; it must be {(n_samples,)}, one per row."
            )
        numbers = np.unique(test)
        if numbers.dtype.kind not in "iu" or not np.array_equal(
            numbers[numbers != -1], np.arange(test.max() + 1)
        ):
            raise ValueError(
                "folds must hold whole numbers from 0, none left out, or -1 for a row that no "
                "fold tests."
            )
        return Folds(test.astype(np.intp))

    @classmethod
    def of_splits(cls, splits: Iterable[Any], n_samples: int) -> "Folds":
        """Check pairs of training and test rows, one for each fold.

        Examples
        --------
        >>> Folds.of_splits([([0], [1]), ([0, 1], [2])], 3).test
        array([-1,  0,  1])
        >>> Folds.of_splits([([0], [1]), ([0], [1, 2])], 3)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: cv tests row 1 in the folds 0 and 1: a row can be tested once at most, ...
        """
        test, train = np.full(n_samples, -1, dtype=np.intp), []
        for fold, pair in enumerate(splits):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"Fold {fold} of cv is not a pair of training and test rows.")
            trains, tests = (
                _marked(rows, n_samples, f"the {name} rows of fold {fold} of cv")
                for rows, name in zip(pair, ("training", "test"), strict=True)
            )
            if (both := np.flatnonzero(trains & tests)).size:
                raise ValueError(f"Fold {fold} of cv trains and tests on row {both[0]}.")
            if (again := np.flatnonzero(tests & (test >= 0))).size:
                raise ValueError(
                    f"cv tests row {again[0]} in the folds {test[again[0]]} and {fold}: a row can "
                    "be tested once at most, which rules out repeated and random splits such as "
                    "RepeatedKFold and ShuffleSplit."
                )
            test[tests] = fold
            train.append(trains)
        if len(train) < 2:
            raise ValueError(f"cv has {len(train)} folds; it must have at least 2.")
        folds = Folds(test)
        if all(np.array_equal(trains, folds.trains(fold)) for fold, trains in enumerate(train)):
            return folds
        return Folds(test, train)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return count_folds(self.test)

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Whether a fold tests each row, `(n_samples,)`."""
        return np.asarray(self.test >= 0)

    def tests(self, fold: int) -> NDArray[np.bool_]:
        """Whether a fold tests each row, `(n_samples,)`."""
        return np.asarray(self.test == fold)

    def trains(self, fold: int) -> NDArray[np.bool_]:
        """Whether a fold trains on each row, `(n_samples,)`."""
        return np.asarray(self.test != fold) if self.train is None else self.train[fold]

    def of_rows(self, rows: NDArray[np.intp]) -> "Folds":
        """Take the folds of some rows, by their positions."""
        train = None if self.train is None else [trains[rows] for trains in self.train]
        return Folds(self.test[rows], train)

    def of_tested(self, data: FitData) -> tuple[FitData, NDArray[np.intp]]:
        """Take the rows that a fold tests, and their folds."""
        if self.tested.all():
            return data, self.test
        return data.take(self.tested), self.test[self.tested]


def _marked(rows: Any, n_samples: int, what: str) -> NDArray[np.bool_]:
    """Mark rows, given by their positions, `(n_samples,)`; stop if these are not as they should."""
    at = np.asarray(rows)
    if at.size == 0:
        raise ValueError(f"There are no rows among {what}.")
    if at.ndim != 1 or at.dtype.kind not in "iu":
        raise ValueError(f"{what[0].upper()}{what[1:]} are not a list of positions.")
    if at.min() < 0 or at.max() >= n_samples:
        wrong = at[(at < 0) | (at >= n_samples)][0]
        raise ValueError(f"Row {wrong} is among {what}, but n_samples={n_samples}.")
    counts = np.bincount(at, minlength=n_samples)
    if counts.max() > 1:
        raise ValueError(f"Row {counts.argmax()} is {counts.max()} times among {what}.")
    return counts > 0


def make_folds(
    cv: Any,
    X: Any,
    Y: Any,
    groups: Any,
    *,
    data: FitData,
    random_state: int | np.random.RandomState | None,
) -> Folds:
    """Divide rows into folds as the parameter `cv` says.

    Parameters
    ----------
    cv : int, splitter, iterable of pairs or None
        A number of folds, None for 5; an object with ``split(X, Y, groups)``; or pairs of training
        and test rows.
    X, Y : object
        Data as the user gave them, for a splitter.
    groups : array-like of shape (n_samples,), str or None
        Groups of rows, or the column of X that has them. With a number of folds, each group is in
        one fold, and the folds are about as large; without groups, they are stratified.
    data : FitData
        The same data, checked.
    random_state : int, RandomState instance or None
        Seed of stratified folds.

    Returns
    -------
    Folds

    Raises
    ------
    ValueError
        If there are fewer rows or groups than folds; the groups are not as described
        (:func:`~xdcc.base.groups.read_groups`); a splitter refuses the data; a fold has no rows,
        rows out of range, or the same row in both parts or twice in one; a row is tested twice; or
        a fold trains on no known label.

    Examples
    --------
    >>> data = FitData(np.zeros((4, 1)), np.ones((4, 1), np.float32), None)
    >>> groups = ["a", "b", "b", "a"]
    >>> make_folds(2, data.X, data.Y, groups, data=data, random_state=0).test
    array([1, 0, 0, 1])
    """
    if isinstance(X, FitData):
        X, Y = X.X, X.Y
    groups = read_groups(groups, X, len(data.Y))
    cv = _N_FOLDS if cv is None else cv
    if isinstance(cv, Integral) and groups is None:
        return Folds(stratified_folds(data.Y, int(cv), random_state))
    if isinstance(cv, Integral):
        folds = Folds(grouped_folds(groups, int(cv)))
    else:
        folds = Folds.of_splits(cv.split(X, Y, groups) if hasattr(cv, "split") else cv, len(data.Y))
    require_known(folds, data)
    return folds


def require_known(folds: Folds, data: FitData) -> None:
    """Stop if a fold trains on no row, of any worker, with a known label and a positive weight.

    Parameters
    ----------
    folds : Folds
        Folds of the rows.
    data : FitData
        The rows of this worker.

    Raises
    ------
    ValueError
        If a fold has no such row to train on; the message names the fold.

    Examples
    --------
    >>> data = FitData(np.zeros((3, 1)), np.array([[1.0], [np.nan], [0.0]]), None)
    >>> require_known(Folds(np.array([0, 1, 1])), data)
    >>> require_known(Folds(np.array([0, 1, 0])), data)
    Traceback (most recent call last):
    ValueError: Fold 0 of cv trains on no row with a known label and a positive weight.
    """
    for fold in range(folds.n_folds):
        if not grand_total(float(data.counts[folds.trains(fold)].sum())):
            raise ValueError(
                f"Fold {fold} of cv trains on no row with a known label and a positive weight."
            )


type ShouldEnd = Callable[[int], bool]
"""Called between the steps of a training with their number; True ends it with what it has."""


class OutOfTime(Exception):
    """A training was ended before there was a model of each fold."""


class OutOfFold(NamedTuple):
    """The result of training without one fold after the other.

    Attributes
    ----------
    margins : float array of shape (n_samples, n_labels)
        Log-odds that a label is 1, by the model of the fold that tests the row; NaN if none does.
    estimators : list of estimators, one for each fold
        Those models.
    unfitted : estimator
        Not fitted; with the settings that the folds found best, to be trained on all rows.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> found = OutOfFold(np.zeros((4, 1)), [DummyClassifier()] * 2, DummyClassifier())
    >>> found.proba.T
    array([[0.5, 0.5, 0.5, 0.5]])
    """

    margins: NDArray[np.floating]
    estimators: list[Any]
    unfitted: Any

    @property
    def proba(self) -> NDArray[np.floating]:
        """Probability that a label is 1, `(n_samples, n_labels)`."""
        return np.asarray(expit(self.margins))


@runtime_checkable
class TrainsOutOfFold(Protocol):
    """An estimator that trains the models of all folds by itself.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> isinstance(DummyClassifier(), TrainsOutOfFold)
    False
    """

    def out_of_fold(
        self, X: Any, Y: Any, folds: NDArray[np.intp], sample_weight: Any = None
    ) -> OutOfFold:
        """Train a model for each fold without it; see :class:`OutOfFold`."""
