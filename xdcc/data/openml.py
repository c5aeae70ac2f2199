"""Download of multi-label data sets from OpenML, by scikit-learn's fetcher and its cache."""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import fetch_openml

from xdcc.data.arff_values import LABEL_VALUES
from xdcc.data.dataset import MultiLabelDataset, as_labels


def fetch(name: str, data_id: int, data_home: Path) -> MultiLabelDataset:
    """Download a data set, or load it from the cache of an earlier download.

    Parameters
    ----------
    name : str
        The data set's name here.
    data_id : int
        Its id at OpenML, where the labels must be declared as targets.
    data_home : Path
        Folder of the cache.

    Raises
    ------
    OSError
        If OpenML cannot be reached or answers with an error.
    ValueError
        If the data cannot be read or a label is not 0 or 1 (false or true).
    """
    # Of the fetcher's two parsers this one gives nominal features as indices of their categories,
    # and needs no pandas.
    bunch = fetch_openml(data_id=data_id, data_home=data_home, as_frame=False, parser="liac-arff")
    return MultiLabelDataset(
        X=bunch.data if sparse.issparse(bunch.data) else np.ascontiguousarray(bunch.data),
        Y=as_labels(np.vectorize(_label_value, otypes=[float])(bunch.target)),
        feature_names=tuple(bunch.feature_names),
        feature_types=tuple(
            "nominal" if feature in bunch.categories else "numeric"
            for feature in bunch.feature_names
        ),
        categories=tuple(
            tuple(bunch.categories[f]) if f in bunch.categories else None
            for f in bunch.feature_names
        ),
        label_names=tuple(bunch.target_names),
        name=name,
    )


def _label_value(value: object) -> float:
    text = str(value).lower()
    if text not in LABEL_VALUES:
        raise ValueError(f"a label is {value!r}; expected 0, 1, false or true")
    return LABEL_VALUES[text]
