"""Benchmarks in the order of their whole published files, which folds of the LaCovaC paper follow.

Our files hold the training part first, then the test part; the whole files
(github.com/tsoumakas/mulan, commit 43f6389) of five data sets have another order, which
`papers/lacovac-2016/row_order.json` holds as row numbers. There is no whole file of birds; its rows
are put in the order of the recording stations in the files' header.
"""

import json
from functools import partial

import numpy as np
from numpy.typing import NDArray

from experiments import PAPERS
from experiments.engine.registry import DataSet
from experiments.method_parts.lacovac_paper import dense
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.data.registry import DATASETS as KNOWN

NAMES = ("flags", "emotions", "birds", "genbase", "medical", "cal500", "langlog", "scene", "yeast",
         "slashdot", "enron")  # fmt: skip
ROW_ORDER = PAPERS / "lacovac-2016" / "row_order.json"


def whole_file_order(name: str, data: MultiLabelDataset) -> NDArray[np.intp]:
    """Return the numbers of rows in the order of the whole file; `data`: training, then test."""
    if name != "birds":
        order = json.loads(ROW_ORDER.read_text()).get(name, range(len(data)))
        return np.array(order, dtype=np.intp)
    station = dense(data.X)[:, data.feature_names.index("location")]
    n_train = KNOWN[name].n_train
    parts = (n_train, len(data) - n_train)
    position = np.concatenate([np.linspace(0, 1, n_rows) for n_rows in parts])
    return np.lexsort((position, station))


def _load(split: None, name: str) -> MultiLabelDataset:
    data = load_dataset(name)
    return data[whole_file_order(name, data)]


DATASETS = {
    f"{name}-whole-file": DataSet(partial(_load, name=name), "Mulan, MEKA", has_split=False)
    for name in NAMES
}
