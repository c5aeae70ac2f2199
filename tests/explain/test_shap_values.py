"""SHAP values of forests, linear models and what is built on them.

They equal Shapley values by definition (`tests/reference/shapley.py`), and add up to the margins of
the model: all of its members are explained, or an error names the one that cannot be.
"""

import copy
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from tests.reference.shapley import forest_value, leaf_means, shapley_values
from tests.serving.mixed_models import Models, mixed, tuned
from xdcc import MultiLabelClassifier
from xdcc.automatic.contributions import N_ORDERS, through_second_level
from xdcc.base.contributions import Contributions
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.data import make_multilabel
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.explain import shap_values
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.forest._contributions import contributions
from xdcc.forest.forest import smoothed_proba
from xdcc.linear import LogisticLabels
from xdcc.serving import load_model, save_model


class Rows(NamedTuple):
    X: Any
    Y: Any
    X_new: Any


_DATA = make_multilabel(180, n_features=7, n_labels=3, missing=0.1, random_state=1)
MODELS = Models(
    Rows(
        _DATA.X[:120].astype(np.float32),
        _DATA.Y[:120].astype(int),
        _DATA.X[120:150].astype(np.float32),
    )
)


def assert_sums_are_margins(model: Any, X: Any) -> Any:
    explained = shap_values(model, X)
    margins = model._margins(model._check_X(X))
    labels = np.arange(model.n_labels_)
    if hasattr(model, "calibration_"):
        labels = np.flatnonzero(model.calibration_.constant.varied)
    assert explained.values.shape == (len(margins), len(labels), model.n_features_in_ + 1)
    sums = explained.values.sum(axis=2, dtype=np.float64)
    np.testing.assert_allclose(sums, margins[:, labels], rtol=0, atol=1e-5)
    return explained


@pytest.mark.parametrize(
    "name", [name for name in MODELS.names if name not in ("constant labels", "linear for text")]
)
def test_sums_are_the_margins_of_the_model(name: str) -> None:
    explained = assert_sums_are_margins(MODELS[name], MODELS.X_new)
    if name != "booster without a split":
        assert np.abs(explained.of_features).max() > 0.05


def test_sums_are_the_margins_for_text() -> None:
    assert_sums_are_margins(MODELS["linear for text"], np.abs(MODELS.X_new))


def test_more_than_rounding_is_an_error() -> None:
    found = Contributions(np.array([[[0.5, -1.0]]]), np.array([[2.0]]))
    with pytest.raises(RuntimeError, match=r"differ from the margins by up to 0\.1"):
        found.rounded_to(np.array([[1.6]]))


def test_rounding_is_divided_among_the_contributions() -> None:
    """XGBoost's own values of many deep trees miss the margin by more."""
    data = make_multilabel(400, n_features=8, n_labels=4, random_state=0)
    model = MultiLabelXGBClassifier(n_estimators=500, max_depth=10, n_jobs=1)
    model.fit(data.X, data.Y)
    X = data.X[:40]
    of_xgboost = model.booster_.predict(xgb.DMatrix(X), pred_contribs=True)
    margins = model.booster_.predict(xgb.DMatrix(X), output_margin=True)
    missed = np.abs(of_xgboost.sum(axis=2, dtype=np.float64) - margins).max()
    explained = assert_sums_are_margins(model, X)
    assert np.abs(explained.values.sum(axis=2, dtype=np.float64) - margins).max() < missed / 2
    np.testing.assert_allclose(explained.values, of_xgboost, atol=1e-4)


def _categories(n_rows: int) -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "size": random.normal(size=n_rows),
            "colour": pd.Categorical(random.choice(list("abcdef"), n_rows)),
            "weight": random.normal(size=n_rows),
            "kind": pd.Categorical(random.choice(list("xyz"), n_rows)),
        }
    )
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "colour"] = None
    return frame


def _labels_of(frame: pd.DataFrame) -> Any:
    random = np.random.default_rng(4)
    signal = np.nan_to_num(frame["size"].to_numpy()) + 2 * frame["colour"].isin(["a", "b"])
    signal = np.stack((signal, frame["weight"] + (frame["kind"] == "x")), axis=1)
    return (signal + random.normal(size=signal.shape) > 0.5).astype(float)


def _forest(weights: Any = None) -> tuple[SketchedExtraTreesClassifier, Any]:
    """A forest on numbers and categories, with unknown labels, and rows to explain."""
    frame = _categories(60)
    Y = _labels_of(frame)
    Y[::4, 1] = np.nan
    model = SketchedExtraTreesClassifier(6, min_samples_leaf=4, random_state=0, n_jobs=1)
    return model.fit(frame, Y, weights), model._check_X(frame[:8])


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3, 60)])
def test_kernel_equals_the_definition(weights: Any) -> None:
    model, X = _forest(weights)
    random = np.random.default_rng(0)
    values = random.normal(size=(len(model.forest_.leaf_weight), 2))
    values[::3, 0] = 0
    found = contributions(model.forest_, X, sparse.csr_array(values), 1)
    for row, x in enumerate(X):
        expected = shapley_values(
            lambda given, x=x: forest_value(model.forest_, sparse.csr_array(values), x, given), 4
        )
        np.testing.assert_allclose(found[row], expected.T, atol=1e-12)
    assert (np.abs(found).max(axis=(0, 1)) > 0.1).all()
    np.testing.assert_array_equal(
        contributions(model.forest_, X, sparse.csr_array(values), 2), found
    )


def test_kernel_on_sparse_rows() -> None:
    random = np.random.default_rng(1)
    X = np.where(random.random((80, 5)) < 0.4, random.normal(size=(80, 5)), 0).astype(np.float32)
    model = SketchedExtraTreesClassifier(5, n_jobs=1).fit(X, X[:, :2] > 0)
    values = sparse.csr_array(random.normal(size=(len(model.forest_.leaf_weight), 2)))
    np.testing.assert_array_equal(
        contributions(model.forest_, sparse.csr_matrix(X), values, 1),
        contributions(model.forest_, X, values, 1),
    )


def test_a_forest_divides_its_margin_as_its_probability() -> None:
    """Without unknown labels: SHAP values of the mean probability, times one number a row.

    Some leaves store shares in single precision.
    """
    frame = _categories(60)
    model = SketchedExtraTreesClassifier(6, min_samples_leaf=4, n_jobs=1).fit(
        frame, _labels_of(frame)
    )
    forest, X = model.forest_, model._check_X(frame[:6])
    in_leaves = leaf_means(forest, model._check_X(frame), _labels_of(frame))
    of_leaves = sparse.csr_array(in_leaves / 6)
    found = model._contributions(X)
    for row, x in enumerate(X):

        def proba(given: frozenset[int], x: Any = x) -> Any:
            return forest_value(forest, of_leaves, x, given)

        of_proba = shapley_values(proba, 4).T
        np.testing.assert_allclose(
            found.bias[row], margins_of(smoothed_proba(forest, proba(frozenset()))), atol=1e-6
        )
        np.testing.assert_allclose(proba(frozenset(range(4))), model._proba(X)[row], atol=1e-6)
        share = of_proba / of_proba.sum(axis=1, keepdims=True)
        difference = model._margins(X)[row] - found.bias[row]
        np.testing.assert_allclose(found.values[row], share * difference[:, np.newaxis], atol=1e-5)


def test_a_forest_with_unknown_labels_explains_what_is_above_the_expected_rate() -> None:
    """A / B - r is (A - r B) / B, and A - r B is a sum over trees."""
    model, X = _forest()
    forest, labels = model.forest_, _labels_of(_categories(60))
    labels[::4, 1] = np.nan
    training = model._check_X(_categories(60))
    positive = leaf_means(forest, training, labels == 1)
    known = leaf_means(forest, training, ~np.isnan(labels))
    nothing = frozenset()
    rate = forest_value(forest, sparse.csr_array(positive), X[0], nothing)
    rate = rate / forest_value(forest, sparse.csr_array(known), X[0], nothing)
    above = sparse.csr_array(positive - rate * known)
    found = model._contributions(X)
    np.testing.assert_allclose(
        found.bias, np.tile(margins_of(smoothed_proba(forest, rate)), (8, 1)), atol=1e-6
    )
    for row, x in enumerate(X):
        expected = shapley_values(lambda given, x=x: forest_value(forest, above, x, given), 4).T
        share = expected / expected.sum(axis=1, keepdims=True)
        difference = model._margins(X)[row] - found.bias[row]
        np.testing.assert_allclose(found.values[row], share * difference[:, np.newaxis], atol=1e-5)


def test_leaves_that_know_nothing_of_a_label() -> None:
    """No feature says anything, and the margin is that of the label's frequency."""
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    Y = np.column_stack((np.tile([0.0, 1.0], 20), np.arange(40) % 4 == 0)).astype(float)
    Y[20:, 0] = np.nan
    model = SketchedExtraTreesClassifier(5, n_jobs=1).fit(X, Y)
    explained = assert_sums_are_margins(model, [[0.0], [1.0]])
    assert explained.values[1, 0, 0] == 0
    np.testing.assert_allclose(explained.bias[1, 0], model._margins(np.ones((1, 1), "f4"))[0, 0])


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 3, 60)])
def test_linear_values_compare_with_the_means_of_training(weights: Any) -> None:
    """They are Shapley values: features that are not given are drawn from all training rows."""
    frame = _categories(60)
    model = LogisticLabels(cv=2, n_jobs=1).fit(frame, _labels_of(frame), weights)
    X = model._check_X(frame)
    found = model._contributions(X[:5])
    for row in range(5):

        def mean_margin(given: frozenset[int], row: int = row) -> Any:
            mixed_rows = X.copy()
            mixed_rows[:, list(given)] = X[row, list(given)]
            return np.average(model._margins(mixed_rows), axis=0, weights=weights)

        np.testing.assert_allclose(found.values[row], shapley_values(mean_margin, 4).T, atol=1e-7)
        np.testing.assert_allclose(found.bias[row], mean_margin(frozenset()), atol=1e-7)


def test_text_is_explained_by_words_of_given_length() -> None:
    random = np.random.default_rng(2)
    X = random.poisson(0.3, (80, 60)).astype(np.float32)
    Y = (X[:, :2] > 0).astype(int)
    model = LogisticLabels(C=1.0, n_jobs=1).fit(sparse.csr_matrix(X), Y)
    assert model.text_like_
    explained = assert_sums_are_margins(model, sparse.csr_matrix(X[:20]))
    lengths = model._columns.row_lengths(X)
    means = (X / lengths[:, np.newaxis]).mean(axis=0)
    expected = (X[:20] / lengths[:20, np.newaxis] - means)[:, np.newaxis] * model.coef_
    np.testing.assert_allclose(explained.of_features, expected, atol=1e-6)


@pytest.mark.parametrize("n_features", [1, 3])
def test_second_level_equals_the_definition_with_all_orders(n_features: int) -> None:
    random = np.random.default_rng(0)
    parts = [
        Contributions(random.normal(size=(4, 2, n_features)), random.normal(size=(4, 2)))
        for _ in range(2)
    ]

    def predict(margins: Any) -> Any:
        """Steps and products, as trees make them of margins."""
        a, b, c, d = margins.astype(float).T
        return np.stack(((a > 0) * b + np.sign(c) * (d > 0.3), a * b * c), axis=1)

    end = np.hstack([part.margins for part in parts]).astype(np.float32)
    found = through_second_level(predict, parts, end)
    for row in range(4):

        def game(given: frozenset[int], row: int = row) -> Any:
            some = list(given)
            known = [part.bias[row] + part.values[row][:, some].sum(axis=1) for part in parts]
            return predict(np.hstack(known)[np.newaxis].astype(np.float32))[0]

        np.testing.assert_allclose(found.values[row], shapley_values(game, n_features).T, atol=1e-5)
        np.testing.assert_allclose(found.bias[row], game(frozenset()))


def test_second_level_with_drawn_orders() -> None:
    """Sums are exact; of a linear second level the values are, too; others come near."""
    random = np.random.default_rng(1)
    part = Contributions(random.normal(size=(3, 2, 6)), random.normal(size=(3, 2)))
    end = part.margins.astype(np.float32)
    slopes = random.normal(size=(2, 2))
    linear = through_second_level(lambda margins: margins @ slopes, [part], end)
    np.testing.assert_allclose(
        linear.values, np.einsum("rkf,kl->rlf", part.values, slopes), atol=1e-5
    )

    def predict(margins: Any) -> Any:
        return np.tanh(margins.astype(float)) * np.sign(margins[:, ::-1])

    found = through_second_level(predict, [part], end)
    np.testing.assert_allclose(found.margins, predict(end), atol=1e-12)
    for row in range(3):

        def game(given: frozenset[int], row: int = row) -> Any:
            known = part.bias[row] + part.values[row][:, list(given)].sum(axis=1)
            return predict(known[np.newaxis])[0]

        # Gains are at most 2: their mean over the orders has a standard error below that.
        error = 2 / np.sqrt(N_ORDERS)
        difference = found.values[row] - shapley_values(game, 6).T
        assert np.abs(difference).max() < 3 * error


def test_what_does_not_matter_contributes_nothing() -> None:
    random = np.random.default_rng(5)
    X = random.normal(size=(150, 6)).astype(np.float32)
    X[:, 5] = 1
    Y = (X[:, :3] > 0).astype(int)
    models = Models(Rows(X, Y, X[:10]))
    explained = assert_sums_are_margins(models["two levels"], X[:10])
    assert not explained.of_features[:, :, 5].any()
    assert (np.abs(explained.of_features[:, :, 0]).max(axis=0) > 0.1).any()


def test_a_mixture_of_several_levels_on_a_sparse_x() -> None:
    random = np.random.default_rng(0)
    X = sparse.random_array((120, 20), density=0.3, format="csr", rng=random)
    Y = (X[:, :3].toarray() > 0.3).astype(int)
    assert_sums_are_margins(MultiLabelClassifier(cv=2, n_jobs=1).fit(X, Y), X[:20])


def test_categories_in_all_members() -> None:
    frame = _categories(120)
    Y = _labels_of(frame).astype(int)
    members = (
        MultiLabelXGBClassifier(n_estimators=8, n_jobs=1),
        SketchedExtraTreesClassifier(8, n_jobs=1),
        LogisticLabels(cv=2, n_jobs=1),
    )
    base = MultiLabelClassifier(cv=2, n_jobs=1).fit(frame, Y)
    model = mixed(base, *(tuned(member).fit(frame, Y) for member in members))
    explained = assert_sums_are_margins(model, frame[:15])
    assert explained.feature_names == ["size", "colour", "weight", "kind"]
    assert explained.label_names == ["label_0", "label_1"]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            DynamicChainClassifier(n_estimators=2, chain_length=2, cv=2, n_jobs=1),
            "DynamicChainClassifier cannot be explained by SHAP values: its log-odds are not a sum",
        ),
        (
            DecisionTreeClassifier(max_depth=3),
            "sklearn.tree._classes.DecisionTreeClassifier cannot be explained by SHAP values: only",
        ),
    ],
)
def test_an_error_names_the_member_that_cannot_be_explained(estimator: Any, message: str) -> None:
    X, Y = np.nan_to_num(MODELS.X_new), (MODELS.X_new[:, :2] > 0).astype(int)
    model = TunedDecisionClassifierCV(estimator, cv=2).fit(X, Y)
    with pytest.raises(TypeError, match=message):
        shap_values(model, X)
    base = MODELS["mixture"]
    part_of_it = mixed(base, MODELS["calibrated folds"], model)
    with pytest.raises(TypeError, match=message):
        shap_values(part_of_it, X)


def test_other_models_of_the_package_cannot_be_explained() -> None:
    X, Y = MODELS.X_new, (MODELS.X_new[:, :2] > 0).astype(int)
    model = RandomDecisionTreeClassifier(n_estimators=5, n_jobs=1).fit(X, Y)
    with pytest.raises(TypeError, match="RandomDecisionTreeClassifier cannot be explained by SHAP"):
        shap_values(model, X)


def test_linear_models_of_old_files_have_to_be_fitted_again(tmp_path: Any) -> None:
    model = copy.copy(MODELS["linear"])
    model._columns = copy.copy(model._columns)
    object.__delattr__(model._columns, "mean")  # as 0.2 wrote it
    save_model(model, tmp_path / "old.xdcc")
    old = load_model(tmp_path / "old.xdcc")
    np.testing.assert_array_equal(
        old.predict_proba(MODELS.X_new), model.predict_proba(MODELS.X_new)
    )
    with pytest.raises(TypeError, match=r"model file of xdcc 0\.2.*Fit it again"):
        shap_values(old, MODELS.X_new)
    save_model(MODELS["linear"], tmp_path / "new.xdcc")
    np.testing.assert_array_equal(
        shap_values(load_model(tmp_path / "new.xdcc"), MODELS.X_new).values,
        shap_values(MODELS["linear"], MODELS.X_new).values,
    )


def test_a_round_that_there_is_not() -> None:
    assert shap_values(MODELS["folds"], MODELS.X_new, 1).round == 1
    with pytest.raises(ValueError, match=r"round_=2: .* at least 1 and at most 1"):
        shap_values(MODELS["folds"], MODELS.X_new, 2)
