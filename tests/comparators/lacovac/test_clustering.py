"""Phi coefficients, the threshold λ, and single linkage."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from xdcc.comparators.lacovac import cluster_labels, correlation_threshold, label_correlations


def test_phi_of_the_toy_data(toy_data):
    phi = label_correlations(toy_data[1])
    # 2 of 12 films have crime and horror, 7 have each: (12 * 2 - 49) / (7 * 5).
    np.testing.assert_allclose(phi[0, 1], -25 / 35)
    np.testing.assert_allclose(phi, np.corrcoef(toy_data[1].T))


def test_constant_label_has_no_correlation():
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0]])
    np.testing.assert_array_equal(label_correlations(Y), np.eye(3))
    assert [c.tolist() for c in cluster_labels(Y, threshold=0)] == [[0], [1], [2]]


@pytest.mark.parametrize(("n", "expected"), [(12, 0.59096), (5, 0.98), (2, 1.96), (1, np.inf)])
def test_threshold(n, expected):
    assert correlation_threshold(n) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n", [0, 1.5, "many"])
def test_threshold_needs_a_number_of_instances(n):
    with pytest.raises(ValueError, match=r"n_samples=.*whole number at least 1"):
        correlation_threshold(n)


@pytest.mark.parametrize("n", [20, 50, 200, 1000])
def test_share_of_joined_pairs_under_independence(n):
    """5 % ± 1 %, as in the issue: 19,900 pairs of labels with frequencies from 5 % to 50 %.

    Counts are whole numbers, so for a single frequency the share can be off by more, up to 6.5 %
    for labels that 3 of 50 instances have.
    """
    frequency = np.linspace(0.05, 0.5, 200)
    Y = np.random.default_rng(0).random((n, 200)) < frequency
    phi = label_correlations(Y)[np.triu_indices(200, 1)]
    joined = (np.abs(phi) > correlation_threshold(n)).mean()
    assert 0.04 <= joined <= 0.06


def test_clusters_are_those_of_scipy():
    rng = np.random.default_rng(1)
    hidden = rng.random((40, 4)) < 0.5
    Y = hidden[:, rng.integers(4, size=12)] ^ (rng.random((40, 12)) < 0.2)
    distance = 1 - np.abs(label_correlations(Y))
    threshold = correlation_threshold(40)
    flat = fcluster(
        linkage(squareform(distance, checks=False), "single"), 1 - threshold, "distance"
    )
    clusters = cluster_labels(sparse.csr_array(Y))
    assert 1 < len(clusters) < 12
    assert {frozenset(c.tolist()) for c in clusters} == {
        frozenset(np.flatnonzero(flat == c).tolist()) for c in set(flat)
    }
