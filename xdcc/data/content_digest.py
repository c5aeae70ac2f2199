"""A digest of what a data set holds, to tell whether it is the one that was published.

It is taken of what was read, not of bytes of files, so that line ends or a comment in a copy do not
count.
"""

import hashlib
import json

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.dataset import MultiLabelDataset


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
    digest = hashlib.sha256(json.dumps([X.shape, *names]).encode())
    for array in arrays:
        little_endian = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(little_endian.data)
    return digest.hexdigest()
