"""A data set of one's own by the path of its file: ARFF with an XML, CSV or Parquet."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from xdcc.data import MultiLabelDataset, load_arff
from xdcc.data.arff_rows import LABEL_VALUES

SUFFIXES = (".arff", ".csv", ".parquet")


def is_own_data(name: str) -> bool:
    """Whether what stands for a data set on the command line is the path of a file."""
    return Path(name).suffix.lower() in SUFFIXES


def load_own_data(
    path: Path, labels: Sequence[str] = (), n_labels: int | None = None
) -> MultiLabelDataset:
    """Read a file.

    Parameters
    ----------
    path : Path
        Its suffix says what it is. An XML of the same name beside an ARFF file names the labels.
    labels : sequence of str
        Columns of a CSV or Parquet file that are labels. The others are features, nominal if they
        hold text.
    n_labels : int, optional
        For an ARFF file: the last so many attributes are the labels.

    Raises
    ------
    OSError
        If the file is not there.
    ValueError
        If nothing says which columns are labels, or the file is not as described.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix.lower() == ".arff":
        if labels:
            raise ValueError("--labels are columns of a CSV or Parquet file; an ARFF file has an "
                             "XML beside it, a MEKA header, or --num_labels")  # fmt: skip
        xml = path.with_suffix(".xml")
        return load_arff(path, xml=xml if xml.exists() and n_labels is None else None,
                         n_labels=n_labels)  # fmt: skip
    if not labels:
        raise ValueError(f"{path} needs --labels: the names of the columns that are labels")
    frame = pd.read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)
    return from_frame(frame, labels, path.stem)


def from_frame(frame: pd.DataFrame, labels: Sequence[str], name: str) -> MultiLabelDataset:
    """Make a data set of a DataFrame.

    Parameters
    ----------
    frame : DataFrame
        A column for each feature and label.
    labels : sequence of str
        Which are labels: 0, 1, false, true, or missing for unknown.
    name : str
        Of the data set.

    Returns
    -------
    MultiLabelDataset
        Missing values are NaN.

    Raises
    ------
    ValueError
        If a label is no column, or holds something else; or if no column is left as a feature.
    """
    missing = [label for label in labels if label not in frame.columns]
    if missing:
        raise ValueError(
            f"{name} has no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    features = frame.drop(columns=list(labels))
    if features.shape[1] == 0:
        raise ValueError(f"every column of {name} is a label: there is no feature")
    columns, categories = [], []
    for column in features:
        values = features[column]
        numeric = pd.api.types.is_numeric_dtype(values) and not isinstance(
            values.dtype, pd.CategoricalDtype
        )
        kinds = None if numeric else values.astype("category")
        codes = values.to_numpy(float, na_value=np.nan) if kinds is None else kinds.cat.codes
        columns.append(np.where(values.isna(), np.nan, codes))
        categories.append(None if kinds is None else tuple(map(str, kinds.cat.categories)))
    Y = np.column_stack([_label_column(frame[label]) for label in labels])
    return MultiLabelDataset(
        X=np.column_stack(columns),
        Y=Y if np.isnan(Y).any() else Y.astype(np.int8),
        feature_names=tuple(map(str, features.columns)),
        feature_types=tuple("numeric" if kinds is None else "nominal" for kinds in categories),
        categories=tuple(categories),
        label_names=tuple(labels),
        name=name,
    )


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise ValueError(f"{path} cannot be read without pyarrow: pip install pyarrow") from error


def _label_column(column: pd.Series) -> np.ndarray:
    found = np.full(len(column), np.nan)
    for row, value in enumerate(column):
        if pd.isna(value):
            continue
        text = str(value).lower().removesuffix(".0")
        if text not in LABEL_VALUES:
            raise ValueError(
                f"the label {column.name!r} of row {row} is {value!r}; expected 0, 1, false, true, "
                "or nothing where it is unknown"
            )
        found[row] = LABEL_VALUES[text]
    return found
