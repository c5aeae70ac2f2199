"""Reference implementation of the split scores and of boosted multi-label trees.

The sums of each candidate split are computed separately, without code or data structures of the C++
updater. Functions of the sums of a node also accept those of many nodes, in axes before the axis of
labels. Read from top to bottom:

- `gradients`: derivatives of the logistic loss, 0 for unknown and masked labels;
- `label_weights_and_gains`, `node_score`: leaf values and score of a node (Table 1 of the XDCC
  paper: Bohlender, Loza Mencia and Kulessa, "Extreme Gradient Boosted Multi-label Trees for Dynamic
  Classifier Chains", 2020);
- `split_allowed`, `candidate_gains`: all candidate splits of a node and their gains;
- `grow_tree`, `ReferenceTree`: growing one tree;
- `boost`, `predict`: boosting.

G_j and H_j are, as in the paper, the sums of the gradients and Hessians of label j over the rows of
a node. Features are compared in float32, as in XGBoost; everything else is float64.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypedDict, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from xdcc.base import documentation

documented = partial(
    documentation.documented,
    entries={
        "rows": """
            X : array-like, shape (n_rows, n_features)
                NaN is a missing value.
            """,
        "derivatives": """
            grad, hess : array-like, shape (n_rows, n_labels)
                Derivatives of the loss.
            """,
        "raises": """
            Raises
            ------
            ValueError
                If the method or the scope is unknown.
            """,
        "raises_for_scope": """
            Raises
            ------
            ValueError
                If the scope is unknown.
            """,
    },
)
"""Decorator that fills in shared docstring entries."""


SplitMethod = Literal["sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG"]
Scope = Literal["any", "all", "mean"]
type Floats = NDArray[np.floating[Any]]
type Bools = NDArray[np.bool_]

SPLIT_METHODS: tuple[SplitMethod, ...] = get_args(SplitMethod)
SCOPES: tuple[Scope, ...] = get_args(Scope)
SMALLEST_GAIN = 1e-6
"""A split must gain more than this (XGBoost's ``kRtEps``)."""


class Penalties(TypedDict, total=False):
    """Keyword arguments that determine leaf values; see `label_weights_and_gains`."""

    reg_lambda: float
    alpha: float
    max_delta_step: float


class Regularisation(Penalties, total=False):
    """`Penalties`, and the keyword arguments of `split_allowed`."""

    min_child_weight: float
    scope: Scope


def gradients(
    Y: ArrayLike,
    margin: ArrayLike,
    sample_weight: ArrayLike | None = None,
    masked: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Compute both derivatives of the logistic loss -[y log p + (1 - y) log(1 - p)] by the margin.

    This is equation 7 of the XDCC paper, where ŷ is the probability p = 1 / (1 + exp(-margin)).

    Parameters
    ----------
    Y : array-like, shape (n_rows, n_labels)
        0, 1, or NaN if the label is unknown.
    margin : array-like, shape (n_rows, n_labels)
        The base margin plus the sum of the trees so far.
    sample_weight : array-like, shape (n_rows,) or (n_rows, n_labels), optional
        Weights of the rows or entries, a factor of both derivatives.
    masked : array-like of bool, shape (n_rows, n_labels), optional
        True if the label is a feature of the row (separate and conquer, section 3.3).

    Returns
    -------
    grad, hess : float64 arrays, shape (n_rows, n_labels)
        (p - y) and p (1 - p), times the weight; 0 for unknown and masked labels.

    Examples
    --------
    >>> gradients([[1, np.nan]], [[0.0, 0.0]])
    (array([[-0.5,  0. ]]), array([[0.25, 0.  ]]))
    """
    Y = np.asarray(Y, dtype=np.float64)
    probability = expit(np.asarray(margin, dtype=np.float64))
    weight = np.ones(len(Y)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.ndim == 1:
        weight = weight[:, np.newaxis]
    silent = np.isnan(Y) if masked is None else np.isnan(Y) | np.asarray(masked)
    grad = np.where(silent, 0.0, (probability - Y) * weight)
    hess = np.where(silent, 0.0, probability * (1 - probability) * weight)
    return grad, hess


@documented
def label_weights_and_gains(
    G: ArrayLike,
    H: ArrayLike,
    *,
    reg_lambda: float = 1.0,
    alpha: float = 0.0,
    max_delta_step: float = 0.0,
    min_child_weight: float = 0.0,
    scope: Scope = "any",
) -> tuple[Floats, Floats]:
    """Compute the best leaf value of each label in a node, and its gain.

    These are equations 4 and 5 of the XDCC paper with XGBoost's ``alpha`` and ``max_delta_step``:
    w_j = -soft(G_j, alpha) / (H_j + lambda), clipped to the largest step, and
    gain_j = -(2 G_j w_j + (H_j + lambda) w_j² + 2 alpha |w_j|), which is
    soft(G_j, alpha)² / (H_j + lambda) unless w_j is clipped.

    Parameters
    ----------
    G, H : array-like, shape (..., n_labels)
        Sums of the gradients and Hessians over the rows of the node.
    reg_lambda, alpha : float
        L2 and L1 penalty of the leaf values.
    max_delta_step : float
        Largest absolute leaf value; 0 means no limit.
    min_child_weight, scope
        With scope "any" and "all", a label with H_j below ``min_child_weight`` counts as 0. See
        also `split_allowed`.

    Returns
    -------
    weights, gains : float64 arrays, shape (..., n_labels)
        Without a learning rate. Both are 0 for a label that counts as 0, including H_j <= 0.

    {raises_for_scope}

    Examples
    --------
    >>> label_weights_and_gains([-0.2, 0.9], [1.0, 1.0], reg_lambda=0.0)
    (array([ 0.2, -0.9]), array([0.04, 0.81]))
    """
    G, H = np.asarray(G, dtype=np.float64), np.asarray(H, dtype=np.float64)
    counts = H > 0
    if _checked(scope, SCOPES) != "mean":
        counts &= min_child_weight <= H
    soft_G = np.sign(G) * np.maximum(np.abs(G) - alpha, 0.0)
    weights = np.zeros(G.shape)
    weights[counts] = -soft_G[counts] / (H[counts] + reg_lambda)
    if max_delta_step > 0:
        weights = np.clip(weights, -max_delta_step, max_delta_step)
    gains = -(2 * G * weights + (H + reg_lambda) * weights**2 + 2 * alpha * np.abs(weights))
    return weights, gains


@documented
def node_score(
    G: ArrayLike, H: ArrayLike, method: SplitMethod, **regularisation: Unpack[Regularisation]
) -> Floats:
    """Compute the score of a node (Table 1 of the XDCC paper).

    Parameters
    ----------
    G, H : array-like, shape (..., n_labels)
        Sums of the gradients and Hessians over the rows of the node.
    method : one of `SPLIT_METHODS`
        The sum or the maximum of gains, leaf values or absolute leaf values, over *all* labels,
        including those that count as 0.
    **regularisation
        As for `label_weights_and_gains`.

    Returns
    -------
    float64 array, shape (...)
        The gain of a split is score(left) + score(right) - score(node).

    {raises}

    Examples
    --------
    >>> G, H = [-0.2, -0.8, 0.9, 0.1], np.ones(4)  # Table 1
    >>> for method in SPLIT_METHODS:
    ...     print(method, round(node_score(G, H, method, reg_lambda=0.0), 2) + 0.0)
    sumGain 1.5
    maxGain 0.81
    sumWeight 0.0
    maxWeight 0.8
    sumAbsG 2.0
    maxAbsG 0.9
    """
    aggregate, term = _checked(method, SPLIT_METHODS)[:3], method[3:]
    weights, gains = label_weights_and_gains(G, H, **regularisation)
    terms = {"Gain": gains, "Weight": weights, "AbsG": np.abs(weights)}[term]
    scores: Floats = terms.sum(axis=-1) if aggregate == "sum" else terms.max(axis=-1)
    return scores


@documented
def split_allowed(
    H_left: ArrayLike, H_right: ArrayLike, *, min_child_weight: float = 0.0, scope: Scope = "any"
) -> Bools:
    """Return a bool array of shape (...): whether both children have enough weight.

    Parameters
    ----------
    H_left, H_right : array-like, shape (..., n_labels)
        Sums of the Hessians over the rows of each child. Some H_j must be positive in each.
    min_child_weight : float
        Minimum weight in both children ...
    scope : {"any", "all", "mean"}
        ... of at least one label, of all labels, or of the mean over all labels.

    {raises_for_scope}

    Examples
    --------
    >>> print(split_allowed([2.0, 0.5], [1.5, 0.1], min_child_weight=1.0, scope="any"))
    True
    >>> print(split_allowed([2.0, 0.5], [1.5, 0.1], min_child_weight=1.0, scope="all"))
    False
    """

    def enough(H: ArrayLike) -> Bools:
        H = np.asarray(H)
        largest = H.max(axis=-1)
        reached = {"any": largest, "all": H.min(axis=-1), "mean": H.mean(axis=-1)}
        found: Bools = (min_child_weight <= reached[_checked(scope, SCOPES)]) & (largest > 0)
        return found

    return enough(H_left) & enough(H_right)


def _checked[Name: str](name: Name, known: tuple[Name, ...]) -> Name:
    if name not in known:
        raise ValueError(f"{name!r} must be one of {', '.join(known)}")
    return name


@documented
def cuts_of_distinct_values(X: ArrayLike) -> list[Floats]:
    """Return cuts that separate all distinct values, as those of a histogram with enough bins.

    Parameters
    ----------
    {rows}

    Returns
    -------
    list of float32 arrays
        For each feature, in ascending order: the larger of each two neighbouring distinct values,
        and a cut above all values (so "present left, missing right" is a candidate). Empty for a
        feature without values.

    Examples
    --------
    >>> [cuts] = cuts_of_distinct_values([[1.0], [3.0], [np.nan], [1.0]])
    >>> cuts.round(3)
    array([3., 3.], dtype=float32)
    """
    cuts = []
    for column in np.asarray(X, dtype=np.float32).T:
        distinct = np.unique(column[~np.isnan(column)])
        above_all = np.nextafter(distinct[-1:], np.float32(np.inf))
        cuts.append(np.concatenate([distinct[1:], above_all]))
    return cuts


def goes_left(values: Floats, threshold: ArrayLike, default_left: bool) -> Bools:
    """Mark the float32 values (n_rows,) that a split sends left; thresholds can be (n, 1).

    Examples
    --------
    >>> goes_left(np.array([0.5, 2.0, np.nan]), threshold=1.0, default_left=True)
    array([ True, False,  True])
    """
    return np.where(np.isnan(values), default_left, values < np.asarray(threshold, np.float32))


CANDIDATE = np.dtype(
    [("feature", np.int32), ("threshold", np.float32), ("default_left", np.bool_), ("gain", float)]
)
"""A candidate split. Its gain is -inf if the split is not allowed."""


@documented
def candidate_gains(
    X: ArrayLike,
    grad: ArrayLike,
    hess: ArrayLike,
    cuts: Sequence[ArrayLike],
    method: SplitMethod,
    *,
    min_child_weight: float = 0.0,
    scope: Scope = "any",
    **penalties: Unpack[Penalties],
) -> NDArray[Any]:
    """Compute the gains of all candidate splits of a node.

    Parameters
    ----------
    X : array-like, shape (n_rows, n_features)
        The rows of the node; NaN is a missing value.
    grad, hess : array-like, shape (n_rows, n_labels)
        Derivatives of the loss.
    cuts : sequence of n_features array-likes
        The thresholds to try for each feature, empty for features that are not tried.
    method, min_child_weight, scope, **penalties
        As for `node_score` and `split_allowed`.

    Returns
    -------
    array of dtype `CANDIDATE`
        In the order of preference for ties: by feature, missing right before missing left, by
        threshold.

    {raises}

    Examples
    --------
    >>> grad, hess = gradients([[1], [0]], [[0.0], [0.0]])
    >>> found = candidate_gains([[1.0], [2.0]], grad, hess, [[2.0]], "sumGain", reg_lambda=0.0)
    >>> found["gain"]
    array([2., 2.])
    """
    X = np.asarray(X, dtype=np.float32)
    grad, hess = np.asarray(grad, dtype=np.float64), np.asarray(hess, dtype=np.float64)

    def score(G: Floats, H: Floats) -> Floats:
        return node_score(G, H, method, min_child_weight=min_child_weight, scope=scope, **penalties)

    def sums(rows: Bools) -> tuple[Floats, Floats]:
        """Sum over the rows of each line of a mask (n_thresholds, n_rows)."""
        chosen = rows[:, :, np.newaxis]
        return np.where(chosen, grad, 0).sum(axis=1), np.where(chosen, hess, 0).sum(axis=1)

    score_of_node = score(grad.sum(axis=0), hess.sum(axis=0))
    candidates = [np.empty(0, dtype=CANDIDATE)]
    for feature, thresholds in enumerate(cuts):
        for default_left in (False, True):
            found = np.empty(len(np.asarray(thresholds)), dtype=CANDIDATE)
            found["feature"], found["default_left"] = feature, default_left
            found["threshold"] = thresholds
            left = goes_left(X[:, feature], found["threshold"][:, np.newaxis], default_left)
            (G_left, H_left), (G_right, H_right) = sums(left), sums(~left)
            found["gain"] = score(G_left, H_left) + score(G_right, H_right) - score_of_node
            allowed = split_allowed(H_left, H_right, min_child_weight=min_child_weight, scope=scope)
            found["gain"][~allowed] = -np.inf
            candidates.append(found)
    return np.concatenate(candidates)


@dataclass(frozen=True)
class ReferenceTree:
    """A tree with vector leaves; node 0 is the root.

    Attributes
    ----------
    feature, left, right : int arrays, shape (n_nodes,)
        The feature of the split and the children; -1 in a leaf.
    threshold : float32 array, shape (n_nodes,)
        A row goes left if its value is smaller; 0 in a leaf.
    default_left : bool array, shape (n_nodes,)
        Whether missing values go left.
    gain : float64 array, shape (n_nodes,)
        Gain of the split; 0 in a leaf.
    leaf_value : float64 array, shape (n_nodes, n_labels)
        Leaf values including the learning rate; 0 in inner nodes.

    Examples
    --------
    >>> grad, hess = gradients([[1], [0]], [[0.0], [0.0]])
    >>> tree = grow_tree([[1.0], [2.0]], grad, hess, [[2.0]], "sumGain", 1, 0.5, reg_lambda=0.0)
    >>> tree.feature, tree.predict([[1.5], [2.5]])
    (array([ 0, -1, -1]), array([[ 1.],
           [-1.]]))
    """

    feature: NDArray[np.int64]
    threshold: Floats
    default_left: Bools
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    gain: Floats
    leaf_value: Floats

    def is_leaf(self, node: int) -> bool:
        """Return whether a node is a leaf."""
        return bool(self.feature[node] < 0)

    def goes_left(self, node: int, X: ArrayLike) -> Bools:
        """Mark the rows of X (n_rows, n_features) that the split of an inner node sends left."""
        values = np.asarray(X, dtype=np.float32)[:, self.feature[node]]
        return goes_left(values, self.threshold[node], bool(self.default_left[node]))

    def predict(self, X: ArrayLike) -> Floats:
        """Return the leaf values (n_rows, n_labels) of the rows of X (n_rows, n_features)."""
        X = np.asarray(X, dtype=np.float32)
        result = np.empty((len(X), self.leaf_value.shape[1]))
        for i in range(len(X)):
            node = 0
            while not self.is_leaf(node):
                left = self.goes_left(node, X[i : i + 1])[0]
                node = self.left[node] if left else self.right[node]
            result[i] = self.leaf_value[node]
        return result


@documented
def grow_tree(
    X: ArrayLike,
    grad: ArrayLike,
    hess: ArrayLike,
    cuts: Sequence[ArrayLike],
    method: SplitMethod,
    max_depth: int,
    learning_rate: float,
    *,
    gamma: float = 0.0,
    **regularisation: Unpack[Regularisation],
) -> ReferenceTree:
    """Return a `ReferenceTree`, grown level by level with the best candidate split of each node.

    A node is a leaf at ``max_depth``, or if no candidate gains more than `SMALLEST_GAIN` and at
    least ``gamma``. Leaf values are ``learning_rate`` times the weights of
    `label_weights_and_gains`, for all labels and any split method.

    Parameters
    ----------
    {rows}
    {derivatives}
    cuts : sequence of n_features array-likes
        As for `candidate_gains`.
    method : one of `SPLIT_METHODS`
        The score of a node.
    max_depth : int
        Maximum depth; the root has depth 0.
    learning_rate : float
        Factor of the leaf values.
    gamma : float
        Minimum gain of a split.
    **regularisation
        As for `label_weights_and_gains` and `split_allowed`.

    {raises}

    Examples
    --------
    >>> X, Y = [[1.0], [2.0], [3.0]], [[1, 1], [1, 0], [0, 0]]
    >>> grad, hess = gradients(Y, np.zeros((3, 2)))
    >>> cuts = cuts_of_distinct_values(X)
    >>> tree = grow_tree(X, grad, hess, cuts, "maxGain", max_depth=1, learning_rate=0.3)
    >>> tree.threshold[0]
    np.float32(2.0)
    """
    X = np.asarray(X, dtype=np.float32)
    grad, hess = np.asarray(grad, dtype=np.float64), np.asarray(hess, dtype=np.float64)
    rows_and_depth = [(np.arange(len(X)), 0)]
    nodes = []
    for rows, depth in rows_and_depth:  # the loop appends children
        best = None
        if depth < max_depth:
            candidates = candidate_gains(
                X[rows], grad[rows], hess[rows], cuts, method, **regularisation
            )
            best = max(candidates, key=lambda candidate: candidate["gain"], default=None)
        if best is not None and best["gain"] > SMALLEST_GAIN and best["gain"] >= gamma:
            left = goes_left(X[rows, best["feature"]], best["threshold"], best["default_left"])
            child = len(rows_and_depth)
            rows_and_depth += [(rows[left], depth + 1), (rows[~left], depth + 1)]
            nodes.append((*best.item(), child, child + 1, np.zeros(grad.shape[1])))
        else:
            weights, _ = label_weights_and_gains(
                grad[rows].sum(axis=0), hess[rows].sum(axis=0), **regularisation
            )
            nodes.append((-1, 0.0, False, 0.0, -1, -1, learning_rate * weights))
    feature, threshold, default_left, gain, left_child, right_child, value = zip(
        *nodes, strict=True
    )
    return ReferenceTree(
        feature=np.array(feature),
        threshold=np.array(threshold, dtype=np.float32),
        default_left=np.array(default_left),
        left=np.array(left_child),
        right=np.array(right_child),
        gain=np.array(gain),
        leaf_value=np.array(value),
    )


@documented
def boost(
    X: ArrayLike,
    Y: ArrayLike,
    n_rounds: int,
    method: SplitMethod,
    max_depth: int,
    learning_rate: float,
    *,
    base_score: ArrayLike = 0.5,
    sample_weight: ArrayLike | None = None,
    masked: ArrayLike | None = None,
    gamma: float = 0.0,
    **regularisation: Unpack[Regularisation],
) -> list[ReferenceTree]:
    """Return trees boosted on the logistic loss, with cuts between all feature values.

    Parameters
    ----------
    {rows}
    Y : array-like, shape (n_rows, n_labels)
        0, 1, or NaN if the label is unknown.
    n_rounds : int
        Number of trees.
    base_score : float or array-like, shape (n_labels,)
        The initial probability.
    sample_weight, masked
        As for `gradients`.
    method, max_depth, learning_rate, gamma, **regularisation
        As for `grow_tree`.

    {raises}

    Examples
    --------
    >>> X, Y = [[1.0], [2.0], [3.0]], [[1, 1], [1, 0], [0, 0]]
    >>> trees = boost(X, Y, 20, "sumGain", max_depth=2, learning_rate=0.3)
    >>> (predict(trees, X) > 0).astype(int)
    array([[1, 1],
           [1, 0],
           [0, 0]])
    """
    cuts = cuts_of_distinct_values(X)
    margin = np.zeros(np.shape(Y)) + logit(base_score)
    trees = []
    for _ in range(n_rounds):
        grad, hess = gradients(Y, margin, sample_weight, masked)
        tree = grow_tree(
            X, grad, hess, cuts, method, max_depth, learning_rate, gamma=gamma, **regularisation
        )
        margin = margin + tree.predict(X)
        trees.append(tree)
    return trees


def predict(trees: Sequence[ReferenceTree], X: ArrayLike, base_score: ArrayLike = 0.5) -> Floats:
    """Compute the margins (n_rows, n_labels) of trees; `base_score` is as in `boost`.

    Examples
    --------
    >>> trees = boost([[1.0], [2.0]], [[1], [0]], 5, "sumGain", max_depth=1, learning_rate=0.3)
    >>> predict(trees, [[1.0], [2.0]]).round(2)
    array([[ 0.53],
           [-0.53]])
    """
    margin: Floats = np.sum([tree.predict(X) for tree in trees], axis=0) + logit(base_score)
    return margin
