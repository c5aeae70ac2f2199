"""The columns that the regressions learn from, made of the features.

A number is one column; a category is one column per value, 1 where it occurs. A missing number is
the feature's mean, a missing category is none of the values; where values were missing in
training, a further column says which ones are. Each column is then multiplied by a factor, and
the rows of a text get the length 1.

*Text-like* features are not negative and mostly zero, as the counts of words in documents are. A
column's factor is then its inverse document frequency, log((1 + n) / (1 + d)) + 1 for a column
that is not zero in d of n rows, and each row is divided by its length, so that long documents
count no more than short ones. All other columns are divided by their standard deviations. They are
not centred: the intercept is not penalised and makes up for it, so sparse features stay sparse.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.linear.logistic import Floats, Matrix

_FEWEST_WORDS = 50
_FEWEST_ZEROS = 0.7
"""So many features, and so large a share of zeros, are taken for words."""

_MOST_ENTRIES = 2**25
"""Columns of categories beyond this number of entries (256 MiB) are kept sparse."""


@dataclass(frozen=True, eq=False)
class Columns:
    """How features become columns, learned on training rows.

    Attributes
    ----------
    n_categories : int array of shape (n_features,)
        Number of values of a category; 0 for a number.
    fill : float64 array of shape (n_features,)
        Mean of a number's known values.
    has_indicator : bool array of shape (n_features,)
        Whether a column says where the feature is missing.
    scale : float64 array of shape (n_columns,)
        Factor of each column.
    text_like : bool
        Whether rows are divided by their lengths.
    """

    n_categories: NDArray[np.intp]
    fill: Floats
    has_indicator: NDArray[np.bool_]
    scale: Floats
    text_like: bool

    @classmethod
    def learn(
        cls,
        X: Features,
        n_categories: NDArray[np.intp],
        weight: NDArray[np.floating] | None,
        text_like: bool | None,
    ) -> Self:
        """Learn columns from the rows that count.

        Parameters
        ----------
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            Checked features; codes of categories.
        n_categories : int array of shape (n_features,)
            As the attribute.
        weight : float array of shape (n_samples,) or None
            Weights of the rows.
        text_like : bool or None
            None finds out.

        Returns
        -------
        Columns
        """
        if weight is None:
            weight = np.ones(X.shape[0])
        elif not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        share = np.asarray(weight / weight.sum(dtype=np.float64), dtype=np.float64)
        missing = _missing(X)
        fill = np.where(n_categories > 0, 0.0, _known_means(X, missing, share))
        if text_like is None:
            text_like = _is_text_like(X, n_categories)
        has_indicator = np.asarray(missing.sum(axis=0)).ravel() > 0
        n_columns = np.maximum(n_categories, 1).sum() + has_indicator.sum()
        unscaled = cls(n_categories, fill, has_indicator, np.ones(n_columns), text_like)
        complete = unscaled.complete(X)
        scale = (
            _document_frequencies(complete, weight)
            if text_like
            else _inverse_deviations(complete, share)
        )
        return cls(n_categories, fill, has_indicator, scale, text_like)

    def complete(self, X: Features) -> Matrix:
        """Make the columns, not scaled.

        Parameters
        ----------
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            Checked features.

        Returns
        -------
        float64 array or CSR matrix of shape (n_samples, n_columns)
        """
        if sparse.issparse(X):
            return self._complete_sparse(X)
        missing = np.isnan(X)
        filled = np.where(missing, self.fill, X)
        if not (self.n_categories.any() or self.has_indicator.any()):
            return filled
        if len(X) * len(self.scale) > _MOST_ENTRIES:
            return self._complete_categories(filled, missing)
        columns = np.zeros((len(X), len(self.scale)))
        first = self._first_columns()
        numbers = self.n_categories == 0
        columns[:, first[:-1][numbers]] = filled[:, numbers]
        for feature in np.flatnonzero(~numbers):
            rows = np.flatnonzero(~missing[:, feature])
            columns[rows, first[feature] + X[rows, feature].astype(np.intp)] = 1
        columns[:, first[-1] :] = missing[:, self.has_indicator]
        return columns

    def _complete_categories(self, filled: Floats, missing: NDArray[np.bool_]) -> sparse.csr_matrix:
        """Make the columns of a dense X as a sparse matrix."""
        first = self._first_columns()
        numbers = self.n_categories == 0
        known = ~missing | numbers
        column = np.where(numbers, first[:-1], first[:-1] + filled.astype(np.intp))
        entries = np.where(numbers, filled, 1.0)
        made = sparse.csr_matrix(
            (entries[known], column[known], np.r_[0, np.cumsum(known.sum(axis=1))]),
            shape=(len(filled), first[-1]),
        )
        indicators = sparse.csr_matrix(missing[:, self.has_indicator], dtype=np.float64)
        return sparse.csr_matrix(sparse.hstack((made, indicators)))

    def _complete_sparse(self, X: sparse.csr_matrix) -> sparse.csr_matrix:
        """Make the columns of a sparse X, which has no categories."""
        columns = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        missing = np.isnan(columns.data)
        if missing.any():
            columns.data[missing] = self.fill[columns.indices[missing]]
        if not self.has_indicator.any():
            return columns
        return sparse.csr_matrix(sparse.hstack((columns, _missing(X)[:, self.has_indicator])))

    def _first_columns(self) -> NDArray[np.intp]:
        """Each feature's first column, and behind them that of the first indicator."""
        return np.r_[0, np.cumsum(np.maximum(self.n_categories, 1))]

    def row_lengths(self, complete: Matrix) -> Floats:
        """Lengths that rows are divided by, of columns that are not scaled, (n_samples,)."""
        if not self.text_like:
            return np.ones(complete.shape[0])
        squares = (
            complete.multiply(complete)
            if isinstance(complete, sparse.csr_matrix)
            else complete * complete
        )
        lengths = np.sqrt(np.asarray(squares @ self.scale**2))
        return np.where(lengths > 0, lengths, 1.0)

    def transform(self, X: Features) -> Matrix:
        """Make the columns as the regressions learn from them.

        Parameters
        ----------
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            Checked features.

        Returns
        -------
        float64 array or CSR matrix of shape (n_samples, n_columns)
            A CSR matrix where X is sparse or text-like.
        """
        complete = self.complete(X)
        factors = 1 / self.row_lengths(complete)
        if self.text_like and not sparse.issparse(complete):
            complete = sparse.csr_matrix(complete)
        if isinstance(complete, sparse.csr_matrix):
            complete.data *= self.scale[complete.indices]
            complete.data *= np.repeat(factors, np.diff(complete.indptr))
            return complete
        return complete * self.scale

    def names(
        self, feature_names: list[str], categories: dict[int, NDArray[Any]]
    ) -> NDArray[np.object_]:
        """Name the columns: ``"colour=red"`` of a category, ``"colour is missing"``."""
        found = []
        for feature, name in enumerate(feature_names):
            values = categories.get(feature)
            found += [name] if values is None else [f"{name}={value}" for value in values]
        found += [f"{feature_names[f]} is missing" for f in np.flatnonzero(self.has_indicator)]
        return np.array(found, dtype=object)


def _missing(X: Features) -> NDArray[np.bool_] | sparse.csr_matrix:
    """Mark what is missing, as X is stored."""
    if not isinstance(X, sparse.csr_matrix):
        return np.isnan(X)
    at = np.flatnonzero(np.isnan(X.data))
    rows = np.searchsorted(X.indptr, at, side="right") - 1
    return sparse.csr_matrix((np.ones(len(at)), (rows, X.indices[at])), shape=X.shape)


def _known_means(X: Features, missing: Any, share: Floats) -> Floats:
    """Average the known values; 0 where there are none."""
    if isinstance(X, sparse.csr_matrix):
        known = X.astype(np.float64)
        known.data[np.isnan(known.data)] = 0
    else:
        known = np.where(missing, 0.0, X)
    weight = 1 - share @ missing
    # The rounding error of the sum is no known value.
    return np.divide(share @ known, weight, out=np.zeros(X.shape[1]), where=weight > 1e-12)


def _is_text_like(X: Features, n_categories: NDArray[np.intp]) -> bool:
    """Tell whether features are many, not negative and mostly zero."""
    if n_categories.any() or X.shape[1] < _FEWEST_WORDS:
        return False
    values = X.data if isinstance(X, sparse.csr_matrix) else X
    if (values < 0).any():
        return False
    n_missing = np.isnan(values).sum()
    n_known = X.shape[0] * X.shape[1] - n_missing
    return bool(n_known - np.count_nonzero(values) + n_missing > _FEWEST_ZEROS * n_known)


def _document_frequencies(complete: Matrix, weight: NDArray[np.floating]) -> Floats:
    """Compute inverse document frequencies."""
    total = weight.sum(dtype=np.float64)
    found = np.asarray(weight.astype(np.float64) @ (complete != 0)).ravel()
    return np.log((1 + total) / (1 + found)) + 1


def _inverse_deviations(complete: Matrix, share: Floats) -> Floats:
    """Invert standard deviations; 0 for a column that is constant."""
    means = np.asarray(share @ complete).ravel()
    if isinstance(complete, sparse.csr_matrix):
        variances = np.asarray(share @ complete.multiply(complete)).ravel() - means**2
    else:
        variances = share @ (complete - means) ** 2
    # A column of equal large numbers has a variance of rounding errors.
    varies = variances > 1e-10 * means**2
    return np.divide(1, np.sqrt(np.maximum(variances, 0)), out=np.zeros_like(means), where=varies)
