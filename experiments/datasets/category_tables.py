"""Generated tables with many categories, to compare how categories can be encoded.

A label's log-odds are a sum of its numeric feature, an effect of each category's level, and, for
every second label, an effect of the level times the first numeric feature. Levels have different
frequencies, drawn from a Dirichlet distribution; logistic noise decides, and a label is present in
2 to 40 % of the rows.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from experiments.engine.registry import DataSet
from xdcc.data import MultiLabelDataset
from xdcc.data.dataset import FeatureType

REFERENCE = "generated, see experiments/datasets/category_tables.py"


class Kind(NamedTuple):
    """A table's properties."""

    n_rows: int
    levels: tuple[int, ...]
    n_features: int = 20  # numeric ones, at least as many as labels
    n_labels: int = 10
    effect: float = 0.5  # standard deviation of the effect of a level


KINDS = {
    "200": Kind(30_000, (2, 5, 12, 30, 60, 100, 150, 200)),
    "200-weak": Kind(30_000, (2, 5, 12, 30, 60, 100, 150, 200), effect=0.12),
    "1000": Kind(30_000, (500, 1000, 50, 50, 10)),
    "40": Kind(20_000, (3, 8, 20, 40), effect=0.3),
    "300-60k": Kind(60_000, (300, 300, 6, 6, 25, 25), 14, 14, effect=0.2),
    "60-8k": Kind(8_000, (2, 2, 4, 12, 12, 60), 8, 6, effect=0.4),
    "tiny": Kind(200, (2, 3), 2, 2),
}


def make_table(kind: Kind, seed: int) -> MultiLabelDataset:
    """Generate a table.

    Examples
    --------
    >>> make_table(KINDS["tiny"], seed=0)
    <MultiLabelDataset 'categories': 200 samples, 4 features (dense), 2 labels, cardinality 0.220>
    """
    random = np.random.default_rng(seed)
    n, k = kind.n_rows, kind.n_labels
    X = random.normal(size=(n, kind.n_features))
    odds = 0.5 * X[:, :k]
    columns = [X]
    for n_levels in kind.levels:
        level = random.choice(n_levels, n, p=random.dirichlet(np.full(n_levels, 0.7)))
        odds += kind.effect * random.normal(size=(n_levels, k))[level]
        odds[:, ::2] += 0.4 * X[:, :1] * random.normal(size=(n_levels, 1))[level]
        columns.append(level[:, np.newaxis].astype(np.float64))
    odds += random.logistic(size=odds.shape)
    absent = random.uniform(0.6, 0.98, k)
    least = [np.quantile(of_label, share) for of_label, share in zip(odds.T, absent, strict=True)]
    numeric: list[FeatureType] = ["numeric"] * kind.n_features
    nominal: list[FeatureType] = ["nominal"] * len(kind.levels)
    of_levels = [tuple(f"level {i}" for i in range(n_levels)) for n_levels in kind.levels]
    return MultiLabelDataset(
        X=np.hstack(columns),
        Y=(odds > least).astype(np.int8),
        feature_names=tuple(f"x{j}" for j in range(kind.n_features))
        + tuple(f"c{j}" for j in range(len(kind.levels))),
        feature_types=(*numeric, *nominal),
        categories=(None,) * kind.n_features + tuple(of_levels),
        label_names=tuple(f"y{j}" for j in range(k)),
        name="categories",
    )


def _load(kind: Kind, split: Any) -> MultiLabelDataset:
    return make_table(kind, seed=0)


DATASETS = {
    f"categories-{name}": DataSet(partial(_load, kind), REFERENCE, has_split=False, as_frame=True)
    for name, kind in KINDS.items()
}
