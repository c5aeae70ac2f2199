"""Fixtures of the plugin's tests."""

import numpy as np
import pytest
import xgboost as xgb


class Batches(xgb.DataIter):
    """Feeds a data set in three parts, for matrices in external memory."""

    def __init__(self, X, Y, folder):
        self.parts = list(zip(np.array_split(X, 3), np.array_split(Y, 3), strict=True))
        self.position = 0
        super().__init__(cache_prefix=str(folder / "cache"))

    def next(self, input_data):
        if self.position == len(self.parts):
            return False
        X, Y = self.parts[self.position]
        input_data(data=X, label=Y)
        self.position += 1
        return True

    def reset(self):
        self.position = 0


@pytest.fixture
def in_batches(tmp_path):
    """Make an iterator over X and Y in three parts."""
    return lambda X, Y: Batches(X, Y, tmp_path)
