"""``EstimatorPredictor``: a model whose own kernels predict, without the check of X.

Rules, and trees with several leaves for a row, have no layout of their own: the kernels of the
estimators read flat arrays already, and take microseconds for a row. The check of X would take ten
times as long.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import checked_rows
from xdcc.base.lazy_import import LazyModule
from xdcc.base.libraries import validation
from xdcc.base.margins import margins_of
from xdcc.base.stored import stored

if TYPE_CHECKING:
    from xdcc.comparators import boomer, lacovac, rdt
else:
    boomer = LazyModule("xdcc.comparators.boomer")
    lacovac = LazyModule("xdcc.comparators.lacovac")
    rdt = LazyModule("xdcc.comparators.rdt")

type Served = (
    rdt.RandomDecisionTreeClassifier
    | boomer.BoomerClassifier
    | lacovac.LaCovaCClassifier
    | lacovac.LaCovaCForestClassifier
)
"""Estimators whose kernels predict."""


@stored
@dataclass(frozen=True, eq=False)
class EstimatorPredictor:
    """An estimator; outputs are the rows, and a copy of it with the number of threads.

    Attributes
    ----------
    model : estimator
        A fitted one, which is not changed.
    """

    model: Served

    def __post_init__(self) -> None:
        """Check the arguments that the estimator checks together with X."""
        validation.check_is_fitted(self.model)
        self.model._check_params()
        if isinstance(self.model, rdt.RandomDecisionTreeClassifier):
            self.model._check_order()

    @property
    def n_outputs(self) -> int:
        """Number of labels."""
        return self.model.n_labels_

    @property
    def n_given(self) -> int:
        """Number of features of X."""
        return self.model.n_features_in_

    def outputs(self, X: Any, n_threads: int) -> Any:
        """Return the estimator and rows; None if X has to be checked."""
        rows = checked_rows(X, self.model.n_features_in_)
        return None if rows is None else (shallow_copy(self.model, n_jobs=n_threads), rows)

    def margins(self, outputs: Any) -> NDArray[np.float64]:
        """Compute scores of rules, and log-odds of trees."""
        model, rows = outputs
        if isinstance(model, boomer.BoomerClassifier):
            return model._scores(rows)
        return margins_of(model._proba(rows))

    def proba(self, outputs: Any) -> NDArray[np.floating]:
        """Compute probabilities."""
        model, rows = outputs
        return model._proba(rows)

    def labels(self, outputs: Any) -> NDArray[np.int64]:
        """Decide labels."""
        model, rows = outputs
        return model._labels(rows)


def shallow_copy(model: Any, **changed: Any) -> Any:
    """Copy an estimator without its attributes, in a microsecond, and change some."""
    copied = object.__new__(type(model))
    vars(copied).update(vars(model), **changed)
    return copied
