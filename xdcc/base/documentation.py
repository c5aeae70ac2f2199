"""Text that the documentation of many methods shares, written once.

A line ``{X}`` in a docstring stands for the entry `X` of :data:`ENTRIES`. :func:`documented` fills
in such lines; the estimators' base class does it for every subclass. A family of estimators may
have entries of its own (`MultiLabelEstimator._entries`), and so may some modules. Entries are parts
of a section, or sections with their headings (:func:`section`).
"""

import inspect
import re
import textwrap
from collections.abc import Mapping
from types import MappingProxyType


def _dedent(text: str) -> str:
    return textwrap.dedent(text).strip()


def section(title: str, *parts: str) -> str:
    """Put entries below the heading of a section, "Parameters" for example; the result is an entry.

    Examples
    --------
    >>> section("Raises", "ValueError").splitlines()
    ['Raises', '------', 'ValueError']
    """
    return "\n".join((title, "-" * len(title), *map(_dedent, parts)))


_PARTS = {
    "X": """
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers, and in a DataFrame categories if the estimator takes them; NaN is a missing
            value. Columns with names are matched by them.
        """,
    "Y": """
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or \
(n_samples,)
            0, 1, or NaN where a label is unknown; or the classes of a binary target. In a matrix,
            words such as ``"yes"`` and ``"no"`` are read as 1 and 0.
        """,
    "known_Y": """
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or \
(n_samples,)
            Zeros and ones, none unknown; or the classes of a binary target.
        """,
    "sample_weight": """
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), optional
            Weights of the rows, or of single entries, where the estimator supports it; 0 makes a
            label unknown.
        """,
    "cv": """
        cv : int, splitter, iterable of pairs or None, default=5
            Number of folds, None for 5; they are stratified by labels, or keep `groups` together.
            Or a splitter of scikit-learn, which receives `groups`, or pairs of the positions of
            training and test rows, a pair for each fold. A row can be tested once at most. One that
            is never tested, as the first rows with ``TimeSeriesSplit``, is trained on, but takes no
            part in calibration and choices.
        """,
    "groups": """
        groups : array-like of shape (n_samples,) or str, optional
            Group of each row, such as a patient or a day, or the name of the column of X that has
            it (and remains a feature): all rows of a group are in the same fold. No value may be
            missing.
        """,
    "folds_": """
        folds_ : int array of shape (n_samples,)
            Fold that tests each training row; -1 for rows that no fold tests.
        """,
    "n_jobs": """
        n_jobs : int or None, default=None
            Number of threads. None and -1 are all CPUs that the process may use, at most
            `OMP_NUM_THREADS` if that is set, -2 is all but one, and so on. It does not change the
            model.
        """,
    "predict_errors": """
        NotFittedError
            Before `fit`.
        ValueError
            If a parameter is outside its domain, or X is not as described or has other features
            than in `fit`.
        """,
    "label_errors": """
        NotFittedError
            Before `fit`.
        ValueError
            As in `predict`, and if Y is not as described or has a different number of rows or
            labels.
        """,
    "features": """
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            Checked features; NaN where a value is missing.
        """,
    "features_with_zeros": """
        X : float32 array or CSR matrix of shape (n_samples, n_features)
            Checked features; NaN is a missing value, what a sparse X does not store is 0.
        """,
    "zeros_and_ones": """
        Y : float32 array of shape (n_samples, n_labels)
            Zeros and ones.
        """,
    "argument_errors": """
        ValueError
            If an argument is not as described.
        """,
    "labels": """
        int array of shape (n_samples, n_labels)
            Zeros and ones.
        """,
    "fitted_self": """
        self : estimator
            The fitted estimator.
        """,
    "unknown_errors": """
        ValueError
            If a parameter is outside its domain, or X or Y is not as described; an unknown label
            (NaN) is refused, since leaves count instances by all their labels.
        """,
    "fitted": """
        n_labels_ : int
            Number of labels.
        label_names_ : array of str of shape (n_labels,)
            Column names of a DataFrame, else `label_0`, `label_1` and so on.
        classes_ : array of shape (n_labels, 2) or (n_classes,)
            The values 0 and 1 for each label; the classes of a one-dimensional Y.
        n_features_in_ : int
            Number of features.
        feature_names_in_ : array of str of shape (n_features,)
            Names of the features, if X was a DataFrame with names.
        """,
    "categories": """
        categories_ : dict of int to array
            Categories of each categorical column by its position, if X had such columns.
        category_codes_ : dict of int to array
            Codes of these categories in trees. Rare ones share one.
        unknown_codes_ : dict of int to int
            Code of categories that did not occur in `fit`; with ``unknown_categories="separate"``.
        """,
    "unknown_categories": """
        unknown_categories : {"separate", "missing", "error"}, default="separate"
            What a category is in prediction that did not occur in `fit`. With ``"separate"`` it is
            one of the rare categories, which share a code, or else the most typical category;
            missing values are apart from it. With ``"missing"`` it is a missing value, and rare
            categories have codes of their own. With ``"error"`` it raises a ValueError.
        """,
    "sparse_zeros": """
        sparse_zeros : {"missing", "zero"}, default="missing"
            Meaning of an entry that a sparse X does not store. With ``"missing"`` X must be
            sparse in prediction if it was in `fit`, and dense if it was dense. With ``"zero"`` a
            sparse X is used as the dense one that it stands for, which is made of it: 4 bytes for
            every entry.
        """,
    "sparse_X": """
        sparse_X_ : bool
            Whether X was sparse and what it did not store is missing.
        """,
}

ENTRIES: Mapping[str, str] = {
    **_PARTS,
    "takes_X": section("Parameters", _PARTS["X"]),
    "takes_data": section("Parameters", _PARTS["X"], _PARTS["Y"], _PARTS["sample_weight"]),
    "takes_known_data": section(
        "Parameters", _PARTS["X"], _PARTS["known_Y"], _PARTS["sample_weight"]
    ),
    "takes_X_and_known_Y": section("Parameters", _PARTS["X"], _PARTS["known_Y"]),
    "takes_features": section("Parameters", _PARTS["features"]),
    "returns_self": section("Returns", _PARTS["fitted_self"]),
    "returns_labels": section("Returns", _PARTS["labels"]),
    "raises_in_predict": section("Raises", _PARTS["predict_errors"]),
    "raises_for_labels": section("Raises", _PARTS["label_errors"]),
    "raises_if_unknown": section("Raises", _PARTS["unknown_errors"]),
    "raises_for_arguments": section("Raises", _PARTS["argument_errors"]),
}
"""The text for a line in braces, by its name."""

_PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def documented[T](described: T, entries: Mapping[str, str] = MappingProxyType({})) -> T:
    """Fill in the docstring of a function, or of a class and the methods that it defines.

    Parameters
    ----------
    described : function or class
        Gets another `__doc__`: an entry in place of each line that names one, indented as it is.
    entries : mapping of str to str
        Text by name, besides :data:`ENTRIES`. Other names are left as they are.

    Returns
    -------
    function or class
        The same, for a decorator.

    Examples
    --------
    >>> @documented
    ... def count_rows(X):
    ...     \"\"\"Count rows.
    ...
    ...     {X}
    ...     \"\"\"
    ...     return len(X)
    >>> "X : array-like" in count_rows.__doc__
    True
    """
    every = {**ENTRIES, **entries}

    def text(place: re.Match[str]) -> str:
        indent, name = place.groups()
        if name not in every:
            return place.group()
        lines = _dedent(every[name]).splitlines()
        return "\n".join(indent + line if line else line for line in lines)

    parts = vars(described).values() if isinstance(described, type) else ()
    methods = [getattr(part, "__func__", part) for part in parts]
    for thing in (described, *filter(inspect.isfunction, methods)):
        if thing.__doc__:
            thing.__doc__ = _PLACE.sub(text, thing.__doc__)
    return described
