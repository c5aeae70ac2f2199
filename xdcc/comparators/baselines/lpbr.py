"""LPBR: label powersets for groups of dependent labels, binary relevance for the others."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.domains import Number
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.base.label_rows import matching_share
from xdcc.base.state_checks import require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Shape
from xdcc.comparators.baselines.label_powerset import PowersetModel
from xdcc.comparators.baselines.learner import LearnerClassifier


@stored
@declares_parameters
class LPBR(LearnerClassifier):
    """Label powersets of groups of dependent labels (ChiDep, in Mulan: LPBR).

    Initially, each label is a group. Pairs of labels are tried by decreasing chi-squared statistic;
    their groups are merged if this increases the subset accuracy in cross-validation on the
    training data.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba` for several classes; None is a decision tree.
    patience : int, default=5
        Number of consecutive merges without an increase of the subset accuracy that end the search.
    cv : int, default=5
        Number of folds.
    alpha : float, default=0.01
        Significance level of the chi-squared test; pairs that are not significant are not tried.
    random_state : int, RandomState instance or None, default=None
        Seed for the folds and the base learner; None is the seed 0.

    Attributes
    ----------
    groups_ : list of int arrays
        Indices of the labels in each group.
    models_ : list of PowersetModel
        The model of each group.
    {fitted}

    Notes
    -----
    A group predicts its most probable labelset, so `predict` does not correspond to a threshold of
    0.5. A trial trains only the models of the merged group.

    {missing_values}

    References
    ----------
    L. Tenenboim-Chaimovich, L. Rokach, B. Shapira: Identification of label dependencies for
    multi-label classification. MLD workshop at ICML 2010.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_marginally_dependent(100, n_labels=3, random_state=0)
    >>> model = xdcc.LPBR(cv=3, random_state=0).fit(data.X, data.Y)
    >>> model.groups_
    [array([0, 1, 2])]
    """

    _domains = MappingProxyType(
        {
            **LearnerClassifier._domains,
            "patience": Number(low=1, whole=True),
            "cv": Number(low=2, whole=True),
            "alpha": Number(low=0, high=1, low_open=True),
        }
    )

    patience: int = 5
    cv: int = 5
    alpha: float = 0.01

    groups_: list[NDArray[np.int64]] = learned()
    models_: Annotated[list[PowersetModel], Shape("groups_")] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        require(len(self.groups_) > 0, "groups_")
        labels = np.sort(np.concatenate(self.groups_))
        require(np.array_equal(labels, np.arange(self.n_labels_)), "groups_")

    @staticmethod
    def _default_learner() -> Any:
        return DecisionTreeClassifier()

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        folds = stratified_folds(data.Y, self.cv, random)
        self.groups_ = self._find_groups(data, learner, folds)
        self.models_ = [
            PowersetModel(learner).fit(data.X, data.Y[:, group], data.sample_weight)
            for group in self.groups_
        ]

    def _find_groups(
        self, data: FitData, learner: Any, folds: NDArray[np.intp]
    ) -> list[NDArray[np.intp]]:
        groups = [np.array([label]) for label in range(self.n_labels_)]
        group_of = np.arange(self.n_labels_)
        pairs = list(_dependent_pairs(data, self.alpha))
        if not pairs:
            return groups
        predicted = np.hstack([_out_of_fold(data, group, learner, folds) for group in groups])
        best = matching_share(data.Y, predicted, data.sample_weight)
        failures = 0
        for one, other in pairs:
            if group_of[one] == group_of[other]:
                continue
            merged = np.sort(np.concatenate((groups[group_of[one]], groups[group_of[other]])))
            trial = predicted.copy()
            trial[:, merged] = _out_of_fold(data, merged, learner, folds)
            score = matching_share(data.Y, trial, data.sample_weight)
            if score > best:
                best, predicted, failures = score, trial, 0
                groups[group_of[one]] = merged
                group_of[merged] = group_of[one]
            else:
                failures += 1
                if failures == self.patience:
                    break
        return [groups[number] for number in np.unique(group_of)]

    def _proba(self, X: Features) -> NDArray[np.float64]:
        proba = np.empty((X.shape[0], self.n_labels_))
        for group, model in zip(self.groups_, self.models_, strict=True):
            proba[:, group] = model.proba(X)
        return proba

    def _labels(self, X: Features) -> NDArray[np.int64]:
        predicted = np.empty((X.shape[0], self.n_labels_), dtype=np.int64)
        for group, model in zip(self.groups_, self.models_, strict=True):
            predicted[:, group] = model.predict(X)
        return predicted


def _dependent_pairs(data: FitData, alpha: float) -> Iterator[tuple[int, int]]:
    """Yield significantly dependent pairs of labels, the most dependent first."""
    Y = data.Y.astype(np.float64)
    weight = np.ones(len(Y)) if data.sample_weight is None else data.sample_weight
    total, count = weight.sum(), weight @ Y
    # Chi-squared of a 2 x 2 table: n (n n11 - n1. n.1)^2 / (n1. n0. n.1 n.0).
    excess = total * (Y.T @ (weight[:, np.newaxis] * Y)) - np.outer(count, count)
    spread = count * (total - count)
    scale = np.outer(spread, spread)
    chi_squared = np.divide(total * excess**2, scale, out=np.zeros_like(scale), where=scale > 0)
    one, other = np.triu_indices(len(count), k=1)
    statistic = chi_squared[one, other]
    critical = stats.chi2.isf(alpha, df=1)
    for k in np.argsort(-statistic, kind="stable"):
        if statistic[k] <= critical:
            return
        yield int(one[k]), int(other[k])


def _out_of_fold(
    data: FitData, group: NDArray[np.intp], learner: Any, folds: NDArray[np.intp]
) -> NDArray[np.int64]:
    """Predict the labels of a group out of fold."""
    predicted = np.empty((len(data.Y), len(group)), dtype=np.int64)
    weight = data.sample_weight
    for fold in range(folds.max() + 1):
        train, test = folds != fold, folds == fold
        model = PowersetModel(learner).fit(
            data.X[train], data.Y[train][:, group], None if weight is None else weight[train]
        )
        predicted[test] = model.predict(data.X[test])
    return predicted
