"""What `MultiLabelClassifier` costs, beside the out-of-fold chain with its defaults.

    python experiments/benchmarks/automatic_cost.py [--data emotions,scene] [--seed 0]

A line of CSV for each data set: processor time of `fit` on the training part with one thread, of
`MultiLabelClassifier` told the measure (`subset_accuracy`, `example_f1`), and of
`DynamicChainClassifier` with its defaults (`chain`).
"""

import argparse
import csv
import sys
import time

from automatic_quality import DATASETS, MEASURES, parts
from xdcc import MultiLabelClassifier
from xdcc.chain import DynamicChainClassifier

COLUMNS = ("data", *MEASURES, "chain")


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=DATASETS, help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    for name in arguments.data.split(","):
        train, _ = parts(name)
        models = [
            *(
                MultiLabelClassifier(each, random_state=arguments.seed, n_jobs=1)
                for each in MEASURES
            ),
            DynamicChainClassifier(random_state=arguments.seed, n_jobs=1),
        ]
        seconds = []
        for model in models:
            begin = time.process_time()
            model.fit(train.X, train.Y)
            seconds.append(f"{time.process_time() - begin:.1f}")
        table.writerow([name, *seconds])
        sys.stdout.flush()


if __name__ == "__main__":
    main()
