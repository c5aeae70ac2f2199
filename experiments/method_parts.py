"""Shared parts of methods: base learners, decision rules, and metrics of probabilities.

Base learners of the baselines have the names that configurations use. One of them is a decision
tree with the options of Weka's J48, as close to it as scikit-learn allows: scikit-learn grows
binary entropy trees; J48 chooses by gain ratio, has a branch for every nominal value, and may also
raise subtrees when it prunes. Error-based pruning and Laplace estimates are those of J48. In
pruning, a leaf's error rate is estimated by the upper end of its confidence interval, and a subtree
stays only if its leaves' estimated errors together are more than 0.1 fewer than those of a leaf in
its place.

Decision rules turn probabilities into labels without further training.

A metric of probabilities says what a labelset or a label was said to be worth. It takes a fitted
`model`, the `split`, whose rows it predicts, and `Y`, the true labels of these as 0 and 1, of shape
(n_samples, n_labels), and returns a float. Where nothing else is said, the model has
`predict_proba`.

J. R. Quinlan: C4.5: Programs for Machine Learning. Morgan Kaufmann, 1993, section 4.2. Trees that
are not pruned and give Laplace estimates: F. Provost, P. Domingos: Tree induction for
probability-based ranking. Machine Learning 52, 2003.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy import stats
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from experiments.engine.registry import DecisionRule, Labels, Split, predicted_labels
from xdcc.base.labels import label_scores
from xdcc.data import MultiLabelDataset
from xdcc.decision import apply_thresholds, pcut
from xdcc.decision.labelsets import KnownLabelsets

BOOSTER_GRID: dict[str, list[Any]] = {
    "n_estimators": [10, 20, 50, 100],
    "learning_rate": [0.1, 0.2, 0.3],
    "max_depth": [5, 10, 20, 50, 100],
}
"""The grid of XDCC's paper for every booster (footnote 2)."""


def base_learner(name: str, train: MultiLabelDataset, C: float = 1.0, **params: Any) -> Any:
    """Return a scikit-learn classifier without a random state.

    Parameters
    ----------
    name : {"tree", "j48", "logistic", "boosted"}
        An entropy tree with at least five instances in a leaf; one with the defaults of Weka's
        J48, pruned; logistic regression with an L2 penalty on scaled features, missing values
        replaced by the mean; or fifty boosted trees of depth 4.
    train : MultiLabelDataset
        Sparse features are scaled without moving their zeros.
    C : float
        Inverse of the penalty's strength, for the regression.
    **params
        Parameters of the entropy tree.

    Raises
    ------
    ValueError
        For another name.
    TypeError
        For parameters of another learner than the tree.
    """
    if params and name != "tree":
        raise TypeError(
            f"{', '.join(params)}: these are parameters of base 'tree', not of {name!r}"
        )
    if name == "j48":
        return J48TreeClassifier()
    if name == "tree":
        return DecisionTreeClassifier(criterion="entropy", **{"min_samples_leaf": 5} | params)
    if name == "logistic":
        scaler = MaxAbsScaler() if sp.issparse(train.X) else StandardScaler()
        return make_pipeline(SimpleImputer(), scaler, LogisticRegression(C=C, max_iter=1000))
    if name == "boosted":
        return XGBClassifier(n_estimators=50, max_depth=4, learning_rate=0.1, max_bin=64, n_jobs=1)
    raise ValueError(f"base is {name!r}; allowed are 'tree', 'j48', 'logistic' and 'boosted'")


def nominal_features(train: MultiLabelDataset) -> list[bool]:
    """Return which features are categorical, for the parameter `categorical_features`."""
    return [kind == "nominal" for kind in train.feature_types]


def random_order(train: MultiLabelDataset, seed: int) -> NDArray[np.integer]:
    """Return a random label order for a chain; it depends on the seed and the number of labels."""
    return np.random.default_rng(seed).permutation(train.n_labels)


_NO_CHILD = -1


def pessimistic_errors(
    n: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> NDArray[np.float64]:
    """Estimate the number of errors of a leaf on n new instances.

    Parameters
    ----------
    n : float array of shape (n_leaves,)
        Training instances of each leaf, positive.
    errors : float array of shape (n_leaves,)
        Training instances that the leaf classifies wrongly.
    confidence : float
        Probability that the true number is larger, in (0, 0.5].

    Returns
    -------
    float array of shape (n_leaves,)
        n times the upper confidence limit of the error rate: exact for 0 errors, the normal
        approximation with continuity correction from 1 error, and linear in between.
    """
    none = n * (1 - confidence ** (1 / n))
    z = stats.norm.isf(confidence)
    at_least_one = np.maximum(errors, 1)
    rate = np.minimum((at_least_one + 0.5) / n, 1)
    spread = z * np.sqrt(np.maximum(rate * (1 - rate) / n, 0) + (z / (2 * n)) ** 2)
    upper = n * (rate + z**2 / (2 * n) + spread) / (1 + z**2 / n)
    upper = np.where(at_least_one + 0.5 >= n, n, upper)
    return np.where(errors < 1, none + errors * (upper - none), upper)


class J48TreeClassifier(DecisionTreeClassifier):
    """An entropy tree with pruning and probability estimates as in J48.

    Parameters
    ----------
    min_samples_leaf : int, default=2
        As J48's default.
    confidence : float or None, default=0.25
        Confidence of error-based pruning, J48's default; smaller values prune more. None does not
        prune (J48's option -U).
    laplace : bool, default=False
        Whether the probability of class c in a leaf is (n_c + 1) / (n + n_classes) instead of
        n_c / n (option -A).
    random_state : int, RandomState instance or None, default=None
        Seed of the choice between equal splits.
    """

    def __init__(
        self,
        *,
        min_samples_leaf: int = 2,
        confidence: float | None = 0.25,
        laplace: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            criterion="entropy", min_samples_leaf=min_samples_leaf, random_state=random_state
        )
        self.confidence = confidence
        self.laplace = laplace

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree and prune it."""
        super().fit(X, y, sample_weight=sample_weight)
        if self.confidence is not None:
            self._prune(self.confidence)
        return self

    def predict_proba(self, X: Any, check_input: bool = True) -> NDArray[np.float64]:
        """Estimate probabilities, shape (n_samples, n_classes).

        If two classes are equally probable, the first one's probability is slightly higher: Weka
        predicts it, while our chains predict the second at 0.5.
        """
        proba = super().predict_proba(X, check_input)
        if self.laplace:
            n = self.tree_.weighted_n_node_samples[self.apply(X)][:, np.newaxis]
            proba = (n * proba + 1) / (n + self.n_classes_)
        if self.n_classes_ == 2:
            proba[proba[:, 1] == 0.5, 1] = np.nextafter(0.5, 0)
        return proba

    def _prune(self, confidence: float) -> None:
        left, right = self.tree_.children_left, self.tree_.children_right
        n = self.tree_.weighted_n_node_samples
        wrong = n * (1 - self.tree_.value[:, 0, :].max(axis=1))
        estimate = pessimistic_errors(n, wrong, confidence)
        # Children come after their parents.
        for node in np.flatnonzero(left != _NO_CHILD)[::-1]:
            below = estimate[left[node]] + estimate[right[node]]
            if estimate[node] <= below + 0.1:
                left[node] = right[node] = _NO_CHILD
            else:
                estimate[node] = below


THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.6)
PRIORS = (0.0, 0.5, 1.0)


def probability_rules() -> dict[str, DecisionRule]:
    """Return decision rules: `predict`, thresholds, and the most probable known labelsets.

    A method with `predict_proba` may offer these rules; a configuration that lists several of
    them tunes them.
    """
    rules: dict[str, DecisionRule] = {"labels": predicted_labels}
    for threshold in THRESHOLDS:
        rules[f"threshold {threshold}"] = partial(_at_threshold, threshold=threshold)
    for prior in PRIORS:
        rules[f"labelset, prior {prior}"] = partial(_known_labelset, prior=prior)
    return rules


def pcut_rule(model: Any, split: Split) -> Labels:
    """One threshold for all labels, for which predictions are as dense as the training labels.

    It is chosen on the probabilities of all rows to predict (PCut).
    """
    Y_proba = model.predict_proba(split.X)
    return apply_thresholds(Y_proba, pcut(Y_proba, float(np.mean(split.train.Y))))


def _at_threshold(model: Any, split: Split, threshold: float) -> Labels:
    return (model.predict_proba(split.X) >= threshold).astype(np.int8)


def _known_labelset(model: Any, split: Split, prior: float) -> Labels:
    known = KnownLabelsets.of(split.train.Y)
    return known.most_probable(model.predict_proba(split.X), prior=prior)


N_BINS = 15

MOST_REVEALED = 300


def log_loss(model: Any, split: Split, Y: Any) -> float:
    """Mean over known entries of −log of the true value's probability, at most log of the rows.

    Equation 6 of the LaCovaC paper, per label; the limit is the number of rows to predict.
    Probabilities may have any of scikit-learn's forms.
    """
    return log_loss_of(label_scores(model, split.X, np.shape(Y)[1]), Y)


def log_loss_of(Y_proba: Any, Y: Any) -> float:
    """As `log_loss`, of probabilities of shape (n_samples, n_labels)."""
    Y_proba = np.clip(np.asarray(Y_proba, dtype=np.float64), 0, 1)
    limit = 1 / max(len(Y), 2)
    of_truth = np.where(np.asarray(Y) == 1, Y_proba, 1 - Y_proba)[~np.isnan(Y)]
    return float(-np.log(np.maximum(of_truth, limit)).mean())


def cll_loss(model: Any, split: Split, Y: Any) -> float:
    """Sum over rows of −log P(labelset | x), section 6.2 of the MC paper.

    The model has `log_prob(X, Y)`.
    """
    return float(-np.sum(model.log_prob(split.X, Y)))


def independent_cll_loss(model: Any, split: Split, Y: Any) -> float:
    """Sum over rows of −log P(labelset | x) of a method whose labels are independent.

    Infinite if a probability of a true value is 0.
    """
    Y_proba = np.asarray(model.predict_proba(split.X), dtype=np.float64)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.where(np.asarray(Y) == 1, Y_proba, 1 - Y_proba)).sum())


def labelset_log_loss(model: Any, split: Split, Y: Any) -> float:
    """Mean over rows of −log P(labelset | x); without `log_prob` labels are independent.

    With `predict_proba` alone probabilities are at least one over the rows, as in `log_loss`.
    """
    if hasattr(model, "log_prob"):
        return cll_loss(model, split, Y) / len(Y)
    return log_loss(model, split, Y) * np.shape(Y)[1]


def calibration_error(model: Any, split: Split, Y: Any) -> float:
    """Mean difference of probability and frequency over 15 bins of equal width, by entries."""
    Y_proba = np.clip(np.asarray(model.predict_proba(split.X), dtype=np.float64), 0, 1).ravel()
    bins = np.minimum((Y_proba * N_BINS).astype(int), N_BINS - 1)
    ahead = np.bincount(bins, np.ravel(Y) - Y_proba)
    return float(np.abs(ahead).sum() / Y_proba.size)


def log_loss_given_one(model: Any, split: Split, Y: Any) -> float:
    """Mean log-loss of all other labels of a row if one is known, over the known labels.

    A model without the parameter `known` predicts as usual. The first 300 rows count, and only
    labels that vary in training are known.
    """
    X, truth = split.X[:MOST_REVEALED], np.asarray(Y, dtype=np.float64)[:MOST_REVEALED]
    varied = np.flatnonzero(np.ptp(np.asarray(split.train.Y), axis=0))
    takes = "known" in inspect.signature(model.predict_proba).parameters
    without = None if takes else model.predict_proba(X)
    found = []
    for label in varied:
        known = np.full(truth.shape, np.nan)
        known[:, label] = truth[:, label]
        Y_proba = model.predict_proba(X, known=known) if without is None else without
        others = np.arange(truth.shape[1]) != label
        found.append(log_loss_of(Y_proba[:, others], truth[:, others]))
    return float(np.mean(found))


OF_PROBABILITIES: dict[str, Callable[[Any, Split, Any], float]] = {
    "log_loss": log_loss,
    "labelset_log_loss": labelset_log_loss,
    "calibration_error": calibration_error,
}
"""Scores for every method with probabilities."""
