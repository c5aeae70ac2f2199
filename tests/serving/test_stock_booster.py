"""`stock_booster`: the plugin's names are gone, margins stay, bit for bit."""

import json

import numpy as np
import pytest
import xgboost as xgb

from xdcc.serving import stock_booster

PROBABILITIES = ["logistic", "sumGain", "maxGain", "maxWeight", "maxAbsG"]
OBJECTIVES = [*PROBABILITIES, "logitraw"]


def _train(rows, n_labels, **params):
    matrix = xgb.DMatrix(rows.X, rows.Y[:, :n_labels])
    return xgb.train({"max_depth": 3, "verbosity": 0, **params}, matrix, 8)


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("objective", PROBABILITIES)
def test_predictions(rows, objective, n_labels):
    booster = _train(rows, n_labels, objective=f"multilabel:{objective}", scale_pos_weight=2.0)
    stock = stock_booster(booster)
    X = xgb.DMatrix(rows.X_new)
    margins = booster.predict(X, output_margin=True, strict_shape=True)
    assert margins.shape == (len(rows.X_new), n_labels)
    np.testing.assert_array_equal(stock.predict(X, output_margin=True, strict_shape=True), margins)
    np.testing.assert_allclose(stock.predict(X), booster.predict(X), rtol=0, atol=2e-7)
    learner = json.loads(stock.save_raw("json"))["learner"]
    assert learner["objective"]["reg_loss_param"] == {"scale_pos_weight": "2"}


@pytest.mark.parametrize("n_labels", [1, 4])
def test_margins_as_predictions(rows, n_labels):
    booster = _train(rows, n_labels, objective="multilabel:logitraw")
    X = xgb.DMatrix(rows.X_new)
    margins = booster.predict(X)
    assert margins.min() < 0
    np.testing.assert_allclose(stock_booster(booster).predict(X), margins, rtol=0, atol=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_model_is_written_as_stock_writes_its_own(rows, objective):
    ours = stock_booster(_train(rows, 4, objective=f"multilabel:{objective}"))
    own = _train(
        rows,
        4,
        objective="binary:logitraw" if objective == "logitraw" else "binary:logistic",
        multi_strategy="multi_output_tree",
    )
    ours_model, own_model = (json.loads(booster.save_raw("json")) for booster in (ours, own))
    assert _names(ours_model) == _names(own_model)
    assert ours_model["learner"]["objective"] == own_model["learner"]["objective"]
    assert ours_model["version"] == own_model["version"]
    assert b"multilabel" not in ours.save_raw("ubj")
    assert "multilabel" not in ours.save_config()


def test_start_label_features_and_names_are_kept(rows):
    base_score = [0.1, 0.2, 0.3, 0.4]
    X = np.hstack([rows.X, np.full((len(rows.X), 4), np.nan, dtype=np.float32)])
    booster = xgb.train(
        {
            "objective": "multilabel:maxGain",
            "base_score": base_score,
            "label_feature_begin": rows.X.shape[1],
        },
        xgb.DMatrix(X, rows.Y, feature_names=list("abcdefghi")),
        3,
    )
    stock = stock_booster(booster)
    model = json.loads(stock.save_raw("json"))["learner"]
    stored = json.loads(model["learner_model_param"]["base_score"])
    np.testing.assert_allclose(stored, base_score, rtol=1e-6)
    assert stock.feature_names == list("abcdefghi")
    np.testing.assert_array_equal(
        stock.inplace_predict(X, predict_type="margin"),
        booster.inplace_predict(X, predict_type="margin"),
    )


def test_the_booster_is_not_changed(rows):
    booster = _train(rows, 4, objective="multilabel:maxGain")
    before = booster.save_raw("ubj")
    stock_booster(booster)
    assert booster.save_raw("ubj") == before


def test_a_stock_objective_stays(rows):
    booster = xgb.train({"objective": "reg:squarederror"}, xgb.DMatrix(rows.X, rows.Y[:, 0]), 2)
    assert stock_booster(booster).save_raw("ubj") == booster.save_raw("ubj")


def _names(model):
    """Collect the names of a JSON model's entries, trees by their first."""
    if isinstance(model, dict):
        return {name: _names(entry) for name, entry in model.items()}
    return [_names(model[0])] if isinstance(model, list) and model else None
