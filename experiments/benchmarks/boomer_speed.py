"""BOOMER against its authors' C++, `mlrl-boomer`: training time and accuracy.

    python -m experiments.benchmarks.boomer_speed --output FILE.jsonl [--data emotions,scene]
        [--rules 1000] [--threads 1,2] [--repeats 3]

Needs mlrl-boomer (the extra `bench`). Both train on the training part of each data set, one after
the other in the same process, once per repeat, with another seed each time: label-wise logistic
loss with single-label heads and example-wise logistic loss with complete heads, the same number of
rules, shrinkage .3, L2 weight 1. The peer is told to search as the paper says, which are our
defaults: a bootstrap sample of all examples for each rule (its largest sample is just below that),
the logarithm of the number of features drawn for each refinement, a default rule, the heads
computed again on all examples, no binning of features or labels. Everything else, the format and
the precision of its statistics, for example, is its own default. Both predict the test part.

Besides the seconds that pass, those of the processor are recorded, of all threads together: beside
other work on the machine they are the better measure of one thread's work.

Each training makes one line of the output file; what is there is not done again.
`boomer_report.py` makes the tables.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from mlrl.boosting import BoomerClassifier as Peer
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from experiments.benchmarks.boomer_variants import VARIANTS, fit
from xdcc.data import MultiLabelDataset, load_dataset
from xdcc.metrics import hamming_loss, subset_loss

DATASETS = ("emotions", "scene", "yeast", "birds", "enron", "medical")
COMPARED = ("l.w.-log single", "ex.w.-log multi")
RATE, L2 = 0.3, 1.0
PEER_LOSSES = {
    "logistic_label_wise": "logistic-decomposable",
    "logistic_example_wise": "logistic-non-decomposable",
}


def train_ours(data: MultiLabelDataset, variant: str, n_rules: int, threads: int, seed: int) -> Any:
    """Return our trained model."""
    return fit(
        variant,
        data,
        n_rules=n_rules,
        learning_rate=RATE,
        l2=L2,
        random_state=seed,
        n_jobs=threads,
    )


def train_peer(data: MultiLabelDataset, variant: str, n_rules: int, threads: int, seed: int) -> Any:
    """Return the peer's trained model."""
    loss, head = VARIANTS[variant]
    parallel = f"true{{num_preferred_threads={threads}}}" if threads > 1 else "false"
    model = Peer(
        # 0 is not among its seeds
        random_state=seed + 1,
        max_rules=n_rules,
        loss=PEER_LOSSES[loss],
        head_type=head,
        shrinkage=RATE,
        l2_regularization_weight=L2,
        default_rule="true",
        instance_sampling="with-replacement{sample_size=0.9999}",
        feature_sampling="without-replacement",
        feature_binning="none",
        label_binning="none",
        parallel_rule_refinement=parallel,
        parallel_statistic_update=parallel,
        parallel_prediction="false",
    )
    nominal = [i for i, t in enumerate(data.feature_types) if t == "nominal"]
    return model.fit(as_peer_likes(data.X), data.Y, nominal_feature_indices=nominal)


def as_peer_likes(X: Any) -> Any:
    """Return the features with the peer's number type; it takes sparse matrices, not arrays."""
    return sparse.csr_matrix(X, dtype=np.float32) if sparse.issparse(X) else X.astype(np.float32)


def predict_peer(model: Any, X: Any) -> NDArray[np.int64]:
    """Return the peer's predictions as a dense array."""
    predicted = model.predict(as_peer_likes(X))
    return (predicted.toarray() if sparse.issparse(predicted) else predicted).astype(np.int64)


def measure(name: str, variant: str, threads: int, seed: int, n_rules: int) -> list[dict[str, Any]]:
    """Train both on a data set."""
    train, test = load_dataset(name, "train"), load_dataset(name, "test")
    rows = []
    for who, training in (("xdcc", train_ours), ("mlrl-boomer", train_peer)):
        # Linear systems are small and many: threads of their own would only slow both down.
        with threadpool_limits(1, user_api="blas"):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            model = training(train, variant, n_rules, threads, seed)
            seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - begin_cpu
        predicted = model.predict(test.X) if who == "xdcc" else predict_peer(model, test.X)
        rows.append(
            {
                "data": name,
                "variant": variant,
                "threads": threads,
                "seed": seed,
                "rules": n_rules,
                "who": who,
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "subset_zero_one_loss": subset_loss(test.Y, predicted),
                "hamming_loss": hamming_loss(test.Y, predicted),
            }
        )
    return rows


def main() -> None:
    """Measure what is not in the file yet."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--data", default=",".join(DATASETS))
    parser.add_argument("--variants", default=",".join(COMPARED))
    parser.add_argument("--rules", type=int, default=1000)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lines = options.output.read_text().splitlines() if options.output.exists() else []
    rows = [json.loads(line) for line in lines]
    keys = ("data", "variant", "threads", "seed", "rules")
    done = {tuple(row[key] for key in keys) for row in rows}
    threads = [int(part) for part in options.threads.split(",")]
    jobs = product(
        range(options.repeats), options.data.split(","), options.variants.split(","), threads
    )
    todo = [(d, v, t, s, options.rules) for s, d, v, t in jobs]
    for job in tqdm([job for job in todo if job not in done]):
        with options.output.open("a") as output:
            output.writelines(json.dumps(row) + "\n" for row in measure(*job))


if __name__ == "__main__":
    main()
