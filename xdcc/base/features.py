"""The check of X, and the form in which estimators get it.

A sparse X needs two more checks. Its arrays must fit together (``sparse_structure.py``), and
entries that X does not store need a meaning (`_settle_sparse_zeros`): XGBoost takes them for
missing values, scikit-learn for zeros. If you fit on one form of X and predict on the other,
predictions would silently be wrong. So estimators on XGBoost have a parameter for it,
`sparse_zeros`.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from xdcc.base.categories import (
    encode_categories,
    learn_categories,
    numbers_as_in_fit,
    without_identifiers,
)
from xdcc.base.frames import as_pandas
from xdcc.base.input_form import SPARSE_ZEROS as SPARSE_ZEROS
from xdcc.base.input_form import Features, InputForm, UnknownCategories
from xdcc.base.input_form import SparseZeros as SparseZeros
from xdcc.base.package import PACKAGE
from xdcc.base.sparse_structure import check_sparse_structure

_MOST_LISTED = 5


def learn_features(
    X: Any,
    estimator: str,
    *,
    takes_categories: bool = False,
    sparse_zeros: SparseZeros | None = None,
    unknown_categories: UnknownCategories = "missing",
) -> tuple[InputForm, Features]:
    """Check X in ``fit``, and learn its form.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Numbers, and categories in a DataFrame if they are taken; NaN is a missing value. The
        DataFrame may be one of pandas, Polars, PyArrow or any other that
        :func:`~xdcc.base.frames.as_pandas` reads.
    estimator : str
        Name of the estimator in messages.
    takes_categories : bool, default=False
        Whether the estimator can learn from categories.
    sparse_zeros : str, optional
        What entries mean that a sparse X does not store: "missing", "zero", or None if it is up to
        the estimator.
    unknown_categories : str, default="missing"
        What a category is to be that X does not have, for the form.

    Returns
    -------
    form : InputForm
        The form of X.
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        As from :func:`check_features`.

    Raises
    ------
    ValueError
        If X is empty, holds infinity or text, or categories that the estimator does not take, or
        is a sparse matrix that points outside itself.
    TypeError
        If some columns of a DataFrame have text for a name, and others do not.

    Examples
    --------
    >>> form, X = learn_features(pd.DataFrame({"size": [1.5, None]}), "Model")
    >>> form.names, X.T
    (array(['size'], dtype=object), array([[1.5, nan]], dtype=float32))
    """
    check_sparse_structure("X", X)
    X = as_pandas(X)
    names, categories = _names_of(X), None
    if isinstance(X, pd.DataFrame):
        categories = learn_categories(X, takes_categories)
        X = encode_categories(X, InputForm(max(X.shape[1], 1), categories=categories))
    checked = _settle_sparse_zeros(_numbers(X, estimator), sparse_zeros)
    is_sparse = None if sparse_zeros is None else sparse.issparse(checked)
    form = InputForm(checked.shape[1], names, categories, sparse_zeros, is_sparse)
    return replace(form, unknown_categories=unknown_categories), checked


def leave_features(X: Any, estimator: str) -> tuple[InputForm, Any]:
    """Learn the number and names of features, and leave the check of X to other classifiers.

    Examples
    --------
    >>> leave_features([["red"], ["blue"]], "Model")[0].n_features
    1
    """
    X = as_pandas(X)
    shape = np.shape(
        check_array(
            X,
            accept_sparse=True,
            dtype=None,
            ensure_all_finite=False,
            estimator=estimator,
            input_name="X",
        )
    )
    return InputForm(shape[1], _names_of(X), is_open=True), X


def check_features(form: InputForm, X: Any, estimator: str) -> Any:
    """Check X at prediction.

    Parameters
    ----------
    form : InputForm
        The form of X in ``fit``.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        In this form; columns that had names may come in any order. A category that did not occur in
        fit is what `unknown_categories` says.
    estimator : str
        Name of the estimator in messages.

    Returns
    -------
    float32 array or CSR matrix of shape (n_samples, n_features)
        Categories as their codes. A sparse matrix comes back with sorted
        indices and without duplicates, or as an array if its zeros are to be zeros
        (:mod:`xdcc.base.features`).

    Raises
    ------
    ValueError
        As :func:`learn_features`, or if X has other columns than in fit: another number, other
        names, other types; or is sparse where a missing entry could be mistaken.

    Examples
    --------
    >>> form, _ = learn_features([[1, np.nan], [3, 4]], "Model")
    >>> check_features(form, [[5, 6]], "Model")
    array([[5., 6.]], dtype=float32)
    >>> named, _ = learn_features(pd.DataFrame({"size": [1], "age": [2]}), "Model")
    >>> check_features(named, pd.DataFrame({"age": [3], "size": [4]}), "Model")
    array([[4., 3.]], dtype=float32)
    >>> check_features(form, [[1], [2]], "Model")
    Traceback (most recent call last):
    ValueError: X has 1 features, but Model is expecting 2 features as input.
    """
    if not form.is_open:
        check_sparse_structure("X", X)
    X = _in_order(form, as_pandas(X))
    if form.is_open:
        return X
    if isinstance(X, pd.DataFrame):
        _check_names(form, X, estimator)
        _check_number(form, X, estimator)
        X = encode_categories(numbers_as_in_fit(X, form.categories), form)
    elif form.categories:
        raise ValueError(
            f"X is a {type(X).__name__}, but must be a DataFrame as in fit, where the columns at "
            f"position {', '.join(map(str, form.categories))} were categories."
        )
    else:
        _check_names(form, X, estimator)
    checked = _numbers(X, estimator)
    _check_number(form, checked, estimator)
    checked = _settle_sparse_zeros(checked, form.sparse_zeros)
    if form.is_sparse is not None and form.is_sparse != sparse.issparse(checked):
        found, before = ("dense", "sparse") if form.is_sparse else ("sparse", "dense")
        raise ValueError(
            f"X is {found}, but in fit it was {before}. With sparse_zeros='missing' an entry that "
            "a sparse X does not store is a missing value, where a dense X would have a zero, and "
            "trees tell the two apart. Fit with sparse_zeros='zero' if both mean a zero, or give X "
            "the form that it had in fit."
        )
    return checked


def ignore_identifiers(form: InputForm, X: Features) -> tuple[InputForm, Features]:
    """Make columns missing that have a category for almost every row, with a warning.

    They identify rows and tell nothing about others. In the form they have no categories. A
    ValueError says that X has no other column.

    Examples
    --------
    >>> ids = pd.DataFrame({"id": pd.Categorical([f"row {i}" for i in range(60)]), "size": 1.5})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     form, X = ignore_identifiers(*learn_features(ids, "Model", takes_categories=True))
    >>> form.categories, np.isnan(X).all(axis=0)
    ({0: array([], dtype=object)}, array([ True, False]))
    """
    if form.categories is None or sparse.issparse(X):
        return form, X
    categories, X = without_identifiers(form.categories, form.names, X)
    if len(categories) == form.n_features and not any(map(len, categories.values())):
        raise ValueError(
            "Every column of X has a category for almost every row: nothing is left to learn from. "
            "If their values are numbers or dates, make numbers of them."
        )
    return replace(form, categories=categories), X


def _numbers(X: Any, estimator: str) -> Features:
    """Check that X holds numbers, and make a float32 array or a canonical matrix of it."""
    checked = check_array(
        X,
        accept_sparse="csr",
        dtype=np.float32,
        order="C",
        ensure_all_finite="allow-nan",
        estimator=estimator,
        input_name="X",
    )
    if sparse.issparse(checked):
        # XGBoost predicts in place from csr_matrix only, not from csr_array.
        checked = sparse.csr_matrix(checked)
        if not checked.has_canonical_format:
            checked = checked.copy()
            checked.sum_duplicates()
    return checked


def _settle_sparse_zeros(X: Any, meaning: SparseZeros | None) -> Any:
    """Give X the form in which entries that are not stored mean what `sparse_zeros` says."""
    return X.toarray(order="C") if meaning == "zero" and sparse.issparse(X) else X


def _names_of(X: Any) -> NDArray[np.object_] | None:
    """Return the names of the columns, if all are text; None if none is."""
    if not isinstance(X, pd.DataFrame):
        return None
    are_text = [isinstance(name, str) for name in X.columns]
    if all(are_text) and are_text:
        return np.asarray(X.columns, dtype=object)
    if any(are_text):
        types = sorted({type(name).__name__ for name in X.columns})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {types} as feature name / column name types. Make all of them text, for "
            "example with X.columns = X.columns.astype(str)."
        )
    return None


def _in_order(form: InputForm, X: Any) -> Any:
    """Bring the columns of a DataFrame into the order of those in fit, if their names are these."""
    if form.names is None or not isinstance(X, pd.DataFrame):
        return X
    found, known = X.columns, pd.Index(form.names)
    is_other_order = found.is_unique and len(found) == len(known) and not found.equals(known)
    return X[known] if is_other_order and found.isin(known).all() else X


def _check_number(form: InputForm, X: Any, estimator: str) -> None:
    if X.shape[1] != form.n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but {estimator} is expecting {form.n_features} features "
            "as input."
        )


def _check_names(form: InputForm, X: Any, estimator: str) -> None:
    """Compare the names of the features, in order; scikit-learn's tests expect these messages."""
    found, known = _names_of(X), form.names
    if found is None or known is None:
        if found is not None:
            _warn(f"X has feature names, but {estimator} was fitted without feature names")
        elif known is not None:
            _warn(
                f"X does not have valid feature names, but {estimator} was fitted with feature "
                "names"
            )
        return
    if np.array_equal(found, known):
        return
    message = "The feature names should match those that were passed during fit.\n"
    unseen, missing = sorted({*found} - {*known}), sorted({*known} - {*found})
    if unseen:
        message += f"Feature names unseen at fit time:\n{_listed(unseen)}"
    if missing:
        message += f"Feature names seen at fit time, yet now missing:\n{_listed(missing)}"
    if not unseen and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    raise ValueError(message)


def _listed(names: list[str]) -> str:
    shown = [f"- {name}\n" for name in names[:_MOST_LISTED]]
    return "".join(shown) + ("- ...\n" if len(names) > _MOST_LISTED else "")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, skip_file_prefixes=(PACKAGE,))
