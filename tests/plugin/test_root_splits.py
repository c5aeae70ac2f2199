"""The root splits that the authors' own code finds on emotions come out, with their gains.

Their code starts at the margin 0.5, lets a split pass only if every label's Hessian reaches 1 in
both children, and puts thresholds halfway between values; ours lie on the larger of the two.
"""

import json

import numpy as np
import pytest
import xgboost as xgb

from xdcc.data import load_dataset

SPLITS = {
    "maxGain": (4, 5.3756, 266.324),
    "maxWeight": (47, 0.57212, 1.25166),
    "sumGain": (46, 0.23938, 303.946),
    "sumWeight": None,
    "maxAbsG": (4, 5.3756, 3.00269),
    "sumAbsG": (60, 0.05573, 10.526),
}


@pytest.mark.parametrize("method", SPLITS)
def test_root_split(method):
    try:
        data = load_dataset("emotions", "train")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    params = {
        "objective": f"multilabel:{method}",
        "max_depth": 1,
        "lambda": 1,
        "min_child_weight": 1,
        "min_child_weight_scope": "all",
        "base_score": 1 / (1 + np.exp(-0.5)),
        "max_bin": 1000,
    }
    booster = xgb.train(params, xgb.DMatrix(data.X, data.Y), 1)
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    tree = model["trees"][0]
    if SPLITS[method] is None:
        assert len(tree["left_children"]) == 1
        return
    feature, halfway, gain = SPLITS[method]
    assert tree["split_indices"][0] == feature
    assert tree["loss_changes"][0] == pytest.approx(gain, rel=5e-6)
    values = np.unique(data.X[:, feature].astype(np.float32))
    above = np.searchsorted(values, np.float32(tree["split_conditions"][0]))
    assert (values[above - 1] + values[above]) / 2 == pytest.approx(halfway, rel=1e-4)
