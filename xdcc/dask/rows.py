"""Rows of Dask collections: who trains on which, and what a worker does with its chunks of them.

The client deals chunks out to workers, and maps them when something is predicted. Before training a
worker checks its chunks and puts them together. A chunk is checked like the input of any estimator,
save for what only all rows together can tell (whether a label is known anywhere, whether any row
counts). That, and what all chunks have to have in common, goes into a :class:`Summary`, small
enough to be sent to the client. Rows to measure on are checked against an estimator that knows it.

Categories get their numbers when those of all chunks are known: until then rows that have some
stay a DataFrame.

Folds depend on the labels of all rows: a worker deals out all of them (:func:`deal_folds`), from
labels of a bit each.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed
from distributed import Client, Future
from numpy.typing import DTypeLike, NDArray
from pandas.api.types import union_categoricals
from scipy import sparse
from sklearn.utils.validation import check_consistent_length

from xdcc.base.checks import check_labels_as_in_fit, check_weight
from xdcc.base.features import Features, SparseZeros, check_features
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.base.labels import Labels, check_labels
from xdcc.chain import DynamicChainClassifier
from xdcc.dask.communicator import Place


@dataclass(frozen=True)
class Layout:
    """What all chunks have in common.

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


@dataclass(frozen=True)
class Summary:
    """What the client needs to know of a worker's rows.

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
        What the client needs to know of them.
    """

    data: FitData
    summary: Summary


def join_chunks(
    chunks: Sequence[tuple[int, Any, Any, Any]], sparse_zeros: SparseZeros
) -> WorkerRows | None:
    """Check a worker's chunks and put them together, in their order. Runs on the worker.

    Parameters
    ----------
    chunks : sequence of tuples (number, X, Y, sample_weight)
        Arrays, sparse matrices or DataFrames of the same length; `sample_weight` can be None.
    sparse_zeros : {"missing", "zero"}
        What an entry means that a sparse X does not store.

    Returns
    -------
    WorkerRows or None
        None if no chunk has a row.

    Raises
    ------
    ValueError
        If a chunk is not what an estimator takes, or differs from the others in its columns;
        the message says which.
    """
    checked = [_check_chunk(*chunk, sparse_zeros) for chunk in chunks if _n_rows(chunk) > 0]
    if not checked:
        return None
    layout = require_same_layout(layout for _, layout in checked)
    data = concatenate([part for part, _ in checked])
    counts = slice(None) if data.sample_weight is None else data.sample_weight > 0
    counted = data.Y[counts]
    is_known = ~np.isnan(counted).all(axis=0)
    X: Any = data.X
    categories = tuple(X.iloc[:, position].array.unique() for position in layout.categorical)
    return WorkerRows(data, Summary(Place.here(), layout, len(counted) > 0, is_known, categories))


def require_same_layout(layouts: Iterable[Layout]) -> Layout:
    """Stop if chunks differ in what they have to have in common.

    Parameters
    ----------
    layouts : iterable of Layout
        At least one.

    Returns
    -------
    Layout
        The first one.

    Raises
    ------
    ValueError
        If another one differs from it.
    """
    first, *others = layouts
    for other in others:
        for found, expected in (
            (f"{other.n_features} features", f"{first.n_features} features"),
            (_storage(other), _storage(first)),
            (f"the features {other.feature_names}", f"the features {first.feature_names}"),
            (
                f"the categorical columns {other.categorical}",
                f"the categorical columns {first.categorical}",
            ),
            (f"{len(other.label_names)} labels", f"{len(first.label_names)} labels"),
            (f"the labels {other.label_names}", f"the labels {first.label_names}"),
        ):
            if found != expected:
                raise ValueError(
                    f"The chunks differ: chunk {first.chunk} has {expected}, chunk {other.chunk} "
                    f"has {found}. All need the same columns."
                )
    return first


def concatenate(parts: Sequence[FitData]) -> FitData:
    """Put rows together, in their order.

    Parameters
    ----------
    parts : sequence of FitData
        At least one; all have the same columns, and all of them weights or none.

    Returns
    -------
    FitData
        The rows of all parts; the part itself if there is only one.
    """
    if len(parts) == 1:
        return parts[0]
    weights = [part.sample_weight for part in parts if part.sample_weight is not None]
    return FitData(
        _stack([part.X for part in parts]),
        np.concatenate([part.Y for part in parts]),
        np.concatenate(weights) if weights else None,
    )


def stand_ins(summaries: Sequence[Summary]) -> tuple[Any, Any, NDArray[np.float64]]:
    """Make data that stand for all rows where only names and what is known matter.

    Parameters
    ----------
    summaries : sequence of Summary
        Of all rows.

    Returns
    -------
    X : float array, CSR matrix or DataFrame of shape (n_stand_ins, n_features)
        With the names of the features, if they have some; sparse if the rows are. Of each
        categorical column all categories that occur.
    Y : float array or DataFrame of shape (n_stand_ins, n_labels)
        Not NaN where the rows of a summary know the label. A DataFrame if the labels have names.
    sample_weight : float array of shape (n_stand_ins,)
        Positive where a row of the summary counts.

    Raises
    ------
    ValueError
        If the rows differ in their columns.
    """
    layout = require_same_layout(summary.layout for summary in summaries)
    categories = [
        _union(of_all).unique()
        for of_all in zip(*(summary.categories for summary in summaries), strict=True)
    ]
    # At least one for each summary, and as many as a column has categories.
    n_rows = max([len(summaries), *map(len, categories)])
    summaries = [summaries[i % len(summaries)] for i in range(n_rows)]
    X: Any = np.zeros((n_rows, layout.n_features))
    if layout.is_sparse:
        X = sparse.csr_matrix(X)
    elif layout.feature_names is not None or categories:
        X = pd.DataFrame(X, columns=layout.feature_names)
    for position, occurring in zip(layout.categorical, categories, strict=True):
        codes = np.append(occurring.codes, np.full(n_rows - len(occurring), -1))
        X.isetitem(position, pd.Categorical.from_codes(codes, dtype=occurring.dtype))
    Y: Any = np.where([summary.is_known for summary in summaries], 0.0, np.nan)
    if layout.labels_are_named:
        Y = pd.DataFrame(Y, columns=layout.label_names)
    weight = np.array([float(summary.counts) for summary in summaries])
    return X, Y, weight


def positive_bits(Y: Labels, absent: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Tell which labels are positive, in a bit each.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown, which is not positive.
    absent : bool array of shape (n_labels,)
        Labels that count as absent.

    Returns
    -------
    uint8 array of shape (n_samples, n_labels / 8, rounded up)
        For `deal_folds`.
    """
    return np.packbits((Y == 1) & ~absent, axis=1)


def deal_folds(
    bits: Sequence[NDArray[np.uint8]], n_labels: int, n_folds: int, seed: int | None
) -> list[NDArray[np.intp]]:
    """Deal all rows out to folds, as they are dealt out in memory. Runs on one worker.

    Parameters
    ----------
    bits : sequence of uint8 arrays
        What `positive_bits` makes of all rows, in their order.
    n_labels : int
        Number of labels.
    n_folds : int
        Number of folds.
    seed : int or None
        As :func:`xdcc.base.folds.stratified_folds` takes it.

    Returns
    -------
    list of int arrays
        Fold of each row, an array for each of those in `bits`.

    Raises
    ------
    ValueError
        If there are not as many rows as folds.
    """
    positive = np.unpackbits(np.concatenate(bits), axis=1, count=n_labels).astype(bool)
    ends = np.cumsum([len(part) for part in bits])
    return np.split(stratified_folds(positive, n_folds, seed), ends[:-1])


def draw_positions(
    lengths: Sequence[int], n_drawn: int, seed: int | None
) -> list[NDArray[np.intp]]:
    """Draw rows at random, all if there are not more than asked for.

    Parameters
    ----------
    lengths : sequence of int
        Number of rows of each part.
    n_drawn : int
        Number of rows to draw at most.
    seed : int or None
        Of the draw.

    Returns
    -------
    list of int arrays
        Ascending positions in each part.
    """
    drawn = np.sort(np.random.RandomState(seed).permutation(sum(lengths))[:n_drawn])
    ends = np.cumsum(lengths)
    parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
    return [part - (end - length) for part, end, length in zip(parts, ends, lengths, strict=True)]


def join_measured_chunks(
    chunks: Sequence[tuple[int, Any, Any, None]], estimator: DynamicChainClassifier
) -> tuple[Features, Labels] | None:
    """Check chunks of rows to measure on and put them together. Runs on a worker.

    Parameters
    ----------
    chunks : sequence of tuples (number, X, Y, None)
        As for `join_chunks`.
    estimator : DynamicChainClassifier
        Has seen the summaries of the training rows.

    Returns
    -------
    tuple (features, labels) or None
        None if no chunk has a row.

    Raises
    ------
    ValueError
        If a chunk is not what the estimator takes; the message says which.
    """
    checked = []
    for number, X, Y, _ in chunks:
        try:
            if max(X.shape[0], Y.shape[0]) > 0:
                features = check_features(estimator, X)
                labels = check_labels_as_in_fit(estimator, _as_matrix(Y))
                check_consistent_length(features, labels)
                checked.append(FitData(features, labels, None))
        except ValueError as error:
            raise ValueError(f"Chunk {number} of the rows: {error}") from error
    return concatenate(checked)[:2] if checked else None


def _n_rows(chunk: tuple[int, Any, Any, Any]) -> int:
    _, X, Y, _ = chunk
    return max(X.shape[0], Y.shape[0])


def _check_chunk(
    number: int, X: Any, Y: Any, sample_weight: Any, sparse_zeros: SparseZeros
) -> tuple[FitData, Layout]:
    estimator = DynamicChainClassifier(sparse_zeros=sparse_zeros)
    try:
        checked_X = check_features(estimator, X, reset=True)
        # Chunks need not hold both classes of a target: one dimension is a label, 0 or 1.
        labels = check_labels(_as_matrix(Y))
        check_consistent_length(checked_X, labels.Y, sample_weight)
        weight = check_weight(sample_weight, len(labels.Y), some_positive=False)
    except ValueError as error:
        raise ValueError(f"Chunk {number} of the rows: {error}") from error
    feature_names = getattr(estimator, "feature_names_in_", None)
    categorical = tuple(getattr(estimator, "categories_", ()))
    layout = Layout(
        chunk=number,
        is_sparse=sparse.issparse(checked_X),
        n_features=checked_X.shape[1],
        feature_names=None if feature_names is None else tuple(feature_names),
        categorical=categorical,
        label_names=tuple(labels.learned["label_names_"]),
        labels_are_named=labels.learned["_labels_are_named"],
    )
    return FitData(X if categorical else checked_X, labels.Y, weight), layout


def _stack(parts: Sequence[Any]) -> Any:
    if sparse.issparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))
    if not isinstance(parts[0], pd.DataFrame):
        return np.concatenate(parts)
    stacked = pd.concat(parts, ignore_index=True)
    for position, dtype in enumerate(parts[0].dtypes):
        if isinstance(dtype, pd.CategoricalDtype):  # pandas forgets it if the parts' types differ
            column = _union([part.iloc[:, position].array for part in parts])
            stacked.isetitem(position, column)
    return stacked


def _union(parts: Sequence[pd.Categorical]) -> pd.Categorical:
    try:
        return union_categoricals(list(parts), ignore_order=True)
    except TypeError as error:
        types = dict.fromkeys(str(part.categories.dtype) for part in parts)
        raise ValueError(
            f"The chunks differ: a column has categories of the types {', '.join(types)}."
        ) from error


def _as_matrix(Y: Any) -> Any:
    if isinstance(Y, pd.Series):
        return Y.to_frame()
    return Y.reshape(-1, 1) if Y.ndim == 1 else Y


def _storage(layout: Layout) -> str:
    return "a sparse X" if layout.is_sparse else "a dense X"


type Chunk = tuple[int, Delayed, Delayed, Delayed | None]
"""Number of a chunk, and its part of X, Y and the weights."""


def is_collection(data: object) -> bool:
    """Whether data are a Dask array, DataFrame or Series.

    Parameters
    ----------
    data : object
        Anything.

    Returns
    -------
    bool
        Whether they are.
    """
    return isinstance(data, da.Array | dd.DataFrame | dd.Series)


def place_rows(
    client: Client, X: Any, Y: Any, sample_weight: Any, sparse_zeros: SparseZeros
) -> tuple[list[Future], list[Summary]]:
    """Let workers compute and check chunks of rows: the first worker the first chunks, and so on.

    Every worker gets the same number of chunks, or one more. With fewer chunks than workers some
    get none, and so have no part in what follows; nor has a worker whose chunks are empty.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one.
    X : Dask array or DataFrame of shape (n_samples, n_features)
        Features, in chunks of rows.
    Y : Dask array, DataFrame or Series of shape (n_samples, n_labels) or (n_samples,)
        Labels, in the same chunks.
    sample_weight : Dask array or Series of shape (n_samples,), or None
        Weights, in the same chunks.
    sparse_zeros : {"missing", "zero"}
        What an entry means that a sparse X does not store.

    Returns
    -------
    rows : list of Future
        The `WorkerRows` of the workers, in the order of the rows.
    summaries : list of Summary
        What is to be known of each: where they lie too. That can be one worker for several, where
        the rows of a worker that has ended came to another one.

    Raises
    ------
    TypeError
        If one is no Dask collection.
    ValueError
        If they are not in the same chunks of rows, or have no row; if a chunk is bad.
    RuntimeError
        If there is no worker.
    """
    chunks = _aligned_chunks(X, Y, sample_weight)
    addresses = sorted(client.nthreads())[: len(chunks)]
    if not addresses:
        raise RuntimeError("The Dask cluster has no worker to train on.")
    placed = _place(client, join_chunks, chunks, sparse_zeros, addresses)
    # One after the other: of several errors the one in the first chunks is reported.
    summaries = [task.result() for task in client.map(_summary, placed, pure=False)]
    held = [
        (rows, summary)
        for rows, summary in zip(placed, summaries, strict=True)
        if summary is not None
    ]
    if not held:
        raise ValueError("X has no rows: all its chunks are empty.")
    return [rows for rows, _ in held], [summary for _, summary in held]


def place_measured_rows(
    client: Client, X: Any, Y: Any, estimator: DynamicChainClassifier, addresses: Sequence[str]
) -> list[Future]:
    """Let workers compute and check chunks of rows to measure on, as `place_rows` does.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one.
    X, Y : Dask collections
        As for `place_rows`.
    estimator : DynamicChainClassifier
        Has seen the summaries of the training rows.
    addresses : sequence of str
        The workers that train.

    Returns
    -------
    list of Future
        Features and labels, or None, for the first workers: not more than there are chunks.

    Raises
    ------
    TypeError
        If one is no Dask collection.
    ValueError
        If they are not in the same chunks of rows; if a chunk is bad.
    """
    chunks = _aligned_chunks(X, Y, None)
    placed = _place(client, join_measured_chunks, chunks, estimator, addresses[: len(chunks)])
    # One after the other: of several errors the one in the first chunks is reported.
    if not any([task.result() for task in client.map(_has_rows, placed, pure=False)]):
        raise ValueError("X has no rows: all its chunks are empty.")
    return placed


def map_rows(
    function: Callable[[Any, Any], np.ndarray],
    model: Any,
    X: Any,
    *,
    n_features: int,
    shape: tuple[int, ...],
    dtype: DTypeLike,
) -> da.Array:
    """Apply a function to every chunk of rows, lazily.

    Parameters
    ----------
    function : callable
        ``function(model, chunk)`` returns an array of shape (n_rows, *shape).
    model : object
        Sent along once.
    X : Dask array or DataFrame of shape (n_samples, n_features)
        In chunks of rows.
    n_features : int
        Number of columns that X should have.
    shape : tuple of int
        Shape of a row's result.
    dtype : dtype
        Type of the result.

    Returns
    -------
    Dask array of shape (n_samples, *shape)
        In the chunks of X. Where X does not know their lengths, neither does the result.

    Raises
    ------
    ValueError
        If X is chunked along columns too, or has another number of them.
    """
    _require_chunks_of_rows("X", X, (2,))
    if X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but {n_features} are expected.")
    sent = dask.delayed(model, pure=False)
    apply = dask.delayed(_apply, pure=False)
    return da.concatenate(
        [
            da.from_delayed(
                apply(function, sent, chunk, shape, dtype), shape=(length, *shape), dtype=dtype
            )
            for chunk, length in zip(_chunks(X), _lengths(X), strict=True)
        ],
        allow_unknown_chunksizes=True,
    )


def _place(
    client: Client,
    join: Callable[..., object],
    chunks: Sequence[Chunk],
    argument: object,
    addresses: Sequence[str],
) -> list[Future]:
    """Give every worker the same number of chunks, or one more, and join them there."""
    ends = [len(chunks) * i // len(addresses) for i in range(len(addresses) + 1)]
    return [
        # Should the worker end before the training begins, another one takes its rows.
        client.compute(
            dask.delayed(join, pure=False)(chunks[begin:end], argument),
            workers=[address],
            allow_other_workers=True,
        )
        for address, (begin, end) in zip(addresses, pairwise(ends), strict=True)
    ]


def _aligned_chunks(X: Any, Y: Any, sample_weight: Any) -> list[Chunk]:
    _require_chunks_of_rows("X", X, (2,))
    _require_same_rows(X, "Y", Y, (1, 2))
    weights: Sequence[Delayed | None] = [None] * len(_lengths(X))
    if sample_weight is not None:
        _require_same_rows(X, "sample_weight", sample_weight, (1,))
        weights = _chunks(sample_weight)
    return list(zip(range(len(weights)), _chunks(X), _chunks(Y), weights, strict=True))


def _require_same_rows(X: Any, name: str, other: Any, dimensions: tuple[int, ...]) -> None:
    _require_chunks_of_rows(name, other, dimensions)
    lengths, other_lengths = _lengths(X), _lengths(other)
    advice = "rechunk or repartition one of them."
    if len(lengths) != len(other_lengths):
        raise ValueError(
            f"X has {len(lengths)} chunks of rows, {name} has {len(other_lengths)}: {advice}"
        )
    for number, (length, other_length) in enumerate(zip(lengths, other_lengths, strict=True)):
        # A length that is not known (NaN) is compared when the chunk is checked.
        if not np.isnan([length, other_length]).any() and length != other_length:
            raise ValueError(
                f"Chunk {number} has {length} rows of X and {other_length} of {name}: {advice}"
            )


def _require_chunks_of_rows(name: str, data: Any, dimensions: tuple[int, ...]) -> None:
    if not is_collection(data):
        raise TypeError(
            f"{name} is a {type(data).__name__}, but has to be a Dask array or DataFrame "
            "(dask.array.from_array makes one). For data in memory there is "
            "xdcc.chain.DynamicChainClassifier."
        )
    if data.ndim not in dimensions:
        wanted = " or ".join(str(n) for n in dimensions)
        raise ValueError(f"{name} has {data.ndim} dimensions; it has to have {wanted}.")
    if isinstance(data, da.Array) and data.ndim == 2 and data.numblocks[1] > 1:
        raise ValueError(
            f"{name} is cut into {data.numblocks[1]} chunks of columns; every chunk has to hold "
            f"whole rows: use {name}.rechunk({{1: -1}})."
        )


def _chunks(data: Any) -> list[Delayed]:
    parts = data.to_delayed()
    return parts.ravel().tolist() if isinstance(data, da.Array) else parts


def _lengths(data: Any) -> tuple[float, ...]:
    return data.chunks[0] if isinstance(data, da.Array) else (np.nan,) * data.npartitions


def _has_rows(rows: object) -> bool:
    return rows is not None


def _summary(rows: WorkerRows | None) -> Summary | None:
    return None if rows is None else rows.summary


def _apply(
    function: Callable[[Any, Any], np.ndarray],
    model: Any,
    chunk: Any,
    shape: tuple[int, ...],
    dtype: DTypeLike,
) -> np.ndarray:
    return np.empty((0, *shape), dtype) if chunk.shape[0] == 0 else function(model, chunk)
