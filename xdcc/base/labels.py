"""Labels: the check of Y, label frequencies, and scores of a classifier.

Y is a matrix of labels, or one binary target. The two differ in their number of dimensions, and
estimators predict in the form that they were fitted on:

- A *matrix* of shape (n_samples, n_labels), of one column too: 0, 1, or NaN where a label is
  unknown, or words that mean 0 or 1 (``label_words.py``). It may be an array-like, sparse, or a
  DataFrame, whose columns have names. Lists of label names become one
  (:func:`~xdcc.base.frames.labels_of_names`).
- *One dimension*: the target of a binary problem, as scikit-learn's classifiers take it. Its two
  values may be anything that can be sorted; nothing is unknown.

Y becomes a dense float32 array by blocks of rows (``label_rows.py``): besides that array no copy of
the whole Y is made.

:func:`label_scores` gets one score for each row and label from any classifier. scikit-learn's
classifiers predict in several forms. Their probabilities come as one array
``(n_samples, n_labels)``, as a list with an array ``(n_samples, n_classes)`` for each label, or for
a single label as ``(n_samples, n_classes)``; some have a decision function only.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.frames import as_pandas, labels_of_names
from xdcc.base.label_rows import LabelRows, column_names, labels_in_order, row_blocks
from xdcc.base.label_words import LABEL_WORDS
from xdcc.base.libraries import multiclass, validation
from xdcc.base.output_form import LabelForm
from xdcc.base.sparse_structure import check_sparse_structure
from xdcc.base.weights import by_entry
from xdcc.base.workers import sum_of_all

_MOST_LISTED = 6
"""Values of a column that a message is made of; it shows one less."""

_OF_SEVERAL_CLASSES = (
    "MultiClassXGBClassifier predicts one of several classes; pandas.get_dummies makes a label of "
    "each class."
)
_SOFT_LABELS = (
    "MultiLabelXGBClassifier, SketchedExtraTreesClassifier and LogisticLabels take probabilities "
    "with soft_labels=True."
)

type Labels = NDArray[np.float32]
type Classes = NDArray[Any]


def check_labels(Y: Any, estimator: str = "", *, soft: bool = False) -> FitData:
    """Check Y in ``fit``.

    Parameters
    ----------
    Y : array-like, sparse matrix, DataFrame or Series of shape (n_samples, n_labels) or \
(n_samples,)
        See the module's documentation.
    estimator : str
        Name of the estimator, for the message if Y is None.
    soft : bool, default=False
        Whether a matrix may hold probabilities.

    Returns
    -------
    FitData
        Y, a copy, and its form: the names of labels are the columns of a DataFrame, the name of a
        Series, else `label_0`, `label_1` and so on. Classes are an array, not a list as in
        scikit-learn's multi-output classifiers, since its cross-validation needs an array.

    Raises
    ------
    ValueError
        If Y is None, has more than two dimensions or no column, has two columns of one name, or
        holds another value; the message says which value, in which row, for which label.

    Examples
    --------
    >>> check_labels(["no", "yes", "no"]).Y.T
    array([[0., 1., 0.]], dtype=float32)
    >>> check_labels([[0, 1], [1, None]]).Y
    array([[ 0.,  1.],
           [ 1., nan]], dtype=float32)
    >>> check_labels(pd.DataFrame({"ill": ["yes", "no"], "old": [True, None]})).Y
    array([[ 1.,  1.],
           [ 0., nan]], dtype=float32)
    """
    check_given(Y, estimator)
    Y = labels_of_names(as_pandas(Y, "Y"))
    labels = _label_rows(Y)
    if len(labels.shape) == 1:
        target = _target(Y)
        form = LabelForm(column_names(Y, 1, "label"), np.unique(target), is_named=False)
        checked = _encode_target(target, form.classes)
    else:
        names = column_names(Y, labels.shape[1], "label")
        form = LabelForm.of_matrix(names, is_named=hasattr(Y, "columns"))
        checked = _label_values(labels, form.names, soft)
    return FitData(None, checked, None, output_form=form)


def check_given(Y: Any, estimator: str) -> None:
    """Raise a ValueError in scikit-learn's words if Y is None.

    Examples
    --------
    >>> check_given(None, "Trees")
    Traceback (most recent call last):
    ValueError: This Trees estimator requires y to be passed, but the target y is None.
    """
    if Y is None:
        raise ValueError(
            f"This {estimator} estimator requires y to be passed, but the target y is None."
        )


def check_labels_as_in_fit(
    form: LabelForm, X: Any, Y: Any, what: str = "Y", *, soft: bool = False
) -> Labels:
    """Check the labels of rows for a fitted estimator.

    Parameters
    ----------
    form : LabelForm
        The form of Y in ``fit``.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Features or margins of the rows; only their number counts.
    Y : array-like, sparse matrix, DataFrame or Series
        Labels in the form of those in fit. Columns of a DataFrame are matched by name if those in
        fit had names.
    what : str, default="Y"
        Name of Y in messages.
    soft : bool, default=False
        Whether a matrix may hold probabilities.

    Returns
    -------
    float32 array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown, or probabilities; a copy.

    Raises
    ------
    ValueError
        As `check_labels`, and if Y has another form, another number of rows or labels, other names,
        or a class that was not there.

    Examples
    --------
    >>> form = LabelForm.of_matrix(np.array(["red", "blue"], object), is_named=True)
    >>> check_labels_as_in_fit(form, [[3]], pd.DataFrame({"blue": [0], "red": [1]}))
    array([[1., 0.]], dtype=float32)
    """
    classes, names = form.classes, form.names
    Y = labels_of_names(as_pandas(Y, what), names.tolist())
    labels = _label_rows(Y)
    if classes.ndim != len(labels.shape):
        had = "one dimension" if classes.ndim == 1 else "two dimensions"
        raise ValueError(f"{what} has shape {labels.shape}, but in fit it had {had}.")
    if classes.ndim == 1:
        target = _target(Y)
        unknown = np.setdiff1d(target, classes)
        if len(unknown):
            raise ValueError(
                f"{what} holds the class {unknown[0]!r}, but in fit the classes were "
                f"{', '.join(repr(value) for value in classes.tolist())}."
            )
        checked = _encode_target(target, classes)
    else:
        if form.is_named:
            labels = _label_rows(labels_in_order(Y, names.tolist(), what))
        if labels.shape[1] != len(names):
            raise ValueError(
                f"{what} has {labels.shape[1]} labels, but in fit there were {len(names)}."
            )
        checked = _label_values(labels, names, soft)
    validation.check_consistent_length(X, checked)
    return checked


def with_later_labels(form: LabelForm, Y: Any) -> LabelForm:
    """Add the labels of Y to a form that are not in it: by their names, if it has names.

    Examples
    --------
    >>> form = LabelForm.of_matrix(np.array(["red", "blue"], object), is_named=True)
    >>> with_later_labels(form, [["new", "red"], ["blue"]]).names
    array(['red', 'blue', 'new'], dtype=object)
    """
    Y = labels_of_names(as_pandas(Y, "Y"))
    shape = _label_rows(Y).shape
    if form.classes.ndim == 1 or len(shape) == 1:
        return form
    if form.is_named and hasattr(Y, "columns"):
        found = column_names(Y, shape[1], "label")
        has_all = np.isin(form.names, found).all()  # else the check says which are missing
        later = found[has_all & ~np.isin(found, form.names)]
    else:
        later = column_names(None, shape[1], "label")[form.n_labels :]
    return LabelForm.of_matrix(np.append(form.names, later), is_named=form.is_named)


def _encode_target(target: NDArray[Any], classes: NDArray[Any]) -> Labels:
    """Make a label of a target, `(n_samples, 1)`: 1 for the second of its one or two classes."""
    if len(classes) == 1:
        return np.zeros((len(target), 1), dtype=np.float32)
    return (target == classes[1]).astype(np.float32)[:, np.newaxis]


def _label_rows(Y: Any) -> LabelRows:
    check_sparse_structure("Y", Y)
    try:
        labels = LabelRows(Y)
    except ValueError as error:
        raise ValueError(
            f"Y cannot be read as a matrix of shape (n_samples, n_labels): {error} (Lists "
            "of label names must hold text; scikit-learn's MultiLabelBinarizer makes a matrix of "
            "others.)"
        ) from error
    if len(labels.shape) not in (1, 2) or labels.shape[1:] == (0,):
        raise ValueError(
            f"Y has shape {labels.shape}; it must be (n_samples, n_labels), with a label, or "
            "(n_samples,)."
        )
    return labels


def _target(Y: Any) -> NDArray[Any]:
    target = np.asarray(Y.todense() if hasattr(Y, "todense") else Y)
    if target.dtype.kind == "f" and np.isnan(target).any():
        row = int(np.argmax(np.isnan(target)))
        raise ValueError(
            f"Input y contains NaN, in row {row}. Labels can be unknown in a matrix of shape "
            "(n_samples, n_labels) only; for one label that is y.reshape(-1, 1)."
        )
    if target.dtype.kind == "f" and np.isinf(target).any():
        raise ValueError(f"Input y contains infinity, in row {int(np.argmax(np.isinf(target)))}.")
    multiclass.check_classification_targets(target)
    kind = multiclass.type_of_target(target, input_name="y", raise_unknown=True)
    if kind != "binary":
        name = getattr(Y, "name", None)
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: "
            f"{'y' if name is None else repr(str(name))} has the classes "
            f"{_listed(np.unique(target).tolist())}. {_OF_SEVERAL_CLASSES}"
        )
    return target


def _label_values(labels: LabelRows, names: NDArray[np.object_], soft: bool) -> Labels:
    n_rows, n_labels = labels.shape
    checked = np.empty((n_rows, n_labels), dtype=np.float32)
    for rows in row_blocks((n_rows, n_labels)):
        numbers = labels.labels(rows)
        in_range = (numbers >= 0) & (numbers <= 1)
        valid = in_range if soft else (numbers == 0) | (numbers == 1)
        valid |= np.isnan(numbers)
        if not valid.all():
            row, column = np.argwhere(~valid)[0]
            entry, name = labels.entry(row + rows.start, column), str(names[column])
            is_soft = in_range[row, column]
            hint = _SOFT_LABELS if is_soft else _hint(labels.values(column, _MOST_LISTED))
            shown = repr(str(entry)) if isinstance(entry, str) else str(entry)
            raise ValueError(
                f"Unknown label type: Y holds {shown:.60} in row {row + rows.start} for label "
                f"{name!r}, but a label is {'in [0, 1]' if soft else '0, 1'} or NaN (unknown), or "
                f"one of the words {LABEL_WORDS}. {hint}"
            )
        checked[rows] = numbers
    return checked


def _hint(values: list[Any]) -> str:
    """Return what to do with a column that is no label, by its values; `_MOST_LISTED` at most."""
    if any(isinstance(value, float) and not value.is_integer() for value in values):
        return "MultiTargetXGBRegressor predicts numbers."
    if len(values) > 2:
        return f"The column has the classes {_listed(values)}. {_OF_SEVERAL_CLASSES}"
    return (
        f"The column has the values {_listed(values)}; column == value is a label, with the value "
        "that means 1."
    )


def _listed(values: list[Any]) -> str:
    shown = ", ".join(f"{value!r:.40}" for value in values[: _MOST_LISTED - 1])
    return f"{shown} and others" if len(values) >= _MOST_LISTED else shown


def label_frequency(
    Y: NDArray[np.floating],
    sample_weight: NDArray[np.floating] | None = None,
    *,
    where: NDArray[np.bool_] | bool = True,
    empty: float,
) -> NDArray[np.float64]:
    """Average each label over its known entries.

    Workers that train together (:mod:`xgboost.collective`) all get the average over the rows of
    all of them; each has to call this function.

    Parameters
    ----------
    Y : float array of shape (n_samples, n_labels)
        0, 1, or NaN for unknown.
    sample_weight : float array of shape (n_samples,) or (n_samples, n_labels), optional
        Weights of the rows or entries.
    where : bool array of shape (n_samples, n_labels), default=True
        Entries that count, if they are known.
    empty : float
        Value for a label of which no entry counts.

    Returns
    -------
    float64 array of shape (n_labels,)
        Weighted share of ones.

    Examples
    --------
    >>> label_frequency(np.array([[1, 0], [0, np.nan], [1, np.nan]]), empty=0.5)
    array([0.66666667, 0.        ])
    >>> label_frequency(np.array([[np.nan]]), empty=0.5)
    array([0.5])
    """
    sums = np.zeros((2, Y.shape[1]))
    for rows in row_blocks(Y.shape):
        part = Y[rows]
        counts = ~np.isnan(part) & (where if isinstance(where, bool) else where[rows])
        weight = counts.astype(np.float64)
        if sample_weight is not None:
            weight *= by_entry(sample_weight[rows])
        sums += weight.sum(axis=0), (weight * np.nan_to_num(part)).sum(axis=0)
    total, positive = sum_of_all(sums)
    return np.divide(positive, total, out=np.full(len(total), float(empty)), where=total > 0)


type Floats = NDArray[np.float64]


def label_scores(estimator: Any, X: Any, n_labels: int) -> Floats:
    """Get the probabilities of the labels, or else the values of the decision function.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier with `predict_proba` or `decision_function`, for labels 0 and 1 or a
        binary target.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Features, in any form that the estimator takes.
    n_labels : int
        How many labels it was trained for.

    Returns
    -------
    float array of shape (n_samples, n_labels)
        Higher where a label, or the second class, is more likely. A label that was 0 in all of
        the training rows of a scikit-learn classifier has the probability 0.

    Raises
    ------
    AttributeError
        If the estimator has neither method.
    ValueError
        If what it returns has another number of labels.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(random_state=0).fit([[0], [1]], [[0, 1], [1, 1]])
    >>> [proba.shape for proba in tree.predict_proba([[0], [1]])]
    [(2, 2), (2, 1)]
    >>> label_scores(tree, [[0], [1]], n_labels=2)
    array([[0., 1.],
           [1., 1.]])
    """
    if hasattr(estimator, "predict_proba"):
        classes = getattr(estimator, "classes_", ())
        scores = proba_of_labels(estimator.predict_proba(X), classes, n_labels)
    elif hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        if scores.ndim == 1:
            scores = scores[:, np.newaxis]
    else:
        raise AttributeError(
            f"{type(estimator).__name__} has neither predict_proba nor decision_function, one of "
            "which is needed for scores of labels."
        )
    if scores.ndim != 2 or scores.shape[1] != n_labels:
        raise ValueError(
            f"{type(estimator).__name__} gives scores of the shape {scores.shape}; expected "
            f"(n_samples, {n_labels}), one for each label."
        )
    return scores


def proba_of_labels(answer: Any, classes: Any, n_labels: int) -> Floats:
    """Make an array, of whatever shape, of what `predict_proba` of a classifier returned.

    Parameters
    ----------
    answer : array-like or list of arrays
        See the module's documentation.
    classes : sequence
        `classes_` of the classifier.
    n_labels : int
        How many labels it was trained for.

    Returns
    -------
    float64 array
        Of shape (n_samples, n_labels), if the answer suits the labels.

    Examples
    --------
    >>> proba_of_labels([np.array([[0.3, 0.7]]), np.array([[1.0]])], [[0, 1], [0]], n_labels=2)
    array([[0.7, 0. ]])
    """
    if isinstance(answer, list):
        pairs = zip(answer, classes, strict=True)
        return np.column_stack([_of_positive(proba, known) for proba, known in pairs])
    if n_labels == 1 and np.shape(answer)[1] == np.size(classes):
        return _of_positive(answer, np.ravel(classes))[:, np.newaxis]
    return np.asarray(answer, dtype=np.float64)


def _of_positive(proba: Any, classes: Any) -> Floats:
    """Take the second class; where training rows had one class only it may be the class 1."""
    values = np.asarray(proba, dtype=np.float64)
    if len(classes) == 2:
        return values[:, 1]
    return values[:, 0] if classes[0] == 1 else np.zeros(len(values))
