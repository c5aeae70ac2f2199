"""Columns of a DataFrame as features and labels of a data set.

Numbers are numeric features; truth values, categories and text are nominal ones, unless the text is
free (many different values) or holds dates: of these no useful category can be made.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.base.categories import holds_dates
from xdcc.base.frames import as_pandas
from xdcc.base.label_words import LABEL_WORDS, label_of_word

_MOST_NAMES = 20
"""A text column with more distinct values is not categorical if they exceed half of the rows."""


def parts_of_frame(
    frame: Any, labels: Sequence[str], ignore: Sequence[str], name: str
) -> dict[str, Any]:
    """Read the parts of a data set from a DataFrame.

    Parameters and errors are those of :meth:`xdcc.data.MultiLabelDataset.from_frame`.

    Returns
    -------
    dict of str to object
        Arguments of a `MultiLabelDataset`; Y is of floats, NaN where a label is unknown.

    Examples
    --------
    >>> frame = pd.DataFrame({"size": [1.5, 2], "hue": ["red", None], "soft": [True, None]})
    >>> parts = parts_of_frame(frame, ["soft"], [], "toys")
    >>> parts["X"], parts["categories"], parts["Y"].T
    (array([[1.5, 0. ],
           [2. , nan]]), (None, ('red',)), array([[ 1., nan]]))
    """
    frame = as_pandas(frame, "frame")
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"from_frame needs a DataFrame, not a {type(frame).__name__}")
    if isinstance(labels, str):
        raise ValueError(f"labels={labels!r} must be a list of names, such as [{labels!r}]")
    require_columns(frame, [*labels, *ignore], name)
    if not labels:
        raise ValueError(f"{name} needs the name of a label column at least")
    features = frame.drop(columns=[*labels, *ignore])
    if features.shape[1] == 0:
        raise ValueError(f"every column of {name} is a label: there are no features")
    columns, categories = [], []
    for position in range(features.shape[1]):
        values = features.iloc[:, position]
        numeric = pd.api.types.is_numeric_dtype(values) and not isinstance(
            values.dtype, pd.CategoricalDtype
        )
        if not numeric:
            _check_names(values)
        kinds = None if numeric else values.astype("category")
        codes = values.to_numpy(float, na_value=np.nan) if kinds is None else kinds.cat.codes
        columns.append(np.where(values.isna(), np.nan, codes))
        categories.append(None if kinds is None else tuple(map(str, kinds.cat.categories)))
    return {
        "X": np.column_stack(columns),
        "Y": np.column_stack([_label_column(frame[label]) for label in labels]),
        "feature_names": tuple(map(str, features.columns)),
        "feature_types": tuple("numeric" if kinds is None else "nominal" for kinds in categories),
        "categories": tuple(categories),
        "label_names": tuple(map(str, labels)),
        "name": name,
        "dropped": tuple(map(str, ignore)),
    }


def require_columns(frame: pd.DataFrame, names: Sequence[str], of: str) -> None:
    """Raise a ValueError that says which columns a DataFrame lacks, and which it has.

    Examples
    --------
    >>> require_columns(pd.DataFrame({"size": [1]}), ["hue"], "toys")
    Traceback (most recent call last):
    ValueError: toys has no column 'hue'; it has 'size'
    """
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(
            f"{of} has no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, frame.columns))}"
        )


def _check_names(column: pd.Series) -> None:
    """Stop if a column contains dates or free text, of which no category can be made."""
    if holds_dates(column):
        raise ValueError(
            f"the feature {column.name!r} contains dates. Make numbers of it (the year, the month, "
            f"the days since a date), or leave it out: ignore {column.name}"
        )
    values = column.dropna()
    n_values = values.nunique()
    if n_values > max(_MOST_NAMES, len(values) / 2):
        raise ValueError(
            f"the feature {column.name!r} contains free text: {n_values} different values in "
            f"{len(values)} rows. Make numbers of it, or leave it out: ignore {column.name}"
        )


def _label_column(column: pd.Series) -> NDArray[np.float64]:
    found = np.full(len(column), np.nan)
    for row, value in enumerate(column):
        if pd.isna(value):
            continue
        label = label_of_word(str(value).removesuffix(".0"))
        if label is None:
            raise ValueError(
                f"the label {column.name!r} of row {row} is {value!r}; expected {LABEL_WORDS}, or "
                "a missing value if unknown"
            )
        found[row] = label
    return found
