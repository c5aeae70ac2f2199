"""The digest of a data set's content: what it is, what counts and what does not."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from xdcc.data import MultiLabelDataset
from xdcc.data.content_digest import content_digest

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


def test_the_digest_of_a_made_data_set():
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
def test_what_counts(change):
    assert content_digest(replace(DENSE, **change)) != content_digest(DENSE)


def test_what_does_not_count():
    other = replace(DENSE, name="other", dropped=("id",), X=np.asfortranarray(DENSE.X))
    assert content_digest(other) == content_digest(DENSE)


def test_the_order_of_stored_entries_does_not_count():
    X = SPARSE.X.copy()
    X.indices[-2:], X.data[-2:] = X.indices[-2:][::-1].copy(), X.data[-2:][::-1].copy()
    X.has_sorted_indices = False
    assert content_digest(replace(SPARSE, X=X)) == content_digest(SPARSE)
    assert content_digest(replace(SPARSE, X=SPARSE.X * 2)) != content_digest(SPARSE)
