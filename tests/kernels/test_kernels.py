"""Shared code of the kernels: access to X, random numbers, and conventions of the sources."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import xdcc
from tests.reference.random_numbers import Random
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.kernels.matrix import HeldMatrix

X = np.array([[3, 0, 1], [0, 0, 2], [3, np.nan, 1]], dtype=np.float32)


@pytest.mark.parametrize(
    ("given", "order", "sparse_format"),
    [
        (X, "C", "csr"),
        (np.asfortranarray(X), "F", "csr"),
        (sparse.csr_matrix(X), "C", "csr"),
        (sparse.csr_array(X), "F", "csr"),
        (sparse.csc_array(X), "F", "csc"),
        (sparse.csr_array((4, 2), dtype=np.float32), "C", "csr"),
    ],
)
def test_valid_matrices(given, order, sparse_format):
    HeldMatrix(given, order, sparse_format)


@pytest.mark.parametrize(
    ("given", "order", "message"),
    [
        (X.astype(np.float64), "C", "dtype"),
        (X, "F", "contiguous"),
        (np.asfortranarray(X), "C", "contiguous"),
        (X[0], "C", "."),
        (sparse.csr_array(X.astype(np.float64)), "C", "dtype"),
        (sparse.csc_array(X), "C", "X is a csc matrix, but this kernel takes csr."),
    ],
)
def test_invalid_matrices(given, order, message):
    with pytest.raises(ValueError, match=message):
        HeldMatrix(given, order, "csr")


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_of_any_size(index):
    """Kernels use 32-bit indices; SciPy uses 64-bit indices for large matrices."""
    random = np.random.default_rng(0)
    dense = random.integers(-1, 2, (60, 5)).astype(np.float32)
    Y = random.integers(0, 2, (60, 3))
    thin = sparse.csr_array(dense)
    thin.indices, thin.indptr = thin.indices.astype(index), thin.indptr.astype(index)
    model = RandomDecisionTreeClassifier(n_estimators=5, random_state=0).fit(dense, Y)
    again = RandomDecisionTreeClassifier(n_estimators=5, random_state=0).fit(thin, Y)
    expected = model.predict_proba(dense)
    np.testing.assert_array_equal(model.predict_proba(thin), expected)
    np.testing.assert_array_equal(again.predict_proba(thin), expected)


def test_bits():
    """The numbers are those of the author of the generator."""
    random = Random(1234567)
    assert [random.draw() for _ in range(5)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
        16408922859458223821,
    ]  # fmt: skip


def test_numbers_from_bits():
    assert Random(1234567).uniform() == pytest.approx(6457827717110365317 / 2**64)
    assert Random(1234567).below(10) == 3


SOURCES = Path(__file__).parents[2] / "xdcc"

KERNELS = sorted([*SOURCES.rglob("*.pyx"), *SOURCES.rglob("*.pxd")])


def test_source():
    """The first line is a docstring; compiler directives belong in meson.build."""
    assert KERNELS
    for path in KERNELS:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert lines[0].startswith('"""'), path
        assert [line for line in lines if line.startswith("include ")] == [], path


def test_pyx_files_are_not_installed():
    assert list(Path(xdcc.__file__).parent.rglob("*.pyx")) == []
