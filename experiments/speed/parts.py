"""The parts of a data set in the comparisons of quality: to fit, held out, and to test.

A third of the training rows, drawn at random, is held out: on them stands what is enough, and who
gets there with which setting. Test rows are only ever looked at afterwards. Data without a test
part of their own, and synthetic data, are cut into a half to fit and two quarters. Labels that are
the same in all rows to fit are left out, as nobody can learn them, and CatBoost refuses them.

In the form `published split` the training part is to fit, and the test part stands for both others.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from experiments.speed.data import Labels, as_dense, load_training_rows, synthetic_shape
from experiments.speed.job import Storage
from xdcc.data import load_dataset
from xdcc.data.registry import DATASETS


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
        For an unknown name, or if a data set without a test part is wanted as it was published.
    FileNotFoundError
        If the data set's files are not there.
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
