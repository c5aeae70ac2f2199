"""The worker's side of rows in Dask collections: check chunks and put them together.

A chunk is checked like the input of any estimator, except for what only all rows together can tell:
whether a label is known anywhere, and whether any row has weight. That, and what all chunks must
have in common, goes into a :class:`Summary`, which is small enough to send to the client.

Categories get their numbers when those of all chunks are known. Until then, rows with categories
stay a DataFrame.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from xdcc.base.checks import check_fit_weight
from xdcc.base.features import Features, SparseZeros, learn_features
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.base.groups import grouped_folds, read_groups
from xdcc.base.labels import Labels, check_labels, check_labels_as_in_fit
from xdcc.chain import DynamicChainClassifier
from xdcc.dask.communicator import Place


@dataclass(frozen=True)
class Layout:
    """The properties that all chunks share.

    Attributes
    ----------
    chunk : int
        Number of the chunk that has this layout, from 0; for messages.
    is_sparse : bool
        Whether X is sparse.
    n_features : int
        Number of columns of X.
    feature_names : tuple of str or None
        Column names of X, None if it has none.
    categorical : tuple of int
        Positions of the categorical columns of X.
    label_names : tuple of str
        Names of the labels.
    labels_are_named : bool
        Whether the names are those of a DataFrame, which other data are matched by.
    """

    chunk: int
    is_sparse: bool
    n_features: int
    feature_names: tuple[str, ...] | None
    categorical: tuple[int, ...]
    label_names: tuple[str, ...]
    labels_are_named: bool

    def described(self) -> tuple[str, ...]:
        """Describe each thing that must be the same in all chunks."""
        return (
            f"{self.n_features} features",
            "a sparse X" if self.is_sparse else "a dense X",
            f"the features {self.feature_names}",
            f"the categorical columns {self.categorical}",
            f"{len(self.label_names)} labels",
            f"the labels {self.label_names}",
        )


@dataclass(frozen=True)
class Summary:
    """A summary of a worker's rows for the client.

    Attributes
    ----------
    place : Place
        The worker that holds them.
    layout : Layout
        Layout of its chunks.
    counts : bool
        Whether a row has positive weight.
    is_known : bool array of shape (n_labels,)
        Whether a label is known in a row of positive weight.
    categories : tuple of pd.Categorical
        For each categorical column its type, with a value of each category that occurs.
    """

    place: Place
    layout: Layout
    counts: bool
    is_known: NDArray[np.bool_]
    categories: tuple[pd.Categorical, ...]


@dataclass(frozen=True)
class WorkerRows:
    """The rows of a worker, checked.

    Attributes
    ----------
    data : FitData
        Features, labels and weights. X is a DataFrame if it has categories.
    summary : Summary
        Summary of the rows for the client.
    groups : array of shape (n_samples,)
        Groups of the rows; None for each if there are none.
    """

    data: FitData
    summary: Summary
    groups: NDArray[Any]


def join_chunks(
    chunks: Sequence[tuple[int, Any, Any, Any, Any]], sparse_zeros: SparseZeros
) -> WorkerRows | None:
    """Check a worker's chunks and put them together, in their order; None if no chunk has a row.

    A chunk is its number, X, Y, and `sample_weight` and groups or None. A ValueError says which
    chunk is not what an estimator takes, or differs from the others in its columns.
    """
    checked = [_check_chunk(*chunk, sparse_zeros) for chunk in chunks if _has_rows(*chunk)]
    if not checked:
        return None
    layout = require_same_layout(layout for _, layout, _ in checked)
    data = concatenate([part for part, _, _ in checked])
    counts = slice(None) if data.row_weight is None else data.row_weight > 0
    counted = data.Y[counts]
    is_known = ~np.isnan(counted).all(axis=0)
    X: Any = data.X
    categories = tuple(X.iloc[:, position].array.unique() for position in layout.categorical)
    summary = Summary(Place.here(), layout, len(counted) > 0, is_known, categories)
    return WorkerRows(data, summary, np.concatenate([groups for _, _, groups in checked]))


def join_measured_chunks(
    chunks: Sequence[tuple[int, Any, Any, None, None]], estimator: DynamicChainClassifier
) -> tuple[Features, Labels] | None:
    """Check chunks of an evaluation set against an estimator and put them together.

    The estimator has seen the summaries of the training rows. Returns features and labels, or None
    if no chunk has a row; raises a ValueError that says which chunk the estimator does not take.
    """
    checked = []
    for number, X, Y, *_ in chunks:
        with _says_which(number):
            if _has_rows(number, X, Y):
                features = estimator._input_form.check(X, type(estimator).__name__)
                labels = check_labels_as_in_fit(estimator._output_form, features, _as_matrix(Y))
                checked.append(FitData(features, labels, None))
    return concatenate(checked)[:2] if checked else None


def require_same_layout(layouts: Iterable[Layout]) -> Layout:
    """Return the first of some layouts; raise a ValueError if another one differs from it."""
    first, *others = layouts
    for other in others:
        for found, expected in zip(other.described(), first.described(), strict=True):
            if found != expected:
                raise ValueError(
                    f"The chunks differ: chunk {first.chunk} has {expected}, chunk {other.chunk} "
                    f"has {found}. All chunks need the same columns."
                )
    return first


def concatenate(parts: Sequence[FitData]) -> FitData:
    """Put rows together, in their order; all parts have weights or none has."""
    if len(parts) == 1:
        return parts[0]
    weights = [part.sample_weight for part in parts if part.sample_weight is not None]
    return FitData(
        _stack([part.X for part in parts]),
        np.concatenate([part.Y for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def union(parts: Sequence[pd.Categorical]) -> pd.Categorical:
    """Put categorical columns together; raise a ValueError if their types differ."""
    try:
        return union_categoricals(list(parts), ignore_order=True)
    except TypeError as error:
        types = dict.fromkeys(str(part.categories.dtype) for part in parts)
        raise ValueError(
            f"The chunks differ: a column has categories of the types {', '.join(types)}."
        ) from error


def positive_bits(Y: Labels, absent: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Pack into bits which labels are 1, not unknown and not `absent`, for :func:`deal_folds`.

    Returns `(n_samples, n_labels / 8, rounded up)`.
    """
    return np.packbits((Y == 1) & ~absent, axis=1)


def deal_folds(
    bits: Sequence[NDArray[np.uint8]], n_labels: int, n_folds: int, seed: int | None
) -> list[NDArray[np.intp]]:
    """Divide all rows into folds, on one worker, as the local estimator does.

    `bits` are what :func:`positive_bits` makes of all rows, in parts, in their order; the result
    has the fold of each row, an array for each part. A ValueError says that there are fewer rows
    than folds.
    """
    positive = np.unpackbits(np.concatenate(bits), axis=1, count=n_labels).astype(bool)
    ends = np.cumsum([len(part) for part in bits])
    return np.split(stratified_folds(positive, n_folds, seed), ends[:-1])


def deal_groups(groups: Sequence[NDArray[Any]], n_folds: int) -> list[NDArray[np.intp]]:
    """Divide all rows into folds by their groups, as :func:`deal_folds` does by their labels."""
    ends = np.cumsum([len(part) for part in groups])
    return np.split(grouped_folds(np.concatenate(groups), n_folds), ends[:-1])


def _check_chunk(
    number: int, X: Any, Y: Any, sample_weight: Any, groups: Any, sparse_zeros: SparseZeros
) -> tuple[FitData, Layout, NDArray[Any]]:
    with _says_which(number):
        form, checked_X = learn_features(
            X, DynamicChainClassifier.__name__, takes_categories=True, sparse_zeros=sparse_zeros
        )
        # Chunks need not hold both classes of a target: one dimension is a label, 0 or 1.
        labels = check_labels(_as_matrix(Y))
        check_consistent_length(checked_X, labels.Y, sample_weight)
        of_rows = read_groups(groups, X, len(labels.Y))
        names, is_named = labels.output_form.names, labels.output_form.is_named
        weight = check_fit_weight(
            sample_weight, len(labels.Y), names, is_named=is_named, some_positive=False
        )
        labels = labels.weighted(weight, is_whole=False)
    categorical = tuple(form.categories or ())
    layout = Layout(
        chunk=number,
        is_sparse=sparse.issparse(checked_X),
        n_features=checked_X.shape[1],
        feature_names=None if form.names is None else tuple(form.names),
        categorical=categorical,
        label_names=tuple(names),
        labels_are_named=is_named,
    )
    data = FitData(X if categorical else checked_X, labels.Y, labels.sample_weight)
    return data, layout, np.full(len(labels.Y), None) if of_rows is None else of_rows


@contextmanager
def _says_which(number: int) -> Iterator[None]:
    """Add the number of a chunk to the message of an error."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"Chunk {number} of the rows: {error}") from error


def _has_rows(number: int, X: Any, Y: Any, *of_rows: Any) -> bool:
    return max(X.shape[0], Y.shape[0]) > 0


def _stack(parts: Sequence[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))
    if not isinstance(parts[0], pd.DataFrame):
        return np.concatenate(parts)
    stacked = pd.concat(parts, ignore_index=True)
    for position, dtype in enumerate(parts[0].dtypes):
        if isinstance(dtype, pd.CategoricalDtype):  # pandas forgets it if the parts' types differ
            stacked.isetitem(position, union([part.iloc[:, position].array for part in parts]))
    return stacked


def _as_matrix(Y: Any) -> Any:
    if isinstance(Y, pd.Series):
        return Y.to_frame()
    return Y.reshape(-1, 1) if Y.ndim == 1 else Y
