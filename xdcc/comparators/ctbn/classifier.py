"""``CTBNMixtureClassifier`` and ``CTBNClassifier``: a joint distribution over labelsets.

``fit`` learns a mixture (``growth.py``, ``mixture.py``) of trees of labels, whose nodes are
logistic regressions (``learner.py``). Probabilities of labelsets, marginals and samples of the
mixture are exact. The most probable labelset is found by annealing, or by exhaustive search if
there are few labels (``annealing.py``).
"""

from xdcc.base.estimator import declares_parameters
from xdcc.base.stored import stored
from xdcc.comparators.ctbn.estimator import BaseCTBN, Inference


@stored
@declares_parameters
class CTBNMixtureClassifier(BaseCTBN):
    """Mixture of conditional tree-structured Bayesian networks (Hong, Batal, Hauskrecht, 2014).

    P(y|x) is a weighted sum of trees. In a tree, each label has at most one other label as its
    parent, and a logistic regression on the features given the value of the parent.

    Parameters
    ----------
    max_components : int, default=20
        Maximum number of trees. Growth stops earlier if the log-likelihood of an internal
        validation set decreases.
    C : "cross_val" or float, default="cross_val"
        Inverse strength of the L2 penalty of all logistic regressions, as in scikit-learn. By
        default, it is chosen by cross-validation of the models without parents. Features are not
        scaled; use a scaler in a pipeline if their units differ.
    parent_effect : {"separate", "feature"}, default="separate"
        Whether a label has two logistic regressions, one for each value of its parent, or one with
        the parent as an additional feature.
    n_anneal : int, default=150
        Number of iterations of simulated annealing.
    inference : {"anneal", "exact"}, default="anneal"
        How to search for the most probable labelset. ``"exact"`` tries all labelsets and supports
        at most 15 labels.
    base_estimator : classifier or None, default=None
        A classifier with `predict_proba` and `sample_weight` that replaces the logistic
        regressions; the parent is its last feature. Each tree then trains about n_labels² models
        one by one, and the objective of EM can decrease.
    prediction : {"map", "hamming", "example_f1"}, default="map"
        The quantity that `predict` maximises: the probability of the labelset, the marginal
        probabilities (Hamming accuracy), or the expected example-based F1, estimated from samples.
    n_draws : int, default=1000
        Number of labelsets sampled for each row with ``prediction="example_f1"``.
    max_solver_iter : int, default=1000
        Maximum number of iterations of the solver for logistic regressions.
    random_state : int, RandomState instance or None, default=None
        Seed for the splits of the rows, and annealing; None is the seed 0.
    {n_jobs}
    n_parent_candidates : int or None, default=None
        Number of labels to try as the parent of each label: those with the highest mutual
        information. None tries all, as in the paper, and trains a model for each ordered pair of
        labels for each tree.
    verbose : bool or int, default=False
        Whether to show a progress bar over the pairs of labels.

    Attributes
    ----------
    mixture_ : Mixture
        The trees with their models, and their weights.
    mixture_weights_ : float array of shape (n_components,)
        Weights of the trees.
    structures_ : list of lists of (str, str)
        The edges of each tree as names of parent and label. A label without an edge to it is a
        root.
    C_ : float or None
        The inverse strength of the penalty; None with a `base_estimator`.
    validation_log_likelihood_ : list of float
        Log-likelihood of the internal validation set by number of components, including the first
        decrease. Empty if ``max_components=1``.
    log_likelihood_curves_ : list of lists of float
        For each number of components, the objective of EM on the internal training set before the
        first iteration and after each: the penalised log-likelihood (``mixture.py``), which never
        decreases.
    log_likelihood_curve_ : list of float
        The same for the final fit on all rows.
    {fitted}

    Notes
    -----
    NaN in X is a missing value; logistic regressions replace it by the mean of the feature, a
    `base_estimator` receives it unchanged. Entries that a sparse X does not store are 0. Unknown
    labels (NaN in Y) are summed out of the likelihood. A weak penalty of the intercepts (a normal
    prior with standard deviation 5) keeps them finite if a label is constant.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.CTBNMixtureClassifier(max_components=2, C=1.0, random_state=0)
    >>> model.fit(data.X, data.Y).structures_[0]
    [('label_0', 'label_1'), ('label_0', 'label_2')]
    >>> model.predict(data.X[:2])
    array([[0, 0, 1],
           [1, 1, 1]])
    """

    max_components: int = 20
    n_anneal: int = 150
    inference: Inference = "anneal"


@stored
class CTBNClassifier(BaseCTBN):
    """One conditional tree-structured Bayesian network (SC in the paper).

    Parameters, attributes and methods as for `CTBNMixtureClassifier`, without `max_components`,
    `n_anneal` and `inference`: all rows are used for the structure and the parameters of one tree,
    whose most probable labelset is exact.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.CTBNClassifier(C=1.0, random_state=0)
    >>> model.fit(data.X, data.Y).structures_
    [[('label_2', 'label_1'), ('label_0', 'label_2')]]
    """
