"""Checks of the input of ``fit``: X, Y and weights, each alone and together."""

import warnings
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length

from xdcc.base.documentation import documented
from xdcc.base.fit_data import FitData, only_positive_labels, unknown_labels
from xdcc.base.frames import as_pandas
from xdcc.base.label_rows import labels_in_order
from xdcc.base.labels import Labels, check_given
from xdcc.base.output_form import LabelForm
from xdcc.base.package import PACKAGE
from xdcc.base.weights import check_weight


@documented
def check_fit_data(estimator: Any, X: Any, Y: Any, sample_weight: Any = None) -> FitData:
    """Check the input of ``fit`` and set on the estimator what the data determine.

    Parameters
    ----------
    estimator : MultiLabelEstimator
        Gets the forms of X and Y, of which `n_features_in_` and `label_names_`, for example, are
        parts.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        As :func:`~xdcc.base.features.learn_features` takes it.
    Y : array-like, sparse matrix, DataFrame or Series of shape (n_samples, n_labels) or \
(n_samples,)
        As :func:`~xdcc.base.labels.check_labels` takes it.
    {sample_weight}

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
        If a label is unknown in all rows of positive weight. It is taken as absent. If a column
        has a category for almost every row. It is ignored.

    Examples
    --------
    >>> from xdcc.base.estimator import MultiLabelEstimator
    >>> estimator = MultiLabelEstimator()
    >>> data = check_fit_data(estimator, [[1.5], [2.5]], pd.DataFrame({"red": [1, 0]}))
    >>> data.Y
    array([[1.],
           [0.]], dtype=float32)
    >>> estimator.label_names_
    array(['red'], dtype=object)
    """
    checked_X = estimator._learn_X(X)
    check_given(Y, type(estimator).__name__)
    data = check_fit_labels(estimator, Y, sample_weight)
    check_consistent_length(checked_X, data.Y)
    unknown = unknown_labels(data.Y, data.sample_weight)
    if unknown.any():
        estimator._settle_unknown(data, unknown)
    return data._replace(X=checked_X, input_form=estimator._input_form)


def check_fit_labels(estimator: Any, Y: Any, sample_weight: Any) -> FitData:
    """Do what :func:`check_fit_data` does for Y and weights, without X.

    Examples
    --------
    >>> from xdcc.base.estimator import MultiLabelEstimator
    >>> estimator = MultiLabelEstimator()
    >>> check_fit_labels(estimator, ["no", "yes"], None).Y.T, estimator.classes_
    (array([[0., 1.]], dtype=float32), array(['no', 'yes'], dtype='<U3'))
    """
    data = estimator._check_Y(Y)
    estimator._output_form = data.output_form
    return data.weighted(estimator._check_weight(sample_weight, len(data.Y)))


def check_fit_weight(
    sample_weight: Any,
    n_samples: int,
    label_names: NDArray[np.object_],
    *,
    is_named: bool,
    some_positive: bool = True,
) -> NDArray[Any] | None:
    """Check the weights of ``fit`` as :func:`~xdcc.base.weights.check_weight` does.

    The columns of a DataFrame are found by the names of labels, if those are the columns of Y.

    Examples
    --------
    >>> weight = pd.DataFrame({"blue": [2], "red": [1]})
    >>> check_fit_weight(weight, 1, np.array(["red", "blue"]), is_named=True)
    array([[1., 2.]], dtype=float32)
    """
    sample_weight = as_pandas(sample_weight, "sample_weight")
    if is_named and len(label_names) > 1:
        sample_weight = labels_in_order(sample_weight, label_names.tolist(), "sample_weight")
    return check_weight(sample_weight, n_samples, label_names.tolist(), some_positive=some_positive)


def check_all_known(estimator: Any, Y: Labels, method: str) -> None:
    """Raise a ValueError that says which label is unknown, for methods that need every label.

    `method`, whose name is in the message, is one of an estimator that has `label_names_`.

    Examples
    --------
    >>> from xdcc.base.estimator import MultiLabelEstimator
    >>> estimator = MultiLabelEstimator()
    >>> data = check_fit_data(estimator, [[1.5], [2.5]], [[1, 0], [1, np.nan]])
    >>> check_all_known(estimator, data.Y, "random trees")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: Y is NaN (unknown) in row 1 for label 'label_1', but random trees need ...
    """
    if np.isnan(Y).any():
        row, label = np.argwhere(np.isnan(Y))[0]
        raise ValueError(
            f"Y is NaN (unknown) in row {row} for label {str(estimator.label_names_[label])!r}, "
            f"but {method} need every label; leave such rows out."
        )


def warn_of_mistakes(X: Any, Y: Any, data: FitData) -> None:
    """Warn of X and Y that are valid, but probably not what was intended.

    Parameters
    ----------
    X, Y : object
        The arguments of `fit`.
    data : FitData
        The checked Y and weights.

    Warns
    -----
    UserWarning
        If the indices of X and Y are in different orders: rows are matched by position. If only
        positives are known of a label: every prediction will be 1.

    Examples
    --------
    >>> import warnings
    >>> from xdcc.base.labels import check_labels
    >>> X, Y = pd.DataFrame({"x": [1, 2]}, index=["a", "b"]), np.array([[1, 0], [np.nan, 1]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_mistakes(X, pd.DataFrame(Y, index=["b", "a"]), check_labels(Y))
    >>> [str(each.message)[:25] for each in caught]
    ['The indices of X and Y ha', 'Only positives are known,']
    """
    index, of_labels = _index(X), _index(Y)
    if index is not None and of_labels is not None and not index.equals(of_labels):
        same = len(index) == len(of_labels)
        if same and index.isin(of_labels).all() and of_labels.isin(index).all():
            warnings.warn(
                "The indices of X and Y have the same values in different orders. Rows are matched "
                "by position, so the labels may be those of other rows: give Y.loc[X.index], or "
                "reset both indices if the rows are in the same order.",
                UserWarning,
                skip_file_prefixes=(PACKAGE,),
            )
    form = data.output_form
    has_labels = isinstance(form, LabelForm)
    if has_labels and (positive := only_positive_labels(data.Y, data.sample_weight)).any():
        listed = ", ".join(repr(str(name)) for name in form.names[positive])
        warnings.warn(
            f"Only positives are known, all others are NaN, of label {listed}. Every prediction "
            "will be 1. Add known negatives (0), or take unknown entries as 0.",
            UserWarning,
            skip_file_prefixes=(PACKAGE,),
        )


def _index(data: Any) -> pd.Index | None:
    """Return the index of a DataFrame or Series, of pandas or a library like it; None if none."""
    if isinstance(data, pd.DataFrame | pd.Series):  # also with two columns of one name
        return data.index
    native = nw.from_native(data, pass_through=True, allow_series=True)
    index = None
    if isinstance(native, nw.DataFrame | nw.Series):
        index = nw.maybe_get_index(native)
    return None if index is None else pd.Index(index)


def settle_absent(data: FitData, unknown: NDArray[np.bool_]) -> None:
    """Make labels absent that are unknown in all rows, with a warning.

    Examples
    --------
    >>> import warnings
    >>> from xdcc.base.labels import check_labels
    >>> data = check_labels(np.array([[1, np.nan]]))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     settle_absent(data, np.array([False, True]))
    >>> data.Y, len(caught)
    (array([[1., 0.]], dtype=float32), 1)
    """
    listed = ", ".join(repr(str(name)) for name in data.output_form.names[unknown])
    warnings.warn(
        f"Unknown (NaN) in every row that counts: label {listed}. It is taken as absent. "
        "Leave its column out, or add rows in which it is known.",
        UserWarning,
        skip_file_prefixes=(PACKAGE,),
    )
    data.settle_absent(unknown)
