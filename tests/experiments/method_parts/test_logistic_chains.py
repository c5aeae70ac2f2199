"""Chains of logistic regressions: independent labels, the chain rule, and the search for modes."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from experiments.methods.label_networks import LogisticChains, cll_loss_of_own_labels
from xdcc.data import make_multilabel

DATA = make_multilabel(200, n_features=5, n_labels=4, noise=0.2, random_state=0)
LABELSETS = np.array(list(product((0, 1), repeat=4)))


def log_probs(model, X):
    """Log-probability of every labelset for each row."""
    rows = np.repeat(np.arange(len(X)), len(LABELSETS))
    return model.log_prob(X[rows], np.tile(LABELSETS, (len(X), 1))).reshape(len(X), -1)


def test_independent_labels_are_those_of_scikit_learn():
    model = LogisticChains(0, 1, random_state=0).fit(DATA.X, DATA.Y)
    Y_proba = model.predict_proba(DATA.X)
    for label in range(4):
        twin = LogisticRegression(C=model.C_, tol=1e-10, max_iter=1000)
        expected = twin.fit(DATA.X, DATA.Y[:, label]).predict_proba(DATA.X)[:, 1]
        # its intercept is free, ours has a weak penalty
        np.testing.assert_allclose(Y_proba[:, label], expected, atol=1e-3)
    np.testing.assert_array_equal(model.predict(DATA.X), Y_proba > 0.5)
    of_entries = np.log(np.where(DATA.Y == 1, Y_proba, 1 - Y_proba))
    np.testing.assert_allclose(model.log_prob(DATA.X, DATA.Y), of_entries.sum(axis=1))


def test_a_chain_is_a_distribution_and_a_wide_beam_finds_its_mode():
    model = LogisticChains(1, 16, random_state=0).fit(DATA.X, DATA.Y)
    every = log_probs(model, DATA.X)
    np.testing.assert_allclose(np.exp(every).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(DATA.X), LABELSETS[every.argmax(axis=1)])


def test_a_chain_of_width_one_decides_label_by_label():
    model = LogisticChains(1, 1, random_state=0).fit(DATA.X, DATA.Y)
    predicted = model.predict(DATA.X)
    for place in range(4):
        of_both = []
        for value in (0, 1):
            labels = predicted.copy()
            labels[:, place] = value
            of_both.append(model.log_prob(DATA.X, labels, before=predicted))
        np.testing.assert_array_equal(predicted[:, place], of_both[1] > of_both[0])
    split = SimpleNamespace(X=DATA.X)
    own = -model.log_prob(DATA.X, DATA.Y, before=predicted).sum()
    assert cll_loss_of_own_labels(model, split, DATA.Y) == pytest.approx(own)
    wide = LogisticChains(1, 16, random_state=0).fit(DATA.X, DATA.Y)
    given_the_truth = -model.log_prob(DATA.X, DATA.Y).sum()
    assert cll_loss_of_own_labels(wide, split, DATA.Y) == pytest.approx(given_the_truth)


def test_votes_of_chains_and_sparse_features():
    dense = LogisticChains(5, 16, random_state=0).fit(DATA.X, DATA.Y)
    alone = LogisticChains(1, 16, random_state=0).fit(DATA.X, DATA.Y)
    assert (dense.predict(DATA.X) == alone.predict(DATA.X)).mean() > 0.8
    X = sparse.csr_matrix(DATA.X)
    same = LogisticChains(5, 16, random_state=0).fit(X, DATA.Y)
    assert (same.predict(X) == dense.predict(DATA.X)).mean() > 0.97
