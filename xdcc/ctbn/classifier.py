"""``CTBNMixtureClassifier`` and ``CTBNClassifier``: a joint distribution over labelsets.

``fit`` learns trees of labels whose nodes are logistic regressions (``learner.py``), and mixes
them (``growth.py``, ``mixture.py``). What is asked of the mixture later is exact: the probability
of a labelset, marginals, samples. Only its most probable labelset is searched for by annealing
(``annealing.py``), or by trying all if there are few labels.
"""

from xdcc.base.estimator import declares_parameters
from xdcc.ctbn.estimator import BaseCTBN, Inference


@declares_parameters
class CTBNMixtureClassifier(BaseCTBN):
    """Mixture of conditional tree-structured Bayesian networks (Hong, Batal, Hauskrecht, 2014).

    P(y|x) is a weighted sum of trees; in a tree every label has at most one other label as its
    parent and a logistic regression on the features given that parent's value.

    Parameters
    ----------
    max_components : int, default=20
        Most trees. Fewer are kept when the internal validation part's log-likelihood falls.
    C : "cross_val" or float, default="cross_val"
        Inverse strength of the L2 penalty of all logistic regressions, as scikit-learn has it.
        Chosen by cross-validation of the parentless models by default. Features are not scaled;
        put a scaler before the classifier if their units differ.
    parent_effect : {"separate", "feature"}, default="separate"
        Whether a label has two logistic regressions, one for each value of its parent, or the
        parent is one more feature of its only one.
    n_anneal : int, default=150
        Iterations of simulated annealing.
    inference : {"anneal", "exact"}, default="anneal"
        How the most probable labelset is searched for; ``"exact"`` tries all labelsets of at most
        15 labels.
    base_estimator : classifier or None, default=None
        A classifier with `predict_proba` and `sample_weight` to take the place of the logistic
        regressions; the parent is its last feature. About as many models as the square of the
        number of labels are trained for each tree, one by one, and EM's objective may fall.
    prediction : {"map", "hamming", "example_f1"}, default="map"
        What `predict` maximises: the labelset's probability, the marginals' (Hamming accuracy), or
        the expected example-based F1, from draws.
    n_draws : int, default=1000
        Number of labelsets that are drawn for each row with ``prediction="example_f1"``.
    max_solver_iter : int, default=1000
        Most iterations of the logistic regressions' solver.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits of the rows, of annealing and of the draws.
    {n_jobs}
    n_parent_candidates : int or None, default=None
        Number of labels that are tried as each label's parent: those whose mutual information with
        it is highest. None tries all, as the paper does: for each tree a model is trained for every
        ordered pair of labels.
    verbose : bool or int, default=False
        Whether progress bars show how many pairs of labels have been tried, and the time left.

    Attributes
    ----------
    mixture_ : Mixture
        Trees with their models, and their weights.
    mixture_weights_ : float array of shape (n_components,)
        Weights of the trees.
    structures_ : list of lists of (str, str)
        The edges of every tree: names of parent and label. A label without an edge to it is a
        root.
    C_ : float or None
        The inverse strength used; None with a `base_estimator`.
    validation_log_likelihood_ : list of float
        Log-likelihood of the internal validation part by number of components, to the first that
        is worse. Empty if there is one component by choice.
    log_likelihood_curves_ : list of lists of float
        By number of components, EM's objective on the internal training part before the first and
        after each iteration: the penalised log-likelihood (``mixture.py``). It never falls.
    log_likelihood_curve_ : list of float
        The same for the final fit on all rows.
    {fitted}

    Notes
    -----
    NaN in X is a missing value; logistic regressions take it as the feature's mean, a
    `base_estimator` gets it as it is. What a sparse X does not store is 0. Unknown labels (NaN in
    Y) are summed out of the likelihood. The intercepts have a weak penalty (normal with standard
    deviation 5) that keeps them finite where a label is constant.

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


class CTBNClassifier(BaseCTBN):
    """One conditional tree-structured Bayesian network (SC in the paper).

    Parameters, attributes and methods as for `CTBNMixtureClassifier`, without `max_components`:
    all rows serve the structure and the parameters of one tree, whose most probable labelset is
    found exactly.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.CTBNClassifier(C=1.0, random_state=0)
    >>> model.fit(data.X, data.Y).structures_
    [[('label_2', 'label_1'), ('label_0', 'label_2')]]
    """
