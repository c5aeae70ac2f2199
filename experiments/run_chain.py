"""Train and evaluate XDCC, its baselines and `auto` on one data set.

    python experiments/run_chain.py                       # embedded data, no file needed
    python experiments/run_chain.py -m auto --measure subset_accuracy
    python experiments/run_chain.py -f mine.csv --labels "red,green" -m auto,br
    python experiments/run_chain.py -f emotions -m dcc,sxgb,br -d 6 -r 50 -p "{'eta': 0.1}"

The options have the names and letters of the paper's script `train_dcc.py`; ``--measure``,
``--labels``, ``--ignore``, ``--groups``, ``--data-dir``, ``--seed`` and ``--out`` are new. The
folder ``--out`` receives a JSON record per model (seed, versions, parameters, times, metrics, for
XDCC after each chain step), a figure of the metrics after each step, and the predictions.
"""

import argparse
import ast
import json
import os
import platform
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import scipy.sparse as sp
from matplotlib import pyplot as plt
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils.validation import has_fit_parameter
from tqdm import tqdm

from xdcc import MultiLabelClassifier, metrics
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.booster_parameters import SPLIT_METHOD_NUMBERS
from xdcc.base.domains import Either
from xdcc.base.groups import read_groups
from xdcc.base.labels import check_labels
from xdcc.base.plugin import PluginMissingError, plugin_version
from xdcc.base.whole_file import whole_file
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free_prediction import LabelsetPrediction
from xdcc.comparators.baselines import BinaryRelevance, ClassifierChain, chain_order_of
from xdcc.data import MultiLabelDataset, dataset_names, load_arff, load_dataset
from xdcc.data.frame import require_columns
from xdcc.data.registry import DATASETS
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.label_metrics import MetricName
from xdcc.decision.proba_metrics import ProbaMetricName, proba_metric

matplotlib.use("Agg")  # only files are written: no display is needed

MODELS = {
    "auto": "boosters, extra trees and linear models, mixed for --measure (MultiLabelClassifier)",
    "dcc": "the dynamic chain (XDCC)",
    "dcc-oof": "the dynamic chain, trained on out-of-fold predictions",
    "sxgb": "a single multi-label booster (ML-XGB)",
    "ml-xgb-tuned": "the same, calibrated, with a decision rule tuned for --measure",
    "order-free": "a chain of any label order, predicting for --measure (OrderFreeChainClassifier)",
    "br": "binary relevance, default XGBoost per label",
    "cc-rand": "classifier chain in a random order",
    "cc-freq": "classifier chain, frequent labels first",
    "cc-rare": "classifier chain, rare labels first",
    "cc-dcc": "classifier chain in the order of a trained dynamic chain",
}

DEFAULT_MODELS = ["auto", "dcc", "sxgb", "br", "cc-rand"]

NEXT = """Next: use your own table with -f table.csv --labels a,b; another metric with --measure
subset_accuracy; other models with -m. --help lists all options. README.md shows the Python API."""

MEASURES = ("hamming_accuracy", "subset_accuracy", "example_f1", "micro_f1", "macro_f1")
"""The metrics of the table, by their names in `xdcc.metrics`."""

PREDICTIONS = ("cumulated", "standard")
"""The prediction modes of a dynamic chain; each is a row of the table."""

PROPAGATION = {"dcc": "in_sample", "dcc-oof": "cross_val"}
"""How the boosters of each dynamic chain see the labels in training."""

ORDER = {"cc-rand": "random", "cc-freq": "frequent", "cc-rare": "rare"}
"""The label order of each classifier chain that needs no other model."""

ORDER_FREE_PREDICTION: dict[str, LabelsetPrediction] = {
    "subset_accuracy": "subset_accuracy",
    "example_f1": "example_f1",
    "hamming_accuracy": "marginal",
}
"""The prediction of the order-free chain for a metric; otherwise the most likely labelset."""

TEST_SHARE = 1 / 3
"""Share of the rows held out for evaluation if a data set is one file."""

SUFFIXES = (".arff", ".csv", ".parquet")

PLOTTED = {
    "hamming_accuracy": "Hamming accuracy",
    "subset_accuracy": "subset accuracy",
    "example_f1": "example-based F1",
}
PACKAGES = ("xdcc", "xgboost", "numpy", "scipy", "scikit-learn")

type Parts = tuple[MultiLabelDataset, MultiLabelDataset]


def main(args: list[str] | None = None) -> None:
    """Run the driver with the given arguments, those of the command line by default."""
    options = parse_arguments(args)
    train, evaluation = load(options)
    folder = options.out or Path("results", train.name)
    print(
        f"{train.name}: {len(train)} training rows, {len(evaluation)} evaluation rows, "
        f"{train.n_features} features, {train.n_labels} labels"
    )
    results = {}
    with tqdm(options.models, unit="model", file=sys.stderr) as progress:

        def show_step(step: int, n_steps: int, seconds: float) -> None:
            progress.set_postfix_str(f"step {step} of {n_steps}, {seconds:.1f} s")

        trainer = Trainer(options, train, evaluation, show_step)
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
    print(f"\nRecords: {folder}; metrics after each chain step: {figure}\n{NEXT}")


def parse_arguments(args: list[str] | None = None) -> argparse.Namespace:
    """Read the command line; an invalid value ends the program with a message."""
    parser = argparse.ArgumentParser(
        description="Train and evaluate a dynamic classifier chain (XDCC) and its baselines.",
        epilog="models: " + "; ".join(f"{name}: {what}" for name, what in MODELS.items()),
    )
    add = parser.add_argument
    add("-f", "--filename", default="digits", metavar="NAME",
        help="data set: a known name; the NAME of NAME-train.arff and NAME-test.arff in "
        "--data-dir; or the path of one .arff, .csv or .parquet file, a third of which is "
        "held out for evaluation (default: digits, which is embedded)")  # fmt: skip
    add("-l", "--num_labels", type=int, metavar="N",
        help="the last N attributes or columns are the labels; not needed with an XML, with a MEKA "
        "header or for a known name")  # fmt: skip
    add("--labels", type=_names, default=[], metavar="LIST",
        help="comma-separated label columns of a CSV or Parquet file")  # fmt: skip
    add("--ignore", type=_names, default=[], metavar="LIST",
        help="comma-separated columns of a CSV or Parquet file that are neither labels nor "
        "features")  # fmt: skip
    add("--groups", metavar="COLUMN",
        help="feature whose rows of one value belong together, such as a patient or a day: all "
        "are in the same fold, and in the same part of a single file")  # fmt: skip
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
        help="steps of the dynamic chain (default: the number of labels)")  # fmt: skip
    add("-s", "--split", type=_split_method, default="maxGain", metavar="METHOD",
        help="split method, by number or name: "
        + ", ".join(f"{number} {name}" for number, name in SPLIT_METHOD_NUMBERS.items())
        + " (default: 1)")  # fmt: skip
    add("-p", "--parameters", type=_dictionary, default={}, metavar="DICT",
        help="further XGBoost parameters of every booster, for example \"{'eta': 0.1}\"; "
        "eta is 0.3 by default")  # fmt: skip
    add("--measure", type=_metric, default="example_f1", metavar="NAME",
        help="the metric that auto, order-free and ml-xgb-tuned optimise; auto also takes "
        "metrics of probabilities such as ndcg_at_5 or neg_log_loss "
        "(default: example_f1)")  # fmt: skip
    add("-t", "--features_to_transform", type=_names, default=[], metavar="LIST",
        help="comma-separated features to encode by the rank of their value; nominal ones that "
        "are not listed are encoded by the position of the category in the file")  # fmt: skip
    add("--output_extra", action=argparse.BooleanOptionalAction, default=True,
        help="also write predictions and chain orders (default: yes)")  # fmt: skip
    add("--data-dir", type=Path, metavar="DIR", help="folder of the data sets (default: XDCC_DATA)")
    add("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    add("-o", "--out", type=Path, nargs="?", metavar="DIR",
        help="output folder (default: results/NAME)")  # fmt: skip
    return parser.parse_args(args)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _models(text: str) -> list[str]:
    names = _names(text)
    unknown = [name for name in names if name not in MODELS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(
            f"unknown model {', '.join(unknown) or repr(text)}; choose from {', '.join(MODELS)}"
        )
    return list(dict.fromkeys(names))


def _percentage(text: str) -> int:
    if not text.isdecimal() or int(text) >= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 99")
    return int(text)


def _split_method(text: str) -> str:
    name = SPLIT_METHOD_NUMBERS.get(int(text), text) if text.isdecimal() else text
    if name not in SPLIT_METHOD_NUMBERS.values():
        numbers = ", ".join(f"{number} ({n})" for number, n in SPLIT_METHOD_NUMBERS.items())
        raise argparse.ArgumentTypeError(f"{text!r} is not a split method; choose one of {numbers}")
    return name


def _metric(text: str) -> str:
    domain = Either(MetricName(), ProbaMetricName())
    if not domain.accepts(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a metric; it must be {domain}")
    return text


def _dictionary(text: str) -> dict[str, Any]:
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a Python dictionary like {{'eta': 0.1}}")
    return value


def load(options: Namespace) -> Parts:
    """Load the training rows and the evaluation rows.

    Raises
    ------
    ValueError, OSError
        If the data do not match the options, are malformed, or are missing.
    """
    if options.data_dir is not None:
        os.environ["XDCC_DATA"] = str(options.data_dir)
    train, test = _load_split(options)
    if options.validation:
        n = len(train) * options.validation // 100
        if n == 0:
            raise ValueError(f"{options.validation} % of {len(train)} rows is less than one row")
        train, test = train[n:], train[:n]
    return _encode(train, test, options.features_to_transform)


def _load_split(options: Namespace) -> Parts:
    name = options.filename
    if is_own_data(name):
        own = load_own_data(Path(name), options.labels, options.num_labels, options.ignore)
        return _split(own, options)
    for option in ("labels", "ignore"):
        if getattr(options, option):
            raise ValueError(f"--{option} needs a CSV or Parquet file: give its path with -f")
    if name.lower() not in dataset_names():
        root = options.data_dir or Path(os.environ.get("XDCC_DATA", "."))
        folder = root / name if (root / name).is_dir() else root
        xml = folder / f"{name}.xml"
        train, test = (
            load_arff(
                folder / f"{name}-{part}.arff",
                xml=xml if xml.exists() and options.num_labels is None else None,
                n_labels=options.num_labels,
            )
            for part in ("train", "test")
        )
        return train, test
    info = DATASETS.get(name.lower())
    if info is None or info.n_test:
        train, test = load_dataset(name, "train"), load_dataset(name, "test")
    else:  # published in one file
        train, test = _split(load_dataset(name), options)
    if options.num_labels not in (None, train.n_labels):
        raise ValueError(f"{name} has {train.n_labels} labels, not {options.num_labels}")
    return train, test


def _split(data: MultiLabelDataset, options: Namespace) -> Parts:
    """Divide a single file at random, by whole groups if there are some."""
    how: dict[str, Any] = {"test_size": TEST_SHARE, "random_state": options.seed}
    groups, rows = groups_of(data, options.groups), np.arange(len(data))
    if groups is None:
        parts = train_test_split(rows, **how)
    else:
        parts = next(GroupShuffleSplit(1, **how).split(rows, groups=groups))
    train, test = (data[np.sort(part)] for part in parts)
    return train, test


def groups_of(data: MultiLabelDataset, name: str | None) -> NDArray[Any] | None:
    """Return the values of the feature that --groups names, nominal ones as numbers, or None."""
    if name is None:
        return None
    X = pd.DataFrame.sparse.from_spmatrix(data.X) if sp.issparse(data.X) else pd.DataFrame(data.X)
    X.columns = pd.Index(data.feature_names)
    return read_groups(name, X, len(data))


def _encode(train: MultiLabelDataset, test: MultiLabelDataset, names: Sequence[str]) -> Parts:
    """Replace features by the rank of their value in the training rows (NaN for a new value)."""
    if not names:
        return train, test
    unknown = [name for name in names if name not in train.feature_names]
    if unknown:
        raise ValueError(f"{train.name} has no features {', '.join(unknown)} to transform")
    if sp.issparse(train.X):
        raise ValueError("features can be transformed only in dense data, and these are sparse")
    columns = [list(train.feature_names).index(name) for name in names]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    encoder.fit(_values(train, columns))
    parts = []
    for part in (train, test):
        X = part.X.copy()
        X[:, columns] = encoder.transform(_values(part, columns))
        types, categories = list(part.feature_types), list(part.categories)
        for column in columns:
            types[column], categories[column] = "numeric", None
        parts.append(replace(part, X=X, feature_types=tuple(types), categories=tuple(categories)))
    return parts[0], parts[1]


def _values(part: MultiLabelDataset, columns: Sequence[int]) -> np.ndarray:
    """Return columns with nominal features as their categories' names."""
    values = np.empty((len(part), len(columns)), dtype=object)
    for k, column in enumerate(columns):
        x, names = part.X[:, column], part.categories[column]
        values[:, k] = x if names is None else [np.nan if v != v else names[int(v)] for v in x]
    return values


def is_own_data(name: str) -> bool:
    """Return whether the data set named on the command line is a file."""
    return Path(name).suffix.lower() in SUFFIXES


def load_own_data(
    path: Path,
    labels: Sequence[str] = (),
    n_labels: int | None = None,
    ignore: Sequence[str] = (),
) -> MultiLabelDataset:
    """Read a file.

    Parameters
    ----------
    path : Path
        Its suffix gives the format. An XML of the same name beside an ARFF file names the labels.
    labels : sequence of str
        Label columns of a CSV or Parquet file. The others are features, nominal if they contain
        names.
    n_labels : int, optional
        How many of the last attributes or columns are labels, unless `labels` says which.
    ignore : sequence of str
        Columns of a CSV or Parquet file that are left out first.

    Raises
    ------
    OSError
        If the file is missing.
    ValueError
        If the label columns are unknown, the file is malformed, or a feature contains dates or free
        text.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    if path.suffix.lower() == ".arff":
        if labels or ignore:
            option = "labels" if labels else "ignore"
            raise ValueError(f"--{option} needs a CSV or Parquet file; for an ARFF file use an XML "
                             "beside it, a MEKA header, or --num_labels")  # fmt: skip
        xml = path.with_suffix(".xml")
        return load_arff(path, xml=xml if xml.exists() and n_labels is None else None,
                         n_labels=n_labels)  # fmt: skip
    if not labels and n_labels is None:
        raise ValueError(f"{path} needs --labels, the names of the label columns, or --num_labels")
    frame = _read_table(path)
    require_columns(frame, ignore, path.stem)
    columns = frame.columns.drop(list(ignore))
    if n_labels is not None and not 0 < n_labels <= len(columns):
        raise ValueError(f"{path} has {len(columns)} columns, not {n_labels} labels")
    names = list(labels) or columns[-(n_labels or 0) :].tolist()
    if labels and n_labels not in (None, len(labels)):
        raise ValueError(f"--labels names {len(labels)} labels, not {n_labels}")
    data = MultiLabelDataset.from_frame(frame, names, ignore=ignore, name=path.stem)
    _warn_of_labels(frame[columns.drop(names)])
    return data


def _read_table(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
    except ImportError as error:
        raise ValueError(f"{path} cannot be read without pyarrow: pip install pyarrow") from error
    except ValueError as error:  # ragged rows, other encodings, no columns
        raise ValueError(f"{path} cannot be read: {error}") from error


def _warn_of_labels(features: pd.DataFrame) -> None:
    """Say which features could be labels that were not listed: they hold zeros and ones only."""
    binary = [
        str(name)
        for name in features
        if set(map(str, features[name].dropna().unique())) <= _ZERO_OR_ONE
    ]
    if binary:
        more = f" and {len(binary) - _SHOWN} more" if len(binary) > _SHOWN else ""
        print(
            f"Note: {', '.join(binary[:_SHOWN])}{more} contain zeros and ones only and are used as "
            f"features. If they are labels, too, leave them out: --ignore {','.join(binary)}",
            file=sys.stderr,
        )


_ZERO_OR_ONE = {"0", "1", "0.0", "1.0", "False", "True"}
_SHOWN = 5
"""Columns that a message lists."""

type Measures = dict[str, float]
type StepCallback = Callable[[int, int, float], None]


@dataclass
class Result:
    """A trained model's parameters, times and metrics."""

    parameters: dict[str, Any]  # of the estimator
    fit_seconds: float  # wall time
    predict_seconds: float
    measures: dict[str, Measures]  # by row of the table; a dynamic chain has two rows
    # Metrics after each chain step, by row of the table; empty for other models.
    rounds: dict[str, list[Measures]] = field(default_factory=dict)
    # Predictions and chain orders, written with --output_extra.
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class Trainer:
    """Trains models with the options of the command line.

    A dynamic chain is trained once, even if another model needs its order.

    Parameters
    ----------
    options : Namespace
        As from `parse_arguments`.
    train, evaluation : MultiLabelDataset
        Training rows and evaluation rows.
    callback : callable
        Called after each step of a dynamic chain with its number, the number of steps and the
        seconds that the step took.

    Raises
    ------
    ValueError
        If --parameters contains a parameter that has its own option, an option is out of range for
        one of the models, or --measure has no value for the evaluation rows. All models are checked
        before the first is trained.
    """

    def __init__(
        self,
        options: Namespace,
        train: MultiLabelDataset,
        evaluation: MultiLabelDataset,
        callback: StepCallback,
    ) -> None:
        self.options = options
        self.train = train
        self.evaluation = evaluation
        self.callback = callback
        self._groups = groups_of(train, options.groups)
        own_options = {
            "n_estimators": options.num_rounds,
            "max_depth": options.max_depth,
            "random_state": options.seed,
        }
        if twice := own_options.keys() & options.parameters.keys():
            raise ValueError(
                f"--parameters contains {', '.join(sorted(twice))}, which have their own options: "
                "--num_rounds, --max_depth, --seed"
            )
        self.booster_params = own_options | options.parameters
        if "eta" in self.booster_params and "learning_rate" not in self.booster_params:
            self.booster_params["learning_rate"] = self.booster_params.pop("eta")
        of_proba = proba_metric(options.measure)
        if of_proba and (why := of_proba.missing(check_labels(evaluation.Y))):
            raise ValueError(f"--measure {options.measure} has no value: {why}")
        self._chains: dict[str, tuple[DynamicChainClassifier, float]] = {}
        for model in options.models:
            for estimator in self._to_train(model):
                estimator._check_params()
                if isinstance(estimator, BoosterEstimator):
                    estimator._native_booster_params()

    def run(self, model: str) -> Result:
        """Train and evaluate a model, a key of `MODELS`."""
        if model in PROPAGATION:
            return self._run_dynamic_chain(model)
        estimator = self._estimator(model)
        given = self._groups_for(estimator)
        fit_seconds = _seconds(lambda: estimator.fit(self.train.X, self.train.Y, **given))
        start = time.perf_counter()
        Y_pred = estimator.predict(self.evaluation.X)
        predict_seconds = time.perf_counter() - start
        Y_proba = estimator.predict_proba(self.evaluation.X)
        arrays: dict[str, NDArray[Any]] = {"Y_pred": Y_pred, "Y_proba": Y_proba}
        if isinstance(estimator, ClassifierChain):
            arrays["order"] = estimator.order_
        parameters = estimator.get_params()
        return Result(
            {name: value for name, value in parameters.items() if name != "estimator"},
            fit_seconds,
            predict_seconds,
            {model: self._metric(Y_pred, Y_proba)},
            arrays=arrays,
        )

    def _to_train(self, model: str) -> list[Any]:
        """Return all estimators that a model trains, unfitted."""
        if model in PROPAGATION:
            return [self._new_chain(model)]
        if model == "cc-dcc":
            return [self._new_chain("dcc"), ClassifierChain(**self.booster_params)]
        estimator = self._estimator(model)
        return [getattr(estimator, "estimator", None) or estimator, estimator]

    def _estimator(self, model: str) -> Any:
        seed, measure = self.options.seed, self.options.measure
        if model == "auto":
            return MultiLabelClassifier(measure, random_state=seed)
        if model == "order-free":
            prediction = ORDER_FREE_PREDICTION.get(measure, "mode")
            return OrderFreeChainClassifier(prediction=prediction, random_state=seed)
        booster = MultiLabelXGBClassifier(split_method=self.options.split, **self.booster_params)
        if model == "sxgb":
            return booster
        if model == "ml-xgb-tuned":
            return TunedDecisionClassifierCV(booster, measure=measure, random_state=seed)
        if model == "br":
            return BinaryRelevance(**self.booster_params)
        return ClassifierChain(order=self._order(model), **self.booster_params)

    def _groups_for(self, estimator: Any) -> dict[str, Any]:
        takes_groups = self._groups is not None and has_fit_parameter(estimator, "groups")
        return {"groups": self._groups} if takes_groups else {}

    def _order(self, model: str) -> Any:
        if model in ORDER:
            return ORDER[model]
        chain, _ = self._dynamic_chain("dcc")
        return chain_order_of(chain, self.train.X)

    def _new_chain(self, model: str) -> DynamicChainClassifier:
        return DynamicChainClassifier(
            chain_length=self.options.chain_length,
            split_method=self.options.split,
            **{"propagate": PROPAGATION[model]} | self.booster_params,
        )

    def _dynamic_chain(self, model: str) -> tuple[DynamicChainClassifier, float]:
        if model not in self._chains:
            chain = self._new_chain(model)
            given = self._groups_for(chain)
            seconds = _seconds(
                lambda: chain.fit(self.train.X, self.train.Y, callback=self.callback, **given)
            )
            self._chains[model] = chain, seconds
        return self._chains[model]

    def _run_dynamic_chain(self, model: str) -> Result:
        chain, fit_seconds = self._dynamic_chain(model)
        X = self.evaluation.X
        parameters = chain.get_params()
        predict_seconds = _seconds(lambda: chain.predict(X))
        order = chain.chain_order(X)
        arrays: dict[str, NDArray[Any]] = {"order": order.labels, "propagated": order.values}
        rounds = {}
        for prediction in PREDICTIONS:
            chain.set_params(prediction=prediction)
            rounds[f"{model} {prediction}"] = [
                self._metric(Y, proba)
                for Y, proba in zip(
                    chain.staged_predict(X), chain.staged_predict_proba(X), strict=True
                )
            ]
            arrays[f"Y_proba_{prediction}"] = chain.predict_proba(X)
        chain.set_params(prediction=parameters["prediction"])
        last = {row: measures[-1] for row, measures in rounds.items()}
        return Result(parameters, fit_seconds, predict_seconds, last, rounds, arrays)

    def _metric(self, Y_pred: NDArray[Any], Y_proba: NDArray[Any]) -> Measures:
        Y, Y_pred = self.evaluation.Y, np.asarray(Y_pred, dtype=int)
        found = {name: getattr(metrics, name)(Y, Y_pred) for name in MEASURES}
        measure = self.options.measure
        if of_proba := proba_metric(measure):
            found[measure] = of_proba.score(Y, Y_proba)
        return found


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def write_record(
    folder: Path,
    model: str,
    options: Namespace,
    train: MultiLabelDataset,
    evaluation: MultiLabelDataset,
    result: Result,
) -> Path:
    """Write a result and how it was made to ``<model>.json``, atomically."""
    record = {
        "data": {
            "name": train.name,
            "train_rows": len(train),
            "evaluation_rows": len(evaluation),
            "evaluated_on": "validation rows" if options.validation else "test rows",
            "features": train.n_features,
            "labels": list(train.label_names),
        },
        "model": model,
        "seed": options.seed,
        "options": {key: _plain(value) for key, value in vars(options).items()},
        "parameters": {key: _plain(value) for key, value in result.parameters.items()},
        "seconds": {"fit": result.fit_seconds, "predict": result.predict_seconds},
        "measures": result.measures,
        "rounds": result.rounds,
        "versions": {name: version(name) for name in PACKAGES}
        | {"python": platform.python_version(), "plugin": plugin_version()},
        "machine": {"processor": platform.machine(), "cores": os.cpu_count()},
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{model}.json"
    with whole_file(file) as new:
        new.write((json.dumps(record, indent=2) + "\n").encode())
    return file


def _plain(value: Any) -> Any:
    """Convert a value to a JSON type."""
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def write_arrays(
    folder: Path, evaluation: MultiLabelDataset, results: Mapping[str, Result]
) -> Path:
    """Write the true labels, predictions and orders as ``predictions.npz``.

    The arrays are ``Y`` and ``<model>/<name>``.
    """
    file = folder / "predictions.npz"
    arrays: dict[str, Any] = {"Y": evaluation.Y}
    for model, result in results.items():
        arrays |= {f"{model}/{name}": array for name, array in result.arrays.items()}
    np.savez_compressed(file, **arrays)
    return file


def make_table(results: Mapping[str, Result], measure: str) -> pd.DataFrame:
    """Return a row per prediction with its metrics and times in seconds, the best first.

    A metric of probabilities is a column of its own. The order is by the given metric, or by
    example F1 if the table does not have it.
    """
    rows = {
        row: measures | {"fit s": result.fit_seconds, "predict s": result.predict_seconds}
        for result in results.values()
        for row, measures in result.measures.items()
    }
    shown = [*MEASURES, measure] if proba_metric(measure) else list(MEASURES)
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*shown, "fit s", "predict s"])
    by = measure if measure in shown else "example_f1"
    table = table.sort_values(by, ascending=False, kind="stable")
    return table.rename_axis(columns=f"best {by} first")


def plot_rounds(folder: Path, name: str, results: Mapping[str, Result]) -> Path:
    """Plot the metrics of dynamic chains after each step; other models are horizontal lines."""
    curves: dict[str, list[Measures]] = {}
    levels: dict[str, Measures] = {}
    for result in results.values():
        curves |= result.rounds
        levels |= {row: m for row, m in result.measures.items() if row not in result.rounds}
    figure, axes = plt.subplots(1, len(PLOTTED), figsize=(13, 4.2), layout="constrained")
    for ax, (measure, title) in zip(axes, PLOTTED.items(), strict=True):
        for k, (row, measures) in enumerate(curves.items()):
            values = [m[measure] for m in measures]
            ax.plot(range(1, len(values) + 1), values, marker="os"[k % 2], label=row)
        for k, (row, level) in enumerate(levels.items(), start=len(curves)):
            style = ["--", "-.", ":"][k % 3]
            ax.axhline(level[measure], color=f"C{k}", linestyle=style, label=row)
        ax.set(title=title, xlabel="chain step")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("measure (higher is better)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(f"{name}: metrics after each chain step")
    file = folder / "rounds.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return file


if __name__ == "__main__":
    try:
        main()
    except (ValueError, OSError, PluginMissingError) as error:
        sys.exit(f"run_chain.py: {error}")
