"""`read_ubjson` reads what XGBoost writes as its JSON says it."""

import json

import numpy as np
import pytest
import xgboost as xgb

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.prediction._ubjson import read_ubjson

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
COLOURS = RNG.integers(0, 40, 300)


def boosters():
    Y = (X[:, :3] + RNG.normal(size=(300, 3)) > 0).astype(int)
    with_colours = np.column_stack((X, COLOURS))
    matrix = xgb.DMatrix(
        with_colours, label=COLOURS % 2, feature_types=["q"] * 4 + ["c"], enable_categorical=True
    )
    params = {"objective": "binary:logistic", "max_cat_to_onehot": 1}
    return {
        "vector leaves": MultiLabelXGBClassifier(n_estimators=3).fit(X, Y).booster_,
        "scalar leaves": xgb.train({}, xgb.DMatrix(X, label=Y[:, 0]), 3),
        "no splits": xgb.train({"max_depth": 1, "gamma": 1e9}, xgb.DMatrix(X, label=Y[:, 0]), 2),
        "categories": xgb.train(params, matrix, 2),
        "large": xgb.train({"max_depth": 9, "min_child_weight": 0}, matrix, 1),
    }


BOOSTERS = boosters()


def plain(value):
    """Turn arrays into lists."""
    if isinstance(value, dict):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(entry) for entry in value] if isinstance(value, list) else value


def names_in(value):
    """Collect all names of a value."""
    entries = value.values() if isinstance(value, dict) else value
    own = set(value) if isinstance(value, dict) else set()
    return own.union(
        *(names_in(entry) for entry in entries if isinstance(entry, dict | list)), set()
    )


def only(value, names):
    """Drop other entries of dictionaries."""
    if isinstance(value, dict):
        return {name: only(entry, names) for name, entry in value.items() if name in names}
    return [only(entry, names) for entry in value] if isinstance(value, list) else value


def same(found, expected):
    """Compare values, reals in single precision: JSON has them in decimal digits."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[k], expected[k]) for k in found)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return np.float32(found) == np.float32(expected)
    return found == expected


@pytest.mark.parametrize("name", BOOSTERS)
def test_everything(name):
    booster = BOOSTERS[name]
    expected = json.loads(booster.save_raw("json"))
    found = read_ubjson(booster.save_raw("ubj"), names_in(expected))
    assert same(plain(found), expected)


@pytest.mark.parametrize("name", BOOSTERS)
def test_some_names(name):
    booster = BOOSTERS[name]
    expected = json.loads(booster.save_raw("json"))
    every = sorted(names_in(expected))
    above = {"learner", "gradient_booster", "model", "trees"}
    for names in (above, {"version"}, set(), *(above | set(every[i::4]) for i in range(4))):
        found = read_ubjson(bytes(booster.save_raw("ubj")), names)
        assert same(plain(found), only(expected, names))


def test_numbers_of_every_type():
    content = b"[i\xffU\xffI\xff\xfel\xff\xff\xff\xfdL" + (-4).to_bytes(8, "big", signed=True)
    content += b"d" + np.array(1.5, ">f4").tobytes() + b"D" + np.array(0.1, ">f8").tobytes()
    content += b"TFZSU\x02abSi\x00]"
    assert read_ubjson(content, set()) == [
        *(-1, 255, -2, -3, -4, 1.5, 0.1),
        *(True, False, None, "ab", ""),
    ]
    assert read_ubjson(b"{U\x01a" + content + b"U\x01bi\x05}", {"b"}) == {"b": 5}
