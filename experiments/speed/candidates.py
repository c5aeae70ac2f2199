"""The candidates of the comparison of boosters, and the settings that they are given.

A candidate builds its library's matrix from arrays, can bin it ahead of the training, trains and
predicts. If a library does not support exactly the common settings, its class documents the
difference.

In the comparisons of time to quality each candidate uses its best setting of the same grid, so none
has the advantage of a setting that others did not try. The grid is Cartesian: learning rates .1
and .3, at most 64 or 256 bins, all columns or half of them per tree (CatBoost: per split). Features
with at most 64 values need no choice of bins. What a file stores sparse is given both dense and as
CSR, whose absent entries are missing values.

Variants add a parameter or a form of data to ours, to compare its cost. All variants get the same
data, whose features have few levels, so that each can also be a category.
"""

import atexit
import importlib.util
import os
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from tempfile import mkdtemp
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray
from scipy.special import softmax

from experiments.speed.data import Features, Kind, Labels, kind_of, synthetic_shape
from experiments.speed.stopwatch import Clock
from experiments.speed.suites import GROUPS, PARAMETERS, Job
from xdcc.base.booster_parameters import SPLIT_METHODS
from xdcc.base.fit_data import FitData
from xdcc.base.plugin import require_plugin
from xdcc.boosting import MultiClassXGBClassifier, MultiTargetXGBRegressor
from xdcc.boosting.single_booster import VECTOR_LEAVES
from xdcc.boosting.sketch_choice import AUTO, choose_sketch

_FEW_BINS = 64


@dataclass(frozen=True)
class Setting:
    """The settings in which trainings of one candidate differ."""

    learning_rate: float = 0.3
    max_bin: int = 256
    columns: float = 1.0  # share of the columns per tree
    csr: bool = False  # features as a CSR matrix


LIKE_FOR_LIKE = Setting(learning_rate=0.1)
"""The setting of the comparison without a choice of settings."""


def storages(setting: Setting, sparse: bool) -> list[Setting]:
    """Return a setting for each storage of the features."""
    return [setting, replace(setting, csr=True)] if sparse else [setting]


def grid(X: NDArray[np.float32], sparse: bool) -> list[Setting]:
    """Return the settings that a candidate chooses from, `LIKE_FOR_LIKE` first.

    They depend on the training rows, and on whether the data set's file is sparse.
    """
    many_values = any(len(np.unique(x)) > _FEW_BINS for x in X.T)
    return [
        setting
        for rate in (0.1, 0.3)
        for max_bin in ((256, _FEW_BINS) if many_values else (256,))
        for columns in (1.0, 0.5)
        for setting in storages(Setting(rate, max_bin, columns), sparse)
    ]


_PAGES = 4
_LEVELS = 32


def levels(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each value's index among 32 equal steps from a feature's minimum to its maximum."""
    low, high = X.min(axis=0), X.max(axis=0)
    return np.minimum((X - low) / (high - low) * _LEVELS, _LEVELS - 1).astype(np.float32).round()


def overlapping_groups(n_features: int) -> str:
    """Return the first and the last two thirds of the features, as XGBoost reads constraints."""
    features = list(range(n_features))
    return str([features[: -(-2 * n_features // 3)], features[n_features // 3 :]])


def rising_and_falling(n_features: int) -> str:
    """Return a constraint for each feature, 1 and -1 in turns, as XGBoost reads them."""
    return str(tuple((-1) ** k for k in range(n_features)))


def build_variant(
    name: str, X: NDArray[np.float32], Y: Labels, parameters: dict[str, Any]
) -> xgb.DMatrix:
    """Return the matrix of a variant, for a booster with these parameters."""
    X = levels(X)
    threads = parameters["nthread"]
    if name == "external_memory":
        return xgb.ExtMemQuantileDMatrix(
            _Pages(X, Y), max_bin=parameters["max_bin"], nthread=threads
        )
    if name.startswith("categories"):
        types = ["c"] * X.shape[1]
        return xgb.DMatrix(X, Y, feature_types=types, enable_categorical=True, nthread=threads)
    return xgb.DMatrix(X, Y, nthread=threads)


class _Pages(xgb.DataIter):
    """Provides rows page by page; the matrix needs the folder of its cache while it exists."""

    def __init__(self, X: NDArray[np.float32], Y: Labels) -> None:
        self._pages = list(zip(np.array_split(X, _PAGES), np.array_split(Y, _PAGES), strict=True))
        self._next = 0
        folder = mkdtemp()
        atexit.register(shutil.rmtree, folder)
        super().__init__(cache_prefix=f"{folder}/page")

    def next(self, input_data: Callable[..., Any]) -> bool:
        """Provide the next page; return False after the last."""
        if self._next == len(self._pages):
            return False
        X, Y = self._pages[self._next]
        input_data(data=X, label=Y)
        self._next += 1
        return True

    def reset(self) -> None:
        """Start again."""
        self._next = 0


DEPTH = 6
REG_LAMBDA = 1.0

_COMMON_XGBOOST: dict[str, Any] = {
    "tree_method": "hist",
    "max_depth": DEPTH,
    "reg_lambda": REG_LAMBDA,
    "min_child_weight": 0,
}
"""The parameters of all XGBoost boosters; ours accepts `tree_method` and does not need it."""

_FEWEST_ROUNDS = 16  # of CatBoost, which cannot continue a training: each has four times as many

_BYTES_PER_BIN = 16  # of stock XGBoost's histograms: a gradient and a Hessian in double precision


@dataclass(frozen=True)
class Step:
    """A point of a training: its seconds so far, and probabilities of the held-out rows."""

    rounds: int
    cpu_seconds: float
    wall_seconds: float
    predictions: Sequence[NDArray[np.floating]]


class Candidate(ABC):
    """One way of training a multi-label booster."""

    parameters: dict[str, Any]  # passed to the library

    @abstractmethod
    def build(self, X: Features, Y: Labels) -> Any:
        """Return the library's own matrix."""

    @abstractmethod
    def quantise(self, matrix: Any) -> None:
        """Bin the matrix, unless `build` has done it or the library does not keep the bins."""

    @abstractmethod
    def train(self, matrix: Any) -> Any:
        """Return a trained model."""

    @abstractmethod
    def predict(self, model: Any, X: Features) -> NDArray[np.floating]:
        """Return probabilities of shape (n_samples, n_labels)."""

    @abstractmethod
    def steps(
        self, matrix: Any, held: Sequence[Features], evaluated: Iterable[int], limit: float
    ) -> Iterator[Step]:
        """Train round by round, without counting the time of evaluations.

        After the rounds with the numbers `evaluated`, the rows `held` are predicted. After `limit`
        CPU seconds no further step is needed.
        """


class XGBoost(Candidate):
    """A training of the installed XGBoost: ours, or one of its own two strategies."""

    def __init__(self, parameters: dict[str, Any], rounds: int) -> None:
        self.parameters = parameters
        self.rounds = rounds

    def build(self, X: Features, Y: Labels) -> xgb.DMatrix:
        """Return a `DMatrix`."""
        return xgb.DMatrix(X, Y, nthread=self.parameters["nthread"])

    def quantise(self, matrix: xgb.DMatrix) -> None:
        """Train one round: the matrix keeps its bins."""
        xgb.train(self.parameters, matrix, 1)

    def train(self, matrix: xgb.DMatrix) -> xgb.Booster:
        """Return a booster."""
        return xgb.train(self.parameters, matrix, self.rounds)

    def predict(self, model: xgb.Booster, X: Features) -> NDArray[np.float32]:
        """Return probabilities of shape (n_samples, n_labels)."""
        return model.inplace_predict(X, strict_shape=True)

    def steps(
        self, matrix: xgb.DMatrix, held: Sequence[Features], evaluated: Iterable[int], limit: float
    ) -> Iterator[Step]:
        """Update a booster, which remembers its predictions; see `Candidate.steps`."""
        others = [xgb.DMatrix(X, nthread=self.parameters["nthread"]) for X in held]
        clock = Clock()
        with clock:
            booster = xgb.Booster(self.parameters, [matrix, *others])
        for before, rounds in pairwise(chain((0,), evaluated)):
            with clock:
                for number in range(before, rounds):
                    booster.update(matrix, number)
            predictions = [booster.predict(other, strict_shape=True) for other in others]
            yield Step(rounds, clock.cpu_seconds, clock.wall_seconds, predictions)


class Grouped(XGBoost):
    """Ours with a tree for each of four groups of labels."""

    def build(self, X: Features, Y: Labels) -> xgb.DMatrix:
        """Return a `DMatrix`; store how many labels are a quarter."""
        self.parameters["labels_per_tree"] = max(2, -(-Y.shape[1] // 4))
        return super().build(X, Y)


class Auto(XGBoost):
    """Ours with `sketch_size="auto"`, as in estimators; the choice is part of the training."""

    def build(self, X: Features, Y: Labels) -> xgb.DMatrix:
        """Return a `DMatrix`; keep the arrays for the choice."""
        self._data = FitData(X, Y, None)
        return super().build(X, Y)

    def train(self, matrix: xgb.DMatrix) -> xgb.Booster:
        """Return a booster."""
        self._choose(matrix)
        return super().train(matrix)

    def steps(
        self, matrix: xgb.DMatrix, held: Sequence[Features], evaluated: Iterable[int], limit: float
    ) -> Iterator[Step]:
        """Choose the sketch and update a booster; see `Candidate.steps`."""
        clock = Clock()
        with clock:
            self._choose(matrix)
        for step in super().steps(matrix, held, evaluated, limit):
            yield replace(
                step,
                cpu_seconds=clock.cpu_seconds + step.cpu_seconds,
                wall_seconds=clock.wall_seconds + step.wall_seconds,
            )

    def _choose(self, matrix: xgb.DMatrix) -> None:
        asked = self.parameters | {"sketch_size": AUTO}
        self.parameters |= choose_sketch(asked, self._data, matrix)


class Outputs(Auto):
    """Ours on targets or classes, with the sketch and the units that the estimators choose."""

    def __init__(self, parameters: dict[str, Any], rounds: int, kind: Kind, name: str) -> None:
        super().__init__(parameters, rounds)
        self._kind, self._name = kind, name

    def build(self, X: Features, Y: Labels) -> xgb.DMatrix:
        """Return a `DMatrix`; set the number of classes."""
        self.parameters |= _of_classes(self._kind, Y)
        return super().build(X, Y)

    def quantise(self, matrix: xgb.DMatrix) -> None:
        """Choose the sketch and the units, which are no part of a round; bin the matrix."""
        self._choose(matrix)
        super().quantise(matrix)

    def _choose(self, matrix: xgb.DMatrix) -> None:
        if self._name == "ours" or "sketch_size" in self.parameters:
            return
        by_name = {"sketched": {"sketch_size": 1, "outputs_per_tree": 0}}
        kinds = {"targets": MultiTargetXGBRegressor, "classes": MultiClassXGBClassifier}
        estimator = kinds[self._kind](max_depth=DEPTH, **by_name.get(self._name, {}))
        Y = self._data.Y if self._kind == "targets" else self._data.Y[:, 0]
        data = estimator._begin_fit(self._data.X, Y)
        settled = estimator._settled(estimator._native_booster_params(), data)
        for name in ("sketch_size", "labels_per_tree", "target_scale"):
            if name in settled:
                self.parameters[name] = settled[name]


class StockOutputs(XGBoost):
    """Stock XGBoost on targets or classes."""

    def build(self, X: Features, Y: Labels) -> xgb.DMatrix:
        """Return a `DMatrix`; set the number of classes."""
        kind: Kind = "classes" if self.parameters["objective"].startswith("multi:") else "targets"
        self.parameters |= _of_classes(kind, Y)
        return super().build(X, Y)


def _of_classes(kind: Kind, Y: Labels) -> dict[str, int]:
    return {"num_class": int(Y.max()) + 1} if kind == "classes" else {}


class Variant(XGBoost):
    """Ours with a feature that the plain case does not use."""

    def __init__(self, parameters: dict[str, Any], rounds: int, name: str) -> None:
        super().__init__(parameters, rounds)
        self.name = name

    def build(self, X: Features, Y: Labels) -> xgb.DMatrix:
        """Return the variant's matrix; store its constraints, which depend on the features."""
        if self.name == "interaction_constraints":
            self.parameters["interaction_constraints"] = overlapping_groups(X.shape[1])
        if self.name == "monotone_constraints":
            self.parameters["monotone_constraints"] = rising_and_falling(X.shape[1])
        return build_variant(self.name, X, Y, self.parameters)

    def predict(self, model: xgb.Booster, X: Features) -> NDArray[np.float32]:
        """Return probabilities of shape (n_samples, n_labels)."""
        return super().predict(model, levels(X))


class LightGBM(Candidate):
    """LightGBM, one model per label or target, all on one binned data set; one for all classes.

    It has at most 255 bins. Its minimum sum of Hessians in a leaf is the default: with 0 a check
    fails, because it estimates the rows of a leaf from their Hessians. Histograms are filled by
    rows, which is faster on these data sets; otherwise it would test that again for every label.
    """

    def __init__(self, job: Job, setting: Setting) -> None:
        self.rounds, self._kind = job.rounds, kind_of(job.data)
        objectives = {"labels": "binary", "targets": "regression", "classes": "multiclass"}
        self.parameters = {
            "objective": objectives[self._kind],
            "num_leaves": 2**DEPTH,
            "max_depth": DEPTH,
            "max_bin": setting.max_bin - 1,
            "learning_rate": setting.learning_rate,
            "feature_fraction": setting.columns,
            "lambda_l2": REG_LAMBDA,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 1e-3,
            "force_row_wise": True,
            "num_threads": job.threads,
            "seed": job.seed,
            "verbosity": -1,
        }

    def build(self, X: Features, Y: Labels) -> Any:
        """Return a binned `Dataset` and the labels."""
        import lightgbm

        self.parameters |= _of_classes(self._kind, Y)
        dataset = lightgbm.Dataset(X, label=Y[:, 0].copy(), params=self.parameters)
        return dataset.construct(), Y

    def quantise(self, matrix: Any) -> None:
        """Do nothing: `build` has binned the data."""

    def train(self, matrix: Any) -> Any:
        """Return a booster per label."""
        import lightgbm

        dataset, Y = matrix
        boosters = []
        for y in Y.T:
            dataset.set_label(y.copy())
            boosters.append(lightgbm.train(self.parameters, dataset, self.rounds))
        return boosters

    def predict(self, model: Any, X: Features) -> NDArray[np.float64]:
        """Return probabilities of shape (n_samples, n_labels)."""
        threads = self.parameters["num_threads"]
        return np.column_stack([booster.predict(X, num_threads=threads) for booster in model])

    def steps(
        self, matrix: Any, held: Sequence[Features], evaluated: Iterable[int], limit: float
    ) -> Iterator[Step]:
        """Update all labels' boosters, which share the data set; see `Candidate.steps`.

        A booster fits the labels that the data set has when it is updated.
        """
        import lightgbm

        dataset, Y = matrix
        clock = Clock()
        boosters = []
        for y in Y.T:
            dataset.set_label(y.copy())
            with clock:
                boosters.append(lightgbm.Booster(self.parameters, dataset))
        margins: list[list[Any]] = [[0.0] * len(boosters) for X in held]
        for before, rounds in pairwise(chain((0,), evaluated)):
            for booster, y in zip(boosters, Y.T, strict=True):
                dataset.set_label(y.copy())
                with clock:
                    for _ in range(before, rounds):
                        booster.update()
            for margin, X in zip(margins, held, strict=True):
                for label, booster in enumerate(boosters):
                    margin[label] += booster.predict(
                        X, raw_score=True, start_iteration=before, num_iteration=rounds - before
                    )
            predictions = [_LINKS[self._kind](np.column_stack(margin)) for margin in margins]
            yield Step(rounds, clock.cpu_seconds, clock.wall_seconds, predictions)


_LINKS: dict[Kind, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "labels": lambda margins: 1 / (1 + np.exp(-margins)),
    "targets": lambda margins: margins,
    "classes": lambda margins: softmax(margins, axis=1),
}
"""Functions from margins to predictions, by the kind of the columns of Y."""


class CatBoost(Candidate):
    """CatBoost with the loss `MultiLogloss`, `MultiRMSE` or `MultiClass`.

    It rejects labels that are constant; they are left out, to its advantage. Half of the columns
    means half for each split, not for each tree.
    """

    def __init__(self, job: Job, setting: Setting) -> None:
        losses = {"labels": "MultiLogloss", "targets": "MultiRMSE", "classes": "MultiClass"}
        self._has_proba = kind_of(job.data) != "targets"
        self.parameters = {
            "loss_function": losses[kind_of(job.data)],
            "iterations": job.rounds,
            "depth": DEPTH,
            "border_count": setting.max_bin - 2,
            "learning_rate": setting.learning_rate,
            "rsm": setting.columns,
            "l2_leaf_reg": REG_LAMBDA,
            "thread_count": job.threads,
            "random_seed": job.seed,
            "allow_writing_files": False,
            "verbose": False,
        }

    def build(self, X: Features, Y: Labels) -> Any:
        """Return a `Pool`, which labels vary, and the mean of each label."""
        import catboost

        varies = Y.min(axis=0) < Y.max(axis=0)
        pool = catboost.Pool(X, Y[:, varies], thread_count=self.parameters["thread_count"])
        return pool, varies, Y.mean(axis=0)

    def quantise(self, matrix: Any) -> None:
        """Bin the pool."""
        matrix[0].quantize(border_count=self.parameters["border_count"], task_type="CPU")

    def train(self, matrix: Any) -> Any:
        """Return a classifier, its labels, and the constants of the other labels."""
        import catboost

        pool, varies, means = matrix
        return catboost.CatBoost(self.parameters).fit(pool), varies, means

    def predict(self, model: Any, X: Features) -> NDArray[np.float64]:
        """Return probabilities of shape (n_samples, n_labels)."""
        booster, varies, means = model
        threads = self.parameters["thread_count"]
        found = booster.predict(X, prediction_type=self._form(), thread_count=threads)
        if varies.all():
            return np.asarray(found)
        Y_proba = np.tile(means.astype(np.float64), (X.shape[0], 1))
        Y_proba[:, varies] = found
        return Y_proba

    def _form(self) -> str:
        return "Probability" if self._has_proba else "RawFormulaVal"

    def steps(
        self, matrix: Any, held: Sequence[Features], evaluated: Iterable[int], limit: float
    ) -> Iterator[Step]:
        """Repeat the training with more and more rounds; see `Candidate.steps`.

        CatBoost can neither pause nor continue a training, but reports the end of each round, so
        the times are those of the first training with that round. All labels vary.
        """
        import catboost

        planned = _FEWEST_ROUNDS
        wanted = iter(evaluated)
        rounds = next(wanted)
        while True:
            times = _Times(limit)
            parameters = self.parameters | {"iterations": planned}
            model = catboost.CatBoost(parameters).fit(matrix[0], callbacks=[times])
            staged = [model.staged_predict(X, prediction_type=self._form()) for X in held]
            for number, predictions in enumerate(zip(*staged, strict=True), start=1):
                if number == rounds:
                    yield Step(number, *times.seconds[number - 1], list(predictions))
                    rounds = next(wanted)
            if times.seconds[-1][0] > limit:
                return
            planned *= 4


class _Times:
    """CPU and wall seconds of each round of CatBoost, for its parameter `callbacks`."""

    def __init__(self, limit: float) -> None:
        self.seconds: list[tuple[float, float]] = []
        self._limit = limit
        self._begin = time.process_time(), time.perf_counter()

    def after_iteration(self, info: Any) -> bool:
        """Store the seconds so far; return whether to continue."""
        cpu, wall = self._begin
        self.seconds.append((time.process_time() - cpu, time.perf_counter() - wall))
        return self.seconds[-1][0] <= self._limit


def make_candidate(job: Job, setting: Setting | None = None) -> Candidate:
    """Return the candidate of a job, by default with the setting of comparisons of equal rounds."""
    setting = setting or Setting()
    if job.candidate == "lightgbm":
        return LightGBM(job, setting)
    if job.candidate == "catboost":
        return CatBoost(job, setting)
    parameters = xgboost_parameters(setting) | {"nthread": job.threads, "seed": job.seed}
    if (outputs := kind_of(job.data)) != "labels":
        parameters["objective"] = "multi:softprob" if outputs == "classes" else "reg:squarederror"
        parameters["verbosity"] = 0  # XGBoost warns of a named updater
        if job.candidate in GROUPS["stock"]:
            parameters |= {"multi_strategy": job.candidate} | _bounded_histograms(job, setting)
            return StockOutputs(parameters, job.rounds)
        return Outputs(parameters | VECTOR_LEAVES, job.rounds, outputs, job.candidate)
    if job.candidate in GROUPS["stock"]:
        parameters |= {"objective": "binary:logistic", "multi_strategy": job.candidate}
        parameters |= _bounded_histograms(job, setting)
        return XGBoost(parameters, job.rounds)
    method = job.candidate if job.candidate in SPLIT_METHODS else "sumGain"
    parameters["objective"] = f"multilabel:{method}"
    parameters |= PARAMETERS.get(job.candidate, {})
    if job.candidate in GROUPS["variants"]:
        return Variant(parameters, job.rounds, job.candidate)
    of_candidate = {"grouped": Grouped, "auto": Auto}.get(job.candidate, XGBoost)
    return of_candidate(parameters, job.rounds)


def xgboost_parameters(setting: Setting) -> dict[str, Any]:
    """Return the parameters of all XGBoost boosters with a setting."""
    return _COMMON_XGBOOST | {
        "max_bin": setting.max_bin,
        "learning_rate": setting.learning_rate,
        "colsample_bytree": setting.columns,
    }


def _bounded_histograms(job: Job, setting: Setting) -> dict[str, int]:
    """Limit stock's histograms on synthetic data if those of all nodes would not fit into memory.

    `multi_output_tree` keeps the histograms of every node that it evaluates, for every label. With
    the limit it keeps those of a level, and builds those of the last level without subtraction.
    """
    shape = synthetic_shape(job.data)
    if job.candidate != "multi_output_tree" or shape is None:
        return {}
    _, n_features, n_labels = shape
    needed = (2**DEPTH - 1) * n_features * setting.max_bin * n_labels * _BYTES_PER_BIN
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {} if needed <= memory / 2 else {"max_cached_hist_node": 2 ** (DEPTH - 1)}


def require_packages(candidates: Iterable[str]) -> None:
    """Check that the libraries of some candidates are installed.

    Raises
    ------
    ModuleNotFoundError
        If LightGBM, CatBoost or Treelite is needed and missing.
    PluginMissingError
        If ours is needed, and the installed XGBoost lacks the plugin.
    """
    needed = set(candidates)
    missing = [
        name
        for name in (*GROUPS["peers"], "treelite")
        if name in needed and importlib.util.find_spec(name) is None
    ]
    if missing:
        raise ModuleNotFoundError(
            f"{' and '.join(missing)} is not installed: pip install '.[bench]', or leave it out "
            "with --candidates"
        )
    if needed - {*GROUPS["stock"], *GROUPS["peers"], "classifier_chain", "binary_relevance"}:
        require_plugin("The benchmark")
