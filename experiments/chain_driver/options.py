"""The driver's command line: the options of the paper's `train_dcc.py`, and five more."""

import argparse
import ast
from pathlib import Path
from typing import Any

from xdcc.base.booster_parameters import SPLIT_METHOD_NUMBERS
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
