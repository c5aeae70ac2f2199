"""A thousand edits of boosters' files an input: each only checked and, if it passes, predicted by.

`booster_file` uses what passes in every way that there is, and tries a hundredth as many.
"""

import random
from contextlib import suppress

import numpy as np
import xgboost as xgb
from hypothesis import strategies as st

from tests.fuzz.mutation import edit_bytes
from tests.fuzz.target import Target
from tests.fuzz.targets.booster_file import BOOSTERS, CODED, PIECES, X
from xdcc.base.booster_file import ModelFileError, check_booster, read_booster

EDITS = 1000
FILES = [file for pair in BOOSTERS for file in pair]
ROWS = np.vstack([X[:3], CODED[:3], np.full((1, X.shape[1]), np.nan, np.float32)])


def attempt(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(EDITS):
        content = edit_bytes(rng, rng.choice(FILES), PIECES)
        with suppress(ModelFileError):
            check_booster(content)
            booster = read_booster(content, {"nthread": 1})
            with suppress(ValueError):  # features or categories that these rows do not fit
                booster.inplace_predict(ROWS)
                booster.predict(xgb.DMatrix(ROWS), pred_leaf=True)


TARGET = Target(st.integers(0, 2**64 - 1), attempt, (ModelFileError,))
