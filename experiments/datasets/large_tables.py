"""Large generated tables: numeric, with categories, with rare labels, and with unrelated labels.

Hidden units are smooth functions of three features, or products of two. Related labels share twelve
units, unrelated ones have four each. A label's log-odds are a sum of its units, plus an effect of
the levels of each category, and decide with noise. Features come from ten factors and noise; some
are rounded, some skewed.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset
from xdcc.data.dataset import FeatureType

REFERENCE = "generated, see experiments/datasets/large_tables.py"

_TEST_ROWS, _SEED = 20_000, 0
_N_FACTORS, _N_SHARED, _N_OWN, _N_LABELS = 10, 12, 4, 20
_LEVELS = (2, 5, 12, 30, 60, 100, 150, 200)
"""Numbers of levels of the categories; small ones are frequent."""


class Kind(NamedTuple):
    """A table's properties."""

    name: str
    n_features: int = 50
    lowest: float = -2.5  # mean log-odds of the labels, at least and at most
    highest: float = -0.5
    is_related: bool = True
    n_categories: int = 0


KINDS = {
    kind.name: kind
    for kind in (
        Kind("numeric"),
        Kind("categories", 40, n_categories=len(_LEVELS)),
        Kind("rare", lowest=-6.5, highest=-3.0),
        Kind("unrelated", is_related=False),
    )
}

SIZES = {
    "numeric": {"50k": 50_000, "200k": 200_000, "1m": 1_000_000},
    "categories": {"50k": 50_000, "200k": 200_000},
    "rare": {"50k": 50_000, "200k": 200_000},
    "unrelated": {"200k": 200_000},
}


def make_table(kind: Kind, n_rows: int, seed: int) -> MultiLabelDataset:
    """Generate a table.

    Examples
    --------
    >>> make_table(KINDS["categories"], 100, seed=0)
    <MultiLabelDataset 'categories': 100 samples, 48 features (dense), 20 labels, cardinality 5.910>
    """
    return generate(kind, n_rows, seed)[0]


def generate(kind: Kind, n_rows: int, seed: int) -> tuple[MultiLabelDataset, NDArray[np.float32]]:
    """Generate a table and the probabilities of its labels, of which Y was drawn.

    Examples
    --------
    >>> table, proba = generate(KINDS["rare"], 2_000, seed=0)
    >>> bool(np.abs(proba.mean(axis=0) - table.Y.mean(axis=0)).max() < 0.05)
    True
    """
    random = np.random.default_rng(seed)
    factors = _normal(random, n_rows, _N_FACTORS)
    X = factors @ _normal(random, _N_FACTORS, kind.n_features) * np.float32(0.3)
    X += _normal(random, n_rows, kind.n_features)
    odds = _log_odds(random, X, kind)
    X[:, ::4] = np.round(X[:, ::4], 1)
    X[:, 1::5] = np.exp(X[:, 1::5])
    levels = _LEVELS[: kind.n_categories]
    columns = [X]
    for n_levels in levels:
        share = 1 / np.arange(1, n_levels + 1)
        level = random.choice(n_levels, n_rows, p=share / share.sum())
        odds += (_normal(random, n_levels, _N_LABELS) * np.float32(0.4))[level]
        columns.append(level[:, np.newaxis].astype(np.float32))
    odds += random.uniform(kind.lowest, kind.highest, _N_LABELS).astype(np.float32)
    proba = 1 / (1 + np.exp(-odds))
    Y = random.random(odds.shape, np.float32) < proba
    numeric: list[FeatureType] = ["numeric"] * kind.n_features
    nominal: list[FeatureType] = ["nominal"] * len(levels)
    names = [f"x{j}" for j in range(kind.n_features)] + [f"c{n}" for n in levels]
    of_levels = [tuple(f"level {i}" for i in range(n)) for n in levels]
    table = MultiLabelDataset(
        X=np.hstack(columns).astype(np.float64),
        Y=Y.astype(np.int8),
        feature_names=tuple(names),
        feature_types=(*numeric, *nominal),
        categories=(None,) * kind.n_features + tuple(of_levels),
        label_names=tuple(f"y{k}" for k in range(_N_LABELS)),
        name=kind.name,
    )
    return table, np.asarray(proba, dtype=np.float32)


def _log_odds(
    random: np.random.Generator, X: NDArray[np.float32], kind: Kind
) -> NDArray[np.float32]:
    """Add up units, some of them products; the standard deviation of each label's sum is 2."""
    if kind.is_related:
        units = np.column_stack([_unit(random, X, number) for number in range(_N_SHARED)])
        odds = units @ _normal(random, _N_SHARED, _N_LABELS)
    else:
        odds = np.empty((len(X), _N_LABELS), np.float32)
        for label in range(_N_LABELS):
            odds[:, label] = sum(_unit(random, X, number) for number in range(_N_OWN))
    odds -= odds.mean(axis=0)
    return np.asarray(odds * (2 / odds.std(axis=0)), dtype=np.float32)


def _unit(random: np.random.Generator, X: NDArray[np.float32], number: int) -> NDArray[np.float32]:
    """Make a hidden unit: every second one is a product of two features."""
    columns = random.choice(X.shape[1], 3, replace=False)
    if number % 2:
        return np.asarray(X[:, columns[0]] * X[:, columns[1]])
    return np.asarray(np.tanh(X[:, columns] @ _normal(random, 3, 1)[:, 0]))


def _normal(random: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return random.standard_normal(shape, np.float32)


def true_probabilities(name: str, n_rows: int) -> NDArray[np.float32]:
    """Return the probabilities of the labels of a test part, by the name of the table.

    Parameters
    ----------
    name : str
        One of `KINDS`.
    n_rows : int
        Number of training rows.
    """
    return generate(KINDS[name], n_rows + _TEST_ROWS, _SEED)[1][n_rows:]


def _load(kind: Kind, n_rows: int, split: Any) -> MultiLabelDataset:
    data = make_table(kind, n_rows + _TEST_ROWS, _SEED)
    if split is None:
        return data
    return data[:n_rows] if split == "train" else data[n_rows:]


DATASETS = {
    f"large-{name}-{size}": DataSet(
        partial(_load, KINDS[name], n_rows), REFERENCE, as_frame=KINDS[name].n_categories > 0
    )
    for name, sizes in SIZES.items()
    for size, n_rows in sizes.items()
} | {
    f"large-{name}-2k": DataSet(
        partial(_load, kind, 2_000), f"{REFERENCE}; for tests", as_frame=kind.n_categories > 0
    )
    for name, kind in KINDS.items()
}
