"""``RandomDecisionTreeClassifier``: random decision trees for chains of any order (RDT-DCC).

``fit`` draws the trees (``forest.py``) and counts labels and labelsets in their leaves. How they
are read (``chains.py``) is decided in prediction: `chain`, `order`, `threshold`, `sigma`,
`transformation` and the weights can be changed with ``set_params`` without fitting again.
"""

from types import MappingProxyType
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from xdcc.base.categories import categorical_mask
from xdcc.base.checks import check_all_known
from xdcc.base.domains import Anything, Choice, Either, Number, Seed, Switch, Threads
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.threads import n_threads
from xdcc.decision.labelsets import number_labelsets
from xdcc.rdt.chains import (
    CANDIDATES,
    THRESHOLDS,
    Candidates,
    ChainRule,
    ChainTrace,
    Threshold,
    decide_at_once,
    labelset_posteriors,
    run_chain,
)
from xdcc.rdt.forest import Forest, TreeShape, Weighting, grow_forest, read_forest

Chain = Literal["dynamic", "static"]

TreeWeight = Literal["gini", "equal"]


@declares_parameters
class RandomDecisionTreeClassifier(MultiLabelEstimator):
    """Random decision trees that answer every chain order (Kulessa and Loza Mencía, 2018).

    A node tests a randomly drawn label or feature; labels are no target of the trees. A tree's
    posterior is the share of positive instances in all leaves that an instance reaches, where a
    test of a missing value, or of a label that is not decided yet, is passed in every direction.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    max_depth : int, default=30
        Most tests on a path, of those too that did not divide a node (see `redraw`).
    min_samples_split : int, default=4
        Fewest training instances of a node that gets a test.
    label_test_fraction : float, default=0.2
        Probability that a node tests a label, in [0, 1]. With 1 no feature is tested.
    disjunction_size : int, default=1
        Number of features that a test of a sparse feature (0 in more than half of the training
        rows, and not discrete with more than two values) joins: is any of them not 0? With 1
        features are tested alone, as in the paper.
    redraw : bool, default=False
        Whether a test that does not divide a node's instances is replaced; otherwise it takes up
        a level of the tree, which keeps leaves large where features are sparse.
    categorical_features : array-like of bool or int, or None, default=None
        Discrete features, as a mask of shape (n_features,) or positions. A test of a discrete
        feature has a branch per value and occurs once on a path. Columns of the type ``category``
        of a DataFrame are discrete anyway.
    chain : {"dynamic", "static"} or None, default="dynamic"
        Whether the next label is the one the trees are most certain of, or the next in `order`;
        None is binary relevance, in which no label test is active.
    order : array-like of int of shape (n_labels,) or None, default=None
        Order of the static chain, a permutation of the labels' indices; None is a random one,
        drawn in `fit`.
    threshold : {"label", "probability"}, default="label"
        ``"label"``: the estimated number of positive labels limits the positive ones.
        ``"probability"``: a label is positive where its posterior is at least 0.5.
    candidates : {"open", "positive"}, default="open"
        ``"positive"``: a dynamic chain decides positive labels only, the most probable first; the
        others are negative. Not in the paper.
    early_stop : bool, default=False
        Whether a chain ends as soon as as many labels are positive as are estimated, or all
        open ones have to be.
    sigma : float, default=1.0
        Share of the label tests that are active, in [0, 1]. With 0 a chain is binary relevance.
    transformation : {"powerset"} or None, default=None
        ``"powerset"``: predict the labelset of the training data with the largest posterior
        (ties: the more frequent one); `chain` and `threshold` are without meaning then.
    tree_weight : {"gini", "equal"}, default="gini"
        Whether a tree counts by its inverted Gini index (equation 3).
    size_exponent : float, default=0.0
        From 0 to 16. A tree's weight is multiplied by this power of the number of instances in the
        leaves that are reached: posteriors from few instances count less. Not in the paper.
    random_state : int, RandomState instance or None, default=None
        Seed of the trees and of a random order.
    {n_jobs}

    Attributes
    ----------
    forest_ : Forest
        The trees.
    labelsets_ : int8 array of shape (n_labelsets, n_labels)
        Labelsets of the training data, the most frequent first.
    random_order_ : int array of shape (n_labels,)
        The order of a static chain if `order` is None.
    {fitted}
    {categories}

    Notes
    -----
    NaN in X is a missing value, and so is a discrete value that no training instance of the node
    has. What a sparse X does not store is 0, not missing. In training, a row whose value is
    missing goes where a random other row of the node goes.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.RandomDecisionTreeClassifier(n_estimators=50, random_state=0)
    >>> model.fit(data.X, data.Y).predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    >>> model.set_params(chain=None).predict(data.X[:2])  # the same trees without a chain
    array([[0, 0, 1],
           [1, 1, 0]])
    """

    _stored = MappingProxyType(
        {
            "random_order_": NDArray[np.int64],
            "labelsets_": NDArray[np.int8],
            "forest_": Forest,
        }
    )
    _takes_categories = True
    _domains = MappingProxyType(
        {
            "n_estimators": Number(low=1, whole=True),
            "max_depth": Number(low=0, whole=True),
            "min_samples_split": Number(low=2, whole=True),
            "label_test_fraction": Number(low=0, high=1),
            "disjunction_size": Number(low=1, whole=True),
            "redraw": Switch(),
            "categorical_features": Anything(),
            "chain": Either(Choice(get_args(Chain)), None),
            "order": Anything(),
            "threshold": Choice(THRESHOLDS),
            "candidates": Choice(CANDIDATES),
            "early_stop": Switch(),
            "sigma": Number(low=0, high=1),
            "transformation": Either(Choice(("powerset",)), None),
            "tree_weight": Choice(get_args(TreeWeight)),
            "size_exponent": Number(low=0, high=16),  # higher powers of large nodes overflow
            "random_state": Seed(),
            "n_jobs": Threads(),
        }
    )

    n_estimators: int = 300
    max_depth: int = 30
    min_samples_split: int = 4
    label_test_fraction: float = 0.2
    disjunction_size: int = 1
    redraw: bool = False
    categorical_features: ArrayLike | None = None
    chain: Chain | None = "dynamic"
    order: ArrayLike | None = None
    threshold: Threshold = "label"
    candidates: Candidates = "open"
    early_stop: bool = False
    sigma: float = 1.0
    transformation: Literal["powerset"] | None = None
    tree_weight: TreeWeight = "gini"
    size_exponent: float = 0.0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, Y: Any) -> Self:
        """Draw the trees and count the labels in their leaves.

        {takes_X_and_known_Y}

        {returns_self}

        {raises_if_unknown}
        """
        data = self._begin_fit(X, Y)
        check_all_known(self, data.Y, "random decision trees")
        self._check_order()
        categorical = categorical_mask(
            self.n_features_in_, data.feature_types, self.categorical_features
        )
        random = check_random_state(self.random_state)
        seeds = random.randint(2**63, size=self.n_estimators, dtype=np.uint64)
        self.random_order_ = random.permutation(self.n_labels_)
        self.labelsets_, labelset = number_labelsets(data.Y)
        shape = TreeShape(
            self.max_depth,
            self.min_samples_split,
            self.label_test_fraction,
            self.disjunction_size,
            self.redraw,
        )
        self.forest_: Forest = grow_forest(
            data.X, data.Y, labelset, categorical, shape, seeds, self._n_threads()
        )
        return self

    def _labels(self, X: Features) -> NDArray[np.int64]:
        if self.transformation == "powerset":
            likeliest = self._labelset_proba(X).argmax(axis=1)
            return self.labelsets_[likeliest].astype(np.int64)
        if self.chain is None:
            return decide_at_once(*self._at_once(X), self.threshold).astype(np.int64)
        return self._run(X).Y_pred.astype(np.int64)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        if self.transformation == "powerset":
            return self._labelset_proba(X) @ self.labelsets_.astype(np.float64)
        if self.chain is None:
            return self._at_once(X)[0]
        return self._run(X).Y_proba

    def predict_order(self, X: Any) -> NDArray[np.int64]:
        """Order in which a chain decides the labels of every row.

        {takes_X}

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Index of the label that is decided in each iteration, -1 where the chain has ended.

        Raises
        ------
        NotFittedError, ValueError
            As in `trace`.
        """
        return self.trace(X).labels

    def trace(self, X: Any) -> ChainTrace:
        """Follow a chain through its iterations: labels, posteriors, decisions, R.

        {takes_X}

        Returns
        -------
        ChainTrace

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            As in `predict`, and if there is no chain.
        """
        checked = self._check_X(X)
        if self.chain is None or self.transformation is not None:
            raise ValueError(
                f"chain={self.chain!r} with transformation={self.transformation!r} decides all "
                "labels at once; an order needs chain='dynamic' or 'static' and no transformation."
            )
        return self._run(checked)

    def _check_X(self, X: Any) -> Features:
        features = super()._check_X(X)
        self._check_order()
        return features

    def _check_order(self) -> None:
        if self.order is None:
            return
        order = np.asarray(self.order)
        if order.shape != (self.n_labels_,) or sorted(order.tolist()) != [*range(self.n_labels_)]:
            raise ValueError(
                f"order={self.order!r}: it has to be a permutation of the labels' indices, "
                f"0 to {self.n_labels_ - 1}."
            )

    def _n_threads(self) -> int:
        return n_threads(self.n_jobs)

    def _weighting(self) -> Weighting:
        return Weighting(self.tree_weight == "gini", float(self.size_exponent))

    def _run(self, X: Features) -> ChainTrace:
        order = None
        if self.chain == "static":
            order = np.asarray(self.random_order_ if self.order is None else self.order, np.int64)
        rule = ChainRule(order, self.threshold, self.candidates, bool(self.early_stop))
        return run_chain(
            self.forest_,
            X,
            rule,
            self._weighting(),
            sigma=self.sigma,
            n_threads=self._n_threads(),
        )

    def _at_once(self, X: Features) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return read_forest(
            self.forest_, X, self._weighting(), sigma=0.0, n_threads=self._n_threads()
        )

    def _labelset_proba(self, X: Features) -> NDArray[np.float64]:
        return labelset_posteriors(self.forest_, X, self._weighting(), self._n_threads())
