"""What `MultiLabelClassifier` costs, beside the out-of-fold chain with its defaults.

    python -m experiments.benchmarks.automatic_cost [--data emotions,scene] [--seed 0]

A line of CSV for each data set: processor time of `fit` on the training part with one thread, of
`MultiLabelClassifier` told the measure (`subset_accuracy`, `example_f1`), and of
`DynamicChainClassifier` with its defaults (`chain`).
"""

import time
from collections.abc import Iterator

from experiments.benchmarks.automatic_quality import MEASURES, parts, write_table
from xdcc import MultiLabelClassifier
from xdcc.chain import DynamicChainClassifier

COLUMNS = ("data", *MEASURES, "chain")


def costs(name: str, seed: int) -> Iterator[list[str]]:
    """Fit each model on a data set's training part; yield its line."""
    train, _ = parts(name)
    seconds = []
    for model in (
        *(MultiLabelClassifier(each, random_state=seed, n_jobs=1) for each in MEASURES),
        DynamicChainClassifier(random_state=seed, n_jobs=1),
    ):
        begin = time.process_time()
        model.fit(train.X, train.Y)
        seconds.append(f"{time.process_time() - begin:.1f}")
    yield [name, *seconds]


if __name__ == "__main__":
    write_table(__doc__, COLUMNS, costs)
