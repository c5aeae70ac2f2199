"""Training the one booster of an order-free chain, on rows with some of their labels revealed.

A chain asks for P(y_j | x, y_S): a label, given those that were decided before it. Here a single
multi-label booster learns it for every set S at once. Each row is repeated with another random set
of its labels *revealed*, as features; these are unknown as labels, so that they have no gradient
(separate-and-conquer), and the others are to be predicted. (Compare the order-agnostic training of
NADE: Uria, Murray, Larochelle, "A Deep and Tractable Density Estimator", ICML 2014, and the label
masks of C-Tran: Lanchantin et al., CVPR 2021.)

The other features, and the margins that the trees add to, are margins of a first classifier that
has not seen the row. On X itself the model would memorise repeated rows.

In a random order of L labels a set of each size s is met once, and the next label is one of the L -
s that are open. Sizes are therefore drawn in proportion to 1 / (L - s), so that the loss over all
open labels is that of whole labelsets: it is their negative log-likelihood in a random order, up to
a factor. With uniform sizes, the last labels, which depend on most others, would hardly count.

The number of trees is that with the least loss of rows that are left out, summed over folds: as
many folds as it takes for enough rows, on small data all of them. Their boosters grow side by side,
and beside them the one for all rows.
"""

from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.process import late_interrupt
from xdcc.base.rounds import Looks, boost, predicts_fast, rounds_at_once, with_own_weights
from xdcc.base.side_by_side import n_ahead, run_in_step
from xdcc.base.threads import threads_for
from xdcc.base.weights import by_entry
from xdcc.boosting.classifier import OBJECTIVE
from xdcc.boosting.out_of_fold import LogLoss

PATIENCE = 30
"""Training ends when the loss has not fallen for this many boosting rounds."""

ENOUGH_ROWS = 3000
"""With this many rows left out, further folds are not."""

_BYTES_PER_LABEL = 64
"""Memory for a label of a repeated row: bins, gradient, and the margins of six boosters."""

_MOST_BYTES = 2**30
_MOST_ROWS = 50_000
"""More rows, repeated ones included, take longer and gain little."""

MAX_BIN = 64
"""Bins of these boosters, and of those whose margins they are trained on."""


class OrderFreeBoosters(NamedTuple):
    """The trained boosters.

    Attributes
    ----------
    booster : xgboost.Booster or None
        Trained on all rows. None if trees do not help: the labels do not depend on each other.
    of_folds : list of xgboost.Booster or None
        Trained without a fold: the first, the second, and so on, not necessarily all.
    losses : list of float
        Mean log-loss of open labels in rows that were left out: before the first boosting round,
        after it, and so on.
    """

    booster: xgb.Booster | None
    of_folds: list[xgb.Booster | None]
    losses: list[float]


def order_free_params(
    *,
    max_depth: int = 4,
    learning_rate: float = 0.05,
    reg_lambda: float = 5.0,
    subsample: float = 0.7,
    seed: int = 0,
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """Collect the parameters of the boosters.

    Parameters
    ----------
    max_depth, learning_rate, reg_lambda, subsample, seed, n_jobs
        As of :class:`~xdcc.chain.OrderFreeChainClassifier`, of which these are the defaults.

    Returns
    -------
    dict
        Parameters for :func:`train_order_free`.
    """
    params: dict[str, Any] = {
        "objective": OBJECTIVE,
        "max_depth": max_depth,
        "eta": learning_rate,
        "lambda": reg_lambda,
        "subsample": subsample,
        "sketch_size": 1,
        "max_bin": MAX_BIN,
        "seed": seed,
    }
    if n_jobs not in (None, -1):
        params["nthread"] = threads_for(n_jobs)
    return params


def train_order_free(
    data: FitData,
    folds: NDArray[np.intp],
    params: dict[str, Any],
    *,
    n_estimators: int,
    n_masks: int,
) -> OrderFreeBoosters:
    """Train the boosters, side by side in a block of :func:`~xdcc.base.side_by_side.side_by_side`.

    Parameters
    ----------
    data : FitData
        X are out-of-fold margins as float32. An unknown label is never revealed, and nothing to
        predict.
    folds : int array of shape (n_samples,)
        Fold of each row, from 0.
    params : dict
        Parameters for `xgboost.train`, "objective" and "seed" included.
    n_estimators : int
        Largest number of boosting rounds.
    n_masks : int
        How often a row is repeated; less often where that would make more than 50,000 rows, or
        take more than 1 GiB.

    Returns
    -------
    OrderFreeBoosters
    """
    n_rows, n_labels = data.Y.shape
    most = min(_MOST_ROWS, _MOST_BYTES // (_BYTES_PER_LABEL * n_labels))
    n_masks = min(n_masks, max(1, most // n_rows))
    rng = np.random.default_rng(params["seed"])
    revealed = draw_revealed(n_rows * n_masks, n_labels, rng)
    # A block of all rows for each mask.
    start, truth = np.tile(data.X, (n_masks, 1)), np.tile(data.Y, (n_masks, 1))
    every = np.ones(n_rows, np.float32) if data.sample_weight is None else data.sample_weight
    every, fold = np.tile(by_entry(every), (n_masks, 1)), np.tile(folds, n_masks)
    label_features = np.where(revealed, truth, np.float32(np.nan))
    truth[revealed] = np.nan
    with late_interrupt():
        matrix = xgb.QuantileDMatrix(
            np.concatenate((start, label_features), axis=1),
            label=truth,
            weight=every,
            base_margin=start,
            max_bin=params["max_bin"],
            nthread=params.get("nthread"),
        )
    params = {**params, "base_score": 0.5}
    held_out = [fold == number for number in range(folds_to_leave_out(folds))]
    matrices = with_own_weights(matrix, params["max_bin"], len(held_out) + 1)
    # The last one is trained on all rows.
    *boosters, final = [xgb.Booster(params, [own]) for own in matrices]

    # The loss covers only the labels that are left out.
    truth[~np.any(held_out, axis=0)] = np.nan
    loss = LogLoss(truth, every)
    total = max(1, float((~np.isnan(truth) * every).sum()))
    losses, n_best = [loss(start) / total], 0
    at_once = rounds_at_once(matrix)
    now = [start.copy() for _ in range(n_ahead() * at_once)]
    weights = [*(every * ~rows[:, np.newaxis] for rows in held_out), every]
    rows_out = [*map(np.flatnonzero, held_out), np.zeros(0, np.intp)]

    def rounds_of(step: int) -> range:
        return range(step * at_once, min((step + 1) * at_once, n_estimators))

    def advance(number: int, step: int) -> None:
        rounds = rounds_of(step)
        looks = Looks(
            [round_ + 1 for round_ in rounds],
            [now[round_ % len(now)] for round_ in rounds],
            rows_out[number],
        )
        own, weight = matrices[number], weights[number].astype(np.float32, copy=False)
        boost((*boosters, final)[number], own, rounds, weight=weight, looks=looks)

    def is_over(step: int) -> bool:
        nonlocal n_best
        for round_ in rounds_of(step):
            losses.append(loss(now[round_ % len(now)]) / total)
            if losses[-1] < losses[n_best]:
                n_best = round_ + 1
            elif round_ + 1 - n_best >= PATIENCE:
                return True
        return False

    run_in_step(
        len(matrices),
        -(-n_estimators // at_once),
        advance,
        is_over,
        moves_cheaply=predicts_fast(matrix),
    )

    if not n_best:
        return OrderFreeBoosters(None, [None] * len(boosters), losses)
    return OrderFreeBoosters(final[:n_best], [booster[:n_best] for booster in boosters], losses)


def folds_to_leave_out(folds: NDArray[np.intp]) -> int:
    """Return how many folds are left out, each by a booster: enough for 3,000 rows, or all."""
    n_rows = np.cumsum(np.bincount(folds))
    return min(len(n_rows), int(np.searchsorted(n_rows, ENOUGH_ROWS)) + 1)


def draw_revealed(n_rows: int, n_labels: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw which labels are revealed, `(n_rows, n_labels)`.

    In each row they are s labels, s from 0 to n_labels - 1 with a probability in proportion to 1 /
    (n_labels - s); all sets of a size are as probable.
    """
    share = 1 / np.arange(n_labels, 0, -1)
    size = rng.choice(n_labels, n_rows, p=share / share.sum())
    rank = rng.permuted(np.tile(np.arange(n_labels), (n_rows, 1)), axis=1)
    return rank < size[:, np.newaxis]
