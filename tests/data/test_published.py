"""The published data sets: digests of their content, and their files if available."""

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from xdcc.data import MultiLabelDataset, load_dataset, published
from xdcc.data.published import content_digest
from xdcc.data.registry import DATASETS

DENSE = MultiLabelDataset(
    X=np.array([[1.0, 0], [0, 2], [3, np.nan]]),
    Y=np.array([[1, 0], [0, 0], [1, 1]], dtype=np.int8),
    feature_names=("a", "b"),
    feature_types=("numeric", "nominal"),
    categories=(None, ("x", "y", "z")),
    label_names=("l", "m"),
    name="made",
)
SPARSE = replace(DENSE, X=sparse.csr_array(DENSE.X))


def test_digest_of_a_small_data_set():
    text = '[[3, 2], ["a", "b"], [null, ["x", "y", "z"]], ["l", "m"]]'
    data = text.encode() + bytes([1, 0, 0, 0, 1, 1]) + DENSE.X.astype("<f8").tobytes()
    assert content_digest(DENSE) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"Y": 1 - DENSE.Y},
        {"Y": DENSE.Y.astype(float)},
        {"feature_names": ("a", "c")},
        {"categories": (None, ("x", "y", "t"))},
        {"label_names": ("m", "l")},
        {"sample_weight": np.ones(3)},
        {"X": np.array([[1.0, 0], [0, 2], [3, 0]])},
        {"X": np.nextafter(DENSE.X, 9)},
        {"X": SPARSE.X},
    ],
)
def test_changes_that_count(change):
    assert content_digest(replace(DENSE, **change)) != content_digest(DENSE)


def test_changes_that_do_not_count():
    other = replace(DENSE, name="other", dropped=("id",), X=np.asfortranarray(DENSE.X))
    assert content_digest(other) == content_digest(DENSE)


def test_the_order_of_stored_entries_does_not_count():
    X = SPARSE.X.copy()
    X.indices[-2:], X.data[-2:] = X.indices[-2:][::-1].copy(), X.data[-2:][::-1].copy()
    X.has_sorted_indices = False
    assert content_digest(replace(SPARSE, X=X)) == content_digest(SPARSE)
    assert content_digest(replace(SPARSE, X=SPARSE.X * 2)) != content_digest(SPARSE)


# name: train, test, features, labels, cardinality, distinct labelsets, sparse
PUBLISHED = {
    "emotions": (391, 202, 72, 6, 1.869, 27, False),
    "flags": (129, 65, 19, 7, 3.392, 54, False),
    "scene": (1211, 1196, 294, 6, 1.074, 15, False),
    "yeast": (1500, 917, 103, 14, 4.237, 198, False),
    "birds": (322, 323, 260, 19, 1.014, 133, False),
    "tmc2007-500": (21519, 7077, 500, 22, 2.158, 1341, True),
    "genbase": (463, 199, 1185, 27, 1.252, 32, False),
    "medical": (333, 645, 1449, 45, 1.245, 94, True),
    "enron": (1123, 579, 1001, 53, 3.378, 753, True),
    "bibtex": (4880, 2515, 1836, 159, 2.402, 2856, True),
    "cal500": (502, 0, 68, 174, 26.044, 502, False),
    "corel5k": (4500, 500, 499, 374, 3.522, 3175, True),
    "delicious": (12920, 3185, 500, 983, 19.020, 15806, True),
    "slashdot": (3782, 0, 1079, 22, 1.181, 156, True),
    "langlog": (1460, 0, 1004, 75, 1.180, 304, True),
    "image": (1501, 499, 294, 5, 1.236, 20, False),
    "rcv1-subset1": (6000, 0, 19550, 101, 2.880, 1028, True),
}


def test_the_table_is_complete():
    assert set(PUBLISHED) == set(DATASETS)


def each_of(names):
    return pytest.mark.parametrize(
        "name", [pytest.param(name, marks=pytest.mark.data(name)) for name in names]
    )


@each_of(sorted(PUBLISHED.keys() - published.CONVERTED.keys()))
def test_the_published_bytes(name):
    for file in Path(os.environ["XDCC_DATA"], name).iterdir():
        assert hashlib.sha256(file.read_bytes()).hexdigest() == published.SHA256[file.name], file


@each_of(PUBLISHED)
def test_the_published_numbers(name):
    n_train, n_test, n_features, n_labels, cardinality, n_labelsets, is_sparse = PUBLISHED[name]
    dataset = load_dataset(name)
    assert dataset.name == name
    assert dataset.X.shape == (n_train + n_test, n_features)
    assert dataset.Y.shape == (n_train + n_test, n_labels)
    assert dataset.Y.dtype == np.int8
    assert dataset.cardinality == pytest.approx(cardinality, abs=6e-4)
    assert dataset.n_labelsets == n_labelsets
    assert sparse.issparse(dataset.X) == is_sparse
    assert np.isfinite(dataset.X.data if is_sparse else dataset.X).all()
    assert dataset.dropped == (("protein",) if name == "genbase" else ())
    if n_test:
        assert load_dataset(name, "train").n_samples == n_train
        assert load_dataset(name, "test").n_samples == n_test


@pytest.mark.data("flags", "birds")
def test_names_and_types_of_features_and_labels():
    flags = load_dataset("flags", "train")
    assert flags.feature_names[:3] == ("landmass", "zone", "area")
    assert flags.feature_types.count("nominal") == 9
    assert flags.categories[0] == ("1", "2", "3", "4", "5", "6")
    assert flags.X[0, :3].tolist() == [3, 0, 164]
    assert flags.label_names == ("red", "green", "blue", "yellow", "white", "black", "orange")
    birds = load_dataset("birds", "train")
    assert birds.label_names[:2] == ("Brown Creeper", "Pacific Wren")
    assert birds.feature_types.count("nominal") == 2
    location = birds.categories[birds.feature_names.index("location")]
    assert location == ("2", "10", "1", "7", "5", "4", "17", "15", "16", "8", "13", "11")


@pytest.mark.data("tmc2007-500", "slashdot")
def test_rows_of_a_sparse_mulan_file_and_of_a_meka_file():
    tmc = load_dataset("tmc2007-500", "train")
    assert tmc.X[[1]].indices.tolist() == [44, 110, 227, 235, 339, 350, 444]
    assert np.flatnonzero(tmc.Y[1]).tolist() == [18]
    # The labels of slashdot come first, so attribute 84 of the file is feature 62.
    slashdot = load_dataset("slashdot")
    assert slashdot.label_names[:2] == ("Entertainment", "Interviews")
    assert np.flatnonzero(slashdot.Y[0]).tolist() == [3, 20]
    assert slashdot.X[[0]].indices[:3].tolist() == [62, 90, 192]
