"""The tasks of any number of threads grow the same trees, bit for bit, and are many enough.

The plugin's recorder runs the tasks of sixteen threads on one. There are so many rows, and so few
bins, that threads share the rows of nodes.
"""

import numpy as np
import pytest
import xgboost as xgb
from scipy import sparse

from experiments.speed.spans import record
from tests.processors import idle_processors

pytestmark = pytest.mark.skipif(
    "XDCC_MULTILABEL" not in xgb.build_info(),
    reason="this xgboost has no multilabel plugin: pip install ./third_party/xgboost",
)

N_ROWS, N_FEATURES, N_LABELS, N_THREADS = 8000, 20, 6, 16

SETTINGS = {
    "lists": {},
    "histograms": {"max_list_rows": 100},
    "histograms, little memory": {"max_list_rows": 100, "max_histogram_mib": 2},
    "histograms, groups": {"max_list_rows": 100, "labels_per_tree": 3, "sketch_size": 0},
    "histograms, sampled": {"max_list_rows": 100, "subsample": 0.6, "seed": 4},
    "sketch": {"sketch_size": 1},
    "sketch of two": {"sketch_size": 2},
    "sketch of three": {"sketch_size": 3, "colsample_bytree": 0.5},
    "sketch, deep": {"sketch_size": 1, "max_depth": 9},
    "sketch, monotone": {"sketch_size": 1, "monotone_constraints": "(1,-1)"},
}


def make_matrix(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    score = X @ rng.normal(size=(N_FEATURES, N_LABELS)) + rng.normal(size=(N_ROWS, N_LABELS))
    if kind == "missing":
        X[rng.random(X.shape) < 0.3] = np.nan
    if kind == "sparse":
        X = sparse.csr_matrix(X * (rng.random(X.shape) < 0.2))
    return xgb.DMatrix(X, (score > 1).astype(float), nthread=1)


def train(matrix, n_threads, settings):
    params = {"objective": "multilabel:sumGain", "max_bin": 16, "min_child_weight": 0}
    return xgb.train(params | {"nthread": n_threads} | settings, matrix, 3)


@pytest.mark.parametrize("kind", ["dense", "missing", "sparse"])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_sixteen_threads_grow_the_trees_of_one(kind, settings):
    matrix = make_matrix(kind)
    expected = train(matrix, 1, settings).save_raw("ubj")
    models = []
    record(lambda: models.append(train(matrix, N_THREADS, settings)), N_THREADS)
    assert models[0].save_raw("ubj") == expected


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        (
            {"max_list_rows": 100},
            ["LabelSearch::ShareHistograms", "LabelSearch::DecideNodes", "LabelSearch::Prepare"],
        ),
        ({"sketch_size": 1}, ["SketchSearch::ShareNodes", "SketchSearch::Partition"]),
    ],
)
def test_threads_share_the_rows_of_the_root(settings, names):
    matrix = make_matrix("dense")
    recording = record(lambda: train(matrix, N_THREADS, settings), N_THREADS)
    for name in names:
        first = next(region for region in recording.regions if region.name == name)
        assert len(first.tasks) > 2, name


def test_a_single_thread_shares_nothing():
    recording = record(lambda: train(make_matrix("dense"), 1, {"sketch_size": 1}), 1)
    assert {len(region.tasks) for region in recording.regions} <= {1}


@pytest.mark.parametrize("n_threads", [2, 16])
@pytest.mark.parametrize(
    "params",
    [
        {"objective": "multilabel:logistic"},
        {"objective": "multilabel:logistic", "sketch_size": 2},
        {
            "objective": "reg:absoluteerror",
            "updater": "grow_multilabel_hist",
            "multi_strategy": "multi_output_tree",
            "base_score": 0.3,
            "verbosity": 0,
        },
    ],
    ids=["logistic", "sketch", "absolute"],
)
def test_groups_that_only_some_searches_support(params, n_threads):
    """Of five labels in groups of two, the last has a group of its own, which bears a floor."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(256, 7)).astype(np.float32)
    Y = (rng.random((256, 5)) < 0.3).astype(float)
    matrix = xgb.DMatrix(X, Y, nthread=1)
    for seed in range(10):
        tree = {"labels_per_tree": 2, "min_child_weight": 1, "seed": seed}
        expected = xgb.train(params | tree | {"nthread": 1}, matrix, 5).save_raw("ubj")
        with idle_processors(n_threads):
            found = xgb.train(params | tree | {"nthread": n_threads}, matrix, 5).save_raw("ubj")
        assert found == expected


@pytest.mark.parametrize("n_threads", [2, 3, 16])
@pytest.mark.parametrize("soft", [False, True])
def test_sketches_of_many_rows(n_threads, soft):
    """Rows are read past their end: what follows belongs to another thread."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(5000, 4)).astype(np.float32)
    Y = rng.random((5000, 11))
    Y = Y if soft else (Y < 0.3).astype(float)
    matrix = xgb.DMatrix(X, Y, nthread=1)
    params = {"objective": "multilabel:logistic", "sketch_size": 1} | (
        {"soft_labels": True} if soft else {}
    )
    expected = xgb.train(params | {"nthread": 1}, matrix, 8).save_raw("ubj")
    with idle_processors(n_threads):
        found = xgb.train(params | {"nthread": n_threads}, matrix, 8).save_raw("ubj")
    assert found == expected
