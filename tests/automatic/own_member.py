"""A member of a mixture as a user writes it: outside the package, in one file."""

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from xdcc.automatic import Candidate, MemberFamily
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.prediction.layout import LinearPart


class CentroidClassifier(ClassifierMixin, BaseEstimator):
    """A label is likely where the mean of the rows with it is nearer than that of the others."""

    def __init__(self, sharpness=1.0):
        self.sharpness = sharpness

    def fit(self, X, Y):
        self.classes_ = np.array([0, 1])
        whole = np.asarray(X, float).mean(axis=0)
        self.centroids_ = [
            [np.asarray(X)[column == value].mean(axis=0) if (column == value).any() else whole
             for value in (0, 1)]
            for column in np.asarray(Y).T
        ]  # fmt: skip
        return self

    def predict_proba(self, X):
        rows = np.asarray(X, float)[:, np.newaxis]
        absent, present = (
            ((rows - [pair[value] for pair in self.centroids_]) ** 2).sum(axis=2)
            for value in (0, 1)
        )
        return expit(self.sharpness * (absent - present))


@declares_parameters
class Covariances(MultiLabelEstimator):
    """Log-odds by the covariances of features and labels, a linear function with a flat form."""

    def fit(self, X, Y, sample_weight=None):
        data = self._begin_fit(X, Y, sample_weight)
        centred = data.Y - data.Y.mean(axis=0)
        self.coef_ = 2 * centred.T @ np.nan_to_num(data.X) / len(data.Y)
        self.intercept_ = np.zeros(data.Y.shape[1])
        return self

    def _margins(self, X):
        return np.nan_to_num(X) @ self.coef_.T + self.intercept_

    def _proba(self, X):
        return expit(self._margins(X))

    def _add_to(self, builder):
        n = self.n_features_in_
        columns, one = np.arange(n, dtype=np.int32), np.ones(n)
        weight = np.ascontiguousarray(self.coef_.T, np.float64).ravel()
        builder.add_linear(
            LinearPart(columns, 0 * columns, 0 * columns - 1, 0 * one, weight, one,
                       self.intercept_, False)
        )  # fmt: skip


class Centroids(MemberFamily):
    """Centroids, with two sharpnesses in any case, and others as long as time lasts."""

    name = "centroids"
    draws = 1

    def candidates(self, shape, longest):
        return [self._candidate(shape, sharpness) for sharpness in (0.3, 1.0)]

    def draw(self, shape, random, longest):
        return self._candidate(shape, round(random.uniform(0.1, 2), 3))

    def _candidate(self, shape, sharpness):
        seconds = 1e-8 * shape.n_folds * shape.n_entries * shape.n_labels
        return Candidate(f"centroids, {sharpness}", CentroidClassifier(sharpness), seconds)
