"""Handwritten digits with properties of the digit as labels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from xdcc.data import load_digits_properties

DIGITS = load_digits()
NAMES = [
    "even", "prime", "at_least_5", "multiple_of_3", "perfect_square", "closed_loop",
    "straight_strokes",
]  # fmt: skip
PROPERTIES = [
    lambda d: d % 2 == 0,
    lambda d: d > 1 and all(d % k for k in range(2, d)),
    lambda d: d >= 5,
    lambda d: d % 3 == 0,
    lambda d: int(d**0.5) ** 2 == d,
    lambda d: d in (0, 6, 8, 9),
    lambda d: d in (1, 4, 7),
]


def test_the_labels_are_the_properties_of_the_digit():
    dataset = load_digits_properties()
    assert dataset.label_names == tuple(NAMES)
    expected = [[p(int(digit)) for p in PROPERTIES] for digit in DIGITS.target]
    assert_array_equal(dataset.Y, expected)
    assert_array_equal(dataset.X, DIGITS.data)
    assert (dataset.name, dataset.X.shape, dataset.Y.dtype) == ("digits", (1797, 64), np.int8)


def test_every_digit_has_its_own_labelset_and_no_label_is_rare():
    dataset = load_digits_properties()
    assert dataset.n_labelsets == 10
    assert dataset.cardinality == pytest.approx(2.9, abs=0.05)
    frequencies = dataset.Y.mean(axis=0)
    assert frequencies.min() > 0.25
    assert frequencies.max() < 0.55


def test_the_split_is_a_stratified_partition_and_always_the_same():
    whole, train, test = map(load_digits_properties, (None, "train", "test"))
    assert (train.n_samples, test.n_samples) == (1198, 599)
    both = np.concatenate([train.X, test.X])
    assert_array_equal(np.unique(both, axis=0), np.unique(whole.X, axis=0))
    labelsets, counts = np.unique(whole.Y, axis=0, return_counts=True)
    in_test, test_counts = np.unique(test.Y, axis=0, return_counts=True)
    assert_array_equal(labelsets, in_test)
    assert np.abs(test_counts - counts / 3).max() < 1
    assert_array_equal(load_digits_properties("test").X, test.X)


def test_invalid_split():
    with pytest.raises(ValueError, match="split is 'validation'; expected None, 'train' or 'test'"):
        load_digits_properties("validation")
