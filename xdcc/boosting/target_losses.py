"""``TargetLosses``: an objective for each target, where XGBoost has one for all of them.

The gradients are those of XGBoost's objectives of these names. Its booster, one of squared error,
starts from constants that are given, and predicts margins.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.boosting.output_predictors import probability

type _Floats = NDArray[np.floating[Any]]

_TINY = np.finfo(np.float32).tiny


class _Loss(NamedTuple):
    """A loss of targets, the columns of matrices."""

    values: Callable[[_Floats, _Floats], _Floats]
    """Losses at margins, of targets."""
    gradients: Callable[[_Floats, _Floats, _Floats], tuple[_Floats, _Floats]]
    """Gradients and Hessians at margins, of targets with weights, which are not yet in them."""


def _logistic(margins: _Floats, Y: _Floats, weight: _Floats) -> tuple[_Floats, _Floats]:
    proba = probability(margins)
    return proba - Y, np.maximum(proba * (1 - proba), np.float32(1e-16))


def _squared(margins: _Floats, Y: _Floats, weight: _Floats) -> tuple[_Floats, _Floats]:
    return margins - Y, np.ones_like(margins)


def _absolute(margins: _Floats, Y: _Floats, weight: _Floats) -> tuple[_Floats, _Floats]:
    """Those of a parabola above √(δ² + residual²), where δ is the size of residuals."""
    residual = margins - Y
    roots = np.sqrt(np.abs(residual))
    delta = (_mean(roots, weight) ** 2).astype(residual.dtype)
    norm = np.hypot(delta, residual)
    curvature = np.divide(delta, norm, out=np.ones_like(norm), where=norm > 0)
    return residual * curvature, curvature


def _mean(values: _Floats, weight: _Floats) -> NDArray[np.float64]:
    """Means of columns; 0 where nothing has a weight."""
    total = (weight * values).sum(axis=0, dtype=np.float64)
    return total / np.maximum(weight.sum(axis=0, dtype=np.float64), _TINY)


_LOSSES = {
    "binary:logistic": _Loss(lambda z, y: np.logaddexp(0, z) - y * z, _logistic),
    "reg:squarederror": _Loss(lambda z, y: (z - y) ** 2, _squared),
    "reg:absoluteerror": _Loss(lambda z, y: np.abs(z - y), _absolute),
}

TARGET_OBJECTIVES = tuple(_LOSSES)
"""Objectives that single targets can have."""

OF_MARGINS = MappingProxyType(
    {"objective": "reg:squarederror", "disable_default_eval_metric": True}
)
"""Parameters of a booster that predicts margins."""

_ATTRIBUTE = "target_objectives"
"""Attribute of a booster: the objectives of its targets, with commas between them."""


def has_own_objectives(booster: xgb.Booster) -> bool:
    """Whether the targets of a booster have objectives of their own: it then predicts margins.

    Examples
    --------
    >>> has_own_objectives(xgb.Booster())
    False
    """
    return booster.attr(_ATTRIBUTE) is not None


def trained_objectives(booster: xgb.Booster) -> list[str]:
    """List the objectives of a booster's targets, or the one that all have.

    Examples
    --------
    >>> data = xgb.DMatrix([[0.0], [1.0]], [0, 1])
    >>> trained_objectives(xgb.train({"objective": "reg:gamma"}, data, 0))
    ['reg:gamma']
    """
    of_targets = booster.attr(_ATTRIBUTE)
    if of_targets is not None:
        return of_targets.split(",")
    return [json.loads(booster.save_config())["learner"]["objective"]["name"]]


class TargetLosses:
    """The losses of the targets of some rows, each by its own objective.

    Parameters
    ----------
    objectives : sequence of str
        One of `TARGET_OBJECTIVES` for each target.
    data : FitData
        The rows. Targets that are unknown or have the weight 0 add nothing.

    Attributes
    ----------
    base_score : float32 array of shape (n_targets,)
        Margins to start from, as XGBoost does: log-odds of the mean; the mean; a Newton step from
        the mean towards the median.

    Examples
    --------
    >>> Y = np.array([[0, 1.5], [1, np.nan], [1, 2.5]], np.float32)
    >>> losses = TargetLosses(["binary:logistic", "reg:squarederror"], FitData(None, Y, None))
    >>> losses.base_score
    array([0.6931472, 2.       ], dtype=float32)
    >>> grad, hess = losses.gradients(np.zeros((3, 2), np.float32))
    >>> grad
    array([[ 0.5, -1.5],
           [-0.5,  0. ],
           [-0.5, -2.5]], dtype=float32)
    >>> hess
    array([[0.25, 1.  ],
           [0.25, 0.  ],
           [0.25, 1.  ]], dtype=float32)
    """

    def __init__(self, objectives: Sequence[str], data: FitData) -> None:
        self._objectives = list(objectives)
        names = np.array(objectives)
        self._columns = [(_LOSSES[name], names == name) for name in dict.fromkeys(objectives)]
        self._Y = np.where(data.known, data.Y, np.float32(0))
        self._weight = data.entry_weight.astype(np.float32)
        mean = _mean(self._Y, self._weight)
        share = np.clip(mean, 1e-6, 1 - 1e-6)
        start = np.where(names == "binary:logistic", np.log(share / (1 - share)), mean)
        margins = np.broadcast_to(start.astype(np.float32), self._Y.shape)
        grad, hess = (part.sum(axis=0, dtype=np.float64) for part in self.gradients(margins))
        step = np.where(names == "reg:absoluteerror", grad / np.maximum(hess, _TINY), 0)
        self.base_score = (start - step).astype(np.float32)

    def gradients(
        self, margins: _Floats, matrix: xgb.DMatrix | None = None
    ) -> tuple[_Floats, _Floats]:
        """Compute gradients and Hessians, `(n_samples, n_targets)`: an `obj` for `xgboost.train`.

        They are those of the rows given to the constructor, whatever `matrix` is.
        """
        margins = margins.reshape(self._Y.shape)
        grad, hess = np.empty_like(self._Y), np.empty_like(self._Y)
        for loss, columns in self._columns:
            grad[:, columns], hess[:, columns] = loss.gradients(
                margins[:, columns], self._Y[:, columns], self._weight[:, columns]
            )
        grad *= self._weight
        hess *= self._weight
        return grad, hess

    def train(
        self, params: Mapping[str, Any], matrix: xgb.DMatrix, **arguments: Any
    ) -> xgb.Booster:
        """Train on the matrix of the rows, as `xgboost.train`; `params` have `OF_MARGINS`."""
        if arguments.get("xgb_model") is None:
            params = {**params, "base_score": self.base_score.tolist()}
        booster = xgb.train(
            params, matrix, obj=self.gradients, custom_metric=self.metric, **arguments
        )
        booster.set_attr(**{_ATTRIBUTE: ",".join(self._objectives)})
        return booster

    def metric(self, margins: _Floats, matrix: xgb.DMatrix) -> tuple[str, float]:
        """Compute the loss for the labels of `matrix`: a `custom_metric` for `xgboost.train`."""
        Y = matrix.get_label().reshape(matrix.num_row(), -1)
        known = ~np.isnan(Y)
        loss = self._loss(margins.reshape(Y.shape), np.where(known, Y, 0), known)
        return "relative_loss", loss

    def loss(self, margins: _Floats) -> float:
        """Compute the loss for the rows given to the constructor."""
        return self._loss(margins, self._Y, self._weight)

    def _loss(self, margins: _Floats, Y: _Floats, weight: NDArray[Any]) -> float:
        """Mean over the targets of their losses, each divided by the loss of `base_score`.

        Targets are left out if that is 0: nothing is known of them, or there is nothing to predict.
        """
        start = np.broadcast_to(self.base_score, Y.shape)
        ratios = []
        for loss, columns in self._columns:
            own, of_start = (
                (weight[:, columns] * loss.values(z[:, columns], Y[:, columns])).sum(axis=0)
                for z in (margins, start)
            )
            ratios.append(own[of_start > 0] / of_start[of_start > 0])
        every = np.concatenate(ratios)
        return float(every.mean()) if len(every) else 0.0
