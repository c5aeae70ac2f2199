"""Probabilistic classifier chain (PCC): a chain as a joint distribution of the labels."""

from types import MappingProxyType
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import multioutput
from sklearn.linear_model import LogisticRegression

from xdcc.base.domains import Anything
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.state_checks import require
from xdcc.base.stored import learned, stored
from xdcc.base.stored_types import Permutation
from xdcc.comparators.baselines.chain_inference import (
    LabelsetSearch,
    beam_search,
    labelset_log_proba,
    marginals,
)
from xdcc.comparators.baselines.fixed_chain import (
    MISSING,
    ORDER_ENTRIES,
    Order,
    check_order,
    fit_chain,
    resolve_order,
)
from xdcc.comparators.baselines.label_model import EstimatorModel


@stored
@declares_parameters
class ProbabilisticClassifierChain(LabelsetSearch):
    """Probabilistic classifier chain (PCC).

    It is trained like a classifier chain. Its models define a joint distribution P(y | x);
    prediction uses the mode or the marginals.

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Base learner, with `predict_proba`; None is logistic regression.
    {order}
    beam_width : int or None, default=None
        Number of labelsets that the search keeps after each label of the chain. None keeps all,
        which is exact and supports at most 15 labels.
    loss : {"subset", "hamming"}, default="subset"
        The loss that `predict` minimises: ``"subset"`` predicts the most probable labelset,
        ``"hamming"`` the labels with a marginal probability of at least 0.5.
    random_state : int, RandomState instance or None, default=None
        Seed for a random order and the base learner; None is the seed 0.

    Attributes
    ----------
    {chain}
    {fitted}

    Notes
    -----
    You can change `beam_width` and `loss` after `fit`. With a beam, the probabilities of labels are
    relative to the labelsets found.

    {missing_values}

    References
    ----------
    K. Dembczyński, W. Cheng, E. Hüllermeier: Bayes optimal multilabel classification via
    probabilistic classifier chains. ICML 2010. Beam search: A. Kumar, S. Vembu, A. K. Menon,
    C. Elkan: Beam search algorithms for multilabel learning. Machine Learning 92, 2013.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.ProbabilisticClassifierChain(order=[2, 0, 1]).fit(data.X, data.Y)
    >>> model.predict(data.X[:2])
    array([[0, 0, 0],
           [1, 1, 1]])
    >>> np.exp(model.log_prob(data.X[:2], [[1, 1, 1], [0, 0, 0]])).round(2)
    array([0.06, 0.09])
    """

    _entries = MappingProxyType({**LabelsetSearch._entries, **ORDER_ENTRIES})
    _domains = MappingProxyType({**LabelsetSearch._domains, "order": Anything()})

    order: Order | ArrayLike = "random"

    order_: Annotated[NDArray[np.int64], Permutation("n_labels_")] = learned()
    model_: multioutput.ClassifierChain = learned()

    def _check_state(self) -> None:
        super()._check_state()
        require(np.array_equal(self.order_, self.model_.order_), "order_")

    @staticmethod
    def _default_learner() -> Any:
        return LogisticRegression(max_iter=1000)

    def _learn(self, data: FitData, learner: Any, random: np.random.RandomState) -> None:
        check_order(self.order)
        self._width()
        self.order_ = resolve_order(self.order, data.Y, data.sample_weight, random)
        model = EstimatorModel(learner, MISSING)
        self.model_ = fit_chain(model, data.X, data.Y, self.order_, data.sample_weight)

    def _labelset_log_proba(self, X: Features, Y: NDArray[np.integer]) -> NDArray[np.float64]:
        return labelset_log_proba(self.model_, X, Y)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return marginals(*beam_search(self.model_, X, self._width()))

    def _mode(self, X: Features) -> NDArray[np.int64]:
        return beam_search(self.model_, X, self._width())[0][:, 0].astype(np.int64)
