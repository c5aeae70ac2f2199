"""Data that need no file: scikit-learn's digits, and a few of their rows for quick checks."""

from functools import cache, partial

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset, load_dataset

TINY_ROWS = 90


@cache  # each line of a configuration is built with it
def _load_tiny(split: None) -> MultiLabelDataset:
    """Load the two middle rows of the first images."""
    data = load_dataset("digits", split)[:TINY_ROWS]
    kept = set(data.feature_names[24:40])
    return data.drop_features(name for name in data.feature_names if name not in kept)


DATASETS = {
    "digits": DataSet(partial(load_dataset, "digits"), "scikit-learn's handwritten digits"),
    "digits-tiny": DataSet(_load_tiny, f"{TINY_ROWS} of them, 16 pixels each", has_split=False),
}
