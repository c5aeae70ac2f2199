"""Training and test rows: the outer evaluation and the inner tuning.

An `Evaluation` divides a data set into pairs of a training and a test part, numbered from 0
(`n_parts`). For tuning, a training part is divided again (`Inner`), without using the test part.
Both are plain values in the key of a record.
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
"""Number of folds, of which one is the test part of a data set without a published split."""


@dataclass(frozen=True)
class Evaluation:
    """How a data set is divided into training and test parts."""

    # The published split (if there is none, a stratified third of the rows is the test part); the
    # first rows for training and the others for testing; cross-validation; random parts; or all
    # rows in both parts.
    type: Literal["train_test", "first_rows", "k_fold", "repeated", "whole"] = "train_test"
    folds: int = 10  # with `k_fold`: number of folds
    # With `k_fold`: folds are stratified, random, or blocks of rows in the file's order.
    assignment: Literal["stratified", "shuffled", "blocks"] = "stratified"
    # With `k_fold`: divide the whole data set, or only its published training part.
    rows: Literal["all", "train"] = "all"
    # Number of repeats: with `k_fold` folds from other seeds, with `repeated` other random parts.
    repeats: int = 1
    # With `first_rows` and `repeated`: share of the training rows.
    train_share: float = 2 / 3
    seed: int = 0  # of folds and random parts

    @property
    def n_parts(self) -> int:
        """Number of pairs of a training and a test part."""
        if self.type == "k_fold":
            return self.repeats * self.folds
        return self.repeats if self.type == "repeated" else 1

    def key(self) -> dict[str, object]:
        """Return the values that matter for this evaluation, for the key of a record."""
        fields = {
            "train_test": (),
            "first_rows": ("train_share",),
            "k_fold": ("folds", "assignment", "seed"),
            "repeated": ("train_share", "seed"),
            "whole": (),
        }[self.type]
        part = {} if self.rows == "all" else {"rows": self.rows}
        return {"type": self.type} | {name: getattr(self, name) for name in fields} | part

    def parts(self, dataset: DataSet, number: int) -> Parts:
        """Load a data set and divide it.

        Parameters
        ----------
        dataset : DataSet
            The data set.
        number : int
            Which pair of parts, below `n_parts`.

        Raises
        ------
        FileNotFoundError, ValueError, ArffError
            As `xdcc.data.load_dataset`.
        """
        if self.type == "train_test" and dataset.has_split:
            return dataset.load("train"), dataset.load("test")
        data = dataset.load(None if self.rows == "all" else "train")
        if self.type == "whole":
            return data, data
        test = self._test_rows(data, number)
        return data[np.flatnonzero(~test)], data[np.flatnonzero(test)]

    def _test_rows(self, data: MultiLabelDataset, number: int) -> NDArray[np.bool_]:
        if self.type == "train_test":
            return _folds(data, OWN_TEST_FOLDS, self.seed) == 0
        if self.type == "first_rows":
            return np.arange(len(data)) >= int(self.train_share * len(data))
        if self.type == "repeated":
            split = ShuffleSplit(1, train_size=self.train_share, random_state=self.seed + number)
            rows = np.ones(len(data), dtype=bool)
            rows[next(split.split(rows))[0]] = False
            return rows
        repeat, fold = divmod(number, self.folds)
        if self.assignment == "stratified":
            return _folds(data, self.folds, self.seed + repeat) == fold
        lot = self.assignment == "shuffled"
        folds = KFold(self.folds, shuffle=lot, random_state=self.seed + repeat if lot else None)
        rows = np.zeros(len(data), dtype=bool)
        rows[list(folds.split(rows))[fold][1]] = True
        return rows


@dataclass(frozen=True)
class Inner:
    """A fold of the training part for the choice of parameters."""

    folds: int  # number of stratified folds
    fold: int  # the validation fold; the others are for training
    seed: int = 0  # of the folds

    def parts(self, train: MultiLabelDataset) -> Parts:
        """Divide the training part into training rows and validation rows."""
        held_out = _folds(train, self.folds, self.seed) == self.fold
        return train[np.flatnonzero(~held_out)], train[np.flatnonzero(held_out)]


def _folds(data: MultiLabelDataset, n_folds: int, seed: int) -> NDArray[np.intp]:
    return stratified_folds(np.asarray(data.Y, dtype=np.float64), n_folds, random_state=seed)
