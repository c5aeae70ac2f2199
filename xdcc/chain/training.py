"""Training a chain: a round of boosters after the other, each seeing what was propagated before.

What a round propagates in the training rows decides what the later rounds learn from. There are
two sources for it:

* in-sample (the XDCC paper): the booster that was trained on these rows predicts them. With
  enough trees it knows their labels by heart, and the later rounds learn to trust propagated
  labels more than new rows deserve.
* out-of-fold: the rows are dealt out to folds, once for all rounds, and a row is predicted by a
  booster that was trained without its fold. New rows are predicted by a booster trained on all
  rows or, as an ensemble, by the folds' boosters together.

Boosters are trained on bins (``QuantisedFeatures``), which all rounds and folds share: rows that
a booster may not see, and rows at their end, have the weight 0, and the updater passes over them.

Workers that train together (:mod:`xgboost.collective`) run this loop at once, each with its own
rows and their folds. All of them get the boosters of all rows: what a round needs to know of the
rows of others, it adds up with them.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost import collective
from xgboost.core import _LIB, _check_call

from xdcc.base.fit_data import FitData
from xdcc.base.labels import label_frequency
from xdcc.chain.early_stopping import Watch
from xdcc.chain.end_label import end_truth
from xdcc.chain.loop import ChainState
from xdcc.chain.propagation import PropagationRule
from xdcc.chain.quantised import QuantisedFeatures

type RoundCallback = Callable[[int, int, float], object]

_SMALLEST_BASE_SCORE = 1e-6


@dataclass(frozen=True)
class ChainPlan:
    """How a chain is trained.

    Attributes
    ----------
    n_rounds : int
        Length of the chain; it ends before if no row has a label left.
    n_estimators : int
        Boosting iterations of each booster.
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


def train_chain(
    data: FitData,
    params: Mapping[str, Any],
    plan: ChainPlan,
    *,
    watch: Watch | None = None,
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
    watch : Watch, optional
        Ends the training where it tells to, and cuts the chain to its best round.
    callback : callable, optional
        Called after each round with its number from 1, the largest number of rounds, and the
        seconds that it took.

    Returns
    -------
    list of lists of xgboost.Booster
        For each round its boosters: one, or one for each fold.
    """
    training = _Training(data, params, plan)
    rounds: list[list[xgb.Booster]] = []
    for round_ in range(1, plan.n_rounds + 1):
        begin = time.perf_counter()
        rounds.append(training.next_round(round_))
        if callback is not None:
            callback(round_, plan.n_rounds, time.perf_counter() - begin)
        if watch is not None and watch.says_stop(rounds[-1], training.state):
            return rounds[: watch.best_round]
        if plan.end_label and training.is_over():
            break
    return rounds if watch is None else rounds[: watch.best_round]


class _Training:
    """The training rows of a chain, and where they stand."""

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
        # Another worker may have rows of a fold of which this one has none.
        largest = -1 if plan.folds is None else int(plan.folds.max())
        self._n_folds = int(_all_workers(largest, collective.Op.MAX)) + 1

    def is_over(self) -> bool:
        """Tell whether no row, of any worker, has a label left to propagate."""
        return bool(_all_workers(self.state.is_over(), collective.Op.MIN))

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
            kept = [booster.reset()]
        else:
            kept = []
            Y_proba = np.empty(self._P.shape, dtype=np.float32)
            for fold in range(self._n_folds):
                out = plan.folds == fold
                booster, of_fold = self._train(matrix, truth, params, ~out)
                Y_proba[out] = of_fold[out]
                if plan.ensemble:
                    kept.append(booster.reset())
            if not plan.ensemble:
                booster, _ = self._train(matrix, truth, params, None)
                kept.append(booster.reset())
        self.state.advance(Y_proba, plan.rule)
        return kept

    def _train(
        self,
        matrix: xgb.DMatrix,
        truth: NDArray[np.float32],
        params: dict[str, Any],
        rows: NDArray[np.bool_] | None,
    ) -> tuple[xgb.Booster, NDArray[np.float32]]:
        """Train a booster on some rows; return it, not yet reset, and its predictions for all."""
        weight = self._data.sample_weight
        counts = ~self.state.ended if rows is None else rows & ~self.state.ended
        # With folds the matrix has the weights of the booster before, even if all rows count.
        if self._plan.folds is not None or not counts.all():
            weight = np.where(counts, 1 if weight is None else weight, 0).astype(np.float32)
            matrix.set_weight(weight)
        if self._plan.separate_and_conquer and "base_score" not in params:
            params = {**params, "base_score": open_base_score(truth, weight, self._P)}
        booster = xgb.Booster(params, [matrix])
        for iteration in range(self._plan.n_estimators):
            # `Booster.update`, which compares the features' names every time: on small data that
            # takes a tenth of an iteration.
            _check_call(_LIB.XGBoosterUpdateOneIter(booster.handle, iteration, matrix.handle))
        # The booster still has its predictions on this matrix at hand. After a reset, with which
        # `xgboost.train` ends, it would have to walk through its trees. Who keeps it has to reset
        # it, who does not saves that: it writes the model and reads it again.
        return booster, booster.predict(matrix, strict_shape=True)


def _all_workers(value: int, op: collective.Op) -> int:
    return collective.allreduce(np.array([value], dtype=np.int64), op).item()


def open_base_score(
    Y: NDArray[np.float32], weight: NDArray[np.float32] | None, P: NDArray[np.float32]
) -> list[float]:
    """Average each label over the entries that are known and not propagated: where to start.

    Parameters
    ----------
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    weight : float32 array of shape (n_samples,) or None
        Weights of the rows.
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.

    Returns
    -------
    list of float
        Probability for each label, between 1e-6 and 1 - 1e-6. 0.5 where no entry is left: such
        a label has no gradient.

    Examples
    --------
    >>> Y, P = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[0.9, np.nan]] + [[np.nan] * 2] * 2)
    >>> np.round(open_base_score(Y, None, P), 2)
    array([0.5 , 0.67])
    """
    mean = label_frequency(Y, weight, where=np.isnan(P), empty=0.5)
    return np.clip(mean, _SMALLEST_BASE_SCORE, 1 - _SMALLEST_BASE_SCORE).tolist()
