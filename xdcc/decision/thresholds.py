"""Thresholds: chosen by label density, or by a metric on validation data.

By density (PCut) they predict as many labels as the training data has. That needs no true labels:
the probabilities may be those of the data to be predicted, as in the LaCovaC paper, where one
threshold for all labels makes the label density predicted for the test data equal to that of the
training data. `pcut` and `per_label_pcut` choose so.

By a metric, `best_threshold` looks at every threshold that makes a difference: sorting the entries
by probability, a metric known by name is a cumulative sum of what each entry changes in its group.
`best_thresholds_per_label` goes through the labels and puts each label's threshold where the
metric is highest with the others as they are, until nothing improves; for macro F1 and Hamming
accuracy, where labels do not affect each other, that is the exact maximum.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.documentation import documented
from xdcc.base.domains import Number, check_domain
from xdcc.base.fit_data import FitData
from xdcc.base.weights import check_weight
from xdcc.decision.cuts import Cuts, Floats, check_proba
from xdcc.decision.label_metrics import metric_named, validation_data
from xdcc.metrics.counted import Counted

_PASSES_OF_CALLABLE = 3
_CUTS_OF_CALLABLE = 20

_SAME_DENSITY = 1e-12
"""Differences of densities below it are rounding."""


@documented
def pcut(Y_proba: ArrayLike, density: float, *, sample_weight: ArrayLike | None = None) -> float:
    """Choose the threshold for all labels that predicts a given label density.

    Parameters
    ----------
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities, for example of the test data.
    density : float
        Wanted share of ones among all entries, that of the training labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the share.

    Returns
    -------
    float
        Threshold with the density nearest to the wanted one, the higher one (fewer labels) if
        two are equally near. It is midway between neighbouring probabilities, so equal
        probabilities are predicted together.

    {raises_for_arguments}

    Examples
    --------
    >>> from xdcc.decision import apply_thresholds
    >>> Y_proba = [[0.9, 0.4], [0.7, 0.1], [0.6, 0.3]]
    >>> threshold = pcut(Y_proba, density=1 / 3)
    >>> round(threshold, 2), apply_thresholds(Y_proba, threshold).mean()
    (0.65, np.float64(0.3333333333333333))
    """
    proba = check_proba(Y_proba)
    return _cut_at(proba.ravel(), float(_shares(density, ())), _entry_weights(proba, sample_weight))


@documented
def per_label_pcut(
    Y_proba: ArrayLike, frequencies: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Choose a threshold for each label that predicts it with a given frequency.

    Parameters
    ----------
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities, for example of the test data.
    frequencies : array-like of shape (n_labels,)
        Wanted share of ones for each label, that of the training labels.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows in the share.

    Returns
    -------
    float64 array of shape (n_labels,)
        For each label what `pcut` chooses for it alone.

    {raises_for_arguments}

    Examples
    --------
    >>> per_label_pcut([[0.9, 0.4], [0.7, 0.1], [0.5, 0.2]], [1 / 3, 2 / 3])
    array([0.8 , 0.15])
    """
    proba = check_proba(Y_proba)
    wanted = _shares(frequencies, (proba.shape[1],))
    weight = _entry_weights(proba[:, :1], sample_weight)
    return np.array([_cut_at(*label, weight) for label in zip(proba.T, wanted, strict=True)])


def _cut_at(proba: Floats, share: float, weight: Floats) -> float:
    cuts = Cuts.of(proba)
    distance = np.abs(cuts.sums(weight) / weight.sum() - share)
    nearest = distance <= distance.min() + _SAME_DENSITY
    return float(cuts.thresholds[np.argmax(nearest)])


def _entry_weights(proba: Floats, sample_weight: ArrayLike | None) -> Floats:
    """Weights of the entries, row by row, of shape (n_samples * n_labels,)."""
    weight = check_weight(sample_weight, len(proba))
    if weight is None:
        return np.ones(proba.size)
    return np.repeat(weight.astype(np.float64), proba.shape[1])


def _shares(values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    shares = np.asarray(values)
    if shares.shape != shape or shares.dtype.kind not in "iuf":
        wanted = "one number" if shape == () else f"{shape[0]} numbers, one for each label"
        raise ValueError(
            f"A density or frequency must be {wanted}; got {shares.dtype} of shape {shares.shape}."
        )
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"A density or frequency is a share between 0 and 1; got {values!r}.")
    return shares.astype(np.float64)


_TOLERANCE = 1e-10
"""Differences of a metric below it are rounding."""


@documented
def best_threshold(
    Y_true: Any,
    Y_proba: ArrayLike,
    measure: str | Counted | Callable[..., float] = "example_f1",
    *,
    sample_weight: ArrayLike | None = None,
    max_candidates: int = 200,
) -> float:
    """Choose the threshold for all labels with which a metric is highest.

    Parameters
    ----------
    Y_true : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
        0, 1, or NaN where the label is unknown; such an entry does not count.
    Y_proba : array-like of shape (n_samples, n_labels)
        Probabilities of rows that the model was not trained on.
    measure : str, LabelCosts or callable, default="example_f1"
        One of "example_f1", "micro_f1", "macro_f1", "subset_accuracy", "hamming_accuracy" and
        "jaccard", or "example_f2" for F-beta with beta = 2 and so on, with the conventions of
        :mod:`xdcc.metrics`; "precision_at_recall_0.9" and so on, of all entries together;
        :class:`~xdcc.decision.LabelCosts`; or
        ``measure(Y_true, Y_pred)`` that returns a number, more being better, and takes
        `sample_weight` if weights are given.
    {sample_weight}
    max_candidates : int, default=200
        For a callable, how many thresholds are tried at most: the candidates' ranks are then
        evenly spaced, the first and the last included. A metric known by name is computed for
        all of them.

    Returns
    -------
    float
        Candidates are the midpoints between neighbouring distinct probabilities, one above and
        one below all of them. Of several with the highest metric the one nearest to 0.5 is
        taken, and of two equally near the higher.

    {raises_for_arguments}

    Examples
    --------
    >>> Y_true, Y_proba = [[1, 0], [1, 1]], [[0.4, 0.2], [0.8, 0.3]]
    >>> threshold = best_threshold(Y_true, Y_proba, "micro_f1")
    >>> round(threshold, 2)
    0.25
    """
    data = validation_data(Y_true, Y_proba, sample_weight)
    return threshold_for(data, measure, max_candidates)


def threshold_for(
    data: FitData, measure: str | Counted | Callable[..., float], max_candidates: int = 200
) -> float:
    """Choose as :func:`best_threshold` does, on checked rows that count; X are probabilities."""
    if not callable(measure):
        return _best_for_all(data, metric_named(measure))
    check_domain("max_candidates", max_candidates, Number(low=2, whole=True))
    thresholds = _some(Cuts.of(data.X[data.known]).thresholds, max_candidates)
    weights = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
    scores = [measure(data.Y, (cut <= data.X).astype(np.int64), **weights) for cut in thresholds]
    return _choose(thresholds, np.array(scores, dtype=np.float64), near=0.5)


@documented
def best_thresholds_per_label(
    Y_true: Any,
    Y_proba: ArrayLike,
    measure: str | Counted | Callable[..., float] = "example_f1",
    *,
    sample_weight: ArrayLike | None = None,
    min_positive: int = 10,
) -> NDArray[np.float64]:
    """Choose a threshold for each label so that a metric is high.

    All labels start with :func:`best_threshold`. Then each label in turn gets the threshold with
    the highest metric while the others keep theirs, until no label can improve the metric. The
    result is the exact maximum for "macro_f1" and "hamming_accuracy". For other metrics it is a
    maximum in each single threshold, and never below the metric of the common threshold.

    With few positive rows, the best threshold depends on these rows more than on the label. A label
    with fewer than `min_positive` positive rows therefore keeps the common threshold, and so does
    a label that no other threshold improves.

    Parameters
    ----------
    Y_true, Y_proba
        As in :func:`best_threshold`.
    measure : str, LabelCosts or callable, default="example_f1"
        As in :func:`best_threshold`. A callable is called for 20 thresholds of each label, whose
        ranks are evenly spaced, in at most three passes over the labels.
    {sample_weight}
    min_positive : int, default=10
        How many rows of positive weight must have a label for a threshold of its own. 0 lets
        every label have one.

    Returns
    -------
    float64 array of shape (n_labels,)
        Candidates for a label are the midpoints between its neighbouring distinct
        probabilities, one above and one below all of them. If several have the highest metric,
        the one nearest to the threshold for all labels is taken, and the higher one if two are
        equally near.

    {raises_for_arguments}

    Examples
    --------
    >>> Y_true, Y_proba = [[1, 0], [1, 1]], [[0.4, 0.7], [0.8, 0.9]]
    >>> best_thresholds_per_label(Y_true, Y_proba, "macro_f1", min_positive=0).round(2)
    array([0.2 , 0.75])
    """
    if not callable(measure):
        measure = metric_named(measure)
    check_domain("min_positive", min_positive, Number(low=0, whole=True))
    return thresholds_for(validation_data(Y_true, Y_proba, sample_weight), measure, min_positive)


def thresholds_for(
    data: FitData,
    measure: str | Counted | Callable[..., float],
    min_positive: int = 10,
    common: float | None = None,
) -> NDArray[np.float64]:
    """Choose as :func:`best_thresholds_per_label` does, on checked rows that count.

    X are probabilities. `common` is the best threshold for all labels, if it is known.
    """
    enough = (data.truth.sum(axis=0) >= min_positive) & data.known.any(axis=0)
    labels = np.flatnonzero(enough)
    if common is None:
        common = threshold_for(data, measure)
    if callable(measure):
        return _ascend_by_calls(data, measure, common, labels)
    return _ascend(data, metric_named(measure), common, labels)


def _some(thresholds: Floats, most: int) -> Floats:
    """Return at most this many thresholds, with evenly spaced ranks."""
    if len(thresholds) <= most:
        return thresholds
    return thresholds[np.linspace(0, len(thresholds) - 1, most).round().astype(np.intp)]


def _choose(thresholds: Floats, scores: Floats, near: float) -> float:
    best = thresholds[scores >= scores.max() - _TOLERANCE]
    return float(best[np.argmin(np.abs(best - near))])


def _best_for_all(data: FitData, measure: Counted) -> float:
    """Find the threshold for all labels.

    Entries become predicted in the order of their probabilities. What an entry changes follows
    from the counts in its group before and after it, and these from the order in the group.
    """
    sizes = measure.entry_sizes(data)
    matrices: list[Floats] = [data.X, sizes, sizes * data.truth]
    if measure.axis == 0:
        matrices = [matrix.T for matrix in matrices]
    elif measure.axis is None:
        matrices = [matrix.reshape(1, -1) for matrix in matrices]
    order = np.argsort(-matrices[0], axis=1, kind="stable")
    proba, size, size_true = (np.take_along_axis(matrix, order, axis=1) for matrix in matrices)

    nothing = np.zeros((len(proba), 1))
    predicted = np.hstack((nothing, np.cumsum(size, axis=1)))
    both = np.hstack((nothing, np.cumsum(size_true, axis=1)))
    values = measure.value(both[:, -1:], predicted, both)
    values *= measure.group_shares(data).reshape(-1, 1)
    known = size > 0
    cuts = Cuts.of(proba[known])
    scores = values[:, 0].sum() + cuts.sums(np.diff(values, axis=1)[known])
    return _choose(cuts.thresholds, scores, near=0.5)


def _ascend(data: FitData, measure: Counted, common: float, labels: NDArray[np.intp]) -> Floats:
    """Improve the thresholds of `labels`, one at a time, until none can be improved."""
    thresholds = np.full(data.Y.shape[1], common)
    columns = {label: _Column(data, label) for label in labels}
    state = _State(data, measure, common)
    improved = True
    while improved:
        improved = False
        for label, column in columns.items():
            scores = state.scores(label, column)
            now = scores[np.searchsorted(column.cuts.sizes, state.n_predicted(label))]
            if scores.max() > now + _TOLERANCE:
                thresholds[label] = _choose(column.cuts.thresholds, scores, near=common)
                at_least = data.X[:, label] >= thresholds[label]
                state.predict(label, at_least & ~np.isnan(data.Y[:, label]))
                improved = True
    return thresholds


def _ascend_by_calls(
    data: FitData, measure: Callable[..., float], common: float, labels: NDArray[np.intp]
) -> Floats:
    """Do as `_ascend` for a callable metric, which sees some thresholds of each label."""
    weights = {} if data.sample_weight is None else {"sample_weight": data.sample_weight}
    thresholds = np.full(data.Y.shape[1], common)
    predicted = (thresholds <= data.X).astype(np.int64)
    best = measure(data.Y, predicted, **weights)
    for _ in range(_PASSES_OF_CALLABLE):
        before = best
        for label in labels:
            proba = data.X[:, label]
            cuts = _some(Cuts.of(proba[data.known[:, label]]).thresholds, _CUTS_OF_CALLABLE)
            scores = []
            for cut in cuts:
                predicted[:, label] = proba >= cut
                scores.append(measure(data.Y, predicted.copy(), **weights))
            if max(scores) > best + _TOLERANCE:
                best = max(scores)
                thresholds[label] = _choose(cuts, np.array(scores, dtype=float), near=common)
            predicted[:, label] = proba >= thresholds[label]
        if best == before:
            break
    return thresholds


class _Column:
    """The rows in which a label is known, and the cuts of its probabilities there."""

    def __init__(self, data: FitData, label: int) -> None:
        self.rows = np.flatnonzero(~np.isnan(data.Y[:, label]))
        self.cuts = Cuts.of(data.X[self.rows, label])


class _State:
    """The current predictions, and the counts of every group that follow from them."""

    def __init__(self, data: FitData, measure: Counted, threshold: float) -> None:
        self._metric = measure
        self._size = measure.entry_sizes(data)
        self._size_true = self._size * data.truth
        self._share = measure.group_shares(data)
        self._labels = (threshold <= data.X) & data.known
        self._true = self._size_true.sum(axis=measure.axis, keepdims=True)
        self._predicted = (self._size * self._labels).sum(axis=measure.axis, keepdims=True)
        self._both = (self._size_true * self._labels).sum(axis=measure.axis, keepdims=True)

    def n_predicted(self, label: int) -> int:
        """Count the rows for which a label is predicted."""
        return int(self._labels[:, label].sum())

    def scores(self, label: int, column: _Column) -> Floats:
        """Compute the metric, up to a constant, for every cut of a label."""
        rows, cuts, groups = column.rows, column.cuts, self._groups(label)
        size, size_true = self._size[rows, label], self._size_true[rows, label]
        true, share = self._true[groups], self._share[groups]
        predicted, both = self._predicted[groups], self._both[groups]
        now = self._labels[rows, label]
        if self._metric.axis == 1:
            # Every row is a group of its own.
            true, share = true[rows], share[rows]
            predicted, both = predicted[rows] - size * now, both[rows] - size_true * now
            without = self._metric.value(true, predicted, both)
            gain = self._metric.value(true, predicted + size, both + size_true) - without
            return share @ without + cuts.sums(share * gain)
        predicted = predicted - size @ now + cuts.sums(size)
        both = both - size_true @ now + cuts.sums(size_true)
        return share * self._metric.value(true, predicted, both)

    def predict(self, label: int, present: NDArray[np.bool_]) -> None:
        """Change the predictions of a label, shape (n_samples,), False where unknown."""
        groups = self._groups(label)
        change = present.astype(np.float64) - self._labels[:, label]
        if self._metric.axis == 1:
            self._predicted[groups] += self._size[:, label] * change
            self._both[groups] += self._size_true[:, label] * change
        else:
            self._predicted[groups] += self._size[:, label] @ change
            self._both[groups] += self._size_true[:, label] @ change
        self._labels[:, label] = present

    def _groups(self, label: int) -> tuple[slice | int, int]:
        """Index of the counts of a label's group: of all rows, of the label, or of all entries."""
        if self._metric.axis == 1:
            return slice(None), 0
        return 0, label if self._metric.axis == 0 else 0
