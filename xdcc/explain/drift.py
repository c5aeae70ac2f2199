"""Drift: how rows that come later differ from earlier ones.

A model is as good as its tests said for rows that are drawn as theirs were. :func:`drift` compares
two sets of rows in what shows that they are not: missing values, values and categories that the
earlier rows do not have, the distribution of the predicted probabilities and, with labels, the
log-loss.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import ks_2samp
from sklearn.utils.validation import check_is_fitted

from xdcc.base.domains import Number, check_domain
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.features import Features, check_features, learn_features
from xdcc.base.frames import as_pandas
from xdcc.base.labels import check_labels_as_in_fit, label_scores
from xdcc.base.pyplot import require_pyplot
from xdcc.explain.walks import feature_names
from xdcc.metrics import log_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

type Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Drift:
    """Output of :func:`drift`.

    Attributes
    ----------
    features : DataFrame
        A row for each feature. "missing" and "missing_new" are the shares of missing values in X
        and X_new; "unseen" is the share of the new rows whose number is below all or above all
        numbers of X, or whose category does not occur in X.
    labels : DataFrame
        A row for each label. "proba" and "proba_new" are the mean probabilities; "distance" is the
        largest difference between the two distribution functions of the probabilities
        (Kolmogorov-Smirnov statistic), from 0 (equal) to 1. "log_loss" and "log_loss_new" are there
        if Y and Y_new were given; NaN for a label without a known entry.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=2, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> found = xdcc.explain.drift(model, data.X[:100], data.X[100:])
    >>> list(found.features), list(found.labels)
    (['missing', 'missing_new', 'unseen'], ['proba', 'proba_new', 'distance'])
    """

    features: pd.DataFrame
    labels: pd.DataFrame


def drift(model: Any, X: Any, X_new: Any, *, Y: Any = None, Y_new: Any = None) -> Drift:
    """Compare new rows with earlier ones.

    Parameters
    ----------
    model : estimator
        A fitted estimator of xdcc with `predict_proba`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Earlier rows: those of training or, better, rows of the same time that were held out. On its
        training rows a model is more certain and has a lower log-loss than on any others.
    X_new : array-like, sparse matrix or DataFrame of shape (n_new_samples, n_features)
        New rows, in the form of X.
    Y, Y_new : array-like, sparse matrix or DataFrame, optional
        Labels of X and of X_new, in the form of those in `fit`; NaN is unknown. Each can be given
        without the other.

    Returns
    -------
    Drift
        Two tables, of the features and of the labels. :func:`plot_drift` draws them.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model is no estimator of xdcc, or has no `predict_proba`.
    ValueError
        If X or X_new does not have the features of `fit`, or Y or Y_new is not as described.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=2, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X[:100], data.Y[:100])
    >>> new = data.X[100:].copy()
    >>> new[:25, 0] = 99
    >>> found = drift(model, data.X[:100], new, Y_new=data.Y[100:])
    >>> found.features.loc["f0"]
    missing        0.00
    missing_new    0.00
    unseen         0.27
    Name: f0, dtype: float64
    >>> list(found.labels)
    ['proba', 'proba_new', 'distance', 'log_loss_new']
    """
    name = type(model).__name__
    if not isinstance(model, MultiLabelEstimator) or not hasattr(model, "predict_proba"):
        raise TypeError(f"drift takes estimators of xdcc with predict_proba, not {name}.")
    check_is_fitted(model)
    proba, proba_new = (label_scores(model, rows, model.n_labels_) for rows in (X, X_new))
    columns = {
        "proba": proba.mean(axis=0),
        "proba_new": proba_new.mean(axis=0),
        "distance": [
            ks_2samp(earlier, new, method="asymp").statistic
            for earlier, new in zip(proba.T, proba_new.T, strict=True)
        ],
    }
    for end, rows, truth, of_rows in (("", X, Y, proba), ("_new", X_new, Y_new, proba_new)):
        if truth is not None:
            checked = check_labels_as_in_fit(model._output_form, rows, truth, f"Y{end}")
            columns[f"log_loss{end}"] = _log_losses(checked, of_rows)
    labels = pd.DataFrame(columns, index=pd.Index(map(str, model.label_names_), dtype=object))
    index = pd.Index(feature_names(model), dtype=object)
    return Drift(pd.DataFrame(_of_features(X, X_new, name), index=index), labels)


def plot_drift(
    found: Drift, *, n_bars: int = 20, axes: "Sequence[Axes] | NDArray[np.object_] | None" = None
) -> "NDArray[np.object_]":
    """Draw what differs most: features by unseen and missing values, labels by probabilities.

    Parameters
    ----------
    found : Drift
        Output of :func:`drift`.
    n_bars : int, default=20
        Maximum number of features, and of labels.
    axes : sequence of two Axes, optional
        Axes to draw on. Default: a new figure.

    Returns
    -------
    array of Axes of shape (2,)
        The axes of features and labels. A feature has a bar if new rows have values that earlier
        rows do not have, or if the shares of missing values differ.

    Raises
    ------
    ImportError
        If Matplotlib cannot be imported.
    ValueError
        If `n_bars` is below 1, or `axes` does not contain two axes.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=2, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X[:100], data.Y[:100])
    >>> of_features, of_labels = plot_drift(drift(model, data.X[:100], data.X[100:]))
    >>> of_labels.get_xlabel()
    'mean probability'
    """
    pyplot = require_pyplot("plot_drift")
    check_domain("n_bars", n_bars, Number(low=1, whole=True))
    features = found.features.assign(
        missing=(found.features["missing_new"] - found.features["missing"]).abs()
    )
    features = _largest(features, features["unseen"] + features["missing"], n_bars)
    features = features[(features[["unseen", "missing"]] > 0).any(axis=1)]
    labels = _largest(found.labels, found.labels["distance"], n_bars)
    if axes is None:
        height = max(1.6 + 0.22 * max(len(features), len(labels)), 2.6)
        _, axes = pyplot.subplots(1, 2, figsize=(11, height), layout="constrained")
    if len(axes) != 2:
        raise ValueError(f"axes has {len(axes)} entries; it must have two: features, labels.")
    of_features, of_labels = axes
    at = np.arange(len(features))
    of_features.barh(at - 0.2, features["unseen"], 0.4, label="values not seen before")
    of_features.barh(at + 0.2, features["missing"], 0.4, label="change of missing values")
    of_features.set_yticks(at, features.index, fontsize=8)
    of_features.set_xlim(0, 1.05 * features[["unseen", "missing"]].to_numpy().max(initial=0.01))
    of_features.set(xlabel="share of the new rows", ylabel="feature")
    of_features.set_title("Features" if len(features) else "Features: no drift", fontsize=10)
    at = np.arange(len(labels))
    of_labels.hlines(at, labels["proba"], labels["proba_new"], color="0.75")
    of_labels.plot(labels["proba"], at, "o", label="earlier rows")
    of_labels.plot(labels["proba_new"], at, "D", label="new rows")
    names = [f"{name} ({d:.2f})" for name, d in labels["distance"].items()]
    of_labels.set_yticks(at, names, fontsize=8)
    of_labels.set(xlabel="mean probability", ylabel="label (distance)")
    of_labels.set_title("Predictions", fontsize=10)
    for ax in axes:
        ax.invert_yaxis()
        if len(ax.get_yticks()):
            ax.legend(loc="best", fontsize=8)
    return np.array(axes, dtype=object)


def _largest(table: pd.DataFrame, size: "pd.Series[float]", n_rows: int) -> pd.DataFrame:
    return table.loc[size.sort_values(ascending=False, kind="stable").index[:n_rows]]


def _log_losses(Y: NDArray[np.float32], proba: Floats) -> list[float]:
    known = ~np.isnan(Y).all(axis=0)
    return [log_loss(Y[:, [j]], proba[:, [j]]) if known[j] else np.nan for j in range(Y.shape[1])]


def _of_features(X: Any, X_new: Any, estimator: str) -> dict[str, Floats]:
    """Compare numbers and codes of categories; what a sparse X does not store is 0."""
    form, checked = learn_features(X, estimator, takes_categories=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of unknown categories
        checked_new = check_features(form, X_new, estimator)
    checked, checked_new = _by_columns(checked), _by_columns(checked_new)
    compared = [
        _compare(_column(checked, j), _column(checked_new, j)) for j in range(form.n_features)
    ]
    columns = dict(zip(("missing", "missing_new", "unseen"), np.transpose(compared), strict=True))
    if form.categories:
        frame = as_pandas(X_new)
        for position in form.categories:  # a code is missing if the category is unknown, too
            column = frame.iloc[:, position] if form.names is None else frame[form.names[position]]
            missing = float(column.isna().mean())
            columns["unseen"][position] = columns["missing_new"][position] - missing
            columns["missing_new"][position] = missing
    return columns


def _by_columns(X: Features) -> Any:
    return sparse.csc_array(X) if sparse.issparse(X) else X


def _column(X: Any, position: int) -> NDArray[np.float32]:
    return X[:, [position]].toarray().ravel() if sparse.issparse(X) else X[:, position]


def _compare(earlier: NDArray[np.float32], new: NDArray[np.float32]) -> tuple[float, float, float]:
    """Return the shares of missing values in both, and of new values outside the earlier range."""
    is_missing, is_missing_new = np.isnan(earlier), np.isnan(new)
    known = earlier[~is_missing]
    low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
    unseen = float(((new < low) | (new > high)).mean())
    return float(is_missing.mean()), float(is_missing_new.mean()), unseen
