"""Random settings: the cases of the target `settings`, as data that JSON can hold.

A case names a model, its data, its parameters, and what is done with it; `settings.py` and
`rows.py` say what the names mean. Values that are None are left out. In the cases of a model every
two values meet first; then they are random.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.fuzz.pairwise import Axes, pairwise_cases, random_cases
from tests.reference.boosting import SPLIT_METHODS

type Case = dict[str, Any]

N_JOBS = [2, 1, 3, 16]

USE: Axes = {
    "n_jobs": N_JOBS,
    "where": ["here", "thread pool", "forked child", "busy"],
    "then": [None, "file", "pickle", "slice", "contributions", "continue", "continue file"],
    "export": [None, "compiled", "onnx", "stock", "treelite"],
}

DATA: Axes = {
    "rows": [64, 1, 2, 63, 65, 257, 1500],
    "features": [7, 1, 2, 63, 64, 65, 257],
    "outputs": [5, 1, 2, 63, 64, 65, 257],
    "X": [
        *(
            NUMBERS := (
                *("dense", "column-major", "double", "missing", "all missing", "constant"),
                *("integers", "huge"),
            )
        ),
        *("csr", "csr of empty rows"),
        *(CATEGORICAL := ("categories", "one category", "many categories")),
    ],
    "Y": ["usual", "rare", "constant", "unknown", "unknown column", "flat"],
    "weight": [None, "rows", "zeros", "entries", "zero entries"],
}
ROW_WEIGHTS: Axes = {"weight": [None, "rows", "zeros"]}
SMALL: Axes = DATA | {
    "rows": [64, 2, 63, 65, 120],
    "features": [7, 1, 2, 12],
    "outputs": [5, 1, 2, 3],
}
COMPLETE: Axes = SMALL | {"Y": ["usual", "rare", "constant", "flat"], "weight": [None]}

_MOST_ENTRIES = 600_000
"""Limit on rows times features times outputs."""

EACH, RISE, HALVES = "one for each", "1, -1, 0, ...", "two halves"
"""Values of parameters that depend on the numbers of features and outputs."""

TREE: Axes = {
    "max_depth": [3, 1, 6, 0],
    "grow_policy": [None, "lossguide"],
    "max_leaves": [None, 2, 9],
    "learning_rate": [None, 0.1, 1],
    "reg_lambda": [None, 0, 7],
    "reg_alpha": [None, 0.3],
    "gamma": [None, 0.2],
    "max_delta_step": [None, 0.7],
    "min_child_weight": [None, 0, 0.01, 1, 20],
    "subsample": [None, 0.5, 0.1],
    "colsample_bytree": [None, 0.5],
    "colsample_bylevel": [None, 0.5],
    "colsample_bynode": [None, 0.5],
    "max_bin": [None, 2, 3, 16, 500],
    "max_cat_to_onehot": [None, 1, 100],
    "max_cat_threshold": [None, 1, 5],
    "monotone_constraints": [None, RISE],
    "interaction_constraints": [None, HALVES],
    "num_parallel_tree": [None, 3],
}
PLUGIN: Axes = {
    "split_method": [None, *SPLIT_METHODS],
    "min_child_weight_scope": [None, "any", "all", "mean"],
    "sketch_size": [None, 1, 2, 5, 64],
    "sketch_method": [None, "projection", "sampling", "top"],
    "max_list_rows": [None, 0, 1, 20, 65536],
    "max_histogram_mib": [None, 1, 8],
    "cat_penalty": [None, 1.3],
    "cat_smoothing": [None, 0.5],
}
GROUPS: Axes = {"labels_per_tree": [None, 1, 2, 3, 64]}
LABELS: Axes = {
    "scale_pos_weight": [None, 3],
    "label_weight": [None, EACH],
    "base_score": [None, 0.3, EACH],
}
NATIVE: Axes = {
    "matrix": ["DMatrix", "QuantileDMatrix", "ExtMemQuantileDMatrix"],
    "sampling_method": [None, "uniform"],
    "booster": [None, "dart"],
    "rate_drop": [None, 0.5],
    "feature_weights": [None, EACH],
}
ESTIMATED: Axes = {
    "n_estimators": [2, 1, 5],
    "sparse_zeros": [None, "zero"],
    "sketch_size": [None, 1, 2, 5, 64, "auto"],
    "eval_set": [None, "training rows"],
    "early_stopping_rounds": [None, 1],
}
WHOLE_TREES: Axes = {"cv": [2], "n_estimators": [2, 3]}

REGRESSIONS = [
    *("reg:squarederror", "reg:squaredlogerror", "reg:absoluteerror", "reg:pseudohubererror"),
    *("reg:logistic", "reg:gamma", "reg:tweedie", "count:poisson"),
]
ONE_COLUMN = ["reg:quantileerror", "reg:expectileerror", "multi:softprob", "multi:softmax"]
OBJECTIVES = [
    *(REGRESSIONS + ONE_COLUMN),
    *("binary:logistic", "binary:logitraw", "binary:hinge", "custom"),
]
"""Objectives of XGBoost that are trained with vector leaves."""


@dataclass(frozen=True)
class Family:
    """A model and the values of its settings.

    Attributes
    ----------
    share : float
        How often there is a case of it, relative to others.
    params : axes
        Values of the parameters.
    data : axes
        Values of the data.
    """

    share: float
    params: Axes
    data: Axes = field(default_factory=lambda: DATA)


FAMILIES: Mapping[str, Family] = {
    "labels": Family(
        30,
        {
            "objective": [
                *("multilabel:logistic", "multilabel:logitraw"),
                *(f"multilabel:{method}" for method in SPLIT_METHODS),
            ],
            "num_boost_round": [2, 1, 5],
            **(TREE | PLUGIN | GROUPS | LABELS | NATIVE),
            "scale_pos_weight_per_label": [None, EACH],
            "label_feature_begin": [None, EACH],
            "eval_metric": [None, "hamming_loss", "subset_loss", "example_f1", "micro_f1@0.3"],
        },
        DATA
        | {
            "Y": [*DATA["Y"], "soft", "all unknown"],
            "weight": [*DATA["weight"], "all zero"],
        },
    ),
    "outputs": Family(
        20,
        {
            "objective": OBJECTIVES,
            "num_boost_round": [2, 1, 5],
            **(TREE | PLUGIN | GROUPS | NATIVE),
            "target_scale": [None, EACH],
            "base_score": [0.3, EACH],
            "label_feature_begin": [None, EACH],
        },
        DATA | ROW_WEIGHTS | {"Y": ["usual", "rare", "constant", "unknown", "unknown column"]},
    ),
    "MultiLabelXGBClassifier": Family(
        20,
        TREE
        | PLUGIN
        | LABELS
        | ESTIMATED
        | {"labels_per_tree": [*GROUPS["labels_per_tree"], "auto"]},
        DATA | {"Y": [*DATA["Y"], "soft", "sparse"]},
    ),
    "MultiTargetXGBRegressor": Family(
        10,
        {
            "objective": [*REGRESSIONS, EACH],
            "scale_targets": [None, False],
            "outputs_per_tree": [None, 1, 2, 3, 64, "auto"],
            **(TREE | PLUGIN | ESTIMATED),
        },
        DATA | {"Y": ["usual", "rare", "constant", "unknown", "flat"]},
    ),
    "MultiClassXGBClassifier": Family(
        5,
        {
            "class_weight": [None, "balanced"],
            "outputs_per_tree": [None, 1, 2, 3, 64, "auto"],
            **(TREE | PLUGIN | ESTIMATED),
        },
        DATA | ROW_WEIGHTS | {"outputs": [5, 2, 3, 63, 64, 65, 257], "Y": ["usual"]},
    ),
    "SketchedExtraTreesClassifier": Family(
        8,
        {
            "n_estimators": [2, 1, 5],
            "max_features": [None, "sqrt", "log2", 3, 0.5],
            "min_samples_leaf": [None, 1, 5],
            "sketch_size": [None, 1, 2, 5],
            "max_samples": [None, 0.5],
            "oob_proba": [None, True],
            "max_bin": [None, 2, 16],
        },
        DATA | {"Y": [*DATA["Y"], "soft", "sparse"]},
    ),
    "LogisticLabels": Family(
        6,
        {"C": [1.0, "auto", EACH], "text_like": [None, True, False], "cv": [2]},
        SMALL | {"Y": [*DATA["Y"], "soft", "sparse"]},
    ),
    "DynamicChainClassifier": Family(
        6,
        {
            "chain_length": [2, None, 1, "auto"],
            "separate_and_conquer": [None, False],
            "candidates": [None, "all"],
            "order": [None, "certainty"],
            "labels_per_round": [None, 2],
            "propagate": [None, "cross_val", "in_sample"],
            "ensemble": [None, True],
            "end_label": [None, True, False],
            "stop_measure": [None, "subset_accuracy", "jaccard"],
            "prediction": [None, "standard"],
            "cumulation": [None, "authors"],
            "sparse_zeros": [None, "zero"],
            **(WHOLE_TREES | TREE | PLUGIN | {"split_method": list(SPLIT_METHODS)}),
        },
        SMALL,
    ),
    "OrderFreeChainClassifier": Family(
        2,
        {
            "max_depth": [3, 1],
            "learning_rate": [None, 0.3],
            "subsample": [None, 0.5],
            "n_masks": [2, 1],
            "n_beams": [4, 1],
            "n_draws": [5, 1],
            "prediction": [None, "subset_accuracy", "example_f1", "marginal"],
            **WHOLE_TREES,
        },
        SMALL,
    ),
    "RandomDecisionTreeClassifier": Family(
        4,
        {
            "n_estimators": [3, 1],
            "max_depth": [5, 0, 30],
            "min_samples_split": [None, 2],
            "label_test_fraction": [None, 0, 1],
            "disjunction_size": [None, 3],
            "redraw": [None, True],
            "chain": ["dynamic", "static", None],
            "threshold": [None, "probability"],
            "candidates": [None, "positive"],
            "early_stop": [None, True],
            "sigma": [None, 0, 0.5],
            "transformation": [None, "powerset"],
            "tree_weight": [None, "equal"],
            "size_exponent": [None, 2],
        },
        COMPLETE,
    ),
    "BoomerClassifier": Family(
        4,
        {
            "n_rules": [5, 1],
            "loss": [
                *(None, "logistic_example_wise", "squared_label_wise"),
                "squared_hinge_label_wise",
            ],
            "head": [None, "complete"],
            "learning_rate": [None, 1],
            "l2": [None, 0],
            "sample": ["bootstrap", None],
            "max_features": ["log2", None, 1, 0.5],
            "label_bins": [None, 2, 0.5],
            "prediction": [None, "sign", "known_labelsets", "example_f1"],
            "max_conditions": [None, 1],
            "min_coverage": [None, 3],
        },
        COMPLETE,
    ),
    "LaCovaCClassifier": Family(
        2,
        (
            lacovac := {
                "criterion": [None, "variance", "gain_ratio"],
                "clustering": ["single_linkage", "all_or_none", None],
                "threshold_size": [None, "train"],
                "max_depth": [None, 0, 2],
                "max_leaf_nodes": [None, 3],
                "min_samples_split": [None, 2],
                "min_samples_leaf": [None, 1],
                "ccp_alpha": [None, 0.1],
                "smoothing": [None, 1],
            }
        ),
        COMPLETE,
    ),
    "LaCovaCForestClassifier": Family(
        1,
        lacovac
        | {
            "n_estimators": [2, 1],
            "max_features": [0.2, "sqrt", None, 2],
            "bootstrap": [None, False],
            "voting": [None, "label"],
        },
        COMPLETE,
    ),
    "CTBNClassifier": Family(
        1,
        {
            "C": [1.0, "cross_val"],
            "parent_effect": [None, "feature"],
            "prediction": [None, "hamming", "example_f1"],
            "n_draws": [5],
            "n_parent_candidates": [None, 1],
            "max_solver_iter": [20],
        },
        COMPLETE,
    ),
    "CTBNMixtureClassifier": Family(
        0.5,
        {"C": [1.0], "max_components": [2], "n_anneal": [3], "inference": [None, "exact"]},
        COMPLETE,
    ),
    "BinaryRelevance": Family(1, TREE | WHOLE_TREES | {"cv": [None]}, SMALL | ROW_WEIGHTS),
    "ClassifierChain": Family(
        1,
        TREE | WHOLE_TREES | {"cv": [None], "order": [None, "frequent", "rare"]},
        SMALL | ROW_WEIGHTS,
    ),
    "LabelPowerset": Family(0.5, {}, SMALL | ROW_WEIGHTS),
    "TunedDecisionClassifierCV": Family(
        3,
        {
            "estimator": [
                *("MultiLabelXGBClassifier", "SketchedExtraTreesClassifier", "LogisticLabels"),
                "DynamicChainClassifier",
            ],
            "measure": [None, "subset_accuracy", "hamming_accuracy", "macro_f1", "micro_f1"],
            "rules": [None, ["label_wise"], ["threshold_per_label"], ["f1_maximiser"]],
            "calibrate": [None, False],
            "ensemble": [None, False],
            "cv": [2],
        },
        SMALL,
    ),
    "ThresholdClassifier": Family(
        1,
        {
            "estimator": ["MultiLabelXGBClassifier", "LogisticLabels"],
            "method": [None, "fixed", "pcut", "per_label_pcut", "per_label"],
            "cv": [2],
        },
        SMALL,
    ),
    "DistilledClassifier": Family(
        0.4,
        {
            "estimator": ["MultiLabelXGBClassifier", "LogisticLabels"],
            "n_estimators": [2],
            "max_leaves": [None, 3],
            "n_generated": [50, 0],
            "exchange": [None, 0, 1],
        },
        SMALL,
    ),
    "MultiLabelClassifier": Family(
        0.1,
        {
            "measure": [None, "subset_accuracy", "hamming_accuracy"],
            "cv": [2],
            "refit": [None, True, False],
            "distil": [None, True],
        },
        SMALL | {"rows": [64, 120]},
    ),
}

ODD_DATA: Axes = {
    "rows": [0],
    "features": [0],
    "outputs": [0],
    "X": ["infinite", "text", "bad index"],
    "Y": ["odd", "short", "bad index", "infinite", "all unknown"],
    "weight": ["negative", "infinite", "short", "all zero"],
}
ODD = [0, 1, 2, 3, -1, 0.5, 1.5, -0.5, 1e9, float("nan"), float("inf"), True, "x", "", [], [1, 2]]
"""Values that most parameters refuse."""

_EXPENSIVE = {
    *("n_estimators", "num_boost_round", "num_parallel_tree", "n_rules", "n_masks", "n_draws"),
    *("cv", "n_beams", "n_generated", "max_components", "n_anneal", "max_bin", "chain_length"),
}
"""Parameters whose large values are slow rather than odd."""

ODD_SHARE = 1 / 8
"""How many cases have one or two odd values."""

UNSUPPORTED: Mapping[str, list[Any]] = {
    "objective": ["rank:ndcg", "survival:cox", "multilabel:no", "reg:linear", ""],
    "tree_method": ["exact", "approx", "hist"],
    "multi_strategy": ["one_output_per_tree"],
    "process_type": ["update"],
    "booster": ["gblinear", "x"],
    "updater": ["prune", "refresh", "grow_multilabel_hist,grow_multilabel_hist", "x"],
    "device": ["cuda"],
    "eval_metric": ["auc", "ndcg", "error@2", "no"],
    "sampling_method": ["gradient_based"],
    "interaction_constraints": ["[[9999]]", "[", "[[-1]]"],
    "monotone_constraints": ["x", "(1,2)"],
}
"""Values of XGBoost's parameters that its trees with vector leaves, or ours, may not support."""


def cases(seed: int) -> Iterator[Case]:
    """Generate cases, of all models in turn."""
    rng = random.Random(f"cases {seed}")
    names = list(FAMILIES)
    shares = [family.share for family in FAMILIES.values()]
    streams = {name: _of_family(name, random.Random(f"{name} {seed}")) for name in names}
    while True:
        (name,) = rng.choices(names, shares)
        yield next(streams[name])


def _of_family(name: str, rng: random.Random) -> Iterator[Case]:
    family = FAMILIES[name]
    axes = USE | family.data | family.params
    settle = partial(_settled, rng)
    regular = (
        case
        for cases in (pairwise_cases(axes, rng, settle), random_cases(axes, rng, settle))
        for case in cases
    )
    unusual = random_cases(axes, rng, settle)
    while True:
        odd = rng.random() < ODD_SHARE
        values = next(unusual if odd else regular)
        if odd:
            for _ in range(rng.choice((1, 1, 2))):
                _make_odd(values, family, rng)
        yield _case(name, values, family, rng)


def _case(name: str, values: Case, family: Family, rng: random.Random) -> Case:
    use = {key: values.pop(key) for key in USE}
    data = {key: values.pop(key) for key in DATA}
    given = [{k: v for k, v in part.items() if v is not None} for part in (use, data)]
    # None is a value of some parameters, where it is not the first one.
    params = {
        key: value
        for key, value in values.items()
        if value is not None or (key in family.params and family.params[key][0] is not None)
    }
    return {
        "model": name,
        "seed": rng.randrange(10**6),
        **given[0],
        "data": given[1],
        "params": params,
    }


def _make_odd(values: Case, family: Family, rng: random.Random) -> None:
    kind = rng.randrange(4)
    if kind == 0:
        name = rng.choice(list(ODD_DATA))
        # Estimators check the indices of sparse matrices, `xgboost.DMatrix` does not.
        unchecked = ["bad index"] if "matrix" in family.params else []
        values[name] = rng.choice([v for v in ODD_DATA[name] if v not in unchecked])
        if unchecked and values["features"] == 0 and values["X"] in CATEGORICAL:
            values["X"] = "dense"  # XGBoost's package asks for the first column of a DataFrame
    elif kind == 1:
        name = rng.choice(list(UNSUPPORTED))
        values[name] = rng.choice(UNSUPPORTED[name])
    elif family.params:
        name = rng.choice(list(family.params))
        # XGBoost's own package takes the keys of anything else that constraints are.
        unchecked = ["monotone_constraints", "interaction_constraints"]
        if name not in ["estimator", *("matrix" in family.params) * unchecked]:
            values[name] = rng.choice([v for v in ODD if not (name in _EXPENSIVE and v == 1e9)])


def _settled(rng: random.Random, values: Case) -> Case:
    """Change values that do not go together, so that few of the regular cases are refused."""
    _limit_size(values, rng)
    changes: Case = {}
    method = values.get("split_method")
    short_form = str(values.get("objective")).removeprefix("multilabel:")
    if short_form in SPLIT_METHODS:
        method, changes["split_method"] = short_form, None
    if method not in (None, "sumGain"):
        changes |= {"sketch_method": "top", "cat_penalty": None}
    if values["X"] in CATEGORICAL:
        changes["monotone_constraints"] = None
        if values["export"] == "onnx":
            changes["export"] = None
        if values["then"] == "continue file":  # a booster does not know the categories' codes
            changes["then"] = "continue"
    is_flat = values["Y"] == "flat" or values.get("objective") in ONE_COLUMN
    if values["X"] not in NUMBERS or is_flat:
        changes["label_feature_begin"] = None
    if values["then"] in ("continue", "continue file") and "base_score" in values:
        changes["base_score"] = EACH  # XGBoost refuses one number here
    if values["Y"] == "soft":
        changes["eval_metric"] = None
    if values.get("objective") in REGRESSIONS and values["weight"] in ("entries", "zero entries"):
        changes["weight"] = "rows"
    if values.get("candidates") == "all":
        changes |= {"order": None, "labels_per_round": None}
    if values.get("propagate") == "in_sample":
        changes["ensemble"] = None
    if (values.get("loss"), values.get("head")) != ("logistic_example_wise", "complete"):
        changes["label_bins"] = None
    return values | {name: value for name, value in changes.items() if name in values}


def _limit_size(values: Case, rng: random.Random) -> None:
    sizes = ["rows", "features", "outputs"]
    while values["rows"] * values["features"] * values["outputs"] > _MOST_ENTRIES:
        largest = max(sizes, key=lambda size: (values[size], rng.random()))
        values[largest] = {"rows": 64, "features": 7, "outputs": 5}[largest]
    for name in ("labels_per_tree", "outputs_per_tree"):
        if values["outputs"] > 65 and values.get(name) in (1, 2, 3):
            values[name] = 64
