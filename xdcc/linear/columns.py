"""The columns that the regressions learn from, computed from the features.

A number is one column, a category one column per value. A missing number is replaced by the mean,
a missing category by zeros. If a feature has missing values in training, an additional column
marks them.

*Text-like* features are nonnegative and mostly zero, such as counts of words. Their columns are
multiplied by the inverse document frequency log((1 + n) / (1 + d)) + 1, for a column that is not
zero in d of n rows, and each row is divided by its length. Other columns are divided by their
standard deviations. They are not centred, so sparse features stay sparse; the intercept is not
penalised and compensates for it.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Shape
from xdcc.base.workers import sum_of_all
from xdcc.linear.logistic import Floats, Matrix

_FEWEST_WORDS = 50
_FEWEST_ZEROS = 0.7
"""Minimum number of features and share of zeros of text."""

_MOST_ENTRIES = 2**22
"""Maximum number of entries of categorical columns that are made dense, 32 MiB: most are zero, so a
sparse matrix is then faster."""


@stored
@dataclass(frozen=True, eq=False)
class Columns:
    """Imputation, encoding and scaling, learned on training rows."""

    n_categories: Annotated[NDArray[np.intp], Shape(None)]  # of each feature, 0 for a number
    fill: Annotated[Floats, Shape("n_categories")]  # mean of the known values
    has_indicator: Annotated[NDArray[np.bool_], Shape("n_categories")]  # a column for missing ones
    scale: Annotated[Floats, Shape(None)]  # of each column
    text_like: bool
    deviation: Floats  # (n_columns,), of the transformed columns of the training rows
    mean: Annotated[Floats | None, Shape("scale")] = None  # of these columns; None in files of 0.2

    def _check_state(self) -> None:
        n_columns = np.maximum(self.n_categories, 1).sum() + self.has_indicator.sum()
        require(len(self.scale) == n_columns, "scale")

    @classmethod
    def learn(
        cls,
        X: Features,
        n_categories: NDArray[np.intp],
        weight: NDArray[np.floating] | None,
        text_like: bool | None,
    ) -> Self:
        """Learn from the rows of positive weight; if `text_like` is None, detect it."""
        if weight is None:
            weight = np.ones(X.shape[0])
        elif not weight.all():
            X, weight = X[weight > 0], weight[weight > 0]
        share = np.asarray(weight / _total(weight), dtype=np.float64)
        missing = _missing(X)
        fill = np.where(n_categories > 0, 0.0, _known_means(X, missing, share))
        if text_like is None:
            text_like = _is_text_like(X, n_categories)
        has_indicator = sum_of_all(np.asarray(missing.sum(axis=0)).ravel()) > 0
        n_columns = np.maximum(n_categories, 1).sum() + has_indicator.sum()
        one = np.ones(n_columns)
        unscaled = cls(n_categories, fill, has_indicator, one, text_like, one)
        complete = unscaled.complete(X)
        scale = (
            _document_frequencies(complete, weight)
            if text_like
            else _inverse_deviations(complete, share)
        )
        scaled = replace(unscaled, scale=scale)
        transformed = scaled.transform(X)
        return replace(
            scaled,
            deviation=np.sqrt(_variances(transformed, share)),
            mean=_means(transformed, share),
        )

    def complete(self, X: Features) -> Matrix:
        """Compute the columns without scaling, (n_samples, n_columns)."""
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
        """Compute the columns of a dense X as a sparse matrix."""
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
        """Compute the columns of a sparse X, which has no categories."""
        columns = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        missing = np.isnan(columns.data)
        if missing.any():
            columns.data[missing] = self.fill[columns.indices[missing]]
        if not self.has_indicator.any():
            return columns
        return sparse.csr_matrix(sparse.hstack((columns, _missing(X)[:, self.has_indicator])))

    @property
    def features(self) -> NDArray[np.intp]:
        """The feature of each column, (n_columns,)."""
        of_values = np.repeat(np.arange(len(self.fill)), np.maximum(self.n_categories, 1))
        return np.r_[of_values, np.flatnonzero(self.has_indicator)]

    def _first_columns(self) -> NDArray[np.intp]:
        """Return the first column of each feature, followed by that of the first indicator."""
        return np.r_[0, np.cumsum(np.maximum(self.n_categories, 1))]

    def row_lengths(self, complete: Matrix) -> Floats:
        """Compute the divisor of each row from columns without scaling, (n_samples,)."""
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
        """Compute the scaled columns; a CSR matrix if X is sparse or text-like."""
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
        """Name the columns."""
        found = []
        for feature, name in enumerate(feature_names):
            values = categories.get(feature, ())
            found += [f"{name}={value}" for value in values] if len(values) else [name]
        found += [f"{feature_names[f]} is missing" for f in np.flatnonzero(self.has_indicator)]
        return np.array(found, dtype=object)


def _missing(X: Features) -> NDArray[np.bool_] | sparse.csr_matrix:
    """Mark missing values in a matrix of the same form as X."""
    if not isinstance(X, sparse.csr_matrix):
        return np.isnan(X)
    at = np.flatnonzero(np.isnan(X.data))
    rows = np.searchsorted(X.indptr, at, side="right") - 1
    return sparse.csr_matrix((np.ones(len(at)), (rows, X.indices[at])), shape=X.shape)


def _known_means(X: Features, missing: Any, share: Floats) -> Floats:
    """Average the known values of each feature; 0 if there are none."""
    if isinstance(X, sparse.csr_matrix):
        known = X.astype(np.float64)
        known.data[np.isnan(known.data)] = 0
    else:
        known = np.where(missing, 0.0, X)
    weight = 1 - sum_of_all(share @ missing)
    total = sum_of_all(share @ known)
    # Less is the rounding error of the sum.
    return np.divide(total, weight, out=np.zeros(X.shape[1]), where=weight > 1e-12)


def _is_text_like(X: Features, n_categories: NDArray[np.intp]) -> bool:
    """Whether the features are many, nonnegative and mostly zero."""
    if n_categories.any() or X.shape[1] < _FEWEST_WORDS:
        return False
    values = X.data if isinstance(X, sparse.csr_matrix) else X
    n_entries, n_missing = X.shape[0] * X.shape[1], np.isnan(values).sum()
    n_zeros = n_entries - np.count_nonzero(values)
    counts = np.array([(values < 0).sum(), n_zeros, n_entries - n_missing], dtype=np.int64)
    n_negative, n_zeros, n_known = sum_of_all(counts)
    return bool(not n_negative and n_zeros > _FEWEST_ZEROS * n_known)


def _document_frequencies(complete: Matrix, weight: NDArray[np.floating]) -> Floats:
    """Compute inverse document frequencies."""
    found = sum_of_all(np.asarray(weight.astype(np.float64) @ (complete != 0)).ravel())
    return np.log((1 + _total(weight)) / (1 + found)) + 1


def _total(weight: NDArray[np.floating]) -> NDArray[np.float64]:
    """Add up the weights of the rows of all workers; an array without dimensions."""
    return sum_of_all(np.array(weight.sum(dtype=np.float64)))


def _inverse_deviations(complete: Matrix, share: Floats) -> Floats:
    """Invert standard deviations; 0 for a column that is constant."""
    variances = _variances(complete, share)
    return np.divide(1, np.sqrt(variances), out=np.zeros_like(variances), where=variances > 0)


def _means(columns: Matrix, share: Floats) -> Floats:
    """Compute the mean of each column."""
    return sum_of_all(np.asarray(share @ columns).ravel())


def _variances(columns: Matrix, share: Floats) -> Floats:
    """Compute the variance of each column, 0 if it is constant."""
    means = _means(columns, share)
    if isinstance(columns, sparse.csr_matrix):
        squares = sum_of_all(np.asarray(share @ columns.multiply(columns)).ravel())
        variances = squares - means**2
    else:
        variances = sum_of_all(share @ (columns - means) ** 2)
    # The variance of a constant column may be a rounding error.
    return np.where(variances > 1e-10 * means**2, variances, 0.0)
