"""``LogisticLabels``: a logistic regression for each label, all trained together."""

from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.base.domains import Choice, Either, Number, Seed, Switch, Threads
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.linear.logistic import Floats, solver_threads

_TOL = 1e-9
_TOL_OF_CHOICE = 1e-5
"""Tolerances of the final models, and of those of the folds."""


@declares_parameters
class LogisticLabels(MultiLabelEstimator):
    """L2-penalised logistic regressions of all labels, trained in one batch.

    They share what is expensive: products of X with the coefficients of all labels. The penalty
    is chosen by out-of-fold log-loss, features are scaled by a rule from the data, so there is
    nothing to prepare. X may be sparse and stays so.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Inverse strength of the penalty, as in scikit-learn. ``"auto"`` chooses it by the log-loss
        of rows that the models have not seen.
    text_like : bool or "auto", default="auto"
        Whether X holds something like counts of words. Such columns are multiplied by their inverse
        document frequency, and rows are divided by their lengths; other columns are divided by
        their standard deviations. ``"auto"`` takes X for text if it has at least 50 features, all
        of them numbers that are not negative, and more than 70 % of its entries are zero.
    cv : int, default=5
        Number of folds for the choice of `C`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds; None is the seed 0.
    {n_jobs}

    Attributes
    ----------
    coef_ : float64 array of shape (n_labels, n_columns)
        Coefficients, in the units of X. A feature has one column, a category one for each value,
        and features with missing values have one more at the end.
    intercept_ : float64 array of shape (n_labels,)
        Intercepts.
    coef_names_ : array of str of shape (n_columns,)
        Names of the columns of `coef_`: "age", "colour=red", "age is missing".
    C_ : float64 array of shape (n_labels,)
        Inverse strength of each label's penalty.
    text_like_ : bool
        Whether X was taken for text.
    {fitted}
    {categories}

    Notes
    -----
    The log-odds of a row x are ``coef_ @ x + intercept_``; of a text
    ``coef_ @ x / length + intercept_``, with the length of x after its multiplication by the
    inverse document frequencies, log((1 + n) / (1 + d)) + 1 for a column that is not zero in d of n
    rows. The intercept is not penalised.

    A missing number (NaN in X) counts as the feature's mean, a missing or new category as none of
    the known ones; if values were missing in `fit`, a column of its own says where. What a sparse
    X does not store is 0. Unknown labels (NaN in Y) count for nothing. A label that is the same in
    all n rows has no coefficients; its other value has the probability 1 / (n + 2).

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> model = xdcc.LogisticLabels().fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    >>> margins = data.X @ model.coef_.T + model.intercept_
    >>> np.allclose(margins, model.decision_function(data.X), atol=1e-4)
    True
    """

    _domains = MappingProxyType(
        {
            "C": Either(
                Choice(("auto",)), Number(low=0, high=np.inf, low_open=True, high_open=True)
            ),
            "text_like": Either(Choice(("auto",)), Switch()),
            "cv": Number(low=2, whole=True),
            "random_state": Seed(),
            "n_jobs": Threads(),
        }
    )
    _takes_categories = True

    C: float | Literal["auto"] = "auto"
    text_like: bool | Literal["auto"] = "auto"
    cv: int = 5
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalty, and train the models.

        Parameters
        ----------
        {X}
        {Y}
        {sample_weight}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, X or Y is not as described, or there are fewer
            rows than folds.

        Warns
        -----
        ConvergenceWarning
            If a label's model did not converge; the message names it.
        """
        data = self._begin_fit(X, Y, sample_weight)
        with solver_threads(self.n_jobs) as run:
            pass
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Log-odds of every label.

        {takes_X}

        Returns
        -------
        float64 array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension
            Positive where a label is more likely present than absent.

        {raises_in_predict}
        """
        margins = self._margins(self._check_X(X))
        return margins if self.classes_.ndim == 2 else margins[:, 0]

    def _margins(self, X: Features) -> Floats:
        """Compute log-odds of checked features, `(n_samples, n_labels)`."""
        complete = self._columns.complete(X)
        margins = np.asarray(complete @ self.coef_.T)
        margins /= self._columns.row_lengths(complete)[:, None]
        margins += self.intercept_
        return margins

    def _proba(self, X: Features) -> Floats:
        return expit(self._margins(X))
