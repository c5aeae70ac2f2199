"""Ensembles of classifier chains: orders, samples and votes."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from xdcc.comparators.baselines import (
    ClassifierChain,
    EnsembleOfChains,
    ProbabilisticEnsembleOfChains,
)


def test_votes_of_chains_on_all_rows(rows: Any) -> None:
    learner = LogisticRegression(max_iter=1000)
    params = {"estimator": learner, "n_estimators": 3, "bootstrap": False, "random_state": 0}
    model = EnsembleOfChains(**params).fit(rows.X, rows.Y)
    orders = [chain.order_ for chain in model.chains_]
    chains = [ClassifierChain(estimator=learner, order=o).fit(rows.X, rows.Y) for o in orders]
    votes = np.mean([chain.predict(rows.X_new) for chain in chains], axis=0)
    np.testing.assert_allclose(model.predict_proba(rows.X_new), votes)
    np.testing.assert_array_equal(model.predict(rows.X_new), votes >= 0.5)
    proba = np.mean([chain.predict_proba(rows.X_new) for chain in chains], axis=0)
    model.set_params(vote="probability")
    np.testing.assert_allclose(model.predict_proba(rows.X_new), proba)


@pytest.mark.parametrize("model", [EnsembleOfChains, ProbabilisticEnsembleOfChains])
@pytest.mark.parametrize(
    ("params", "n_rows", "repeats"),
    [({}, 100, True), ({"max_samples": 0.67, "bootstrap": False}, 67, False)],
)
def test_each_chain_has_its_own_sample(
    model: type, params: Any, n_rows: int, repeats: bool, rows: Any
) -> None:
    seen = []

    class Recorder(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(X[:, :6])
            return super().fit(X, y, sample_weight)

    model(estimator=Recorder(max_iter=1000), random_state=0, **params).fit(rows.X, rows.Y)
    samples = seen[::4]  # those of the first label
    assert len(samples) == 10
    assert {len(sample) for sample in samples} == {n_rows}
    assert all((len(np.unique(sample, axis=0)) < n_rows) == repeats for sample in samples)
    assert not np.array_equal(samples[0], samples[1])


@pytest.mark.parametrize("model", [EnsembleOfChains, ProbabilisticEnsembleOfChains])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0: it must be a whole number at least 1"),
        ({"max_samples": 0}, "max_samples=0: it must be a number above 0 and at most 1"),
        ({"bootstrap": 1}, "bootstrap=1: it must be True or False"),
    ],
)
def test_invalid_parameters(model: type, params: Any, message: str, rows: Any) -> None:
    with pytest.raises(ValueError, match=message):
        model(**params).fit(rows.X, rows.Y)


def test_invalid_vote(rows: Any) -> None:
    with pytest.raises(ValueError, match="vote='soft': it must be one of 'label', 'probability'"):
        EnsembleOfChains(vote="soft").fit(rows.X, rows.Y)
    model = EnsembleOfChains(n_estimators=1).fit(rows.X, rows.Y).set_params(vote="soft")
    with pytest.raises(ValueError, match="vote='soft'"):
        model.predict(rows.X)
