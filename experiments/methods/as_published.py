"""The methods of the LaCovaC paper with the interpretation that reproduces its numbers.

Features are split at their means in the training part. MEKA's chains and label powersets pass on 0
and 1 instead of probabilities, as their published log-losses show. Trees with small leaves use
Laplace's estimates only in log-loss.
"""

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from experiments.engine.registry import Labels, Method, Split, predicted_labels
from experiments.method_parts import J48TreeClassifier, log_loss_of, nominal_features, pcut_rule
from xdcc.comparators.baselines import HOMER, LPBR, BinaryRelevance, ClassifierChain, LabelPowerset
from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.data import MultiLabelDataset
from xdcc.decision import apply_thresholds

PEERS: dict[str, Any] = {
    "br": BinaryRelevance,
    "cc": ClassifierChain,
    "lp": LabelPowerset,
    "homer": HOMER,
    "lpbr": LPBR,
}
"""The baselines of LaCovaC's trees in the paper, on trees of one label each."""

_SPARSE_BELOW = 0.1


class AsPublished(BaseEstimator):
    """An estimator on features of two values, with the paper's use of probabilities.

    Parameters
    ----------
    estimator : estimator
    cut : bool
        Whether features are split at their means in the training part; nominal ones are the numbers
        of their values. There are no missing values.
    certain : bool
        Whether predicted labels replace probabilities.
    smooth : {"log_loss", "all"} or None
        Where a leaf's probability of a label is Laplace's estimate (n_1 + 1) / (n + 2) instead of
        n_1 / n: in log-loss, everywhere, or nowhere; for LaCovaC's trees.
    """

    def __init__(
        self, estimator: Any, *, cut: bool, certain: bool, smooth: Literal["log_loss", "all"] | None
    ) -> None:
        self.estimator, self.cut, self.certain, self.smooth = estimator, cut, certain, smooth

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on the binary features."""
        self._mean = dense(X).mean(axis=0, dtype=np.float64)
        # If few values are above the mean, scikit-learn's trees are faster on sparse features.
        self._sparse = self.cut and bool((dense(X) > self._mean).mean() < _SPARSE_BELOW)
        self.estimator.fit(self._features(X), Y)
        return self

    def predict(self, X: Any) -> Labels:
        """Predict labels without a threshold."""
        return self.estimator.predict(self._features(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities for PCut."""
        return self._proba(X, smoothing=self.smooth == "all")

    def smoothed_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities for log-loss."""
        return self._proba(X, smoothing=self.smooth is not None)

    def _proba(self, X: Any, *, smoothing: bool) -> NDArray[np.float64]:
        if self.certain:
            return self.predict(X).astype(np.float64)
        if self.smooth is not None:
            self.estimator.set_params(smoothing=int(smoothing))
        return self.estimator.predict_proba(self._features(X))

    def _features(self, X: Any) -> Any:
        values = dense(X)
        if not self.cut:
            return values
        above = (values > self._mean).astype(np.float32)
        return sparse.csr_matrix(above) if self._sparse else above


def dense(X: Any) -> NDArray[np.float32]:
    """Return features as a dense array; absent entries of a sparse matrix are 0."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)


def smoothed_log_loss(model: AsPublished, split: Split, Y: Any) -> float:
    """Equation 6 of the paper, on smoothed probabilities if the method has them."""
    return log_loss_of(model.smoothed_proba(split.X), Y)


def pcut_with_ties(model: AsPublished, split: Split) -> Labels:
    """Predict every entry with at least the probability at which the density is reached."""
    Y_proba = model.predict_proba(split.X)
    descending = np.sort(Y_proba, axis=None)[::-1]
    last = max(round(np.mean(split.train.Y) * descending.size), 1) - 1
    return apply_thresholds(Y_proba, float(descending[last]))


def _build(train: MultiLabelDataset, seed: int, kind: str, cut: bool, certain: bool, pruned: bool,
           smooth: Any, **params: Any) -> AsPublished:  # fmt: skip
    if kind == "tree":
        model: Any = LaCovaCClassifier(n_jobs=1, **params)
        if not cut:
            model.set_params(categorical_features=nominal_features(train))
    elif kind not in PEERS:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join([*PEERS, 'tree'])}")
    else:
        order = {"order": np.arange(train.n_labels)} if kind == "cc" else {}  # as in MEKA
        tree = J48TreeClassifier() if pruned else J48TreeClassifier(confidence=None, laplace=True)
        model = PEERS[kind](estimator=tree, random_state=seed, **order)
    return AsPublished(model, cut=cut, certain=certain, smooth=smooth)


METHODS = {
    "lacovac_paper": Method(
        title="trees, chains and powersets as in the LaCovaC paper",
        reference="Al-Otaibi, Kull, Flach, ECAI 2016",
        build=_build,
        params={"kind": "br", "cut": True, "certain": False, "pruned": False, "smooth": None},
        rules={"labels": predicted_labels, "pcut": pcut_rule, "ties": pcut_with_ties},
        scores={"log_loss": smoothed_log_loss},
    ),
}
