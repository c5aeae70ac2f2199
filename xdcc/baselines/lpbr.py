"""LPBR: labels that depend on each other share a label powerset, the others stand alone."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from xdcc.baselines.learner_classifier import LearnerClassifier
from xdcc.baselines.powerset_model import PowersetModel
from xdcc.boosting.domains import Number, check_domain
from xdcc.folds import stratified_folds
from xdcc.metrics import subset_accuracy
from xdcc.validation import Features, FitData


class LPBR(LearnerClassifier):
    """Label powersets of groups of dependent labels (ChiDep, in Mulan: LPBR).

    At first every label is a group. Pairs of labels are tried in the order of their chi-squared
    statistic: the groups of the two are merged if that raises the subset accuracy in
    cross-validation on the training data.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba` for several classes; None is a decision tree.
    patience : int, default=5
        How many merges in a row may fail to raise the subset accuracy before the search ends.
    cv : int, default=5
        Number of folds.
    alpha : float, default=0.01
        Significance level of the chi-squared test; pairs that are not significant are not tried.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and the base learner.

    Attributes
    ----------
    groups_ : list of int arrays
        Indices of the labels in each group.
    models_ : list of PowersetModel
        Model of each group.
    n_labels_ : int
        Number of labels.
    label_names_ : array of str of shape (n_labels,)
        Column names of a DataFrame, else `label_0`, `label_1` and so on.
    classes_ : list of arrays
        The values 0 and 1 for each label.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str of shape (n_features,)
        Names of the features, if X was a DataFrame with names.

    Notes
    -----
    A group predicts its most probable labelset, so `predict` need not be where probabilities are
    at least 0.5. A trial trains the models of the merged group only. Missing values in X are the
    base learner's affair; in sparse X what is not stored is 0.

    References
    ----------
    L. Tenenboim-Chaimovich, L. Rokach, B. Shapira: Identification of label dependencies for
    multi-label classification. MLD workshop at ICML 2010.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        patience: int = 5,
        cv: int = 5,
        alpha: float = 0.01,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(estimator=estimator, random_state=random_state)
        self.patience = patience
        self.cv = cv
        self.alpha = alpha

    @staticmethod
    def _default_learner() -> Any:
        return DecisionTreeClassifier()

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Find the groups and train their models.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers.
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            Zeros and ones; one dimension is a single label.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        self : LPBR
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its domain, the base learner has no probabilities or refuses
            the data, the data are not as described, there are fewer rows than folds, or a label
            is unknown (NaN).
        """
        check_domain("patience", self.patience, Number(low=1, whole=True))
        check_domain("cv", self.cv, Number(low=2, whole=True))
        check_domain("alpha", self.alpha, Number(low=0, high=1, low_open=True))
        data, learner, random = self._begin_fit(X, Y, sample_weight)
        folds = stratified_folds(data.Y, self.cv, random)
        self.groups_ = self._find_groups(data, learner, folds)
        self.models_ = [
            PowersetModel(learner).fit(data.X, data.Y[:, group], data.sample_weight)
            for group in self.groups_
        ]
        return self

    def _find_groups(
        self, data: FitData, learner: Any, folds: NDArray[np.intp]
    ) -> list[NDArray[np.intp]]:
        groups = [np.array([label]) for label in range(self.n_labels_)]
        group_of = np.arange(self.n_labels_)
        pairs = list(_dependent_pairs(data, self.alpha))
        if not pairs:
            return groups
        predicted = np.hstack([_out_of_fold(data, group, learner, folds) for group in groups])
        best = subset_accuracy(data.Y, predicted, sample_weight=data.sample_weight)
        failures = 0
        for one, other in pairs:
            if group_of[one] == group_of[other]:
                continue
            merged = np.sort(np.concatenate((groups[group_of[one]], groups[group_of[other]])))
            trial = predicted.copy()
            trial[:, merged] = _out_of_fold(data, merged, learner, folds)
            score = subset_accuracy(data.Y, trial, sample_weight=data.sample_weight)
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
    """Significantly dependent pairs of labels, the most dependent first."""
    Y = data.Y.astype(np.float64)
    weight = np.ones(len(Y)) if data.sample_weight is None else data.sample_weight
    total, count = weight.sum(), weight @ Y
    # Of a 2 x 2 table: n (n n11 - n1. n.1)^2 / (n1. n0. n.1 n.0).
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
    """Predict the labels of a group for rows that its model has not seen."""
    predicted = np.empty((len(data.Y), len(group)), dtype=np.int64)
    weight = data.sample_weight
    for fold in range(folds.max() + 1):
        train, test = folds != fold, folds == fold
        model = PowersetModel(learner).fit(
            data.X[train], data.Y[train][:, group], None if weight is None else weight[train]
        )
        predicted[test] = model.predict(data.X[test])
    return predicted
