"""The arrays that candidates are trained on: written once, read by every child process.

A child reads plain arrays from a file, so that nothing that parsing needs counts as memory of the
training, and so that all candidates get the same numbers.

Beside the names of `xdcc.data` there is synthetic data of any size, dense features of
`xdcc.data.make_multilabel`, by names like `synthetic-5000x100x20`: rows, features, labels.
"""

import re
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from speed_driver.job import Storage
from xdcc.data import MultiLabelDataset, dataset_names, load_dataset, make_multilabel
from xdcc.data.registry import DATASETS

type Features = NDArray[np.float32] | sp.csr_matrix
type Labels = NDArray[np.float32]

_SYNTHETIC = re.compile(r"synthetic-([1-9]\d*)x([1-9]\d*)x([1-9]\d*)")


def synthetic_shape(name: str) -> tuple[int, int, int] | None:
    """Return the rows, features and labels of synthetic data, None for another name."""
    match = _SYNTHETIC.fullmatch(name)
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


def check_name(name: str) -> None:
    """Check that there is a data set of this name.

    Raises
    ------
    ValueError
        If there is none.
    """
    if name not in dataset_names() and synthetic_shape(name) is None:
        raise ValueError(
            f"unknown data set {name!r}; known are {', '.join(dataset_names())} and "
            "synthetic-ROWSxFEATURESxLABELS"
        )


def next_to_nothing() -> tuple[NDArray[np.float32], Labels]:
    """Make arrays to train on before a measurement: what a process does only once is done then.

    Returns
    -------
    X : float32 array of shape (64, 2)
    Y : float32 array of shape (64, 2)
    """
    X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    return X, (X > 0).astype(np.float32)


def write_arrays(name: str, storage: Storage, seed: int, file: Path) -> None:
    """Write a data set's training rows as float32 arrays.

    Parameters
    ----------
    name : str
        Of the data set. If it is published in one file, all of its rows are training rows.
    storage : {"dense", "csr", "as published"}
        See `Job`.
    seed : int
        Of synthetic data.
    file : Path
        Where to, an `.npz`.

    Raises
    ------
    ValueError
        For an unknown name.
    FileNotFoundError
        If the data set's files are not there.
    """
    check_name(name)
    dataset = _load(name, seed)
    X = dataset.X
    arrays: dict[str, NDArray[np.generic]] = {"Y": np.ascontiguousarray(dataset.Y, np.float32)}
    if storage == "csr" or (storage == "as published" and sp.issparse(X)):
        csr = sp.csr_matrix(X, dtype=np.float32)
        arrays |= {"values": csr.data, "columns": csr.indices, "row_ptr": csr.indptr}
        arrays["shape"] = np.array(csr.shape)
    else:
        dense = X.toarray() if isinstance(X, sp.csr_array) else X
        arrays["X"] = np.ascontiguousarray(dense, np.float32)
    np.savez(file, allow_pickle=False, **arrays)


def read_arrays(file: Path) -> tuple[Features, Labels]:
    """Read what `write_arrays` wrote.

    Returns
    -------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
    Y : float32 array of shape (n_samples, n_labels)
    """
    with np.load(file) as arrays:
        Y = arrays["Y"]
        if "X" in arrays:
            return arrays["X"], Y
        parts = arrays["values"], arrays["columns"], arrays["row_ptr"]
        return sp.csr_matrix(parts, shape=tuple(arrays["shape"])), Y


def _load(name: str, seed: int) -> MultiLabelDataset:
    if shape := synthetic_shape(name):
        return make_multilabel(*shape, random_state=seed)
    info = DATASETS.get(name)
    return load_dataset(name, "train" if info is None or info.n_test else None)
