"""Checks of the metrics that XGBoost evaluates during training.

XGBoost knows its metrics, the plugin's among them, and the parameters in their names
(``error@0.3``). So a booster of two rows tries them; there is no list to maintain here.
"""

import difflib
from collections.abc import Sequence

import numpy as np
import xgboost as xgb
from xgboost.core import XGBoostError

MULTI_LABEL_METRICS = (
    "hamming_loss",
    "subset_loss",
    "example_f1",
    "micro_f1",
    "macro_f1",
    "logloss",
)
"""Metrics that messages suggest: those of the plugin, and the default."""


class MetricNames:
    """Domain: a metric's name, a list of names, or None.

    Examples
    --------
    >>> MetricNames().accepts(["logloss", "error@0.3"]), MetricNames().accepts(len)
    (True, False)
    """

    def accepts(self, value: object) -> bool:
        """Whether `value` is a name, a list or tuple of names, or None."""
        if isinstance(value, list | tuple):
            return all(isinstance(name, str) for name in value)
        return value is None or isinstance(value, str)

    def __str__(self) -> str:
        """Say the names in words."""
        return (
            f"a name or a list of names of metrics ({_listed(MULTI_LABEL_METRICS)}, ...), or None"
        )


def metric_names(eval_metric: str | Sequence[str] | None) -> list[str]:
    """Make a list of what `eval_metric` can be, empty for None.

    Examples
    --------
    >>> metric_names("logloss"), metric_names(None)
    (['logloss'], [])
    """
    if eval_metric is None:
        return []
    return [eval_metric] if isinstance(eval_metric, str) else list(eval_metric)


def check_eval_metric(names: Sequence[str], n_labels: int, *, is_measured: bool) -> None:
    """Stop if XGBoost does not know a metric or, where it `is_measured`, cannot evaluate it.

    The ValueError has the metric's name, XGBoost's reason without its stack trace, and metrics to
    choose from.

    Examples
    --------
    >>> check_eval_metric(["logloss", "error@0.3"], 3, is_measured=True)
    >>> check_eval_metric(["ndcg"], 3, is_measured=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: eval_metric='ndcg': Ranking metrics do not support multi-target labels. Choose ...
    """
    # Both values of every label.
    labels = np.array([[0], [1]]).repeat(n_labels, axis=1)
    data = xgb.DMatrix(np.zeros((2, 1)), label=labels, nthread=1)
    for name in names:
        params = {"objective": "multilabel:logistic", "nthread": 1, "eval_metric": name}
        booster = xgb.Booster(params, [data])
        try:
            booster.save_config()  # makes the metric
            if is_measured:
                booster.eval(data)
        except XGBoostError as error:
            raise ValueError(_message(name, str(error))) from None


def _message(name: str, error: str) -> str:
    # "[time] file:line: Check failed: condition: reason", then the stack.
    reason = error.splitlines()[0].rpartition(": ")[2].strip().rstrip(".")
    close = difflib.get_close_matches(name, MULTI_LABEL_METRICS, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"eval_metric={name!r}: {reason or 'XGBoost cannot evaluate it here'}.{hint} Choose from "
        f"{_listed(MULTI_LABEL_METRICS)}, or take another metric of XGBoost that supports label "
        "matrices."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
