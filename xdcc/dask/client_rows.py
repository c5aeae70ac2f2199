"""The client's side of rows in Dask collections: give chunks to workers.

The client places chunks of rows on workers, which check them and put them together
(``worker_rows.py``), and applies functions to chunks when something is predicted.
"""

from collections.abc import Callable, Sequence
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
from scipy import sparse

from xdcc.base.features import SparseZeros
from xdcc.base.groups import column_of_groups
from xdcc.chain import DynamicChainClassifier
from xdcc.dask.worker_rows import (
    Summary,
    WorkerRows,
    join_chunks,
    join_measured_chunks,
    require_same_layout,
    union,
)

type Chunk = tuple[int, Delayed, Delayed, Delayed | None, Delayed | None]
"""Number of a chunk, and its part of X, Y, the weights and the groups."""


def is_collection(data: object) -> bool:
    """Tell whether data are a Dask array, DataFrame or Series."""
    return isinstance(data, da.Array | dd.DataFrame | dd.Series)


def place_rows(
    client: Client,
    X: Any,
    Y: Any,
    sample_weight: Any,
    sparse_zeros: SparseZeros,
    groups: Any = None,
) -> tuple[list[Future], list[Summary]]:
    """Let workers compute and check chunks of rows: the first worker the first chunks, and so on.

    Every worker gets the same number of chunks, or one more. With fewer chunks than workers some
    get none and take no further part; neither do workers whose chunks are empty.

    Parameters
    ----------
    client : distributed.Client
        A synchronous one.
    X : Dask array or DataFrame of shape (n_samples, n_features)
        Features, in chunks of rows.
    Y : Dask array, DataFrame or Series of shape (n_samples, n_labels) or (n_samples,)
        Labels, in the same chunks.
    sample_weight : Dask array, Series or DataFrame of shape (n_samples,) or \
(n_samples, n_labels), or None
        Weights of rows or entries, in the same chunks.
    sparse_zeros : {"missing", "zero"}
        Meaning of an entry that a sparse X does not store.
    groups : Dask array or Series of shape (n_samples,), str or None
        Groups of the rows, in the same chunks, or the column of X that has them.

    Returns
    -------
    rows : list of Future
        The `WorkerRows` of the workers, in the order of the rows.
    summaries : list of Summary
        Their summaries. Several can be from the same worker, if a worker ended and its rows were
        given to another one.

    Raises
    ------
    TypeError
        If an argument is not a Dask collection.
    ValueError
        If they are not in the same chunks of rows, have no row, or a chunk is invalid.
    RuntimeError
        If there is no worker.
    """
    chunks = _aligned_chunks(X, Y, sample_weight, groups)
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
    """Let workers compute and check chunks of an evaluation set, as `place_rows` does.

    The estimator has seen the summaries of the training rows. Returns features and labels (or None)
    of the workers at `addresses`: of the first ones, if there are fewer chunks than workers.
    """
    chunks = _aligned_chunks(X, Y, None, None)
    placed = _place(client, join_measured_chunks, chunks, estimator, addresses[: len(chunks)])
    # One after the other: of several errors the one in the first chunks is reported.
    if not any([task.result() for task in client.map(_is_there, placed, pure=False)]):
        raise ValueError("X has no rows: all its chunks are empty.")
    return placed


def stand_ins(summaries: Sequence[Summary]) -> tuple[Any, Any, NDArray[np.float64]]:
    """Make data that stand for all rows where only names matter, and what is known.

    Parameters
    ----------
    summaries : sequence of Summary
        Summaries that cover all rows.

    Returns
    -------
    X : float array, CSR matrix or DataFrame of shape (n_stand_ins, n_features)
        With the names of the features, if they have some; sparse if the rows are. Categorical
        columns hold all categories that occur.
    Y : float array or DataFrame of shape (n_stand_ins, n_labels)
        Not NaN where the rows of a summary know the label. A DataFrame if the labels have names.
    sample_weight : float array of shape (n_stand_ins,)
        Positive where a row of the summary has weight.

    Raises
    ------
    ValueError
        If the rows differ in their columns.
    """
    layout = require_same_layout(summary.layout for summary in summaries)
    categories = [
        union(of_all).unique()
        for of_all in zip(*(summary.categories for summary in summaries), strict=True)
    ]
    # At least one for each summary, and two for each category of a column, which so is no
    # identifier of rows.
    n_rows = max([len(summaries), *(2 * len(of_column) for of_column in categories)])
    summaries = [summaries[i % len(summaries)] for i in range(n_rows)]
    X: Any = np.zeros((n_rows, layout.n_features))
    if layout.is_sparse:
        X = sparse.csr_matrix(X)
    elif layout.feature_names is not None or categories:
        X = pd.DataFrame(X, columns=layout.feature_names)
    for position, occurring in zip(layout.categorical, categories, strict=True):
        codes = np.full(n_rows, -1)
        codes[: 2 * len(occurring)] = np.tile(occurring.codes, 2)
        X.isetitem(position, pd.Categorical.from_codes(codes, dtype=occurring.dtype))
    Y: Any = np.where([summary.is_known for summary in summaries], 0.0, np.nan)
    if layout.labels_are_named:
        Y = pd.DataFrame(Y, columns=layout.label_names)
    weight = np.array([float(summary.counts) for summary in summaries])
    return X, Y, weight


def draw_positions(
    lengths: Sequence[int], n_drawn: int, seed: int | None
) -> list[NDArray[np.intp]]:
    """Draw rows at random: ascending positions in each part, all if no more are there."""
    drawn = np.sort(np.random.RandomState(seed).permutation(sum(lengths))[:n_drawn])
    ends = np.cumsum(lengths)
    parts = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
    return [part - (end - length) for part, end, length in zip(parts, ends, lengths, strict=True)]


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


def _aligned_chunks(X: Any, Y: Any, sample_weight: Any, groups: Any) -> list[Chunk]:
    _require_chunks_of_rows("X", X, (2,))
    _require_same_rows(X, "Y", Y, (1, 2))
    if isinstance(groups, str):
        groups = column_of_groups(groups, X)
    of_rows: list[Sequence[Delayed | None]] = []
    for name, column, axes in (
        ("sample_weight", sample_weight, (1, 2)),
        ("groups", groups, (1,)),
    ):
        if column is not None:
            _require_same_rows(X, name, column, axes)
        of_rows.append([None] * len(_lengths(X)) if column is None else _chunks(column))
    return list(zip(range(len(_lengths(X))), _chunks(X), _chunks(Y), *of_rows, strict=True))


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
            f"{name} is a {type(data).__name__}, but must be a Dask array or DataFrame; "
            "dask.array.from_array makes one. For data in memory, use the estimator without Dask."
        )
    if data.ndim not in dimensions:
        wanted = " or ".join(str(n) for n in dimensions)
        raise ValueError(f"{name} has {data.ndim} dimensions; it must have {wanted}.")
    if isinstance(data, da.Array) and data.ndim == 2 and data.numblocks[1] > 1:
        raise ValueError(
            f"{name} is cut into {data.numblocks[1]} chunks of columns; every chunk must hold "
            f"whole rows: use {name}.rechunk({{1: -1}})."
        )


def _chunks(data: Any) -> list[Delayed]:
    parts = data.to_delayed()
    return parts.ravel().tolist() if isinstance(data, da.Array) else parts


def _lengths(data: Any) -> tuple[float, ...]:
    return data.chunks[0] if isinstance(data, da.Array) else (np.nan,) * data.npartitions


def _is_there(rows: object) -> bool:
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
