"""Parameters as fields: the constructor that is made of them, and when they are checked."""

import copy
import inspect
from types import MappingProxyType

import numpy as np
import pytest
from sklearn.base import clone

from xdcc.base.domains import Number
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


@declares_parameters
class Constant(MultiLabelEstimator):
    """Predicts a number, and counts how often parameters were checked."""

    _domains = MappingProxyType({"number": Number(low=0, high=1)})
    checks = 0

    number: float = 0.5

    def fit(self, X, Y):
        self._begin_fit(X, Y)
        return self

    def _check_params(self):
        type(self).checks += 1
        super()._check_params()

    def _proba(self, X):
        return np.full((len(X), self.n_labels_), self.number)


def test_predictions_check_parameters_when_one_was_set():
    X, message = [[1.0], [2.0]], r"^number=2: it must be a number at least 0 and at most 1\.$"
    model = Constant().fit(X, [[0, 1], [1, 0]])
    model.predict_proba(X)
    before = Constant.checks
    model.predict_proba(X)
    model.predict(X)
    assert Constant.checks == before
    for changed in (model.set_params(number=2), copy.copy(model)):
        for _ in range(2):
            with pytest.raises(ValueError, match=message):
                changed.predict_proba(X)
            with pytest.raises(ValueError, match=message):
                changed.predict(np.array(X))
    model.number = 0.25
    assert (model.predict_proba(X) == 0.25).all()
    assert Constant.checks == before + 9
