"""Codes for categories that did not occur in ``fit``.

With ``unknown_categories="separate"``, ``fit`` chooses the code of such a category among those of
the column, so every kind of model has learned what to do with it, and missing values stay apart:

- The categories with fewer than 5 rows share one code, if they have 20 rows or more together: a
  model learns what rare categories have in common. A new category is one of them. The bound is
  lower if they have more than half of the rows.
- Without such categories, a new one gets the code of the most typical category, whose labels differ
  least from those of all rows that have a category. The training data stay as they are.
"""

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm

_FEW_ROWS = 5
"""The bound: of a category with fewer rows than folds, some fold has no training row."""

_LEAST_SHARED = 20
_MOST_SHARED = 0.5
"""Largest share of the rows whose categories share a code."""

type Floats = NDArray[np.float64]


class LabelSums(NamedTuple):
    """Sums of the labels, or targets, of the rows that have a category.

    Attributes
    ----------
    weight, label : float64 arrays of shape (n_categories, n_labels)
        By category: the weights of known labels, and these weights times the labels.
    square : float64 array of shape (n_labels,)
        The weights times the squared labels.

    Examples
    --------
    >>> ones = np.ones((2, 1))
    >>> LabelSums(weight=np.array([[1.0], [3.0]]), label=ones, square=2 * ones[0]).most_typical()
    1
    """

    weight: Floats
    label: Floats
    square: Floats

    @classmethod
    def of(cls, data: FitData, position: int, n_categories: int) -> Self:
        """Add up the rows of a column."""
        rows = _counted(data, position)
        codes = data.X[rows, position].astype(np.intp)
        n_labels = data.Y.shape[1]
        weight, label = np.zeros((2, n_categories, n_labels))
        square = np.zeros(n_labels)
        for j in range(n_labels):
            values = data.Y[rows, j].astype(np.float64)
            known = np.where(np.isnan(values), 0.0, data.label_weight(j)[rows])
            values = np.nan_to_num(values)
            weight[:, j] = np.bincount(codes, known, n_categories)
            label[:, j] = np.bincount(codes, known * values, n_categories)
            square[j] = known @ values**2
        return cls(weight, label, square)

    def most_typical(self) -> int:
        """Return the category whose labels differ least from those of all, noise included.

        The difference of two means is squared and divided by the variance of the label. It is
        shrunk for a category of few rows, whose sampling error is added.
        """
        total = self.weight.sum(axis=0)
        differences = np.zeros(len(self.weight))
        for weight, label, square, of_all in zip(
            self.weight.T, self.label.T, self.square, total, strict=True
        ):
            mean = label.sum() / of_all if of_all else 0.0
            variance = square / of_all - mean**2 if of_all else 0.0
            if variance > 1e-9 * mean**2:
                shrunk = (label - weight * mean) / (weight + 1)
                differences += shrunk**2 / variance + 1 / (weight + 1)
        return int(np.argmin(differences))


def settle_unknown_categories(data: FitData) -> FitData:
    """Choose the codes of unknown and rare categories from the rows of ``fit``.

    Returns `data` with a form that has these codes. Rare categories get theirs in X, in place: X is
    an array that was made of a DataFrame.

    Examples
    --------
    >>> import pandas as pd
    >>> from xdcc.base.features import learn_features
    >>> city = pd.DataFrame({"city": pd.Categorical(list("aaabbb"))})
    >>> form, X = learn_features(
    ...     city, "Model", takes_categories=True, unknown_categories="separate"
    ... )
    >>> Y = np.array([[0], [0], [0], [0], [1], [0]], np.float32)
    >>> settle_unknown_categories(FitData(X, Y, None, form)).input_form.unknown_codes
    {0: 0}
    """
    form = data.input_form
    if form is None or form.unknown_categories != "separate" or not form.categories:
        return data
    settled = with_rare(form, {at: n_rows_of(data, at) for at in _columns(form)})
    sums = {at: LabelSums.of(data, at, len(form.categories[at])) for at in lacking_codes(settled)}
    settled = with_typical(settled, sums)
    X = data.X.copy() if settled.rare else data.X  # it can be the memory of the user's DataFrame
    for position, rare in (settled.rare or {}).items():
        X[np.isin(X[:, position], rare), position] = settled.code_of_unknown(position)
    return data._replace(X=X, input_form=settled)


def n_rows_of(data: FitData, position: int) -> NDArray[np.intp]:
    """Count the rows of each category of a column, those of positive weight.

    Examples
    --------
    >>> X, Y = np.array([[0], [1], [1], [np.nan]]), np.zeros((4, 1))
    >>> n_rows_of(FitData(X, Y, None, InputForm(1, categories={0: np.array(["a", "b"])})), 0)
    array([1, 2])
    """
    assert data.input_form is not None
    assert data.input_form.categories is not None
    codes = data.X[_counted(data, position), position].astype(np.intp)
    return np.bincount(codes, minlength=len(data.input_form.categories[position]))


def with_rare(form: InputForm, n_rows: dict[int, NDArray[np.intp]]) -> InputForm:
    """Choose the categories of few rows that share a code, by the column's position.

    Examples
    --------
    >>> cities = InputForm(1, categories={0: np.array(["a", "b", "c", "d", "e", "f"])})
    >>> found = with_rare(cities, {0: np.array([4] * 5 + [60])})
    >>> found.rare, found.unknown_codes
    ({0: array([0, 1, 2, 3, 4])}, {0: 0})
    """
    found = {at: rare for at, of in n_rows.items() if len(rare := _rare(of))}
    codes = {at: int(rare[0]) for at, rare in found.items()}
    return replace(form, rare=found or None, unknown_codes=codes or None)


def lacking_codes(form: InputForm) -> list[int]:
    """Return the columns with categories that have no code for an unknown one.

    Examples
    --------
    >>> lacking_codes(InputForm(2, categories={1: np.array(["a"])}))
    [1]
    """
    return [at for at in _columns(form) if at not in (form.unknown_codes or {})]


def with_typical(form: InputForm, sums: dict[int, LabelSums]) -> InputForm:
    """Give unknown categories of some columns the code of the most typical one.

    Examples
    --------
    >>> form = InputForm(1, categories={0: np.array([10, 20])})
    >>> sums = LabelSums(np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]]), np.array([2.0]))
    >>> with_typical(form, {0: sums}).unknown_codes
    {0: 1}
    """
    typical = {at: of.most_typical() for at, of in sums.items()}
    return replace(form, unknown_codes={**(form.unknown_codes or {}), **typical} or None)


def _columns(form: InputForm) -> list[int]:
    """Return the columns with categories that are no identifiers of rows."""
    return [at for at, categories in (form.categories or {}).items() if len(categories)]


def _counted(data: FitData, position: int) -> NDArray[np.intp]:
    """Return the rows that have a category and a positive weight."""
    return np.flatnonzero(~np.isnan(data.X[:, position]) & (data.weight > 0))


def _rare(n_rows: NDArray[np.intp]) -> NDArray[np.intp]:
    for bound in range(_FEW_ROWS, 1, -1):
        few = np.flatnonzero(n_rows < bound)
        n_shared = n_rows[few].sum()
        if n_shared <= _MOST_SHARED * n_rows.sum():
            return few if n_shared >= _LEAST_SHARED else few[:0]
    return np.empty(0, np.intp)
