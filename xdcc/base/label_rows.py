"""Label matrices in whatever form, read as numbers, some rows at a time.

Labels come as arrays, lists, DataFrames with any types of columns, or sparse matrices. Code
that checks or compares them iterates over :func:`row_blocks` and takes :meth:`LabelRows.block`, so
that no form needs a copy of the whole matrix, dense or of another type.

The input of a metric is two of them, and weights. :func:`known_blocks` turns true and predicted
labels into boolean masks, one block of rows after the other, or says what is wrong with them and
where; :func:`known_score_blocks` does it for labels and scores, :func:`known_proba_blocks` for
probabilities. Samples that cannot count (no
known label, or weight 0) are taken out, so that a metric needs no rule of its own for them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.frames import as_pandas
from xdcc.base.input_form import is_missing
from xdcc.base.label_words import label_of_word
from xdcc.base.libraries import pd, sparse
from xdcc.base.weights import check_weight, row_weights

SAMPLE_ENTRIES = 2**21
"""Entries of the rows that a few numbers are learned from: calibration, decision rules."""

_LEAST_SAMPLE = 500
_BLOCK_ENTRIES = 2**18
"""Entries of a block: as float64 2 MiB, which a processor's cache can hold."""

_NAMES_SHOWN = 5
"""Names of labels that a message lists."""


def sample_rows(
    shape: tuple[int, int], rows: NDArray[np.bool_] | None = None, entries: int = SAMPLE_ENTRIES
) -> NDArray[np.intp]:
    """Take rows of a matrix, all of them or as many as a few numbers can be learned from.

    Parameters
    ----------
    shape : tuple of int
        Number of rows, number of columns.
    rows : bool array of shape (n_rows,), optional
        Which rows can be taken; all if None.
    entries : int, default=2**21
        About this many entries are taken, but at least 500 rows.

    Returns
    -------
    int array
        Their positions, ascending; the same for the same shape.

    Examples
    --------
    >>> sample_rows((3, 2))
    array([0, 1, 2])
    >>> len(sample_rows((10**6, 64)))
    32768
    """
    able = np.arange(shape[0]) if rows is None else np.flatnonzero(rows)
    most = max(_LEAST_SAMPLE, entries // max(1, shape[1]))
    if len(able) <= most:
        return able
    return np.sort(np.random.default_rng(0).choice(able, most, replace=False))


def row_blocks(shape: tuple[int, int], entries: int | None = None) -> Iterator[slice]:
    """Cut the rows of a matrix into blocks.

    Parameters
    ----------
    shape : tuple of int
        Number of rows, number of columns.
    entries : int, optional
        About this many entries make a block; 2**18 if not given.

    Yields
    ------
    slice
        The next rows, at least one.

    Examples
    --------
    >>> list(row_blocks((300_000, 2)))
    [slice(0, 131072, None), slice(131072, 262144, None), slice(262144, 300000, None)]
    """
    n_rows, n_columns = shape
    step = max(1, (entries or _BLOCK_ENTRIES) // max(1, n_columns))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


class LabelRows:
    """Labels of any form as blocks of numbers.

    Parameters
    ----------
    Y : array-like, sparse matrix or array, DataFrame or Series
        Labels. Only its form is looked at here, and no copy is made of an array, a CSR matrix or
        a DataFrame of dense columns.
    one_label : bool, default=False
        Whether one dimension is a column; else `shape` has one element for it.

    Attributes
    ----------
    shape : tuple of int
        The shape of Y as an array.

    Raises
    ------
    ValueError
        If Y makes no array, for example because rows have different lengths.

    Examples
    --------
    >>> rows = LabelRows(pd.DataFrame({"red": [1, None], "blue": [0, 1]}))
    >>> rows.shape
    (2, 2)
    >>> rows.block(slice(1, 2))
    array([[nan,  1.]])
    """

    shape: tuple[int, ...]

    def __init__(self, Y: Any, *, one_label: bool = False) -> None:
        self._labels: Any = _sliceable(Y)
        if one_label and self._labels.ndim == 1:
            self._labels = (
                self._labels.to_frame()
                if isinstance(self._labels, pd.Series)
                else self._labels.reshape((-1, 1))
            )
        self.shape = self._labels.shape
        if sparse.issparse(self._labels) and self._labels.ndim == 2:
            self._labels = self._labels.tocsr()

    def block(self, rows: slice) -> NDArray[Any]:
        """Read some rows of a Y of two dimensions as numbers, `(n_rows, n_labels)`.

        The array may share memory with Y. None and pandas' NA are NaN; an entry that is not a
        number is infinite, which is not a label.
        """
        return self._read(rows, _number)

    def labels(self, rows: slice) -> NDArray[Any]:
        """Read some rows as :meth:`block` does, and words as the labels that they mean.

        Examples
        --------
        >>> LabelRows([["yes", "No"], ["F", None]]).labels(slice(0, 2))
        array([[ 1.,  0.],
               [ 0., nan]])
        """
        return self._read(rows, _label)

    def _read(self, rows: slice, as_number: Callable[[Any], float]) -> NDArray[Any]:
        if sparse.issparse(self._labels):
            values = self._labels[rows].toarray()
        elif isinstance(self._labels, pd.DataFrame):
            part = self._labels.iloc[rows]
            numeric = all(dtype.kind in "biuf" for dtype in part.dtypes)
            values = part.to_numpy(dtype=np.float64 if numeric else object, na_value=np.nan)
        else:
            values = self._labels[rows]
        if values.dtype.kind in "biuf":
            return values
        return np.vectorize(as_number, otypes=[np.float64])(values)

    def entry(self, row: int, label: int) -> Any:
        """Return an entry as it was given, for a message."""
        if isinstance(self._labels, pd.DataFrame):
            return self._labels.iat[row, label]
        return self._labels[row, label]

    def values(self, label: int, most: int) -> list[Any]:
        """Return the values of a column that are not missing, each once, at most so many.

        Examples
        --------
        >>> LabelRows(pd.DataFrame({"state": ["ill", None, "well", "ill"]})).values(0, most=5)
        ['ill', 'well']
        """
        if sparse.issparse(self._labels):
            column = self._labels[:, [label]].toarray().ravel()
        elif isinstance(self._labels, pd.DataFrame):
            column = self._labels.iloc[:, label]
        else:
            column = self._labels[:, label]
        found: dict[str, Any] = {}
        for value in column.tolist():
            if not is_missing(value):
                found.setdefault(repr(value), value)
            if len(found) == most:
                break
        return list(found.values())


def column_names(Y: Any, n_columns: int, stem: str) -> NDArray[np.object_]:
    """Return the names of the columns of Y, `(n_columns,)`, made of the `stem` if it has none.

    Names are text. A ValueError says which of them are not unique.

    Examples
    --------
    >>> column_names(pd.DataFrame(columns=["red", 7]), 2, "label"), column_names([[1]], 1, "label")
    (array(['red', '7'], dtype=object), array(['label_0'], dtype=object))
    """
    if hasattr(Y, "columns"):
        names = [str(name) for name in Y.columns]
    elif getattr(Y, "name", None) is not None:
        names = [str(Y.name)]
    else:
        names = [f"{stem}_{j}" for j in range(n_columns)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Y has several columns named {_listed(repeated)}. Each {stem} needs a name of its "
            "own: rename or drop columns."
        )
    return np.array(names, dtype=object)


def labels_in_order(Y: Any, names: Sequence[Any], what: str) -> Any:
    """Bring the columns of a DataFrame into the order of `names`; leave all else as it is.

    Names are compared as text. A ValueError, which calls Y `what`, says if Y is a DataFrame with
    other names, or with another order of names that are not unique.

    Examples
    --------
    >>> labels_in_order(pd.DataFrame({"blue": [0], "red": [1]}), ["red", "blue"], "Y")
       red  blue
    0    1     0
    """
    if not isinstance(Y, pd.DataFrame):
        return Y
    wanted, found = [str(name) for name in names], [str(name) for name in Y.columns]
    if found == wanted:
        return Y
    if sorted(found) != sorted(wanted) or len(set(wanted)) < len(wanted):
        missing = [name for name in wanted if name not in found]
        unexpected = [name for name in found if name not in wanted]
        raise ValueError(
            f"The columns of {what} must be the labels {_listed(wanted)}, each once, in any order "
            f"(missing: {_listed(missing)}; unexpected: {_listed(unexpected)})"
        )
    position = {name: column for column, name in enumerate(found)}
    return Y.iloc[:, [position[name] for name in wanted]]


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_NAMES_SHOWN])) or "none"
    return f"{shown} and {len(names) - _NAMES_SHOWN} more" if names[_NAMES_SHOWN:] else shown


def _sliceable(Y: Any) -> Any:
    if sparse.issparse(Y) or isinstance(Y, pd.Series):
        return Y
    if isinstance(Y, pd.DataFrame):
        # pandas gives the sparse matrix of a frame only if nothing but zeros is left out.
        kinds = set(Y.dtypes)
        kind = kinds.pop() if len(kinds) == 1 else None
        is_sparse = isinstance(kind, pd.SparseDtype) and kind.fill_value == 0
        return Y.sparse.to_coo() if is_sparse else Y
    return np.asarray(Y)


def _number(value: Any) -> float:
    if value is None or value is pd.NA:
        return np.nan
    return float(value) if isinstance(value, Real) else np.inf


def _label(value: Any) -> float:
    label = label_of_word(value) if isinstance(value, str) else None
    return _number(value) if label is None else label


type Labels = ArrayLike | sparse.sparray | sparse.spmatrix
type Weights = ArrayLike | None
type Floats = NDArray[np.float64]
type Bools = NDArray[np.bool_]

_HOLDS = {
    "Y_true": "the numbers 0 and 1",
    "Y_pred": "the numbers 0 and 1",
    "Y_score": "finite numbers",
    "Y_proba": "numbers from 0 to 1",
}
"""Names of the parts of an input, for messages."""


class KnownRows[Predicted: (Bools, Floats)](NamedTuple):
    """The known entries of a block of rows, of the samples that count.

    Attributes
    ----------
    truth : bool array, shape (n_counted, n_labels)
        False where the truth is unknown.
    predicted : bool or float64 array, shape (n_counted, n_labels)
        Predicted labels, False where the truth is unknown; or finite scores, without meaning there.
    known : bool array, shape (n_counted, n_labels)
        At least one True per row.
    weight : float64 array, shape (n_counted,)
        Of the samples; positive.
    share : float64 array, shape (n_counted, n_labels), or None
        Weight of each entry as a share of its sample's, 0 where the truth is unknown; None if all
        known entries have their sample's weight.

    Examples
    --------
    >>> (rows,) = known_blocks([[1, np.nan]], [[1, 1]])
    >>> rows.known, rows.predicted
    (array([[ True, False]]), array([[ True, False]]))
    """

    truth: Bools
    predicted: Predicted
    known: Bools
    weight: Floats
    share: Floats | None = None

    def row_sums(self, values: Bools | Floats) -> Floats:
        """Add up values of the known entries of each sample, by their shares; `(n_counted,)`.

        Examples
        --------
        >>> (rows,) = known_blocks([[1, 0, 1]], [[1, 1, 1]], [[4, 2, 0]])
        >>> rows.row_sums(rows.predicted)
        array([1.5])
        """
        if self.share is None:
            return np.asarray(values.sum(axis=1, where=self.known, dtype=np.float64))
        return np.asarray((self.share * values).sum(axis=1))

    def label_sums(self, values: Bools | Floats) -> Floats:
        """Add up the weighted values of each label's entries, 0 if unknown; `(n_labels,)`."""
        return np.asarray(self.weight @ (values if self.share is None else values * self.share))


def known_blocks(
    Y_true: Labels, Y_pred: Labels, sample_weight: Weights = None
) -> Iterator[KnownRows[Bools]]:
    """Check labels and weights and take out what is unknown, block by block.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN where the label is unknown; or words that mean 0 or 1, as in ``fit``.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels)
        0 or 1, or such words. If both are DataFrames, columns are matched by name.
    sample_weight : array-like, shape (n_samples,) or (n_samples, n_labels), optional
        Finite, not negative; None counts every sample once. An entry of weight 0 is unknown.

    Yields
    ------
    KnownRows
        The samples with a known label and a positive weight; blocks without any are left out.

    Raises
    ------
    ValueError
        If an input is not a matrix of numbers, is empty or holds another value; if the shapes or
        the names of columns differ; if a weight is bad; if no entry is left. A value is found when
        its block is read.

    Examples
    --------
    >>> for entries in known_blocks([[1, np.nan], [np.nan, np.nan]], [[1, 1], [0, 0]]):
    ...     print(entries.truth, entries.known, entries.weight)
    [[ True False]] [[ True False]] [1.]
    """

    def labels(source: LabelRows, rows: slice) -> Bools:
        predicted = source.labels(rows)
        is_predicted = predicted == 1
        _check(is_predicted | (predicted == 0), rows, source, "Y_pred", "0 or 1")
        return is_predicted

    for rows in _blocks(Y_true, Y_pred, "Y_pred", labels, sample_weight):
        yield rows._replace(predicted=rows.predicted & rows.known)


def known_score_blocks(
    Y_true: Labels, Y_score: Labels, sample_weight: Weights = None
) -> Iterator[KnownRows[Floats]]:
    """Check labels, scores and weights and take out what is unknown, block by block.

    Like :func:`known_blocks`, but `Y_score` holds finite numbers, higher where a label is more
    likely.

    Examples
    --------
    >>> for scores in known_score_blocks([[1, 0], [0, 1]], [[2.5, 1], [0, 3]], [1, 0]):
    ...     print(scores.predicted, scores.weight)
    [[2.5 1. ]] [1.]
    """

    def scores(source: LabelRows, rows: slice) -> Floats:
        score = source.block(rows)
        _check(np.isfinite(score), rows, source, "Y_score", "finite")
        return score.astype(np.float64)

    return _blocks(Y_true, Y_score, "Y_score", scores, sample_weight)


def known_proba_blocks(
    Y_true: Labels, Y_proba: Labels, sample_weight: Weights = None
) -> Iterator[KnownRows[Floats]]:
    """Check labels, probabilities and weights and take out what is unknown, block by block.

    Like :func:`known_score_blocks`, but `Y_proba` holds numbers from 0 to 1.

    Examples
    --------
    >>> for probabilities in known_proba_blocks([[1, 0]], [[0.75, 0]]):
    ...     print(probabilities.predicted)
    [[0.75 0.  ]]
    """

    def probabilities(source: LabelRows, rows: slice) -> Floats:
        proba = source.block(rows)
        _check((proba >= 0) & (proba <= 1), rows, source, "Y_proba", "from 0 to 1")
        return proba.astype(np.float64)

    return _blocks(Y_true, Y_proba, "Y_proba", probabilities, sample_weight)


def _blocks[Values: (Bools, Floats)](
    Y_true: Labels,
    Y_other: Labels,
    name: str,
    checked: Callable[[LabelRows, slice], Values],
    sample_weight: Weights,
) -> Iterator[KnownRows[Values]]:
    """Read truth, predictions of some kind, what is known, and weights of samples that count."""
    Y_true, Y_other = as_pandas(Y_true, "Y_true"), as_pandas(Y_other, name)
    truth_rows = _label_rows(Y_true, "Y_true")
    if isinstance(Y_true, pd.DataFrame):
        Y_other = labels_in_order(Y_other, Y_true.columns, name)
    other_rows = _label_rows(Y_other, name)
    n_samples, n_labels = truth_rows.shape
    if other_rows.shape != (n_samples, n_labels):
        raise ValueError(
            f"Y_true and {name} must have the same shape (n_samples, n_labels), "
            f"got {truth_rows.shape} and {other_rows.shape}"
        )
    names: Sequence[Any] = range(n_labels)
    if isinstance(Y_true, pd.DataFrame):
        names = Y_true.columns
        sample_weight = labels_in_order(as_pandas(sample_weight), names, "sample_weight")
    weight = check_weight(sample_weight, n_samples, names, some_positive=False, dtype=np.float64)
    if weight is None:
        weight = np.ones(n_samples)

    nothing_counts = True
    for rows in row_blocks((n_samples, n_labels)):
        truth = truth_rows.labels(rows)
        is_true, unknown = truth == 1, np.isnan(truth)
        _check(
            is_true | (truth == 0) | unknown, rows, truth_rows, "Y_true", "0, 1 or NaN (unknown)"
        )
        other = checked(other_rows, rows)

        known, of_rows = ~unknown, weight[rows]
        if weight.ndim == 2:
            of_entries = of_rows * known
            known, of_rows = of_entries > 0, row_weights(of_entries)
        counts = known.any(axis=1) & (of_rows > 0)
        if counts.any():
            nothing_counts = False
            known, of_rows = known[counts], of_rows[counts]
            share = None if weight.ndim == 1 else of_entries[counts] / of_rows[:, np.newaxis]
            yield KnownRows(is_true[counts] & known, other[counts], known, of_rows, share)
    if nothing_counts:
        raise ValueError("Y_true has no known label in a sample of positive weight")


def matching_share(Y_true: Labels, Y_pred: Labels, sample_weight: Weights = None) -> float:
    """Share of the samples whose known labels are all predicted correctly.

    This is the estimators' ``score`` and :func:`xdcc.metrics.subset_accuracy`. Parameters and
    errors are as in :func:`known_blocks`.

    Returns
    -------
    float
        The share among the samples that count, from 0 to 1.

    Examples
    --------
    >>> matching_share([[1, np.nan], [0, 1]], [[1, 0], [0, 0]])
    0.5
    """
    matching = total = 0.0
    for entries in known_blocks(Y_true, Y_pred, sample_weight):
        is_match = (entries.truth == entries.predicted).all(axis=1)
        # Both added up in the same way, so that a mean of ones is 1 exactly.
        matching += (entries.weight * is_match).sum()
        total += entries.weight.sum()
    return float(matching / total)


def _label_rows(Y: Any, name: str) -> LabelRows:
    try:
        labels = LabelRows(Y)
    except ValueError as error:
        raise ValueError(f"{name} must be a matrix of {_HOLDS[name]}: {error}") from error
    if len(labels.shape) != 2 or 0 in labels.shape:
        raise ValueError(
            f"{name} must have at least one sample and one label, shape (n_samples, n_labels), "
            f"got shape {labels.shape}"
        )
    return labels


def _check(valid: Bools, rows: slice, labels: LabelRows, name: str, allowed: str) -> None:
    if valid.all():
        return
    row, label = np.argwhere(~valid)[0]
    row += rows.start
    entry = labels.entry(row, label)
    if not isinstance(entry, Real):
        raise ValueError(
            f"{name} must be a matrix of {_HOLDS[name]}, but {name}[{row}, {label}] is {entry!r}"
        )
    raise ValueError(f"{name}[{row}, {label}] is {float(entry):g}, must be {allowed}")
