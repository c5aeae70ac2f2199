"""``InputForm``: what ``fit`` has learned about X, by which X is read and checked at prediction.

For single rows, the check of X (:mod:`xdcc.base.features`) takes longer than the prediction: it
copies a frame and looks at each column several times. So :meth:`InputForm.read` first takes what
kernels can take as it is, in a few microseconds: arrays, sparse matrices and frames in the form of
those in ``fit``, and rows as dicts. Whatever else comes goes through the check, which also raises
the errors.

This module imports NumPy alone. X can be a DataFrame or a sparse matrix only if pandas or SciPy
have been imported before.
"""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.libraries import sparse
from xdcc.base.package import PACKAGE
from xdcc.base.sparse_structure import check_sparse_structure
from xdcc.base.state_checks import check_categories, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Names, Within

type Features = NDArray[np.float32] | sparse.csr_matrix
SparseZeros = Literal["missing", "zero"]

SPARSE_ZEROS: tuple[str, ...] = get_args(SparseZeros)
"""The two meanings of an entry that a sparse X does not store."""

UnknownCategories = Literal["separate", "missing", "error"]

UNKNOWN_CATEGORIES: tuple[str, ...] = get_args(UnknownCategories)
"""What a category can be that did not occur in ``fit``."""

type Categories = dict[int, NDArray[Any]]

_FEW_ROWS = 8
"""For longer frames, the check takes less time, as it works by columns."""

_OUTCOMES = {
    "separate": "They are taken as a rare or average category, not as missing. Fit again once "
    "there are many, or reject them with unknown_categories='error'.",
    "missing": "They are taken as missing. Where missing values have a meaning, fit with "
    "unknown_categories='separate'.",
    "error": "Fit with such rows, or with unknown_categories='separate'.",
}
"""What messages say becomes of categories that did not occur in ``fit``, and what can be done."""

_LARGEST = float(np.finfo(np.float32).max)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@stored
@dataclass(frozen=True, eq=False)
class InputForm:
    """The form of X in ``fit``.

    Attributes
    ----------
    n_features : int
        Number of features.
    names : array of str of shape (n_features,) or None
        Names of the features, if X had some.
    categories : dict of int to array, or None
        Categories of the columns that have some, by the position of the column.
    sparse_zeros : str or None
        What entries mean that a sparse X does not store, see :mod:`xdcc.base.features`.
    is_sparse : bool or None
        Whether X was sparse; None if `sparse_zeros` is.
    is_open : bool
        Whether X is left as it is, because classifiers of other packages check it.
    unknown_categories : str
        What a category is that did not occur in ``fit``, see :mod:`xdcc.base.unknown_categories`.
    unknown_codes : dict of int to int, or None
        Code of such a category, by the position of the column; it is missing in other columns.
    rare : dict of int to array, or None
        Positions of the categories that share this code, for columns that have some.

    Examples
    --------
    >>> form = InputForm(2, np.array(["size", "colour"]), {1: np.array(["blue", "red"])})
    >>> form.read({"colour": "red", "size": 1.5}, "Model")
    array([[1.5, 1. ]])
    """

    n_features: Annotated[int, Within(1)]
    names: Annotated[NDArray[np.object_] | None, Names("n_features")] = None
    categories: dict[int, NDArray[Any]] | None = None
    sparse_zeros: SparseZeros | None = None
    is_sparse: bool | None = None
    is_open: bool = False
    unknown_categories: UnknownCategories = "missing"
    unknown_codes: dict[int, int] | None = None
    rare: dict[int, NDArray[np.intp]] | None = None
    _codes: ClassVar[dict[int, dict[Any, float]]]
    _names: ClassVar[list[str]]
    _positions: ClassVar[dict[str, int]]
    _expected: ClassVar[frozenset[str]]

    def __post_init__(self) -> None:
        """Look up names and categories by their values."""
        names = [] if self.names is None else self.names.tolist()
        derived: dict[str, Any] = {
            "_names": names,
            "_positions": {name: position for position, name in enumerate(names)},
            "_codes": {
                position: dict(
                    zip(values.tolist(), self.category_codes[position].tolist(), strict=True)
                )
                for position, values in (self.categories or {}).items()
            },
        }
        derived["_expected"] = frozenset(
            name
            for position, name in enumerate(names)
            if not self.lacks_zeros and derived["_codes"].get(position, True)
        )
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def _check_state(self) -> None:
        require(self.categories is None or len(self.categories) > 0, "categories")
        for position, categories in (self.categories or {}).items():
            require(0 <= position < self.n_features, "categories")
            check_categories(categories, "categories")
        sizes = {position: len(of) for position, of in (self.categories or {}).items()}
        for position, code in (self.unknown_codes or {}).items():
            require(0 <= code < sizes.get(position, 0), "unknown_codes")
        for position, rare in (self.rare or {}).items():
            require(position in (self.unknown_codes or {}) and rare.ndim == 1, "rare")
            require(((rare >= 0) & (rare < sizes[position])).all(), "rare")
        require((self.sparse_zeros is None) == (self.is_sparse is None), "is_sparse")
        require(not (self.is_sparse and self.sparse_zeros == "zero"), "is_sparse")

    def has_categories_of(self, other: "InputForm") -> bool:
        """Tell whether another form has the same categories.

        Examples
        --------
        >>> InputForm(1).has_categories_of(InputForm(1, categories={0: np.array(["a"])}))
        False
        """
        same_unknown = (self.unknown_codes or {}) == (other.unknown_codes or {})
        return self._codes == other._codes and same_unknown

    @property
    def category_codes(self) -> dict[int, NDArray[np.float32]]:
        """Codes of the categories by the position of the column; rare ones share one.

        Examples
        --------
        >>> colours = {1: np.array(["blue", "pink", "red"])}
        >>> InputForm(2, None, colours).category_codes
        {1: array([0., 1., 2.], dtype=float32)}
        """
        codes = {}
        for position, categories in (self.categories or {}).items():
            own = np.arange(len(categories), dtype=np.float32)
            is_rare = np.isin(own, (self.rare or {}).get(position, ()))
            codes[position] = np.where(is_rare, np.float32(self.code_of_unknown(position)), own)
        return codes

    @property
    def category_names(self) -> Categories:
        """What explanations call the codes of the categories, by the position of the column.

        Examples
        --------
        >>> colours = {0: np.array(["blue", "pink", "red", "white"])}
        >>> shared = {"unknown_codes": {0: 1}, "rare": {0: np.array([1, 3])}}
        >>> InputForm(1, categories=colours, **shared).category_names
        {0: array(['blue', 'rare or unknown', 'red', 'white'], dtype=object)}
        """
        names = dict(self.categories or {})
        for position in self.rare or {}:
            names[position] = names[position].astype(object)
            names[position][int(self.code_of_unknown(position))] = "rare or unknown"
        return names

    def code_of_unknown(self, position: int) -> float:
        """Return the code of a category that did not occur in ``fit``, NaN if it is missing.

        Examples
        --------
        >>> InputForm(1, None, {0: np.array(["blue", "red"])}).code_of_unknown(0)
        nan
        """
        return float((self.unknown_codes or {}).get(position, np.nan))

    def tell_unknown(self, found: Mapping[Any, Sequence[Any]]) -> None:
        """Warn of categories that did not occur in ``fit``, or raise a ValueError.

        `found` has such values by the name of their column, one for each row.

        Examples
        --------
        >>> InputForm(1, unknown_categories="error").tell_unknown({"colour": ["pink", "pink"]})
        Traceback (most recent call last):
        ValueError: Values that did not occur in fit, in column 'colour' of X (2 rows): 'pink'. \
Fit with such rows, or with unknown_categories='separate'.
        """
        if not found:
            return
        columns = "; ".join(
            f"in column {name!r} of X ({len(values)} row{'s' if len(values) > 1 else ''}): "
            f"{_listed(dict.fromkeys(values), n_shown=5)}"
            for name, values in found.items()
        )
        message = f"Values that did not occur in fit, {columns}. "
        message += _OUTCOMES[self.unknown_categories]
        if self.unknown_categories == "error":
            raise ValueError(message)
        _warn(message)

    @property
    def feature_types(self) -> list[str] | None:
        """Types of the features as XGBoost writes them; None if all are numbers.

        ``"c"`` is a categorical feature, ``"q"`` a number.

        Examples
        --------
        >>> InputForm(3, categories={1: np.array(["a", "b"])}).feature_types
        ['q', 'c', 'q']
        """
        if self.categories is None:
            return None
        return ["c" if position in self.categories else "q" for position in range(self.n_features)]

    def check(self, X: Any, estimator: str) -> Any:
        """Check X, as :func:`~xdcc.base.features.check_features` describes it.

        `estimator` is the name that messages give the class whose method was called.
        """
        if is_rows_as_dicts(X) and not self.is_open:
            return self._of_dicts(X, estimator).astype(np.float32)
        from xdcc.base.features import check_features  # imports pandas, SciPy and scikit-learn

        return check_features(self, X, estimator)

    def read(self, X: Any, estimator: str, *, warns_of_names: bool = True) -> Any:
        """Return an array of any strides or a CSR matrix, or None if X has to be checked.

        Entries may be infinite, and a matrix need not be canonical: the kernels of
        :mod:`xdcc.prediction` reject these. The check warns of an array if X had names in ``fit``,
        if `warns_of_names`.
        """
        if self.is_open:
            return None
        is_plain = self.categories is None and not (warns_of_names and self.names is not None)
        if type(X) is np.ndarray:
            is_taken = is_plain and not self.lacks_zeros and self._is_table(X)
            return X if is_taken and X.dtype in _FLOATS else None
        if is_rows_as_dicts(X):
            return self._of_dicts(X, estimator)
        if type(X) is _of_pandas("DataFrame"):
            return self._of_frame(X)
        is_taken = is_plain and (self.sparse_zeros is None or self.lacks_zeros)
        return X if is_taken and _is_single_csr(X) and self._is_table(X) else None

    def read_checked(self, X: Any, estimator: str) -> Any:
        """Return rows as :meth:`check` does, or None if X has to be checked."""
        rows = self.read(X, estimator)
        return None if rows is None else checked_rows(rows, self.n_features)

    @property
    def lacks_zeros(self) -> bool:
        """Whether entries that X does not store are missing values.

        Examples
        --------
        >>> InputForm(2, sparse_zeros="missing", is_sparse=True).lacks_zeros
        True
        """
        return self.sparse_zeros == "missing" and bool(self.is_sparse)

    def _is_table(self, X: Any) -> bool:
        return X.ndim == 2 and X.shape[1] == self.n_features and X.shape[0] > 0

    def _of_frame(self, X: Any) -> NDArray[np.number] | None:
        """Return the numbers and codes of a frame that has the columns of ``fit``."""
        if self.names is None or X.columns.tolist() != self._names or not len(X):
            return None
        objects = self._columns_of_objects(X)
        if objects is None:
            return None
        if not self._codes and not objects:
            rows = X.to_numpy(np.float64)
        else:
            if len(X) > _FEW_ROWS:
                return None
            read = [self._numbers(X.iloc[row].tolist(), objects) for row in range(len(X))]
            if None in read:
                return None
            rows = np.array(read, np.float64)
        return None if (np.abs(rows) > _LARGEST).any() else rows

    def _columns_of_objects(self, X: Any) -> list[int] | None:
        """Return the columns that may have other values than numbers; None if they surely do."""
        objects = []
        for position, dtype in enumerate(X.dtypes):
            if position in self._codes:
                continue
            if not isinstance(dtype, np.dtype) or dtype.kind not in "biufO":
                return None
            if dtype.kind == "O":
                objects.append(position)
        return objects

    def _numbers(self, row: list[Any], objects: list[int]) -> list[float] | None:
        """Return the numbers of a row, or None if it has other values."""
        for position, codes in self._codes.items():
            value = row[position]
            if isinstance(value, str) and value in codes:
                row[position] = codes[value]
            elif is_missing(value):
                row[position] = np.nan
            else:
                return None
        for position in objects:
            if row[position] is None:
                row[position] = np.nan
            elif not isinstance(row[position], float | int):
                return None
        return row

    def _of_dicts(self, X: Any, estimator: str) -> NDArray[np.float64]:
        """Return the numbers and codes of rows that are dicts."""
        missing = np.full(self.n_features, np.nan)
        return self.rows_of_dicts(X, estimator, missing, self._number_or_code, self._expected)

    def rows_of_dicts(
        self,
        X: Any,
        estimator: str,
        missing: NDArray[Any],
        entry: Callable[[int, int, Any], Any],
        expected: frozenset[str],
    ) -> NDArray[Any]:
        """Return rows that are dicts as an array.

        Other keys are left out, and absent ones are missing values, each with a warning.

        Parameters
        ----------
        X : dict, or sequence of dict of length n_samples
            The rows.
        estimator : str
            Name of the estimator in messages.
        missing : array of shape (n_features,)
            Missing values of the features.
        entry : callable
            Makes an entry of a feature's position, the number of the row and a value. None: the
            category did not occur in ``fit``, see :meth:`tell_unknown`.
        expected : frozenset of str
            Names of the features that are expected in each row.

        Returns
        -------
        array of shape (n_samples, n_features)
            Of the type of `missing`.

        Raises
        ------
        ValueError
            If features have no names, or a row is not a dict.

        Examples
        --------
        >>> form = InputForm(2, np.array(["size", "colour"]))
        >>> row, missing = {"colour": "red"}, np.full(2, "-")
        >>> form.rows_of_dicts(row, "Model", missing, lambda *of: of[-1], frozenset(["colour"]))
        array([['-', 'r']], dtype='<U1')
        """
        if self.names is None:
            raise ValueError(
                f"X has rows as dicts, but {estimator} was fitted without names of features: give "
                "an array, or fit on a DataFrame whose columns have names."
            )
        given = [X] if isinstance(X, Mapping) else X
        rows = np.empty((len(given), self.n_features), missing.dtype)
        no_entries = missing.tolist()
        unknown_keys: dict[Any, None] = {}
        unknown_values: dict[str, list[Any]] = {}
        absent: set[str] = set()
        for row, values in enumerate(given):
            if not isinstance(values, Mapping):
                raise ValueError(f"X has rows as dicts, but X[{row}] is a {_type_name(values)}.")
            entries = no_entries.copy()
            for key, value in values.items():
                position = self._positions.get(key)
                if position is None:
                    unknown_keys[key] = None
                elif not is_missing(value):
                    found = entry(position, row, value)
                    if found is None:
                        unknown_values.setdefault(key, []).append(value)
                        found = self.code_of_unknown(position)
                    entries[position] = found
            rows[row] = entries
            absent |= expected.difference(values)
        if absent:
            _warn(
                "Features without a key in rows of X: "
                f"{_listed(sorted(absent, key=self._positions.__getitem__))}. They are taken as "
                "missing. Give a missing value as None."
            )
        if unknown_keys:
            _warn(
                "Keys in rows of X that were not features in fit: "
                f"{_listed(unknown_keys)}. They are left out."
            )
        self.tell_unknown(unknown_values)
        return rows

    def number_of(self, position: int, row: int, value: Any) -> float:
        """Return a number in a row that is a dict; a ValueError says where, if it is none.

        Examples
        --------
        >>> InputForm(1, np.array(["size"])).number_of(0, 3, "big")
        Traceback (most recent call last):
        ValueError: X[3]['size'] is 'big', but in fit it was a number.
        """
        if type(value) is float and abs(value) <= _LARGEST:  # takes a third of the time
            return value
        if not _is_number(value):
            raise ValueError(
                f"{self.where(position, row)} is {value!r}, but in fit it was a number."
            )
        if not abs(value) <= _LARGEST:
            raise ValueError(
                f"{self.where(position, row)} is {value!r}: infinity, or too large for a float32."
            )
        return float(value)

    def where(self, position: int, row: int) -> str:
        """Return how messages call an entry of a row that is a dict.

        Examples
        --------
        >>> InputForm(1, np.array(["size"])).where(0, 3)
        "X[3]['size']"
        """
        return f"X[{row}][{self._names[position]!r}]"

    def _number_or_code(self, position: int, row: int, value: Any) -> float | None:
        """Return the number or code of a value; None for a category that did not occur."""
        if position not in self._codes:
            return self.number_of(position, row, value)
        codes = self._codes[position]
        if not codes:  # an identifier of rows
            return np.nan
        try:
            if value in codes:
                return codes[value]
        except TypeError as error:  # a list, for example
            raise ValueError(
                f"{self.where(position, row)} is {value!r}, which is not a category."
            ) from error
        numeric = {isinstance(each, float | int) for each in codes}
        if numeric == {not _is_number(value)}:
            raise ValueError(
                f"{self.where(position, row)} is {value!r}, but in fit it was a category, such as "
                f"{next(iter(codes))!r}."
            )
        return None


def is_rows_as_dicts(X: Any) -> bool:
    """Tell whether X is a row as a dict, or a list of such rows.

    Examples
    --------
    >>> is_rows_as_dicts({"size": 1.5}), is_rows_as_dicts([{"size": 1.5}]), is_rows_as_dicts([[1]])
    (True, True, False)
    """
    return type(X) is dict or (type(X) is list and len(X) > 0 and isinstance(X[0], Mapping))


def checked_rows(rows: Any, n_features: int) -> Any:
    """Return rows that were read in the form of checked ones; None if they have to be checked.

    Examples
    --------
    >>> checked_rows(np.array([[1.5, 2.5]]), n_features=2)
    array([[1.5, 2.5]], dtype=float32)
    """
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] != n_features:
        return None
    if not isinstance(rows, np.ndarray):
        check_sparse_structure("X", rows)
        is_checked = rows.has_canonical_format and not np.isinf(rows.data).any()
        return sparse.csr_matrix(rows) if is_checked else None
    if rows.dtype not in _FLOATS:
        return None
    with np.errstate(over="ignore"):  # infinity is reported by the later check
        rows = np.ascontiguousarray(rows, np.float32)
    return None if np.isinf(rows).any() else rows


def _listed(values: Any, n_shown: int = 20) -> str:
    """List the first of some values."""
    shown = ", ".join(map(repr, list(values)[:n_shown]))
    more = len(values) - n_shown
    return f"{shown} and {more} more" if more > 0 else shown


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, skip_file_prefixes=(PACKAGE,))


def _is_single_csr(X: Any) -> bool:
    """Tell whether X is a CSR matrix of the types that kernels read."""
    return (
        "scipy.sparse" in sys.modules
        and isinstance(X, sparse.csr_matrix | sparse.csr_array)
        and X.ndim == 2
        and X.data.dtype == np.float32
        and X.indices.dtype == np.int32
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int | Real | np.bool_)


def is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or pandas' NA.

    Examples
    --------
    >>> is_missing(None), is_missing(np.nan), is_missing("")
    (True, True, False)
    """
    if isinstance(value, float | str | int):
        return value != value
    return value is None or value is _of_pandas("NA")


def _of_pandas(name: str) -> Any:
    """Return an attribute of pandas; None if it is not imported, or not completely."""
    return getattr(sys.modules.get("pandas"), name, None)


def _type_name(value: Any) -> str:
    return type(value).__name__
