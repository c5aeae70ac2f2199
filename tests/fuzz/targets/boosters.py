"""Booster files, JSON and UBJSON: what `check_booster` lets pass is used without a fault.

`booster_file` uses a booster in every way there is, and compares the kernel that checks it with the
reference implementation. `booster_edits` makes a thousand edits per input. Each is only checked
and, if it passes, used to predict, which is a hundred times as fast.
"""

import json
import random
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import xgboost as xgb
from hypothesis import strategies as st

from tests.fuzz.target import Different, Target, edit_bytes, mutated_bytes, mutated_data
from tests.reference import booster_scan as reference
from xdcc.boosting._booster_scan import scan
from xdcc.boosting.booster_file import ModelFileError, check_booster, read_booster

_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 4)).astype(np.float32)
Y = (X[:, :3] + _rng.normal(size=(60, 3)) > 0).astype(int)
CODED = X.copy()
CODED[:, 0], CODED[:, 1] = _rng.integers(0, 3, 60), _rng.integers(0, 40, 60)


def _boosters() -> list[tuple[bytes, bytes]]:
    frame = pd.DataFrame(CODED, columns=list("abcd"))
    for name, n_values in ("a", 3), ("b", 40):
        frame[name] = pd.Categorical(frame[name].astype(int), range(n_values))
    plain, categories = xgb.DMatrix(X, Y), xgb.DMatrix(frame, Y, enable_categorical=True)
    one = xgb.DMatrix(frame, Y[:, 0], enable_categorical=True)
    first, classes = xgb.DMatrix(X, Y[:, 0]), xgb.DMatrix(X, Y.sum(axis=1))
    ours: dict[str, Any] = {"objective": "multilabel:logistic"}
    stock: dict[str, Any] = {"objective": "binary:logistic"}
    several: dict[str, Any] = {"objective": "multi:softprob", "num_class": 4}
    found = []
    for params, matrix in (
        (ours, plain),
        (ours | {"labels_per_tree": 2}, plain),
        (ours | {"sketch_size": 2}, plain),
        (ours, categories),
        (stock | {"multi_strategy": "multi_output_tree"}, plain),
        (stock, plain),
        (stock | {"booster": "dart", "rate_drop": 0.5}, one),
        (stock | {"tree_method": "exact", "gamma": 2}, first),
        (several, classes),
        (several | {"booster": "gblinear"}, classes),
        ({"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}, classes),
    ):
        with xgb.config_context(verbosity=0):  # gblinear is deprecated
            booster = xgb.train({"max_depth": 2, "nthread": 1} | params, matrix, 2)
            found.append((bytes(booster.save_raw("json")), bytes(booster.save_raw("ubj"))))
    return found


BOOSTERS = _boosters()
"""Files of each kind of booster, in JSON and in UBJSON."""

LENGTHS = (0, 1, -1, 7, 10**6, 2**31, 2**40, 2**62, 2**63 - 1)
PIECES = [*(bytes([marker]) for marker in b"[]{}$#LlUidDSZTFNCH"), b"00000000", b"[" * 100]


def _with_other_length(place: int, content: bytes, length: int) -> bytes:
    """Change a length of UBJSON, the first one behind a place that is drawn."""
    at = content.find(b"L\0\0\0", random.Random(place).randrange(len(content))) + 1
    return content[:at] + struct.pack(">q", length) + content[at + 8 :] if at else content


texts = [text for text, _ in BOOSTERS]
binaries = [binary for _, binary in BOOSTERS]
files = (
    mutated_data([json.loads(text) for text in texts]).map(lambda data: json.dumps(data).encode())
    | mutated_bytes(texts + binaries, PIECES)
    | st.builds(
        _with_other_length,
        st.integers(0, 2**64 - 1),
        st.sampled_from(binaries),
        st.sampled_from(LENGTHS),
    )
)


def attempt_booster_file(content: bytes) -> None:
    _compare_with_reference(content)
    check_booster(content)
    booster = read_booster(content, {"nthread": 1})
    for rows in _rows():
        for use in (
            lambda rows=rows: booster.inplace_predict(rows),
            lambda rows=rows: booster.predict(xgb.DMatrix(rows)),
            lambda rows=rows: booster.predict(xgb.DMatrix(rows), pred_leaf=True),
            lambda rows=rows: booster.predict(xgb.DMatrix(rows), pred_contribs=True),
            lambda rows=rows: booster.predict(
                xgb.DMatrix(rows), pred_contribs=True, approx_contribs=True
            ),
            lambda rows=rows: booster.predict(
                xgb.DMatrix(rows, feature_types=["c", "c", "q", "q"], enable_categorical=True)
            ),
            lambda: booster.save_raw("ubj"),
            lambda: booster.get_dump(with_stats=True),
            lambda: booster.get_score(importance_type="total_gain"),
            lambda: booster[:1].save_raw("json"),
        ):
            # Numbers of features or categories that do not fit these rows; a linear booster has
            # no slices, and one without rounds no first.
            with suppress(ValueError, NotImplementedError, IndexError):
                use()


def _rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows with missing values, and with categories that were not there in training."""
    rows, coded = X[:7].copy(), CODED[:7].copy()
    rows[0] = np.nan
    coded[1], coded[2] = [2, 39, 0, 0], [70, 200, 0, 0]
    return rows, coded


def _compare_with_reference(content: bytes) -> None:
    kernel = _is_read(scan, content)
    try:
        expected = _is_read(reference.scan, content)
    except (RecursionError, TypeError, IndexError):  # the reference checks less
        return
    if kernel != expected:
        raise Different(f"kernel {kernel}, reference {expected}")


def _is_read(read: Any, content: bytes) -> bool:
    try:
        read(content, deepest=32)
    except ValueError:
        return False
    return True


booster_file = Target(files, attempt_booster_file, (ModelFileError,))


EDITS = 1000
FILES = [file for pair in BOOSTERS for file in pair]
ROWS = np.vstack([X[:3], CODED[:3], np.full((1, X.shape[1]), np.nan, np.float32)])


def attempt_booster_edits(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(EDITS):
        content = edit_bytes(rng, rng.choice(FILES), PIECES)
        with suppress(ModelFileError):
            check_booster(content)
            booster = read_booster(content, {"nthread": 1})
            with suppress(ValueError):  # features or categories that these rows do not fit
                booster.inplace_predict(ROWS)
                booster.predict(xgb.DMatrix(ROWS), pred_leaf=True)


booster_edits = Target(st.integers(0, 2**64 - 1), attempt_booster_edits, (ModelFileError,))
