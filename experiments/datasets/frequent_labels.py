"""Data sets with their most frequent labels only, as the MC paper uses them."""

from dataclasses import replace

import numpy as np

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.data.dataset import as_labels

N_LABELS = 10


def _load_rcv1(split: None) -> MultiLabelDataset:
    data = load_dataset("rcv1-subset1", split)
    frequent = np.sort(np.argsort(-data.Y.sum(axis=0), kind="stable")[:N_LABELS])
    names = tuple(data.label_names[k] for k in frequent)
    return replace(data, Y=as_labels(data.Y[:, frequent].astype(np.float64)), label_names=names)


DATASETS = {
    f"rcv1-subset1-top{N_LABELS}": DataSet(_load_rcv1, "Mulan; Lewis et al., 2004", has_split=False)
}
