"""`Setting`: what a booster is given beside what all suites share, and the grid of settings.

In the comparisons of time to quality each candidate takes its best of the grid, so nobody is ahead
because of a setting that others were not given. The grid is Cartesian: learning rates .1 and .3, at
most 64 or 256 bins, all columns or half of them per tree (CatBoost: per split). Features with at
most 64 values need no choice of bins. What a file stores sparse is given both dense and as CSR,
whose absent entries are missing values.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

_FEW_BINS = 64


@dataclass(frozen=True)
class Setting:
    """What may differ between trainings of one candidate."""

    learning_rate: float = 0.3
    max_bin: int = 256
    columns: float = 1.0  # share that a tree sees
    csr: bool = False  # features as a CSR matrix


LIKE_FOR_LIKE = Setting(learning_rate=0.1)
"""The setting of the comparison in which nobody chooses."""


def storages(setting: Setting, sparse: bool) -> list[Setting]:
    """Return a setting for each form in which the features can be given."""
    return [setting, replace(setting, csr=True)] if sparse else [setting]


def grid(X: NDArray[np.float32], sparse: bool) -> list[Setting]:
    """Return the settings that a candidate chooses from, `LIKE_FOR_LIKE` first.

    They depend on the rows to train on, and on whether the data set's file is sparse.
    """
    many_values = any(len(np.unique(x)) > _FEW_BINS for x in X.T)
    return [
        setting
        for rate in (0.1, 0.3)
        for max_bin in ((256, _FEW_BINS) if many_values else (256,))
        for columns in (1.0, 0.5)
        for setting in storages(Setting(rate, max_bin, columns), sparse)
    ]
