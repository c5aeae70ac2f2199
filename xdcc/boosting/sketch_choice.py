"""``"auto"``: the number of labels of a sketched tree, by a race on held-out rows.

The splits of a tree are searched in one sketch dimension of a random group of m labels. The best m
depends on the data: trees for all labels regularise, which suits labels that depend on each other
or are rare (emotions, scene, yeast, medical, enron); independent labels are better served by trees
for a few labels each. The time to the best model is about the same for every m: a round of smaller
groups has more trees, and fewer rounds suffice.

It starts with all labels, or with half of them if there are more than `FEW_LABELS`: that was better
on birds, slashdot, genbase, medical and enron. Then comes the race: a few rounds of shallow trees
without shrinkage, with the labels of a third of the rows hidden. If labels are independent, trees
for half as many are ahead on these rows by then; otherwise they hardly are. The size is halved
until that gains less than `WORTH_HALVING`.

Hidden rows cost almost nothing: trees grow on the matrix of the training, whose bins are needed
anyway, and training computes the margins of all rows.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.boosting.out_of_fold import LogLoss
from xdcc.boosting.target_losses import TargetLosses

AUTO = "auto"
"""The value of `sketch_size` and `labels_per_tree` to be chosen from the data."""

FEW_LABELS = 16
"""Up to this many labels the first trees are for all of them."""

FEWEST_ROWS = 1200
"""With fewer rows there is no race: a third of them is too few to decide."""

RACE_ROWS = 20_000
"""Rows of the race at most; of more, these are drawn, for which bins have to be made."""

RACE_RATE = 1.0
"""Learning rate of the race."""

RACE_DEPTH = 4
"""Depth of the race's trees at most."""

RACE_ROUNDS = 4
"""Rounds of the race."""

WORTH_HALVING = 0.04
"""Share of its held-out log-loss by which a group has to be better than one twice as large."""


type HeldOutLoss = Callable[[int], float]
"""The least loss on held-out rows of trees for this many outputs."""


def choose_sketch(
    params: Mapping[str, Any],
    data: FitData,
    matrix: xgb.DMatrix | None = None,
    *,
    loss_on: Callable[[FitData], Callable[[NDArray[np.float32]], float]] | None = None,
    losses_of: Callable[[FitData], TargetLosses] | None = None,
    n_outputs: int | None = None,
) -> dict[str, int]:
    """Choose the numbers for what is ``"auto"``.

    Parameters
    ----------
    params : mapping
        Parameters for `xgboost.train`, objective included, settled on the data, in which
        `sketch_size` and `labels_per_tree` may be ``"auto"``. Where `labels_per_tree` is not
        there, it is ``"auto"`` if `sketch_size` is.
    data : FitData
        Checked training data.
    matrix : DMatrix, optional
        The same data, to train on next: a race on it needs no bins of its own. Some of its labels
        are hidden during the race.
    loss_on : callable, optional
        Makes the loss of some rows, a function of predictions for them. The rows are then left out
        of the race's training, whose outputs may be others than labels.
    losses_of : callable, optional
        Makes the losses of some rows, where XGBoost does not compute them; in place of `loss_on`.
    n_outputs : int, optional
        Number of outputs; by default of the columns of Y.

    Returns
    -------
    dict
        The chosen numbers: `sketch_size` is 1, and `labels_per_tree` what the race finds best,
        0 for all labels. The same for any number of threads. Empty if nothing was ``"auto"``.

    Raises
    ------
    ValueError
        If the splits of a sketch cannot be searched by `split_method`.

    Examples
    --------
    >>> data = FitData(np.ones((9, 2), np.float32), np.ones((9, 3), np.float32), None)
    >>> choose_sketch({"eta": 0.1, "sketch_size": "auto"}, data)
    {'sketch_size': 1, 'labels_per_tree': 0}
    >>> choose_sketch({"sketch_size": "auto", "labels_per_tree": 2}, data)
    {'sketch_size': 1}
    """
    chosen = {}
    if params.get("sketch_size") == AUTO:
        method = params.get("split_method", "sumGain")
        if method != "sumGain" and params.get("sketch_method") != "top":
            raise ValueError(
                f"sketch_size='auto' with split_method={method!r}: the dimensions of a sketch "
                "are not single labels. Use split_method='sumGain'."
            )
        chosen["sketch_size"] = 1
    if params.get("labels_per_tree", params.get("sketch_size")) == AUTO:
        params = {**params, **chosen}
        if losses_of is not None:
            held_out_loss = row_race(params, data, lambda rows: losses_of(rows).loss, losses_of)
        elif loss_on is not None:
            held_out_loss = row_race(params, data, loss_on)
        else:
            held_out_loss = race(params, data, matrix)
        n = data.Y.shape[1] if n_outputs is None else n_outputs
        chosen["labels_per_tree"] = _best_group_size(len(data.Y), n, held_out_loss)
    return chosen


def group_sizes(n_labels: int) -> list[int]:
    """List the numbers of labels per tree that a race tries, in order.

    Examples
    --------
    >>> group_sizes(14), group_sizes(53)
    ([14, 7, 4, 2], [27, 14, 7, 4, 2])
    """
    n_groups = 1 if n_labels <= FEW_LABELS else 2
    sizes = [-(-n_labels // n_groups)]
    while sizes[-1] > 2:
        n_groups *= 2
        sizes.append(max(2, -(-n_labels // n_groups)))
    return sizes


def _best_group_size(
    n_rows: int, n_labels: int, racing: AbstractContextManager[HeldOutLoss]
) -> int:
    size, *halves = group_sizes(n_labels)
    if n_rows >= FEWEST_ROWS and halves:
        with racing as held_out_loss:
            loss = held_out_loss(size)
            for half in halves:
                best, loss = loss, held_out_loss(half)
                if not loss < (1 - WORTH_HALVING) * best:
                    break
                size = half
    return size if size < n_labels else 0


@contextmanager
def race(
    params: Mapping[str, Any], data: FitData, matrix: xgb.DMatrix | None = None
) -> Iterator[HeldOutLoss]:
    """Hide labels, and yield a function: the least hidden log-loss of trees for this many labels.

    Parameters are those of :func:`choose_sketch`, but for `labels_per_tree`. The function takes a
    number of labels and returns a sum over rows and labels.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 8)).astype(np.float32)
    >>> data = FitData(X, (X > 0).astype(np.float32), None)
    >>> with race({"objective": "multilabel:logistic", "sketch_size": 1}, data) as hidden_loss:
    ...     print(hidden_loss(2) < hidden_loss(8))
    True
    """
    rows, held_out = _race_rows(params, len(data.Y))
    if matrix is None or len(rows) < len(data.Y):
        data, held_out = data.take(rows), np.arange(len(held_out))
        matrix = data.matrix(params.get("nthread"))
    weight = data.sample_weight
    loss = LogLoss(data.Y[held_out], None if weight is None else weight[held_out])
    hidden = data.Y.copy()
    hidden[held_out] = np.nan
    matrix.set_label(hidden)
    try:
        yield _held_out_loss(params, matrix, matrix, lambda margins: loss(margins[held_out]), True)
    finally:
        matrix.set_label(data.Y)


@contextmanager
def row_race(
    params: Mapping[str, Any],
    data: FitData,
    loss_on: Callable[[FitData], Callable[[NDArray[np.float32]], float]],
    losses_of: Callable[[FitData], TargetLosses] | None = None,
) -> Iterator[HeldOutLoss]:
    """Leave rows out, and yield a function: their least loss by trees for this many outputs.

    Parameters are those of :func:`choose_sketch`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 8)).astype(np.float32)
    >>> data = FitData(X, X, None)
    >>> params = {"objective": "reg:squarederror", "multi_strategy": "multi_output_tree"}
    >>> params |= {"updater": "grow_multilabel_hist", "verbosity": 0, "sketch_size": 1}
    >>> with row_race(params, data, lambda rows: lambda z: ((z - rows.Y) ** 2).sum()) as loss:
    ...     print(loss(2) < loss(8))
    True
    """
    rows, held_out = _race_rows(params, len(data.Y))
    train, test = data.take(rows[len(held_out) :]), data.take(held_out)
    n_threads = params.get("nthread")
    matrices = train.matrix(n_threads), test.matrix(n_threads)
    losses = None if losses_of is None else losses_of(train)
    if losses is not None:
        params = {**params, "base_score": losses.base_score.tolist()}
    objective = None if losses is None else losses.gradients
    yield _held_out_loss(params, *matrices, loss_on(test), False, objective)


def _race_rows(params: Mapping[str, Any], n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Draw the rows of a race, and the first third of them: those that are held out."""
    rows = np.random.RandomState(params.get("seed", 0)).permutation(n_rows)[:RACE_ROWS]
    return rows, rows[: len(rows) // 3]


def _held_out_loss(
    params: Mapping[str, Any],
    train: xgb.DMatrix,
    test: xgb.DMatrix,
    loss: Callable[[NDArray[np.float32]], float],
    of_margins: bool,
    objective: xgb.core.CustomObj | None = None,
) -> HeldOutLoss:
    """Make the function that trains for the race and returns the least loss of predictions."""
    # 0: no limit.
    depth = min(RACE_DEPTH, params.get("max_depth", RACE_DEPTH) or RACE_DEPTH)

    def held_out_loss(labels_per_tree: int) -> float:
        booster = xgb.Booster(
            {
                **params,
                "eta": RACE_RATE,
                "max_depth": depth,
                "labels_per_tree": labels_per_tree,
            },
            list(dict.fromkeys((train, test))),
        )
        losses = []
        for round_ in range(RACE_ROUNDS):
            booster.update(train, round_, objective)
            predicted = booster.predict(test, output_margin=of_margins, strict_shape=True)
            losses.append(loss(predicted))
        return min(losses)

    return held_out_loss
