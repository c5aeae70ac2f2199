"""Training a chain: one round of boosters after the other, each with the labels propagated before.

Later rounds learn from the labels that a round propagates in the training rows. There are two
sources for them:

* in-sample (the XDCC paper): the booster that was trained on these rows predicts them. With
  enough trees it memorises their labels, and the later rounds learn to trust propagated labels
  more than is right for new rows.
* out-of-fold: the rows are dealt out to folds, once for all rounds, and a row is predicted by a
  booster that was trained without its fold. New rows are predicted by a booster trained on all
  rows or, as an ensemble, by the folds' boosters together.

Boosters are trained on bins (:class:`QuantisedFeatures`), which all rounds and folds share: rows
that a booster may not see, and rows at their end, have the weight 0, and the updater skips them.
:class:`EarlyStopping` evaluates the chain after each round (:func:`stop_score`) and decides when to
stop.

Workers that train together (:mod:`xgboost.collective`) run this loop at once, each with its own
rows and their folds. All of them get the boosters of all rows: what a round needs to know of the
rows of others, it adds up with them.
"""

import ctypes
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import _LIB, _check_call

from xdcc.base.fit_data import FitData
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import label_frequency
from xdcc.base.rounds import boost, quantised, with_own_weights
from xdcc.base.side_by_side import run_all
from xdcc.base.weights import by_entry, row_weights
from xdcc.base.workers import agreed, count_folds, sum_of_all
from xdcc.chain.loop import ChainRun, ChainState
from xdcc.chain.propagation import end_truth
from xdcc.decision.label_metrics import COUNTED
from xdcc.prediction.propagation_rule import PropagationRule

type RoundCallback = Callable[[int, int, float], object]
type Metric = Callable[[NDArray[np.floating], NDArray[np.int64]], float]
type Predict = Callable[[ChainState], NDArray[np.int64]]

_SMALLEST_BASE_SCORE = 1e-6


@dataclass(frozen=True)
class ChainPlan:
    """How a chain is trained.

    Attributes
    ----------
    n_rounds : int
        Length of the chain; it ends before if no row has a label left.
    n_estimators : int
        Boosting rounds of each booster.
    rule : PropagationRule
        Which labels a round propagates.
    separate_and_conquer : bool
        Whether a label counts no more in a row where it was propagated (section 3.3).
    end_label : bool
        Whether the boosters learn where a row's chain ends.
    folds : int array of shape (n_samples,) or None
        Fold of each row, from 0; None to propagate in-sample predictions.
    ensemble : bool
        Whether a round keeps the boosters of all folds, not one that was trained on all rows.
    """

    n_rounds: int
    n_estimators: int
    rule: PropagationRule = field(default_factory=PropagationRule)
    separate_and_conquer: bool = True
    end_label: bool = False
    folds: NDArray[np.intp] | None = None
    ensemble: bool = False


@dataclass
class EarlyStopping:
    """Stops training when a metric has not improved for some rounds.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        The truth: 0, 1, or NaN for unknown.
    run : ChainRun or None
        Rows beside the training rows, at the beginning of the chain. None evaluates on the
        training rows themselves; their state must come from models that have not seen them.
    predict : callable
        Function from a state to the labels that the chain predicts.
    measure : callable
        Score of (truth, labels), the higher the better.
    patience : int
        Number of rounds without a better score after which to stop.
    tolerance : float
        How much higher a score has to be to count as better.

    Attributes
    ----------
    scores : list of float
        The metric after each round.
    best_round : int
        Number of the last round that was better than those before, from 1.
    """

    Y: NDArray[np.floating]
    run: ChainRun | None
    _: KW_ONLY
    predict: Predict
    measure: Metric
    patience: int
    tolerance: float
    scores: list[float] = field(default_factory=list, init=False)
    best_round: int = field(default=0, init=False)

    def should_stop(self, boosters: Sequence[xgb.Booster], training_state: ChainState) -> bool:
        """Measure the chain after a round, by its boosters or the state of the training rows.

        Returns whether none of the last `patience` rounds was better than one before them.
        """
        state = training_state if self.run is None else self.run.advance(boosters)
        score = self.measure(self.Y, self.predict(state))
        if not self.scores or score > self.scores[self.best_round - 1] + self.tolerance:
            self.best_round = len(self.scores) + 1
        self.scores.append(score)
        return len(self.scores) - self.best_round >= self.patience


def stop_score(name: str, Y: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """Measure labels where the truth is known.

    Workers that train together (:mod:`xgboost.collective`) all get the metric of the rows of all
    of them, which are counted and added up; each has to call this function, with no row if it has
    none.

    Parameters
    ----------
    name : str
        One of :data:`xdcc.decision.label_metrics.COUNTED`. It is what the function of that name in
        :mod:`xdcc.metrics` returns.
    Y : float array of shape (n_samples, n_labels)
        The truth: 0, 1, or NaN for unknown.
    labels : int array of shape (n_samples, n_labels)
        Predicted labels, 0 or 1.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If no label of any row is known.

    Examples
    --------
    >>> Y, labels = np.array([[1, 1, 0], [np.nan, 0, 1]]), np.array([[1, 0, 0], [1, 0, 1]])
    >>> round(stop_score("example_f1", Y, labels), 3), stop_score("subset_accuracy", Y, labels)
    (0.833, 0.5)
    """
    measure = COUNTED[name]
    of_rows, of_labels = np.zeros(2), np.zeros((4, Y.shape[1]))
    for rows in row_blocks(Y.shape):
        known, true = ~np.isnan(Y[rows]), Y[rows] == 1
        predicted = known & (labels[rows] == 1)
        masks = (known, true, predicted, true & predicted)
        if measure.axis == 1:
            some_known, *counts = (mask.sum(axis=1, dtype=np.float64) for mask in masks)
            value = measure.value(*counts)[some_known > 0]
            of_rows += value.sum(), len(value)
        else:
            of_labels += [mask.sum(axis=0) for mask in masks]

    sums = sum_of_all(of_rows if measure.axis == 1 else of_labels)
    n_known = sums[1] if measure.axis == 1 else sums[0]
    if not n_known.any():
        raise ValueError("There is nothing to measure early stopping on: every label is unknown.")
    if measure.axis == 1:
        return float(sums[0] / n_known)
    if measure.axis == 0:
        return float(measure.value(*sums[1:, n_known > 0]).mean())
    # All entries are one group; each counts its share.
    return float(measure.value(*sums[1:].sum(axis=1) / n_known.sum()))


def train_chain(
    data: FitData,
    params: Mapping[str, Any],
    plan: ChainPlan,
    *,
    watch: EarlyStopping | None = None,
    callback: RoundCallback | None = None,
) -> list[list[xgb.Booster]]:
    """Train the boosters of a chain.

    Parameters
    ----------
    data : FitData
        Checked training data.
    params : mapping
        Parameters for `xgboost.train`, objective included. Round r is trained with the seed
        plus r - 1.
    plan : ChainPlan
        How to train.
    watch : EarlyStopping, optional
        Ends the training, and cuts the chain to its best round.
    callback : callable, optional
        Called after each round with its number from 1, the largest number of rounds, and the
        seconds that it took.

    Returns
    -------
    list of lists of xgboost.Booster
        The boosters of each round: one, or one for each fold.
    """
    training = _Training(data, params, plan)
    rounds: list[list[xgb.Booster]] = []
    for round_ in range(1, plan.n_rounds + 1):
        begin = time.perf_counter()
        rounds.append(training.next_round(round_))
        if callback is not None:
            callback(round_, plan.n_rounds, time.perf_counter() - begin)
        if watch is not None and watch.should_stop(rounds[-1], training.state):
            return rounds[: watch.best_round]
        if plan.end_label and training.is_over():
            break
    return rounds if watch is None else rounds[: watch.best_round]


class _Training:
    """The training rows of a chain, and their state."""

    def __init__(self, data: FitData, params: Mapping[str, Any], plan: ChainPlan) -> None:
        self._data = data
        self._params = params
        self._plan = plan
        self._features = QuantisedFeatures(
            data, max_bin=params.get("max_bin"), n_threads=params.get("nthread")
        )
        n_labels = data.Y.shape[1]
        shape = (len(data.Y), n_labels + plan.end_label)
        self._P = np.full(shape, np.nan, dtype=np.float32)
        self.state = ChainState(self._P[:, :n_labels])
        self._n_folds = 0 if plan.folds is None else count_folds(plan.folds)

    def is_over(self) -> bool:
        """Return whether no row, of any worker, has a label left to propagate."""
        return agreed(self.state.is_over())

    def next_round(self, round_: int) -> list[xgb.Booster]:
        """Train the boosters of a round and propagate; return those that predict."""
        plan = self._plan
        matrix = self._features.joined(self._P)
        truth = self._data.Y
        if plan.end_label:
            truth = np.column_stack((truth, end_truth(truth, self.state.P)))
            matrix.set_label(truth)
        params = {**self._params, "seed": self._params.get("seed", 0) + round_ - 1}
        if plan.separate_and_conquer:
            params["label_feature_begin"] = self._data.X.shape[1]

        if plan.folds is None:
            booster, Y_proba = self._train(matrix, truth, params, None)
            kept = [booster]
        else:
            kept, Y_proba = self._train_folds(matrix, truth, params, plan.folds)
        self.state.advance(Y_proba, plan.rule)
        return kept

    def _train_folds(
        self,
        matrix: xgb.DMatrix,
        truth: NDArray[np.float32],
        params: dict[str, Any],
        folds: NDArray[np.intp],
    ) -> tuple[list[xgb.Booster], NDArray[np.float32]]:
        """Train a booster without each fold; return those that are kept, and all predictions."""
        Y_proba = np.empty(self._P.shape, dtype=np.float32)
        # A further booster is trained on all rows if those of the folds are not kept.
        n_boosters = self._n_folds + (not self._plan.ensemble)
        matrices = with_own_weights(matrix, params.get("max_bin"), n_boosters)

        def train(number: int) -> xgb.Booster | None:
            if number == self._n_folds:
                return self._train(matrices[number], truth, params, None)[0]
            out = folds == number
            booster, of_fold = self._train(matrices[number], truth, params, ~out)
            Y_proba[out] = of_fold[out]
            return booster if self._plan.ensemble else None

        trained = run_all([partial(train, number) for number in range(n_boosters)])
        return [booster for booster in trained if booster is not None], Y_proba

    def _train(
        self,
        matrix: xgb.DMatrix,
        truth: NDArray[np.float32],
        params: dict[str, Any],
        rows: NDArray[np.bool_] | None,
    ) -> tuple[xgb.Booster, NDArray[np.float32]]:
        """Train a booster on some rows; return it and its predictions for all."""
        weight = self._data.sample_weight
        has_end = self._plan.end_label and self._data.has_entry_weights
        if has_end and weight is not None:
            weight = np.column_stack((weight, row_weights(weight)))
        counts = ~self.state.ended if rows is None else rows & ~self.state.ended
        # With folds the matrix has the weights of the booster before, even if all rows count.
        if self._plan.folds is not None or has_end or not counts.all():
            every = np.ones(len(counts), np.float32) if weight is None else weight
            weight = by_entry(every) * counts[:, np.newaxis]
            matrix.set_weight(weight)
        if self._plan.separate_and_conquer and "base_score" not in params:
            params = {**params, "base_score": open_base_score(truth, weight, self._P)}
        booster = xgb.Booster(params, [matrix])
        boost(booster, matrix, range(self._plan.n_estimators))
        # The booster has its predictions on this matrix at hand until it is reset, with which
        # `xgboost.train` ends.
        predicted = booster.predict(matrix, strict_shape=True)
        is_kept = rows is None or self._plan.ensemble  # a reset writes and reads the model
        return booster.reset() if is_kept else booster, predicted


def open_base_score(
    Y: NDArray[np.float32], weight: NDArray[np.floating] | None, P: NDArray[np.float32]
) -> list[float]:
    """Average each label over the entries that are known and not propagated: where to start.

    `P` are propagated probabilities, NaN where there is none. The averages are from 1e-6 to 1 -
    1e-6, and 0.5 where no entry is left: such a label has no gradient.

    Examples
    --------
    >>> Y, P = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[0.9, np.nan]] + [[np.nan] * 2] * 2)
    >>> np.round(open_base_score(Y, None, P), 2)
    array([0.5 , 0.67])
    """
    mean = label_frequency(Y, weight, where=np.isnan(P), empty=0.5)
    return np.clip(mean, _SMALLEST_BASE_SCORE, 1 - _SMALLEST_BASE_SCORE).tolist()


class QuantisedFeatures:
    """The features of the training data as bins, with labels and weights.

    Parameters
    ----------
    data : FitData
        Checked training data.
    max_bin : int or None
        Largest number of bins per feature, as the boosters have it. None is their default.
    n_threads : int or None
        Number of threads, all if None.
    """

    def __init__(self, data: FitData, *, max_bin: int | None, n_threads: int | None) -> None:
        self._features = quantised(data.matrix(n_threads), max_bin)

    def joined(self, P: NDArray[np.float32]) -> xgb.DMatrix:
        """Make the matrix of a round: bins of X and the label features P, `(n_samples, n_labels)`.

        It can train and predict; it does not give values of features back. It takes over the memory
        of the matrix before, if that was deleted. In distributed training all workers have to call
        this together.
        """
        handle = ctypes.c_void_p()
        interface = json.dumps(P.__array_interface__).encode()
        _check_call(_LIB.XDCCJoinFeatures(self._features.handle, interface, ctypes.byref(handle)))
        return xgb.DMatrix(handle)
