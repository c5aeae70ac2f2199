"""Multi-label data sets: read Mulan and MEKA files, load data sets by name, or generate data."""

from xdcc.data.arff import load_arff
from xdcc.data.arff_text import ArffError
from xdcc.data.dataset import MultiLabelDataset
from xdcc.data.embedded import load_digits_properties
from xdcc.data.registry import dataset_names, load_dataset
from xdcc.data.synthetic import (
    make_conditionally_dependent,
    make_marginally_dependent,
    make_marginally_independent,
    make_multilabel,
)

__all__ = [
    "ArffError",
    "MultiLabelDataset",
    "dataset_names",
    "load_arff",
    "load_dataset",
    "load_digits_properties",
    "make_conditionally_dependent",
    "make_marginally_dependent",
    "make_marginally_independent",
    "make_multilabel",
]
