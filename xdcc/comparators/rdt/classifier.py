"""``RandomDecisionTreeClassifier``: random decision trees for chains of any order (RDT-DCC).

``fit`` grows random trees (``forest.py``) and counts labels and labelsets in their leaves. Only
prediction uses `chain`, `order`, `threshold`, `candidates`, `early_stop`, `sigma`, `transformation`
and the weights of the trees (``chains.py``), so you can change them without fitting again.
"""

from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from xdcc.base.categories import categorical_mask
from xdcc.base.checks import check_all_known
from xdcc.base.domains import Anything, Choice, Either, Number, Switch
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.input_form import UnknownCategories
from xdcc.base.seeds import generator_from
from xdcc.base.state_checks import check_indices
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Of, Permutation, Shape
from xdcc.base.threads import n_threads
from xdcc.comparators.rdt.chains import (
    CANDIDATES,
    THRESHOLDS,
    Candidates,
    ChainRule,
    ChainTrace,
    Threshold,
    decide_at_once,
    run_chain,
)
from xdcc.comparators.rdt.forest import Forest, TreeShape, Weighting, forest_posteriors, grow_forest
from xdcc.decision.labelsets import number_labelsets

Chain = Literal["dynamic", "static"]

TreeWeight = Literal["gini", "equal"]


@stored
@declares_parameters
class RandomDecisionTreeClassifier(MultiLabelEstimator):
    """Random decision trees for chains of any order (Kulessa and Loza Mencía, 2018).

    A node tests a random label or feature; the labels do not influence how trees grow. The
    posterior of a tree is the share of positive instances in all leaves that an instance reaches.
    If a value is missing, or a label is not decided yet, the instance follows all branches.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    max_depth : int, default=30
        Maximum number of tests on a path, including those that did not split a node (see
        `redraw`).
    min_samples_split : int, default=4
        Minimum number of training instances of a node with a test.
    label_test_fraction : float, default=0.2
        Probability that a node tests a label, in [0, 1]. With 1, no feature is tested.
    disjunction_size : int, default=1
        Number of sparse features that one test joins; it asks whether any of them is not 0. Sparse
        features are 0 in more than half of the training rows, and are not discrete with more than
        two values. With 1, each feature is tested alone, as in the paper.
    redraw : bool, default=False
        Whether to replace a test that does not split the instances of a node. Otherwise it counts
        as a level of the tree, which keeps leaves large if features are sparse.
    categorical_features : array-like of bool or int, or None, default=None
        Discrete features, as a mask of shape (n_features,) or positions. A test of a discrete
        feature has a branch for each value and occurs once on a path. DataFrame columns of dtype
        ``category`` are always discrete.
    chain : {"dynamic", "static"} or None, default="dynamic"
        A dynamic chain decides the label next of which the trees are most certain, a static chain
        the next label of `order`. None is binary relevance, without label tests.
    order : array-like of int of shape (n_labels,) or None, default=None
        Order of the static chain, a permutation of the label indices. None is a random order, drawn
        in `fit`.
    threshold : {"label", "probability"}, default="label"
        ``"probability"`` predicts a label if its posterior is at least 0.5. ``"label"`` also limits
        the number of positive labels to its estimate.
    candidates : {"open", "positive"}, default="open"
        With ``"positive"``, a dynamic chain decides only positive labels, the most probable first;
        the others are negative. Not in the paper.
    early_stop : bool, default=False
        Whether a chain ends when the estimated number of positive labels is reached, or when all
        remaining labels must be positive to reach it.
    sigma : float, default=1.0
        Share of the label tests that are active, in [0, 1]. With 0, a chain is binary relevance.
    transformation : {"powerset"} or None, default=None
        With ``"powerset"``, predict the labelset of the training data with the largest posterior
        (ties: the more frequent one); `chain` and `threshold` have no effect then.
    tree_weight : {"gini", "equal"}, default="gini"
        Whether to weight trees by the inverted Gini index (equation 3) or equally.
    size_exponent : float, default=0.0
        From 0 to 16. Multiplies the weight of a tree by this power of the number of instances in
        the reached leaves, so posteriors from few instances count less. Not in the paper.
    random_state : int, RandomState instance or None, default=None
        Seed for the trees and for a random order; None is the seed 0.
    {n_jobs}
    {unknown_categories}

    Attributes
    ----------
    forest_ : Forest
        The trees.
    labelsets_ : int8 array of shape (n_labelsets, n_labels)
        Labelsets of the training data, sorted by decreasing frequency.
    random_order_ : int array of shape (n_labels,)
        Order of a static chain if `order` is None.
    {fitted}
    {categories}

    Notes
    -----
    NaN in X is a missing value, and so is a discrete value that did not occur in the node in
    training. Entries that a sparse X does not store are 0, not missing. In training, a row with a
    missing value follows the branch of a random other row.

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
    unknown_categories: UnknownCategories = "separate"

    random_order_: Annotated[NDArray[np.int64], Permutation("n_labels_")] = learned()
    labelsets_: Annotated[NDArray[np.int8], Shape("forest_.n_labelsets", "n_labels_")] = learned()
    forest_: Annotated[Forest, Of(n_labels="n_labels_")] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        check_indices(self.forest_.tested_features, self.n_features_in_, "index")

    def fit(self, X: Any, Y: Any) -> Self:
        """Grow random trees and count the labels in their leaves.

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
        random = generator_from(self.random_state)
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
        self.forest_ = grow_forest(
            data.X, data.Y, labelset, categorical, shape, seeds, self._n_threads()
        )
        return self

    def _labels(self, X: Features) -> NDArray[np.int64]:
        if self.transformation == "powerset":
            most_probable = self._labelset_proba(X).argmax(axis=1)
            return self.labelsets_[most_probable].astype(np.int64)
        if self.chain is None:
            return decide_at_once(*self._posteriors(X), self.threshold).astype(np.int64)
        return self._run(X).Y_pred.astype(np.int64)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        if self.transformation == "powerset":
            return self._labelset_proba(X) @ self.labelsets_.astype(np.float64)
        if self.chain is None:
            return self._posteriors(X)[0]
        return self._run(X).Y_proba

    def predict_order(self, X: Any) -> NDArray[np.int64]:
        """Return the order in which a chain decides the labels of each row.

        {takes_X}

        Returns
        -------
        int array of shape (n_samples, n_labels)
            Index of the label that each step decides, -1 after the end of the chain.

        Raises
        ------
        NotFittedError, ValueError
            As in `trace`.
        """
        return self.trace(X).labels

    def trace(self, X: Any) -> ChainTrace:
        """Return the steps of a chain: labels, posteriors, decisions and R.

        {takes_X}

        Returns
        -------
        ChainTrace

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            As in `predict`, and without a chain.
        """
        checked = self._read_X(X)
        if self.chain is None or self.transformation is not None:
            raise ValueError(
                f"chain={self.chain!r} with transformation={self.transformation!r} decides all "
                "labels at once; set chain='dynamic' or 'static' and transformation=None."
            )
        return self._run(checked)

    def _read_X(self, X: Any) -> Features:
        rows = super()._read_X(X)
        self._check_order()
        return rows

    def _check_order(self) -> None:
        if self.order is None:
            return
        order = np.asarray(self.order)
        if order.shape != (self.n_labels_,) or sorted(order.tolist()) != [*range(self.n_labels_)]:
            raise ValueError(
                f"order={self.order!r}: it must be a permutation of the label indices "
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

    def _posteriors(
        self, X: Features, *, labelsets: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return forest_posteriors(
            self.forest_,
            X,
            self._weighting(),
            sigma=0.0,
            labelsets=labelsets,
            n_threads=self._n_threads(),
        )

    def _labelset_proba(self, X: Features) -> NDArray[np.float64]:
        return self._posteriors(X, labelsets=True)[0]
