"""Loads the rows that the driver trains on and those that it evaluates on."""

import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder

from chain_driver.own_data import is_own_data, load_own_data
from xdcc.data import MultiLabelDataset, dataset_names, load_arff, load_dataset
from xdcc.data.registry import DATASETS

TEST_SHARE = 1 / 3
"""Share of the rows to evaluate on, where a data set is published in one file."""

type Parts = tuple[MultiLabelDataset, MultiLabelDataset]


def load(options: Namespace) -> Parts:
    """Load the rows to train on and the rows to evaluate on.

    Raises
    ------
    ValueError, OSError
        If the data do not fit the options, are malformed, or are not there.
    """
    if options.data_dir is not None:
        os.environ["XDCC_DATA"] = str(options.data_dir)
    train, test = _load_split(options)
    if options.validation:
        n = len(train) * options.validation // 100
        if n == 0:
            raise ValueError(f"{options.validation} % of {len(train)} rows are none")
        train, test = train[n:], train[:n]
    return _encode(train, test, options.features_to_transform)


def _load_split(options: Namespace) -> Parts:
    name = options.filename
    if is_own_data(name):
        own = load_own_data(Path(name), options.labels, options.num_labels)
        return _split(own, options.seed)
    if options.labels:
        raise ValueError("--labels are for a CSV or Parquet file, whose path is -f")
    if name.lower() not in dataset_names():
        root = options.data_dir or Path(os.environ.get("XDCC_DATA", "."))
        folder = root / name if (root / name).is_dir() else root
        xml = folder / f"{name}.xml"
        train, test = (
            load_arff(
                folder / f"{name}-{part}.arff",
                xml=xml if xml.exists() and options.num_labels is None else None,
                n_labels=options.num_labels,
            )
            for part in ("train", "test")
        )
        return train, test
    info = DATASETS.get(name.lower())
    if info is None or info.n_test:
        train, test = load_dataset(name, "train"), load_dataset(name, "test")
    else:  # published in one file
        train, test = _split(load_dataset(name), options.seed)
    if options.num_labels not in (None, train.n_labels):
        raise ValueError(f"{name} has {train.n_labels} labels, not {options.num_labels}")
    return train, test


def _split(data: MultiLabelDataset, seed: int) -> Parts:
    parts = train_test_split(np.arange(len(data)), test_size=TEST_SHARE, random_state=seed)
    train, test = (data[np.sort(part)] for part in parts)
    return train, test


def _encode(train: MultiLabelDataset, test: MultiLabelDataset, names: Sequence[str]) -> Parts:
    """Replace features by the rank of their value in the training rows (NaN for a new value)."""
    if not names:
        return train, test
    unknown = [name for name in names if name not in train.feature_names]
    if unknown:
        raise ValueError(f"features to transform that {train.name} lacks: {', '.join(unknown)}")
    if sp.issparse(train.X):
        raise ValueError("features are transformed in dense data only; these are sparse")
    columns = [list(train.feature_names).index(name) for name in names]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    encoder.fit(_values(train, columns))
    parts = []
    for part in (train, test):
        X = part.X.copy()
        X[:, columns] = encoder.transform(_values(part, columns))
        types, categories = list(part.feature_types), list(part.categories)
        for column in columns:
            types[column], categories[column] = "numeric", None
        parts.append(replace(part, X=X, feature_types=tuple(types), categories=tuple(categories)))
    return parts[0], parts[1]


def _values(part: MultiLabelDataset, columns: Sequence[int]) -> np.ndarray:
    """Return columns with nominal features as their categories' names."""
    values = np.empty((len(part), len(columns)), dtype=object)
    for k, column in enumerate(columns):
        x, names = part.X[:, column], part.categories[column]
        values[:, k] = x if names is None else [np.nan if v != v else names[int(v)] for v in x]
    return values
