"""Base learners of the baselines, and what they refuse."""

import pytest

from experiments.method_parts import base_learner
from xdcc.data import make_multilabel

TRAIN = make_multilabel(20, n_labels=3, random_state=0)


def test_a_tree_takes_parameters():
    assert base_learner("tree", TRAIN).min_samples_leaf == 5
    tree = base_learner("tree", TRAIN, min_samples_leaf=2, max_depth=3)
    assert (tree.min_samples_leaf, tree.max_depth) == (2, 3)


def test_parameters_of_the_tree_are_not_ignored_by_others():
    with pytest.raises(TypeError, match="max_depth: these are parameters of base 'tree', not of"):
        base_learner("logistic", TRAIN, max_depth=3)


def test_unknown_name():
    with pytest.raises(ValueError, match="base is 'forest'; allowed are"):
        base_learner("forest", TRAIN)
