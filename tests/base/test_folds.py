"""Folds that are stratified by labels."""

import numpy as np
import pytest

from xdcc.base.folds import stratified_folds

RNG = np.random.default_rng(0)


def test_rare_labels_are_dealt_out_evenly() -> None:
    Y = (RNG.random((300, 12)) < np.linspace(0.02, 0.5, 12)).astype(np.float32)
    folds = stratified_folds(Y, 3, 0)
    assert set(folds.tolist()) == {0, 1, 2}
    assert np.ptp(np.bincount(folds)) <= 30
    positives = np.stack([Y[folds == fold].sum(axis=0) for fold in range(3)])
    assert np.ptp(positives, axis=0).max() <= 4
    shuffled = np.stack([Y[rows].sum(axis=0) for rows in np.split(RNG.permutation(300), 3)])
    assert np.ptp(shuffled, axis=0).max() > 4  # chance does worse


def test_rows_without_labels_are_dealt_out_too() -> None:
    folds = stratified_folds(np.zeros((20, 3)), 4, 0)
    np.testing.assert_array_equal(np.bincount(folds), [5, 5, 5, 5])


def test_seed_decides() -> None:
    Y = (RNG.random((60, 4)) < 0.4).astype(np.float32)
    Y[0, 0] = np.nan
    np.testing.assert_array_equal(stratified_folds(Y, 2), stratified_folds(Y, 2, 0))
    assert (stratified_folds(Y, 2, 0) != stratified_folds(Y, 2, 1)).any()
    np.testing.assert_array_equal(
        stratified_folds(Y, 2, np.random.RandomState(5)), stratified_folds(Y, 2, 5)
    )


def test_more_folds_than_rows() -> None:
    with pytest.raises(ValueError, match="4 folds need as many rows, but n_samples=3"):
        stratified_folds(np.zeros((3, 2)), 4)
