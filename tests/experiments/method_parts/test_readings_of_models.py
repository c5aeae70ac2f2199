"""Readings that stand for scripts of old: a mixture of every size, trees that are walked again."""

import numpy as np

from experiments.engine import registry
from experiments.engine.registry import Split
from experiments.methods.label_networks import GrowingMixture
from xdcc.ctbn import CTBNMixtureClassifier
from xdcc.data import load_dataset, make_multilabel


def test_a_growing_mixture_is_the_classifier_s_while_that_grows():
    data = make_multilabel(300, n_features=4, n_labels=4, noise=0.2, random_state=1)
    growing = GrowingMixture(3, random_state=0).fit(data.X, data.Y)
    losses = growing.log_likelihoods(data.X, data.Y)
    assert losses.shape == (3,)
    assert losses[1] > losses[0]
    assert growing.labels(data.X, 3).shape == data.Y.shape
    # the classifier trains the mixture again on all rows, so they are only alike
    model = CTBNMixtureClassifier(max_components=1, random_state=0).fit(data.X, data.Y)
    assert (model.predict(data.X) == growing.labels(data.X, 1)).mean() > 0.9


def test_trees_that_are_walked_again_decide_the_same():
    train, test = load_dataset("digits", "train")[:200], load_dataset("digits", "test")[:50]
    method = registry.method("rdt_walked")
    model = method.build(train, 0, n_estimators=10, **method.params).fit(train.X, train.Y)
    split = Split(train, test.X)
    kept, walked = (np.asarray(read(model, split)) for read in method.readings.values())
    np.testing.assert_array_equal(kept, walked)
