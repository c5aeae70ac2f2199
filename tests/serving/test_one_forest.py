"""`to_forest`: all boosters of a model as one, with the margins of the model."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from tests.serving.mixed_models import OF_BOOSTERS, TWO_LEVELS, booster, trees, tuned
from xdcc.chain import OrderFreeChainClassifier
from xdcc.serving import check_booster, to_forest


def margins_by(model, X):
    return np.asarray(model._margins(model._check_X(X)))


def margins_of(forest, X, n_labels):
    return forest.inplace_predict(X, predict_type="margin").reshape(len(X), n_labels)


@pytest.mark.parametrize(
    "name",
    [
        *("folds", "calibrated folds", "one on all rows", "a fold of folds", "constant labels"),
        *("mixture of boosters", "folds of trees", "folds of linear", "mixture", "all members"),
    ],
)
def test_a_model_is_the_weighted_sum_of_its_members(mixed_models, name):
    model, X = mixed_models[name], mixed_models.X_new
    factors, added = model._predictor().source.weights()
    terms = zip(factors, model._predictors(), strict=True)
    found = added + sum(factor * margins_by(member, X) for factor, member in terms)
    np.testing.assert_allclose(found, margins_by(model, X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", OF_BOOSTERS)
def test_margins_and_probabilities(mixed_models, name):
    model, X = mixed_models[name], mixed_models.X_new
    forest = to_forest(model)
    expected = margins_by(model, X)
    found = margins_of(forest, X, model.n_labels_)
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-6)
    proba = model._proba(model._check_X(X))
    by_matrix = forest.predict(xgb.DMatrix(X)).reshape(proba.shape)
    np.testing.assert_allclose(by_matrix, proba, rtol=0, atol=1e-6)
    if hasattr(model, "rule_"):
        np.testing.assert_array_equal(model.rule_.decide(found.astype(float)), model.predict(X))


@pytest.mark.parametrize("name", ["booster of one label", "mixture of boosters"])
def test_what_is_saved_is_stock(mixed_models, name, tmp_path):
    model, X = mixed_models[name], mixed_models.X_new
    forest = to_forest(model)
    file = tmp_path / "forest.ubj"
    forest.save_model(file)
    check_booster(file)
    assert b"multilabel" not in file.read_bytes()
    loaded = xgb.Booster(model_file=file)
    np.testing.assert_array_equal(loaded.inplace_predict(X), forest.inplace_predict(X))


@pytest.mark.parametrize("name", ["booster of groups", "calibrated folds", "booster of one label"])
def test_contributions_add_up(mixed_models, name):
    forest = to_forest(mixed_models[name])
    matrix = xgb.DMatrix(mixed_models.X_new)
    found = forest.predict(matrix, pred_contribs=True).sum(axis=-1)
    np.testing.assert_allclose(found, forest.predict(matrix, output_margin=True), atol=1e-5)


def test_trees_after_the_best_round_are_left_out(classifier, rows):
    forest = to_forest(classifier)
    before = classifier.booster_.save_raw()
    kept = classifier.booster_[: classifier.best_iteration_ + 1]
    assert forest.num_boosted_rounds() == kept.num_boosted_rounds()
    np.testing.assert_array_equal(
        margins_of(forest, rows.X_new, 4), margins_by(classifier, rows.X_new)
    )
    assert classifier.booster_.save_raw() == before


def test_a_start_near_one_keeps_its_digits(rows):
    # As a base_score in single precision, a probability of .999997 has a margin that is off by .02.
    one = booster(base_score=1 - 3e-6, gamma=1e9, learning_rate=1e-9)
    model = tuned(one, calibrate=False).fit(rows.X, rows.Y)
    found = margins_of(to_forest(model), rows.X_new, 4)
    np.testing.assert_allclose(found, margins_by(model, rows.X_new), rtol=0, atol=1e-6)
    assert found.min() > 12


def test_sparse_rows(rows):
    X, X_new = (sparse.csr_matrix(np.nan_to_num(X) * (X > 0)) for X in (rows.X, rows.X_new))
    model = tuned(booster()).fit(X, rows.Y)
    found = to_forest(model).inplace_predict(X_new, predict_type="margin")
    np.testing.assert_allclose(found, margins_by(model, X_new), rtol=0, atol=3e-6)


def test_names_and_categories_are_kept(rows):
    colours = pd.Categorical(np.array(["red", "green", "blue"])[np.arange(120) % 3])
    table = pd.DataFrame({"size": rows.X[:, 0], "colour": colours})
    Y = np.column_stack((rows.Y[:, :2], colours == "red", colours != "blue")).astype(int)
    model = tuned(booster()).fit(table, Y)
    forest = to_forest(model)
    assert forest.feature_names == ["size", "colour"]
    assert any(
        any(tree["split_type"])
        for tree in json.loads(forest.save_raw("json"))["learner"]["gradient_booster"]["model"][
            "trees"
        ]
    )
    codes = model._check_X(table)
    found = forest.inplace_predict(codes, predict_type="margin", validate_features=False)
    np.testing.assert_allclose(found, margins_by(model, table), rtol=0, atol=3e-6)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("trees", "SketchedExtraTreesClassifier"),
        ("folds of linear", "LogisticLabels"),
        ("mixture", "SketchedExtraTreesClassifier|LogisticLabels"),
    ],
)
def test_members_that_are_no_boosters_are_named(mixed_models, name, named):
    with pytest.raises(TypeError, match=rf"^({named}) is not a booster"):
        to_forest(mixed_models[name])


@pytest.mark.parametrize("name", TWO_LEVELS)
def test_a_second_level_is_named(mixed_models, name):
    with pytest.raises(TypeError, match=r"second level \(stacked_\).*use CompiledModel, to_onnx"):
        to_forest(mixed_models[name])
    assert mixed_models[name]._predictor().source.weights() is None


def test_chains_are_named(fitted_chain, rows):
    order_free = OrderFreeChainClassifier(n_estimators=2, n_masks=2, cv=2, n_jobs=1)
    with pytest.raises(TypeError, match=r"^OrderFreeChainClassifier is not a booster"):
        to_forest(order_free.fit(rows.X, rows.Y))
    chain = fitted_chain("short standard")
    with pytest.raises(TypeError, match=r"^DynamicChainClassifier is not a booster"):
        to_forest(chain)
    with pytest.raises(TypeError, match=r"^The margins of this TunedDecisionClassifierCV are not"):
        to_forest(tuned(chain).fit(rows.X, rows.Y))


def test_other_models_are_named(rows):
    foreign = tuned(OneVsRestClassifier(LogisticRegression())).fit(np.nan_to_num(rows.X), rows.Y)
    with pytest.raises(TypeError, match=r"^OneVsRestClassifier is not a booster"):
        to_forest(foreign)
    with pytest.raises(TypeError, match=r"^int is not a booster"):
        to_forest(3)


@pytest.mark.parametrize("model", [booster(), tuned(booster()), trees()])
def test_unfitted(model):
    with pytest.raises(NotFittedError):
        to_forest(model)
