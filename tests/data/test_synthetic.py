"""Generated data: shapes, seeds, shares of noise and missing values, and real dependence."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from xdcc.data import make_multilabel


@pytest.mark.parametrize("sparse_features", [False, True])
def test_shapes_and_types(sparse_features):
    dataset = make_multilabel(30, 4, 3, sparse_features=sparse_features, random_state=0)
    assert dataset.X.shape == (30, 4)
    assert sparse.issparse(dataset.X) == sparse_features
    assert dataset.Y.shape == (30, 3)
    assert dataset.Y.dtype == np.int8
    assert dataset.feature_names == ("x0", "x1", "x2", "x3")
    assert dataset.label_names == ("y0", "y1", "y2")


def test_the_same_seed_gives_the_same_data():
    first, again, other = (make_multilabel(random_state=s) for s in (3, 3, 4))
    assert_array_equal(first.X, again.X)
    assert_array_equal(first.Y, again.Y)
    assert (first.Y != other.Y).any()
    generator = np.random.default_rng(3)
    assert_array_equal(make_multilabel(random_state=generator).Y, first.Y)
    assert (make_multilabel(random_state=generator).Y != first.Y).any()


@pytest.mark.parametrize("sparse_features", [False, True])
def test_without_noise_each_label_follows_from_a_feature_and_an_earlier_label(sparse_features):
    dataset = make_multilabel(400, 5, 6, noise=0, sparse_features=sparse_features, random_state=1)
    positive = sparse.csr_array(dataset.X).toarray() > 0
    Y = dataset.Y.astype(bool)
    assert any((Y[:, 0] == positive[:, i]).all() for i in range(5))
    rules = (np.logical_and, np.logical_or, np.logical_xor)
    for label in range(1, 6):
        assert any(
            (Y[:, label] == rule(Y[:, earlier], positive[:, i])).all()
            for rule in rules
            for earlier in range(label)
            for i in range(5)
        )


def test_noise_flips_its_share_of_the_first_label():
    dataset = make_multilabel(4000, 1, 1, noise=0.2, random_state=0)
    flipped = (dataset.Y[:, 0] == 1) != (dataset.X[:, 0] > 0)
    assert flipped.mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("sparse_features", [False, True])
def test_shares_of_missing_values_and_unknown_labels(sparse_features):
    arguments = {"sparse_features": sparse_features, "random_state": 0}
    full = make_multilabel(400, 20, 10, **arguments)
    holed = make_multilabel(400, 20, 10, missing=0.25, unknown=0.1, **arguments)
    values = holed.X.data if sparse_features else holed.X
    assert np.isnan(values).mean() == pytest.approx(0.25, abs=0.03)
    assert np.isnan(holed.Y).mean() == pytest.approx(0.1, abs=0.03)
    known = ~np.isnan(holed.Y)
    assert_array_equal(holed.Y[known], full.Y[known])
    if sparse_features:
        assert holed.X.nnz / 8000 == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples is 0; expected at least 1"),
        ({"n_features": 0}, "n_features is 0; expected at least 1"),
        ({"n_labels": -1}, "n_labels is -1; expected at least 1"),
        ({"noise": 1.5}, "noise is 1.5; expected 0 to 1"),
        ({"missing": -0.1}, "missing is -0.1; expected 0 to 1"),
        ({"unknown": float("nan")}, "unknown is nan; expected 0 to 1"),
    ],
)
def test_arguments_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_multilabel(**arguments)
