"""A trained chain on plain XGBoost, without xdcc and without its patched XGBoost.

This file stands alone: it needs NumPy and XGBoost, and SciPy (which XGBoost brings) for sparse
rows. ``xdcc.serving.to_stock`` puts a copy of it beside the boosters that it exports:

    from stock_chain import StockChain

    chain = StockChain("the exported directory")
    chain.predict(X)  # (n_samples, n_labels), zeros and ones

It says again, in one place, what the files of ``xdcc/chain`` say about prediction (loop,
propagation, end_label, cumulation) and must take the same steps; xdcc's tests compare the two.
Choices between labels turn on the last bit of a probability, so :func:`logistic` does the very
arithmetic of the plugin.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

FORMAT_VERSION = 1


class StockChain:
    """A chain exported by ``xdcc.serving.to_stock``.

    Parameters
    ----------
    directory : path-like
        What `to_stock` wrote.

    Attributes
    ----------
    label_names : list of str
        Names of the labels, in the order of the predictions' columns.
    feature_names : list of str or None
        Names of the features, if the chain was trained on a DataFrame with names.

    Raises
    ------
    FileNotFoundError
        If the directory has no ``chain.json``.
    RuntimeError
        If the export needs a newer XGBoost or a newer copy of this file.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> xdcc.serving.to_stock(chain.fit(data.X, data.Y), "exported")
    >>> StockChain("exported").predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        directory = Path(directory)
        settings = json.loads((directory / "chain.json").read_text("utf-8"))
        if settings["format_version"] != FORMAT_VERSION:
            raise RuntimeError(
                f"{directory} has format {settings['format_version']}, this file reads format "
                f"{FORMAT_VERSION}: use the stock_chain.py in that directory."
            )
        if _version(xgb.__version__) < _version(settings["xgboost"]):
            raise RuntimeError(
                f"{directory} needs xgboost {settings['xgboost']} or newer, "
                f"{xgb.__version__} is installed."
            )
        self.label_names: list[str] = settings["label_names"]
        self.feature_names: list[str] | None = settings["feature_names"]
        self._settings = settings
        self._codes = {
            position: {category: code for code, category in enumerate(categories)}
            for position, categories in settings["categories"]
        }
        self._rounds = [
            [xgb.Booster(model_file=directory / name) for name in names]
            for names in settings["rounds"]
        ]

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Labels.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for `predict_proba`.

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Zeros and ones.
        """
        proba = self.predict_proba(X)
        if (
            self._settings["prediction"] == "cumulated"
            and self._settings["cumulation"] == "authors"
        ):
            return (proba > 0.5).astype(np.int64)
        return (proba >= 0.5).astype(np.int64)

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value, and so is what a sparse matrix does not store, unless
            the chain was trained with ``sparse_zeros="zero"``. Sparse or dense as in training.
            Columns that were categorical in training hold categories; one that was not there
            then is missing.

        Returns
        -------
        float32 array of shape (n_samples, n_labels)
            As of the chain that was exported, with its `prediction` and `cumulation`.

        Raises
        ------
        ValueError
            If X has other columns than the training data.
        """
        X = self._features(X)
        n_samples, n_labels = X.shape[0], len(self.label_names)
        P = np.full((n_samples, n_labels), np.nan, dtype=np.float32)  # propagated probabilities
        running = np.zeros_like(P)  # largest probability of each label while it was open
        ended = np.zeros(n_samples, dtype=bool)
        for boosters in self._rounds:
            going = np.flatnonzero(~ended)
            if len(going) == 0:
                break
            proba = np.zeros((n_samples, n_labels + self._settings["end_label"]), dtype=np.float32)
            proba[going] = _mean_proba(boosters, self._joined(X[going], P[going]))
            is_open = np.isnan(P)
            # Rows that have ended have a proba of zero, which is no new maximum.
            np.maximum(running, proba[:, :n_labels], out=running, where=is_open)
            if self._settings["end_label"]:
                end = proba[:, -1]
                largest = np.where(is_open, proba[:, :-1], 0).max(axis=1)
                ended |= (end >= 0.5) & (end >= largest)
            self._propagate(P, proba, np.flatnonzero(~ended))

        if self._settings["prediction"] == "standard":
            return np.where(np.isnan(P), np.float32(0), P)
        if self._settings["cumulation"] == "authors":
            return running
        return np.where(np.isnan(P), running, P)

    def _propagate(
        self, P: NDArray[np.float32], proba: NDArray[np.float32], rows: NDArray[np.intp]
    ) -> None:
        if self._settings["candidates"] == "all":
            _propagate_any(P, proba, rows)
            return
        for _ in range(self._settings["labels_per_round"]):
            rows = rows[np.isnan(P[rows]).any(axis=1)]
            _propagate_open(P, proba, rows, self._settings["order"])

    def _features(self, X: Any) -> Any:
        if hasattr(X, "columns") and self.feature_names is not None:
            given = [str(name) for name in X.columns]
            if given != self.feature_names:
                raise ValueError(
                    f"X has the columns {given}, the chain was trained on {self.feature_names}."
                )
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        n_features = self._settings["n_features"]
        if len(X.shape) != 2 or X.shape[1] != n_features:
            raise ValueError(f"X has shape {X.shape}; it has to be (n_samples, {n_features}).")
        if hasattr(X, "tocsr"):
            if self._codes:
                raise ValueError("X is sparse, but the chain was trained on categories.")
            if self._settings["sparse_zeros"] == "zero":
                return np.asarray(X.toarray(), dtype=np.float32)
            if not self._settings["sparse_X"]:
                raise ValueError(
                    "X is sparse, but the chain was trained on a dense X, and not with "
                    "sparse_zeros='zero': what X does not store could be missing or zero."
                )
            from scipy import sparse

            # A copy; `_joined` and XGBoost want one entry per place and no csr_array.
            X = sparse.csr_matrix(X, dtype=np.float32, copy=True)
            X.sum_duplicates()
            return X
        if self._settings["sparse_X"]:
            raise ValueError(
                "X is dense, but the chain was trained on a sparse X, and not with "
                "sparse_zeros='zero': its zeros could be missing values or zeros."
            )
        if not self._codes and not hasattr(X, "iloc"):
            return np.asarray(X, dtype=np.float32)
        dense = np.empty(X.shape, dtype=np.float32)
        for position in range(n_features):
            column = X.iloc[:, position] if hasattr(X, "iloc") else X[:, position]
            if position in self._codes:
                codes = self._codes[position]
                dense[:, position] = [codes.get(value, np.nan) for value in column]
            elif hasattr(column, "to_numpy"):
                dense[:, position] = column.to_numpy(dtype=np.float32, na_value=np.nan)
            else:
                dense[:, position] = column
        return dense

    def _joined(self, X: Any, P: NDArray[np.float32]) -> Any:
        """Make [X | P]; the end label's column is always missing, a single booster has none."""
        n_columns = self._settings["n_label_features"]
        label_features = np.full((len(P), n_columns), np.nan, dtype=np.float32)
        n_filled = min(n_columns, P.shape[1])
        label_features[:, :n_filled] = P[:, :n_filled]
        if not hasattr(X, "tocsr"):
            return np.hstack([X, label_features])
        from scipy import sparse

        known = np.nonzero(~np.isnan(label_features))
        columns = sparse.csr_matrix((label_features[known], known), shape=label_features.shape)
        return sparse.csr_matrix(sparse.hstack([X, columns], format="csr"))


def logistic(margin: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute 1 / (1 + e^-margin) with the roundings of the plugin (logistic.h).

    Parameters
    ----------
    margin : float32 array
        Margins.

    Returns
    -------
    float32 array
        Probabilities.
    """
    one = np.float32(1)
    x = np.clip(-margin, np.float32(-87), np.float32(88))
    to_integer = np.float32(12582912)  # 1.5 * 2^23: adding it rounds to an integer
    n = (x * np.float32(1.44269504) + to_integer) - to_integer
    r = (x - n * np.float32(0.693359375)) + n * np.float32(2.12194440e-4)
    p = np.full_like(r, one / np.float32(5040))
    for divisor in (720, 120, 24, 6, 2):
        p = p * r + one / np.float32(divisor)
    p = p * r * r + r + 1
    scale = ((n.astype(np.int32) + 127) << 23).view(np.float32)  # 2^n
    return 1 / (1 + p * scale)


def _mean_proba(boosters: Sequence[xgb.Booster], joined: Any) -> NDArray[np.float32]:
    total = np.zeros((joined.shape[0], 1), dtype=np.float32)
    for booster in boosters:
        total = total + logistic(
            booster.inplace_predict(
                joined, predict_type="margin", validate_features=False, strict_shape=True
            )
        )
    total /= len(boosters)
    return total


def _propagate_open(
    P: NDArray[np.float32], proba: NDArray[np.float32], rows: NDArray[np.intp], order: str
) -> None:
    """Propagate a label that has not been, in rows that have one."""
    is_open = np.isnan(P[rows])
    proba = proba[rows, : P.shape[1]]
    if order == "certainty":
        label = np.where(is_open, np.abs(proba - 0.5), -np.inf).argmax(axis=1)
    else:
        largest = np.where(is_open, proba, -np.inf)
        smallest = np.where(is_open, proba, np.inf)
        label = np.where(
            largest.max(axis=1, initial=-np.inf) >= 0.5,
            largest.argmax(axis=1),
            smallest.argmin(axis=1),
        )
    P[rows, label] = proba[np.arange(len(rows)), label]


def _propagate_any(
    P: NDArray[np.float32], proba: NDArray[np.float32], rows: NDArray[np.intp]
) -> None:
    """Propagate a label, or make the value of one that has been more extreme."""
    n_labels = P.shape[1]
    proba = proba[rows, :n_labels]
    every = np.arange(len(rows))
    last_largest = n_labels - 1 - proba[:, ::-1].argmax(axis=1)
    positive = proba[every, last_largest] >= 0.5
    label = np.where(positive, last_largest, proba.argmin(axis=1))
    value, stored = proba[every, label], P[rows, label]
    changed = (
        np.isnan(stored)
        | (positive & (stored >= 0.5) & (value > stored))
        | (~positive & (stored < 0.5) & (value < stored))
    )
    P[rows[changed], label[changed]] = value[changed]


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
