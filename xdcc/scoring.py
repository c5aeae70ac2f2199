"""Scorers: every measure of :mod:`xdcc.metrics` as what scikit-learn takes for ``scoring``.

A scorer has the name of its measure, without ``_score`` at its end, and, because higher scores have
to be better, ``neg_`` before it where lower values are: `example_f1`, `neg_hamming_loss`,
`label_ranking_average_precision`. :func:`scorer_names` lists them, :func:`get_scorer` makes them.

Measures of labels are taken of what `predict` returns or, with a `threshold`, of the labels whose
probability is at least as high; measures of rankings are taken of probabilities. These may have any
of scikit-learn's forms, or come from a `decision_function` (``labels.py``). Unknown labels
(NaN in Y) take no part. scikit-learn cannot stratify such a Y, so cross-validation needs a splitter
instead of a number: ``cv=KFold(5)``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.metadata_routing import MetadataRequest

from xdcc import metrics
from xdcc.base.documentation import documented
from xdcc.base.labels import label_scores


@dataclass(frozen=True)
class _Measure:
    """A function of :mod:`xdcc.metrics`, and what a scorer has to know of it."""

    function: Callable[..., float]
    of_ranking: bool = False
    sign: int = 1


_MEASURES: dict[str, _Measure] = {
    "hamming_accuracy": _Measure(metrics.hamming_accuracy),
    "subset_accuracy": _Measure(metrics.subset_accuracy),
    "example_f1": _Measure(metrics.example_f1),
    "example_precision": _Measure(metrics.example_precision),
    "example_recall": _Measure(metrics.example_recall),
    "jaccard": _Measure(metrics.jaccard),
    "micro_f1": _Measure(metrics.micro_f1),
    "micro_precision": _Measure(metrics.micro_precision),
    "micro_recall": _Measure(metrics.micro_recall),
    "macro_f1": _Measure(metrics.macro_f1),
    "macro_precision": _Measure(metrics.macro_precision),
    "macro_recall": _Measure(metrics.macro_recall),
    "label_ranking_average_precision": _Measure(
        metrics.label_ranking_average_precision_score, of_ranking=True
    ),
    "neg_hamming_loss": _Measure(metrics.hamming_loss, sign=-1),
    "neg_subset_loss": _Measure(metrics.subset_loss, sign=-1),
    "neg_coverage_error": _Measure(metrics.coverage_error, of_ranking=True, sign=-1),
    "neg_label_ranking_loss": _Measure(metrics.label_ranking_loss, of_ranking=True, sign=-1),
    "neg_one_error": _Measure(metrics.one_error, of_ranking=True, sign=-1),
}


def scorer_names() -> list[str]:
    """List the names that :func:`get_scorer` takes.

    Returns
    -------
    list of str
        Measures that are better when higher, then those that are negated.

    Examples
    --------
    >>> scorer_names()[:3]
    ['hamming_accuracy', 'subset_accuracy', 'example_f1']
    """
    return list(_MEASURES)


def get_scorer(
    name: str, *, threshold: float | ArrayLike | None = None, **options: Any
) -> "MultiLabelScorer":
    """Make the scorer of a measure.

    Parameters
    ----------
    name : str
        One of :func:`scorer_names`.
    threshold : float or array-like of shape (n_labels,), optional
        For measures of labels: instead of what `predict` returns, take the labels whose
        probability, or value of the decision function where there is none, is at least as high.
    **options
        Further arguments of the measure: `zero_division`.

    Returns
    -------
    MultiLabelScorer
        Called as ``scorer(estimator, X, Y)``; it can be the `scoring` of ``GridSearchCV`` or
        ``cross_val_score``, or one of several in a dict.

    Raises
    ------
    ValueError
        For another name, or a threshold for a measure of rankings.

    Examples
    --------
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, Y = [[0], [1], [2], [3]] * 5, [[0, 1], [0, 0], [1, 0], [1, 1]] * 5
    >>> tree = DecisionTreeClassifier(random_state=0)
    >>> cross_val_score(tree, X, Y, scoring=get_scorer("example_f1"), cv=KFold(2))
    array([1., 1.])
    """
    return MultiLabelScorer(name, threshold, options)


@documented
class MultiLabelScorer:
    """A measure of :mod:`xdcc.metrics` that is called as ``scorer(estimator, X, Y)``.

    Made by :func:`get_scorer`, and errors are as there.

    Parameters
    ----------
    name : str
        One of :func:`scorer_names`.
    threshold : float, array-like of shape (n_labels,) or None
        See :func:`get_scorer`.
    options : dict
        Further arguments of the measure.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> classifier = DummyClassifier().fit([[0], [1]], [[1, 0], [1, 1]])
    >>> scorer = get_scorer("neg_hamming_loss")
    >>> scorer(classifier, [[0]], [[1, 1]])
    -0.5
    """

    def __init__(
        self, name: str, threshold: float | ArrayLike | None, options: dict[str, Any]
    ) -> None:
        if name not in _MEASURES:
            raise ValueError(
                f"name is {name!r}; the scorers of xdcc are {', '.join(scorer_names())}."
            )
        if threshold is not None and _MEASURES[name].of_ranking:
            raise ValueError(
                f"threshold is {threshold!r}, but {name} is a measure of rankings, which takes "
                "probabilities as they are; leave it None."
            )
        self.name = name
        self.threshold = threshold
        self.options = options
        self._request = MetadataRequest(owner=repr(self))
        # None: weights that nobody asked for are an error where metadata are routed.
        self._request.score.add_request(param="sample_weight", alias=None)

    def __call__(self, estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Score an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier.
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            What the estimator takes.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. The columns of a DataFrame are matched by name with those
            that the estimator learned (`label_names_`), if it keeps them.
        {sample_weight}

        Returns
        -------
        float
            Higher is better.

        Raises
        ------
        AttributeError
            If probabilities are needed and the estimator has neither `predict_proba` nor
            `decision_function`.
        ValueError
            If Y or what is predicted is not as the measure wants it, or they differ in shape or in
            the names of labels.
        """
        measure = _MEASURES[self.name]
        n_labels = _n_labels(Y)
        predicted: Any
        if measure.of_ranking or self.threshold is not None:
            predicted = label_scores(estimator, X, n_labels)
            if self.threshold is not None:
                predicted = predicted >= np.asarray(self.threshold, dtype=np.float64)
        else:
            predicted = estimator.predict(X)
            if n_labels == 1 and np.ndim(predicted) == 1:
                predicted = np.reshape(predicted, (-1, 1))
        if isinstance(Y, pd.DataFrame):
            predicted = _named(predicted, estimator)
        value = measure.function(Y, predicted, sample_weight=sample_weight, **self.options)
        return measure.sign * value

    def __repr__(self) -> str:
        """Write the call of `get_scorer` that makes it."""
        threshold = {} if self.threshold is None else {"threshold": self.threshold}
        arguments = [f"{key}={value!r}" for key, value in (threshold | self.options).items()]
        return f"get_scorer({', '.join([repr(self.name), *arguments])})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Say whether weights of the rows are wanted, where scikit-learn routes metadata.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: yes. False: no. A str: yes, and they are called so. None: they are an error.

        Returns
        -------
        MultiLabelScorer
            Itself.
        """
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what was requested, for scikit-learn."""
        return self._request


def _n_labels(Y: Any) -> int:
    shape = Y.shape if sparse.issparse(Y) else np.shape(Y)
    if len(shape) != 2:
        raise ValueError(f"Y has the shape {shape}; it has to be (n_samples, n_labels).")
    return shape[1]


def _named(predicted: Any, estimator: Any) -> Any:
    """Give predictions the names of the labels that an estimator learned, if it has them."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            break
    names = getattr(estimator, "label_names_", None)
    # These names stand for labels that had none.
    if names is None or list(names) == [f"label_{j}" for j in range(len(names))]:
        return predicted
    if sparse.issparse(predicted):
        return pd.DataFrame.sparse.from_spmatrix(predicted, columns=names)
    return pd.DataFrame(np.asarray(predicted), columns=names)
