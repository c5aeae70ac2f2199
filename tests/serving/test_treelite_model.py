"""`to_treelite`: Treelite carries the vector leaves, with equal predictions."""

import builtins

import numpy as np
import pytest
import xgboost as xgb

from xdcc.serving import to_treelite


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("objective", ["logistic", "maxGain", "logitraw"])
def test_predictions(rows, objective, n_labels):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    booster = xgb.train(
        {"objective": f"multilabel:{objective}", "max_depth": 4},
        xgb.DMatrix(rows.X, rows.Y[:, :n_labels]),
        20,
    )
    predicted = treelite.gtil.predict(to_treelite(booster), rows.X_new)
    expected = booster.predict(xgb.DMatrix(rows.X_new), strict_shape=True)
    np.testing.assert_allclose(
        predicted.reshape(len(rows.X_new), n_labels), expected, rtol=0, atol=2e-6
    )


def test_a_booster_of_a_chain(fitted_chain, rows):
    treelite = pytest.importorskip("treelite", reason="Treelite is not installed")
    booster = fitted_chain("paper").boosters_[-1][0]
    P = np.full((len(rows.X_new), 4), np.nan, dtype=np.float32)
    P[:, 1] = 0.75
    joined = np.hstack([rows.X_new, P])
    predicted = treelite.gtil.predict(to_treelite(booster), joined)
    np.testing.assert_allclose(
        predicted[:, :, 0], booster.inplace_predict(joined), rtol=0, atol=2e-6
    )


def test_without_treelite(fitted_chain, monkeypatch):
    import_ = builtins.__import__

    def without_treelite(name, *args):
        if name == "treelite":
            raise ImportError(name)
        return import_(name, *args)

    monkeypatch.setattr(builtins, "__import__", without_treelite)
    with pytest.raises(ImportError, match="pip install treelite"):
        to_treelite(fitted_chain("paper").boosters_[0][0])
