"""What the paper reports, on embedded data: one training and one test part."""

import numpy as np
import pytest
from scipy.special import expit

from xdcc.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.ctbn.design import Design
from xdcc.ctbn.logistic import Penalty, Problems, linear_predictor, solve
from xdcc.ctbn.reference import all_labelsets
from xdcc.data import load_dataset
from xdcc.metrics import subset_accuracy


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits", "train")[:400], load_dataset("digits", "test")[:200]


@pytest.fixture(scope="module")
def mixture(digits):
    train, _ = digits
    return CTBNMixtureClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)


def test_mixture_is_ahead_of_one_tree_and_of_independent_labels(digits, mixture):
    train, test = digits
    tree = CTBNClassifier(random_state=0, n_jobs=1).fit(train.X, train.Y)
    design = Design(train.X)
    rows, ones = design.transform(train.X), np.ones(train.Y.shape)
    start = np.zeros((rows.shape[1] + 2, 7))
    coef = solve(rows, Problems(train.Y * 1.0, ones, 0 * ones), Penalty(1.0), start).coef
    positive = expit(linear_predictor(design.transform(test.X), coef, np.zeros(test.Y.shape)))
    alone = np.log(np.where(test.Y == 1, positive, 1 - positive)).sum()
    assert len(mixture.mixture_weights_) > 1
    scores = [model.log_prob(test.X, test.Y).sum() for model in (mixture, tree)]
    assert scores[0] > scores[1] > alone
    exact = [subset_accuracy(test.Y, model.predict(test.X)) for model in (mixture, tree)]
    assert exact[0] > subset_accuracy(test.Y, (positive > 0.5).astype(int))
    assert exact[1] > subset_accuracy(test.Y, (positive > 0.5).astype(int))


def test_annealing_finds_the_best_labelset(digits, mixture):
    _, test = digits
    annealed = mixture.predict(test.X)
    exact = mixture.set_params(inference="exact").predict(test.X)
    mixture.set_params(inference="anneal")
    assert (annealed == exact).all(axis=1).mean() >= 0.99


def test_probabilities_and_marginals(digits, mixture):
    _, test = digits
    labelsets = all_labelsets(7)
    X = np.repeat(test.X[:20], len(labelsets), axis=0)
    p = np.exp(mixture.log_prob(X, np.tile(labelsets, (20, 1)))).reshape(20, -1)
    assert p.sum(axis=1) == pytest.approx(np.ones(20), abs=1e-9)
    assert mixture.predict_proba(test.X[:20]) == pytest.approx(p @ labelsets, abs=1e-9)


def test_em_never_falls(mixture):
    for curve in [*mixture.log_likelihood_curves_, mixture.log_likelihood_curve_]:
        assert (np.diff(curve) >= -1e-8).all()
