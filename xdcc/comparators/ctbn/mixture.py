"""A mixture of conditional trees: its probabilities, and EM for its parameters (Algorithm 1).

A :class:`Component` is a tree with trained models, a :class:`Mixture` is a weighted set of
components. :func:`expectation_maximisation` fits models and weights. As in the paper, the weights
of the rows of a component are normalised before training, here to the mean 1, so a penalty has the
same strength for small and large components. Each step therefore increases

    sum_n log sum_k λ_k P(y_n|x_n, T_k) exp(-R_k / N),

the penalised log-likelihood of the known labels, where R_k is the sum of the penalties of component
k. For one tree, it is the log-likelihood minus R. The E-step is exact (including the factors
exp(-R_k / N), which are similar for all components), and the M-step starts at the current models,
so the objective never decreases. All computations are in log space.

Unknown labels are summed out of the likelihood. In the M-step, a row with unknown labels counts
once for each value of a label's parent, with the probability of the value as weight and the
conditional probability of the label as target; a row without unknown labels counts once.
"""

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from xdcc.base.state_checks import check_indices, require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of, Shape, Within
from xdcc.comparators.ctbn.learner import Learner, Models
from xdcc.comparators.ctbn.tree_inference import Parents, labelset_log_prob, log_cpd_of, sum_product
from xdcc.linear.logistic import Floats, Matrix

_FEWEST_ROWS = 1.0
"""A component has collapsed if it is responsible for less than this number of rows."""


@stored
@dataclass(frozen=True)
class Component:
    """A conditional tree-structured Bayesian network: the tree and a model for each label."""

    parents: Annotated[Parents, Shape(None), Within(-1)]  # (n_labels,) -1 for a root
    models: Annotated[Models, Of(n_models="parents")]

    def _check_state(self) -> None:
        above, n_labels = self.parents, len(self.parents)
        check_indices(above + 1, n_labels + 1, "parents")
        for _ in range(n_labels.bit_length()):  # each step doubles the distance
            above = np.where(above >= 0, above[above], -1)
        require((above < 0).all(), "parents")

    def log_cpd(self, X: Matrix) -> Floats:
        """Compute the log conditional probabilities, (n_labels, 2, 2, n)."""
        log_odds = self.models.log_odds(X)
        # The distribution of a root does not depend on a parent.
        log_odds[self.parents < 0, 1] = log_odds[self.parents < 0, 0]
        return log_cpd_of(log_odds)


@stored
@dataclass(frozen=True)
class Mixture:
    """Components and their weights."""

    components: list[Component]
    weights: Annotated[Floats, Shape("components")]  # positive, with the sum 1

    def _check_state(self) -> None:
        require(len(self.components) > 0, "components")
        for component in self.components:
            require(len(component.parents) == self.n_labels, "parents")

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.components[0].parents)

    def log_cpds(self, X: Matrix) -> list[Floats]:
        """Compute the log conditional probabilities of each component."""
        return [component.log_cpd(X) for component in self.components]

    def log_prob(self, X: Matrix, Y: Floats) -> Floats:
        """Compute log P(y|x) of the known labels (equation 5), (n,); NaN in Y is unknown."""
        parts = [
            component_log_prob(log_cpd, component.parents, Y)
            for component, log_cpd in zip(self.components, self.log_cpds(X), strict=True)
        ]
        return logsumexp(np.array(parts) + np.log(self.weights)[:, None], axis=0)


@dataclass(frozen=True)
class EMLimits:
    """Stopping criteria of EM."""

    max_iter: int = 100
    tol: float = 1e-4  # increase of the objective, per row


def component_log_prob(log_cpd: Floats, parents: Parents, Y: Floats) -> Floats:
    """Compute log P(y|x, T) of the known labels, (n,); NaN in Y is unknown."""
    whole = ~np.isnan(Y).any(axis=1)
    found = np.empty(len(Y))
    found[whole] = labelset_log_prob(log_cpd[..., whole], parents, Y[whole].astype(np.int64))
    if not whole.all():
        found[~whole] = sum_product(log_cpd[..., ~whole], parents, Y[~whole]).log_evidence
    return found


def fit_component(
    learner: Learner, X: Matrix, Y: Floats, parents: Parents, weights: Floats
) -> Component:
    """Train the models of a new tree on weighted rows where the label and its parent are known."""
    above = np.where(parents < 0, 0, Y[:, parents])
    counted = weights[:, None] * ~(np.isnan(Y) | np.isnan(above))
    models = learner.fit(X, np.nan_to_num(Y), counted, np.nan_to_num(above), None)
    return Component(parents, models)


def expectation_maximisation(
    learner: Learner,
    mixture: Mixture,
    X: Matrix,
    Y: Floats,
    limits: EMLimits,
    validation: tuple[Matrix, Floats] | None = None,
) -> tuple[Mixture, list[float]]:
    """Fit models and weights of a mixture by EM (Algorithm 1), starting at `mixture`.

    `validation` is a pair of X and Y of other rows; EM stops before an iteration that lowers their
    log-likelihood. Returns the mixture, and the objective before the first iteration and after
    each.
    """
    log_joint = _log_joint(mixture, X, Y)
    curve = [float(logsumexp(log_joint, axis=0).sum())]
    alone = len(mixture.components) == 1 and not np.isnan(Y).any()
    score = -np.inf if validation is None else mixture.log_prob(*validation).sum()
    for _ in range(limits.max_iter):
        responsibility = np.exp(log_joint - logsumexp(log_joint, axis=0))
        better = _maximise(learner, mixture, X, Y, responsibility)
        if validation is not None:
            last, score = score, better.log_prob(*validation).sum()
            if score < last:
                break
        mixture = better
        log_joint = _log_joint(mixture, X, Y)
        curve.append(float(logsumexp(log_joint, axis=0).sum()))
        if alone or curve[-1] - curve[-2] < limits.tol * len(Y):
            break
    return mixture, curve


def _maximise(
    learner: Learner, mixture: Mixture, X: Matrix, Y: Floats, responsibility: Floats
) -> Mixture:
    """Perform the M-step: train the models of all components in one batch (equation 10)."""
    components, n_labels = mixture.components, Y.shape[1]
    total = responsibility.sum(axis=1)
    mean_1 = responsibility / np.maximum(total / len(Y), np.finfo(float).tiny)[:, None]
    partly = np.flatnonzero(np.isnan(Y).any(axis=1))
    parts = [
        _expected(component, X[partly], Y, partly, weights)
        for component, weights in zip(components, mean_1, strict=True)
    ]
    targets, weights, above = (np.hstack(arrays) for arrays in zip(*parts, strict=True))
    start = components[0].models
    for component in components[1:]:
        start = start.followed_by(component.models)
    rows = X if not len(partly) else _stacked(X, X[partly])
    models = learner.fit(rows, targets, weights, above, start)
    improved = [
        Component(component.parents, models.take(slice(k * n_labels, (k + 1) * n_labels)))
        for k, component in enumerate(components)
    ]
    return Mixture(improved, total / total.sum())


def _expected(
    component: Component, X: Matrix, Y: Floats, partly: NDArray[np.intp], weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Compute targets, weights and parents of the models, each (n + n_partly, n_labels).

    X are the features of the rows `partly`, which have unknown labels. These rows occur once with
    all parents set to 0, and again at the end with all parents set to 1.
    """
    parents = component.parents
    targets = np.nan_to_num(Y)
    above = np.where(parents < 0, 0, targets[:, parents])
    counted = np.repeat(weights[:, None], Y.shape[1], axis=1)
    if not len(partly):
        return targets, counted, above
    posterior = sum_product(component.log_cpd(X), parents, Y[partly])
    of_parent = posterior.pairs.sum(axis=2)
    of_label = np.divide(
        posterior.pairs[:, :, 1], of_parent, out=np.zeros_like(of_parent), where=of_parent > 0
    )
    targets[partly], above[partly] = of_label[:, 0].T, 0
    counted[partly] *= of_parent[:, 0].T
    return (
        np.vstack((targets, of_label[:, 1].T)),
        np.vstack((counted, weights[partly, None] * of_parent[:, 1].T)),
        np.vstack((above, np.ones((len(partly), Y.shape[1])))),
    )


def _log_joint(mixture: Mixture, X: Matrix, Y: Floats) -> Floats:
    """Compute the log of the numerator of equation 8 with penalties, (n_components, n)."""
    parts = [
        component_log_prob(component.log_cpd(X), component.parents, Y)
        - component.models.penalty() / len(Y)
        for component in mixture.components
    ]
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    return np.array(parts) + log_weights[:, None]


def collapsed(mixture: Mixture, n_samples: int) -> NDArray[np.bool_]:
    """Mark the components that are responsible for less than one row."""
    return mixture.weights * n_samples < _FEWEST_ROWS


def without_collapsed(mixture: Mixture, n_samples: int) -> Mixture:
    """Remove collapsed components and warn; `n_samples` is the number of training rows."""
    drops = collapsed(mixture, n_samples)
    if not drops.any():
        return mixture
    numbers = ", ".join(str(number) for number in np.flatnonzero(drops))
    warnings.warn(
        f"Component {numbers} of the mixture has collapsed (it is responsible for less than one "
        "row) and was removed.",
        UserWarning,
        stacklevel=2,
    )
    kept = [c for c, drop in zip(mixture.components, drops, strict=True) if not drop]
    weights = mixture.weights[~drops]
    return Mixture(kept, weights / weights.sum())


def _stacked(X: Matrix, more: Matrix) -> Matrix:
    if sparse.issparse(X):
        return sparse.csr_matrix(sparse.vstack((X, more)))
    return np.vstack((X, more))
