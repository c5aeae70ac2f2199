"""``LaCovaCForestClassifier``: LaCovaC trees on bootstrap samples and random features.

Not in the paper, which names it as future work. Each tree predicts a labelset from the leaves that
an instance reaches; the forest predicts the most frequent of these labelsets and averages the
probabilities.
"""

from collections import Counter
from numbers import Integral
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import Choice, Either, Number, Share, Switch
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.seeds import generator_from
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Of
from xdcc.comparators.lacovac import _leaves
from xdcc.comparators.lacovac.estimator import BaseLabelTrees
from xdcc.comparators.lacovac.tree import LabelTrees

Voting = Literal["labelset", "label"]

_VOTES_AT_ONCE = 2**26
"""Bytes of votes in memory at a time."""


@stored
@declares_parameters
class LaCovaCForestClassifier(BaseLabelTrees):
    """A forest of trees that split labels as well as data.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    {splitting}
    max_features : {"sqrt", "log2"}, int, float or None, default=0.2
        Number of features drawn for each horizontal split, among those that vary in the node: the
        square root or logarithm of the number of features, an int, a share in (0, 1], or all
        (None). More are drawn as long as none of them gives a split.
    bootstrap : bool, default=True
        Whether to grow each tree on a bootstrap sample of the rows; otherwise on all rows.
    voting : {"labelset", "label"}, default="labelset"
        ``"labelset"`` predicts the labelset that most trees predict (ties: the one with the larger
        product of the mean label probabilities, then the lexicographically smaller one).
        ``"label"`` predicts the labels whose mean probability is at least 0.5.
    {size}
    min_samples_leaf : int, default=1
        Minimum number of instances of a child of a horizontal split.
    {leaves}
    random_state : int, RandomState instance or None, default=None
        Seed for the samples and features; None is the seed 0.
    {n_jobs}
    {unknown_categories}

    Attributes
    ----------
    trees_ : LabelTrees
        All trees, stored as arrays.
    {fitted}
    {categories}

    Notes
    -----
    The defaults of `max_features`, `min_samples_split` and `voting` were chosen by cross-validation
    on training data (`experiments/papers/lacovac-2016/forest.yaml`). There, ``clustering=None``,
    without vertical splits, has a slightly higher subset accuracy.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.LaCovaCForestClassifier(n_estimators=10, random_state=0)
    >>> text = xdcc.comparators.lacovac.export_text
    >>> print(text(model.fit(data.X, data.Y), tree=3, max_depth=1), end="")
    |--- labels: label_0, label_1
    |   |--- ...
    |--- labels: label_2
    |   |--- ...
    >>> model.predict(data.X[:2])  # the labelsets that most trees predict
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    _domains = MappingProxyType(
        {
            **BaseLabelTrees._domains,
            "n_estimators": Number(low=1, whole=True),
            "max_features": Either(
                Choice(("sqrt", "log2")), Number(low=1, whole=True), Share(), None
            ),
            "bootstrap": Switch(),
            "voting": Choice(get_args(Voting)),
        }
    )

    n_estimators: int = 100
    max_features: Literal["sqrt", "log2"] | float | None = 0.2
    bootstrap: bool = True
    voting: Voting = "labelset"
    min_samples_leaf: int = 1
    random_state: int | np.random.RandomState | None = None

    trees_: Annotated[LabelTrees, Of(n_labels="n_labels_", n_features="n_features_in_")] = learned()

    def _grow(self, data: FitData) -> None:
        random = generator_from(self.random_state)
        n_rows = len(data.Y)
        seeds = random.randint(2**63, size=self.n_estimators, dtype=np.uint64)
        rows = np.tile(np.arange(n_rows, dtype=np.int32), (self.n_estimators, 1))
        if self.bootstrap:
            rows = random.randint(n_rows, size=(self.n_estimators, n_rows), dtype=np.int32)
        self.trees_ = self._trees(data, rows, seeds, self._n_drawn())

    def _labels(self, X: Features) -> NDArray[np.int64]:
        proba = self._proba(X)
        if self.voting == "label":
            return (proba >= 0.5).astype(np.int64)
        elected = np.empty(proba.shape, np.int64)
        block = max(1, _VOTES_AT_ONCE // (self._n_trees * self.n_labels_))
        for begin in range(0, len(elected), block):
            rows = slice(begin, begin + block)
            votes = _leaves.predict(self.trees_, X[rows], self._n_threads())
            elected[rows] = _elected(votes, proba[rows])
        return elected

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that predicts each label in each tree.

        {takes_X}

        Returns
        -------
        int32 array of shape (n_samples, n_trees, n_labels)
            Indices of nodes of `trees_`.

        {raises_in_predict}
        """
        rows, threads = self._read_X(X), self._n_threads()
        leaves = [_leaves.apply(self.trees_, t, rows, threads) for t in range(self._n_trees)]
        return np.stack(leaves, axis=1)

    @property
    def _n_trees(self) -> int:
        return len(self.trees_.start) - 1

    def _n_drawn(self) -> int:
        """Return the number of features drawn for each split; 0 means all."""
        value, n = self.max_features, self.n_features_in_
        if value is None:
            return 0
        if value == "sqrt":
            return max(1, int(np.sqrt(n)))
        if value == "log2":
            return max(1, int(np.log2(n)))
        if isinstance(value, Integral):
            return int(value)
        return max(1, int(float(value) * n))

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return _leaves.mean_proba(self.trees_, self.smoothing, X, self._n_threads())


def _elected(votes: NDArray[np.int8], proba: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return the labelset with the most votes, (n_rows, n_trees, n_labels), for each row."""
    ballots = np.packbits(votes, axis=2)
    size, n_labels = ballots.shape[2], votes.shape[2]
    log_odds = np.log(proba + 1e-9) - np.log(1 - proba + 1e-9)
    elected = np.empty(proba.shape, np.int8)
    for row, odds in enumerate(log_odds):
        cast = ballots[row].tobytes()
        counts = Counter(cast[at : at + size] for at in range(0, len(cast), size))
        most = max(counts.values())
        # Packed labelsets are in lexicographic order.
        tied = b"".join(sorted(ballot for ballot, count in counts.items() if count == most))
        packed = np.frombuffer(tied, np.uint8).reshape(-1, size)
        candidates = np.unpackbits(packed, axis=1, count=n_labels)
        elected[row] = candidates[(candidates @ odds).argmax()]
    return elected
