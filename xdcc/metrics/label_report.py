"""``report``: a table of the metrics of each label."""

from collections.abc import Sequence

import numpy as np

from xdcc.base.frames import as_pandas
from xdcc.base.label_rows import Bools, Floats, Labels, Weights, known_proba_blocks
from xdcc.base.libraries import pd
from xdcc.metrics.curves import (
    Curve,
    precision_recall,
    ranked_entries,
    ranked_labels,
    roc,
    together,
)
from xdcc.metrics.labels import label_sums
from xdcc.metrics.means import divide

_COUNTS = ["known", "positives"]


def report(
    Y_true: Labels,
    Y_pred: Labels | None = None,
    Y_proba: Labels | None = None,
    *,
    label_names: Sequence[str] | None = None,
    sample_weight: Weights = None,
) -> "pd.DataFrame":
    """Compute the metrics of each label, with micro and macro averages.

    Parameters
    ----------
    Y_true : array-like or sparse matrix, shape (n_samples, n_labels)
        0, 1, or NaN if the label is unknown.
    Y_pred : array-like or sparse matrix, shape (n_samples, n_labels), optional
        0 or 1.
    Y_proba : array-like or sparse matrix, shape (n_samples, n_labels), optional
        Probabilities that labels are 1. `Y_pred`, `Y_proba` or both are required.
    label_names : sequence of str, optional
        By default the columns of `Y_true` if it is a DataFrame, else "label_0" and so on.
    sample_weight : array-like, shape (n_samples,) or (n_samples, n_labels), optional
        Weights of the samples or entries.

    Returns
    -------
    DataFrame
        A row for each label, "micro avg" for all known entries together, and "macro avg", the mean
        over the labels that have a value. The columns are "known" and "positives", numbers (total
        weights) of known entries and of those that are 1, totals in both averages; with `Y_pred`
        "precision", "recall" and "f1", where 0/0 is 0; with `Y_proba` "average_precision",
        "roc_auc" and "brier_score". Values are NaN if no entry of a label is known, average
        precision also if none is 1, and ROC AUC if all are equal.

    Raises
    ------
    ValueError
        As listed in the module's documentation, if `Y_pred` and `Y_proba` are None, or if there are
        not as many names as labels.

    Examples
    --------
    >>> Y_true = pd.DataFrame({"red": [1, 0, 0, 1], "blue": [1, 0, 1, np.nan]})
    >>> Y_proba = np.array([[0.9, 0.4], [0.1, 0.5], [0.2, 0.6], [0.4, 0.7]])
    >>> table = report(Y_true, Y_proba >= 0.5, Y_proba)
    >>> table[["known", "positives", "f1", "roc_auc"]].round(2)
               known  positives    f1  roc_auc
    red            4          2  0.67     1.00
    blue           3          2  0.50     0.50
    micro avg      7          4  0.57     0.83
    macro avg      7          4  0.58     0.75
    """
    columns: dict[str, Floats] = {}
    if Y_pred is not None:
        columns |= _of_labels(Y_true, Y_pred, sample_weight)
    if Y_proba is not None:
        columns |= _of_probabilities(Y_true, Y_proba, sample_weight)
    if not columns:
        raise ValueError("Y_pred and Y_proba are both None; report needs one of them, or both.")
    table = pd.DataFrame(columns)
    n_labels = len(table) - 1
    macro = table.iloc[:n_labels].mean()
    macro[_COUNTS] = table.loc[n_labels, _COUNTS]
    table.loc[n_labels + 1] = macro
    table.index = pd.Index([*_names(Y_true, label_names, n_labels), "micro avg", "macro avg"])
    return table.astype(dict.fromkeys(_COUNTS, np.int64)) if sample_weight is None else table


def _names(Y_true: Labels, label_names: Sequence[str] | None, n_labels: int) -> list[str]:
    if label_names is None:
        Y_true = as_pandas(Y_true, "Y_true")
        is_frame = isinstance(Y_true, pd.DataFrame)
        return list(Y_true.columns) if is_frame else [f"label_{j}" for j in range(n_labels)]
    names = list(label_names)
    if len(names) != n_labels:
        raise ValueError(f"label_names has {len(names)} names, but Y_true has {n_labels} labels.")
    return names


def _of_labels(Y_true: Labels, Y_pred: Labels, weights: Weights) -> dict[str, Floats]:
    """Compute columns from labels; the last entry of each is the micro average."""
    known, true, predicted, both = map(_with_total, label_sums(Y_true, Y_pred, weights))
    ratios = {
        "precision": divide(both, predicted, 0),
        "recall": divide(both, true, 0),
        "f1": divide(2 * both, true + predicted, 0),
    }
    of_known = {name: np.where(known > 0, ratio, np.nan) for name, ratio in ratios.items()}
    return dict(zip(_COUNTS, (known, true), strict=True)) | of_known


def _of_probabilities(Y_true: Labels, Y_proba: Labels, weights: Weights) -> dict[str, Floats]:
    """Compute columns from probabilities; the last entry of each is the micro average."""
    entries = together(known_proba_blocks(Y_true, Y_proba, weights))
    ranked = [*ranked_labels(entries), *ranked_entries(entries)]

    def sums(values: Bools | Floats) -> Floats:
        return _with_total(entries.label_sums(values))

    def areas(curve: Curve) -> Floats:
        weight = entries.weight[np.newaxis]
        return np.array([each.areas(curve, weight).item() for each in ranked])

    known = sums(entries.known)
    squares = np.square(entries.predicted - entries.truth) * entries.known
    return dict(zip(_COUNTS, (known, sums(entries.truth)), strict=True)) | {
        "average_precision": areas(precision_recall),
        "roc_auc": areas(roc),
        "brier_score": np.where(known > 0, divide(sums(squares), known, 0), np.nan),
    }


def _with_total(values: Floats) -> Floats:
    return np.append(values, values.sum())
