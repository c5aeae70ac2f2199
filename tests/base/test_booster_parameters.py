"""Booster parameters on their way from an estimator to `xgboost.train`, and those of the data."""

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification

from xdcc.base.booster_parameters import (
    PARAM_BY_NAME,
    settle_on_data,
    to_native,
)
from xdcc.base.seeds import seed_from
from xdcc.boosting import (
    BOOSTER_PARAMS,
    SPLIT_METHOD_NUMBERS,
    SPLIT_METHODS,
    MultiLabelXGBClassifier,
)
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain

DEFAULTS = {"learning_rate": 0.3, "reg_lambda": 1.0}


def _native(given: dict, *, plugin: bool = True) -> dict:
    return to_native(DEFAULTS, given, defaults=DEFAULTS, plugin=plugin)


def test_native_names_and_plain_values() -> None:
    native = _native({"reg_alpha": np.float64(0.5), "base_score": np.array([0.5, 0.25])})
    assert native == {"eta": 0.3, "lambda": 1.0, "alpha": 0.5, "base_score": [0.5, 0.25]}
    assert type(native["alpha"]) is float
    assert [type(score) for score in native["base_score"]] == [float, float]


def test_none_leaves_the_default_to_xgboost() -> None:
    assert _native({"eta": None, "gamma": None}) == {"lambda": 1.0}


def test_another_name_replaces_a_default_but_not_a_given_value() -> None:
    assert _native({"lambda": 2})["lambda"] == 2
    with pytest.raises(ValueError, match="reg_lambda and lambda are the same parameter"):
        to_native({"reg_lambda": 3.0}, {"lambda": 2}, defaults=DEFAULTS, plugin=True)


def test_two_other_names() -> None:
    with pytest.raises(ValueError, match="gamma and min_split_loss are the same parameter"):
        _native({"gamma": 1, "min_split_loss": 1})


def test_error_names_the_parameter_as_it_was_spelled() -> None:
    with pytest.raises(ValueError, match=r"^min_split_loss=-1: it must be a number at least 0"):
        _native({"min_split_loss": -1})


@pytest.mark.parametrize("name", ["split_method", "min_child_weight_scope"])
def test_stock_xgboost_does_not_know_the_plugins_parameters(name: str) -> None:
    with pytest.raises(ValueError, match=f"Unknown booster parameter '{name}'"):
        _native({name: "any"}, plugin=False)
    assert PARAM_BY_NAME[name].plugin_only


def test_split_methods_by_the_numbers_of_the_authors() -> None:
    def name(method: object) -> object:
        return _native({"split_method": method})["split_method"]

    assert {n: name(n) for n in SPLIT_METHOD_NUMBERS} == SPLIT_METHOD_NUMBERS
    assert name(np.int64(3)) == "sumGain"
    assert [name(method) for method in SPLIT_METHODS] == list(SPLIT_METHODS)


@pytest.mark.parametrize("split_method", ["sumgain", 0, 99, True, 1.0])
def test_unknown_split_method(split_method: object) -> None:
    with pytest.raises(ValueError, match=r"split_method=.*one of 'sumGain'.*'maxAbsG', 1.*6"):
        _native({"split_method": split_method})


def test_seeds() -> None:
    assert seed_from(None) == 0
    assert seed_from(np.int32(7)) == 7
    generator = np.random.RandomState(0)
    assert seed_from(generator) != seed_from(generator)
    assert seed_from(np.random.RandomState(0)) == seed_from(np.random.RandomState(0))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("device", "cuda", "trees are grown on the CPU only"),
        ("device", "cpu", "trees are grown on the CPU only"),
        ("multi_strategy", "one_output_per_tree", "the estimator decides"),
        ("tree_method", "exact", "trees are grown from histograms"),
    ],
)
@pytest.mark.parametrize("plugin", [True, False])
def test_parameters_that_cannot_be_set(name: str, value: str, reason: str, plugin: bool) -> None:
    with pytest.raises(ValueError, match=f"^{name}='{value}' cannot be set: {reason}"):
        _native({name: value}, plugin=plugin)


@pytest.mark.parametrize("plugin", [True, False])
def test_monotone_constraints(plugin: bool) -> None:
    constraints = {"f": 1}
    native = _native({"monotone_constraints": constraints}, plugin=plugin)
    assert native["monotone_constraints"] == constraints
    assert "monotone_constraints" not in _native({"monotone_constraints": None}, plugin=plugin)


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [
        (None, {}),
        (-1, {}),
        (3, {"nthread": 3}),
        (-2, {"nthread": 3}),
        (np.int64(2), {"nthread": 2}),
    ],
)
def test_threads(n_jobs: object, expected: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xdcc.base.threads.available_cpus", lambda: 4)
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    native = _native({"n_jobs": n_jobs})
    assert {name: value for name, value in native.items() if name == "nthread"} == expected


@pytest.mark.parametrize("n_jobs", [0, -(10**6), 1.0, True, 10**6, "all"])
@pytest.mark.parametrize("name", ["n_jobs", "nthread"])
def test_bad_threads(name: str, n_jobs: object) -> None:
    with pytest.raises(ValueError, match=f"^{name}=.* whole number from 1 to .*None or -1 for all"):
        _native({name: n_jobs})


def test_largest_seed() -> None:
    assert _native({"random_state": 2**32 - 1})["seed"] == 2**32 - 1
    with pytest.raises(ValueError, match=r"random_state=4294967296: .* below 2\*\*32"):
        _native({"random_state": 2**32})


def test_no_name_belongs_to_two_parameters() -> None:
    names = [name for p in BOOSTER_PARAMS for name in {p.name, *p.other_names}]
    assert len(names) == len(set(names))


def _documents(estimator: type, name: str) -> bool:
    # Indentation differs: Python 3.13 takes it off docstrings.
    return (
        re.search(rf"^\s*({name} :|\* `{name}`)", estimator.__doc__ or "", re.MULTILINE) is not None
    )


def test_every_parameter_is_documented_where_it_can_be_given() -> None:
    for param in BOOSTER_PARAMS:
        assert _documents(MultiLabelXGBClassifier, param.name)
        assert _documents(BinaryRelevance, param.name) != param.plugin_only
    assert "{booster_params}" not in MultiLabelXGBClassifier.__doc__


X, Y = make_multilabel_classification(
    n_samples=120, n_features=4, n_classes=3, n_labels=2, random_state=0
)
NAMES = ["age", "height", "income", "weight"]
FRAME = pd.DataFrame(X, columns=NAMES)
SMALL: dict[str, Any] = {"n_estimators": 4, "n_jobs": 1}


class _Seen:
    """The attributes that describe an estimator's data."""

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
        ("interaction_constraints", "[[0, 1]]", "must be a sequence of groups"),
        ("interaction_constraints", ["age", "income"], "must be a sequence of groups"),
        ("interaction_constraints", [0, 1], "must be a sequence of groups"),
        ("interaction_constraints", [["age", "size"]], "'size', but X has no column of that name"),
        ("interaction_constraints", [[0, 4]], "the feature 4; .* from 0 to 3"),
        ("interaction_constraints", [[True]], "the feature True"),
        ("monotone_constraints", {"size": 1}, "'size', but X has no column of that name"),
        ("monotone_constraints", {"age": 2}, "must be a dict from features to 1, -1 or 0"),
        ("monotone_constraints", (1, 0), "for each of the 4 features"),
        ("monotone_constraints", 1, "must be a dict"),
    ],
)
def test_bad_constraints(parameter: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{parameter}.*{message}"):
        BinaryRelevance(**SMALL, **{parameter: value}).fit(FRAME, Y)


def test_names_without_names() -> None:
    with pytest.raises(ValueError, match="'age', but X has no column names"):
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
