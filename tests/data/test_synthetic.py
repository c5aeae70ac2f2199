"""Synthetic data: shapes, types, and dependences between labels."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from xdcc.data import (
    make_conditionally_dependent,
    make_marginally_dependent,
    make_marginally_independent,
    make_multilabel,
)
from xdcc.metrics import hamming_loss, subset_loss


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


MAKERS = [make_marginally_independent, make_marginally_dependent, make_conditionally_dependent]
ONE_POINT = MAKERS[1:]


@pytest.mark.parametrize("make", MAKERS)
def test_shapes_and_seeds(make):
    data = make(50, 3, random_state=0)
    assert data.X.shape == (50, 6 if make is make_marginally_independent else 2)
    assert data.Y.shape == (50, 3)
    assert_array_equal(data.X, make(50, 3, random_state=0).X)
    assert_array_equal(data.Y, make(50, 3, random_state=np.random.default_rng(0)).Y)
    assert (data.X != make(50, 3, random_state=1).X).all()
    assert make(1, 1, random_state=0).Y.shape == (1, 1)
    assert len(make()) == 10_000
    assert make().n_labels == 6


@pytest.mark.parametrize("make", MAKERS)
def test_points_fill_the_unit_disc_uniformly(make):
    points = make(20_000, 1, random_state=0).X
    radius = np.hypot(*points.T)
    assert radius.max() <= 1
    # The share of points in a disc of radius r is r^2, in a quarter of the disc 1/4. The standard
    # deviation of these shares is below .0036 (n = 20,000); the tolerance is five of them.
    for r in (0.3, 0.5, 0.8):
        assert (radius <= r).mean() == pytest.approx(r**2, abs=0.018)
    assert ((points[:, 0] > 0) & (points[:, 1] > 0)).mean() == pytest.approx(0.25, abs=0.018)


def test_sides_of_independent_points():
    directions = [0.0, np.pi / 2, 5 * np.pi / 4]
    data = make_marginally_independent(200, 3, noise=0, directions=directions, random_state=0)
    x = data.X
    sides = np.column_stack((x[:, 0] > 0, x[:, 3] > 0, x[:, 4] + x[:, 5] < 0))
    assert_array_equal(data.Y, sides)


@pytest.mark.parametrize("make", ONE_POINT)
def test_sides_of_a_common_point(make):
    data = make(200, 2, noise=0, spread=np.pi / 2, direction=np.pi / 4, random_state=0)
    assert_array_equal(data.Y, data.X > 0)
    middle = make(200, 1, noise=0, direction=np.pi, random_state=0)
    assert_array_equal(middle.Y[:, 0], middle.X[:, 0] < 0)


@pytest.mark.parametrize("make", ONE_POINT)
def test_lines_at_an_angle_divide_its_share_of_the_points(make):
    Y = make(20_000, 6, noise=0, spread=0.5, direction=1.0, random_state=0).Y
    for j, k in ((0, 5), (0, 1), (2, 4)):
        assert (Y[:, j] != Y[:, k]).mean() == pytest.approx(
            0.5 * (k - j) / 5 / np.pi, abs=0.013
        )  # more than five standard deviations


def best_losses(switched):
    """Smallest expected losses over all predictions, given the probabilities of flipped labels."""
    labelsets = np.array(list(product((0, 1), repeat=6)))
    probability = np.array([switched(labelset) for labelset in labelsets])
    assert probability.sum() == pytest.approx(1)
    hamming = (labelsets[:, None] != labelsets).mean(axis=2) @ probability
    subset = (labelsets[:, None] != labelsets).any(axis=2) @ probability
    # The optimal prediction are the sides, here the first labelset.
    assert hamming.argmin() == subset.argmin() == 0
    return hamming.min(), subset.min()


def switched_alone(labelset):
    return 0.1 ** labelset.sum() * 0.9 ** (6 - labelset.sum())


def switched_together(labelset):
    return {0: 0.9, 6: 0.1}.get(labelset.sum(), 0.0)


@pytest.mark.parametrize(
    ("make", "switched", "named"),
    [
        (make_marginally_independent, switched_alone, (0.10, 0.47)),
        (make_marginally_dependent, switched_alone, (0.10, 0.47)),
        (make_conditionally_dependent, switched_together, (0.10, 0.10)),
    ],
)
def test_optimal_losses_are_those_of_the_paper(make, switched, named):
    best = best_losses(switched)
    assert np.round(best, 2) == pytest.approx(named)
    # Noise is drawn last, so without noise, the seed gives the same points and their sides.
    data = make(20_000, random_state=0)
    sides = make(20_000, random_state=0, noise=0)
    assert_array_equal(data.X, sides.X)
    # Tolerance: five standard deviations of a share of 20,000 samples.
    assert hamming_loss(data.Y, sides.Y) == pytest.approx(best[0], abs=0.011)
    assert subset_loss(data.Y, sides.Y) == pytest.approx(best[1], abs=0.018)


def test_dependence_is_as_named():
    def correlation(Y, sides=None):
        values = Y if sides is None else sides != Y
        return np.corrcoef(values.T)[np.triu_indices(6, 1)]

    data = [make(20_000, random_state=1) for make in MAKERS]
    sides = [make(20_000, random_state=1, noise=0).Y for make in MAKERS]
    # The standard deviation of a correlation of independent labels is .007; allow five of them.
    assert np.abs(correlation(data[0].Y)).max() < 0.036
    assert correlation(data[1].Y).min() > 0.5
    assert np.abs(correlation(data[1].Y, sides[1])).max() < 0.036
    assert correlation(data[2].Y, sides[2]).min() == pytest.approx(1)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples is 0; expected at least 1"),
        ({"n_labels": 0}, "n_labels is 0; expected at least 1"),
        ({"noise": 1.1}, "noise is 1.1; expected 0 to 1"),
    ],
)
def test_numbers_out_of_range(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


@pytest.mark.parametrize("make", ONE_POINT)
def test_angles_out_of_range(make):
    with pytest.raises(ValueError, match="spread is 4; expected 0 to pi"):
        make(5, spread=4)
    with pytest.raises(ValueError, match="direction is inf; expected a finite angle"):
        make(5, direction=np.inf)


@pytest.mark.parametrize("directions", [[0.0], [0.0, np.nan]])
def test_wrong_directions(directions):
    with pytest.raises(ValueError, match="directions must contain 2 finite angles"):
        make_marginally_independent(5, 2, directions=directions)
