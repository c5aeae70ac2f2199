"""The data sets of the LaCovaC paper in the form in which its numbers come out.

`folds` gives the parts for training and testing: ten blocks of rows in the order of the whole
published files, or Mulan's split for the two largest data sets. Our files hold the training part
first, then the test part; the whole files (github.com/tsoumakas/mulan, commit 43f6389) of five data
sets have another order, which `lacovac_row_order.json` holds as row numbers. There is no whole file
of birds; its rows are put in the order of the recording stations in the files' header.
`two_values` cuts features at their means. `lacovac_notes.md` says what all this changes.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold

from experiments import PAPERS
from xdcc.base.features import Features
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.data.registry import DATASETS as KNOWN

N_FOLDS = 10

SPLIT = ("corel5k", "bibtex")
"""Data sets with a split for training and testing instead of cross-validation."""

DATASETS = (
    "flags",
    "emotions",
    "birds",
    "genbase",
    "medical",
    "cal500",
    "langlog",
    "scene",
    "yeast",
    "slashdot",
    "enron",
    "corel5k",
    "bibtex",
)

_SPARSE_BELOW = 0.1

_ROW_ORDER = PAPERS / "lacovac-2016" / "row_order.json"


class Fold(NamedTuple):
    """A part for training and a part for testing."""

    number: int
    train: MultiLabelDataset
    test: MultiLabelDataset


def folds(name: str) -> Iterator[Fold]:
    """Divide a data set.

    Parameters
    ----------
    name : str
        One of :data:`DATASETS`.

    Yields
    ------
    Fold
        Ten of them, or one for the data sets with a split.
    """
    if name in SPLIT:
        yield Fold(0, load_dataset(name, "train"), load_dataset(name, "test"))
        return
    data = load_dataset(name)
    data = data[whole_file_order(name, data)]
    for number, (train, test) in enumerate(KFold(N_FOLDS).split(np.arange(len(data)))):
        yield Fold(number, data[train], data[test])


def whole_file_order(name: str, data: MultiLabelDataset) -> NDArray[np.intp]:
    """Order of the rows in the whole published file.

    Parameters
    ----------
    name : str
        Name of the data set.
    data : MultiLabelDataset
        Its training part, then its test part.

    Returns
    -------
    int array of shape (n_samples,)
        Row numbers.
    """
    if name == "birds":
        return _merged_birds(data)
    order = json.loads(_ROW_ORDER.read_text()).get(name, range(len(data)))
    return np.array(order, dtype=np.intp)


def _merged_birds(data: MultiLabelDataset) -> NDArray[np.intp]:
    """Put birds in the order of the stations in the header, and of the rows in both parts."""
    station = dense(data)[:, data.feature_names.index("location")]
    n_train = KNOWN["birds"].n_train
    parts = (n_train, len(data) - n_train)
    position = np.concatenate([np.linspace(0, 1, n_rows) for n_rows in parts])
    return np.lexsort((position, station))


def two_values(train: MultiLabelDataset, test: MultiLabelDataset) -> tuple[Features, Features]:
    """Cut every feature at its mean in the training part.

    Parameters
    ----------
    train, test : MultiLabelDataset
        Nominal features count as the numbers of their values. There are no missing values.

    Returns
    -------
    train, test : float32 arrays or CSR matrices of shape (n_samples, n_features)
        1 where the value is above the mean, else 0; sparse where few are 1, on which scikit-learn's
        trees are faster.
    """
    mean = dense(train).mean(axis=0, dtype=np.float64)
    cut = [(dense(part) > mean).astype(np.float32) for part in (train, test)]
    if cut[0].mean() < _SPARSE_BELOW:
        cut = [sparse.csr_matrix(part) for part in cut]
    return cut[0], cut[1]


def dense(data: MultiLabelDataset) -> NDArray[np.float32]:
    """Features as a dense array; what a sparse matrix does not store is 0.

    Parameters
    ----------
    data : MultiLabelDataset

    Returns
    -------
    float32 array of shape (n_samples, n_features)
    """
    X: Any = data.X
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
