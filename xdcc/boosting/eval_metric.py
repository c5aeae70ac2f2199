"""Checks of the metrics that XGBoost evaluates during training.

XGBoost knows its metrics, the plugin's among them, and the parameters in their names
(``error@0.3``). So a booster of two rows tries them; there is no list to maintain here.
"""

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import XGBoostError

from xdcc.metrics.record import METRICS

MULTI_LABEL_METRICS = tuple(each.in_xgboost for each in METRICS.values() if each.in_xgboost)
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


def check_eval_metric(
    names: Sequence[str], params: Mapping[str, Any], Y: NDArray[np.float32], *, is_measured: bool
) -> None:
    """Stop if XGBoost does not know a metric or, where it `is_measured`, cannot evaluate it.

    It is tried with an objective's parameters on a Y of a few rows. The ValueError has the metric's
    name, XGBoost's reason without its stack trace, and for labels metrics to choose from.

    Examples
    --------
    >>> params, Y = {"objective": "multilabel:logistic"}, np.eye(2, dtype=np.float32)
    >>> check_eval_metric(["logloss", "error@0.3"], params, Y, is_measured=True)
    >>> check_eval_metric(["ndcg"], params, Y, is_measured=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: eval_metric='ndcg': Ranking metrics do not support multi-target labels. Choose ...
    """
    data = xgb.DMatrix(np.zeros((len(Y), 1)), label=Y, nthread=1)
    for name in names:
        booster = xgb.Booster({**params, "nthread": 1, "eval_metric": name}, [data])
        try:
            booster.save_config()  # makes the metric
            if is_measured:
                booster.eval(data)
        except XGBoostError as error:
            of_labels = str(params["objective"]).startswith("multilabel:")
            raise ValueError(_message(name, str(error), of_labels=of_labels)) from None


def _message(name: str, error: str, *, of_labels: bool) -> str:
    # "[time] file:line: Check failed: condition: reason", then the stack.
    reason = error.splitlines()[0].rpartition(": ")[2].strip().rstrip(".")
    if not of_labels:
        return f"eval_metric={name!r}: {reason or 'XGBoost cannot evaluate it here'}."
    close = difflib.get_close_matches(name, MULTI_LABEL_METRICS, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return (
        f"eval_metric={name!r}: {reason or 'XGBoost cannot evaluate it here'}.{hint} Choose from "
        f"{_listed(MULTI_LABEL_METRICS)}, or take another metric of XGBoost that supports label "
        "matrices."
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
