"""Exports to stock XGBoost and to Treelite, which need neither xdcc nor its XGBoost.

:func:`to_stock` makes a directory. It holds each booster rewritten for the stock library, the
settings of the chain's loop and the SHA-256 of each booster (``chain.json``), and the loop itself:
a copy of ``stock_chain.py``, which needs only NumPy and XGBoost. A single multi-label booster is
exported as a chain of one round without label features, whose cumulated prediction is that of the
booster. Boosters of targets and classes predict as they are.

:func:`stock_booster` rewrites a booster. The plugin's trees are XGBoost's own, with a value per
label in each leaf, and a `base_score` per label is stored as XGBoost stores it. Parameters of the
plugin's updater are not part of a saved model. Only the objective's name and its parameters are the
plugin's. So the JSON of the model is rewritten in one place, the objective; for margins also in the
`base_score`, which is a margin in XGBoost and a probability in the plugin.

:func:`to_treelite` makes a Treelite model of such a booster, or of all boosters of an estimator.
Treelite compiles tree models, supports vectors in leaves, and predicts without XGBoost. A chain is
one such model for each booster, with the loop of ``stock_chain.py`` around them.
"""

import hashlib
import json
import math
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.base.labels import Classes
from xdcc.boosting import (
    MultiClassXGBClassifier,
    MultiLabelXGBClassifier,
    MultiTargetXGBRegressor,
)
from xdcc.boosting.single_booster import SingleBooster
from xdcc.chain import DynamicChainClassifier
from xdcc.prediction.propagation_rule import PropagationRule
from xdcc.serving import stock_chain
from xdcc.serving.archive import write_synced
from xdcc.serving.one_forest import to_forest


def to_stock(
    model: DynamicChainClassifier | SingleBooster, directory: str | os.PathLike[str]
) -> None:
    """Export a trained estimator for XGBoost without the plugin.

    In another environment, with the ``xgboost`` wheel of the same or a newer version:

        from stock_chain import StockChain  # the directory holds this module
        StockChain(directory).predict(X)

    Parameters
    ----------
    model : DynamicChainClassifier, MultiLabelXGBClassifier, MultiTargetXGBRegressor or \
MultiClassXGBClassifier
        A fitted estimator; it is not changed. The current `prediction` and `cumulation` of a chain
        are exported.
    directory : path-like
        Name of the directory, which must not exist. It gets a booster ``round_000_0.ubj`` for each
        round and fold, which `xgboost.Booster` loads, ``chain.json`` and ``stock_chain.py``. If the
        export fails, nothing is left.

    Raises
    ------
    TypeError
        If `model` is something else, or has categories or classes that are neither strings nor
        finite numbers.
    NotFittedError
        Before `fit`.
    ValueError
        If `prediction` or `cumulation` of a chain was set to an unknown value after `fit`.
    FileExistsError
        If `directory` exists.
    OSError
        If it cannot be written, for example because the disk is full or the directory above does
        not exist.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> to_stock(model, "exported")
    >>> sorted(file.name for file in Path("exported").iterdir())
    ['chain.json', 'round_000_0.ubj', 'stock_chain.py']
    """
    settings, rounds = _described(model)
    target = Path(directory)
    if os.path.lexists(target):
        raise FileExistsError(f"{target} already exists: name a new directory.")
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    temporary.mkdir()
    try:
        settings["rounds"] = [
            [
                _save_stock(booster, temporary / stock_chain.booster_name(round_, fold))
                for fold, booster in enumerate(boosters)
            ]
            for round_, boosters in enumerate(rounds)
        ]
        text = json.dumps(settings, allow_nan=False, indent=1, ensure_ascii=False)
        write_synced(temporary / "chain.json", f"{text}\n".encode())
        write_synced(temporary / "stock_chain.py", Path(stock_chain.__file__).read_bytes())
        os.rename(temporary, target)
    except BaseException:
        shutil.rmtree(temporary)
        raise


def _save_stock(booster: xgb.Booster, path: Path) -> str:
    """Save a booster for the stock library; return the file's SHA-256."""
    content = bytes(stock_booster(booster).save_raw("ubj"))
    write_synced(path, content)
    return hashlib.sha256(content).hexdigest()


_OUTPUTS = {
    MultiLabelXGBClassifier: "labels",
    MultiTargetXGBRegressor: "targets",
    MultiClassXGBClassifier: "classes",
}
"""Outputs of the boosters."""


def _described(
    model: DynamicChainClassifier | SingleBooster,
) -> tuple[dict[str, Any], list[list[xgb.Booster]]]:
    if type(model) is DynamicChainClassifier:
        check_is_fitted(model)
        model._check_params()
        rounds = model.boosters_
        rule, end_label = model.rule_, model.end_label_
        n_label_features = model.n_labels_ + end_label
        prediction, cumulation = model.prediction, model.cumulation
        output, names_of_outputs = "labels", model.label_names_
    elif type(model) in _OUTPUTS:
        check_is_fitted(model)
        output, names_of_outputs = _OUTPUTS[type(model)], model._output_names
        rounds = [[model._booster_that_predicts()]]
        rule, end_label = PropagationRule(), False
        n_label_features = 0
        prediction, cumulation = "cumulated", "equation9"
    else:
        raise TypeError(
            "to_stock takes a fitted DynamicChainClassifier, MultiLabelXGBClassifier, "
            "MultiTargetXGBRegressor or MultiClassXGBClassifier, not "
            f"{type(model).__module__}.{type(model).__name__}. A chain trained on Dask has "
            "to_local(). For ensembles and mixtures, use to_forest if all members are boosters, "
            "else to_onnx or CompiledModel."
        )
    names = getattr(model, "feature_names_in_", None)
    categories = getattr(model, "categories_", {})
    settings = {
        "format_version": stock_chain.FORMAT_VERSION,
        "xgboost": xgb.__version__,
        "label_names": [str(name) for name in names_of_outputs],
        "output": output,
        "one_target": getattr(model._output_form, "is_single", False),
        "classes": None if output == "targets" else _plain_classes(model.classes_),
        "n_features": model.n_features_in_,
        "feature_names": None if names is None else list(names),
        "categories": [
            [int(position), _plain_values(values, f"categories of column {position}")]
            for position, values in categories.items()
        ],
        "sparse_zeros": model.sparse_zeros,
        "sparse_X": model.sparse_X_,
        "n_label_features": n_label_features,
        "candidates": rule.candidates,
        "order": rule.order,
        "labels_per_round": rule.labels_per_round,
        "end_label": end_label,
        "prediction": prediction,
        "cumulation": cumulation,
    }
    return settings, rounds


def _plain_classes(classes: Classes) -> dict[str, Any] | None:
    if classes.ndim == 2:
        return None
    return {"dtype": classes.dtype.str, "values": _plain_values(classes, "classes")}


def _plain_values(array: NDArray[Any], what: str) -> list[str | float]:
    values = array.tolist()
    # NumPy gives numbers for dates, but rows to predict would have dates.
    if array.dtype.kind in "mM" or not all(
        isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
        for value in values
    ):
        raise TypeError(
            f"The {what} are {values[:3]} and so on; an export to stock XGBoost can only store "
            "strings, finite numbers and truth values."
        )
    return values


_PLUGIN_PREFIX = "multilabel:"
_MARGINS = "multilabel:logitraw"


def stock_booster(booster: xgb.Booster) -> xgb.Booster:
    """Rewrite a booster for an XGBoost without the plugin.

    Parameters
    ----------
    booster : xgboost.Booster
        Trained with an objective of the plugin, or with one of XGBoost's own, which is kept. It is
        not changed.

    Returns
    -------
    xgboost.Booster
        With the objective ``binary:logistic``, or ``binary:logitraw`` for
        ``multilabel:logitraw``. Stock XGBoost of the same version loads what its `save_model`
        writes. With ``binary:logistic`` its margins equal those of `booster` bit for bit, and its
        probabilities differ by at most 2e-7, because the plugin rounds differently in the logistic
        function. With ``binary:logitraw`` margins differ by the rounding of `base_score`.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> stock = stock_booster(model.booster_)
    >>> np.allclose(stock.inplace_predict(data.X), model.predict_proba(data.X))
    True
    """
    model = json.loads(booster.save_raw("json"))
    learner = model["learner"]
    objective = learner["objective"]
    if objective["name"].startswith(_PLUGIN_PREFIX):
        stock_name = "binary:logistic"
        if objective["name"] == _MARGINS:
            stock_name = "binary:logitraw"
            _start_from_margin(learner["learner_model_param"])
        learner["objective"] = {
            "name": stock_name,
            "reg_loss_param": objective["reg_loss_param"],
        }
    stock = xgb.Booster()
    stock.load_model(bytearray(json.dumps(model).encode()))
    return stock


def _start_from_margin(model_param: dict[str, Any]) -> None:
    probability = np.array(json.loads(model_param["base_score"]))
    margin = np.log(probability / (1 - probability)).astype(np.float32)
    model_param["base_score"] = json.dumps(margin.tolist())


def to_treelite(model: Any, *, as_classes: bool = False) -> Any:
    """Turn boosters into a Treelite model.

    Parameters
    ----------
    model : xgboost.Booster or estimator
        A booster that was trained with an objective of the plugin, or with XGBoost's
        ``binary:logistic``; or a fitted estimator that :func:`xdcc.serving.to_forest` takes.
    as_classes : bool, default=False
        Whether the labels are described as classes, each with a probability of its own
        ("multiclass_ova"). nvForest needs that: it refuses models of several targets. It changes
        nothing for a `MultiClassXGBClassifier`.

    Returns
    -------
    treelite.Model
        ``treelite.gtil.predict(model, X)`` gives probabilities of shape (n_samples, n_labels, 1)
        for float32 X, or (n_samples, 1, n_labels) with `as_classes`. Of a
        `MultiTargetXGBRegressor` targets instead, of a `MultiClassXGBClassifier` probabilities of
        shape (n_samples, 1, n_classes).

    Raises
    ------
    TypeError
        If an estimator is not a sum of boosters, or predicts targets, which cannot be described as
        classes; the message names what to use.
    NotFittedError
        Before `fit`.
    ImportError
        If Treelite is not installed.

    Examples
    --------
    >>> import treelite
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> trees = to_treelite(model)
    >>> treelite.gtil.predict(trees, data.X.astype(np.float32)).shape
    (100, 3, 1)
    """
    try:
        import treelite
    except ImportError as error:
        raise ImportError("to_treelite needs Treelite: pip install treelite") from error
    if as_classes and isinstance(model, MultiTargetXGBRegressor):
        raise TypeError("A MultiTargetXGBRegressor predicts numbers: use as_classes=False.")
    booster = stock_booster(model) if isinstance(model, xgb.Booster) else to_forest(model)
    trees = treelite.frontend.from_xgboost(booster)
    if as_classes and not isinstance(model, MultiClassXGBClassifier):
        _describe_as_classes(trees)
    return trees


_MULTI_CLASS = 2
"""Treelite's number for the task of several classes."""


def _describe_as_classes(trees: Any) -> None:
    """Describe targets, if there are several, as classes of one target."""
    header = trees.get_header_accessor()
    (n_labels,) = header.get_field("num_target")
    if n_labels == 1:
        return
    for name, value in {
        "task_type": np.array([_MULTI_CLASS], np.uint8),
        "num_target": np.array([1], np.int32),
        "num_class": np.array([n_labels], np.int32),
        "leaf_vector_shape": np.array([1, n_labels], np.int32),
        "target_id": np.zeros(trees.num_tree, np.int32),
        "class_id": np.full(trees.num_tree, -1, np.int32),
        "postprocessor": "multiclass_ova",
    }.items():
        header.set_field(name, value)
