"""Checks of X, Y and weights that all multi-label estimators share.

An estimator calls :func:`check_fit_data` in ``fit`` and :func:`check_features` when
predicting. X comes back as float32 (what XGBoost stores), dense or CSR, NaN meaning missing;
Y as float32 with 0, 1 and NaN for unknown. What was learned about the data is set on the
estimator: ``n_features_in_``, ``feature_names_in_``, ``n_labels_``, ``label_names_``,
``classes_``, and ``categories_`` if X has categorical columns (``categories.py``).
:class:`MultiLabelMixin` tells scikit-learn the same in tags.

XGBoost stores labels and gradients as dense float32 arrays, so Y is made one here, whatever it
was, by blocks of rows (``label_rows.py``): besides that array no copy of the whole Y is made.

(More than 300 lines, most of them documentation of checks that share what they learn.)
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_consistent_length, validate_data

from xdcc.categories import encode_categories, feature_types
from xdcc.label_rows import LabelRows, row_blocks

type Features = NDArray[np.float32] | sparse.csr_matrix
type Labels = NDArray[np.float32]


class FitData(NamedTuple):
    """Checked input of ``fit``.

    Attributes
    ----------
    X : float32 array or CSR matrix of shape (n_samples, n_features)
        NaN where a value is missing.
    Y : float32 array of shape (n_samples, n_labels)
        0, 1, or NaN where a label is unknown. A label that is unknown in every row that counts
        is 0.
    sample_weight : float32 array of shape (n_samples,) or None
        Finite, not negative, not all zero.
    feature_types : list of str of length n_features or None
        ``"c"`` where X holds codes of categories, ``"q"`` where numbers; None if only numbers.
    """

    X: Features
    Y: Labels
    sample_weight: NDArray[np.float32] | None
    feature_types: list[str] | None = None


class MultiLabelMixin(ClassifierMixin):
    """A classifier for label matrices: its tags and what it knows of its labels.

    Predictions always have the shape (n_samples, n_labels), for a single label too.

    Attributes
    ----------
    n_labels_ : int
        Number of labels.
    label_names_ : array of str of shape (n_labels,)
        Column names of a DataFrame, else `label_0`, `label_1` and so on.
    classes_ : list of arrays
        The values 0 and 1 for each label, as scikit-learn's multi-output classifiers have it.
    """

    _takes_categories = False
    """Whether the estimator can learn from categorical columns."""

    n_labels_: int
    label_names_: NDArray[np.object_]
    classes_: list[NDArray[np.int64]]

    def __sklearn_tags__(self) -> Tags:
        """Tags: label matrices of zeros and ones; sparse X; missing values."""
        tags = super().__sklearn_tags__()
        assert tags.classifier_tags is not None
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def check_fit_data(
    estimator: MultiLabelMixin, X: Any, Y: Any, sample_weight: Any = None
) -> FitData:
    """Check the input of ``fit`` and set on the estimator what it says about the data.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_`, `feature_names_in_` (for a DataFrame whose columns are strings),
        `n_labels_`, `label_names_` and `classes_`; `categories_` if X has categorical columns.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Numbers, and categories in a DataFrame if the estimator takes them; NaN is a missing
        value. In a sparse matrix what is not stored is missing too.
    Y : array-like, sparse matrix, DataFrame or Series of shape (n_samples, n_labels)
        0, 1, or NaN for unknown. One dimension is a single label.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    FitData
        The checked input.

    Raises
    ------
    ValueError
        If X or Y is empty, their lengths differ, X holds infinity or text, Y another value than
        0, 1 and NaN or no known label at all, or the weights do not fit.

    Warns
    -----
    UserWarning
        If a label is unknown in all rows of positive weight. It is taken as absent.
    """
    checked_X = check_features(estimator, X, reset=True)
    checked_Y, names = check_labels(estimator, Y)
    check_consistent_length(checked_X, checked_Y)
    weight = check_weight(sample_weight, len(checked_Y))

    unknown = np.ones(len(names), dtype=bool)
    for rows in row_blocks(checked_Y.shape):
        is_nan = np.isnan(checked_Y[rows])
        unknown &= (is_nan if weight is None else is_nan[weight[rows] > 0]).all(axis=0)
    if unknown.all():
        raise ValueError("Y has no known label: every entry that counts is NaN.")
    if unknown.any():
        listed = ", ".join(repr(str(name)) for name in names[unknown])
        warnings.warn(
            f"Unknown (NaN) in every row that counts: label {listed}. It is taken as absent.",
            UserWarning,
            stacklevel=3,
        )
        checked_Y[:, unknown] = 0

    estimator.n_labels_ = len(names)
    estimator.label_names_ = names
    estimator.classes_ = [np.array([0, 1])] * len(names)
    return FitData(checked_X, checked_Y, weight, feature_types(estimator))


def check_all_known(estimator: MultiLabelMixin, Y: Labels, method: str) -> None:
    """Stop if a label is unknown, for methods that need every label of a row.

    Parameters
    ----------
    estimator : estimator
        After `check_fit_data`; its `label_names_` are used in the message.
    Y : float32 array of shape (n_samples, n_labels)
        Checked labels.
    method : str
        What the message calls the method.

    Raises
    ------
    ValueError
        If an entry is NaN; the message says which.
    """
    if np.isnan(Y).any():
        row, label = np.argwhere(np.isnan(Y))[0]
        raise ValueError(
            f"Y is NaN (unknown) in row {row} for label {str(estimator.label_names_[label])!r}, "
            f"but {method} need every label; leave such rows out."
        )


def check_features(estimator: BaseEstimator, X: Any, *, reset: bool = False) -> Features:
    """Check X.

    Parameters
    ----------
    estimator : estimator
        A fitted one, unless `reset`.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Numbers, and categories in a DataFrame if the estimator takes them; NaN is a missing
        value, and so is a category that did not occur in fit.
    reset : bool, default=False
        Whether to set `n_features_in_`, `feature_names_in_` and `categories_` instead of
        comparing with them.

    Returns
    -------
    float32 array or CSR matrix of shape (n_samples, n_features)
        Categories as their positions in `categories_`. A sparse matrix comes back with sorted
        indices and without duplicates.

    Raises
    ------
    ValueError
        If X is empty, holds infinity or text, or categories that the estimator does not take, or
        has other columns than in fit: another number, other names, other types.
    """
    checked = validate_data(
        estimator,
        encode_categories(estimator, X, reset=reset),
        reset=reset,
        accept_sparse="csr",
        dtype=np.float32,
        order="C",
        ensure_all_finite="allow-nan",
    )
    if sparse.issparse(checked):
        # XGBoost predicts in place from csr_matrix only, not from csr_array.
        checked = sparse.csr_matrix(checked)
        if not checked.has_canonical_format:
            checked = checked.copy()
            checked.sum_duplicates()
    return checked


def check_labels(estimator: BaseEstimator, Y: Any) -> tuple[Labels, NDArray[np.object_]]:
    """Check Y.

    Parameters
    ----------
    estimator : estimator
        Named in messages.
    Y : array-like, sparse matrix, DataFrame or Series of shape (n_samples, n_labels)
        0, 1, or NaN for unknown. One dimension is a single label.

    Returns
    -------
    Y : float32 array of shape (n_samples, n_labels)
        A copy.
    names : array of str of shape (n_labels,)
        The labels' names.

    Raises
    ------
    ValueError
        If Y is None, has more than two dimensions or no column, or holds another value; the
        message says which value, in which row, for which label.
    """
    if Y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    try:
        labels = LabelRows(Y, one_label=True)
    except ValueError as error:
        raise ValueError(
            f"Y cannot be read as a matrix of shape (n_samples, n_labels): {error}"
        ) from error
    if len(labels.shape) != 2 or labels.shape[1] == 0:
        raise ValueError(
            f"Y has shape {labels.shape}; it has to be (n_samples, n_labels), with a label."
        )
    names = _label_names(Y, labels.shape[1])

    checked = np.empty(labels.shape, dtype=np.float32)
    for rows in row_blocks(labels.shape):
        numbers = labels.block(rows)
        valid = (numbers == 0) | (numbers == 1) | np.isnan(numbers)
        if not valid.all():
            row, column = np.argwhere(~valid)[0]
            row += rows.start
            raise ValueError(
                f"Unknown label type: Y holds {labels.entry(row, column)} in row {row} for label "
                f"{str(names[column])!r}, but a label is 0, 1 or NaN (unknown). Only binary "
                "classification is supported."
            )
        checked[rows] = numbers
    return checked, names


def _label_names(Y: Any, n_labels: int) -> NDArray[np.object_]:
    if hasattr(Y, "columns"):
        names: Sequence[object] = list(Y.columns)
    elif getattr(Y, "name", None) is not None:
        names = [Y.name]
    else:
        names = [f"label_{j}" for j in range(n_labels)]
    return np.array([str(name) for name in names], dtype=object)


def check_weight(
    sample_weight: Any, n_samples: int, *, some_positive: bool = True
) -> NDArray[np.float32] | None:
    """Check the weights of rows.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        Weights.
    n_samples : int
        Number of rows.
    some_positive : bool, default=True
        Whether all weights must not be zero; they may be where the rows are not all there are.

    Returns
    -------
    float32 array of shape (n_samples,) or None
        The weights, None if there are none.

    Raises
    ------
    ValueError
        If they have another shape, are negative, infinite or NaN, or all zero.
    """
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float32)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight has shape {weight.shape}; it has to be ({n_samples},), one per row."
        )
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight is {weight[row]} in row {row}; weights are finite and not negative."
        )
    if some_positive and not weight.any():
        raise ValueError("sample_weight is zero in every row: no row would count.")
    return weight
