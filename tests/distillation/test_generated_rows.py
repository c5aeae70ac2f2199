"""Generated rows: what comes from which parent, for each form of X."""

import numpy as np
import pytest
from scipy import sparse

from xdcc.distillation.generated_rows import generate_rows

N_ROWS, SHARE = 2000, 0.3


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    fractions, wholes = rng.normal(size=(50, 3)), rng.integers(0, 9, size=(50, 2))
    return np.column_stack((fractions, wholes)).astype(np.float32)


def _parents(X, made):
    return X[made.parents[:, 0]], X[made.parents[:, 1]]


def test_parents_differ_and_every_row_is_as_often_a_base(X):
    made = generate_rows(X, N_ROWS, SHARE)
    assert (made.parents[:, 0] != made.parents[:, 1]).all()
    assert set(np.bincount(made.parents[:, 0])) == {N_ROWS // len(X)}
    assert len(set(made.parents[:, 1])) == len(X)
    assert np.ptp(np.bincount(generate_rows(X, 70, SHARE).parents[:, 0], minlength=len(X))) == 1


def test_whole_numbers_are_exchanged(X):
    made = generate_rows(X, N_ROWS, SHARE)
    base, partner = (each[:, 3:] for each in _parents(X, made))
    values = made.X[:, 3:]
    assert ((values == base) | (values == partner)).all()
    differ = base != partner
    share = (values == partner)[differ].mean()
    assert abs(share - SHARE) < 0.03


def test_fractions_move_by_one_part_of_the_way(X):
    made = generate_rows(X, N_ROWS, SHARE)
    base, partner = (each[:, :3] for each in _parents(X, made))
    part = (made.X[:, :3] - base) / (partner - base)
    moved = made.X[:, :3] != base
    assert abs(moved.mean() - SHARE) < 0.03
    several = moved.sum(axis=1) > 1
    of_rows = np.where(moved, part, np.nan)[several]
    np.testing.assert_allclose(
        np.nanmin(of_rows, axis=1), np.nanmax(of_rows, axis=1), rtol=1e-2, atol=1e-3
    )
    assert part.min() >= 0
    assert part.max() <= 1.001
    assert part[moved].std() > 0.2


def test_whole_numbers_of_many_values_move_and_are_rounded(X):
    X[:, 4] = np.arange(50)
    made = generate_rows(X, N_ROWS, SHARE)
    base, partner = (each[:, 4] for each in _parents(X, made))
    values = made.X[:, 4]
    assert (values % 1 == 0).all()
    assert ((np.minimum(base, partner) <= values) & (values <= np.maximum(base, partner))).all()
    assert ((values != base) & (values != partner)).mean() > SHARE / 2


def test_missing_values_are_those_of_the_base(X):
    X[::3, 0] = np.nan
    X[::5, 4] = np.nan
    made = generate_rows(X, N_ROWS, SHARE)
    base, _ = _parents(X, made)
    np.testing.assert_array_equal(np.isnan(made.X), np.isnan(base))
    assert (made.X[:, 1] != base[:, 1]).any()


def test_categories_are_exchanged_all_or_none(X):
    X[:, 3:] = [[number % 7, number % 3] for number in range(len(X))]
    made = generate_rows(X, N_ROWS, SHARE, feature_types=["q"] * 3 + ["c"] * 2)
    base, partner = (each[:, 3:] for each in _parents(X, made))
    of_base, of_partner = ((made.X[:, 3:] == each).all(axis=1) for each in (base, partner))
    assert (of_base | of_partner).all()
    assert abs(of_partner.mean() - SHARE) < 0.1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_extreme_shares(X, share):
    X = np.round(X)
    made = generate_rows(X, 100, share)
    np.testing.assert_array_equal(made.X, _parents(X, made)[int(share)])


def test_sparse_rows_are_exchanged_as_dense_ones():
    rng = np.random.default_rng(1)
    dense = rng.integers(1, 5, size=(40, 30)).astype(np.float32)
    dense[rng.random(dense.shape) < 0.7] = 0
    X = sparse.csr_matrix(dense)
    X.data[0] = 0  # stored
    made = generate_rows(X, 500, SHARE)
    expected = generate_rows(X.toarray(), 500, SHARE)
    assert made.X.has_canonical_format
    np.testing.assert_array_equal(made.parents, expected.parents)
    base, partner = _parents(X, made)
    of_base, of_partner = (made.X.toarray() == each.toarray() for each in (base, partner))
    assert (of_base | of_partner).all()
    # The zero that is stored stays stored in the rows that take it.
    stored = made.X.nnz - np.count_nonzero(made.X.toarray())
    assert 0 < stored <= 500


def test_draws_depend_on_the_seed(X):
    one, again, other = (generate_rows(X, 100, SHARE, seed=seed).X for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()
