"""DataFrames of other libraries as pandas DataFrames, and lists of label names as a label matrix.

Everything that takes X or Y takes pandas' DataFrame, and calls :func:`as_pandas` first. narwhals
reads Polars, PyArrow, Modin, cuDF and others; whatever else exports Arrow streams
(``__arrow_c_stream__``) is read with PyArrow or Polars. Numbers stay numbers, with NaN where they
are missing; text stays text; Arrow's dictionaries and the Categorical and Enum of Polars become
pandas' categories. Polars is converted without PyArrow, which its own ``to_pandas`` needs.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.label_words import label_of_word
from xdcc.base.libraries import nw, pd, sparse


def as_pandas(data: Any, name: str = "X") -> Any:
    """Convert a DataFrame or Series of another library; return all else as it is.

    Parameters
    ----------
    data : object
        Any.
    name : str, default="X"
        Name of the argument in messages.

    Returns
    -------
    object
        A pandas DataFrame or Series for data of another library, with the values in it, in memory
        of its own or shared.

    Raises
    ------
    ValueError
        If the data are lazy.
    ImportError
        If they are a stream of Arrow data that needs PyArrow or Polars.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"colour": pa.array(["red", None]).dictionary_encode(), "size": [1, 2]})
    >>> as_pandas(table)
      colour  size
    0    red     1
    1    NaN     2
    >>> as_pandas([[1, 2]])
    [[1, 2]]
    """
    if isinstance(data, np.ndarray | list | tuple | pd.DataFrame | pd.Series):
        return data
    if sparse.issparse(data):
        return data
    read = nw.from_native(data, pass_through=True, allow_series=True)
    if isinstance(read, nw.LazyFrame):
        raise ValueError(
            f"{name} is a lazy {type(data).__name__} of {type(data).__module__.split('.')[0]}; "
            "collect its rows first (collect() or compute())."
        )
    if not isinstance(read, nw.DataFrame | nw.Series):
        if not hasattr(data, "__arrow_c_stream__"):
            return data
        read = nw.from_arrow(data, backend=_arrow_reader(data))
    if isinstance(read, nw.Series):
        return _column(read)
    return pd.DataFrame({column.name: _column(column) for column in read.iter_columns()})


def _arrow_reader(data: Any) -> Any:
    for reader in ("pyarrow", "polars"):
        if find_spec(reader) is not None:
            return reader
    raise ImportError(
        f"A {type(data).__name__} is read as Arrow data, which needs PyArrow or Polars: "
        "pip install pyarrow"
    )


def _column(column: "nw.Series[Any]") -> "pd.Series":
    dtype = column.dtype
    values: Any
    if isinstance(dtype, nw.Enum):
        values = pd.Categorical(column.to_list(), categories=dtype.categories)
    elif isinstance(dtype, nw.Categorical):
        # In Polars one pool has the categories of all columns, in the order of their use.
        own_order = not column.implementation.is_polars()
        categories = column.cat.get_categories().to_list() if own_order else None
        values = pd.Categorical(column.to_list(), categories=categories)
    elif dtype.is_numeric() or isinstance(dtype, nw.Boolean):
        if column.null_count() or isinstance(dtype, nw.Decimal):
            column = column.cast(nw.Float64)
        values = column.to_numpy()
    else:
        values = column.to_list()
    return pd.Series(values, name=column.name or None)


def labels_of_names(Y: Any, names: Sequence[str] | None = None) -> Any:
    """Make a label matrix of lists of label names; return all else as it is.

    Parameters
    ----------
    Y : object
        Labels. Lists of names are a list, an array or a Series of lists, tuples or sets of str.
    names : sequence of str, optional
        The labels that there are. By default those that occur, sorted.

    Returns
    -------
    object
        For lists of names a DataFrame of shape (n_samples, n_labels), a column for each label.
        Lists of the words in ``label_words.py``, some more than once in a row, are a matrix.

    Raises
    ------
    ValueError
        If a name is not among `names`, or there is no name at all.

    Examples
    --------
    >>> labels_of_names([["new", "red"], [], ["red"]])
       new  red
    0    1    1
    1    0    0
    2    0    1
    >>> labels_of_names([[0, 1], [1, 1]]), labels_of_names([["no", "no"], ["no", "yes"]])
    ([[0, 1], [1, 1]], [['no', 'no'], ['no', 'yes']])
    """
    if not _is_lists_of_names(Y):
        return Y
    rows = [set(row) for row in Y]
    occurring = sorted(set().union(*rows))
    if None not in map(label_of_word, occurring) and list(map(len, rows)) != list(map(len, Y)):
        return Y
    if names is None:
        names = occurring
    position = {name: column for column, name in enumerate(names)}
    unknown = [name for name in occurring if name not in position]
    if unknown:
        raise ValueError(f"Y has the label {unknown[0]!r}, which did not occur in fit.")
    matrix: NDArray[np.int8] = np.zeros((len(rows), len(position)), dtype=np.int8)
    for row, present in enumerate(rows):
        matrix[row, [position[name] for name in present]] = 1
    return pd.DataFrame(matrix, columns=pd.Index(names, dtype=object))


def _is_lists_of_names(Y: Any) -> bool:
    if not isinstance(Y, list | tuple | pd.Series) and not (
        isinstance(Y, np.ndarray) and Y.ndim == 1 and Y.dtype == object
    ):
        return False
    any_name = False
    for row in Y:
        if not isinstance(row, list | tuple | set | frozenset | np.ndarray):
            return False
        for name in row:
            if not isinstance(name, str):
                return False
            any_name = True
    return any_name
