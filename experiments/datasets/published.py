"""The public benchmarks that `xdcc.data` knows (Mulan, MEKA), whole and as papers use them.

The MC paper uses only the most frequent labels of rcv1-subset1.

Folds of the LaCovaC paper follow the order of the whole published files (`<name>-whole-file`). Our
files hold the training part first, then the test part; the whole files
(github.com/tsoumakas/mulan, commit 43f6389) of five data sets have another order, which
`papers/lacovac-2016/row_order.json` has as row numbers. There is no whole file of birds; its rows
are in the order of the recording stations in the files' header.
"""

import json
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments import PAPERS
from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.data.dataset import as_labels
from xdcc.data.registry import DATASETS as KNOWN

N_LABELS = 10
"""Number of labels of rcv1 in the MC paper."""

WHOLE_FILES = ("flags", "emotions", "birds", "genbase", "medical", "cal500", "langlog", "scene",
               "yeast", "slashdot", "enron")  # fmt: skip

ROW_ORDER = PAPERS / "lacovac-2016" / "row_order.json"


def _load_rcv1(split: None) -> MultiLabelDataset:
    data = load_dataset("rcv1-subset1", split)
    frequent = np.sort(np.argsort(-data.Y.sum(axis=0), kind="stable")[:N_LABELS])
    names = tuple(data.label_names[k] for k in frequent)
    return replace(data, Y=as_labels(data.Y[:, frequent].astype(np.float64)), label_names=names)


def whole_file_order(name: str, data: MultiLabelDataset) -> NDArray[np.intp]:
    """Return the numbers of rows in the order of the whole file; `data`: training, then test."""
    if name != "birds":
        order = json.loads(ROW_ORDER.read_text()).get(name, range(len(data)))
        return np.array(order, dtype=np.intp)
    station = data.X[:, data.feature_names.index("location")]
    n_train = KNOWN[name].n_train
    parts = (n_train, len(data) - n_train)
    position = np.concatenate([np.linspace(0, 1, n_rows) for n_rows in parts])
    return np.lexsort((position, station))


def _load_whole_file(split: None, name: str) -> MultiLabelDataset:
    data = load_dataset(name)
    return data[whole_file_order(name, data)]


DATASETS = (
    {
        name: DataSet(partial(load_dataset, name), "Mulan, MEKA", has_split=bool(info.n_test))
        for name, info in KNOWN.items()
    }
    | {
        f"rcv1-subset1-top{N_LABELS}": DataSet(
            _load_rcv1, "Mulan; Lewis et al., 2004", has_split=False
        )
    }
    | {
        f"{name}-whole-file": DataSet(
            partial(_load_whole_file, name=name), "Mulan, MEKA", has_split=False
        )
        for name in WHOLE_FILES
    }
)
