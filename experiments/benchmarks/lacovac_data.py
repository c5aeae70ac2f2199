"""The data sets of the LaCovaC paper in the form in which its numbers come out.

`folds` gives the parts for training and testing: ten blocks of rows in the order of the whole
published files, or Mulan's split for the two largest data sets. Our files hold the training part
first, then the test part; the whole files (github.com/tsoumakas/mulan, commit 43f6389) of five data
sets have another order, which `lacovac_row_order.json` holds as row numbers. There is no whole file
of birds, but both parts keep its order: they go through the recording stations in rising order,
four times, and are merged here accordingly. `two_values` cuts features at their means.
`lacovac_notes.md` says what all this changes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import KFold

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

_ROW_ORDER = Path(__file__).with_name("lacovac_row_order.json")


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
    column = data.feature_names.index("location")
    numbers = np.array(data.categories[column], dtype=np.intp)
    station = numbers[dense(data)[:, column].astype(np.intp)]
    n_train = KNOWN["birds"].n_train
    round_number = np.zeros(len(data), dtype=np.intp)
    position = np.zeros(len(data))
    for part in (slice(0, n_train), slice(n_train, None)):
        starts_again = np.diff(station[part], prepend=station[part][0]) < 0
        round_number[part] = np.cumsum(starts_again)
        position[part] = np.linspace(0, 1, len(starts_again))
    return np.lexsort((position, station, round_number))


def two_values(
    train: MultiLabelDataset, test: MultiLabelDataset
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cut every feature at its mean in the training part.

    Parameters
    ----------
    train, test : MultiLabelDataset
        Nominal features count as the numbers of their values. Missing values (there are none in
        these data sets) would be below the mean.

    Returns
    -------
    train, test : float32 arrays of shape (n_samples, n_features)
        1 where the value is above the mean, else 0.
    """
    train_X, test_X = dense(train), dense(test)
    mean = np.nanmean(train_X, axis=0, dtype=np.float64)
    return (train_X > mean).astype(np.float32), (test_X > mean).astype(np.float32)


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
