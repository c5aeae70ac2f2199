"""``round_statistics``: which labels a chain decides in which round, and how accurately.

Figure 3 of the XDCC paper shows these numbers: positive labels tend to be decided in early rounds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from xdcc.explain.walks import Model, check_truth, documented_explanation, walk_of


@dataclass(frozen=True)
class RoundStatistics:
    """Numbers of rows in which each round propagated each label.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    label_names : list of str
        Names of the labels.
    positive, negative : int arrays of shape (n_rounds, n_labels)
        Numbers of rows in which the round propagated the label with a value of at least 0.5, and
        below 0.5.
    positive_right, negative_right : int arrays of shape (n_rounds, n_labels) or None
        Numbers of correct decisions among them; None without true labels.
    positive_wrong, negative_wrong : int arrays of shape (n_rounds, n_labels) or None
        Numbers of wrong decisions. Rows with an unknown label do not count.

    Examples
    --------
    >>> import xdcc
    >>> statistics = xdcc.explain.RoundStatistics(
    ...     n_samples=10,
    ...     label_names=["even", "prime"],
    ...     positive=np.array([[4, 1], [0, 2]]),
    ...     negative=np.array([[2, 3], [4, 4]]),
    ... )
    >>> (statistics.positive + statistics.negative).sum(axis=1)  # a label per row and round
    array([10, 10])
    """

    n_samples: int
    label_names: list[str]
    positive: NDArray[np.int64]
    negative: NDArray[np.int64]
    positive_right: NDArray[np.int64] | None = None
    negative_right: NDArray[np.int64] | None = None
    positive_wrong: NDArray[np.int64] | None = None
    negative_wrong: NDArray[np.int64] | None = None

    def to_frame(self) -> pd.DataFrame:
        """Convert the counts to a table.

        Returns
        -------
        DataFrame
            A row for each round and label, with the columns `round` (from 1), `label`, `positive`,
            `negative`, their shares of all rows (`positive_share`, `negative_share`) and, with true
            labels, `positive_right`, `negative_right`, `positive_wrong`, `negative_wrong`.
        """
        n_rounds, n_labels = self.positive.shape
        columns: dict[str, Any] = {
            "round": np.repeat(np.arange(1, n_rounds + 1), n_labels),
            "label": self.label_names * n_rounds,
            "positive": self.positive.ravel(),
            "negative": self.negative.ravel(),
            "positive_share": self.positive.ravel() / self.n_samples,
            "negative_share": self.negative.ravel() / self.n_samples,
        }
        for name in ("positive_right", "negative_right", "positive_wrong", "negative_wrong"):
            counts = getattr(self, name)
            if counts is not None:
                columns[name] = counts.ravel()
        return pd.DataFrame(columns)

    def by_round(self) -> pd.DataFrame:
        """Sum the counts over the labels, as in Figure 3 of the XDCC paper.

        Returns
        -------
        DataFrame
            A row for each round, with the columns `round` (from 1), `positive`, `negative`, and
            their fractions of the positives and negatives of all rounds (`positive_fraction`,
            `negative_fraction`; NaN if there are none).
        """
        counts = pd.DataFrame(
            {
                "round": np.arange(1, len(self.positive) + 1),
                "positive": self.positive.sum(axis=1),
                "negative": self.negative.sum(axis=1),
            }
        )
        for sign in ("positive", "negative"):
            counts[f"{sign}_fraction"] = counts[sign] / counts[sign].sum()
        return counts


@documented_explanation
def round_statistics(model: Model, X: Any, Y: Any = None) -> RoundStatistics:
    """Count which labels a chain propagates in which round.

    A single booster, or a mixture of boosters, decides all labels in one round. Labels that were
    constant in `fit` are omitted, except for a dynamic chain and a single booster, which predict
    them as the others.

    Parameters
    ----------
    {model}
    {rows}
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), optional
        True labels: 0, 1, or NaN for unknown.

    Returns
    -------
    RoundStatistics
        Arrays of shape (n_rounds, n_labels).

    Raises
    ------
    {model_errors}
    ValueError
        If X or Y is not as described, or they are inconsistent with the model or each other.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> chain = xdcc.DynamicChainClassifier(chain_length=2, n_estimators=5, cv=2)
    >>> statistics = round_statistics(chain.fit(data.X, data.Y), data.X, data.Y)
    >>> (statistics.positive + statistics.negative).sum(axis=1)  # a label per row and round
    array([100, 100])
    """
    walk = walk_of(model)
    truth = None if Y is None else check_truth(model, X, Y)[:, walk.labels]
    counts: dict[str, list[NDArray[np.int64]]] = {}
    for round_ in walk.rounds(X):
        new = np.isnan(round_.before) & ~np.isnan(round_.after)
        decided = {"positive": new & (round_.after >= 0.5), "negative": new & (round_.after < 0.5)}
        for (sign, entries), value in zip(decided.items(), (1, 0), strict=True):
            counts.setdefault(sign, []).append(entries.sum(axis=0))
            if truth is not None:
                right, wrong = entries & (truth == value), entries & (truth == 1 - value)
                counts.setdefault(f"{sign}_right", []).append(right.sum(axis=0))
                counts.setdefault(f"{sign}_wrong", []).append(wrong.sum(axis=0))
    return RoundStatistics(
        n_samples=len(new),
        label_names=walk.label_names,
        **{name: np.array(of_rounds) for name, of_rounds in counts.items()},
    )
