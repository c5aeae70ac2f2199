"""Probabilistic classifier chains and ensembles, compared with sums over all labelsets."""

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import special
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from xdcc.comparators.baselines import (
    ClassifierChain,
    ProbabilisticClassifierChain,
    ProbabilisticEnsembleOfChains,
)

ALL = np.array(list(itertools.product([0, 1], repeat=4)))
ORDER = [2, 0, 3, 1]
MODELS = [ProbabilisticClassifierChain, ProbabilisticEnsembleOfChains]


def _joint(model: Any, X: NDArray[np.floating]) -> NDArray[np.float64]:
    """P(y | x) of all labelsets, shape (n_samples, 16)."""
    return np.exp([model.log_prob(X, np.tile(labelset, (len(X), 1))) for labelset in ALL]).T


def test_joint_is_the_product_along_the_chain(rows: Any) -> None:
    model = ProbabilisticClassifierChain(order=ORDER).fit(rows.X, rows.Y)
    labelset, expected = np.array([1, 0, 0, 1]), np.zeros(50)
    for k, label in enumerate(ORDER):
        before = ORDER[:k]
        learner = LogisticRegression(max_iter=1000)
        learner.fit(np.column_stack((rows.X, rows.Y[:, before])), rows.Y[:, label])
        features = np.column_stack((rows.X_new, np.tile(labelset[before], (50, 1))))
        expected += learner.predict_log_proba(features)[:, labelset[label]]
    found = model.log_prob(rows.X_new, np.tile(labelset, (50, 1)))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_exact_predictions_from_the_joint(model: type, rows: Any) -> None:
    fitted = model(random_state=0).fit(rows.X, rows.Y)
    joint = _joint(fitted, rows.X_new)
    np.testing.assert_allclose(joint.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(fitted.predict_proba(rows.X_new), joint @ ALL, rtol=1e-9)
    np.testing.assert_array_equal(fitted.predict(rows.X_new), ALL[joint.argmax(axis=1)])
    hamming = fitted.set_params(loss="hamming").predict(rows.X_new)
    np.testing.assert_array_equal(hamming, joint @ ALL >= 0.5)
    assert (hamming != ALL[joint.argmax(axis=1)]).any()


@pytest.mark.parametrize("model", MODELS)
def test_wide_beam_is_exact(model: type, rows: Any) -> None:
    exact = model(random_state=0).fit(rows.X, rows.Y)
    wide = model(random_state=0, beam_width=16).fit(rows.X, rows.Y)
    np.testing.assert_array_equal(wide.predict(rows.X_new), exact.predict(rows.X_new))
    np.testing.assert_allclose(wide.predict_proba(rows.X_new), exact.predict_proba(rows.X_new))


def test_beam_of_one_equals_a_classifier_chain(rows: Any) -> None:
    learner = LogisticRegression(max_iter=1000)
    chain = ClassifierChain(estimator=learner, order=ORDER).fit(rows.X, rows.Y)
    model = ProbabilisticClassifierChain(order=ORDER, beam_width=1).fit(rows.X, rows.Y)
    np.testing.assert_array_equal(model.predict(rows.X_new), chain.predict(rows.X_new))
    np.testing.assert_array_equal(model.predict_proba(rows.X_new), chain.predict(rows.X_new))


def test_wider_beams_find_more_probable_labelsets(rows: Any) -> None:
    Y = np.tile(rows.Y, 2)[:, ::-1] ^ np.random.default_rng(0).integers(0, 2, (100, 8))
    model = ProbabilisticClassifierChain(random_state=0).fit(rows.X, Y)
    log_proba = []
    for width in (1, 3, None):
        found = model.set_params(beam_width=width).predict(rows.X_new)
        log_proba.append(model.log_prob(rows.X_new, found))
    exact = log_proba[2]
    for narrow in log_proba[:2]:
        assert (narrow <= exact + 1e-12).all()
    assert (log_proba[0] < exact - 1e-6).any()
    assert log_proba[0].mean() < log_proba[1].mean()


def test_ensemble_is_the_mean_of_its_chains(rows: Any) -> None:
    model = ProbabilisticEnsembleOfChains(n_estimators=3, random_state=0).fit(rows.X, rows.Y)
    assert len({tuple(chain.order_) for chain in model.chains_}) > 1
    alone = []
    for chain in model.chains_:
        part = ProbabilisticClassifierChain(order=chain.order_).fit(rows.X, rows.Y)
        part.model_ = chain
        alone.append(part.log_prob(rows.X, rows.Y))
    expected = special.logsumexp(alone, axis=0) - np.log(3)
    np.testing.assert_allclose(model.log_prob(rows.X, rows.Y), expected)


def test_ensemble_with_a_beam_finds_the_best_of_its_candidates(rows: Any) -> None:
    model = ProbabilisticEnsembleOfChains(beam_width=2, random_state=0).fit(rows.X, rows.Y)
    found = model.log_prob(rows.X_new, model.predict(rows.X_new))
    exact = np.log(_joint(model, rows.X_new).max(axis=1))
    assert (found <= exact + 1e-9).all()
    assert np.isclose(found, exact).mean() > 0.8


@pytest.mark.parametrize("model", MODELS)
def test_many_labels_require_a_beam(model: type, rows: Any) -> None:
    Y = np.tile(rows.Y, 4)
    with pytest.raises(ValueError, match=r"searches all 2\*\*16 labelsets.*set beam_width"):
        model().fit(rows.X, Y)
    few = {"n_estimators": 2} if model is ProbabilisticEnsembleOfChains else {}
    found = model(beam_width=4, random_state=0, **few).fit(rows.X, Y).predict(rows.X_new)
    assert found.shape == (50, 16)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"beam_width": 0}, "beam_width=0: it must be a whole number at least 1"),
        ({"loss": "f1"}, "loss='f1': it must be one of 'subset', 'hamming'"),
    ],
)
def test_invalid_parameters(model: type, params: Any, message: str, rows: Any) -> None:
    with pytest.raises(ValueError, match=message):
        model(**params).fit(rows.X, rows.Y)
    fitted = model(n_estimators=2) if model is ProbabilisticEnsembleOfChains else model()
    fitted.fit(rows.X, rows.Y).set_params(**params)
    with pytest.raises(ValueError, match=message):
        fitted.predict(rows.X)


def test_invalid_order(rows: Any) -> None:
    for order in ([0, 1], "often"):
        with pytest.raises(ValueError, match="order="):
            ProbabilisticClassifierChain(order=order).fit(rows.X, rows.Y)


@pytest.mark.parametrize("model", MODELS)
def test_invalid_labelsets(model: type, rows: Any) -> None:
    with pytest.raises(NotFittedError):
        model().log_prob(rows.X, rows.Y)
    fitted = model(random_state=0).fit(rows.X, rows.Y)
    with pytest.raises(ValueError, match="Y has 3 labels, but in fit there were 4"):
        fitted.log_prob(rows.X, rows.Y[:, :3])
    with pytest.raises(ValueError, match="probabilities of labelsets need every label"):
        fitted.log_prob(rows.X, np.where(rows.Y, np.nan, 0))
