"""`MultiLabelDataset`: properties, subsets and checks."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from xdcc.data import MultiLabelDataset
from xdcc.data.dataset import as_labels, concatenate

X = np.array([[1.0, 0], [2, 1], [3, 0], [4, 2]])
Y = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]], dtype=np.int8)


def make(**changes):
    parts = {
        "X": X,
        "Y": Y,
        "feature_names": ("a", "b"),
        "feature_types": ("numeric", "nominal"),
        "categories": (None, ("x", "y", "z")),
        "label_names": ("k", "l", "m"),
        "name": "toy",
    }
    return MultiLabelDataset(**(parts | changes))


def test_properties():
    dataset = make()
    assert (dataset.n_samples, dataset.n_features, dataset.n_labels) == (4, 2, 3)
    assert len(dataset) == 4
    assert dataset.cardinality == 5 / 4
    assert dataset.density == 5 / 12
    assert dataset.n_labelsets == 3


def test_unknown_labels_are_not_positive_and_give_a_distinct_labelset():
    unknown = Y.astype(float)
    unknown[[0, 2, 3], 1] = np.nan
    dataset = make(Y=unknown)
    assert dataset.cardinality == 4 / 4
    assert dataset.n_labelsets == 3
    unknown[1, 1] = np.nan
    assert make(Y=unknown).n_labelsets == 2


def test_repr():
    assert repr(make()) == (
        "<MultiLabelDataset 'toy': 4 samples, 2 features (dense), 3 labels, cardinality 1.250>"
    )
    assert "(sparse)" in repr(make(X=sparse.csr_array(X)))


def test_frozen():
    with pytest.raises(FrozenInstanceError):
        make().name = "other"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(1, 3), [1, 2]),
        ([3, 0, 0], [3, 0, 0]),
        (np.array([True, False, False, True]), [0, 3]),
        (-1, [3]),
    ],
)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_subsets_of_rows(rows, expected, storage):
    subset = make(X=storage(X), sample_weight=np.arange(4.0))[rows]
    assert sparse.issparse(subset.X) == (storage is sparse.csr_array)
    assert_array_equal(sparse.csr_array(subset.X).toarray(), X[expected])
    assert_array_equal(subset.Y, Y[expected])
    assert_array_equal(subset.sample_weight, expected)
    assert subset.label_names == ("k", "l", "m")


def test_invalid_rows():
    with pytest.raises(IndexError):
        make()[4]
    with pytest.raises(IndexError):
        make()[np.ones(3, dtype=bool)]
    with pytest.raises(ValueError, match="the data set 'toy' has no samples"):
        make()[[False] * 4]


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_features_are_dropped_and_recorded(storage):
    dataset = make(X=storage(X), dropped=("day",)).drop_features(["a"])
    assert_array_equal(sparse.csr_array(dataset.X).toarray(), X[:, 1:])
    assert dataset.feature_names == ("b",)
    assert dataset.feature_types == ("nominal",)
    assert dataset.categories == (("x", "y", "z"),)
    assert dataset.dropped == ("day", "a")
    with pytest.raises(ValueError, match="toy has no feature 'c'"):
        make().drop_features(["a", "c"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": X[0]}, r"two dimensions, got shapes \(2,\) and \(4, 3\)"),
        ({"Y": Y[0]}, r"two dimensions, got shapes \(4, 2\) and \(3,\)"),
        ({"Y": Y[:3]}, "X has 4 rows, but Y has 3"),
        ({"X": X[:0], "Y": Y[:0]}, "the data set 'toy' has no samples"),
        ({"feature_names": ("a",)}, "feature_names has the length 1; expected 2"),
        ({"feature_types": ()}, "feature_types has the length 0; expected 2"),
        ({"categories": (None,)}, "categories has the length 1; expected 2"),
        ({"label_names": ("k",)}, "label_names has the length 1; expected 3"),
        ({"sample_weight": np.ones(5)}, "sample_weight has the length 5; expected 4"),
        ({"feature_types": ("numeric", "numeric")}, "the feature 'b' is 'numeric' and has"),
        ({"categories": (None, None)}, "the feature 'b' is 'nominal' and has the categories None"),
        ({"Y": Y * 2}, "the label 'k' of row 0 is 2; expected 0, 1 or NaN"),
        ({"Y": Y - 0.5}, "the label 'k' of row 0 is 0.5; expected 0, 1 or NaN"),
    ],
)
def test_inconsistent_fields(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_labels_are_int8_unless_one_is_unknown():
    assert as_labels(np.array([[0.0, 1]])).dtype == np.int8
    assert as_labels(np.array([[0.0, np.nan]])).dtype == np.float64


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_concatenate(storage):
    whole = make(X=storage(X), sample_weight=np.arange(4.0))
    joined = concatenate(whole[:1], whole[1:])
    assert sparse.issparse(joined.X) == (storage is sparse.csr_array)
    assert_array_equal(sparse.csr_array(joined.X).toarray(), X)
    assert_array_equal(joined.Y, Y)
    assert joined.Y.dtype == np.int8
    assert_array_equal(joined.sample_weight, np.arange(4))
    assert concatenate(make(), make()).sample_weight is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label_names": ("k", "l", "n")}, "the two parts of 'toy' differ in label_names"),
        ({"feature_names": ("b", "a")}, "the two parts of 'toy' differ in feature_names"),
        ({"categories": (None, ("x", "z", "y"))}, "the two parts of 'toy' differ in categories"),
        ({"X": sparse.csr_array(X)}, "only one of the two parts of 'toy' is sparse"),
        ({"sample_weight": np.ones(4)}, "only one of the two parts of 'toy' has sample weights"),
    ],
)
def test_concatenate_inconsistent_parts(changes, message):
    other = replace(make(), **changes)
    for first, second in ((make(), other), (other, make())):
        with pytest.raises(ValueError, match=message):
            concatenate(first, second)


FRAME = pd.DataFrame(
    {
        "id": ["a1", "b2", "c3", "d4"],
        "size": [1.5, None, 2.0, 3.0],
        "hue": pd.Categorical(["red", "blue", None, "red"], categories=["red", "blue"]),
        "old": [True, False, True, True],
        "shape": ["round", "flat", "flat", None],
        "soft": [1, 0, 0, 1],
        "new": [True, None, False, True],
    }
)


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_from_frame(convert):
    dataset = MultiLabelDataset.from_frame(
        convert(FRAME), ["new", "soft"], ignore=["id"], name="toys"
    )
    assert dataset.name == "toys"
    assert dataset.feature_names == ("size", "hue", "old", "shape")
    assert dataset.feature_types[0] == "numeric"
    assert dataset.dropped == ("id",)
    assert dataset.label_names == ("new", "soft")
    assert_array_equal(dataset.Y, [[1, 1], [np.nan, 0], [0, 0], [1, 1]])
    assert_array_equal(dataset.X[:, 0], [1.5, np.nan, 2, 3])
    for name, values in (("hue", ["red", "blue", None, "red"]), ("shape", FRAME["shape"])):
        column = dataset.feature_names.index(name)
        categories = dataset.categories[column]
        found = [None if np.isnan(x) else categories[int(x)] for x in dataset.X[:, column]]
        assert found == [None if pd.isna(value) else value for value in values]


def test_labels_of_a_frame_that_are_all_known_are_integers():
    dataset = MultiLabelDataset.from_frame(FRAME, ["soft"], ignore=["id", "new"])
    assert dataset.Y.dtype == np.int8
    assert dataset.name == "frame"


DAYS = pd.date_range("2024-01-01", periods=4)


@pytest.mark.parametrize(
    ("frame", "labels", "message"),
    [
        (FRAME, ["hard"], "frame has no column 'hard'; it has 'id', 'size', 'hue', 'old', 'shape'"),
        (FRAME, "soft", r"labels='soft' must be a list of names, such as \['soft'\]"),
        (FRAME, [], "frame needs the name of a label column at least"),
        (
            FRAME,
            ["size"],
            "the label 'size' of row 0 is 1.5; expected yes/no, y/n, true/false, t/f, 1/0, or",
        ),
        (FRAME[["soft"]], ["soft"], "every column of frame is a label: there are no features"),
        (FRAME.assign(day=DAYS), ["soft"], "the feature 'day' contains dates. Make numbers of it"),
        (
            FRAME.assign(day=DAYS.strftime("%d.%m.%Y")),
            ["soft"],
            r"'day' contains dates\. Make numbers of it \(the year, the month, the days since",
        ),
        (
            pd.DataFrame({"said": [f"word {i}" for i in range(30)], "soft": [0, 1] * 15}),
            ["soft"],
            "'said' contains free text: 30 different values in 30 rows. Make numbers of it, or",
        ),
        (FRAME.to_numpy(), ["soft"], "from_frame needs a DataFrame, not a ndarray"),
    ],
)
def test_frames_that_make_no_data_set(frame, labels, message):
    with pytest.raises(ValueError, match=message):
        MultiLabelDataset.from_frame(frame, labels)


def test_ignored_columns_have_to_be_there():
    with pytest.raises(ValueError, match="toys has no column 'ID'"):
        MultiLabelDataset.from_frame(FRAME, ["soft"], ignore=["ID"], name="toys")
