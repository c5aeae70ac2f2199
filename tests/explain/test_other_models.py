"""Explanations of a single booster, an order-free chain, and MultiLabelClassifier.

A single booster has one round without label features, an order-free chain a round for each step.
MultiLabelClassifier is explained by its boosters, or by the chain of its rule. Expected values are
those of XGBoost, of `chain_order`, and of a plain implementation.
"""

from copy import copy
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from tests.explain.test_label_dependencies import plain_gains
from xdcc import MultiLabelClassifier
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.out_of_fold import mean_margins
from xdcc.explain import (
    feature_importance,
    label_dependencies,
    plot_dependencies,
    plot_order,
    plot_rounds,
    plot_shap,
    round_statistics,
    shap_values,
)
from xdcc.explain.walks import walk_of

MODEL = OrderFreeChainClassifier(
    MultiLabelXGBClassifier(n_estimators=10, max_depth=2, n_jobs=1),
    n_estimators=15,
    max_depth=3,
    learning_rate=0.3,
    reg_lambda=2.0,
    n_masks=5,
    cv=3,
    random_state=0,
    n_jobs=1,
)
_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(240, 4)).astype(np.float32)
_common = X[:, 0] + 2 * _RNG.normal(size=240)
# a and b are nearly equal and almost independent of X; c is separate; d is constant.
Y = np.stack((_common > 0, _common > 0.1, X[:, 1] > 0, np.zeros(240)), axis=1).astype(int)
SHOWN = ["label_0", "label_1", "label_2"]


@pytest.fixture(scope="module")
def model() -> OrderFreeChainClassifier:
    return clone(MODEL).fit(X, Y)


def _margins(model: OrderFreeChainClassifier) -> Any:
    margins = model.calibration_.margins(mean_margins(model.estimators_, X, 4))
    return margins[:, :3].astype(np.float32)


def test_rounds_are_the_steps_of_the_chain(model) -> None:
    walk = walk_of(model)
    order, labels = model.chain_order(X), model.predict(X)
    revealed = np.full((240, 3), np.nan)
    rounds = list(walk.rounds(X))
    assert [round_.number for round_ in rounds] == [1, 2, 3] == list(range(1, walk.n_rounds + 1))
    every = np.arange(240)
    for step, round_ in enumerate(rounds):
        np.testing.assert_array_equal(round_.before, revealed)
        np.testing.assert_array_equal(round_.open, np.isnan(revealed))
        np.testing.assert_allclose(round_.features, _margins(model), atol=1e-6)
        label = order.labels[:, step]
        revealed[every, label] = labels[every, label]
        np.testing.assert_array_equal(round_.after, revealed)
    np.testing.assert_array_equal(revealed, labels[:, :3])
    assert (order.labels[:, 3] == -1).all()


def test_statistics_count_predictions(model) -> None:
    statistics = round_statistics(model, X, Y)
    labels = model.predict(X)[:, :3]
    assert statistics.label_names == SHOWN
    np.testing.assert_array_equal(statistics.positive.sum(axis=0), labels.sum(axis=0))
    np.testing.assert_array_equal((statistics.positive + statistics.negative).sum(axis=1), 240)
    right = statistics.positive_right + statistics.negative_right
    np.testing.assert_array_equal(right.sum(axis=0), (labels == Y[:, :3]).sum(axis=0))
    drawn = plot_order(model, X).images[0].get_array()
    np.testing.assert_allclose(drawn.sum(axis=0), 1)


def test_importance_is_that_of_the_booster(model) -> None:
    table = feature_importance(model, "total_gain")
    expected = model.booster_.get_score(importance_type="total_gain")
    names = [*(f"margin of {name}" for name in SHOWN), *SHOWN]
    assert set(table["round"]) == {1}
    assert dict(zip(table["name"], table["importance"], strict=True)) == pytest.approx(
        {names[int(column[1:])]: gain for column, gain in expected.items()}
    )
    assert table["kind"].tolist() == [
        "feature" if name.startswith("margin") else "label" for name in table["name"]
    ]


def test_shap_values_add_up_to_the_log_odds_that_decided(model) -> None:
    explained = shap_values(model, X)
    assert explained.values.shape == (240, 3, 3 + 3 + 1)
    assert (explained.label_names, explained.propagated_names) == (SHOWN, SHOWN)
    order = model.chain_order(X)
    every = np.arange(240)
    for step in range(3):
        label = order.labels[:, step]
        proba = 1 / (1 + np.exp(-explained.values.sum(axis=2)[every, label]))
        np.testing.assert_allclose(proba, order.values[:, step], atol=1e-5)
    of_first = shap_values(model, X, 1).values.sum(axis=2)
    marginal = model.predict_proba(X)[:, :3]
    np.testing.assert_allclose(1 / (1 + np.exp(-of_first)), marginal, atol=1e-5)
    # The margins of the first classifier are the base margins of the trees.
    matrix = xgb.DMatrix(np.hstack((_margins(model), np.full((240, 3), np.nan))))
    found = model.booster_.predict(matrix, pred_contribs=True)
    found[:, :, -1] += _margins(model)
    np.testing.assert_allclose(shap_values(model, X, 1).values, found, atol=1e-5)
    with pytest.raises(ValueError, match="round_=4"):
        shap_values(model, X, 4)
    assert plot_shap(explained).patches


def test_dependencies_equal_the_plain_implementation(model) -> None:
    truth, weight = Y.astype(float), np.where(np.arange(240) % 3 == 0, 2.0, 0.5)
    truth[::7, 1] = np.nan
    table = label_dependencies(model, X, truth, weight)
    order, labels = model.chain_order(X).labels, model.predict(X)
    for step in range(3):
        revealed = np.full((240, 3), np.nan, np.float32)
        for row in range(240):
            revealed[row, order[row, :step]] = labels[row, order[row, :step]]
        gains, _ = plain_gains(
            model.booster_,
            np.hstack((_margins(model), revealed)),
            truth[:, :3],
            _margins(model).astype(float),
            ~np.isnan(revealed),
            weight,
            reg_lambda=2.0,
        )
        found = np.zeros((3, 3))
        of_step = table[table["round"] == step + 1]
        found[of_step["source"].cat.codes, of_step["target"].cat.codes] = of_step["gain"]
        np.testing.assert_allclose(found, gains[3:], rtol=1e-3, atol=1e-3)
    assert list(table["source"].cat.categories) == SHOWN


def test_dependencies_are_those_of_the_data(model) -> None:
    rows = np.random.default_rng(1)
    X_new = rows.normal(size=(400, 4)).astype(np.float32)
    common = X_new[:, 0] + 2 * rows.normal(size=400)
    Y_new = np.stack((common > 0, common > 0.1, X_new[:, 1] > 0, np.zeros(400)), axis=1)
    table = label_dependencies(model, X_new, Y_new.astype(int))
    gain = table.groupby(["source", "target"], observed=False)["gain"].sum().unstack()
    between = gain.loc["label_0", "label_1"] + gain.loc["label_1", "label_0"]
    with_third = gain.loc["label_2"].abs().sum() + gain["label_2"].abs().sum()
    assert between > 3 * with_third
    assert plot_dependencies(table).images[0].get_array().shape == (3, 3)


def test_labels_that_do_not_depend() -> None:
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, (120, 3))
    model = clone(MODEL).set_params(n_estimators=3).fit(X[:120], labels)
    model.booster_ = None
    assert feature_importance(model).empty
    assert label_dependencies(model, X, np.zeros((240, 3))).empty
    explained = shap_values(model, X)
    assert not explained.values[:, :, :-1].any()
    np.testing.assert_allclose(1 / (1 + np.exp(-explained.bias)), model.predict_proba(X), atol=1e-5)


def test_nothing_to_explain() -> None:
    labels = np.tile([0, 1], (240, 1))
    constant = clone(MODEL).fit(X, labels)
    assert (constant.chain_order(X).labels == -1).all()
    for model in (constant, MultiLabelClassifier(cv=2, n_jobs=1).fit(X, labels)):
        for explain in (feature_importance, lambda model: shap_values(model, X)):
            with pytest.raises(ValueError, match="nothing to explain: all labels were constant"):
                explain(model)


def test_before_fit() -> None:
    for model in (clone(MODEL), MultiLabelClassifier()):
        for explain in (
            lambda model: feature_importance(model),
            lambda model: shap_values(model, X),
            lambda model: round_statistics(model, X, Y),
            lambda model: label_dependencies(model, X, Y),
        ):
            with pytest.raises(NotFittedError):
                explain(model)


@pytest.fixture(scope="module")
def best() -> MultiLabelClassifier:
    return MultiLabelClassifier("example_f1", cv=3, random_state=0, n_jobs=1).fit(X, Y)


def test_importance_of_a_mixture_counts_the_splits_of_its_boosters(best) -> None:
    mixture = copy(best)
    mixture.members_ = [*best.members_, copy(best.members_[0])]
    boosters = [
        member
        for member in mixture.members_
        if isinstance(member.estimators[0], MultiLabelXGBClassifier)
    ]
    assert 1 < len(boosters) < len(mixture.members_)
    counted = feature_importance(mixture, "weight").set_index("name")["importance"]
    expected = np.zeros(4)
    for estimator in [each for member in boosters for each in member.estimators]:
        for name, count in estimator.booster_.get_score(importance_type="weight").items():
            expected[int(name[1:])] += count
    assert counted.to_dict() == {f"f{j}": expected[j] for j in np.flatnonzero(expected)}
    statistics = round_statistics(mixture, X, Y)
    np.testing.assert_array_equal(statistics.positive, [mixture.predict(X)[:, :3].sum(axis=0)])
    others = copy(best)
    others.members_ = [member for member in mixture.members_ if member not in boosters]
    with pytest.raises(TypeError, match=r"The chosen mixture has no booster.*: its members are "):
        feature_importance(others)
    assert shap_values(others, X).values.shape == (240, 3, 4 + 1)


def test_a_model_without_a_tuned_rule(best) -> None:
    ranking = MultiLabelClassifier("ndcg_at_2", cv=3, random_state=0, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(shap_values(ranking, X).values, shap_values(best, X).values)
    with pytest.raises(TypeError, match="with the rule label_wise has no label feat"):
        label_dependencies(ranking, X, Y)


def test_chain_of_a_decision_rule(best, model) -> None:
    with pytest.raises(
        TypeError, match=r"MultiLabelClassifier with the rule \w+ has no label feat"
    ):
        label_dependencies(best, X, Y)
    constant = best.calibration_.constant
    known = KnownLabelsets.of(Y[:, :3].astype(np.float32))
    chained = copy(best)
    chained.rule_ = JointLabelset(model.booster_, constant, known, 0.5)
    table = label_dependencies(chained, X, Y)
    gain = table.groupby(["source", "target"], observed=False)["gain"].sum().unstack()
    assert gain.loc["label_0", "label_1"] + gain.loc["label_1", "label_0"] > 0
    assert set(table["round"]) <= {2, 3}


SMALL: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def booster(data: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(**SMALL).fit(*data)


@pytest.fixture(scope="module")
def stopped(data: Any) -> MultiLabelXGBClassifier:
    """A booster whose last trees do not count in prediction."""
    X, Y = data
    model = MultiLabelXGBClassifier(n_estimators=60, early_stopping_rounds=2, n_jobs=1)
    model.fit(X[:60], Y[:60], eval_set=[(X[60:], Y[60:])])
    assert model.best_iteration_ + 1 < model.booster_.num_boosted_rounds()
    return model


@pytest.mark.parametrize(
    "importance_type", ["gain", "weight", "total_gain", "cover", "total_cover"]
)
def test_importance_is_xgboosts(importance_type: Any, booster: Any) -> None:
    expected = booster.booster_.get_score(importance_type=importance_type)
    table = feature_importance(booster, importance_type)
    assert set(table["round"]) == {1}
    assert set(table["kind"]) == {"feature"}
    assert table["name"].tolist() == sorted(expected)
    np.testing.assert_allclose(
        table["importance"], [expected[name] for name in table["name"]], rtol=1e-5
    )
    together = feature_importance(booster, importance_type, aggregate=True)
    pd.testing.assert_frame_equal(together, table.drop(columns="round"))


def test_importance_is_of_the_trees_that_predict(stopped: Any) -> None:
    counted = feature_importance(stopped, "weight")["importance"].sum()
    used = stopped.booster_[: stopped.best_iteration_ + 1]
    assert counted == sum(used.get_score(importance_type="weight").values())
    assert counted < sum(stopped.booster_.get_score(importance_type="weight").values())


def test_shap_values_are_xgboosts(booster: Any, data: Any) -> None:
    X = data[0]
    explained = shap_values(booster, X)
    expected = booster.booster_.predict(xgb.DMatrix(X), pred_contribs=True)
    np.testing.assert_allclose(explained.values, expected, atol=1e-6)
    assert explained.values.shape == (100, 4, 6 + 1)
    assert explained.of_labels.shape == (100, 4, 0)
    assert explained.label_names == [f"label_{j}" for j in range(4)]
    assert explained.propagated_names == []
    assert explained.feature_names == [f"f{j}" for j in range(6)]
    np.testing.assert_array_equal(shap_values(booster, X, 1).values, explained.values)
    with pytest.raises(ValueError, match="round_=2"):
        shap_values(booster, X, 2)


def test_shap_values_add_up_to_the_margins_that_predict(stopped: Any, data: Any) -> None:
    margins = stopped.booster_.inplace_predict(
        data[0], predict_type="margin", iteration_range=(0, stopped.best_iteration_ + 1)
    )
    explained = shap_values(stopped, data[0])
    np.testing.assert_allclose(explained.values.sum(axis=2), margins, atol=1e-4)


def test_sparse(data: Any) -> None:
    X = sparse.csr_matrix(np.where(data[0] > 3, data[0], 0))
    booster = MultiLabelXGBClassifier(**SMALL).fit(X, data[1])
    expected = booster.booster_.predict(xgb.DMatrix(X), pred_contribs=True)
    np.testing.assert_allclose(shap_values(booster, X).values, expected, atol=1e-6)


def test_every_label_is_decided_in_the_only_round(booster: Any, data: Any) -> None:
    X, Y = data
    statistics = round_statistics(booster, X, Y)
    predicted = booster.predict(X)
    np.testing.assert_array_equal(statistics.positive, [(predicted == 1).sum(axis=0)])
    np.testing.assert_array_equal(statistics.negative, [(predicted == 0).sum(axis=0)])
    right = (statistics.positive_right + statistics.negative_right).sum()
    assert right == (predicted == Y).sum()
    assert statistics.by_round()["round"].tolist() == [1]


def test_plots(booster: Any, data: Any) -> None:
    X, Y = data
    axes = plot_rounds(round_statistics(booster, X, Y))
    assert axes[0].images[0].get_array().shape == (4, 1)
    np.testing.assert_array_equal(plot_order(booster, X).images[0].get_array(), np.ones((4, 1)))
    ax = plot_shap(shap_values(booster, X))
    assert ax.get_title() == "SHAP values: all labels"
    assert ax.get_ylabel() == "feature"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["feature"]
    assert len(ax.patches) == 6


@pytest.mark.parametrize(
    "model",
    [MultiLabelXGBClassifier(**SMALL), DynamicChainClassifier(**SMALL, end_label=False)],
    ids=["booster", "chain"],
)
def test_a_target_of_one_dimension(model: Any, data: Any) -> None:
    X, Y = data
    y = pd.Series(np.array(["no", "yes"])[Y[:, 0]], name="ill")
    frame = pd.DataFrame(X, columns=list("uvwxyz"))
    model.fit(frame, y)
    assert set(feature_importance(model)["name"]) <= set("uvwxyz")

    explained = shap_values(model, frame)
    assert explained.label_names == ["ill"]
    margin = explained.values.sum(axis=2)[:, 0]
    np.testing.assert_allclose(
        1 / (1 + np.exp(-margin)), model.predict_proba(frame)[:, 1], atol=1e-5
    )
    assert plot_shap(explained, label="ill").patches

    statistics = round_statistics(model, frame, y)
    right = statistics.positive_right.sum() + statistics.negative_right.sum()
    assert right == (model.predict(frame) == y).sum()
    assert statistics.to_frame()["label"].tolist() == ["ill"]
    with pytest.raises(ValueError, match="holds the class 'perhaps'"):
        round_statistics(model, frame, y.replace("no", "perhaps"))


def test_dependencies_of_a_chain_on_a_target_of_one_dimension(data: Any) -> None:
    X, Y = data
    y = np.array(["no", "yes"])[Y[:, 0]]
    assert label_dependencies(DynamicChainClassifier(**SMALL).fit(X, y), X, y).empty


def test_dependencies_need_a_chain(booster: Any, data: Any) -> None:
    message = "label_dependencies requires a chain: a MultiLabelXGBClassifier has no label features"
    with pytest.raises(TypeError, match=message):
        label_dependencies(booster, *data)


def test_other_models_are_rejected(data: Any) -> None:
    X, Y = data
    model = LogisticRegression().fit(X, Y[:, 0])
    for explain in (
        lambda: feature_importance(model),
        lambda: round_statistics(model, X),
        lambda: plot_order(model, X),
    ):
        with pytest.raises(TypeError, match="and MultiLabelXGBClassifier, not LogisticRegression"):
            explain()
    with pytest.raises(TypeError, match=r"models of xdcc, not LogisticRegression"):
        shap_values(model, X)


def test_before_fit_single_booster(data: Any) -> None:
    model = MultiLabelXGBClassifier()
    for explain in (
        lambda: feature_importance(model),
        lambda: shap_values(model, data[0]),
        lambda: round_statistics(model, *data),
    ):
        with pytest.raises(NotFittedError):
            explain()
