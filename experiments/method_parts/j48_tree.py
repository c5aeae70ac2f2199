"""A decision tree with the options of Weka's J48, as near to it as scikit-learn gets.

scikit-learn grows binary entropy trees; J48 chooses by gain ratio, has a branch for every nominal
value, and may also raise subtrees when it prunes. Its error-based pruning and its Laplace estimates
are here as they are there. In pruning, a leaf's error rate is estimated by the upper end of its
confidence interval, and a subtree stays only if its leaves' estimated errors together are more than
0.1 fewer than those of a leaf in its place.

J. R. Quinlan: C4.5: Programs for Machine Learning. Morgan Kaufmann, 1993, section 4.2. Trees that
are not pruned and give Laplace estimates: F. Provost, P. Domingos: Tree induction for
probability-based ranking. Machine Learning 52, 2003.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

_NO_CHILD = -1


def pessimistic_errors(
    n: NDArray[np.float64], errors: NDArray[np.float64], confidence: float
) -> NDArray[np.float64]:
    """Estimate how many of n new instances a leaf gets wrong.

    Parameters
    ----------
    n : float array of shape (n_leaves,)
        Training instances of each leaf, positive.
    errors : float array of shape (n_leaves,)
        Those that the leaf gets wrong.
    confidence : float
        Probability that the true number is larger, in (0, 0.5].

    Returns
    -------
    float array of shape (n_leaves,)
        n times the upper confidence limit of the error rate: exact without an error, by the normal
        approximation with continuity correction from one error on, and in between on the line.
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

        Where two classes are equally probable, the first one's is higher by rounding: it is what
        Weka decides for, while our chains decide for the second at 0.5.
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
