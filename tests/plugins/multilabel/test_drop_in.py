"""The patched build is still XGBoost: its version, its other layers, its stock results."""

from importlib.metadata import metadata, version

import numpy as np
import pytest
import xgboost as xgb
from sklearn.model_selection import cross_val_score

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
Y = (X[:, :3] > 0).astype(int)


def test_version_and_build_info():
    assert version("xgboost").startswith("3.4.1+xdcc.")
    assert xgb.__version__ == "3.4.1"
    info = xgb.build_info()
    assert info["XDCC_MULTILABEL"]
    assert info["USE_OPENMP"]


def test_licence_and_notice_are_in_the_wheel():
    files = metadata("xgboost").get_all("License-File")
    assert {"LICENSE", "NOTICE"} <= set(files)


@pytest.mark.parametrize(
    ("objective", "target", "tree_method"),
    [
        ("binary:logistic", y, "hist"),
        ("binary:logistic", y, "approx"),
        ("binary:logistic", y, "exact"),
        ("reg:squarederror", X[:, 2], "hist"),
        ("count:poisson", y, "hist"),
    ],
)
def test_stock_objectives_keep_their_updaters(objective, target, tree_method):
    results = {}
    matrix = xgb.DMatrix(X, target)
    booster = xgb.train(
        {"objective": objective, "tree_method": tree_method},
        matrix,
        10,
        evals=[(matrix, "train")],
        evals_result=results,
        verbose_eval=False,
    )
    values = next(iter(results["train"].values()))
    assert values[-1] < values[0]
    assert "multilabel" not in booster.save_config()


def test_scikit_learn_layer():
    assert cross_val_score(xgb.XGBClassifier(n_estimators=10), X, y, cv=3).mean() > 0.8
    assert cross_val_score(xgb.XGBRegressor(n_estimators=20), X, X[:, 0], cv=3).mean() > 0.8
    ranker = xgb.XGBRanker(n_estimators=5).fit(X, y, qid=np.repeat(np.arange(20), 10))
    assert ranker.predict(X).shape == (200,)
    multi = xgb.XGBClassifier(n_estimators=10, objective="multilabel:maxGain").fit(X, Y)
    assert (multi.predict(X) == Y).mean() > 0.95


def test_plotting_layer():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib")
    pyplot.switch_backend("Agg")
    booster = xgb.train({"objective": "multilabel:sumGain"}, xgb.DMatrix(X, Y), 3)
    assert len(xgb.plot_importance(booster).patches) > 0
    pyplot.close("all")
    assert "f0" in xgb.to_graphviz(booster).source


@pytest.mark.filterwarnings("ignore")  # dask's own
def test_dask_layer():
    dask_array = pytest.importorskip("dask.array", reason="dask is not installed")
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    from xgboost import dask as dxgb

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
        chunks = dask_array.from_array(X, chunks=(100, 5))
        matrix = dxgb.DaskDMatrix(client, chunks, dask_array.from_array(y, chunks=100))
        output = dxgb.train(client, {"objective": "binary:logistic"}, matrix, num_boost_round=5)
        predicted = dxgb.predict(client, output, matrix).compute()
        assert ((predicted > 0.5) == y).mean() > 0.9
