"""Invalid trees and rules, which kernels cannot walk through: each index is altered and refused."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from xdcc.base.input_form import InputForm
from xdcc.base.output_form import LabelForm
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.ctbn import CTBNMixtureClassifier
from xdcc.comparators.ctbn.mixture import Component
from xdcc.comparators.lacovac import LaCovaCForestClassifier
from xdcc.comparators.lacovac.tree import KINDS as LABEL_TREE_KINDS
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.comparators.rdt._forest_growing import KINDS as FOREST_KINDS
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.serving.estimator_state import State, put_together, take_apart


def _checked(model, **parts):
    """Put parts into a fitted model, and take it through the checks of a file."""
    changed = copy.copy(model)
    vars(changed).update(parts)
    return put_together(take_apart(changed))


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    X[:, 3:] = rng.random((120, 3)) < 0.2  # sparse features make disjunctions
    Y = (X[:, :3] + 0.5 * rng.normal(size=(120, 3)) > 0).astype(int)
    return X, Y


@pytest.fixture(scope="module")
def forest():
    model = RandomDecisionTreeClassifier(
        n_estimators=4, label_test_fraction=0.3, disjunction_size=2, random_state=0, n_jobs=1
    )
    model.fit(*_rows())
    for kind in ("leaf", "numeric", "label", "disjunction"):
        assert (model.forest_.kind == FOREST_KINDS[kind]).any()
    return model


@pytest.fixture(scope="module")
def trees():
    X, Y = _rows()
    model = LaCovaCForestClassifier(n_estimators=3, random_state=0, n_jobs=1).fit(X, Y)
    assert (model.trees_.kind == LABEL_TREE_KINDS["vertical"]).any()
    return model


@pytest.fixture
def rules():
    return BoomerClassifier(n_rules=8, random_state=0, n_jobs=1).fit(*_rows())


def _altered(array, where, value):
    array = array.copy()
    array[where] = value
    return array


def _with(structure, name, where, value):
    """Alter an array of a structure."""
    return replace(structure, **{name: _altered(getattr(structure, name), where, value)})


def _first(structure, kinds, *names):
    """Find the first node of one of some kinds."""
    return int(np.flatnonzero(np.isin(structure.kind, [kinds[name] for name in names]))[0])


NODE_ARRAYS = ("kind", "index", "threshold", "value", "child", "branches")


def test_valid_structures_pass(forest, trees, rules):
    for model in (forest, trees, rules):
        _checked(model)


@pytest.mark.parametrize("name", NODE_ARRAYS)
def test_a_forest_of_other_lengths(forest, name):
    with pytest.raises(ValueError, match="does not fit"):
        _checked(
            forest, forest_=replace(forest.forest_, **{name: getattr(forest.forest_, name)[:-1]})
        )


@pytest.mark.parametrize(
    ("name", "kinds", "value"),
    [
        ("kind", ("leaf",), 9),
        ("kind", ("leaf",), -1),
        ("kind", ("numeric",), 0),
        ("child", ("numeric",), 0),
        ("child", ("numeric",), -1),
        ("child", ("label",), 2**30),
        ("branches", ("numeric",), 3),
        ("branches", ("disjunction",), 0),
        ("branches", ("label",), 2**31 - 1),
        ("index", ("leaf",), 10**6),
        ("index", ("leaf",), -1),
        ("index", ("numeric",), 6),
        ("index", ("numeric",), -1),
        ("index", ("label",), 3),
        ("index", ("disjunction",), 10**6),
    ],
)
def test_nodes_of_a_forest(forest, name, kinds, value):
    node = _first(forest.forest_, FOREST_KINDS, *kinds)
    with pytest.raises(ValueError, match="does not fit"):
        _checked(forest, forest_=_with(forest.forest_, name, node, value))


@pytest.mark.parametrize(
    ("name", "where", "value"),
    [
        ("start", 0, 1),
        ("start", 1, 0),
        ("start", 1, -5),
        ("start", -1, 10**9),
        ("disjunction", -1, 2),
        ("disjunction", 0, 6),
        ("disjunction", 0, -2),
        ("leaf_size", 0, 0),
        ("label_count", 0, -1),
        ("label_count", 0, 10**6),
        ("labelset_count", 0, 10**6),
        ("label_start", 0, 1),
        ("label_start", 3, 10**9),
        ("label_start", -1, 10**9),
        ("label", 0, 3),
        ("label", 0, -1),
        ("labelset_start", 2, -1),
        ("labelset", 0, 10**6),
    ],
)
def test_lists_of_a_forest(forest, name, where, value):
    with pytest.raises(ValueError, match="does not fit"):
        _checked(forest, forest_=_with(forest.forest_, name, where, value))


@pytest.mark.parametrize(
    ("name", "kinds", "value"),
    [
        ("kind", ("leaf",), 77),
        ("kind", ("vertical",), LABEL_TREE_KINDS["numeric"]),
        ("child", ("numeric",), 0),
        ("child", ("vertical",), 2**30),
        ("n_children", ("numeric",), 1),
        ("n_children", ("vertical",), 0),
        ("default_child", ("numeric",), 2),
        ("default_child", ("numeric",), -1),
        ("feature", ("numeric",), 6),
        ("label_list", ("leaf",), 10**6),
        ("label_list", ("leaf",), -1),
        ("n_samples", ("leaf",), 0),
    ],
)
def test_nodes_of_label_trees(trees, name, kinds, value):
    node = _first(trees.trees_, LABEL_TREE_KINDS, *kinds)
    with pytest.raises(ValueError, match="does not fit"):
        _checked(trees, trees_=_with(trees.trees_, name, node, value))


@pytest.mark.parametrize(
    ("name", "where", "value"),
    [
        ("start", -1, 10**9),
        ("label_count", 0, -1),
        ("label_count", 0, 10**6),
        ("labelset_count", 0, 0),
        ("list_start", 1, 10**9),
        ("list_start", 1, 0),
        ("list_label", 0, 3),
        ("list_label", 0, 1),
        ("count_start", -1, 0),
        ("count_start", 5, 10**6),
        ("labelset_start", 1, -1),
        ("member_start", -1, 10**9),
        ("member", 0, 3),
    ],
)
def test_lists_of_label_trees(trees, name, where, value):
    with pytest.raises(ValueError, match="does not fit"):
        _checked(trees, trees_=_with(trees.trees_, name, where, value))


def test_a_label_predicted_by_two_leaves_is_refused(trees):
    found = trees.trees_
    node = _first(found, LABEL_TREE_KINDS, "vertical")
    child = found.children(node)[0]
    with pytest.raises(ValueError, match="does not fit"):
        _checked(trees, trees_=_with(found, "label_list", child, found.label_list[node]))


@pytest.mark.parametrize(
    ("name", "where", "value"),
    [
        ("condition_start", 1, 10**9),
        ("condition_start", -1, -1),
        ("feature", 0, 6),
        ("feature", 0, -1),
        ("relation", 0, 4),
        ("head_start", 1, -1),
        ("head_label", 0, 3),
        ("head_label", 0, -1),
        ("threshold", slice(1), None),
        ("head_score", slice(1), None),
        ("n_covered", slice(1), None),
        ("labels", slice(1), None),
        ("attributes", slice(1), None),
        ("categories", None, {6: np.array(["a"])}),
    ],
)
def test_rules(rules, name, where, value):
    before = getattr(rules.rules_, name)
    if where is None:
        altered = value
    elif value is None:
        altered = before[where]
    else:
        altered = _altered(before, where, value)
    setattr(rules.rules_, name, altered)
    with pytest.raises(ValueError, match="does not fit"):
        _checked(rules)


def test_a_rule_on_a_category_that_is_not_there(rules):
    found = rules.rules_
    found.categories = {int(found.feature[0]): np.array(["a", "b"])}
    found.threshold[found.feature == found.feature[0]] = 2
    with pytest.raises(ValueError, match="threshold does not fit"):
        _checked(rules)


@pytest.fixture(scope="module")
def mixture():
    return CTBNMixtureClassifier(max_components=2, C=1.0, random_state=0, n_jobs=1).fit(*_rows())


@pytest.mark.parametrize("parents", [[1, 0, -1], [0, -1, -1], [-1, 3, -1], [-2, -1, -1], [-1, -1]])
def test_parents_that_are_not_a_tree(mixture, parents):
    [component, *_] = mixture.mixture_.components
    other = Component(np.array(parents), component.models)
    altered = replace(mixture.mixture_, components=[other], weights=np.ones(1))
    with pytest.raises(ValueError, match=r"(parents|models) does not fit"):
        _checked(mixture, mixture_=altered)


def test_other_shapes_of_a_mixture(mixture):
    whole = mixture.mixture_
    _checked(mixture)
    for parts in (
        {"mixture_": replace(whole, components=[])},
        {"mixture_": replace(whole, weights=np.ones(7))},
        {"_input_form": InputForm(5)},
        {"_output_form": LabelForm.of_matrix(np.array(["a", "b"], object), is_named=False)},
        {"_design": None},
    ):
        with pytest.raises(ValueError, match="does not fit"):
            _checked(mixture, **parts)


@pytest.mark.parametrize(
    "model",
    [
        RandomDecisionTreeClassifier(n_estimators=3, random_state=0, n_jobs=1),
        SketchedExtraTreesClassifier(
            n_estimators=3, categorical_features=[5], random_state=0, n_jobs=1
        ),
        BoomerClassifier(n_rules=8, random_state=0, n_jobs=1),
        LaCovaCForestClassifier(n_estimators=2, random_state=0, n_jobs=1),
        CTBNMixtureClassifier(max_components=2, C=1.0, random_state=0, n_jobs=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_altered_arrays_are_refused_or_predicted_with(model):
    """A small part of the fuzz campaign."""
    X, Y = _rows()
    state = take_apart(model.fit(X, Y))
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(60):
        arrays = [array.copy() for array in state.arrays]
        array = arrays[rng.integers(len(arrays))]
        if array.dtype.kind == "i" and array.size:
            array.flat[rng.integers(array.size)] += rng.choice([-1, 1, 100])
        try:
            altered = put_together(State(state.objects, arrays))
        except ValueError:
            refused += 1
            continue
        altered.predict(X)
        altered.predict_proba(X)
    assert refused
