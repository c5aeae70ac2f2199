"""Exports to stock XGBoost and to Treelite, which need neither xdcc nor its XGBoost.

Both are of one booster, rewritten for the stock library (``booster_for_stock.py``), or made of all
boosters of a model (``one_forest.py``). Treelite compiles tree models, supports vectors in leaves,
and predicts without XGBoost.
"""

import json
import os
from typing import Any

import numpy as np
import xgboost as xgb

from xdcc.base.whole_file import as_path, whole_file
from xdcc.prediction.booster_trees import has_weighted_trees
from xdcc.serving.booster_for_stock import stock_booster
from xdcc.serving.one_forest import to_forest

IN_TREELITE = (
    "binary:hinge",
    "binary:logistic",
    "binary:logitraw",
    "count:poisson",
    "multi:softprob",
    "rank:map",
    "rank:ndcg",
    "rank:pairwise",
    "reg:absoluteerror",
    "reg:gamma",
    "reg:logistic",
    "reg:pseudohubererror",
    "reg:squarederror",
    "reg:squaredlogerror",
    "reg:tweedie",
    "survival:aft",
    "survival:cox",
)
"""XGBoost's objectives with which Treelite predicts the same."""


def to_stock(model: Any, path: str | os.PathLike[str]) -> None:
    """Write the boosters of a model as one file for XGBoost without the plugin.

    In another environment, with the ``xgboost`` wheel of the same or a newer version:

        booster = xgboost.Booster(model_file=path)
        probabilities = booster.inplace_predict(X)

    Parameters
    ----------
    model : estimator
        A fitted estimator that :func:`xdcc.serving.to_forest` takes, which says what the booster
        predicts; it is not changed.
    path : path-like
        Name of the file, which gets JSON if it ends in ``.json``, else UBJSON. An older file of
        that name is replaced when the new one is complete, as by :func:`xdcc.serving.save_model`.
        The attribute "label_names" of the booster has the names of labels, targets or classes, as
        JSON.

    Raises
    ------
    TypeError
        If the margins of the model are not a sum over trees: those of chains, extra trees, linear
        models, or a mixture with a second level; or if targets have different objectives. The
        message names what to use; a chain leaves by :func:`xdcc.serving.to_onnx`. Or if `path` is
        not path-like.
    NotFittedError
        Before `fit`.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> to_stock(model, "exported.ubj")
    >>> booster = xgb.Booster(model_file="exported.ubj")
    >>> np.allclose(booster.inplace_predict(data.X), model.predict_proba(data.X))
    True
    """
    with whole_file(path) as file:
        forest = to_forest(model)
        names = model._output_form.column_names(2, model._predictor().n_outputs)
        forest.set_attr(label_names=json.dumps([str(name) for name in names]))
        file.write(forest.save_raw("json" if as_path(path).suffix == ".json" else "ubj"))


def to_treelite(model: Any, *, as_classes: bool = False) -> Any:
    """Turn boosters into a Treelite model.

    Parameters
    ----------
    model : xgboost.Booster or estimator
        A booster that was trained with an objective of the plugin, or with one of XGBoost's except
        ``multi:softmax``, ``reg:quantileerror`` and ``reg:expectileerror``, with which Treelite
        predicts something else or nothing; or a fitted estimator that
        :func:`xdcc.serving.to_forest` takes.
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
        If an estimator is not a sum of boosters, its targets have different objectives, or it
        predicts targets, which cannot be described as classes; or if a booster was trained with
        dropout. The message names what to use.
    ValueError
        If Treelite does not predict the same with the objective of a booster; or with `as_classes`
        if that is ``binary:hinge``, which has no probabilities.
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
    booster = stock_booster(model) if isinstance(model, xgb.Booster) else to_forest(model)
    if has_weighted_trees(booster):
        raise TypeError(
            "The booster was trained with dropout (rate_drop), which gives each tree a weight. "
            "Treelite has no such weights: predict with XGBoost, by stock_booster."
        )
    name = json.loads(booster.save_config())["learner"]["objective"]["name"]
    if name not in IN_TREELITE:
        raise ValueError(
            f"Treelite does not predict as XGBoost with the objective {name!r}. Possible are those "
            f"of the plugin, {', '.join(IN_TREELITE)}."
        )
    trees = treelite.frontend.from_xgboost(booster)
    if as_classes:
        _describe_as_classes(trees)
    return trees


_NUMBERS, _CLASSES = 1, 2
"""Treelite's numbers for the tasks of predicting numbers, and one of several classes."""


def _describe_as_classes(trees: Any) -> None:
    """Describe labels, if there are several, as classes of one target."""
    header = trees.get_header_accessor()
    (n_labels,), (task,) = header.get_field("num_target"), header.get_field("task_type")
    if task == _NUMBERS:
        raise TypeError("The model predicts numbers: use as_classes=False.")
    if header.get_field("postprocessor") == "hinge":
        raise ValueError(
            "The objective 'binary:hinge' predicts no probabilities, which classes have: use "
            "as_classes=False."
        )
    if n_labels == 1:
        return
    for name, value in {
        "task_type": np.array([_CLASSES], np.uint8),
        "num_target": np.array([1], np.int32),
        "num_class": np.array([n_labels], np.int32),
        # Of all labels, or of the one that the tree was grown for, which is then a class.
        "leaf_vector_shape": header.get_field("leaf_vector_shape")[::-1].copy(),
        "class_id": header.get_field("target_id").copy(),
        "target_id": np.zeros(trees.num_tree, np.int32),
        "postprocessor": "multiclass_ova",
    }.items():
        header.set_field(name, value)
