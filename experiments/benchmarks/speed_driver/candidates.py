"""The candidates of the comparison of boosters, all with the same settings.

A candidate builds its library's matrix from arrays, can bin it ahead of the training, trains and
predicts. Where a library cannot be given exactly the common settings, its class says what it gets.
"""

import importlib.util
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

from speed_driver.data import Features, Labels, synthetic_shape
from speed_driver.job import Job
from speed_driver.suites import STOCK
from xdcc.base.plugin import require_plugin

DEPTH = 6
MAX_BIN = 256
LEARNING_RATE = 0.3
REG_LAMBDA = 1.0

COMMON_XGBOOST: dict[str, Any] = {
    "tree_method": "hist",
    "max_depth": DEPTH,
    "max_bin": MAX_BIN,
    "learning_rate": LEARNING_RATE,
    "reg_lambda": REG_LAMBDA,
    "min_child_weight": 0,
}
"""What all XGBoost boosters share; ours needs no `tree_method` but takes it."""

_EXTRA_PACKAGES = ("lightgbm", "catboost")
_BYTES_PER_BIN = 16  # of stock XGBoost's histograms: a gradient and a Hessian in double precision


class Candidate(ABC):
    """One way of training a multi-label booster.

    Attributes
    ----------
    parameters : dict
        What the library is given.
    """

    parameters: dict[str, Any]

    @abstractmethod
    def build(self, X: Features, Y: Labels) -> Any:
        """Return the library's own matrix."""

    @abstractmethod
    def quantise(self, matrix: Any) -> None:
        """Bin the matrix, as far as the library keeps the bins for the trainings that follow."""

    @abstractmethod
    def train(self, matrix: Any) -> Any:
        """Return a trained model."""

    @abstractmethod
    def predict(self, model: Any, X: Features) -> NDArray[np.floating]:
        """Return probabilities of shape (n_samples, n_labels)."""


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


class LightGBM(Candidate):
    """LightGBM, one model per label, all on one binned data set.

    It has at most 255 bins. Its smallest sum of Hessians in a leaf stays at its default: with 0 it
    stops with a failed check, since it reckons the rows of a leaf from their Hessians. Histograms
    are filled by rows: else it tries, anew for every label, what is faster, and on the data sets
    here rows are.
    """

    def __init__(self, job: Job) -> None:
        self.rounds = job.rounds
        self.parameters = {
            "objective": "binary",
            "num_leaves": 2**DEPTH,
            "max_depth": DEPTH,
            "max_bin": MAX_BIN - 1,
            "learning_rate": LEARNING_RATE,
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


class CatBoost(Candidate):
    """CatBoost with the loss `MultiLogloss`.

    It refuses labels that are the same in all rows; they are left out, to its advantage.
    """

    def __init__(self, job: Job) -> None:
        self.parameters = {
            "loss_function": "MultiLogloss",
            "iterations": job.rounds,
            "depth": DEPTH,
            "border_count": MAX_BIN - 2,
            "learning_rate": LEARNING_RATE,
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
        """Return a classifier, which labels it knows, and what the others are."""
        import catboost

        pool, varies, means = matrix
        return catboost.CatBoostClassifier(**self.parameters).fit(pool), varies, means

    def predict(self, model: Any, X: Features) -> NDArray[np.float64]:
        """Return probabilities of shape (n_samples, n_labels)."""
        classifier, varies, means = model
        Y_proba = np.tile(means.astype(np.float64), (X.shape[0], 1))
        Y_proba[:, varies] = classifier.predict_proba(
            X, thread_count=self.parameters["thread_count"]
        )
        return Y_proba


def make_candidate(job: Job) -> Candidate:
    """Make the candidate of a job.

    Parameters
    ----------
    job : Job
        Of a suite other than `chain`.

    Returns
    -------
    Candidate
    """
    if job.candidate == "lightgbm":
        return LightGBM(job)
    if job.candidate == "catboost":
        return CatBoost(job)
    parameters = COMMON_XGBOOST | {"nthread": job.threads, "seed": job.seed}
    if job.candidate in STOCK:
        parameters |= {"objective": "binary:logistic", "multi_strategy": job.candidate}
        parameters |= _bounded_histograms(job)
    else:
        method = "sumGain" if job.candidate == "ours" else job.candidate
        parameters["objective"] = f"multilabel:{method}"
    return XGBoost(parameters, job.rounds)


def _bounded_histograms(job: Job) -> dict[str, int]:
    """Bound stock's histograms on synthetic data where all nodes' would not fit into memory.

    `multi_output_tree` keeps the histograms of every node that it evaluates, for every label. With
    the bound it keeps a level's, and builds those of the last level without subtraction.
    """
    shape = synthetic_shape(job.data)
    if job.candidate != "multi_output_tree" or shape is None:
        return {}
    _, n_features, n_labels = shape
    needed = (2**DEPTH - 1) * n_features * MAX_BIN * n_labels * _BYTES_PER_BIN
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {} if needed <= memory / 2 else {"max_cached_hist_node": 2 ** (DEPTH - 1)}


def require_packages(candidates: Iterable[str]) -> None:
    """Check that the libraries of some candidates are installed.

    Parameters
    ----------
    candidates : iterable of str

    Raises
    ------
    ModuleNotFoundError
        If LightGBM or CatBoost is needed and missing.
    PluginMissingError
        If ours is needed, and the installed XGBoost lacks the plugin.
    """
    needed = set(candidates)
    missing = [
        name
        for name in _EXTRA_PACKAGES
        if name in needed and importlib.util.find_spec(name) is None
    ]
    if missing:
        raise ModuleNotFoundError(
            f"{' and '.join(missing)} is not installed: pip install '.[bench]', or leave it out "
            "with --candidates"
        )
    if needed - {*STOCK, *_EXTRA_PACKAGES, "classifier_chain"}:
        require_plugin("The benchmark")
