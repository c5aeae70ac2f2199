"""``Metric``: what the package knows of a metric, registered beside its function.

Scorers, decision rules, the search of ``MultiLabelClassifier``, metrics during training, messages,
the experiments and the table in the guide are made from :data:`METRICS`. A new metric is one
function with its record, and its test.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from xdcc.base.label_rows import Floats
from xdcc.metrics.counted import Counted

type Curve = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""An area, as a numerator and a denominator of shape (n_weights,). Its arguments have the shape
(n_weights, n_scores): total weights of the entries that are 1, and 0, by ascending scores."""

type Takes = Literal["labels", "scores", "probabilities"]


@dataclass(frozen=True)
class OfRows:
    """A mean of values of rows, or of what rows add to a mean over known entries.

    Attributes
    ----------
    value : callable
        From rows with scores to values, `(n_counted,)`.
    by_entry : bool, default=False
        Whether it is a mean over entries.
    """

    value: Callable[..., Floats]
    by_entry: bool = False


@dataclass(frozen=True)
class OfCurve:
    """An area under a curve of all known entries, or the mean of those of the labels."""

    curve: Curve
    by_label: bool


@dataclass(frozen=True)
class Metric:
    """A metric.

    Attributes
    ----------
    function : callable
        ``function(Y_true, predicted, *, sample_weight=None)``.
    title : str
        For tables and axes.
    takes : {"labels", "scores", "probabilities"}
        What `predicted` is.
    source : str
        Where it comes from; its docstring has the whole reference.
    higher_is_better : bool, default=True
    counted : Counted or None
        How a decision rule counts a metric of labels; None if there is no rule for it.
    drawn : OfRows, OfCurve or None
        How a metric of scores is computed on rows that are drawn again; None if a search cannot
        have it as its aim.
    in_xgboost : str, default=""
        Its name in `eval_metric`, if it is evaluated during training.
    name : str
        Name of the function, by default.
    k : int or None
        How many labels with the highest scores count.
    """

    function: Callable[..., float]
    title: str
    takes: Takes
    source: str
    higher_is_better: bool = True
    counted: Counted | None = None
    drawn: OfRows | OfCurve | None = None
    in_xgboost: str = ""
    name: str = ""
    k: int | None = None

    @property
    def scorer(self) -> str:
        """Name of the scorer, of which higher values are better."""
        return self.name if self.higher_is_better else f"neg_{self.name}"

    @property
    def sign(self) -> int:
        """1 if higher values are better, else -1."""
        return 1 if self.higher_is_better else -1


METRICS: dict[str, Metric] = {}
"""All metrics by name; `precision_at_k` and `ndcg_at_k` need a k."""

_AT_K = re.compile(r"(\w+_at_)([1-9][0-9]{0,8})")


def metric[F: Callable[..., float]](
    title: str, takes: Takes, source: str, *, name: str = "", **properties: Any
) -> Callable[[F], F]:
    """Register the decorated function; the arguments are those of `Metric`."""

    def register(function: F) -> F:
        named = name or function.__name__
        METRICS[named] = Metric(function, title, takes, source, name=named, **properties)
        return function

    return register


def scored(name: object) -> Metric | None:
    """Find the metric of a scorer's name; None for anything else.

    Examples
    --------
    >>> import xdcc.metrics
    >>> scored("neg_log_loss").function.__name__, scored("ndcg_at_5").k
    ('log_loss', 5)
    >>> scored("log_loss"), scored("ndcg_at_k"), scored("ndcg_at_0")
    (None, None, None)
    """
    if not isinstance(name, str):
        return None
    if found := _AT_K.fullmatch(name):
        of_any_k = METRICS.get(f"{found.group(1)}k")
        return None if of_any_k is None else _at(of_any_k, name, int(found.group(2)))
    found_metric = METRICS.get(name.removeprefix("neg_"))
    if found_metric is None or found_metric.scorer != name or takes_k(found_metric):
        return None
    return found_metric


def takes_k(metric: Metric) -> bool:
    """Return whether a metric has a parameter `k`."""
    return metric.name.endswith("_at_k")


def _at(metric: Metric, name: str, k: int) -> Metric:
    drawn = metric.drawn
    if isinstance(drawn, OfRows):
        drawn = replace(drawn, value=partial(drawn.value, k=k))
    return replace(metric, name=name, function=partial(metric.function, k=k), drawn=drawn, k=k)
