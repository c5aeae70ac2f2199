"""Scorers: the metrics of :mod:`xdcc.metrics` for scikit-learn's parameter ``scoring``.

A scorer has the name of its metric; `label_ranking_average_precision` is that of
`label_ranking_average_precision_score`, and `precision_at_3` is `precision_at_k` with k = 3. As
higher scores must be better, metrics whose lower values are better are negated and have the prefix
``neg_``, as `neg_hamming_loss`. :func:`scorer_names` lists the names, :func:`get_scorer` returns a
scorer.

Label metrics use the output of `predict` or, with a `threshold`, the labels whose probability is at
least as high. Ranking metrics, average precision and ROC AUC use probabilities in any of
scikit-learn's formats, or a `decision_function` (``labels.py``); log-loss and Brier score need
probabilities. Unknown labels (NaN in Y) are ignored. scikit-learn cannot stratify such a Y, so pass
a splitter to cross-validation instead of a number: ``cv=KFold(5)``.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.metadata_routing import MetadataRequest

from xdcc.base.documentation import documented
from xdcc.base.frames import as_pandas
from xdcc.base.labels import label_scores
from xdcc.metrics.record import METRICS, scored, takes_k


def scorer_names() -> list[str]:
    """List the names that :func:`get_scorer` takes.

    Returns
    -------
    list of str
        Metrics for which higher is better, then negated ones. :func:`get_scorer` also
        takes "precision_at_k" and "ndcg_at_k" for any number k, such as "ndcg_at_5".

    Examples
    --------
    >>> scorer_names()[:3]
    ['hamming_accuracy', 'subset_accuracy', 'example_f1']
    """
    metrics = [metric for metric in METRICS.values() if not takes_k(metric)]
    kinds = ("labels", "scores", "probabilities")
    metrics.sort(key=lambda metric: (not metric.higher_is_better, kinds.index(metric.takes)))
    return [metric.scorer for metric in metrics]


def get_scorer(
    name: str, *, threshold: float | ArrayLike | None = None, **options: Any
) -> "MultiLabelScorer":
    """Return the scorer of a metric.

    Parameters
    ----------
    name : str
        One of :func:`scorer_names`, or "precision_at_3" or "ndcg_at_5", with any number.
    threshold : float or array-like of shape (n_labels,), optional
        For label metrics: instead of the output of `predict`, use the labels whose probability (or
        decision function, for estimators without probabilities) is at least as high.
    **options
        Additional parameters of the metric: `zero_division`.

    Returns
    -------
    MultiLabelScorer
        A callable ``scorer(estimator, X, Y)``. Pass it as `scoring` to ``GridSearchCV`` or
        ``cross_val_score``, alone or in a dict.

    Raises
    ------
    ValueError
        For an unknown name, or a threshold with a metric of scores or probabilities.

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
    """A metric of :mod:`xdcc.metrics` that is called as ``scorer(estimator, X, Y)``.

    Create scorers with :func:`get_scorer`, which describes the errors.

    Parameters
    ----------
    name : str
        As in :func:`get_scorer`.
    threshold : float, array-like of shape (n_labels,) or None
        See :func:`get_scorer`.
    options : dict
        Additional parameters of the metric.

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
        metric = scored(name)
        if metric is None:
            raise ValueError(
                f"name is {name!r}; it must be one of {', '.join(scorer_names())}, "
                "precision_at_3 and so on, or ndcg_at_5 and so on."
            )
        if threshold is not None and metric.takes != "labels":
            raise ValueError(
                f"threshold is {threshold!r}, but {name} is a metric of scores, which has no "
                "threshold; set it to None."
            )
        self.name = name
        self.threshold = threshold
        self.options = options
        self._request = MetadataRequest(owner=repr(self))
        # None: with metadata routing, weights that were not requested are an error.
        self._request.score.add_request(param="sample_weight", alias=None)

    def __call__(self, estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Score an estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier.
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Input of the estimator.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for unknown. The columns of a DataFrame are matched by name with the
            attribute `label_names_` of the estimator, if it has one.
        {sample_weight}

        Returns
        -------
        float
            Higher is better.

        Raises
        ------
        AttributeError
            If the scorer needs probabilities and the estimator has neither `predict_proba` nor
            `decision_function`.
        ValueError
            If Y or the predictions are not valid input of the metric, or if their shapes or label
            names differ.
        """
        metric = scored(self.name)
        assert metric is not None
        Y = as_pandas(Y, "Y")
        n_labels = _n_labels(Y)
        predicted: Any
        if metric.takes != "labels" or self.threshold is not None:
            predicted = label_scores(estimator, X, n_labels)
            if self.threshold is not None:
                predicted = predicted >= np.asarray(self.threshold, dtype=np.float64)
        else:
            predicted = estimator.predict(X)
            if n_labels == 1 and np.ndim(predicted) == 1:
                predicted = np.reshape(predicted, (-1, 1))
        if isinstance(Y, pd.DataFrame):
            predicted = _named(predicted, estimator)
        value = metric.function(Y, predicted, sample_weight=sample_weight, **self.options)
        return metric.sign * value

    def __repr__(self) -> str:
        """Show the call of `get_scorer` that creates this scorer."""
        threshold = {} if self.threshold is None else {"threshold": self.threshold}
        arguments = [f"{key}={value!r}" for key, value in (threshold | self.options).items()]
        return f"get_scorer({', '.join([repr(self.name), *arguments])})"

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Set whether scikit-learn's metadata routing passes `sample_weight` to the scorer.

        Parameters
        ----------
        sample_weight : bool, str or None
            Whether to pass weights; a str is their alias. With None, weights are an error.

        Returns
        -------
        MultiLabelScorer
            The scorer.
        """
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the metadata request for scikit-learn."""
        return self._request


def _n_labels(Y: Any) -> int:
    shape = Y.shape if sparse.issparse(Y) else np.shape(Y)
    if len(shape) != 2:
        raise ValueError(f"Y has the shape {shape}; it must be (n_samples, n_labels).")
    return shape[1]


def _named(predicted: Any, estimator: Any) -> Any:
    """Name the columns of predictions by the labels of an estimator, if it has label names."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif hasattr(estimator, "steps"):
            estimator = estimator.steps[-1][1]
        else:
            break
    names = getattr(estimator, "label_names_", None)
    # These are placeholders for labels without names.
    if names is None or list(names) == [f"label_{j}" for j in range(len(names))]:
        return predicted
    if sparse.issparse(predicted):
        return pd.DataFrame.sparse.from_spmatrix(predicted, columns=names)
    return pd.DataFrame(np.asarray(predicted), columns=names)
