"""Digests of what a data set holds, to tell whether it is the one that was published.

They are taken of what was read, not of bytes of files, so that line ends or a comment in a copy do
not count. `content_digest` covers everything. `label_digest` covers the labels only and does not
depend on the order of rows and labels, on names or on how numbers are spelled: it compares data
sets that went through another program's hands.
"""

import hashlib
import json
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.dataset import Labels, MultiLabelDataset


def content_digest(dataset: MultiLabelDataset) -> str:
    """Return the SHA-256 of features, labels, their names and types, and weights, in hexadecimal.

    Parameters
    ----------
    dataset : MultiLabelDataset
        Its `name` and `dropped` do not count.

    Examples
    --------
    >>> from xdcc.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> content_digest(digits) == content_digest(digits[:])
    True
    >>> content_digest(digits) == content_digest(digits[::-1])
    False
    """
    names = [dataset.feature_names, dataset.categories, dataset.label_names]
    arrays: list[NDArray[np.generic]] = [dataset.Y]
    X = dataset.X
    if isinstance(X, sparse.csr_array):
        rows = X.sorted_indices()
        arrays += [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
    else:
        arrays.append(X)
    if dataset.sample_weight is not None:
        arrays.append(dataset.sample_weight)
    return _sha256(json.dumps([X.shape, *names]), arrays)


def label_digest(Y: Labels) -> str:
    """Return a SHA-256 of labels in whatever order, in hexadecimal.

    Parameters
    ----------
    Y : int8 array of shape (n_samples, n_labels)
        Zeros and ones.

    Returns
    -------
    str
        Of how many rows have how many labels, how many rows each label has, and how many each
        pair of labels.

    Examples
    --------
    >>> from xdcc.data import load_dataset
    >>> Y = load_dataset("digits").Y
    >>> label_digest(Y) == label_digest(Y[::-1, ::-1])
    True
    >>> label_digest(Y) == label_digest(1 - Y)
    False
    """
    positives = sparse.csr_array(Y, dtype=np.int64)
    in_rows = np.sort(positives.sum(axis=1))
    in_pairs = (positives.T @ positives).toarray()
    on_diagonal = np.sort(in_pairs.diagonal())
    return _sha256(json.dumps(Y.shape), [in_rows, on_diagonal, np.sort(in_pairs, axis=None)])


def _sha256(text: str, arrays: Iterable[NDArray[np.generic]]) -> str:
    digest = hashlib.sha256(text.encode())
    for array in arrays:
        little_endian = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(little_endian.data)
    return digest.hexdigest()
