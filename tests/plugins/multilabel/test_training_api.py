"""The training API: `xgb.train` and the methods of a booster, with the multi-label objectives.

Bad input to the plugin is a clear error in the caller's terms, never a crash. The patched build is
still XGBoost: its version, its other layers, its stock results.
"""

import json
import pickle
import re
from importlib.metadata import metadata, version

import numpy as np
import pytest
import scipy.sparse as sp
import xgboost as xgb
from sklearn.model_selection import cross_val_score

from tests.reference import boosting as reference
from xdcc.boosting import SPLIT_METHOD_NUMBERS, SPLIT_METHODS

N_LABELS = 4
PARAMS = {"objective": "multilabel:maxGain", "max_depth": 4, "eta": 0.2}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    Y = (X[:, :N_LABELS] + 0.5 * rng.normal(size=(400, N_LABELS)) > 0.4).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, Y


@pytest.fixture(scope="module")
def matrix(data):
    return xgb.DMatrix(*data)


@pytest.fixture(scope="module")
def booster(matrix):
    return xgb.train(PARAMS, matrix, 10)


def config_of(booster, *path):
    config = json.loads(booster.save_config())["learner"]
    for key in path:
        config = config[key]
    return config


def updater_config(booster):
    updaters = config_of(booster, "gradient_booster", "updater")
    assert [u["name"] for u in updaters] == ["mask_known_labels", "grow_multilabel_hist"]
    return updaters[1]["multilabel_train_param"]


def test_objective_alone_grows_vector_leaf_trees_with_our_updater(matrix):
    booster = xgb.train({"objective": "multilabel:logistic"}, matrix, 3)
    assert updater_config(booster)["split_method"] == "sumGain"
    assert updater_config(booster)["min_child_weight"] == "0"
    assert updater_config(booster)["min_child_weight_scope"] == "auto"
    assert len(booster.get_dump()) == 3  # one tree a round
    model = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]["model"]
    assert model["trees"][0]["tree_param"]["size_leaf_vector"] == str(N_LABELS)
    probabilities = booster.predict(matrix)
    assert probabilities.shape == (400, N_LABELS)
    assert ((probabilities > 0) & (probabilities < 1)).all()


def test_python_and_the_plugin_have_the_same_split_methods(matrix):
    with pytest.raises(xgb.core.XGBoostError, match="Unknown split_method: `gain`") as error:
        xgb.train({"objective": "multilabel:logistic", "split_method": "gain"}, matrix, 1)
    of_plugin = {int(n): name for name, n in re.findall(r"`(\w+)` \((\d+)\)", str(error.value))}
    assert of_plugin == SPLIT_METHOD_NUMBERS
    assert set(of_plugin.values()) == {*SPLIT_METHODS} == {*reference.SPLIT_METHODS}


@pytest.mark.parametrize(("number", "name"), SPLIT_METHOD_NUMBERS.items())
def test_four_ways_to_name_a_split_method(matrix, number, name):
    ways = [
        {"objective": f"multilabel:{name}"},
        {"objective": "multilabel:logistic", "split_method": name},
        {"objective": "multilabel:logistic", "split_method": number},
        {"objective": "multilabel", "split_method": number},  # as in the authors' code
    ]
    models = [xgb.train(way, matrix, 3) for way in ways]
    assert {updater_config(m)["split_method"] for m in models} == {name}
    assert len({tuple(m.get_dump(with_stats=True)) for m in models}) == 1


def test_split_methods_differ(matrix):
    dumps = {
        tuple(xgb.train({"objective": f"multilabel:{m}"}, matrix, 3).get_dump())
        for m in SPLIT_METHODS
    }
    assert len(dumps) == len(SPLIT_METHODS)


def test_logitraw_predicts_margins_and_is_measured_by_probabilities(matrix, booster):
    results = {}
    raw = xgb.train(
        PARAMS | {"objective": "multilabel:logitraw", "split_method": "maxGain"},
        matrix,
        10,
        evals=[(matrix, "train")],
        evals_result=results,
        verbose_eval=False,
    )
    margin = booster.predict(matrix, output_margin=True)
    np.testing.assert_allclose(raw.predict(matrix), margin, rtol=1e-6)
    np.testing.assert_allclose(booster.predict(matrix), 1 / (1 + np.exp(-margin)), rtol=1e-5)
    Y, p = matrix.get_label().reshape(-1, N_LABELS), booster.predict(matrix)
    log_loss = -np.mean(np.where(Y == 1, np.log(p), np.log(1 - p)))
    assert results["train"]["logloss"][-1] == pytest.approx(log_loss, rel=1e-5)


@pytest.mark.parametrize("extension", ["json", "ubj"])
def test_save_and_load(booster, matrix, tmp_path, extension):
    file = tmp_path / f"model.{extension}"
    booster.save_model(file)
    loaded = xgb.Booster(model_file=file)
    np.testing.assert_array_equal(loaded.predict(matrix), booster.predict(matrix))
    assert loaded.get_dump() == booster.get_dump()


def test_pickle_and_copy_keep_the_training_configuration(booster, matrix):
    longer = xgb.train(PARAMS, matrix, 12)
    for clone in (pickle.loads(pickle.dumps(booster)), booster.copy()):
        np.testing.assert_array_equal(clone.predict(matrix), booster.predict(matrix))
        assert updater_config(clone) == updater_config(booster)
        for round_ in (10, 11):
            clone.update(matrix, round_)
        np.testing.assert_allclose(clone.predict(matrix), longer.predict(matrix), rtol=1e-5)


def test_continue_training(booster, matrix, tmp_path):
    longer = xgb.train(PARAMS, matrix, 14).predict(matrix)
    continued = xgb.train(PARAMS, matrix, 4, xgb_model=booster)
    np.testing.assert_allclose(continued.predict(matrix), longer, rtol=1e-5)
    booster.save_model(tmp_path / "model.ubj")
    continued = xgb.train(PARAMS, matrix, 4, xgb_model=tmp_path / "model.ubj")
    np.testing.assert_allclose(continued.predict(matrix), longer, rtol=1e-5)


def test_a_loaded_short_form_keeps_its_split_method(booster, matrix, tmp_path):
    booster.save_model(tmp_path / "model.json")
    loaded = xgb.Booster({"eta": 0.2, "max_depth": 4}, model_file=tmp_path / "model.json")
    loaded.update(matrix, 10)
    assert updater_config(loaded)["split_method"] == "maxGain"
    expected = xgb.train(PARAMS, matrix, 11)
    np.testing.assert_allclose(loaded.predict(matrix), expected.predict(matrix), rtol=1e-5)


def test_a_parameter_set_later_keeps_the_others(matrix):
    params = {"objective": "multilabel:logistic", "split_method": "sumAbsG", "min_child_weight": 2}
    booster = xgb.train(params, matrix, 2)
    booster.set_param({"eta": 0.1})
    booster.update(matrix, 2)
    assert updater_config(booster)["split_method"] == "sumAbsG"
    assert updater_config(booster)["min_child_weight"] == "2"


def test_cross_validation_with_early_stopping(matrix):
    table = xgb.cv(
        PARAMS | {"eval_metric": "example_f1"}, matrix, 40, nfold=3, early_stopping_rounds=3, seed=0
    )
    assert len(table) < 40
    assert table["test-example_f1-mean"].iloc[-1] == table["test-example_f1-mean"].max()


def test_early_stopping_maximises_f1_and_minimises_losses(data):
    X, Y = data
    train, test = xgb.DMatrix(X[:250], Y[:250]), xgb.DMatrix(X[250:], Y[250:])
    for metric, best in [("micro_f1", max), ("macro_f1", max), ("subset_loss", min)]:
        results = {}
        booster = xgb.train(
            PARAMS | {"eval_metric": metric},
            train,
            40,
            evals=[(test, "test")],
            early_stopping_rounds=5,
            evals_result=results,
            verbose_eval=False,
        )
        values = results["test"][metric]
        assert booster.best_score == pytest.approx(best(values))
        assert len(values) == booster.best_iteration + 6


@pytest.mark.parametrize("name", ["macro_f1", "micro_f1_loss", "example_f1"])
def test_early_stopping_minimises_a_custom_metric_of_the_same_name(data, name):
    X, Y = data
    matrix = xgb.DMatrix(X, Y)
    rising = iter(range(20))
    booster = xgb.train(
        PARAMS,
        matrix,
        10,
        evals=[(matrix, "train")],
        early_stopping_rounds=3,
        custom_metric=lambda predictions, matrix: (name, next(rising)),
        verbose_eval=False,
    )
    assert booster.best_iteration == 0
    assert booster.num_boosted_rounds() == 4


def test_dumps_and_importance(booster, matrix):
    assert all("leaf=[" in tree for tree in booster.get_dump())
    assert all(json.loads(tree) for tree in booster.get_dump(dump_format="json"))
    assert "gain=" in booster.get_dump(with_stats=True)[0]
    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        assert booster.get_score(importance_type=kind)
    assert set(booster.get_score()) <= {f"f{i}" for i in range(8)}


def test_shap_values_add_up_to_the_margin(booster, matrix):
    contributions = booster.predict(matrix, pred_contribs=True)
    assert contributions.shape == (400, N_LABELS, 9)
    margin = booster.predict(matrix, output_margin=True)
    np.testing.assert_allclose(contributions.sum(axis=2), margin, atol=1e-4)
    interactions = booster.predict(matrix, pred_interactions=True)
    np.testing.assert_allclose(interactions.sum(axis=(2, 3)), margin, atol=1e-4)


def test_iteration_range_slices_and_leaves(booster, matrix):
    first = xgb.train(PARAMS, matrix, 4)
    np.testing.assert_array_equal(
        booster.predict(matrix, iteration_range=(0, 4)), first.predict(matrix)
    )
    np.testing.assert_allclose(booster[:4].predict(matrix), first.predict(matrix), rtol=1e-6)
    assert booster.predict(matrix, pred_leaf=True).shape == (400, 10)


def test_prediction_cache_equals_prediction_anew(data):
    X, Y = data
    matrix = xgb.DMatrix(X, Y)
    booster = xgb.train(PARAMS | {"subsample": 0.6, "num_parallel_tree": 2}, matrix, 8)
    anew = booster.predict(xgb.DMatrix(X))
    np.testing.assert_allclose(booster.predict(matrix), anew, rtol=1e-5)
    np.testing.assert_allclose(booster.inplace_predict(X), anew, rtol=1e-6)


def test_sample_weights_act_like_repeated_rows(data):
    X, Y = data
    times = np.random.default_rng(0).integers(1, 4, len(X))
    params = PARAMS | {"max_bin": 512}  # every distinct value: the sketch sees weights otherwise
    weighted = xgb.train(params, xgb.DMatrix(X, Y, weight=times), 5)
    repeated = xgb.train(params, xgb.DMatrix(X.repeat(times, 0), Y.repeat(times, 0)), 5)
    np.testing.assert_allclose(
        weighted.inplace_predict(X), repeated.inplace_predict(X), rtol=0, atol=1e-5
    )


def test_base_margin(data, booster):
    X, Y = data
    matrix = xgb.DMatrix(X, Y)
    matrix.set_base_margin(booster.predict(matrix, output_margin=True))
    continued = xgb.train(PARAMS, matrix, 3)
    longer = xgb.train(PARAMS, xgb.DMatrix(X, Y), 13)
    np.testing.assert_allclose(
        continued.predict(matrix), longer.predict(xgb.DMatrix(X)), rtol=0, atol=1e-5
    )


def test_base_score_is_a_probability_estimated_per_label(data, matrix):
    booster = xgb.train(PARAMS | {"eta": 0}, matrix, 1)
    np.testing.assert_allclose(booster.predict(matrix)[0], data[1].mean(0), rtol=1e-5)
    given = [0.1, 0.2, 0.3, 0.4]
    booster = xgb.train(PARAMS | {"eta": 0, "base_score": given}, matrix, 1)
    np.testing.assert_allclose(booster.predict(matrix)[0], given, rtol=1e-5)
    with pytest.raises(xgb.core.XGBoostError, match=r"must be a probability in \[0, 1\]. Got: 1.5"):
        xgb.train(PARAMS | {"base_score": 1.5}, matrix, 1)


@pytest.mark.parametrize("params", [{}, {"grow_policy": "lossguide", "subsample": 0.7, "seed": 1}])
def test_kinds_of_matrix(data, in_batches, params):
    X, Y = data
    params = PARAMS | {"max_bin": 512} | params  # more bins than rows: the same cuts for all
    expected = xgb.train(params, xgb.DMatrix(X, Y), 5).get_dump()
    rows, columns = np.nonzero(~np.isnan(X))
    sparse = sp.csr_matrix((X[rows, columns], (rows, columns)), shape=X.shape)
    matrices = {
        "csr": xgb.DMatrix(sparse, Y),
        "quantile": xgb.QuantileDMatrix(X, Y, max_bin=512),
        "external": xgb.DMatrix(in_batches(X, Y)),
        "external quantile": xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=512),
    }
    for kind, matrix in matrices.items():
        assert xgb.train(params, matrix, 5).get_dump() == expected, kind


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.usefixtures("threads")
def test_same_model_for_any_number_of_threads(data, dense):
    X, Y = data
    X = np.nan_to_num(X) if dense else X
    params = PARAMS | {"objective": "multilabel:sumGain", "max_depth": 8, "subsample": 0.8}
    models = set()
    for n in (1, 2, 5):
        booster = xgb.train(params | {"nthread": n}, xgb.DMatrix(X, Y, nthread=n), 10)
        model = json.loads(bytes(booster.save_raw("json")))
        models.add(json.dumps(model["learner"]["gradient_booster"]))
    assert len(models) == 1


def test_max_leaves_and_depth(matrix):
    shallow = xgb.train(PARAMS | {"max_depth": 2}, matrix, 3)
    assert all(tree.count("leaf") <= 4 for tree in shallow.get_dump())
    params = {"max_depth": 0, "max_leaves": 7}
    for policy in ("depthwise", "lossguide"):
        few = xgb.train(PARAMS | params | {"grow_policy": policy}, matrix, 3)
        assert all(tree.count("leaf") == 7 for tree in few.get_dump())


def test_no_parameter_is_reported_as_unused(matrix, capfd):
    # A verbosity stays in force for later boosters, also in other tests.
    params = PARAMS | {
        "verbosity": 1,
        "min_child_weight": 1,
        "min_child_weight_scope": "all",
        "label_feature_begin": -1,
        "scale_pos_weight": 1.5,
    }
    xgb.train(params, matrix, 1)  # a warning would be an error
    with pytest.warns(UserWarning, match='Parameters: { "split_methods" } are not used'):
        xgb.train(PARAMS | {"split_methods": "maxGain"}, matrix, 1)


X = np.random.default_rng(0).normal(size=(50, 3))
Y = (X[:, :2] > 0).astype(float)


def train(params=(), X=X, Y=Y, **data):
    params = {"objective": "multilabel:logistic"} | dict(params)
    return xgb.train(params, xgb.DMatrix(X, Y, **data), 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "multilabel:maxgain"}, "Unknown objective function: `multilabel:maxgain`"),
        (
            {"split_method": "avgGain"},
            r"Unknown split_method: `avgGain`. Use one of `maxGain` \(1\)",
        ),
        ({"split_method": 7}, "Unknown split_method: `7`"),
        (
            {"objective": "multilabel:maxGain", "split_method": "sumGain"},
            "`multilabel:maxGain` conflicts with split_method=`sumGain`",
        ),
        ({"min_child_weight": -1}, "min_child_weight"),
        ({"min_child_weight_scope": "some"}, "valid values are: {'all', 'any', 'auto', 'mean'}"),
        ({"monotone_constraints": "(1,0,0,1)"}, "has 4 entries for 3 features"),
        ({"multi_strategy": "one_output_per_tree"}, "grows trees for all labels"),
        ({"tree_method": "exact"}, "Only the hist tree method is supported"),
        ({"eval_metric": "example_f2"}, "Unknown metric function example_f2"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(xgb.core.XGBoostError, match=message):
        train(params)


@pytest.mark.parametrize("params", [{}, {"sketch_size": 1}])
@pytest.mark.parametrize("value", [2.0, -1.0, 0.5])
def test_labels_other_than_zero_and_one(value, params):
    bad = Y.copy()
    bad[7, 1] = value
    with pytest.raises(xgb.core.XGBoostError, match="row 7, label 1 is"):
        train(params, Y=bad)


def test_infinite_base_margin():
    matrix = xgb.DMatrix(X, Y)
    matrix.set_base_margin(np.full(Y.shape, np.nan))
    with pytest.raises(xgb.core.XGBoostError, match="A gradient is infinite or not a number"):
        xgb.train({"objective": "multilabel:logistic"}, matrix, 1)


def test_wrong_number_of_labels_or_features():
    booster = train()
    with pytest.raises(xgb.core.XGBoostError):
        xgb.train(
            {"objective": "multilabel:logistic"}, xgb.DMatrix(X, Y[:, :1]), 1, xgb_model=booster
        )
    with pytest.raises(xgb.core.XGBoostError, match="Number of columns does not match"):
        booster.predict(xgb.DMatrix(np.hstack([X, X])), validate_features=False)


@pytest.mark.filterwarnings("ignore:.*[Ee]mpty dataset")
def test_no_rows_and_no_labels():
    with pytest.raises(xgb.core.XGBoostError):
        train(Y=None)
    booster = train(X=X[:0], Y=Y[:0])
    assert booster.predict(xgb.DMatrix(X)).shape == (50, 2)


def test_constant_features_and_single_rows():
    booster = train(X=np.ones((10, 2)), Y=Y[:10])
    assert all(tree.count("leaf") == 1 for tree in booster.get_dump())
    assert train(X=X[:1], Y=Y[:1]).predict(xgb.DMatrix(X[:1])).shape == (1, 2)
    all_missing = train(X=np.full((10, 2), np.nan), Y=Y[:10])
    assert all(tree.count("leaf") == 1 for tree in all_missing.get_dump())


RNG = np.random.default_rng(0)
X_DROP_IN = RNG.normal(size=(200, 5))
y = (X_DROP_IN[:, 0] + X_DROP_IN[:, 1] > 0).astype(int)
Y_DROP_IN = (X_DROP_IN[:, :3] > 0).astype(int)


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
        ("reg:squarederror", X_DROP_IN[:, 2], "hist"),
        ("count:poisson", y, "hist"),
    ],
)
def test_stock_objectives_keep_their_updaters(objective, target, tree_method):
    results = {}
    matrix = xgb.DMatrix(X_DROP_IN, target)
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
    assert cross_val_score(xgb.XGBClassifier(n_estimators=10), X_DROP_IN, y, cv=3).mean() > 0.8
    assert (
        cross_val_score(xgb.XGBRegressor(n_estimators=20), X_DROP_IN, X_DROP_IN[:, 0], cv=3).mean()
        > 0.8
    )
    ranker = xgb.XGBRanker(n_estimators=5).fit(X_DROP_IN, y, qid=np.repeat(np.arange(20), 10))
    assert ranker.predict(X_DROP_IN).shape == (200,)
    multi = xgb.XGBClassifier(n_estimators=10, objective="multilabel:maxGain").fit(
        X_DROP_IN, Y_DROP_IN
    )
    assert (multi.predict(X_DROP_IN) == Y_DROP_IN).mean() > 0.95


def test_plotting_layer():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="plots need matplotlib")
    pyplot.switch_backend("Agg")
    booster = xgb.train({"objective": "multilabel:sumGain"}, xgb.DMatrix(X_DROP_IN, Y_DROP_IN), 3)
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
        chunks = dask_array.from_array(X_DROP_IN, chunks=(100, 5))
        matrix = dxgb.DaskDMatrix(client, chunks, dask_array.from_array(y, chunks=100))
        output = dxgb.train(client, {"objective": "binary:logistic"}, matrix, num_boost_round=5)
        predicted = dxgb.predict(client, output, matrix).compute()
        assert ((predicted > 0.5) == y).mean() > 0.9
