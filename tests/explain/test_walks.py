"""Walks: label features of each round are the labels propagated before."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.exceptions import NotFittedError

from xdcc.chain import DynamicChainClassifier
from xdcc.explain import feature_importance, round_statistics, shap_values
from xdcc.explain.walks import round_matrix, walk_of


@pytest.mark.parametrize(
    "params",
    [{}, {"labels_per_round": 2}, {"end_label": True}, {"propagate": "cross_val", "cv": 2}],
)
def test_label_features_are_the_propagated_labels(params: Any, data: Any, fit: Any) -> None:
    X, Y = data
    chain = fit(**params)
    order = chain.chain_order(X)
    P = np.full(Y.shape, np.nan, dtype=np.float32)
    rounds = list(walk_of(chain).rounds(X))
    assert [round_.number for round_ in rounds] == list(range(1, chain.n_rounds_ + 1))
    for r, round_ in enumerate(rounds):
        np.testing.assert_array_equal(round_.before, P)
        for column in range(r * order.labels_per_round, (r + 1) * order.labels_per_round):
            for row, label in enumerate(order.labels[:, column]):
                if label >= 0:
                    P[row, label] = order.values[row, column]
        np.testing.assert_array_equal(round_.after, P)


def test_ended_rows_have_no_open_labels(data: Any, fit: Any) -> None:
    rounds = list(walk_of(fit(end_label=True)).rounds(data[0]))
    last = rounds[-1]
    assert last.ended.any()
    assert not rounds[0].ended.any()
    assert not last.open[last.ended].any()
    assert np.isnan(last.after[last.ended]).any()
    np.testing.assert_array_equal(last.open[~last.ended], np.isnan(last.before[~last.ended]))


@pytest.mark.parametrize("end_label", [False, True])
def test_matrix_gives_the_propagated_probabilities(end_label: bool, data: Any, fit: Any) -> None:
    X = np.where(data[0] > 3, data[0], np.nan)
    chain = fit(end_label=end_label)
    stored = ~np.isnan(X)
    csr = sparse.csr_matrix((X[stored], np.nonzero(stored)), shape=X.shape)
    on_sparse = copy.copy(chain)
    on_sparse._input_form = replace(chain._input_form, is_sparse=True)
    for features, model in ((X, chain), (csr, on_sparse)):
        for round_ in walk_of(model).rounds(features):
            matrix = round_matrix(round_, 1)
            proba = round_.boosters[0].predict(matrix, validate_features=False)
            new = np.isnan(round_.before) & ~np.isnan(round_.after)
            np.testing.assert_allclose(proba[:, :4][new], round_.after[new], rtol=1e-6)
            assert new.any()


def test_flat_list_of_boosters_is_rejected(data: Any, fit: Any) -> None:
    chain = copy.copy(fit())
    chain.boosters_ = [boosters[0] for boosters in chain.boosters_]
    for explain in (
        walk_of,
        feature_importance,
        lambda flat: shap_values(flat, data[0]),
    ):
        with pytest.raises(
            TypeError, match="boosters_ contains a Booster for round 1, but it must con"
        ):
            explain(chain)


def test_boosters_of_an_ensemble(fit: Any) -> None:
    rounds = walk_of(fit(propagate="cross_val", cv=3, ensemble=True)).boosters
    assert [len(boosters) for boosters in rounds] == [3] * 4
    assert all(isinstance(booster, xgb.Booster) for boosters in rounds for booster in boosters)


def test_names_of_features(data: Any, fit: Any) -> None:
    assert walk_of(fit()).feature_names == ["f0", "f1", "f2", "f3", "f4", "f5"]
    frame = pd.DataFrame(data[0], columns=list("uvwxyz"))
    chain = DynamicChainClassifier(n_estimators=1, chain_length=1).fit(frame, data[1])
    assert walk_of(chain).feature_names == list("uvwxyz")


def test_before_fit(data: Any) -> None:
    chain = DynamicChainClassifier()
    with pytest.raises(NotFittedError):
        walk_of(chain)
    with pytest.raises(NotFittedError):
        round_statistics(chain, *data)


def test_wrong_number_of_features(data: Any, fit: Any) -> None:
    with pytest.raises(ValueError, match="X has 2 features"):
        next(walk_of(fit()).rounds(data[0][:, :2]))
