"""The training rows of the candidates: written once, read by every process.

A process reads plain arrays from a file, so the memory of the training does not include that of
parsing, and all candidates have the same numbers.

Besides the names of `xdcc.data` there are synthetic data of any size, dense features of
`xdcc.data.make_multilabel`, by names like `synthetic-5000x100x20`: rows, features, labels. In
`independent-20000x50x30` each label depends on four random features, and on no other label.

Y of `targets-20000x50x30` are 30 numeric targets, that of `classes-20000x50x10` a column of ten
classes, as in `digits classes`. The names of `TARGETS` are data sets of the Mulan collection, files
`multi-target/NAME.arff` in XDCC_DATA.

In the comparisons of quality a data set has three parts (`write_parts`). A random third of the
training rows is held out: their log-loss decides when a candidate has reached the target, and which
of its settings is the fastest. Test rows are used only afterwards. Data without a test part, and
synthetic data, are divided into one half for fitting and two quarters. Labels that are constant in
the rows for fitting are left out: they cannot be learned, and CatBoost rejects them. In the form
`published split`, the training part is used for fitting, and the test part as both other parts.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_digits

from xdcc.data import dataset_names, load_dataset, make_multilabel
from xdcc.data.registry import DATASETS

type Storage = Literal["dense", "csr", "as published", "in parts", "published split"]
type Features = NDArray[np.float32] | sp.csr_matrix
type Labels = NDArray[np.float32]
type Kind = Literal["labels", "targets", "classes"]

TARGETS = {"atp1d": 6, "atp7d": 6, "oes97": 16, "oes10": 16, "wq": 14}
"""Data sets of numeric targets, and how many: the last columns of their files."""

_SYNTHETIC = re.compile(r"(synthetic|independent|targets|classes)-([1-9]\d*)x([1-9]\d*)x([1-9]\d*)")
_RELEVANT = 4  # features of an independent label
_STEEPNESS = 3.0  # of its probability in their combination


def synthetic_shape(name: str) -> tuple[int, int, int] | None:
    """Return the rows, features and labels of synthetic data, None for another name."""
    match = _SYNTHETIC.fullmatch(name)
    return None if match is None else (int(match[2]), int(match[3]), int(match[4]))


def kind_of(name: str) -> Kind:
    """Return the kind of the columns of Y in a data set."""
    if name in TARGETS or name.startswith("targets-"):
        return "targets"
    return "classes" if name.startswith("classes-") or name == "digits classes" else "labels"


def check_name(name: str) -> None:
    """Check that there is a data set of this name.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    if name not in {*dataset_names(), *TARGETS, "digits classes"} and not synthetic_shape(name):
        raise ValueError(
            f"unknown data set {name!r}; expected one of {', '.join(dataset_names())} and "
            "synthetic-ROWSxFEATURESxLABELS (or independent-, targets-, classes-)"
        )


def next_to_nothing(kind: Kind = "labels") -> tuple[NDArray[np.float32], Labels]:
    """Return tiny arrays for a warm-up training, for the work that a process does only once."""
    X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
    if kind == "classes":
        return X, (X > 0).sum(axis=1, keepdims=True).astype(np.float32)
    return X, X if kind == "targets" else (X > 0).astype(np.float32)


def write_arrays(name: str, storage: Storage, seed: int, file: Path) -> None:
    """Write a data set's training rows as float32 arrays to an `.npz`.

    Raises
    ------
    ValueError
        For an unknown name.
    FileNotFoundError
        If the data set's files are missing.
    """
    check_name(name)
    X, Y = load_training_rows(name, seed)
    arrays: dict[str, NDArray[np.generic]] = {"Y": np.ascontiguousarray(Y, np.float32)}
    if storage == "csr" or (storage == "as published" and sp.issparse(X)):
        csr = sp.csr_matrix(X, dtype=np.float32)
        arrays |= {"values": csr.data, "columns": csr.indices, "row_ptr": csr.indptr}
        arrays["shape"] = np.array(csr.shape)
    else:
        arrays["X"] = as_dense(X)
    np.savez(file, allow_pickle=False, **arrays)


def as_dense(X: NDArray[np.floating] | sp.csr_array) -> NDArray[np.float32]:
    """Return a C-contiguous array in single precision."""
    dense = X.toarray() if isinstance(X, sp.csr_array) else X
    return np.ascontiguousarray(dense, np.float32)


def read_arrays(file: Path) -> tuple[Features, Labels]:
    """Read what `write_arrays` wrote."""
    with np.load(file) as arrays:
        Y = arrays["Y"]
        if "X" in arrays:
            return arrays["X"], Y
        parts = arrays["values"], arrays["columns"], arrays["row_ptr"]
        return sp.csr_matrix(parts, shape=tuple(arrays["shape"])), Y


def load_training_rows(
    name: str, seed: int, n_rows: int | None = None
) -> tuple[NDArray[np.float64] | sp.csr_array, NDArray[np.generic]]:
    """Load features and labels of a data set's training part, or of all rows if it has one file.

    `n_rows` replaces the number of rows in the name of synthetic data.
    """
    shape = synthetic_shape(name)
    if shape and name.startswith("independent"):
        return _independent_labels(n_rows or shape[0], *shape[1:], seed)
    if shape and kind_of(name) != "labels":
        X, Y = _targets(n_rows or shape[0], *shape[1:], seed)
        return X, Y if kind_of(name) == "targets" else Y.argmax(axis=1, keepdims=True)
    if name in TARGETS:
        file = Path(os.environ.get("XDCC_DATA", "."), "multi-target", f"{name}.arff")
        rows = np.array(arff.loadarff(file)[0].tolist(), np.float64)
        return rows[:, : -TARGETS[name]], rows[:, -TARGETS[name] :]
    if name == "digits classes":
        return load_digits().data, load_digits().target[:, np.newaxis]
    if shape:
        made = make_multilabel(n_rows or shape[0], *shape[1:], random_state=seed)
        return made.X, made.Y
    info = DATASETS.get(name)
    loaded = load_dataset(name, "train" if info is None or info.n_test else None)
    return loaded.X, loaded.Y


def _independent_labels(
    n_samples: int, n_features: int, n_labels: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Make independent labels.

    The probability of each is logistic in the sum of two features and the product of two others.
    """
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, n_features))
    Y = np.empty((n_samples, n_labels), dtype=bool)
    for label in range(n_labels):
        a, b, c, d = X[:, random.choice(n_features, _RELEVANT, replace=False)].T
        probability = 1 / (1 + np.exp(-_STEEPNESS * (a + b + c * d)))
        Y[:, label] = random.random(n_samples) < probability
    return X, Y


def _targets(
    n_samples: int, n_features: int, n_targets: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make targets that share a few factors, each of some features, and have noise of their own."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, n_features))
    n_factors = max(4, n_targets // 3)
    chosen = random.integers(n_features, size=(3, n_factors))
    a, b, c = (X[:, columns] for columns in chosen)
    factors = a + np.sin(2 * b) + a * c
    shares = random.normal(size=(n_factors, n_targets))
    signal = factors @ shares / np.sqrt(n_factors)
    return X, signal + random.normal(size=signal.shape)


@dataclass(frozen=True)
class Rows:
    """Features and labels of some rows."""

    X: NDArray[np.float32]
    Y: Labels


@dataclass(frozen=True)
class Parts:
    """A data set in three parts."""

    fit: Rows
    held_out: Rows
    test: Rows
    sparse: bool  # in the data set's file


def write_parts(name: str, storage: Storage, seed: int, file: Path) -> None:
    """Write a data set in parts to an `.npz`; the seed also draws rows.

    Raises
    ------
    ValueError
        For an unknown name, or if the published test part is needed and missing.
    FileNotFoundError
        If the data set's files are missing.
    """
    parts, sparse = _parts(name, storage, seed)
    fit_Y = parts["fit"][1]
    varies = fit_Y.min(axis=0) < fit_Y.max(axis=0)
    arrays = {"sparse": np.array(sparse)}
    for part, (X, Y) in parts.items():
        arrays[f"{part} X"], arrays[f"{part} Y"] = X, Y[:, varies]
    np.savez(file, allow_pickle=False, **arrays)


def read_parts(file: Path) -> Parts:
    """Read what `write_parts` wrote."""
    with np.load(file) as arrays:
        fit, held_out, test = (
            Rows(arrays[f"{part} X"], arrays[f"{part} Y"]) for part in ("fit", "held out", "test")
        )
        return Parts(fit, held_out, test, bool(arrays["sparse"]))


type _Arrays = tuple[NDArray[np.float32], NDArray[np.float32]]


def _parts(name: str, storage: Storage, seed: int) -> tuple[dict[str, _Arrays], bool]:
    random = np.random.default_rng(seed)
    info = DATASETS.get(name)
    has_test = info is not None and info.n_test > 0
    if storage == "published split" and not has_test:
        raise ValueError(f"{name} has no test part")
    synthetic = synthetic_shape(name)
    loaded, Y = load_training_rows(name, seed, 2 * synthetic[0] if synthetic else None)
    X, labels, sparse = as_dense(loaded), Y.astype(np.float32), sp.issparse(loaded)
    order = random.permutation(len(X))
    if has_test:
        published = load_dataset(name, "test")
        test = as_dense(published.X), published.Y.astype(np.float32)
        if storage == "published split":
            return {"fit": (X, labels), "held out": test, "test": test}, sparse
        fit, held_out = np.split(order, [len(X) * 2 // 3])
    else:
        fit, held_out, tested = np.split(order, [len(X) // 2, len(X) * 3 // 4])
        test = X[tested], labels[tested]
    parts = {
        "fit": (X[fit], labels[fit]),
        "held out": (X[held_out], labels[held_out]),
        "test": test,
    }
    return parts, sparse
