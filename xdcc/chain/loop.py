"""The chain's loop: rounds of boosters, each seeing what the rounds before propagated.

:func:`train_chain` trains a booster per round and propagates its predictions on the training
rows; :func:`run_chain` walks through trained boosters with new rows. Both decide with
``propagate``, so that a label is propagated in the same way in training and in prediction.
Boosters are trained on bins (``QuantisedFeatures``) and predict from values
(``LabelFeatures``). Section 3.2 of the XDCC paper.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import _LIB, _check_call

from xdcc.chain.cumulation import accumulate
from xdcc.chain.label_features import LabelFeatures
from xdcc.chain.propagation import Candidates, propagate
from xdcc.chain.quantised import QuantisedFeatures
from xdcc.label_frequency import label_frequency
from xdcc.validation import Features, FitData

type RoundCallback = Callable[[int, int, float], object]

_SMALLEST_BASE_SCORE = 1e-6


@dataclass(frozen=True)
class ChainState:
    """Where a chain stands after a round. The next round changes `P` and `running` in place.

    Attributes
    ----------
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.
    running : float32 array of shape (n_samples, n_labels)
        Largest probability of each label up to the round that propagated it.
    label : int array of shape (n_samples,)
        Label that the round propagated, -1 where none.
    """

    P: NDArray[np.float32]
    running: NDArray[np.float32]
    label: NDArray[np.intp]


def train_chain(
    data: FitData,
    params: Mapping[str, Any],
    *,
    n_rounds: int,
    n_estimators: int,
    candidates: Candidates,
    separate_and_conquer: bool,
    callback: RoundCallback | None = None,
) -> list[xgb.Booster]:
    """Train the boosters of a chain.

    Parameters
    ----------
    data : FitData
        Checked training data.
    params : mapping
        Parameters for `xgboost.train`, objective included. Round r is trained with the seed
        plus r - 1.
    n_rounds : int
        Length of the chain.
    n_estimators : int
        Boosting iterations per round.
    candidates : {"open", "all"}
        See :func:`xdcc.chain.propagation.propagate`.
    separate_and_conquer : bool
        Whether a label counts no more in a row where it was propagated (section 3.3).
    callback : callable, optional
        Called after each round with its number from 1, the number of rounds, and the seconds
        that it took.

    Returns
    -------
    list of xgboost.Booster
        One for each round.
    """
    features = QuantisedFeatures(
        data, max_bin=params.get("max_bin"), n_threads=params.get("nthread")
    )
    P = np.full(data.Y.shape, np.nan, dtype=np.float32)
    boosters = []
    for round_ in range(1, n_rounds + 1):
        begin = time.perf_counter()
        round_params = {**params, "seed": params.get("seed", 0) + round_ - 1}
        if separate_and_conquer:
            round_params["label_feature_begin"] = data.X.shape[1]
            round_params.setdefault("base_score", open_base_score(data, P))
        matrix = features.joined(P)
        booster = xgb.Booster(round_params, [matrix])
        for iteration in range(n_estimators):
            # `Booster.update`, which compares the features' names every time: on small data that
            # takes a tenth of an iteration.
            _check_call(_LIB.XGBoosterUpdateOneIter(booster.handle, iteration, matrix.handle))
        # The booster still has its predictions on this matrix at hand. After `xgboost.train`,
        # which ends with a reset, it would have to walk through its trees.
        propagate(P, booster.predict(matrix, strict_shape=True), candidates)
        boosters.append(booster.reset())
        del matrix  # its memory serves the next one
        if callback is not None:
            callback(round_, n_rounds, time.perf_counter() - begin)
    return boosters


def run_chain(
    boosters: Sequence[xgb.Booster], X: Features, n_labels: int, candidates: Candidates
) -> Iterator[ChainState]:
    """Predict with a trained chain, round by round.

    Parameters
    ----------
    boosters : sequence of xgboost.Booster
        The rounds.
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        Checked features.
    n_labels : int
        Number of labels.
    candidates : {"open", "all"}
        As in training.

    Yields
    ------
    ChainState
        After each round.
    """
    features = LabelFeatures(X, n_labels, len(boosters))
    running = np.zeros(features.P.shape, dtype=np.float32)
    for booster in boosters:
        Y_proba = booster.inplace_predict(
            features.joined, validate_features=False, strict_shape=True
        )
        accumulate(running, Y_proba, np.isnan(features.P))
        label = features.propagate(Y_proba, candidates)
        yield ChainState(features.P, running, label)


def open_base_score(data: FitData, P: NDArray[np.float32]) -> list[float]:
    """Average each label over the entries that are known and not propagated: where to start.

    Parameters
    ----------
    data : FitData
        Labels and weights.
    P : float32 array of shape (n_samples, n_labels)
        Propagated probabilities, NaN where there is none.

    Returns
    -------
    list of float
        Probability for each label, between 1e-6 and 1 - 1e-6. 0.5 where no entry is left: such
        a label has no gradient.
    """
    mean = label_frequency(data.Y, data.sample_weight, where=np.isnan(P), empty=0.5)
    return np.clip(mean, _SMALLEST_BASE_SCORE, 1 - _SMALLEST_BASE_SCORE).tolist()
