"""The parts of the chain driver (`run_chain.py`): its data, its models, and what it leaves behind.

`load` gives the rows to train on and those to evaluate on, of a known data set or of a file of
one's own: ARFF with an XML, CSV or Parquet. A `Trainer` trains and evaluates one model after the
other. What is left are a record per model, a table, a figure, and the predictions.
"""

import json
import os
import platform
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
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OrdinalEncoder

from xdcc import MultiLabelClassifier, metrics
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.plugin import plugin_version
from xdcc.baselines import BinaryRelevance, ClassifierChain, chain_order_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.order_free import LabelsetPrediction
from xdcc.data import MultiLabelDataset, dataset_names, load_arff, load_dataset
from xdcc.data.arff_rows import LABEL_VALUES
from xdcc.data.registry import DATASETS
from xdcc.decision import TunedDecisionClassifierCV

TEST_SHARE = 1 / 3
"""Share of the rows to evaluate on, where a data set is published in one file."""

type Parts = tuple[MultiLabelDataset, MultiLabelDataset]


def load(options: Namespace) -> Parts:
    """Load the rows to train on and the rows to evaluate on.

    Raises
    ------
    ValueError, OSError
        If the data do not fit the options, are malformed, or are not there.
    """
    if options.data_dir is not None:
        os.environ["XDCC_DATA"] = str(options.data_dir)
    train, test = _load_split(options)
    if options.validation:
        n = len(train) * options.validation // 100
        if n == 0:
            raise ValueError(f"{options.validation} % of {len(train)} rows are none")
        train, test = train[n:], train[:n]
    return _encode(train, test, options.features_to_transform)


def _load_split(options: Namespace) -> Parts:
    name = options.filename
    if is_own_data(name):
        own = load_own_data(Path(name), options.labels, options.num_labels)
        return _split(own, options.seed)
    if options.labels:
        raise ValueError("--labels are for a CSV or Parquet file, whose path is -f")
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
        train, test = _split(load_dataset(name), options.seed)
    if options.num_labels not in (None, train.n_labels):
        raise ValueError(f"{name} has {train.n_labels} labels, not {options.num_labels}")
    return train, test


def _split(data: MultiLabelDataset, seed: int) -> Parts:
    parts = train_test_split(np.arange(len(data)), test_size=TEST_SHARE, random_state=seed)
    train, test = (data[np.sort(part)] for part in parts)
    return train, test


def _encode(train: MultiLabelDataset, test: MultiLabelDataset, names: Sequence[str]) -> Parts:
    """Replace features by the rank of their value in the training rows (NaN for a new value)."""
    if not names:
        return train, test
    unknown = [name for name in names if name not in train.feature_names]
    if unknown:
        raise ValueError(f"features to transform that {train.name} lacks: {', '.join(unknown)}")
    if sp.issparse(train.X):
        raise ValueError("features are transformed in dense data only; these are sparse")
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


SUFFIXES = (".arff", ".csv", ".parquet")


def is_own_data(name: str) -> bool:
    """Whether what stands for a data set on the command line is the path of a file."""
    return Path(name).suffix.lower() in SUFFIXES


def load_own_data(
    path: Path, labels: Sequence[str] = (), n_labels: int | None = None
) -> MultiLabelDataset:
    """Read a file.

    Parameters
    ----------
    path : Path
        Its suffix says what it is. An XML of the same name beside an ARFF file names the labels.
    labels : sequence of str
        Columns of a CSV or Parquet file that are labels. The others are features, nominal if they
        hold text.
    n_labels : int, optional
        For an ARFF file: the last so many attributes are the labels.

    Raises
    ------
    OSError
        If the file is not there.
    ValueError
        If nothing says which columns are labels, or the file is not as described.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if path.suffix.lower() == ".arff":
        if labels:
            raise ValueError("--labels are columns of a CSV or Parquet file; an ARFF file has an "
                             "XML beside it, a MEKA header, or --num_labels")  # fmt: skip
        xml = path.with_suffix(".xml")
        return load_arff(path, xml=xml if xml.exists() and n_labels is None else None,
                         n_labels=n_labels)  # fmt: skip
    if not labels:
        raise ValueError(f"{path} needs --labels: the names of the columns that are labels")
    frame = pd.read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)
    return from_frame(frame, labels, path.stem)


def from_frame(frame: pd.DataFrame, labels: Sequence[str], name: str) -> MultiLabelDataset:
    """Make a data set of a DataFrame.

    Parameters
    ----------
    frame : DataFrame
        A column for each feature and label.
    labels : sequence of str
        Which are labels: 0, 1, false, true, or missing for unknown.
    name : str
        Of the data set.

    Returns
    -------
    MultiLabelDataset
        Missing values are NaN.

    Raises
    ------
    ValueError
        If a label is no column, or holds something else; or if no column is left as a feature.
    """
    missing = [label for label in labels if label not in frame.columns]
    if missing:
        raise ValueError(
            f"{name} has no column {', '.join(map(repr, missing))}; it has "
            f"{', '.join(map(repr, frame.columns))}"
        )
    features = frame.drop(columns=list(labels))
    if features.shape[1] == 0:
        raise ValueError(f"every column of {name} is a label: there is no feature")
    columns, categories = [], []
    for column in features:
        values = features[column]
        numeric = pd.api.types.is_numeric_dtype(values) and not isinstance(
            values.dtype, pd.CategoricalDtype
        )
        kinds = None if numeric else values.astype("category")
        codes = values.to_numpy(float, na_value=np.nan) if kinds is None else kinds.cat.codes
        columns.append(np.where(values.isna(), np.nan, codes))
        categories.append(None if kinds is None else tuple(map(str, kinds.cat.categories)))
    Y = np.column_stack([_label_column(frame[label]) for label in labels])
    return MultiLabelDataset(
        X=np.column_stack(columns),
        Y=Y if np.isnan(Y).any() else Y.astype(np.int8),
        feature_names=tuple(map(str, features.columns)),
        feature_types=tuple("numeric" if kinds is None else "nominal" for kinds in categories),
        categories=tuple(categories),
        label_names=tuple(labels),
        name=name,
    )


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise ValueError(f"{path} cannot be read without pyarrow: pip install pyarrow") from error


def _label_column(column: pd.Series) -> np.ndarray:
    found = np.full(len(column), np.nan)
    for row, value in enumerate(column):
        if pd.isna(value):
            continue
        text = str(value).lower().removesuffix(".0")
        if text not in LABEL_VALUES:
            raise ValueError(
                f"the label {column.name!r} of row {row} is {value!r}; expected 0, 1, false, true, "
                "or nothing where it is unknown"
            )
        found[row] = LABEL_VALUES[text]
    return found


MEASURES = ("hamming_accuracy", "subset_accuracy", "example_f1", "micro_f1", "macro_f1")
"""What is measured of each prediction, by its name in `xdcc.metrics`."""

PREDICTIONS = ("cumulated", "standard")
"""The readings of a dynamic chain, each a row of the table."""

PROPAGATION = {"dcc": "in_sample", "dcc-oof": "cross_val"}
"""The dynamic chains, and how their boosters see labels in training."""

ORDER = {"cc-rand": "random", "cc-freq": "frequent", "cc-rare": "rare"}
"""The classifier chains whose order is known before any other model is trained."""

ORDER_FREE_PREDICTION: dict[str, LabelsetPrediction] = {
    "subset_accuracy": "subset_accuracy",
    "example_f1": "example_f1",
    "hamming_accuracy": "marginal",
}
"""What the order-free chain predicts for a measure; for another one the likeliest labelset."""

type Measures = dict[str, float]
type RoundCallback = Callable[[int, int, float], None]


@dataclass
class Result:
    """What one model brought."""

    parameters: dict[str, Any]  # of the estimator
    fit_seconds: float  # wall time
    predict_seconds: float
    measures: dict[str, Measures]  # row of the table (a dynamic chain has two) -> measures
    # Row of the table -> measures after each round; empty for models without rounds.
    rounds: dict[str, list[Measures]] = field(default_factory=dict)
    # Predictions and the like, to keep on request.
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


class Trainer:
    """Trains models with the driver's options on one pair of data sets.

    A dynamic chain is trained once, also where another model needs its order.

    Parameters
    ----------
    options : Namespace
        What `run_chain.parse_arguments` returns.
    train, evaluation : MultiLabelDataset
        Rows to train on and to evaluate on.
    callback : callable
        Called after each round of a dynamic chain with its number, the number of rounds and the
        seconds that it took.

    Raises
    ------
    ValueError
        If the further parameters hold one that has an option of its own, or an option is out of
        range for one of the models: nothing is trained before that is known.
    """

    def __init__(
        self,
        options: Namespace,
        train: MultiLabelDataset,
        evaluation: MultiLabelDataset,
        callback: RoundCallback,
    ) -> None:
        self.options = options
        self.train = train
        self.evaluation = evaluation
        self.callback = callback
        own_options = {
            "n_estimators": options.num_rounds,
            "max_depth": options.max_depth,
            "random_state": options.seed,
        }
        if twice := own_options.keys() & options.parameters.keys():
            raise ValueError(
                f"--parameters holds {', '.join(sorted(twice))}, which have options of their own: "
                "--num_rounds, --max_depth, --seed"
            )
        self.booster_params = own_options | options.parameters
        if "eta" in self.booster_params and "learning_rate" not in self.booster_params:
            self.booster_params["learning_rate"] = self.booster_params.pop("eta")
        self._chains: dict[str, tuple[DynamicChainClassifier, float]] = {}
        for model in options.models:
            for estimator in self._to_train(model):
                estimator._check_params()
                if isinstance(estimator, BoosterEstimator):
                    estimator._native_booster_params()

    def run(self, model: str) -> Result:
        """Train and evaluate a model, a key of `run_chain.MODELS`."""
        if model in PROPAGATION:
            return self._run_dynamic_chain(model)
        estimator = self._estimator(model)
        fit_seconds = _seconds(lambda: estimator.fit(self.train.X, self.train.Y))
        start = time.perf_counter()
        Y_pred = estimator.predict(self.evaluation.X)
        predict_seconds = time.perf_counter() - start
        arrays: dict[str, NDArray[Any]] = {
            "Y_pred": Y_pred,
            "Y_proba": estimator.predict_proba(self.evaluation.X),
        }
        if isinstance(estimator, ClassifierChain):
            arrays["order"] = estimator.order_
        parameters = estimator.get_params()
        return Result(
            {name: value for name, value in parameters.items() if name != "estimator"},
            fit_seconds,
            predict_seconds,
            {model: self._measure(Y_pred)},
            arrays=arrays,
        )

    def _to_train(self, model: str) -> list[Any]:
        """Make all estimators that a model trains, not fitted."""
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
            seconds = _seconds(
                lambda: chain.fit(self.train.X, self.train.Y, callback=self.callback)
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
            rounds[f"{model} {prediction}"] = [self._measure(Y) for Y in chain.staged_predict(X)]
            arrays[f"Y_proba_{prediction}"] = chain.predict_proba(X)
        chain.set_params(prediction=parameters["prediction"])
        last = {row: measures[-1] for row, measures in rounds.items()}
        return Result(parameters, fit_seconds, predict_seconds, last, rounds, arrays)

    def _measure(self, Y_pred: NDArray[Any]) -> Measures:
        Y, Y_pred = self.evaluation.Y, np.asarray(Y_pred, dtype=int)
        return {name: getattr(metrics, name)(Y, Y_pred) for name in MEASURES}


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


matplotlib.use("Agg")  # only files are written: no display is needed


PLOTTED = {
    "hamming_accuracy": "Hamming accuracy",
    "subset_accuracy": "subset accuracy",
    "example_f1": "example-based F1",
}
PACKAGES = ("xdcc", "xgboost", "numpy", "scipy", "scikit-learn")


def write_record(
    folder: Path,
    model: str,
    options: Namespace,
    train: MultiLabelDataset,
    evaluation: MultiLabelDataset,
    result: Result,
) -> Path:
    """Write what made a result, and the result, as ``<model>.json``; whole or not at all."""
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
    temporary = file.with_suffix(".json.part")
    temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    temporary.replace(file)
    return file


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it."""
    if isinstance(value, Path):
        return str(value)
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def write_arrays(
    folder: Path, evaluation: MultiLabelDataset, results: Mapping[str, Result]
) -> Path:
    """Write the true labels, predictions and orders as ``predictions.npz``.

    Its arrays are called ``Y`` and ``<model>/<what>``.
    """
    file = folder / "predictions.npz"
    arrays: dict[str, Any] = {"Y": evaluation.Y}
    for model, result in results.items():
        arrays |= {f"{model}/{name}": array for name, array in result.arrays.items()}
    np.savez_compressed(file, **arrays)
    return file


def make_table(results: Mapping[str, Result], measure: str) -> pd.DataFrame:
    """Return a row per prediction, with its measures and times in seconds, the best first.

    The best by a measure, by example F1 where the table does not have it.
    """
    rows = {
        row: measures | {"fit s": result.fit_seconds, "predict s": result.predict_seconds}
        for result in results.values()
        for row, measures in result.measures.items()
    }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=[*MEASURES, "fit s", "predict s"])
    by = measure if measure in MEASURES else "example_f1"
    table = table.sort_values(by, ascending=False, kind="stable")
    return table.rename_axis(columns=f"best {by} first")


def plot_rounds(folder: Path, name: str, results: Mapping[str, Result]) -> Path:
    """Draw the measures of the dynamic chain after each round, with the other models beside it."""
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
        ax.set(title=title, xlabel="round of the chain")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("measure (higher is better)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.suptitle(f"{name}: measures after each round")
    file = folder / "rounds.png"
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return file
