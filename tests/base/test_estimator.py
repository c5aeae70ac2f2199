"""Parameters as fields: the constructor that is made of them."""

import inspect

import pytest
from sklearn.base import clone

from xdcc.base.estimator import MultiLabelEstimator, declares_parameters


@declares_parameters
class Tree(MultiLabelEstimator):
    """A tree."""

    max_depth: int = 3
    min_leaf: int = 5


@declares_parameters
class Forest(Tree):
    """More trees, with another default."""

    n_trees: int = 10
    min_leaf: int = 1


def test_defaults_may_differ_in_a_subclass():
    assert Tree().get_params() == {"max_depth": 3, "min_leaf": 5}
    assert Forest().get_params() == {"max_depth": 3, "min_leaf": 1, "n_trees": 10}


def test_arguments_are_stored_as_they_are_and_cloned():
    depth = object()
    forest = Forest(max_depth=depth)
    assert forest.max_depth is depth
    assert vars(clone(Forest(n_trees=2))) == {"max_depth": 3, "min_leaf": 1, "n_trees": 2}


def test_arguments_have_names_only():
    kinds = {p.kind for p in inspect.signature(Forest).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_tree'"):
        Forest(n_tree=2)


def test_estimators_are_equal_to_themselves_only_and_print_as_scikit_learn_does():
    assert Tree() != Tree()
    assert repr(Tree(max_depth=2)) == "Tree(max_depth=2)"
    hash(Tree())
