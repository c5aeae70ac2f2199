"""The chain driver: train and evaluate XDCC, its baselines and `auto` on one data set.

    python experiments/run_chain.py                       # embedded data, no file needed
    python experiments/run_chain.py -m auto --measure subset_accuracy
    python experiments/run_chain.py -f mine.csv --labels "red,green" -m auto,br
    python experiments/run_chain.py -f emotions -m dcc,sxgb,br -d 6 -r 50 -p "{'eta': 0.1}"

The options are those of the paper's script `train_dcc.py`, by their names and letters, and
``--measure``, ``--labels``, ``--data-dir``, ``--seed`` and ``--out``. The folder ``--out`` receives
one JSON record per model (seed, versions, parameters, times, measures, for XDCC after each round),
a figure of the measures per round, and the predictions.
"""

import sys
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from chain_driver.data import load
from chain_driver.models import Trainer
from chain_driver.options import MODELS, parse_arguments
from chain_driver.report import make_table, plot_rounds, write_arrays, write_record
from xdcc.base.plugin import PluginMissingError

NEXT = """Next: your own table, -f table.csv --labels a,b; what counts, --measure subset_accuracy;
other models, -m; and what else there is, --help. README.md says how to use it from Python."""


def main(args: list[str] | None = None) -> None:
    """Run the driver with the given arguments, those of the command line by default."""
    options = parse_arguments(args)
    train, evaluation = load(options)
    folder = options.out or Path("results", train.name)
    print(
        f"{train.name}: {len(train)} rows to train on, {len(evaluation)} to evaluate on, "
        f"{train.n_features} features, {train.n_labels} labels"
    )
    results = {}
    with tqdm(options.models, unit="model", file=sys.stderr) as progress:

        def show_round(round_: int, n_rounds: int, seconds: float) -> None:
            progress.set_postfix_str(f"round {round_} of {n_rounds}, {seconds:.1f} s")

        trainer = Trainer(options, train, evaluation, show_round)
        for model in progress:
            progress.set_description(model)
            progress.set_postfix_str("")
            results[model] = trainer.run(model)
            write_record(folder, model, options, train, evaluation, results[model])

    with pd.option_context("display.width", 120):
        print(make_table(results, options.measure).to_string(float_format="{:.3f}".format))
    print()
    for model in results:
        print(f"{model}: {MODELS[model]}")
    if options.output_extra:
        write_arrays(folder, evaluation, results)
    figure = plot_rounds(folder, train.name, results)
    print(f"\nRecords: {folder}; measures after each round: {figure}\n{NEXT}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, PluginMissingError) as error:
        sys.exit(f"run_chain.py: {error}")
