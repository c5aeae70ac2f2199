"""Export to stock XGBoost: a directory that needs neither xdcc nor its XGBoost.

The directory holds each booster rewritten for the stock library (``stock_booster.py``), the
settings of the chain's loop and the SHA-256 of each booster (``chain.json``), and the loop itself:
a copy of ``stock_chain.py``, which needs NumPy and XGBoost only. A single multi-label booster is
exported as a chain of one round without label features, whose cumulated prediction is what the
booster predicts.
"""

import hashlib
import json
import math
import os
import shutil
import uuid
from pathlib import Path
from typing import Any

import xgboost as xgb
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from xdcc.base.labels import Classes
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.chain.propagation import PropagationRule
from xdcc.serving import stock_chain
from xdcc.serving.stock_booster import stock_booster
from xdcc.serving.whole_file import write_synced


def to_stock(
    model: DynamicChainClassifier | MultiLabelXGBClassifier, directory: str | os.PathLike[str]
) -> None:
    """Export a trained estimator for the XGBoost without the plugin.

    In another environment, with the ``xgboost`` wheel of the same or a newer version:

        from stock_chain import StockChain  # the directory holds this module
        StockChain(directory).predict(X)

    Parameters
    ----------
    model : DynamicChainClassifier or MultiLabelXGBClassifier
        A fitted one. It is not changed. A chain's `prediction` and `cumulation` are exported as
        they are now.
    directory : path-like
        Where to; there must be nothing yet. It gets a booster ``round_000_0.ubj`` for each round
        and fold, which `xgboost.Booster` loads, ``chain.json`` and ``stock_chain.py``. Nothing is
        left there when the export fails.

    Raises
    ------
    TypeError
        If `model` is something else, or has categories or classes that are neither strings nor
        finite numbers.
    NotFittedError
        Before `fit`.
    ValueError
        If a chain's `prediction` or `cumulation` was set to something unknown after `fit`.
    FileExistsError
        If there is something at `directory`.
    OSError
        If it cannot be written, for example because the disk is full, or because the directory
        above does not exist.

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
        raise FileExistsError(f"{target} exists already: name a directory that does not.")
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


def _described(
    model: DynamicChainClassifier | MultiLabelXGBClassifier,
) -> tuple[dict[str, Any], list[list[xgb.Booster]]]:
    if type(model) is DynamicChainClassifier:
        check_is_fitted(model)
        model._check_params()
        rounds = model.boosters_
        rule, end_label = model.rule_, model.end_label_
        n_label_features = model.n_labels_ + end_label
        prediction, cumulation = model.prediction, model.cumulation
    elif type(model) is MultiLabelXGBClassifier:
        check_is_fitted(model)
        rounds = [[model.booster_[: model.best_iteration_ + 1]]]
        rule, end_label = PropagationRule(), False
        n_label_features = 0
        prediction, cumulation = "cumulated", "equation9"
    else:
        raise TypeError(
            "to_stock takes a fitted DynamicChainClassifier or MultiLabelXGBClassifier, not "
            f"{type(model).__module__}.{type(model).__name__}. A chain trained on Dask has "
            "to_local()."
        )
    names = getattr(model, "feature_names_in_", None)
    categories = getattr(model, "categories_", {})
    settings = {
        "format_version": stock_chain.FORMAT_VERSION,
        "xgboost": xgb.__version__,
        "label_names": list(model.label_names_),
        "classes": _plain_classes(model.classes_),
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
    # Dates are numbers in NumPy, but would not be looked up as such.
    if array.dtype.kind in "mM" or not all(
        isinstance(value, str) or (isinstance(value, int | float) and math.isfinite(value))
        for value in values
    ):
        raise TypeError(
            f"The {what} are {values[:3]} and so on; an export to stock XGBoost can hold strings, "
            "finite numbers and truth values."
        )
    return values
