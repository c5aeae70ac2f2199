"""Which rows are trained on and which are measured: the outer evaluation and the inner tuning.

An `Evaluation` divides a data set into pairs of a training and a test part, numbered from 0
(`n_parts`). For tuning, a training part is divided again (`Inner`); the test part has no influence
on that. Both are plain values, which go into the key of a record.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, ShuffleSplit

from experiments.engine.registry import DataSet
from xdcc.base.folds import stratified_folds
from xdcc.data import MultiLabelDataset

type Parts = tuple[MultiLabelDataset, MultiLabelDataset]

OWN_TEST_FOLDS = 3
"""A data set without a published split is tested on one of this many folds."""


@dataclass(frozen=True)
class Evaluation:
    """How a data set is divided into training and test parts.

    Attributes
    ----------
    type : {"train_test", "k_fold", "repeated"}
        The published split (where there is none: a third of the rows, dealt out by labels, to test
        on); folds of the whole data set, each of which is tested on once; or random parts.
    folds : int
        With `k_fold`: their number.
    assignment : {"stratified", "blocks"}
        With `k_fold`: folds are dealt out by labels, or blocks of rows in the file's order.
    repeats : int
        How often everything is done: with `k_fold` by folds from other seeds, with `repeated` by
        other random parts.
    train_share : float
        With `repeated`: the share of the rows that is trained on.
    seed : int
        Of folds and random parts.
    """

    type: Literal["train_test", "k_fold", "repeated"] = "train_test"
    folds: int = 10
    assignment: Literal["stratified", "blocks"] = "stratified"
    repeats: int = 1
    train_share: float = 2 / 3
    seed: int = 0

    @property
    def n_parts(self) -> int:
        """Number of pairs of a training and a test part."""
        if self.type == "train_test":
            return 1
        return self.repeats * (self.folds if self.type == "k_fold" else 1)

    def key(self) -> dict[str, object]:
        """Return what matters of this evaluation, for the key of a record."""
        fields = {
            "train_test": (),
            "k_fold": ("folds", "assignment", "seed"),
            "repeated": ("train_share", "seed"),
        }[self.type]
        return {"type": self.type} | {name: getattr(self, name) for name in fields}

    def parts(self, dataset: DataSet, number: int) -> Parts:
        """Load a data set and divide it.

        Parameters
        ----------
        dataset : DataSet
            What to load.
        number : int
            Which pair of parts, below `n_parts`.

        Returns
        -------
        train, test : MultiLabelDataset

        Raises
        ------
        FileNotFoundError, ValueError, ArffError
            As `xdcc.data.load_dataset`.
        """
        if self.type == "train_test" and dataset.has_split:
            return dataset.load("train"), dataset.load("test")
        data = dataset.load(None)
        test = self._test_rows(data, number)
        return data[np.flatnonzero(~test)], data[np.flatnonzero(test)]

    def _test_rows(self, data: MultiLabelDataset, number: int) -> NDArray[np.bool_]:
        if self.type == "train_test":
            return _folds(data, OWN_TEST_FOLDS, self.seed) == 0
        if self.type == "repeated":
            split = ShuffleSplit(1, train_size=self.train_share, random_state=self.seed + number)
            rows = np.ones(len(data), dtype=bool)
            rows[next(split.split(rows))[0]] = False
            return rows
        repeat, fold = divmod(number, self.folds)
        if self.assignment == "stratified":
            return _folds(data, self.folds, self.seed + repeat) == fold
        rows = np.zeros(len(data), dtype=bool)
        rows[list(KFold(self.folds).split(rows))[fold][1]] = True
        return rows


@dataclass(frozen=True)
class Inner:
    """A fold of the training part that parameters are chosen on.

    Attributes
    ----------
    folds : int
        Number of folds, dealt out by labels.
    fold : int
        The one to measure on; the others are trained on.
    seed : int
        Of the folds.
    """

    folds: int
    fold: int
    seed: int = 0

    def parts(self, train: MultiLabelDataset) -> Parts:
        """Divide the training part into rows to train on and rows to measure on."""
        held_out = _folds(train, self.folds, self.seed) == self.fold
        return train[np.flatnonzero(~held_out)], train[np.flatnonzero(held_out)]


def _folds(data: MultiLabelDataset, n_folds: int, seed: int) -> NDArray[np.intp]:
    return stratified_folds(np.asarray(data.Y, dtype=np.float64), n_folds, random_state=seed)
