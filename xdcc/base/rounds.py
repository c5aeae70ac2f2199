"""Boosting rounds without what XGBoost's Python interface checks again in each.

With a few hundred rows a round takes less time than to compare the features' names, to find out
what kind of array the weights are, and to describe the predictions. Trainings side by side would
also wait for each other before and after each round, as Python's code runs in one thread at a time.
So :func:`boost` trains several rounds, draws their rows and keeps margins between them in one call
(``xdcc/kernels/rounds.pyx``).

:func:`with_own_weights` lets boosters train at the same time on the same bins, each on rows of its
own.
"""

import ctypes
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from xgboost.core import _LIB, _check_call

from xdcc.base.side_by_side import n_at_once, with_idle_cores
from xdcc.base.weights import by_entry
from xdcc.kernels.rounds import train_rounds

_AT_ONCE = 8
"""Rounds of a call: Ctrl-C waits for its end."""

_MOST_DROPPED = 4

_FEW_ENTRIES = 2**19
"""Entries of X that this many rounds read in a millisecond or two."""

_AS_MARGINS = json.dumps(
    {"type": 1, "training": False, "iteration_begin": 0, "iteration_end": 0, "strict_shape": True}
).encode()


def _address(pointer: Any) -> int:
    """Return a function's address, or a handle, as a number."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0


_FUNCTIONS = (
    _address(_LIB.XGBoosterUpdateOneIter),
    _address(_LIB.XGDMatrixSetInfoFromInterface),
    _address(_LIB.XGBoosterPredictFromDMatrix),
)


class Looks(NamedTuple):
    """The rounds after which margins of a training are read, and the arrays that store them.

    Attributes
    ----------
    after : list of int
        Numbers of rounds, ascending.
    margins : list of float32 arrays of shape (n_samples, n_labels)
        An array for each of these numbers.
    rows : int64 array
        The rows that the margins belong to.

    Examples
    --------
    >>> looks = Looks([1, 3], [np.zeros((4, 1), np.float32) for _ in range(2)], np.arange(4))
    >>> matrix = xgb.DMatrix(np.eye(4), label=np.array([0, 1, 1, 0]))
    >>> params = {"objective": "binary:logistic", "min_child_weight": 0, "base_score": 0.5}
    >>> boost(xgb.Booster(params, [matrix]), matrix, range(3), looks=looks)
    >>> bool((np.abs(looks.margins[1]) > np.abs(looks.margins[0])).all())
    True
    """

    after: list[int]
    margins: list[NDArray[np.float32]]
    rows: NDArray[np.int64]


_NO_LOOKS = Looks([], [], np.zeros(0, np.int64))
_NO_WEIGHT = np.zeros(0, np.float32)


def boost(
    booster: xgb.Booster,
    matrix: xgb.DMatrix,
    rounds: range,
    *,
    weight: NDArray[np.float32] = _NO_WEIGHT,
    bits: Sequence[np.random.PCG64 | None] = (),
    share: float = 1.0,
    looks: Looks = _NO_LOOKS,
) -> None:
    """Add the trees of some rounds, without Python's lock.

    Parameters
    ----------
    booster : Booster
        Its number of rounds is the first of `rounds`.
    matrix : DMatrix
        XGBoost caches a booster's margins for the matrices that it was made with.
    rounds : range
        Numbers of the rounds.
    weight : float32 array of shape (n_samples,) or (n_samples, n_labels), optional
        Weights of the rows or entries, instead of those of the matrix.
    bits : sequence of PCG64 or None, optional
        For each round what draws rows of these weights; None for all of them.
    share : float, default=1.0
        Share of the rows that are drawn.
    looks : Looks, optional
        Margins that are wanted.

    Examples
    --------
    >>> matrix = xgb.DMatrix(np.eye(4), label=np.array([0, 1, 1, 0]))
    >>> booster = xgb.Booster({"objective": "binary:logistic"}, [matrix])
    >>> boost(booster, matrix, range(3), weight=np.array([0, 1, 1, 1], np.float32))
    >>> booster.num_boosted_rounds(), matrix.get_weight()
    (3, array([0., 1., 1., 1.], dtype=float32))
    """
    weight = by_entry(weight)
    drawn = np.empty_like(weight)
    interface = json.dumps(drawn.__array_interface__).encode()
    own = _address(booster.handle), _address(matrix.handle)
    for first in range(rounds.start, rounds.stop, _AT_ONCE):
        end = min(first + _AT_ONCE, rounds.stop)
        of_rounds = [place for place, after in enumerate(looks.after) if first < after <= end]
        with with_idle_cores():
            _check_call(
                train_rounds(
                    _FUNCTIONS,
                    *own,
                    first,
                    end,
                    weight,
                    drawn,
                    interface,
                    list(bits[first - rounds.start : end - rounds.start]),
                    share,
                    [looks.after[place] for place in of_rounds],
                    [looks.margins[place] for place in of_rounds],
                    looks.rows,
                    _AS_MARGINS,
                )
            )


def rounds_at_once(matrix: xgb.DMatrix) -> int:
    """Return how many short rounds are trained between two readings; 1 if a round takes long.

    Fewer interruptions are worth a few rounds that are trained and then dropped.

    Examples
    --------
    >>> few, many = (xgb.DMatrix(np.ones((n_rows, 99))) for n_rows in (100, 9000))
    >>> rounds_at_once(few), rounds_at_once(many)
    (4, 1)
    """
    return max(1, min(_MOST_DROPPED, _FEW_ENTRIES // max(1, matrix.num_nonmissing())))


def quantised(matrix: xgb.DMatrix, max_bin: int | None) -> xgb.DMatrix:
    """Make a matrix of the bins of another one, with labels and weights of its own.

    Bins that the other one has already are shared, not copied. `max_bin` is as the boosters have
    it, None for their default.

    Examples
    --------
    >>> matrix = xgb.QuantileDMatrix(np.eye(3), label=np.zeros(3))
    >>> quantised(matrix, None).num_row()
    3
    """
    handle = ctypes.c_void_p()
    config = json.dumps({"max_bin": max_bin}).encode()
    _check_call(_LIB.XDCCQuantiseFeatures(matrix.handle, config, ctypes.byref(handle)))
    return xgb.DMatrix(handle)


def with_own_weights(
    matrix: xgb.DMatrix, max_bin: int | None, n: int, *, is_shared: bool = False
) -> list[xgb.DMatrix]:
    """Make this many matrices of the same bins whose weights can be set at the same time.

    Where nothing runs side by side (:mod:`xdcc.base.side_by_side`), all are the same. That one, and
    a single one, is the matrix itself, unless it `is_shared` with other trainings.

    Examples
    --------
    >>> from xdcc.base.side_by_side import side_by_side
    >>> matrix = xgb.QuantileDMatrix(np.eye(3), label=np.zeros(3))
    >>> with side_by_side(2):
    ...     first, second = with_own_weights(matrix, None, 2)
    >>> first.set_weight(np.array([1, 0, 2]))
    >>> second.get_weight().size
    0
    """
    if 1 in (n, n_at_once()):
        return [quantised(matrix, max_bin) if is_shared else matrix] * n
    return [quantised(matrix, max_bin) for _ in range(n)]


def predicts_fast(matrix: xgb.DMatrix) -> bool:
    """Tell whether trees find the bins of a row at once: those of a dense matrix without gaps.

    Examples
    --------
    >>> predicts_fast(xgb.DMatrix(np.eye(2))), predicts_fast(xgb.DMatrix(np.array([[1, np.nan]])))
    (True, False)
    """
    return matrix.num_nonmissing() == matrix.num_row() * matrix.num_col()
