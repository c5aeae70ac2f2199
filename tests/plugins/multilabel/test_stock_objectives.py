"""XGBoost's own objectives: the trees of its vector leaves, units of targets, unknown targets.

Stock XGBoost's updater is in the same library, so both are trained here, on the same bins. Sketches
of stock objectives are compared with what a custom objective of the same loss gives.
"""

import json

import numpy as np
import pytest
import xgboost as xgb
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = [
    pytest.mark.skipif(
        "XDCC_MULTILABEL" not in xgb.build_info(),
        reason="this xgboost has no multilabel plugin: pip install ./third_party/xgboost",
    ),
    pytest.mark.filterwarnings("ignore:.*manually specified the `updater`"),
]

STOCK = {"multi_strategy": "multi_output_tree", "tree_method": "hist", "nthread": 1, "max_bin": 64}
OURS = STOCK | {"updater": "grow_multilabel_hist"}
KNOWN_OR_NOT = {"allow_unknown_labels": True}
N_ROUNDS = 4

OF_MATRICES = (
    "reg:squarederror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:squaredlogerror",
    "reg:logistic",
    "reg:gamma",
    "reg:tweedie",
    "count:poisson",
    "binary:logistic",
    "binary:logitraw",
    "binary:hinge",
)
OF_COLUMNS = ("multi:softprob", "multi:softmax", "reg:quantileerror", "reg:expectileerror")
PARAMS = {
    "multi:softprob": {"num_class": 4},
    "multi:softmax": {"num_class": 4},
    "reg:quantileerror": {"quantile_alpha": [0.1, 0.5, 0.9]},
    "reg:expectileerror": {"expectile_alpha": [0.1, 0.5, 0.9]},
    "reg:tweedie": {"tweedie_variance_power": 1.4},
}


def features(rng, n_rows=400, kind="dense"):
    X = rng.normal(size=(n_rows, 8))
    X[:, ::3] = X[:, ::3].round(1)
    if kind == "missing":
        X[rng.random(X.shape) < 0.15] = np.nan
    if kind == "zeros":
        X[rng.random(X.shape) < 0.6] = 0
    return X


def targets(rng, X, objective, n_targets=5):
    """Targets in the domain of an objective that depend on X."""
    known = np.nan_to_num(X)
    signal = known[:, :n_targets] + known[:, 1 : n_targets + 1] ** 2 / 2
    signal = signal + rng.normal(size=signal.shape) / 2
    signal = (signal - signal.mean(axis=0)) / signal.std(axis=0)
    if objective.startswith("multi:"):
        return np.digitize(signal[:, 0], [-0.8, 0, 0.8])
    if objective in OF_COLUMNS:
        return signal[:, 0]
    if objective.startswith("binary:"):
        return (signal > 0.3).astype(float)
    if objective == "count:poisson":
        return rng.poisson(np.exp(signal))
    if objective == "reg:gamma":
        return rng.gamma(2, np.exp(signal) / 2) + 0.01
    return {
        "reg:logistic": 1 / (1 + np.exp(-signal)),
        "reg:squaredlogerror": np.exp(signal),
        "reg:tweedie": np.maximum(np.exp(signal) - 1, 0),
    }.get(objective, signal)


def train(params, X, Y, weight=None, n_rounds=N_ROUNDS, **matrix):
    return xgb.train(params, xgb.DMatrix(X, Y, weight=weight, **matrix), n_rounds)


def trees_of(booster):
    return json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]


def splits_of(booster):
    fields = ("split_indices", "default_left", "left_children", "right_children", "categories")
    found = []
    for tree in trees_of(booster):
        is_test = np.array(tree["left_children"]) >= 0
        thresholds = np.array(tree["split_conditions"])[is_test].tolist()
        right = np.where(is_test, tree["right_children"], -1).tolist()
        found.append(
            [*(tree[name] for name in fields if name != "right_children"), thresholds, right]
        )
    return found


def assert_equal_trees(params, X, Y, weight=None, n_rounds=N_ROUNDS, **matrix):
    """Check that both updaters grow the same trees, up to the first tie; return ours.

    In a tie two splits of a node gain the same, and its children differ, but not what it gains.
    """
    ours, stock = (train(p | params, X, Y, weight, n_rounds, **matrix) for p in (OURS, STOCK))
    trees = list(zip(splits_of(ours), splits_of(stock), strict=True))
    n_same = next((i for i, (own, other) in enumerate(trees) if own != other), len(trees))
    if n_same < len(trees):
        node, gains = _first_difference(*(trees_of(b)[n_same] for b in (ours, stock)))
        assert gains[0] == pytest.approx(gains[1], rel=1e-5), f"tree {n_same}, node {node}"
    per_round = len(trees) // n_rounds
    rounds = (0, n_same // per_round)
    if rounds[1]:
        data = xgb.DMatrix(X, **matrix)
        found, expected = (
            booster.predict(data, output_margin=True, iteration_range=rounds)
            for booster in (ours, stock)
        )
        atol = 1e-5 * np.abs(expected).max() + 1e-7
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=atol)
    return ours


def _first_difference(own, other):
    """Find the first node whose tests differ, and what they gain."""
    for node in range(min(len(own["split_indices"]), len(other["split_indices"]))):
        tests = [
            (
                tree["split_indices"][node],
                tree["split_conditions"][node],
                tree["default_left"][node],
            )
            for tree in (own, other)
        ]
        gains = [tree["loss_changes"][node] for tree in (own, other)]
        is_leaf = [tree["left_children"][node] < 0 for tree in (own, other)]
        if is_leaf[0] != is_leaf[1] or (not is_leaf[0] and tests[0] != tests[1]):
            return node, gains
    raise AssertionError("one tree has more nodes")


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("kind", ["dense", "missing", "zeros"])
@pytest.mark.parametrize("objective", [*OF_MATRICES, *OF_COLUMNS])
def test_same_trees_as_stock(objective, kind, weighted):
    rng = np.random.default_rng(0)
    X = features(rng, kind=kind)
    Y = targets(rng, X, objective)
    weight = rng.uniform(0.2, 3, len(X)) if weighted else None
    params = {"objective": objective, **PARAMS.get(objective, {})}
    ours = assert_equal_trees(params, X, Y, weight)
    assert ours.num_boosted_rounds() == N_ROUNDS
    assert sum(dump.count("leaf") for dump in ours.get_dump()) > 2 * N_ROUNDS


@pytest.mark.parametrize(
    "params",
    [
        {"min_child_weight": 0},
        {"min_child_weight": 9.5},
        {"alpha": 0.6},
        {"max_delta_step": 0.3},
        {"gamma": 1.5, "lambda": 3},
        {"subsample": 0.6, "seed": 3},
        {"subsample": 0.6, "sampling_method": "gradient_based", "seed": 3},
        {"colsample_bytree": 0.7, "colsample_bylevel": 0.7, "colsample_bynode": 0.6, "seed": 5},
        {"num_parallel_tree": 2, "subsample": 0.7, "seed": 1},
        {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": 20},
        {"interaction_constraints": "[[0, 1, 2], [3, 4]]"},
        {"monotone_constraints": "(1, -1, 0, 0, 0, 0, 0, 0)"},
    ],
    ids=lambda params: next(iter(params)),
)
@pytest.mark.parametrize(
    "objective", ["reg:squarederror", "reg:absoluteerror", "count:poisson", "multi:softprob"]
)
def test_same_trees_under_every_parameter(objective, params):
    rng = np.random.default_rng(1)
    X = features(rng, kind="missing")
    Y = targets(rng, X, objective)
    params = {"objective": objective, **PARAMS.get(objective, {}), **params}
    assert_equal_trees(params, X, Y, rng.uniform(0.2, 3, len(X)))


@pytest.mark.parametrize("objective", ["reg:squarederror", "multi:softprob"])
def test_categories(objective):
    rng = np.random.default_rng(2)
    X = features(rng)
    X[:, 0] = rng.integers(0, 3, len(X))
    X[:, 5] = rng.integers(0, 20, len(X))
    Y = targets(rng, X, objective)
    params = {"objective": objective, **PARAMS.get(objective, {})}
    types = ["c", "q", "q", "q", "q", "c", "q", "q"]
    assert_equal_trees(params, X, Y, feature_types=types, enable_categorical=True)


@settings(max_examples=60, deadline=None)
@given(
    objective=st.sampled_from([*OF_MATRICES, *OF_COLUMNS]),
    kind=st.sampled_from(["dense", "missing", "zeros"]),
    n_rows=st.integers(30, 300),
    n_targets=st.integers(2, 7),
    min_child_weight=st.sampled_from([0, 0.3, 1, 4]),
    max_depth=st.integers(1, 6),
    reg_lambda=st.sampled_from([0.5, 1, 10]),
    weighted=st.booleans(),
    seed=st.integers(0, 2**31),
)
def test_same_first_tree_as_stock(
    objective,
    kind,
    n_rows,
    n_targets,
    min_child_weight,
    max_depth,
    reg_lambda,
    weighted,
    seed,
):
    rng = np.random.default_rng(seed)
    X = features(rng, n_rows, kind)
    Y = targets(rng, X, objective, n_targets)
    if objective.startswith("multi:"):
        Y[:4] = range(4)
    # Numbers of many digits: hardly any two splits gain the same.
    weight = rng.uniform(0.2, 3, n_rows) if weighted else None
    params = {
        "objective": objective,
        **PARAMS.get(objective, {}),
        "min_child_weight": min_child_weight,
        "max_depth": max_depth,
        "lambda": reg_lambda,
    }
    assert_equal_trees(params, X, Y, weight, n_rounds=1)


def squared_error(hess=1.0, where=None):
    """Make squared error as a custom objective, `hess` in place of its Hessian."""

    def objective(margins, matrix):
        Y = matrix.get_label().reshape(margins.shape)
        known = ~np.isnan(Y) if where is None else where
        grad = np.where(known, margins - np.nan_to_num(Y), 0)
        return grad, np.where(known, hess, 0) * np.ones_like(grad)

    return objective


@pytest.mark.parametrize("hess", ["small", "some are zero", "all are zero for a target"])
def test_custom_hessians(hess):
    """Some rows have a gradient but no Hessian: stock XGBoost counts them only in sums."""
    rng = np.random.default_rng(3)
    X = features(rng)
    Y = targets(rng, X, "reg:squarederror")
    of_entries = rng.uniform(0, 0.1, Y.shape)
    if hess == "some are zero":
        of_entries = np.where(rng.random(Y.shape) < 0.7, 0.0, rng.uniform(1, 2, Y.shape))
    if hess == "all are zero for a target":
        of_entries[:, 1] = 0.0
    params = {"base_score": 0.0, "lambda": 1.5, "min_child_weight": 0.5, "max_depth": 7}
    boosters = [
        xgb.train(p | params, xgb.DMatrix(X, Y), 3, obj=squared_error(of_entries))
        for p in (OURS, STOCK)
    ]
    assert splits_of(boosters[0]) == splits_of(boosters[1])
    found, expected = (booster.predict(xgb.DMatrix(X)) for booster in boosters)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("objective", ["reg:squarederror", "multilabel:logistic"])
@pytest.mark.parametrize(
    "sketch", [{}, {"sketch_size": 1}, {"labels_per_tree": 2}, {"sketch_method": "top"}]
)
def test_negative_hessians_are_refused(objective, sketch):
    rng = np.random.default_rng(4)
    X = features(rng, 40)
    matrix = xgb.DMatrix(X, (targets(rng, X, "reg:squarederror") > 0).astype(float))

    def with_a_negative(predictions, _):
        hess = np.ones_like(predictions)
        hess[7, 3] = -0.5
        return predictions, hess

    params = OURS | {"objective": objective, "base_score": 0.5} | sketch
    message = r"The Hessian of row 7, label 3 is -0\.5\d*\. It must not be negative\."
    with pytest.raises(xgb.core.XGBoostError, match=message):
        xgb.train(params, matrix, 1, obj=with_a_negative)


@pytest.mark.parametrize(
    "params", [{"sketch_size": 1}, {"sketch_size": 2}, {"labels_per_tree": 2, "sketch_size": 1}]
)
def test_sketches_are_those_of_the_same_gradients(params):
    rng = np.random.default_rng(5)
    X = features(rng)
    Y = targets(rng, X, "reg:squarederror")
    matrix = xgb.DMatrix(X, Y)
    params = OURS | params | {"base_score": 0.0, "seed": 7}
    own = xgb.train(params, matrix, 3)
    custom = xgb.train(params, matrix, 3, obj=squared_error())
    assert trees_of(own) == trees_of(custom)
    assert trees_of(own) != trees_of(xgb.train(OURS | {"base_score": 0.0}, matrix, 3))


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"sketch_size": 1},
        {"sketch_size": 3, "sketch_method": "sampling"},
        {"labels_per_tree": 2},
        {"alpha": 0.5, "max_delta_step": 0.4},
        {"monotone_constraints": "(1, -1, 0, 0, 0, 0, 0, 0)"},
        {"monotone_constraints": "(1, -1, 0, 0, 0, 0, 0, 0)", "sketch_size": 1},
        {"subsample": 0.6, "seed": 1},
    ],
    ids=str,
)
def test_units_of_targets(params):
    """Powers of two: every number is exactly that many times as large."""
    rng = np.random.default_rng(6)
    X = features(rng, kind="missing")
    Y = targets(rng, X, "reg:squarederror").astype(np.float32)
    units = 2.0 ** np.array([20, 0, -3, 7, -20])
    params = OURS | params
    scaled = train(params | {"target_scale": units.tolist()}, X, Y * units)
    plain = train(params | {"target_scale": [1.0] * 5}, X, Y)
    assert splits_of(scaled) == splits_of(plain)
    matrix = xgb.DMatrix(X)
    np.testing.assert_array_equal(scaled.predict(matrix) / units, plain.predict(matrix))
    assert splits_of(train(params, X, Y * units)) != splits_of(plain)
    np.testing.assert_array_equal(train(params, X, Y).predict(matrix), plain.predict(matrix))


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        ([1.0, 2.0], "target_scale has 2 entries for 5 targets"),
        ([1.0, 2.0, 0.0, 1.0, 1.0], "target_scale must be finite and positive. Got: 0"),
        ([1.0, 2.0, -1.0, 1.0, 1.0], "target_scale must be finite and positive. Got: -1"),
    ],
)
def test_bad_units(scale, message):
    rng = np.random.default_rng(7)
    X = features(rng, 40)
    with pytest.raises(xgb.core.XGBoostError, match=message):
        train(OURS | {"target_scale": scale}, X, targets(rng, X, "reg:squarederror"))


@pytest.mark.parametrize("sketch_size", [0, 1])
def test_unknown_targets_have_no_gradient(sketch_size):
    rng = np.random.default_rng(8)
    X = features(rng)
    Y = targets(rng, X, "reg:squarederror")
    Y[rng.random(Y.shape) < 0.3] = np.nan
    matrix = xgb.DMatrix(X, Y)
    params = OURS | KNOWN_OR_NOT | {"sketch_size": sketch_size, "base_score": 0.0}
    own = xgb.train(params, matrix, 3)
    custom = xgb.train(params, matrix, 3, obj=squared_error())
    assert trees_of(own) == trees_of(custom)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("objective", [name for name in OF_MATRICES if name != "binary:hinge"])
def test_unknown_targets_with_every_sum(objective, weighted):
    """A target begins as if it were the only one, on the rows where it is known."""
    rng = np.random.default_rng(9)
    X = features(rng, 120)
    Y = targets(rng, X, objective).astype(np.float32)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    weight = rng.uniform(0.2, 3, len(X)) if weighted else None
    params = KNOWN_OR_NOT | {"objective": objective, **PARAMS.get(objective, {}), "max_depth": 1}
    if objective == "reg:pseudohubererror":
        params["eval_metric"] = "rmse"  # its own refuses unknown targets
    together = train(OURS | params, X, Y, weight, 1)
    start = np.ravel(json.loads(_param(together, "base_score")))
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        own = None if weight is None else weight[known]
        alone = train(OURS | params, X[known], Y[known, j], own, 1)
        expected = np.ravel(json.loads(_param(alone, "base_score")))
        np.testing.assert_allclose(start[j], expected[0], rtol=1e-5, atol=1e-7)
    evaluation = together.eval(xgb.DMatrix(X, Y))
    assert np.isfinite(float(evaluation.rpartition(":")[2]))


def _param(booster, name):
    return json.loads(booster.save_config())["learner"]["learner_model_param"][name]


def test_scale_of_absolute_error_is_that_of_known_rows():
    rng = np.random.default_rng(10)
    X = features(rng).round(1)
    Y = targets(rng, X, "reg:absoluteerror")
    params = OURS | KNOWN_OR_NOT | {"objective": "reg:absoluteerror", "base_score": 0.1}
    weight = np.ones(len(X))
    weight[:50] = 0
    expected = train(params, X, Y, weight)
    Y[:50] = np.nan
    found = train(params, X, Y)
    np.testing.assert_allclose(
        found.predict(xgb.DMatrix(X)), expected.predict(xgb.DMatrix(X)), rtol=1e-4, atol=1e-5
    )


def test_unknown_targets_have_to_be_allowed():
    rng = np.random.default_rng(15)
    X = features(rng, 60)
    Y = targets(rng, X, "reg:squarederror")
    Y[3, 1] = np.nan
    for params in (OURS, STOCK):
        with pytest.raises(
            xgb.core.XGBoostError, match="with the parameter `allow_unknown_labels`"
        ):
            train(params, X, Y)
        assert train(params | KNOWN_OR_NOT, X, Y).num_boosted_rounds() == N_ROUNDS


@pytest.mark.parametrize("objective", ["multi:softprob", "reg:quantileerror", "binary:hinge"])
def test_unknown_targets_of_other_losses(objective):
    rng = np.random.default_rng(11)
    X = features(rng, 60)
    Y = np.asarray(targets(rng, X, objective), float)
    Y[3] = np.nan
    params = {"objective": objective, **PARAMS.get(objective, {})}
    with pytest.raises(xgb.core.XGBoostError, match=f"`{objective}` does not support unknown"):
        train(OURS | KNOWN_OR_NOT | params, X, Y)


def test_a_target_that_is_unknown_throughout():
    rng = np.random.default_rng(12)
    X = features(rng, 60)
    Y = targets(rng, X, "reg:squarederror")
    Y[:, 2] = np.nan
    predicted = train(OURS | KNOWN_OR_NOT, X, Y).predict(xgb.DMatrix(X))
    assert np.isfinite(predicted).all()
    assert np.ptp(predicted[:, 2]) == 0


def test_external_memory(in_batches):
    rng = np.random.default_rng(13)
    X = features(rng)
    Y = targets(rng, X, "reg:squarederror")
    params = OURS | {"sketch_size": 1, "target_scale": [1.0, 2.0, 3.0, 4.0, 5.0]}
    pages = xgb.ExtMemQuantileDMatrix(in_batches(X, Y), max_bin=64)
    paged = xgb.train(params, pages, 3)
    whole = xgb.train(params, xgb.QuantileDMatrix(X, Y, ref=pages, max_bin=64), 3)
    np.testing.assert_allclose(
        paged.predict(xgb.DMatrix(X)), whole.predict(xgb.DMatrix(X)), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:absoluteerror"])
def test_a_parameter_that_is_set_later_leaves_the_updater(objective):
    rng = np.random.default_rng(9)
    X = features(rng)
    matrix = xgb.DMatrix(X, targets(rng, X, objective))
    params = OURS | {"objective": objective, "sketch_size": 1, "learning_rate": 0.3}
    same_rate = xgb.callback.LearningRateScheduler(lambda epoch: 0.3)
    scheduled = xgb.train(params, matrix, N_ROUNDS, callbacks=[same_rate])
    assert trees_of(scheduled) == trees_of(xgb.train(params, matrix, N_ROUNDS))


def test_a_model_goes_on_after_loading(tmp_path):
    rng = np.random.default_rng(14)
    X = features(rng)
    Y = targets(rng, X, "count:poisson")
    params = OURS | {"objective": "count:poisson", "sketch_size": 1, "seed": 2}
    matrix = xgb.DMatrix(X, Y)
    whole = xgb.train(params, matrix, 6)
    half = xgb.train(params, matrix, 3)
    half.save_model(tmp_path / "half.json")
    found = xgb.train(params, matrix, 3, xgb_model=tmp_path / "half.json")
    np.testing.assert_allclose(found.predict(matrix), whole.predict(matrix), rtol=1e-5)
