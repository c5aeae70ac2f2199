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

import argparse
import ast
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from chain_driver import Trainer, load, make_table, plot_rounds, write_arrays, write_record
from xdcc.base.booster_parameters import SPLIT_METHOD_NUMBERS
from xdcc.base.plugin import PluginMissingError
from xdcc.decision.measures import MeasureName

MODELS = {
    "auto": "the best of some boosters, decided for --measure (MultiLabelClassifier)",
    "dcc": "the dynamic chain (XDCC)",
    "dcc-oof": "the dynamic chain, trained on out-of-fold predictions",
    "sxgb": "a single multi-label booster (ML-XGB)",
    "ml-xgb-tuned": "the same, calibrated and decided for --measure",
    "order-free": "one booster for chains of any order (OrderFreeChainClassifier), for --measure",
    "br": "binary relevance, default XGBoost per label",
    "cc-rand": "classifier chain in a random order",
    "cc-freq": "classifier chain, frequent labels first",
    "cc-rare": "classifier chain, rare labels first",
    "cc-dcc": "classifier chain in the order of a trained dynamic chain",
}

DEFAULT_MODELS = ["auto", "dcc", "sxgb", "br", "cc-rand"]

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


def parse_arguments(args: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; a value that makes no sense ends the program with a message."""
    parser = argparse.ArgumentParser(
        description="Train and evaluate a dynamic classifier chain (XDCC) and its baselines.",
        epilog="models: " + "; ".join(f"{name}: {what}" for name, what in MODELS.items()),
    )
    add = parser.add_argument
    add("-f", "--filename", default="digits", metavar="NAME",
        help="data set: a known name, the NAME of NAME-train.arff and NAME-test.arff in "
        "--data-dir, or the path of one file, .arff, .csv or .parquet, of which a third is "
        "evaluated on (default: digits, which is embedded)")  # fmt: skip
    add("-l", "--num_labels", type=int, metavar="N",
        help="number of labels, the last N attributes; not needed with an XML, with a MEKA header "
        "or for a known name")  # fmt: skip
    add("--labels", type=_names, default=[], metavar="LIST",
        help="comma-separated columns of a CSV or Parquet file that are labels")  # fmt: skip
    add("-m", "--models", type=_models, default=DEFAULT_MODELS, metavar="LIST",
        help=f"comma-separated, of {', '.join(MODELS)} "
        f"(default: {','.join(DEFAULT_MODELS)})")  # fmt: skip
    add("-v", "--validation", type=_percentage, default=0, metavar="PERCENT",
        help="evaluate on the first PERCENT of the training rows and train on the others; "
        "0 (default): evaluate on the test rows")  # fmt: skip
    add("-d", "--max_depth", type=int, default=10, metavar="N",
        help="largest depth of a tree (default: 10)")  # fmt: skip
    add("-r", "--num_rounds", type=int, default=10, metavar="N",
        help="boosting rounds of each booster (default: 10)")  # fmt: skip
    add("-c", "--chain_length", type=int, metavar="N",
        help="rounds of the dynamic chain (default: the number of labels)")  # fmt: skip
    add("-s", "--split", type=_split_method, default="maxGain", metavar="METHOD",
        help="split method, by number or name: "
        + ", ".join(f"{number} {name}" for number, name in SPLIT_METHOD_NUMBERS.items())
        + " (default: 1)")  # fmt: skip
    add("-p", "--parameters", type=_dictionary, default={}, metavar="DICT",
        help="further XGBoost parameters of every booster, for example \"{'eta': 0.1}\"; "
        "eta is 0.3 by default")  # fmt: skip
    add("--measure", type=_measure, default="example_f1", metavar="NAME",
        help="what auto, order-free and ml-xgb-tuned are to make high "
        "(default: example_f1)")  # fmt: skip
    add("-t", "--features_to_transform", type=_names, default=[], metavar="LIST",
        help="comma-separated features to encode by the rank of their value; nominal ones that "
        "are not listed are encoded by the position of the category in the file")  # fmt: skip
    add("-o", "--output_extra", action=argparse.BooleanOptionalAction, default=True,
        help="also write predictions and chain orders (default: yes)")  # fmt: skip
    add("--data-dir", type=Path, metavar="DIR", help="where the data sets are (default: XDCC_DATA)")
    add("--seed", type=int, default=0, metavar="N", help="seed of everything random (default: 0)")
    add("--out", type=Path, metavar="DIR", help="where to write (default: results/NAME)")
    return parser.parse_args(args)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _models(text: str) -> list[str]:
    names = _names(text)
    unknown = [name for name in names if name not in MODELS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"unknown model {', '.join(unknown) or repr(text)}; known are {', '.join(MODELS)}"
        )
    return list(dict.fromkeys(names))


def _percentage(text: str) -> int:
    if not text.isdecimal() or int(text) >= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 to 99")
    return int(text)


def _split_method(text: str) -> str:
    name = SPLIT_METHOD_NUMBERS.get(int(text), text) if text.isdecimal() else text
    if name not in SPLIT_METHOD_NUMBERS.values():
        numbers = ", ".join(f"{number} ({n})" for number, n in SPLIT_METHOD_NUMBERS.items())
        raise argparse.ArgumentTypeError(f"{text!r} is no split method; it is one of {numbers}")
    return name


def _measure(text: str) -> str:
    domain = MeasureName()
    if not domain.accepts(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no measure; it has to be {domain}")
    return text


def _dictionary(text: str) -> dict[str, Any]:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no Python dictionary like {{'eta': 0.1}}")
    return value


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, PluginMissingError) as error:
        sys.exit(f"run_chain.py: {error}")
