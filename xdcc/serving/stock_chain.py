"""A trained chain or booster on plain XGBoost, without xdcc and without its patched XGBoost.

This file is self-contained: it needs NumPy and XGBoost, and SciPy (a dependency of XGBoost) for
sparse rows. ``xdcc.serving.to_stock`` puts a copy of it beside the boosters that it exports:

    from stock_chain import StockChain

    chain = StockChain("the exported directory")
    chain.predict(X)  # (n_samples, n_labels), zeros and ones; (n_samples,) classes of one target

It repeats in one place how ``xdcc/chain`` predicts (``loop.py``, ``propagation.py``) and must take
the same steps; xdcc's tests compare the two. The choice of a label can depend on the last bit of a
probability, so :func:`logistic` computes exactly what the plugin computes.

``chain.json`` is checked before it is used. It has the SHA-256 of every booster, which detects
accidental corruption; someone who can write both files can change both. Where xdcc is installed, it
checks the boosters, too. Elsewhere XGBoost trusts them, as Python trusts this file.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from numpy.typing import NDArray

try:
    from xdcc.serving import check_booster
except ImportError:  # a copy of this file where xdcc is not installed

    def check_booster(file: str | os.PathLike[str] | bytes | bytearray) -> None:
        """Trust a booster, which only xdcc can check."""


FORMAT_VERSION = 4

_LARGEST_SETTINGS = 2**25
"""Limit on the size of ``chain.json`` in bytes."""

_PLAIN = (str, int, float, bool)


class ExportError(ValueError):
    """A directory is not as ``xdcc.serving.to_stock`` writes it; the message says what is wrong."""


class StockChain:
    """A chain, or a booster of labels, targets or classes, exported by ``xdcc.serving.to_stock``.

    Parameters
    ----------
    directory : path-like
        The folder that `to_stock` wrote.

    Attributes
    ----------
    label_names : list of str
        Names of the labels, targets or classes, in the order of the predictions' columns.
    feature_names : list of str or None
        Names of the features, if the chain was trained on a DataFrame with names.
    classes : array of shape (n_classes,) or None
        Classes of a target of one dimension; None if the labels were a matrix, or numbers.

    Raises
    ------
    FileNotFoundError
        If the directory has no ``chain.json``.
    RuntimeError
        If the export needs a newer XGBoost or another copy of this file.
    ExportError
        If ``chain.json`` or a booster is not as `to_stock` writes it.

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
        settings = _read_settings(directory / "chain.json")
        if _version(xgb.__version__) < _version(settings["xgboost"]):
            raise RuntimeError(
                f"{directory} needs xgboost {settings['xgboost']} or newer, but "
                f"{xgb.__version__} is installed."
            )
        self.label_names: list[str] = settings["label_names"]
        self.feature_names: list[str] | None = settings["feature_names"]
        self._settings = settings
        self.classes = _classes(settings["classes"])
        self._codes = {
            position: {category: code for code, category in enumerate(categories)}
            for position, categories in settings["categories"]
        }
        n_columns = settings["n_features"] + settings["n_label_features"]
        self._rounds = [
            [
                _booster(directory / booster_name(round_, fold), digest, n_columns)
                for fold, digest in enumerate(digests)
            ]
            for round_, digests in enumerate(settings["rounds"])
        ]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels, classes, or targets.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for `predict_proba`.

        Returns
        -------
        int array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Zeros and ones; classes, if the chain was trained on one dimension. Targets are float64,
            in the form of Y.

        Raises
        ------
        ValueError
            If X has other columns than the training data.
        """
        if self._settings["output"] == "targets":
            targets = self._output(X).astype(np.float64)
            return targets[:, 0] if self._settings["one_target"] else targets
        if self._settings["output"] == "classes":
            assert self.classes is not None
            return self.classes[self._output(X).argmax(axis=1)]
        proba = self._label_proba(X)
        rule = self._settings["prediction"], self._settings["cumulation"]
        is_present = proba > 0.5 if rule == ("cumulated", "authors") else proba >= 0.5
        labels = is_present.astype(np.int64)
        if self.classes is None:
            return labels
        # The label of a target with one class is always 0.
        return self.classes[labels[:, 0] if len(self.classes) == 2 else 0 * labels[:, 0]]

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Predict the probability of every label, or of every class.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            Numbers; NaN is a missing value, and so is what a sparse matrix does not store, unless
            the chain was trained with ``sparse_zeros="zero"``. Sparse or dense as in training.
            Columns that were categorical in training hold categories; a category that did not
            occur in training is a missing value.

        Returns
        -------
        float32 array of shape (n_samples, n_labels) or (n_samples, n_classes)
            Equal to those of the exported chain, with its `prediction` and `cumulation`.

        Raises
        ------
        ValueError
            If X has other columns than the training data.
        TypeError
            If the booster predicts targets.
        """
        if self._settings["output"] == "targets":
            raise TypeError("The booster predicts numbers, not probabilities.")
        if self._settings["output"] == "classes":
            return self._output(X)
        proba = self._label_proba(X)
        if self.classes is None:
            return proba
        if len(self.classes) == 1:
            return np.ones_like(proba)
        return np.concatenate((1 - proba, proba), axis=1)

    def _output(self, X: Any) -> NDArray[np.float32]:
        """Predict targets, or probabilities of classes, by the only booster."""
        [[booster]] = self._rounds
        found: NDArray[np.float32] = booster.inplace_predict(
            self._features(X), validate_features=False, strict_shape=True
        )
        if found.shape[1] != len(self.label_names):
            raise ExportError(
                f"A booster has {found.shape[1]} outputs; chain.json names {len(self.label_names)}."
            )
        return found

    def _label_proba(self, X: Any) -> NDArray[np.float32]:
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
            proba[going] = _mean_proba(boosters, self._joined(X[going], P[going]), proba.shape[1])
            is_open = np.isnan(P)
            # Rows that have ended have a proba of zero, so it is not a new maximum.
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
            if len(rows) == 0:
                break
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
            raise ValueError(f"X has shape {X.shape}; it must be (n_samples, {n_features}).")
        return self._sparse_features(X) if hasattr(X, "tocsr") else self._dense_features(X)

    def _sparse_features(self, X: Any) -> Any:
        if self._codes:
            raise ValueError("X is sparse, but the chain was trained on categories.")
        if self._settings["sparse_zeros"] == "zero":
            return np.asarray(X.toarray(), dtype=np.float32)
        if not self._settings["sparse_X"]:
            raise ValueError(
                "X is sparse, but the chain was trained on a dense X without sparse_zeros='zero': "
                "entries that X does not store could be missing or zero."
            )
        from scipy import sparse

        # A copy; `_joined` and XGBoost need a csr_matrix without duplicate entries.
        X = sparse.csr_matrix(X, dtype=np.float32, copy=True)
        X.sum_duplicates()
        return X

    def _dense_features(self, X: Any) -> NDArray[np.float32]:
        if self._settings["sparse_X"]:
            raise ValueError(
                "X is dense, but the chain was trained on a sparse X without sparse_zeros='zero': "
                "a zero could mean a missing value or the value 0."
            )
        if not self._codes and not hasattr(X, "iloc"):
            return np.asarray(X, dtype=np.float32)
        dense = np.empty(X.shape, dtype=np.float32)
        for position in range(X.shape[1]):
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
        """Join X and P. The end label's column is always missing; a single booster has none."""
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
    """Compute 1 / (1 + e^-margin) of float32 margins, rounding as the plugin does (logistic.h)."""
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


def _mean_proba(
    boosters: Sequence[xgb.Booster], joined: Any, n_outputs: int
) -> NDArray[np.float32]:
    total = np.zeros((joined.shape[0], n_outputs), dtype=np.float32)
    for booster in boosters:
        margins = booster.inplace_predict(
            joined, predict_type="margin", validate_features=False, strict_shape=True
        )
        if margins.shape != total.shape:
            raise ExportError(
                f"A booster predicts {margins.shape[1]} labels; chain.json says {n_outputs}."
            )
        total += logistic(margins)
    total /= len(boosters)
    return total


def _propagate_open(
    P: NDArray[np.float32], proba: NDArray[np.float32], rows: NDArray[np.intp], order: str
) -> None:
    """Propagate a label that has not been propagated, in rows that have one."""
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
    """Propagate a label, or make the value of a propagated one more extreme."""
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


def _read_settings(path: Path) -> dict[str, Any]:
    """Read ``chain.json`` and check its content."""
    with path.open("rb") as file:
        text = file.read(_LARGEST_SETTINGS + 1)
    if len(text) > _LARGEST_SETTINGS:
        raise ExportError(
            f"{path} has more than {_LARGEST_SETTINGS} bytes: to_stock did not write it."
        )
    try:
        settings = json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExportError(f"{path} is not valid JSON: {error}") from error
    if not isinstance(settings, dict):
        raise ExportError(f"{path} holds a {type(settings).__name__}, not the settings of a chain.")
    number = settings.get("format_version")
    if type(number) is not int:
        raise ExportError(f"{path} has no format_version: to_stock did not write it.")
    if number != FORMAT_VERSION:
        raise RuntimeError(
            f"{path} has format {number}, but this file reads format {FORMAT_VERSION}: use the "
            "stock_chain.py in that directory."
        )
    for name, fits in _SETTINGS.items():
        if name not in settings:
            raise ExportError(f"{path} has no {name}: to_stock did not write it.")
        if not fits(settings[name], settings):
            shown = repr(settings[name])
            shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
            raise ExportError(f"{path} has {name}={shown}, which to_stock does not write.")
    return settings


def _classes(described: dict[str, Any] | None) -> NDArray[Any] | None:
    if described is None:
        return None
    dtype, values = described["dtype"], described["values"]
    try:
        classes = np.array(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ExportError(f"The classes in chain.json are not of type {dtype}: {error}") from error
    if classes.tolist() != values:
        raise ExportError(f"The classes in chain.json are not of type {dtype}: it changes them.")
    return classes


def booster_name(round_: int, fold: int) -> str:
    """Return the name of the file of a booster; rounds and folds are counted from 0."""
    return f"round_{round_:03}_{fold}.ubj"


def _booster(path: Path, digest: str, n_columns: int) -> xgb.Booster:
    if not path.is_file():
        raise ExportError(f"{path.parent} has no {path.name}, which chain.json lists.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ExportError(f"{path} is not the booster whose SHA-256 is in chain.json.")
    try:
        check_booster(content)
        booster = xgb.Booster(model_file=bytearray(content))
    except ValueError as error:
        what = str(error).partition("\n")[0]
        raise ExportError(f"{path} cannot be read: {what}") from error
    if booster.num_features() != n_columns:
        raise ExportError(
            f"{path} takes {booster.num_features()} features; chain.json says {n_columns}."
        )
    return booster


def _is_number(value: Any, low: int) -> bool:
    return type(value) is int and value >= low


def _is_list_of(value: Any, *types: type) -> bool:
    return isinstance(value, list) and all(isinstance(entry, types) for entry in value)


def _are_classes(value: Any, settings: Any) -> bool:
    if value is None or settings["output"] == "targets":
        return value is None and settings["output"] != "classes"
    if not isinstance(value, dict) or set(value) != {"dtype", "values"}:
        return False
    dtype, values = value["dtype"], value["values"]
    return (
        isinstance(dtype, str)
        and re.fullmatch(r"[<>|=]?([biuf][1248]|f16|U[0-9]{1,6}|O)", dtype) is not None
        and _is_list_of(values, *_PLAIN)
        and (
            len(values) == len(settings["label_names"]) > 1
            if settings["output"] == "classes"
            else len(values) in (1, 2) and len(settings["label_names"]) == 1
        )
    )


def _are_categories(value: Any, settings: Any) -> bool:
    if not isinstance(value, list):
        return False
    for entry in value:
        if not isinstance(entry, list) or len(entry) != 2 or not _is_list_of(entry[1], *_PLAIN):
            return False
        if not _is_number(entry[0], 0) or entry[0] >= settings["n_features"]:
            return False
    return True


def _are_rounds(value: Any, _: Any) -> bool:
    return (
        _is_list_of(value, list)
        and len(value) > 0
        and all(len(digests) > 0 and _is_list_of(digests, str) for digests in value)
        and all(re.fullmatch(r"[0-9a-f]{64}", digest) for digests in value for digest in digests)
    )


_SETTINGS: dict[str, Callable[[Any, Any], bool]] = {
    "xgboost": lambda v, _: isinstance(v, str) and re.match(r"[0-9]{1,6}\.", v) is not None,
    "label_names": lambda v, _: _is_list_of(v, str) and len(v) > 0,
    "output": lambda v, _: v in ("labels", "targets", "classes"),
    "one_target": lambda v, s: isinstance(v, bool) and (not v or len(s["label_names"]) == 1),
    "classes": _are_classes,
    "n_features": lambda v, _: _is_number(v, 1),
    "feature_names": lambda v, s: v is None or (_is_list_of(v, str) and len(v) == s["n_features"]),
    "categories": _are_categories,
    "sparse_zeros": lambda v, _: v in ("missing", "zero"),
    "sparse_X": lambda v, _: isinstance(v, bool),
    "end_label": lambda v, _: isinstance(v, bool),
    "n_label_features": lambda v, s: (
        type(v) is int and v in (0, len(s["label_names"]) + s["end_label"])
    ),
    "candidates": lambda v, _: v in ("open", "all"),
    "order": lambda v, _: v in ("positive", "certainty"),
    "labels_per_round": lambda v, _: _is_number(v, 1),
    "prediction": lambda v, _: v in ("cumulated", "standard"),
    "cumulation": lambda v, _: v in ("equation9", "authors"),
    "rounds": lambda v, s: (
        _are_rounds(v, s) and (s["output"] == "labels" or list(map(len, v)) == [1])
    ),
}
"""Checks of the settings as `to_stock` writes them; each may use those before it."""


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]{1,6}", text)[:3])
