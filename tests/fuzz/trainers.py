"""How a case is trained, by `xgboost.train` or by an estimator, and what of a model is compared."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb

import xdcc
from tests.fuzz.cases import EACH, HALVES, RISE, Case
from tests.fuzz.rows import Rows, draw_rows
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
from xdcc.boosting.single_booster import SingleBooster

_CLASSES = ("multi:softprob", "multi:softmax", "MultiClassXGBClassifier")
_LEVELS = {"reg:quantileerror": "quantile_alpha", "reg:expectileerror": "expectile_alpha"}
_TARGET_OBJECTIVES = ("reg:squarederror", "binary:logistic", "reg:absoluteerror")

UPDATER = {"multi_strategy": "multi_output_tree", "updater": "grow_multilabel_hist"}


@dataclass(frozen=True)
class Trained:
    """A model, and the rows that it predicts."""

    model: Any
    X: Any

    @property
    def booster(self) -> xgb.Booster | None:
        """The booster of a model that is one."""
        if isinstance(self.model, xgb.Booster):
            return self.model
        return self.model.get_booster() if hasattr(self.model, "get_booster") else None

    def predictions(self) -> list[Any]:
        """Predict the rows in each form of the model."""
        if isinstance(self.model, xgb.Booster):
            return [self.model.predict(_matrix_of(self.X))]
        names = ("predict", "predict_proba")
        return [getattr(self.model, name)(self.X) for name in names if hasattr(self.model, name)]

    def bits(self) -> list[bytes]:
        """Return all that does not depend on the number of threads."""
        found = [np.asarray(values).tobytes() for values in self.predictions()]
        if self.booster is None:
            return found
        booster = self.booster.copy()
        booster.set_attr(best_score=None)  # XGBoost adds up its metrics thread by thread
        return [*found, bytes(booster.save_raw("ubj"))]

    def start(self) -> Any:
        """Return the estimated `base_score`, which may depend on the number of threads."""
        if not isinstance(self.model, MultiTargetXGBRegressor | MultiClassXGBClassifier):
            return None
        config = json.loads(self.model.get_booster().save_config())
        return config["learner"]["learner_model_param"]["base_score"]


def train(case: Case, n_jobs: int) -> Trained:
    """Train a case with a number of threads."""
    with xgb.config_context(verbosity=0):  # of this thread
        return _TRAINERS.get(case["model"], _fit)(case, n_jobs)


def _train(case: Case, n_jobs: int) -> Trained:
    """`xgboost.train`, with labels or with an objective of XGBoost's own."""
    params = dict(case["params"])
    n_rounds, kind = params.pop("num_boost_round"), params.pop("matrix")
    objective = params["objective"]
    n_outputs, n_features = case["data"]["outputs"], case["data"]["features"]
    if objective in _CLASSES:
        rows = draw_rows(_with_data(case, outputs=max(2, n_outputs)), "classes")
        params["num_class"] = max(2, n_outputs)
    elif objective in _LEVELS:
        rows = draw_rows(_with_data(case, Y="flat"), objective)
        params[_LEVELS[objective]] = [(k + 1) / (n_outputs + 1) for k in range(n_outputs)]
    else:
        rows = draw_rows(case, "labels" if case["model"] == "labels" else objective)
    if case["model"] == "outputs":
        params = UPDATER | {"allow_unknown_labels": True} | params
    if case["data"]["Y"] == "soft":
        params.setdefault("soft_labels", True)
    loss = None
    if objective == "custom":
        del params["objective"]
        loss = _custom_loss
    X = rows.X
    if params.get("label_feature_begin") == EACH:
        X = _with_label_features(case, rows)
        params["label_feature_begin"] = n_features
        if case["model"] == "outputs":
            params["updater"] = "mask_known_labels,grow_multilabel_hist"
    n_lists = n_outputs if objective in (*_CLASSES, *_LEVELS) else _n_columns(rows.Y)
    params = _of_outputs(params, n_lists) | _of_features(params, X.shape[1])
    params |= {"nthread": n_jobs, "seed": 7}
    weights = params.pop("feature_weights", None)
    data = _matrix(kind, X, rows, n_jobs, params.get("max_bin", 256), weights)
    evals = [(data, "train")] if "eval_metric" in params else []

    def boost(earlier: xgb.Booster | None = None) -> xgb.Booster:
        return xgb.train(
            params,
            data,
            n_rounds,
            obj=loss,
            evals=evals,
            verbose_eval=False,
            xgb_model=earlier,
        )

    return Trained(_continued(case, boost), X)


def _continued(case: Case, boost: Callable[..., Any]) -> Any:
    """Train, and train on from the model or its file."""
    then = case.get("then")
    model = boost()
    if then == "continue":
        return boost(model)
    if then == "continue file":
        booster = model if isinstance(model, xgb.Booster) else model.get_booster()
        return boost(xgb.Booster(model_file=booster.save_raw("ubj")))
    return model


def _with_data(case: Case, **data: Any) -> Case:
    return case | {"data": case["data"] | data}


def _matrix(
    kind: str, X: Any, rows: Rows, n_jobs: int, max_bin: Any, feature_weights: Any
) -> xgb.DMatrix:
    about = {"weight": rows.weight, "feature_weights": feature_weights}
    if kind == "DMatrix":
        return xgb.DMatrix(X, rows.Y, **about, nthread=n_jobs, enable_categorical=True)
    common = {"max_bin": max_bin, "nthread": n_jobs, "enable_categorical": True}
    if kind == "QuantileDMatrix":
        return xgb.QuantileDMatrix(X, rows.Y, **about, **common)
    return xgb.ExtMemQuantileDMatrix(_TwoBatches(X, rows, feature_weights), **common)


class _TwoBatches(xgb.DataIter):
    """The rows in two batches, which external memory keeps in files."""

    def __init__(self, X: Any, rows: Rows, feature_weights: Any) -> None:
        middle = (X.shape[0] + 1) // 2
        self._parts = [
            {"data": X[part], "label": rows.Y[part], "feature_weights": feature_weights}
            | ({} if rows.weight is None else {"weight": rows.weight[part]})
            for part in (slice(middle), slice(middle, None))
        ]
        self._next = 0
        super().__init__(cache_prefix="cache", on_host=False)

    def next(self, input_data: Callable[..., Any]) -> bool:
        if self._next == len(self._parts):
            return False
        input_data(**self._parts[self._next])
        self._next += 1
        return True

    def reset(self) -> None:
        self._next = 0


def _matrix_of(X: Any) -> xgb.DMatrix:
    return xgb.DMatrix(X, nthread=1, enable_categorical=True)


def _custom_loss(margins: Any, data: xgb.DMatrix) -> Any:
    """Squared error, with other Hessians."""
    labels = data.get_label().reshape(margins.shape)
    gradients = np.nan_to_num(margins - labels)
    return gradients, np.where(np.isnan(labels), 0, 1 + np.abs(gradients) / 4).astype(np.float32)


def _with_label_features(case: Case, rows: Rows) -> Any:
    """Append features that have some of the labels, and are missing elsewhere."""
    if not isinstance(rows.X, np.ndarray) or rows.X.dtype.kind == "O" or rows.Y.ndim != 2:
        raise ValueError("label features need X and Y of numbers in two dimensions")
    known = np.random.default_rng(case["seed"] + 1).random(rows.Y.shape) < 0.3
    return np.hstack([rows.X, np.where(known, rows.Y, np.nan)]).astype(np.float32)


def _n_columns(Y: Any) -> int:
    return 1 if Y.ndim == 1 else int(Y.shape[1])


def _of_outputs(params: Case, n: int) -> Case:
    """Replace what stands for a list with a number for each output."""
    values = [0.2 + 0.6 * (j % 7) / 7 for j in range(n)]
    return {name: values if value == EACH else value for name, value in params.items()}


def _of_features(params: Case, n: int) -> Case:
    """Replace what stands for a list with an entry for each feature."""
    found: Case = {}
    if params.get("monotone_constraints") == RISE:
        found["monotone_constraints"] = tuple((1, -1, 0)[j % 3] for j in range(n))
    if params.get("interaction_constraints") == HALVES:
        found["interaction_constraints"] = str([list(range(n))[::2], list(range(n))[1::2] or [0]])
    if params.get("feature_weights") == EACH:
        found["feature_weights"] = [1 + j % 3 for j in range(n)]
    return found


def _fit(case: Case, n_jobs: int) -> Trained:
    """Fit an estimator."""
    name, params = case["model"], dict(case["params"])
    data, objective = case["data"], params.get("objective")
    rows = draw_rows(
        case,
        "classes"
        if name == "MultiClassXGBClassifier"
        else str(objective)
        if name == "MultiTargetXGBRegressor" and objective != EACH
        else "labels",
    )
    if objective == EACH:
        params["objective"] = {
            f"target_{j}": _TARGET_OBJECTIVES[j % 3] for j in range(_n_columns(rows.Y))
        }
    if data["Y"] == "soft":
        params.setdefault("soft_labels", True)
    more: Case = {} if rows.weight is None else {"sample_weight": rows.weight}
    if params.pop("eval_set", None) or params.get("early_stopping_rounds") is not None:
        more["eval_set"] = [(rows.X, rows.Y)]
    n_outputs = data["outputs"] if name == "MultiClassXGBClassifier" else _n_columns(rows.Y)
    params = _of_outputs(params, n_outputs) | _of_features(params, rows.X.shape[1])
    if "interaction_constraints" in params:
        params["interaction_constraints"] = json.loads(params["interaction_constraints"])
    if "estimator" in params:
        params["estimator"] = _SMALL[params["estimator"]](n_jobs)
    kind = _class(name)
    for key, value in {"n_jobs": n_jobs, "random_state": 7}.items():
        if key in kind._get_param_names():
            params[key] = value

    def fit(earlier: Any = None) -> Any:
        chosen = more if earlier is None else more | {"xgb_model": earlier}
        return kind(**params).fit(rows.X, rows.Y, **chosen)

    return Trained(_continued(case, fit) if issubclass(kind, SingleBooster) else fit(), rows.X)


def _class(name: str) -> Any:
    return getattr(xdcc, name, None) or getattr(xdcc.boosting, name)


_SMALL: dict[str, Callable[[int], Any]] = {
    "MultiLabelXGBClassifier": lambda n: xdcc.MultiLabelXGBClassifier(n_estimators=2, n_jobs=n),
    "SketchedExtraTreesClassifier": lambda n: xdcc.SketchedExtraTreesClassifier(
        2, random_state=0, n_jobs=n
    ),
    "LogisticLabels": lambda n: xdcc.LogisticLabels(C=1.0, n_jobs=n),
    "DynamicChainClassifier": lambda n: xdcc.DynamicChainClassifier(
        n_estimators=2, max_depth=2, chain_length=2, cv=2, n_jobs=n
    ),
}
"""Estimators in other ones."""

_TRAINERS: dict[str, Callable[[Case, int], Trained]] = {"labels": _train, "outputs": _train}
