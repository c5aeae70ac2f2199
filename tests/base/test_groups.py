"""Groups of rows: read from arrays and columns, numbered, dealt out, and refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xdcc
from xdcc.base.groups import grouped_folds, number_groups, read_groups

DAYS = ["Mon", "Tue", "Tue", "Wed"]
TABLE = pd.DataFrame(
    {"day": DAYS, "daytime": ["a", "b", "c", "d"], "size": [1.0, 2.0, 3.0, np.nan]}
)


@pytest.mark.parametrize(
    "groups",
    [
        "day",
        DAYS,
        tuple(DAYS),
        np.array(DAYS),
        pd.Series(DAYS, index=[3, 2, 1, 0]),
        pd.Series(DAYS, dtype="category"),
        pd.Index(DAYS),
        pl.Series(DAYS),
    ],
    ids=lambda groups: type(groups).__name__,
)
@pytest.mark.parametrize("X", [TABLE, pl.from_pandas(TABLE)], ids=["pandas", "polars"])
def test_forms(groups, X):
    found = read_groups(groups, X, 4)
    assert found.tolist() == DAYS
    np.testing.assert_array_equal(number_groups(found), [0, 1, 1, 2])


def test_no_groups_and_numbers():
    assert read_groups(None, TABLE, 4) is None
    assert read_groups([3, 1, 3], None, 3).dtype == np.int64
    np.testing.assert_array_equal(number_groups(read_groups([3, 1, 3], None, 3)), [1, 0, 1])
    np.testing.assert_array_equal(number_groups(read_groups(["b", 1, "b"], None, 3)), [1, 0, 1])
    days = pd.to_datetime(["2024-05-02", "2024-05-01", "2024-05-02"])
    np.testing.assert_array_equal(number_groups(read_groups(days, None, 3)), [1, 0, 1])


def test_folds_of_groups_are_of_about_the_same_size():
    groups = np.array(list("abcdefghij")).repeat([1, 5, 1, 5, 1, 5, 1, 5, 1, 5])
    folds = grouped_folds(groups, 3)
    assert all(len(set(folds[groups == group])) == 1 for group in groups)
    np.testing.assert_array_equal(np.bincount(folds), [10, 10, 10])


TWICE = pd.DataFrame(np.zeros((4, 2)), columns=["day", "day"])


@pytest.mark.parametrize(
    ("groups", "X", "message"),
    [
        ("dya", TABLE, "groups='dya': X has no such column. Did you mean 'day'"),
        ("days", TABLE, r"Did you mean 'day'( or 'daytime')?\?$"),
        ("patient", TABLE, "groups='patient': X has no such column.$"),
        ("day", np.zeros((4, 2)), "names a column, but X is a ndarray without names: give a DataF"),
        ("day", TWICE, r"groups has the shape \(4, 2\); it must be \(4,\)"),
        ("size", TABLE, r"groups is missing \(NaN or None\) in 1 row, first in row 3"),
        (["a", None, "b", np.nan], TABLE, r"missing \(NaN or None\) in 2 rows, first in row 1"),
        ([1.0, np.nan, np.nan, np.nan], TABLE, "in 3 rows, first in row 1"),
        (pd.Series([1, 2, 3, None], dtype="Int64"), TABLE, "in 1 row, first in row 3"),
        ([1, 2, 3], TABLE, r"the shape \(3,\); it must be \(4,\), a value for each row"),
        ([[1], [2], [3], [4]], TABLE, r"the shape \(4, 1\); it must be \(4,\)"),
        (TABLE[["day"]], TABLE, r"the shape \(4, 1\); it must be \(4,\)"),
        (5, TABLE, r"the shape \(\); it must be \(4,\)"),
    ],
)
def test_bad_groups(groups, X, message):
    with pytest.raises(ValueError, match=message):
        read_groups(groups, X, 4)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 1, 1, 1], "^5 folds need as many groups, but groups has a single value.$"),
        ([1, 2, 1, 3], "^5 folds need as many groups, but groups has 3 different values.$"),
    ],
)
def test_fewer_groups_than_folds(groups, message):
    with pytest.raises(ValueError, match=message):
        grouped_folds(np.array(groups), 5)


@pytest.mark.parametrize(
    "estimator",
    [
        xdcc.DynamicChainClassifier(n_estimators=2, propagate="in_sample"),
        xdcc.ThresholdClassifier(xdcc.BinaryRelevance(n_estimators=2), method="fixed"),
    ],
    ids=["chain", "thresholds"],
)
def test_groups_are_checked_where_there_are_no_folds(estimator):
    with pytest.raises(ValueError, match=r"groups='days': X has no such column"):
        estimator.fit(pd.DataFrame({"day": range(4)}), [[0, 1], [1, 0]] * 2, groups="days")
