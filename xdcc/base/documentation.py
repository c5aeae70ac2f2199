"""Text that the documentation of many methods shares, written once.

A line ``{X}`` in a docstring stands for the entry `X` of :data:`ENTRIES`. The estimators' base
class fills in such lines for every subclass and its methods, :func:`documented` for a function or
another class. A family of estimators may have entries of its own (`MultiLabelEstimator._entries`),
so may some modules (:func:`documented_with`). Entries are parts of a section, or sections with
their headings (:func:`section`).
"""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any


def _dedent(text: str) -> str:
    return textwrap.dedent(text).strip()


def section(title: str, *parts: str) -> str:
    """Put entries below the heading of a section.

    Parameters
    ----------
    title : str
        The heading, "Parameters" for example.
    *parts : str
        What stands below it.

    Returns
    -------
    str
        An entry.

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
            value.
        """,
    "Y": """
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or \
(n_samples,)
            0, 1, or NaN where a label is unknown; or the classes of a binary target.
        """,
    "known_Y": """
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or \
(n_samples,)
            Zeros and ones, none unknown; or the classes of a binary target.
        """,
    "sample_weight": """
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.
        """,
    "cv": """
        cv : int, splitter, iterable of pairs or None, default=5
            Number of folds, None for 5; they are stratified by labels, or keep `groups` together.
            Or a splitter of scikit-learn, or pairs of the positions of training and test rows, a
            pair for each fold. A row can be tested once at most. One that is never tested, as the
            first rows with ``TimeSeriesSplit``, is trained on, but takes no part in calibration and
            choices.
        """,
    "groups": """
        groups : array-like of shape (n_samples,), optional
            Group of each row, such as a patient: all rows of a group are in the same fold, or what
            a splitter `cv` does with it.
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
        """,
    "sparse_zeros": """
        sparse_zeros : {"missing", "zero"}, default="missing"
            What an entry means that a sparse X does not store. With ``"missing"`` X has to be
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


def fill_in(documented: object, entries: Mapping[str, str] = ENTRIES) -> None:
    """Put entries in place of the lines of a docstring that name them, indented as these are.

    Parameters
    ----------
    documented : class or function
        Its `__doc__` is changed. Names that are not among the entries are left.
    entries : mapping of str to str
        Text by name.

    Examples
    --------
    >>> def double(x):
    ...     \"\"\"Double.
    ...
    ...     {x}
    ...     \"\"\"
    >>> fill_in(double, {"x": "x : int"})
    >>> print(inspect.cleandoc(double.__doc__))
    Double.
    <BLANKLINE>
    x : int
    """

    def text(place: re.Match[str]) -> str:
        indent, name = place.groups()
        if name not in entries:
            return place.group()
        lines = _dedent(entries[name]).splitlines()
        return "\n".join(indent + line if line else line for line in lines)

    if documented.__doc__:
        documented.__doc__ = _PLACE.sub(text, documented.__doc__)


def fill_in_class(cls: type, entries: Mapping[str, str] = ENTRIES) -> None:
    """Fill in the docstrings of a class and of the methods that it defines.

    Parameters
    ----------
    cls : type
        What it inherits is left as it is.
    entries : mapping of str to str
        Text by name.

    Examples
    --------
    >>> class Rows:
    ...     def read(self, X):
    ...         \"\"\"Read rows.
    ...
    ...         {X}
    ...         \"\"\"
    >>> fill_in_class(Rows)
    >>> "X : array-like" in Rows.read.__doc__
    True
    """
    fill_in(cls, entries)
    for attribute in vars(cls).values():
        method = getattr(attribute, "__func__", attribute)
        if inspect.isfunction(method):
            fill_in(method, entries)


def documented_with[T: Callable[..., Any]](entries: Mapping[str, str]) -> Callable[[T], T]:
    """Make a decorator that fills in the docstring of a function, or of a class and its methods.

    Parameters
    ----------
    entries : mapping of str to str
        Text by name, for what some modules share; those of :data:`ENTRIES` come besides.

    Returns
    -------
    callable
        Changes `__doc__` and returns what it is given.

    Examples
    --------
    >>> @documented_with({"tree": "tree : int"})
    ... def depth(tree, X):
    ...     \"\"\"Tell the depth.
    ...
    ...     {tree}
    ...     {X}
    ...     \"\"\"
    >>> "tree : int" in depth.__doc__, "X : array-like" in depth.__doc__
    (True, True)
    """
    every = {**ENTRIES, **entries}

    def fill(described: T) -> T:
        if isinstance(described, type):
            fill_in_class(described, every)
        else:
            fill_in(described, every)
        return described

    return fill


def documented[T: Callable[..., Any]](described: T) -> T:
    """Fill in the docstring of a function, or of a class and its methods, as a decorator.

    Parameters
    ----------
    described : function or class
        Gets another `__doc__`.

    Returns
    -------
    function or class
        The same.

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
    return documented_with({})(described)
