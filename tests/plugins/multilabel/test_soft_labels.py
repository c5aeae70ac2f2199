"""Labels that are probabilities: `soft_labels` of the objectives `multilabel:*`."""

import numpy as np
import pytest
import xgboost as xgb
from scipy.special import expit

N_ROWS, N_FEATURES, N_LABELS = 400, 6, 5
PARAMS = {
    "objective": "multilabel:logistic",
    "max_depth": 4,
    "learning_rate": 0.3,
    "nthread": 1,
}
SEARCHES = [{}, {"sketch_size": 1}, {"sketch_size": 2, "labels_per_tree": 3}, {"subsample": 0.7}]


def make_data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    soft = expit(2 * X @ rng.normal(size=(N_FEATURES, N_LABELS))).astype(np.float32)
    soft[rng.random(soft.shape) < 0.1] = np.nan
    return X, soft, (soft > 0.5).astype(np.float32)


X, SOFT, HARD = make_data()


def train(Y, params=None, *, features=X, weight=None, n_rounds=4):
    matrix = xgb.DMatrix(features, Y, weight=weight)
    return xgb.train(PARAMS | (params or {}), matrix, n_rounds)


def margins(booster, features=X):
    return booster.predict(xgb.DMatrix(features), output_margin=True)


@pytest.mark.parametrize("params", SEARCHES)
def test_zeros_and_ones_are_a_special_case(params):
    """Models are equal bit for bit, with weights of rows, of labels and of positives."""
    weight = np.linspace(0.5, 2, N_ROWS)
    for others in ({}, {"scale_pos_weight": 3.0, "label_weight": [1, 2, 0.5, 1, 3]}):
        for weights in (None, weight):
            hard = train(HARD, params | others, weight=weights)
            soft = train(HARD, params | others | {"soft_labels": True}, weight=weights)
            assert hard.get_dump(dump_format="json") == soft.get_dump(dump_format="json")


@pytest.mark.parametrize("params", [{}, {"sketch_size": 1}])
def test_a_half_is_a_row_of_half_the_weight_with_each_label(params):
    """Sums of gradients are those of the two rows, whatever the other labels are."""
    rng = np.random.default_rng(1)
    halves = rng.choice([0, 0.5, 1, np.nan], size=SOFT.shape).astype(np.float32)
    twice = np.concatenate((X, X))
    of_twice = np.concatenate((np.floor(halves), np.ceil(halves)))
    params = params | {"scale_pos_weight": 2.0}
    soft = train(halves, params | {"soft_labels": True})
    hard = train(of_twice, params, features=twice, weight=np.full(2 * N_ROWS, 0.5))
    np.testing.assert_allclose(margins(soft), margins(hard), atol=2e-4)


@pytest.mark.filterwarnings("ignore:.*specified the `updater` parameter")
@pytest.mark.parametrize("params", [{}, {"sketch_size": 1}])
def test_trees_are_those_of_the_gradients_by_their_formula(params):
    def loss(predicted, matrix):
        p = 1 / (1 + np.exp(-predicted.astype(np.float64)))
        known = ~np.isnan(SOFT)
        gradient = np.where(known, p - SOFT, 0)
        return gradient, np.where(known, p * (1 - p), 0)

    own = PARAMS | params | {"soft_labels": True, "base_score": 0.5}
    custom = {
        name: value for name, value in own.items() if name not in ("objective", "soft_labels")
    }
    custom |= {
        "updater": "grow_multilabel_hist",
        "multi_strategy": "multi_output_tree",
        "allow_unknown_labels": True,
        "base_score": [0.0] * N_LABELS,
        "min_child_weight": 0,  # XGBoost's default, 1, holds for custom objectives
    }
    matrix = xgb.DMatrix(X, SOFT)
    expected = xgb.train(custom, matrix, 4, obj=loss)
    np.testing.assert_allclose(margins(train(SOFT, own)), margins(expected), atol=2e-4)


def test_the_start_is_the_mean_of_the_known_probabilities():
    booster = train(SOFT, {"soft_labels": True, "learning_rate": 1e-9}, n_rounds=1)
    np.testing.assert_allclose(expit(margins(booster)[0]), np.nanmean(SOFT, axis=0), rtol=1e-5)


def test_probabilities_are_learned():
    """A booster that learns them comes closer than one that learns labels drawn by them."""
    known = np.where(np.isnan(SOFT), HARD, SOFT)
    drawn = (np.random.default_rng(2).random(known.shape) < known).astype(np.float32)
    soft = expit(margins(train(known, {"soft_labels": True}, n_rounds=30)))
    hard = expit(margins(train(drawn, n_rounds=30)))
    assert np.abs(soft - known).mean() < 0.8 * np.abs(hard - known).mean()


def test_log_loss_takes_them_and_metrics_of_labels_do_not():
    matrix = xgb.DMatrix(X, np.nan_to_num(SOFT, nan=0.5))
    found = {}
    params = PARAMS | {"soft_labels": True, "eval_metric": "logloss"}
    booster = xgb.train(
        params, matrix, 2, evals=[(matrix, "train")], evals_result=found, verbose_eval=False
    )
    p, y = booster.predict(matrix).astype(np.float64), matrix.get_label().reshape(N_ROWS, -1)
    expected = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
    assert found["train"]["logloss"][-1] == pytest.approx(expected, rel=1e-5)
    for metric in ("hamming_loss", "subset_loss", "example_f1", "micro_f1", "macro_f1"):
        params["eval_metric"] = metric
        with pytest.raises(xgb.core.XGBoostError, match=f"{metric}.*compares labels"):
            xgb.train(params, matrix, 1, evals=[(matrix, "train")])


@pytest.mark.parametrize("params", [{}, {"sketch_size": 1}])
@pytest.mark.parametrize("value", [1.5, -0.25])
def test_other_values(value, params):
    bad = SOFT.copy()
    bad[7, 1] = value
    with pytest.raises(
        xgb.core.XGBoostError, match=rf"in \[0, 1\], or NaN.*row 7, label 1 is {value}\."
    ):
        train(bad, params | {"soft_labels": True})


def test_without_the_parameter_the_message_names_it():
    with pytest.raises(xgb.core.XGBoostError, match="Probabilities need soft_labels=true"):
        train(SOFT)


def test_a_loaded_booster_continues_with_them(tmp_path):
    whole = train(SOFT, {"soft_labels": True}, n_rounds=6)
    first = train(SOFT, {"soft_labels": True}, n_rounds=3)
    first.save_model(tmp_path / "first.ubj")
    loaded = xgb.Booster(model_file=tmp_path / "first.ubj")
    then = xgb.train(PARAMS | {"soft_labels": True}, xgb.DMatrix(X, SOFT), 3, xgb_model=loaded)
    np.testing.assert_array_equal(margins(then), margins(whole))
