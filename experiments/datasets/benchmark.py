"""The public benchmarks that `xdcc.data` knows: files of the Mulan and MEKA projects."""

from functools import partial

from experiments.engine.registry import DataSet
from xdcc.data import load_dataset
from xdcc.data.registry import DATASETS as KNOWN

DATASETS = {
    name: DataSet(partial(load_dataset, name), "Mulan, MEKA", has_split=bool(info.n_test))
    for name, info in KNOWN.items()
}
