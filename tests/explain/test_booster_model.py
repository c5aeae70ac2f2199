"""What is read from a booster's JSON predicts and adds up as the booster itself says."""

from typing import Any

import numpy as np
import pytest

from xdcc.chain import DynamicChainClassifier
from xdcc.explain.booster_model import read_model
from xdcc.explain.rounds import round_matrix
from xdcc.explain.walks import walk_of


@pytest.mark.parametrize("n_labels", [1, 4])
@pytest.mark.parametrize("num_parallel_tree", [1, 2])
def test_leaves_and_start_add_up_to_the_margin(
    num_parallel_tree: int, n_labels: int, data: Any
) -> None:
    X, Y = data
    chain = DynamicChainClassifier(
        n_estimators=3, max_depth=3, num_parallel_tree=num_parallel_tree, n_jobs=1
    ).fit(X, Y[:, :n_labels])
    for round_ in walk_of(chain).rounds(X):
        [booster] = round_.boosters
        matrix = round_matrix(round_, 1)
        model = read_model(booster)
        assert [len(trees) for trees in model.iterations] == [num_parallel_tree] * 3
        leaves = booster.predict(matrix, pred_leaf=True).astype(int)
        trees = [tree for trees in model.iterations for tree in trees]
        margin = model.base_margin + sum(
            tree.leaf_value[leaf] for tree, leaf in zip(trees, leaves.T, strict=True)
        )
        expected = booster.predict(matrix, output_margin=True, strict_shape=True)
        np.testing.assert_allclose(margin, expected, atol=1e-5)


def test_gains_and_covers(fit: Any) -> None:
    [booster] = fit().boosters_[1]
    trees = [tree for trees in read_model(booster).iterations for tree in trees]
    for tree in trees:
        at = tree.splits
        assert (tree.gain[at] > 0).all()
        np.testing.assert_allclose(
            tree.cover[at], tree.cover[tree.left[at]] + tree.cover[tree.right[at]], rtol=1e-5
        )
        is_leaf = tree.left < 0
        np.testing.assert_array_equal(tree.feature[is_leaf], -1)
        np.testing.assert_array_equal(tree.leaf_value[~is_leaf], 0)


def test_settings_of_the_objective(fit: Any) -> None:
    model = read_model(fit(scale_pos_weight=2.5, chain_length=1).boosters_[0][0])
    np.testing.assert_array_equal(model.scale_pos_weight, [2.5] * 4)
    np.testing.assert_array_equal(model.label_weight, [1] * 4)
    assert model.masks_labels
    assert not read_model(fit(separate_and_conquer=False).boosters_[0][0]).masks_labels
