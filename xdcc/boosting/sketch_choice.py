"""``"auto"``: for how many labels a sketched tree is, by a race on held-out rows.

A tree is searched on one random direction over a random group of m labels. How large m should be
is the one thing that the data have to tell: trees for all labels regularise, which labels that
depend on each other, or are rare, are better for (emotions, scene, yeast, medical, enron); labels
that have nothing to do with each other want trees for a few labels each. The time to the best
model is about the same for every m: smaller groups are more trees a round, and fewer rounds.

The race: trees without shrinkage, which have learned what they can in some ten rounds and rank the
sizes as slow learning does, on at most `RACE_ROWS` rows, of which a third is held out. First
for all labels, then for halves, quarters and so on, until the held-out log-loss gets better by less
than `WORTH_HALVING`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.boosting.log_loss import LogLoss

AUTO = "auto"
"""The value of `sketch_size` and `labels_per_tree` that asks for a choice."""

FEWEST_ROWS = 500
"""With fewer rows a third of them says nothing: trees are for all labels."""

RACE_ROWS = 4000
"""Rows of the race at most."""

RACE_RATE = 1.0
"""Learning rate of the race."""

WORTH_HALVING = 0.02
"""Share of its held-out log-loss by which a group has to be better than one twice as large."""

_PATIENCE = 3
_MOST_ROUNDS = 100


def choose_sketch(params: Mapping[str, Any], data: FitData) -> dict[str, int]:
    """Find the numbers that take the place of ``"auto"``.

    Parameters
    ----------
    params : mapping
        Parameters for `xgboost.train`, objective included, settled on the data, in which
        `sketch_size` and `labels_per_tree` may be ``"auto"``. Where `labels_per_tree` is not
        there, it is ``"auto"`` if `sketch_size` is.
    data : FitData
        Checked training data.

    Returns
    -------
    dict
        What was to be chosen: `sketch_size` is 1, and `labels_per_tree` what the race finds best,
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
                f"sketch_size='auto' with split_method={method!r}: the combinations of a sketch "
                "stand for no single label. Take split_method='sumGain'."
            )
        chosen["sketch_size"] = 1
    if params.get("labels_per_tree", params.get("sketch_size")) == AUTO:
        chosen["labels_per_tree"] = _best_group_size({**params, **chosen}, data)
    return chosen


def _best_group_size(params: dict[str, Any], data: FitData) -> int:
    n_rows, n_labels = data.Y.shape
    if n_rows < FEWEST_ROWS or n_labels <= 2:
        return 0
    order = np.random.RandomState(params.get("seed", 0)).permutation(n_rows)[:RACE_ROWS]
    race = _Race(params, data, order[len(order) // 3 :], order[: len(order) // 3])
    best, best_loss, n_groups = n_labels, race.loss(0), 2
    while best > 2:
        size = max(2, -(-n_labels // n_groups))
        loss = race.loss(size)
        if not loss < (1 - WORTH_HALVING) * best_loss:
            break
        best, best_loss, n_groups = size, loss, 2 * n_groups
    return best if best < n_labels else 0


class _Race:
    """Trainings on some rows, measured on others."""

    def __init__(
        self,
        params: dict[str, Any],
        data: FitData,
        rows: NDArray[np.intp],
        held_out: NDArray[np.intp],
    ) -> None:
        weight = data.sample_weight
        self._params = {**params, "eta": RACE_RATE}
        self._train, self._held_out = (
            xgb.DMatrix(
                data.X[part],
                label=data.Y[part],
                weight=None if weight is None else weight[part],
                feature_types=data.feature_types,
                nthread=params.get("nthread"),
            )
            for part in (rows, held_out)
        )
        self._loss = LogLoss(data.Y[held_out], None if weight is None else weight[held_out])

    def loss(self, labels_per_tree: int) -> float:
        """Least held-out log-loss of trees for so many labels."""
        params = {**self._params, "labels_per_tree": labels_per_tree}
        booster = xgb.Booster(params, [self._train, self._held_out])
        best, best_round = np.inf, 0
        for round_ in range(_MOST_ROUNDS):
            booster.update(self._train, round_)
            margins = booster.predict(self._held_out, output_margin=True, strict_shape=True)
            loss = self._loss(margins)
            if loss < best:
                best, best_round = loss, round_
            elif round_ - best_round >= _PATIENCE:
                break
        return best
