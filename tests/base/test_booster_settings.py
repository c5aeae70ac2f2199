"""Booster parameters that depend on the data: a number per label, constraints by name."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification

from xdcc.base.booster_settings import settle_on_data
from xdcc.baselines import BinaryRelevance, ClassifierChain
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier

X, Y = make_multilabel_classification(
    n_samples=120, n_features=4, n_classes=3, n_labels=2, random_state=0
)
NAMES = ["age", "height", "income", "weight"]
FRAME = pd.DataFrame(X, columns=NAMES)
SMALL: dict[str, Any] = {"n_estimators": 4, "n_jobs": 1}


class _Seen:
    """What an estimator knows of its data."""

    n_features_in_ = 4
    n_labels_ = 3
    feature_names_in_ = np.array(NAMES, dtype=object)


def test_numbers_per_label() -> None:
    for base_score in (0.5, [0.1, 0.2, 0.3]):
        assert settle_on_data({"base_score": base_score}, _Seen())["base_score"] == base_score
    with pytest.raises(ValueError, match="base_score has 2 entries for 3 labels"):
        settle_on_data({"base_score": [0.5, 0.25]}, _Seen())


def test_groups_by_name_and_by_position() -> None:
    groups = [["weight", "age"], (1, np.int64(2))]
    settled = settle_on_data({"interaction_constraints": groups}, _Seen())
    assert json.loads(settled["interaction_constraints"]) == [[0, 3], [1, 2]]
    settled = settle_on_data({"interaction_constraints": groups}, _Seen(), n_further=2)
    assert json.loads(settled["interaction_constraints"]) == [[0, 3, 4, 5], [1, 2, 4, 5]]


def test_directions_by_name_and_as_a_sequence() -> None:
    for constraints in ({"income": -1, "age": 1}, (1, 0, -1, 0), {2: -1, "age": 1}):
        settled = settle_on_data({"monotone_constraints": constraints}, _Seen())
        assert settled["monotone_constraints"] == "(1, 0, -1, 0)"


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("interaction_constraints", "[[0, 1]]", "has to be a sequence of groups"),
        ("interaction_constraints", ["age", "income"], "has to be a sequence of groups"),
        ("interaction_constraints", [0, 1], "has to be a sequence of groups"),
        ("interaction_constraints", [["age", "size"]], "'size', but no column is called so"),
        ("interaction_constraints", [[0, 4]], "the feature 4; .* from 0 to 3"),
        ("interaction_constraints", [[True]], "the feature True"),
        ("monotone_constraints", {"size": 1}, "'size', but no column is called so"),
        ("monotone_constraints", {"age": 2}, "has to be a dict from features to 1, -1 or 0"),
        ("monotone_constraints", (1, 0), "for each of the 4 features"),
        ("monotone_constraints", 1, "has to be a dict"),
    ],
)
def test_bad_constraints(parameter: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{parameter}.*{message}"):
        BinaryRelevance(**SMALL, **{parameter: value}).fit(FRAME, Y)


def test_names_without_names() -> None:
    with pytest.raises(ValueError, match="'age', but no column has a name in X"):
        MultiLabelXGBClassifier(**SMALL, interaction_constraints=[["age"]]).fit(X, Y)


def _features_on_paths(tree: dict[str, Any]) -> set[frozenset[int]]:
    """Features that stand together on a path from the root to a leaf."""
    found = set()
    pending: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
    while pending:
        node, above = pending.pop()
        if tree["left_children"][node] < 0:
            found.add(above)
            continue
        path = above | {tree["split_indices"][node]}
        pending += [(tree["left_children"][node], path), (tree["right_children"][node], path)]
    return found


def _paths(booster: Any) -> set[frozenset[int]]:
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    return set().union(*(_features_on_paths(tree) for tree in model["trees"]))


GROUPS = [{0, 2}, {1, 3}]


@pytest.mark.parametrize("estimator", [MultiLabelXGBClassifier, BinaryRelevance, ClassifierChain])
def test_paths_stay_within_a_group(estimator: Any) -> None:
    params = {**SMALL, "max_depth": 4}
    model = estimator(**params, interaction_constraints=[["age", "income"], ["height", "weight"]])
    free, held = (m.fit(FRAME, Y) for m in (estimator(**params), model))

    def paths(fitted: Any) -> set[frozenset[int]]:
        if hasattr(fitted, "booster_"):
            return _paths(fitted.booster_)
        return set().union(*(_paths(m.booster_) for m in fitted.model_.estimators_))

    def mixed(path: frozenset[int]) -> bool:
        of_x = {feature for feature in path if feature < 4}
        return not any(of_x <= group for group in GROUPS)

    assert any(map(mixed, paths(free)))
    assert not any(map(mixed, paths(held)))


def test_propagated_labels_are_in_every_group() -> None:
    model = DynamicChainClassifier(
        **SMALL, max_depth=4, interaction_constraints=[["age", "income"], ["height", "weight"]]
    ).fit(FRAME, Y)
    [first], [second], *_ = model.boosters_
    assert not any(path & {0, 2} and path & {1, 3} for path in _paths(first) | _paths(second))
    with_label = {path & set(range(4)) for path in _paths(second) if max(path, default=0) >= 4}
    assert any(path & {0, 2} for path in with_label)
    assert any(path & {1, 3} for path in with_label)


@pytest.mark.parametrize("estimator", [BinaryRelevance, ClassifierChain, MultiLabelXGBClassifier])
def test_probabilities_only_rise(estimator: Any) -> None:
    grid = pd.DataFrame(np.repeat(X[:20], 30, axis=0), columns=NAMES)
    grid["age"] = np.tile(np.linspace(X[:, 0].min(), X[:, 0].max(), 30), 20)

    def steps(**params: Any) -> Any:
        model = estimator(**{**SMALL, "n_estimators": 20}, **params).fit(FRAME, Y)
        return np.diff(model.predict_proba(grid)[:, 0].reshape(20, 30), axis=1)

    order = {"order": [0, 1, 2]} if estimator is ClassifierChain else {}
    assert (steps(**order) < 0).any()
    assert (steps(**order, monotone_constraints={"age": 1}) >= 0).all()


def test_a_chains_boosters_only_rise_while_propagated_labels_stay() -> None:
    model = DynamicChainClassifier(**SMALL, monotone_constraints={"age": 1}).fit(FRAME, Y)
    grid = np.repeat(X[:20], 30, axis=0)
    grid[:, 0] = np.tile(np.linspace(X[:, 0].min(), X[:, 0].max(), 30), 20)
    for number, boosters in enumerate(model.boosters_):
        for booster in boosters:
            rng = np.random.default_rng(number)
            known = np.full((20, booster.num_features() - 4), np.nan)
            known[rng.random(known.shape) < 0.5] = 0.7
            rows = np.hstack([grid, np.repeat(known, 30, axis=0)])
            steps = np.diff(booster.inplace_predict(rows).reshape(20, 30, -1), axis=1)
            assert (steps >= 0).all()
