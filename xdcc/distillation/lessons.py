"""Training data of a student: rows, the probabilities to predict, and their weights.

A training row's target is half its label and half the teacher's probability out of fold: the label
is true but noisy, the probability smooth and without the row's own label. Generated and unlabelled
rows have the teacher's probabilities.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds, stratified_folds
from xdcc.base.groups import grouped_folds, number_groups
from xdcc.decision.cuts import Floats
from xdcc.distillation.generated_rows import generate_rows
from xdcc.distillation.teacher import Teacher

_N_FOLDS = 5
"""For a teacher without folds, one in this many rows is held out."""

_LEAST_ROWS = 10
"""With fewer training rows none is held out."""


class Generation(NamedTuple):
    """How rows are generated.

    Attributes
    ----------
    copies : float
        Their number, for each training row.
    share : float
        Share of their features that come from another row.
    weight : float
        Weight of a generated row, that of its base being 1.
    seed : int
        Seed for the draws.
    """

    copies: float
    share: float
    weight: float
    seed: int


def prepare_lessons(
    teacher: Teacher,
    data: FitData,
    proba: Floats,
    unlabelled: Features | None,
    generation: Generation,
) -> FitData:
    """Generate rows, let the teacher label them, and put all rows together.

    Parameters
    ----------
    teacher : Teacher
        The teacher.
    data : FitData
        Checked training rows; labels are NaN where they are unknown.
    proba : float64 array of shape (n_samples, n_labels)
        Probabilities of these rows.
    unlabelled : float32 array or CSR matrix of shape (n_rows, n_features), optional
        Further checked rows.
    generation : Generation
        How rows are generated.

    Returns
    -------
    FitData
        Training rows, generated and unlabelled ones, with probabilities as Y.
    """
    n_rows, n_labels = data.Y.shape
    copies, share, weight, seed = generation
    n_generated = round(copies * n_rows) if n_rows > 1 else 0
    made = generate_rows(data.X, n_generated, share, feature_types=data.feature_types, seed=seed)
    known = data.known
    rows: list[Any] = [data.X]
    targets = [np.where(known, (np.where(known, data.Y, 0) + proba) / 2, proba)]
    weights = [data.weight]
    n_unlabelled = 0 if unlabelled is None else unlabelled.shape[0]
    for others, of_rows in (
        (made.X, weight * data.weight[made.parents[:, 0]]),
        (unlabelled, np.ones(n_unlabelled)),
    ):
        if len(of_rows):
            rows.append(others)
            targets.append(teacher.proba(others, n_labels))
            weights.append(of_rows)
    return data._replace(
        X=_stacked(rows),
        Y=np.concatenate(targets).astype(np.float32),
        sample_weight=np.concatenate(weights).astype(np.float32),
    )


def with_test_rows(lessons: FitData, data: FitData, proba: Floats) -> tuple[FitData, Folds]:
    """Append the test rows as a single fold, with the teacher's probabilities as targets."""
    weights = [lessons.weight, data.weight]
    n_lessons, n_tested = len(lessons.Y), len(data.Y)
    return (
        lessons._replace(
            X=_stacked([lessons.X, data.X]),
            Y=np.concatenate((lessons.Y, proba)).astype(np.float32),
            sample_weight=np.concatenate(weights).astype(np.float32),
        ),
        Folds(np.repeat(np.array([-1, 0]), [n_lessons, n_tested])),
    )


def rows_to_hold_out(
    teacher: Teacher, data: FitData, proba: Floats, groups: NDArray[Any] | None, seed: int
) -> NDArray[np.bool_]:
    """Choose rows to hold out: whole groups, or those of the teacher's first fold if it has some.

    A ValueError says that there are no two groups.
    """
    n_rows = len(data.Y)
    if n_rows < _LEAST_ROWS:
        return np.zeros(n_rows, dtype=bool)
    if groups is not None:
        n_groups = int(number_groups(groups).max()) + 1
        return grouped_folds(groups, max(2, min(_N_FOLDS, n_groups))) == 0
    if teacher.folds is not None:
        return teacher.folds == 0
    labels = data.Y if data.known.any() else (proba >= 0.5).astype(np.float32)
    return stratified_folds(labels, _N_FOLDS, seed) == 0


def _stacked(rows: list[Any]) -> Features:
    return sparse.vstack(rows, format="csr") if sparse.issparse(rows[0]) else np.concatenate(rows)
