"""Logistic regressions, which help most where X is text."""

from collections.abc import Sequence

from xdcc.automatic.family import Candidate, MemberFamily
from xdcc.automatic.shape import Shape
from xdcc.automatic.trial import Trial
from xdcc.linear import LogisticLabels
from xdcc.linear.many_labels import SAMPLE, are_many

_PER_PRODUCT = 2e-10
"""Seconds for an entry of X and a label in a product of the linear solver."""

_PER_COEFFICIENT = 6e-9
"""Seconds for a coefficient beside such a product; where X is text, there are many."""

_N_PRODUCTS = 150
"""Such products for each fold along the path of penalties."""

_SHARE_OF_MODEL = 0.35
"""Share of these products for a model that does not choose its penalty, where labels are many."""

_TIMED = 16
"""Labels of a trial, evenly spread from the rarest to the most frequent."""

_ROWS_PER_FEATURE, _LEAST_ROWS = 400, 20_000
"""Rows of one fold for each coefficient of a linear model, and at least. By n rows, p coefficients
lose about p / 2 n in log-loss: 1 / 800. Members are trained on all rows if there is time."""


class LinearModels(MemberFamily):
    """Logistic regressions with the best penalty."""

    name = "linear"

    def candidates(self, shape: Shape, longest: float) -> Sequence[Candidate]:
        """List logistic regressions."""
        return [linear(shape)]

    def measure(self, trial: Trial) -> tuple[Candidate, float]:
        """Time the models of a few labels."""
        part = trial.of_labels(_TIMED)
        few, candidate = linear(part.shape), linear(trial.shape)
        return candidate, part.seconds(few) / few.seconds * candidate.seconds


def linear(shape: Shape) -> Candidate:
    """Describe logistic regressions."""
    n_rows = rows_of_linear(shape)
    n_entries = shape.n_entries * n_rows / shape.n_rows
    many = are_many(shape.n_labels, shape.n_features)
    n_models = SAMPLE + _SHARE_OF_MODEL * shape.n_labels if many else float(shape.n_labels)
    of_product = _PER_PRODUCT * n_entries + _PER_COEFFICIENT * shape.n_features
    return Candidate(
        "linear",
        LogisticLabels(),
        _N_PRODUCTS * shape.n_folds * n_models * of_product,
        ends_early=not many,
        repeats=False,
        is_divisible=False,
        n_rows=n_rows if shape.n_folds == 1 else None,
    )


def rows_of_linear(shape: Shape) -> int:
    """Return how many rows logistic regressions need: all, or a sample where one fold is enough.

    Examples
    --------
    >>> rows_of_linear(Shape(10**6, 150, 9, 15 * 10**7, 1))
    60000
    >>> rows_of_linear(Shape(10**6, 150, 9, 15 * 10**7, 5))
    1000000
    """
    if shape.n_folds > 1:
        return shape.n_rows
    return min(shape.n_rows, max(_LEAST_ROWS, _ROWS_PER_FEATURE * shape.n_features))
