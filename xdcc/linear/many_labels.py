"""Training for many labels: the strength of the penalty is chosen on a sample of them.

The path of penalties takes most of the time, but labels differ little in their strengths. So it is
walked for `SAMPLE` labels, evenly spread from the rarest to the most frequent; the others take the
median of their strengths. Models start at the frequencies of their labels and stop at a precision
that is enough for predictions.
"""

import numpy as np
from numpy.typing import NDArray

from xdcc.base.fit_data import FitData
from xdcc.base.labels import label_frequency
from xdcc.base.margins import margins_of
from xdcc.linear.logistic import Floats

SAMPLE = 64
"""Number of labels that choose the strength: one block of the solver."""

TOL_OF_FOLDS, TOL = 1e-7, 1e-8
"""Tolerances of the models of the folds and of the final models. The objective of a label with ten
positives in 15,000 rows is within 1e-4 of the least."""

_LABELS, _COEFFICIENTS = 200, 1_000_000
"""From these numbers on, labels are many. On fewer, the whole path takes seconds."""


def are_many(n_labels: int, n_columns: int) -> bool:
    """Tell whether labels and coefficients are so many that a sample chooses the strength.

    Examples
    --------
    >>> are_many(200, 5000), are_many(199, 10**6), are_many(983, 500)
    (True, False, False)
    """
    return n_labels >= _LABELS and n_labels * n_columns >= _COEFFICIENTS


def sampled_labels(data: FitData) -> NDArray[np.intp]:
    """Select labels evenly in the order of their frequencies, none that is constant if possible."""
    frequency = _frequency(data)
    varied = np.flatnonzero((frequency > 0) & (frequency < 1))
    if not varied.size:
        varied = np.arange(len(frequency))
    order = varied[np.argsort(frequency[varied], kind="stable")]
    places = np.linspace(0, len(order) - 1, min(SAMPLE, len(order)))
    return np.sort(order[places.round().astype(np.intp)])


def strengths_of_all(C: Floats, sample: NDArray[np.intp], n_labels: int) -> Floats:
    """Give the labels outside of a sample the median of its strengths, the lower one of two.

    Examples
    --------
    >>> strengths_of_all(np.array([1.0, 10.0]), np.array([3, 1]), 4)
    array([ 1., 10.,  1.,  1.])
    """
    found = np.full(n_labels, np.quantile(C, 0.5, method="lower"))
    found[sample] = C
    return found


def at_frequencies(data: FitData) -> NDArray[np.float32]:
    """Make models (n_columns + 2, n_labels) whose intercepts are the log-odds of the labels."""
    start = np.zeros((data.X.shape[1] + 2, data.Y.shape[1]), dtype=np.float32)
    start[-1] = margins_of(_frequency(data))
    return start


def _frequency(data: FitData) -> Floats:
    return label_frequency(data.Y, data.sample_weight, empty=0.5)
