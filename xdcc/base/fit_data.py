"""``FitData``: checked rows with labels and weights, the one form in which they are handed on.

XGBoost stores labels and gradients as dense float32 arrays, so Y becomes one here, whatever its
form (``labels.py``).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.base.bins import SharedBins
from xdcc.base.input_form import InputForm
from xdcc.base.label_rows import row_blocks
from xdcc.base.libraries import sparse, xgb
from xdcc.base.process import late_interrupt
from xdcc.base.side_by_side import with_idle_cores
from xdcc.base.weights import by_entry, row_weights, settle_weights, simplest_weights
from xdcc.base.workers import sum_of_all


class FitData(NamedTuple):
    """Checked rows with labels and weights.

    Attributes
    ----------
    X : float32 array, CSR matrix, or else, of shape (n_samples, n_columns)
        The input to learn from: checked features, NaN where a value is missing; margins or
        probabilities, where decisions are learned; features that another classifier checks; or
        None.
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown. In ``fit`` a label that is unknown in every row that
        counts is 0.
    sample_weight : float array of shape (n_samples,) or (n_samples, n_labels), or None
        Finite, not negative, not all zero; of an entry 0 just where its label is unknown
        (:mod:`xdcc.base.weights`).
    input_form : InputForm or None
        The form of X, for features.
    output_form : LabelForm, or another of an estimator whose Y are no labels, or None
        The form of Y.
    bins : SharedBins or None
        Where several boosters are trained on these data.

    Examples
    --------
    >>> FitData(X=np.ones((2, 3), np.float32), Y=np.eye(2, dtype=np.float32), sample_weight=None).Y
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    X: Any
    Y: NDArray[np.float32]
    sample_weight: NDArray[np.floating] | None
    input_form: InputForm | None = None
    output_form: Any = None
    bins: SharedBins | None = None

    def weighted(self, weight: NDArray[np.floating] | None, *, is_whole: bool = True) -> "FitData":
        """Take checked weights; entries of weight 0 are unknown.

        If these rows are all, not a chunk of them, weights of entries that are the same in each
        row become those of rows.

        Examples
        --------
        >>> data = FitData(None, np.array([[1, 0], [1, 1]], np.float32), None)
        >>> weighted = data.weighted(np.array([[2, 0], [0.5, 0.5]], np.float32))
        >>> weighted.Y.tolist(), weighted.sample_weight.tolist()
        ([[1.0, nan], [1.0, 1.0]], [2.0, 0.5])
        """
        if weight is None or weight.ndim == 1:
            return self._replace(sample_weight=weight)
        Y, weight = settle_weights(self.Y, weight)
        return self._replace(Y=Y, sample_weight=simplest_weights(weight) if is_whole else weight)

    @property
    def feature_types(self) -> list[str] | None:
        """Types of the features as XGBoost writes them; None if all are numbers."""
        return None if self.input_form is None else self.input_form.feature_types

    @property
    def has_entry_weights(self) -> bool:
        """Whether the labels of a row may have different weights."""
        return self.sample_weight is not None and self.sample_weight.ndim == 2

    @property
    def row_weight(self) -> NDArray[np.floating] | None:
        """Weights of the rows, `(n_samples,)`: the largest of their entries; or None."""
        return None if self.sample_weight is None else row_weights(self.sample_weight)

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weights of the rows, 1 if there are none; float64, `(n_samples,)`."""
        of_rows = self.row_weight
        return np.ones(len(self.Y)) if of_rows is None else of_rows.astype(np.float64)

    @property
    def entry_weight(self) -> NDArray[np.float64]:
        """Weights of the entries, 0 where a label is unknown; float64, `(n_samples, n_labels)`."""
        weight = self.weight if self.sample_weight is None else self.sample_weight
        return np.asarray(self.known * by_entry(weight.astype(np.float64)))

    def label_weight(self, label: int) -> NDArray[np.float64]:
        """Weights of a label's entries, those of their rows if there are no others; `(n_samples,)`.

        Examples
        --------
        >>> FitData(None, np.eye(2), np.array([[4.0, 1.0], [2.0, 3.0]])).label_weight(1)
        array([1., 3.])
        """
        if not self.has_entry_weights:
            return self.weight
        assert self.sample_weight is not None
        return self.sample_weight[:, label].astype(np.float64)

    @property
    def row_sizes(self) -> NDArray[np.float64]:
        """Numbers of the known labels of rows, each by its `share`, `(n_samples,)`."""
        share = self.share
        return np.asarray((self.known if share is None else share).sum(axis=1, dtype=np.float64))

    @property
    def share(self) -> NDArray[np.float64] | None:
        """Weights of entries as shares of their rows', `(n_samples, n_labels)`; None if all are 1.

        Examples
        --------
        >>> weight = np.array([[4, 1], [0, 0]], np.float32)
        >>> FitData(None, np.array([[1, 0], [np.nan, np.nan]], np.float32), weight).share
        array([[1.  , 0.25],
               [0.  , 0.  ]])
        """
        if not self.has_entry_weights:
            return None
        of_rows = by_entry(self.weight)
        return np.divide(self.entry_weight, of_rows, out=np.zeros(self.Y.shape), where=of_rows > 0)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each label is known, `(n_samples, n_labels)`."""
        return ~np.isnan(self.Y)

    @property
    def truth(self) -> NDArray[np.bool_]:
        """Whether each label is known and 1, `(n_samples, n_labels)`."""
        return np.asarray(self.Y == 1)

    @property
    def counts(self) -> NDArray[np.bool_]:
        """Whether each row has a known label and a positive weight, `(n_samples,)`."""
        return self._of_positive_weight(self.known.any(axis=1))

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Whether each row counts as a labelset: all labels known, positive weight, `(n_samples,)`.

        Examples
        --------
        >>> Y = np.array([[1, 0], [1, np.nan], [0, 0]], dtype=np.float32)
        >>> FitData(None, Y, np.array([1.0, 1.0, 0.0])).whole
        array([ True, False, False])
        """
        return self._of_positive_weight(self.known.all(axis=1))

    def _of_positive_weight(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return rows if self.row_weight is None else rows & (self.row_weight > 0)

    def settle_absent(self, labels: NDArray[np.bool_]) -> None:
        """Make labels, `(n_labels,)`, absent in all rows, in place; entries weigh as their rows.

        Examples
        --------
        >>> data = FitData(None, np.array([[1, np.nan]]), np.array([[2.0, 0.0]]))
        >>> data.settle_absent(np.array([False, True]))
        >>> data.Y, data.sample_weight
        (array([[1., 0.]]), array([[2., 2.]]))
        """
        self.Y[:, labels] = 0
        if self.has_entry_weights:
            assert self.sample_weight is not None
            self.sample_weight[:, labels] = row_weights(self.sample_weight)[:, np.newaxis]

    def take(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> "FitData":
        """Take rows, by their positions or a mask.

        Examples
        --------
        >>> data = FitData(np.eye(3, dtype=np.float32), np.ones((3, 2), np.float32), None)
        >>> data.take(np.array([2])).X
        array([[0., 0., 1.]], dtype=float32)
        """
        weight = self.sample_weight
        return self._replace(
            X=None if self.X is None else take_rows(self.X, rows),
            Y=self.Y[rows],
            sample_weight=None if weight is None else weight[rows],
            bins=None,
        )

    def of_labels(self, labels: NDArray[np.bool_]) -> "FitData":
        """Take some labels, in memory of their own, and their margins, which are X, as float32."""
        weight = self.sample_weight
        return self._replace(
            X=self.X[:, labels].astype(np.float32),
            Y=np.ascontiguousarray(self.Y[:, labels]),
            sample_weight=weight[:, labels] if weight is not None and weight.ndim == 2 else weight,
        )

    def part(self, rows: NDArray[np.intp]) -> "FitData":
        """Take rows to fit on; a label that is unknown in all of them is absent.

        A ValueError says that no label of these rows is known.

        Examples
        --------
        >>> Y = np.array([[1, np.nan], [0, 1]], dtype=np.float32)
        >>> FitData(np.eye(2, dtype=np.float32), Y, None).part(np.array([0])).Y
        array([[1., 0.]], dtype=float32)
        """
        taken = self.take(rows)
        taken.settle_absent(unknown_labels(taken.Y, taken.sample_weight))
        return taken

    def target(self) -> NDArray[Any]:
        """Make the Y of a classifier of another package, in the form of the Y in ``fit``.

        Returns
        -------
        array of shape (n_samples, n_labels) or (n_samples,)
            Whole numbers, or floats if a label is unknown; classes, if Y had one dimension.
        """
        if np.isnan(self.Y).any():
            return self.Y
        return self.output_form.labels(self.Y.astype(np.int64))

    def matrix(self, n_threads: int | None) -> "xgb.DMatrix":
        """Make the matrix that boosters are trained on, without names of features."""
        return xgb.DMatrix(
            self.X,
            label=self.Y,
            weight=self.sample_weight,
            feature_types=self.feature_types,
            nthread=n_threads,
        )

    def binned(self, max_bin: int, n_threads: int | None = None) -> "xgb.QuantileDMatrix":
        """Make the matrix of binned features, or return that of :attr:`bins`."""

        def make() -> "xgb.QuantileDMatrix":
            with late_interrupt(), with_idle_cores():
                return xgb.QuantileDMatrix(
                    self.X,
                    label=self.Y,
                    weight=self.sample_weight,
                    feature_types=self.feature_types,
                    max_bin=max_bin,
                    nthread=n_threads,
                )

        if self.bins is None:
            return make()
        return self.bins.matrix((self.X, self.Y, self.sample_weight), max_bin, make)


def take_rows(data: Any, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Any:
    """Take rows, by position or mask, of an array-like, a sparse matrix, a DataFrame or a Series.

    A sparse matrix becomes CSR.

    Examples
    --------
    >>> take_rows([[1, 2], [3, 4], [5, 6]], np.array([2, 0]))
    array([[5, 6],
           [1, 2]])
    """
    if hasattr(data, "iloc"):
        return data.iloc[rows]
    return (data.tocsr() if sparse.issparse(data) else np.asarray(data))[rows]


def unknown_labels(
    Y: NDArray[np.float32], weight: NDArray[np.floating] | None
) -> NDArray[np.bool_]:
    """Return the labels unknown in all rows of positive weight, `(n_labels,)`; not all may be.

    Among workers that train together (:mod:`xdcc.base.workers`), the rows of all workers count.

    Examples
    --------
    >>> unknown_labels(np.array([[1, np.nan], [np.nan, 0]], np.float32), np.array([1.0, 0.0]))
    array([False,  True])
    >>> unknown_labels(np.array([[np.nan]], np.float32), None)
    Traceback (most recent call last):
    ValueError: Y has no known label: every entry that counts is NaN.
    """
    unknown = np.ones(Y.shape[1], dtype=bool)
    for rows in row_blocks(Y.shape):
        is_nan = np.isnan(Y[rows])
        unknown &= (is_nan if weight is None else is_nan[row_weights(weight[rows]) > 0]).all(axis=0)
    unknown = sum_of_all((~unknown).astype(np.int64)) == 0
    if unknown.all():
        raise ValueError("Y has no known label: every entry that counts is NaN.")
    return unknown


def only_positive_labels(
    Y: NDArray[np.float32], weight: NDArray[np.floating] | None
) -> NDArray[np.bool_]:
    """Tell which labels are 1 or unknown in every row of positive weight, and both, `(n_labels,)`.

    Examples
    --------
    >>> Y = np.array([[1, 1, np.nan], [np.nan, 1, 0]], np.float32)
    >>> only_positive_labels(Y, None)
    array([ True, False, False])
    """
    is_found = np.zeros((3, Y.shape[1]), dtype=bool)
    for rows in row_blocks(Y.shape):
        block = Y[rows] if weight is None else Y[rows][row_weights(weight[rows]) > 0]
        for found, entries in zip(is_found, (block == 0, block == 1, np.isnan(block)), strict=True):
            found |= entries.any(axis=0)
    negative, positive, unknown = is_found
    return np.asarray(positive & unknown & ~negative)
