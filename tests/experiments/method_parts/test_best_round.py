"""Boosters at their best round: early stopping on a quarter of the training part."""

import pytest

from experiments.engine import registry
from xdcc.data import make_multilabel

NAMES = ["sketched_best_round", "stock_best_round", "lightgbm_best_round"]


@pytest.mark.parametrize("name", NAMES)
def test_ends_at_its_best_round_and_takes_constant_labels(name):
    if registry.method(name).missing():
        pytest.skip("LightGBM is not installed")
    data = make_multilabel(300, n_labels=3, noise=0.3, random_state=0)
    data.Y[:, 2] = 1
    method = registry.method(name)
    model = method.build(data, 0, **method.params)
    method.fit(model, data)
    proba = model.predict_proba(data.X)
    assert proba.shape == data.Y.shape
    assert (proba[:, 2] > 0.9).all()
    models = getattr(model, "models_", {0: model}).values()
    last = [getattr(m, "best_iteration_", getattr(m, "best_iteration", None)) for m in models]
    assert min(last) >= 0
    assert max(last) < 1000


def test_groups_are_of_equal_size():
    data = make_multilabel(50, n_labels=5, random_state=0)
    method = registry.method("sketched_best_round")
    for groups, size in ((1, 0), (2, 3), (4, 2), ("auto", None)):
        model = method.build(data, 0, **method.params | {"groups": groups})
        assert model.labels_per_tree == size
