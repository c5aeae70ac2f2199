"""Workers that train together grow the trees of one process that has all rows.

In most tests two threads are the workers, since XGBoost's communicator belongs to a thread.
Features have few values, so that the workers' merged quantiles are the cuts of a single process.
"""

import subprocess
import sys
from itertools import pairwise
from threading import Thread

import numpy as np
import pytest
import scipy.sparse as sp
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits
from xgboost import collective
from xgboost.tracker import RabitTracker

from tests.reference.tree_comparison import read_trees
from tests.some_cases import one_in
from xdcc.boosting import SPLIT_METHODS

N_FEATURES, N_LABELS, N_ROUNDS = 6, 4, 4
PARAMS = {"objective": "multilabel:sumGain", "max_depth": 4, "nthread": 1}
POLICIES = {
    "depthwise": {"max_depth": 5},
    "lossguide": {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 12},
}


class Workers:
    """Calls a function for every part of the rows, each in a thread with a communicator."""

    def __init__(self, n_workers):
        self.results = [None] * n_workers
        self.tracker = RabitTracker(n_workers=n_workers, host_ip="127.0.0.1", sortby="task")

    def run(self, function, parts):
        self.tracker.start()
        threads = [
            Thread(target=self._work, args=(rank, function, part), daemon=True)
            for rank, part in enumerate(parts)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert not any(thread.is_alive() for thread in threads), "a worker hangs"
        return self.results

    def _work(self, rank, function, part):
        arguments = self.tracker.worker_args() | {"dmlc_task_id": str(rank)}
        try:
            with (
                threadpool_limits(8, user_api="openmp"),  # of this thread, see tests/conftest.py
                collective.CommunicatorContext(**arguments),
            ):
                self.results[rank] = function(*part)
        except xgb.core.XGBoostError as error:
            self.results[rank] = error


def on_workers(function, *arrays, cuts=(130,)):
    """Call a function on each part of the arrays' rows; the cuts divide them."""
    parts = list(zip(*(_split(array, cuts) for array in arrays), strict=True))
    return Workers(len(parts)).run(function, parts)


def _split(array, cuts):
    if array is None:
        return [None] * (len(cuts) + 1)
    bounds = [0, *cuts, array.shape[0]]
    return [array[begin:end] for begin, end in pairwise(bounds)]


def make_data(n=400, seed=0, missing=True, unknown=True, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 25, size=(n, N_FEATURES)).astype(np.float32)
    score = X[:, :N_LABELS] + 0.5 * X[:, 2:] + rng.normal(scale=6, size=(n, N_LABELS))
    Y = (score > np.array([16.0, 18, 22, 28])).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
        X[: n // 2, -1] = np.nan
    if unknown:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    return X, Y, rng.uniform(0.2, 3, n) if weighted else None


def trainer(params=(), n_rounds=N_ROUNDS):
    def train(X, Y, weight=None):
        matrix = xgb.DMatrix(X, Y, weight=weight, nthread=1)
        return xgb.train(PARAMS | dict(params), matrix, n_rounds)

    return train


def assert_same_model(boosters, expected):
    for booster in boosters:
        if isinstance(booster, Exception):
            raise booster
    models = {bytes(booster.save_raw("json")) for booster in boosters}
    assert len(models) == 1, "the workers end with different models"
    trees, expected_trees = read_trees(boosters[0]), read_trees(expected)
    assert sum(len(tree.feature) > 1 for tree in expected_trees) > 1, "there is nothing to compare"
    for tree, other in zip(trees, expected_trees, strict=True):
        for field in ("feature", "threshold", "default_left", "left", "right"):
            np.testing.assert_array_equal(getattr(tree, field), getattr(other, field))
        np.testing.assert_allclose(tree.leaf_value, other.leaf_value, rtol=0, atol=1e-5)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@pytest.mark.parametrize("method", SPLIT_METHODS)
def test_every_split_method(method, policy):
    data = make_data()
    train = trainer({"objective": f"multilabel:{method}", **policy})
    assert_same_model(on_workers(train, *data), train(*data))


@pytest.mark.parametrize(
    "options",
    [
        {"missing": False},
        {"unknown": False},
        {"weighted": False},
        {"missing": False, "unknown": False, "weighted": False},
    ],
    ids=lambda options: "no " + ", ".join(options),
)
def test_simpler_data(options):
    data = make_data(**options)
    assert_same_model(on_workers(trainer(), *data), trainer()(*data))


@pytest.mark.parametrize("method", ["sumGain", "maxGain"])
@pytest.mark.filterwarnings("ignore:.*[Ee]mpty dataset")
@pytest.mark.parametrize("cuts", [(0,), (1,), (395,), (150, 150), (100, 200, 300)], ids=str)
def test_uneven_parts(method, cuts):
    data = make_data(seed=1)
    train = trainer({"objective": f"multilabel:{method}"})
    assert_same_model(on_workers(train, *data, cuts=cuts), train(*data))


@pytest.mark.parametrize("n_workers", [1, 5, 8])
def test_one_worker_and_as_many_as_features_and_more(n_workers):
    data = make_data(seed=1)
    cuts = np.linspace(0, 400, n_workers + 1).astype(int)[1:-1]
    assert_same_model(on_workers(trainer(), *data, cuts=cuts), trainer()(*data))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_a_worker_with_most_rows_and_one_with_few(policy):
    data = make_data(n=6000, seed=2)
    train = trainer(policy)
    assert_same_model(on_workers(train, *data, cuts=(5900,)), train(*data))


def test_a_worker_that_knows_no_label():
    X, Y, weight = make_data(seed=3)
    Y[:130] = np.nan
    assert_same_model(on_workers(trainer(), X, Y, weight), trainer()(X, Y, weight))


def test_a_label_that_only_one_worker_knows():
    X, Y, weight = make_data(seed=3)
    Y[130:, 1] = np.nan
    assert_same_model(on_workers(trainer(), X, Y, weight), trainer()(X, Y, weight))


@pytest.mark.parametrize("method", ["sumGain", "maxGain"])
def test_masked_labels(method):
    X, Y, weight = make_data(seed=4)
    rng = np.random.default_rng(5)
    known = rng.random(Y.shape) < 0.4
    known[:130, 0] = True
    propagated = np.where(known, rng.choice([0.1, 0.3, 0.6, 0.9], Y.shape), np.nan)
    X = np.hstack([X, propagated])
    train = trainer({"objective": f"multilabel:{method}", "label_feature_begin": N_FEATURES})
    assert_same_model(on_workers(train, X, Y, weight), train(X, Y, weight))
    unmasked = trainer({"objective": f"multilabel:{method}"})(X, Y, weight)
    assert unmasked.get_dump() != train(X, Y, weight).get_dump()


@pytest.mark.filterwarnings("ignore:.*[Ee]mpty dataset")
@pytest.mark.parametrize("cuts", [(130,), (0,), (100, 200, 300)], ids=str)
@pytest.mark.parametrize(
    "params",
    [
        {"sketch_size": 1},
        {"sketch_size": 2, "sketch_method": "sampling"},
        {"sketch_size": 2, "sketch_method": "top"},
        {"sketch_size": 1, "labels_per_tree": 2},
        {"labels_per_tree": 3},
    ],
    ids=str,
)
def test_sketches_and_groups_of_labels(params, cuts):
    data = make_data(seed=10)
    train = trainer(params)
    assert_same_model(on_workers(train, *data, cuts=cuts), train(*data))


@pytest.mark.parametrize(
    ("cuts", "max_cat_to_onehot", "params", "regularised"),
    one_in(
        2,
        [(130,), (5,), (100, 200, 300)],
        [1, 100],
        [{}, {"sketch_size": 1}, {"sketch_size": 3}],
        [{}, {"cat_penalty": 0.5, "cat_smoothing": 3}],
    ),
)
def test_categorical_features(cuts, max_cat_to_onehot, params, regularised):
    X, Y, weight = make_data(seed=8)
    X[:130, 0] %= 10  # categories that not every worker knows

    def train(X, Y, weight):
        types = ["c", "q", "c", "c", "q", "c"]
        data = {"weight": weight, "feature_types": types, "enable_categorical": True}
        limits = {"max_cat_to_onehot": max_cat_to_onehot} | regularised
        return xgb.train(PARAMS | limits | params, xgb.DMatrix(X, Y, nthread=1, **data), N_ROUNDS)

    expected = train(X, Y, weight)
    assert ":{" in "".join(expected.get_dump())
    assert_same_model(on_workers(train, X, Y, weight, cuts=cuts), expected)


@pytest.mark.parametrize("nonzero", [0.05, 0.4])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_mostly_zeros(kind, nonzero):
    X, Y, weight = make_data(seed=6, missing=False)
    X = np.where(np.random.default_rng(7).random(X.shape) < nonzero, X, 0)
    X = sp.csr_matrix(X) if kind == "sparse" else X
    assert_same_model(on_workers(trainer(), X, Y, weight), trainer()(X, Y, weight))


@pytest.mark.parametrize(
    "params",
    [
        {"min_child_weight": 4.0, "min_child_weight_scope": "any"},
        {"min_child_weight": 4.0, "min_child_weight_scope": "all"},
        {"min_child_weight": 4.0, "min_child_weight_scope": "mean"},
        {"gamma": 3.0},
        {"alpha": 1.0, "lambda": 2.0},
        {"max_delta_step": 0.2},
        {"scale_pos_weight": 3.0},
        {"base_score": 0.3},
        {"num_parallel_tree": 2, "colsample_bytree": 0.5},
        {"colsample_bynode": 0.5, "seed": 3},
        {"interaction_constraints": "[[0, 1, 2], [3, 4, 5]]"},
        {"monotone_constraints": "(1,-1,0,1)"},
    ],
    ids=lambda params: next(iter(params)),
)
def test_other_parameters(params):
    data = make_data(seed=8)
    train = trainer(params)
    assert_same_model(on_workers(train, *data), train(*data))
    assert trainer()(*data).get_dump() != train(*data).get_dump(), "the parameter does nothing"


ANY_SEARCH = {
    "reg_lambda": st.sampled_from([0.01, 5.0]),
    "gamma": st.sampled_from([1.0]),
    "colsample_bynode": st.sampled_from([0.5]),
    "max_depth": st.sampled_from([1, 9]),
    "max_bin": st.sampled_from([32]),
    "max_histogram_mib": st.sampled_from([1]),
    "interaction_constraints": st.sampled_from(["[[0, 1, 2], [3, 4]]"]),
    "monotone_constraints": st.sampled_from(["(1,-1,0,1)"]),
}
"""Parameters that splits are searched with, by whatever search."""


@settings(max_examples=25, deadline=None)
@given(
    method=st.sampled_from(SPLIT_METHODS),
    params=st.fixed_dictionaries(
        {},
        optional={
            "min_child_weight": st.sampled_from([1e-30, 3.0]),
            "min_child_weight_scope": st.sampled_from(["any", "all", "mean"]),
            "reg_alpha": st.sampled_from([0.5]),
            "max_delta_step": st.sampled_from([0.3]),
            **ANY_SEARCH,
        },
    ),
    options=st.fixed_dictionaries(
        {name: st.booleans() for name in ("missing", "unknown", "weighted")}
    ),
    cuts=st.sampled_from([(130,), (7,), (150, 160)]),
    lossguide=st.booleans(),
)
def test_any_parameters_bit_for_bit(method, params, options, cuts, lossguide):
    data = make_data(n=300, seed=20, **options)
    # The estimate of base_score is a mean, whose last bit depends on the order of rows.
    params = params | {"split_method": method, "objective": "multilabel:logistic"}
    params |= {"base_score": 0.5, "seed": 3, **POLICIES["lossguide" if lossguide else "depthwise"]}
    boosters = on_workers(trainer(params, n_rounds=2), *data, cuts=cuts)
    expected = trainer(params, n_rounds=2)(*data).get_dump(with_stats=True)
    for booster in boosters:
        assert booster.get_dump(with_stats=True) == expected


@pytest.mark.filterwarnings("ignore:.*[Ee]mpty dataset")
@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["dense", "missing", "zeros", "csr", "binary"]),
    n_labels=st.sampled_from([1, N_LABELS]),
    params=st.fixed_dictionaries(
        {"sketch_size": st.sampled_from([0, 1, 2, 3])},
        optional={
            "sketch_method": st.sampled_from(["projection", "sampling", "top"]),
            "labels_per_tree": st.sampled_from([1, 2, 3]),
            "min_child_weight": st.sampled_from([2.0]),
            "nthread": st.sampled_from([2]),
            **ANY_SEARCH,
        },
    ),
    options=st.fixed_dictionaries({name: st.booleans() for name in ("unknown", "weighted")}),
    cuts=st.sampled_from([(130,), (7,), (0,), (150, 160), (0, 299)]),
    lossguide=st.booleans(),
)
def test_few_numbers_per_row_bit_for_bit(kind, n_labels, params, options, cuts, lossguide):
    X, Y, weight = make_data(n=300, seed=22, missing=kind == "missing", **options)
    if kind in ("zeros", "csr"):
        X = np.where(np.random.default_rng(23).random(X.shape) < 0.1, X, 0)
        X[:, 0] = np.arange(300) % 4
    elif kind == "binary":
        X = (X > 20).astype(np.float32)
    X = sp.csr_matrix(X) if kind == "csr" else X
    params = {
        "base_score": 0.5,
        "seed": 3,
        **POLICIES["lossguide" if lossguide else "depthwise"],
    } | params
    train = trainer(params, n_rounds=2)
    data = X, Y[:, :n_labels], weight
    expected = train(*data).get_dump(with_stats=True)
    for booster in on_workers(train, *data, cuts=cuts):
        assert booster.get_dump(with_stats=True) == expected


@pytest.mark.parametrize("sketch_size", [0, 1])
def test_nothing_to_split(sketch_size):
    X, Y, _ = make_data(missing=False)
    train = trainer({"sketch_size": sketch_size})
    for booster in on_workers(train, np.zeros_like(X), Y):
        assert all("leaf" in tree and "\n\t" not in tree for tree in booster.get_dump())


def test_nodes_that_shrink_far():
    # From 4000 rows to few: their integers are made anew on the way.
    data = make_data(n=4000, seed=21)
    train = trainer({"max_depth": 14, "base_score": 0.5, "objective": "multilabel:sumGain"})
    expected = train(*data).get_dump(with_stats=True)
    for booster in on_workers(train, *data, cuts=(1500,)):
        assert booster.get_dump(with_stats=True) == expected


WORKER = """
import os, sys
import numpy as np, xgboost as xgb
from xgboost import collective

rank, port = sys.argv[1:]
X = np.random.default_rng(int(rank)).integers(0, 9, size=(200, 5)).astype(float)
Y = (X[:, :3] > 4).astype(float)

class Leave(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if rank == "1" and epoch == 1:
            os._exit(7)
        return False

arguments = {"dmlc_communicator": "rabit", "dmlc_tracker_uri": "127.0.0.1", "dmlc_task_id": rank}
arguments |= {"dmlc_tracker_port": int(port), "dmlc_timeout": 60, "dmlc_retry": 3}
with collective.CommunicatorContext(**arguments):
    try:
        params = {"objective": "multilabel:logistic", "nthread": 1}
        xgb.train(params, xgb.DMatrix(X, Y), 50, callbacks=[Leave()])
    except xgb.core.XGBoostError as error:
        print(error)
        sys.stdout.flush()
        os._exit(3)
"""


# The tracker also loses a worker, and says so when it is forgotten.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_that_disappears_is_an_error():
    tracker = RabitTracker(n_workers=2, host_ip="127.0.0.1", sortby="task", timeout=60)
    tracker.start()
    port = str(tracker.worker_args()["dmlc_tracker_port"])
    command = [sys.executable, "-P", "-c", WORKER]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    workers = [subprocess.Popen([*command, str(rank), port], **pipes) for rank in range(2)]
    output = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [3, 7], output


def test_threads_do_not_change_the_model():
    data = make_data(n=3000, seed=9)
    one, *_ = on_workers(trainer(), *data, cuts=(2000,))
    two, *_ = on_workers(trainer({"nthread": 2}), *data, cuts=(2000,))
    assert one.get_dump(with_stats=True) == two.get_dump(with_stats=True)

    def train(X, Y, weight):
        return trainer({"nthread": 1 + collective.get_rank()})(X, Y, weight)

    mixed, other = on_workers(train, *data, cuts=(2000,))
    assert one.get_dump(with_stats=True) == mixed.get_dump(with_stats=True)
    assert one.get_dump(with_stats=True) == other.get_dump(with_stats=True)


def test_metrics_are_of_all_rows():
    metrics = ["logloss", "hamming_loss", "subset_loss", "example_f1", "micro_f1", "macro_f1"]

    def evaluate(X, Y, weight):
        results = {}
        matrix = xgb.DMatrix(X, Y, weight=weight)
        xgb.train(
            PARAMS | {"eval_metric": metrics},
            matrix,
            N_ROUNDS,
            evals=[(matrix, "train")],
            evals_result=results,
            verbose_eval=False,
        )
        return [results["train"][metric] for metric in metrics]

    data = make_data(seed=10)
    expected = evaluate(*data)
    for found in on_workers(evaluate, *data):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    "params", [{}, {"sketch_size": 1}, {"sketch_size": 1, "labels_per_tree": 2}], ids=str
)
def test_weights_of_entries(params):
    """The rows of one worker have equal weights, which a vector could replace."""
    X, Y, weight = make_data(seed=12)
    of_entries = weight[:, np.newaxis] * np.linspace(0.5, 2, N_LABELS)
    of_entries[:130] = 1
    train = trainer(params)
    assert_same_model(on_workers(train, X, Y, of_entries), train(X, Y, of_entries))


@pytest.mark.filterwarnings("ignore:.*[Ee]mpty dataset")
@pytest.mark.parametrize("cuts", [(130,), (0,), (100, 200, 300)], ids=str)
@pytest.mark.parametrize(
    "params", [{}, {"sketch_size": 1}, {"sketch_size": 1, "labels_per_tree": 2}], ids=str
)
def test_soft_labels(params, cuts):
    X, Y, weight = make_data(seed=13)
    soft = 0.1 + 0.7 * Y
    train = trainer({"soft_labels": True} | params)
    assert_same_model(on_workers(train, X, soft, weight, cuts=cuts), train(X, soft, weight))


def test_a_worker_that_has_hard_labels_only():
    X, Y, weight = make_data(seed=14)
    Y[130:] = 0.1 + 0.7 * Y[130:]
    train = trainer({"soft_labels": True})
    assert_same_model(on_workers(train, X, Y, weight), train(X, Y, weight))


def test_a_bad_label_on_one_worker_stops_all():
    X, Y, weight = make_data(seed=11)
    Y[7, 1] = 0.5
    bad, other = on_workers(trainer(), X, Y, weight)
    assert isinstance(bad, xgb.core.XGBoostError)
    assert "row 7, label 1 is 0.5" in str(bad)
    assert isinstance(other, xgb.core.XGBoostError)


def test_xgboost_dask():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    from xgboost import dask as dxgb

    X, Y, weight = make_data(seed=12)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            protocol="tcp",
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        parts = [dask_array.from_array(a, chunks=(80, *a.shape[1:])) for a in (X, Y, weight)]
        matrix = dxgb.DaskDMatrix(client, parts[0], parts[1], weight=parts[2])
        assert len(matrix.worker_map) == 2
        output = dxgb.train(client, PARAMS, matrix, num_boost_round=N_ROUNDS)
        assert_same_model([output["booster"]], trainer()(X, Y, weight))
        predicted = dxgb.predict(client, output, parts[0]).compute()
        matrix = dxgb.DaskDMatrix(client, parts[0], 0.1 + 0.7 * parts[1], weight=parts[2])
        params = {"soft_labels": True}
        output = dxgb.train(client, PARAMS | params, matrix, num_boost_round=N_ROUNDS)
        assert_same_model([output["booster"]], trainer(params)(X, 0.1 + 0.7 * Y, weight))
    np.testing.assert_allclose(predicted, trainer()(X, Y, weight).inplace_predict(X), atol=1e-5)
