"""Predictions as DataFrames: what ``set_output`` asks for."""

import functools
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from xdcc.base.domains import Choice, check_domain
from xdcc.base.libraries import nw, pd

Output = Literal["default", "input", "pandas", "polars", "pyarrow"]

OUTPUTS: tuple[str, ...] = get_args(Output)
"""The forms that predictions can have."""


def set_output(estimator: Any, predict: Output | None) -> None:
    """Set the form of the predictions of an estimator; None changes nothing.

    A ValueError says that it is not one of :data:`OUTPUTS`.

    Examples
    --------
    >>> class Model:
    ...     pass
    >>> model = Model()
    >>> set_output(model, "polars")
    >>> model._sklearn_output_config
    {'predict': 'polars'}
    """
    if predict is not None:
        check_domain("predict", predict, Choice(OUTPUTS))
        estimator._sklearn_output_config = {"predict": predict}


def in_output_form[T: Callable[..., Any]](method: T) -> T:
    """Decorate a method of an estimator that makes predictions for an X.

    Examples
    --------
    >>> from xdcc.base.output_form import LabelForm
    >>> class Model:
    ...     _sklearn_output_config = {"predict": "pandas"}
    ...     _output_form = LabelForm.of_matrix(np.array(["red"], object), is_named=True)
    ...
    ...     @in_output_form
    ...     def predict(self, X):
    ...         return np.array([[1]])
    >>> Model().predict([[0.5]])
       red
    0    1
    """

    @functools.wraps(method)
    def formed(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        found = method(self, X, *args, **kwargs)
        output = getattr(self, "_sklearn_output_config", {}).get("predict", "default")
        if output == "default" or not isinstance(found, np.ndarray):
            return found
        names = self._output_form.column_names(found.ndim, *found.shape[1:2] or (1,))
        return frame_of(found, X, [str(name) for name in names], output)

    return formed  # type: ignore[return-value]


def frame_of(values: Any, X: Any, names: list[str], output: str) -> Any:
    """Make a DataFrame of predictions, or a Series of those of one dimension.

    Parameters
    ----------
    values : array of shape (n_samples, n_columns) or (n_samples,)
        Predictions.
    X : object
        Input of the prediction. The index of a pandas DataFrame is kept.
    names : list of str of length n_columns
        Names of the columns.
    output : {"input", "pandas", "polars", "pyarrow"}
        The library of the DataFrame; "input" is that of X. If X is no DataFrame, `values` are
        returned as they are.

    Returns
    -------
    DataFrame, Series or array

    Examples
    --------
    >>> X = pd.DataFrame({"size": [3, 4]}, index=["a", "b"])
    >>> frame_of(np.array([[1, 0], [0, 1]]), X, ["red", "blue"], "input")
       red  blue
    a    1     0
    b    0     1
    """
    if output == "input":
        read = nw.from_native(X, pass_through=True)
        if isinstance(read, nw.DataFrame):
            backend: Any = read.implementation
        elif hasattr(X, "__arrow_c_stream__"):
            backend = "pyarrow"
        else:
            return values
    else:
        backend = output
    if isinstance(X, pd.DataFrame) and backend in ("pandas", nw.Implementation.PANDAS):
        if values.ndim == 1:
            return pd.Series(values, X.index, name=names[0])
        return pd.DataFrame(values, X.index, names)
    if values.ndim == 1:
        return nw.new_series(names[0], values.tolist(), backend=backend).to_native()
    columns = {name: values[:, j] for j, name in enumerate(names)}
    return nw.from_dict(columns, backend=backend).to_native()
