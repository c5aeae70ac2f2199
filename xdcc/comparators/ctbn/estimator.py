"""``BaseCTBN``: base class of a tree and a mixture of trees."""

import warnings
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from xdcc.base.domains import (
    Choice,
    Classifier,
    Either,
    Number,
    Verbosity,
    check_domain,
)
from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.features import Features
from xdcc.base.labels import check_labels_as_in_fit
from xdcc.base.package import PACKAGE
from xdcc.base.seeds import generator_from
from xdcc.base.side_by_side import one_blas_thread, side_by_side
from xdcc.base.state_checks import require
from xdcc.base.stored import learned
from xdcc.base.stored_types import Of
from xdcc.comparators.ctbn.annealing import anneal, check_few_labels, exact_map
from xdcc.comparators.ctbn.growth import Grower, Growth
from xdcc.comparators.ctbn.learner import (
    EstimatorLearner,
    Learner,
    LogisticLearner,
    ParentEffect,
    choose_C,
    warn_if_not_converged,
)
from xdcc.comparators.ctbn.mixture import EMLimits, Mixture
from xdcc.comparators.ctbn.structure import Search
from xdcc.comparators.ctbn.tree_inference import draw, sum_product
from xdcc.decision.f1_maximiser import SizedMarginals
from xdcc.linear.design import Design
from xdcc.linear.logistic import Matrix, Penalty

Inference = Literal["anneal", "exact"]

Prediction = Literal["map", "hamming", "example_f1"]

_ROUGH_TOL = 1e-5

_TOL = 1e-7
"""Tolerances of the solver while the mixture grows, and for the final models."""

_MANY_PAIRS = 100_000
"""Number of pairs of labels above which `fit` warns."""


@declares_parameters
class BaseCTBN(MultiLabelEstimator):
    """A mixture of trees, or one tree unless a subclass has the parameter `max_components`."""

    _domains = MappingProxyType(
        {
            "max_components": Number(low=1, whole=True),
            "C": Either(
                Choice(("cross_val",)), Number(low=0, high=np.inf, low_open=True, high_open=True)
            ),
            "parent_effect": Choice(get_args(ParentEffect)),
            "n_anneal": Number(low=0, whole=True),
            "inference": Choice(get_args(Inference)),
            "base_estimator": Either(Classifier(), None),
            "prediction": Choice(get_args(Prediction)),
            "n_draws": Number(low=1, whole=True),
            "n_parent_candidates": Either(Number(low=1, whole=True), None),
            "max_solver_iter": Number(low=1, whole=True),
            "verbose": Verbosity(),
        }
    )

    C: float | Literal["cross_val"] = "cross_val"
    parent_effect: ParentEffect = "separate"
    base_estimator: Any = None
    prediction: Prediction = "map"
    n_draws: int = 1000
    max_solver_iter: int = 1000
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    n_parent_candidates: int | None = None
    verbose: bool | int = False

    _seed: int = learned()
    _design: Design | None = learned()
    C_: float | None = learned()
    mixture_: Annotated[Mixture, Of(n_labels="n_labels_")] = learned()
    mixture_weights_: NDArray[np.float64] = learned()
    structures_: list[list[tuple[str, str]]] = learned()
    validation_log_likelihood_: list[float] = learned()
    log_likelihood_curves_: list[list[float]] = learned()
    log_likelihood_curve_: list[float] = learned()

    def _check_state(self) -> None:
        super()._check_state()
        if self._design is not None:
            require(len(self._design.mean) == self.n_features_in_, "mean")
        n_columns = None if self._design is None else self._design.n_columns
        for component in self.mixture_.components:
            component.models._check_columns(n_columns)

    # A single tree has no such parameters: its most probable labelset is exact.
    max_components = 1
    inference = "anneal"
    n_anneal = 0

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn the trees, their models and their weights.

        Parameters
        ----------
        {X}
        {Y}

        {returns_self}

        Raises
        ------
        ValueError
            If a parameter is outside its domain, X or Y is not as described, or there is only one
            row.

        Warns
        -----
        ConvergenceWarning
            If a logistic regression of the mixture did not converge; the message names it.
        UserWarning
            If a component has collapsed and is removed, or if each tree needs models for more than
            100,000 pairs of labels.
        """
        data = self._begin_fit(X, Y)
        if len(data.Y) < 2:
            raise ValueError(
                "n_samples=1: at least two rows are required, as structures are scored on held-out "
                "rows."
            )
        if self.inference == "exact":
            check_few_labels(self.n_labels_)
        self._warn_about_many_pairs()
        random = generator_from(self.random_state)
        self._seed = random.randint(2**31 - 1)
        labels = data.Y.astype(np.float64)
        with side_by_side(self.n_jobs):
            rows = self._learn_design(data.X)
            learners = self._learners(rows, labels, random)
            search = Search(self.n_parent_candidates, bool(self.verbose))
            grower = Grower(*learners, EMLimits(), random, search)
            mixture, growth = grower.grow(rows, labels, self.max_components)
        self.mixture_ = mixture
        self._keep(growth)
        return self

    def _labels(self, X: Features) -> NDArray[np.int64]:
        if self.prediction == "hamming":
            return (self._marginals(X) > 0.5).astype(np.int64)
        if self.prediction == "example_f1":
            # All rows share the random numbers, so their predictions do not depend on each other.
            random = np.random.RandomState(self._seed)
            uniform = random.random_sample((1, self.n_draws, 1 + self.n_labels_))
            drawn = self._draw(X, np.repeat(uniform, X.shape[0], axis=0))
            return SizedMarginals.of_samples(drawn).maximise().labels
        log_cpds = self._log_cpds(X)
        trees = [component.parents for component in self.mixture_.components]
        if self.inference == "exact":
            return exact_map(log_cpds, trees, self.mixture_.weights)
        random = np.random.RandomState(self._seed)
        return anneal(log_cpds, trees, self.mixture_.weights, self.n_anneal, random)

    def _proba(self, X: Features) -> NDArray[np.float64]:
        return self._marginals(X)

    def log_prob(self, X: Any, Y: Any) -> NDArray[np.float64]:
        """Compute log P(y|x) of labelsets (natural logarithm, equation 5).

        Parameters
        ----------
        {X}
        Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels)
            0, 1, or NaN for a label to sum out.

        Returns
        -------
        float array of shape (n_samples,)

        {raises_for_labels}
        """
        checked = self._read_X(X)
        labels = check_labels_as_in_fit(self._output_form, checked, Y)
        with one_blas_thread():
            return self.mixture_.log_prob(self._rows(checked), labels.astype(np.float64))

    def sample(
        self, X: Any, n: int = 1, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[np.int8]:
        """Sample labelsets from P(y|x).

        Parameters
        ----------
        {X}
        n : int, default=1
            Number of labelsets for each row.
        random_state : int, RandomState instance or None, default=None
            Seed for sampling; None draws other labelsets each time.

        Returns
        -------
        int8 array of shape (n_samples, n, n_labels)
            Zeros and ones.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            As in `predict`, and if `n` is not a positive integer.
        """
        checked = self._read_X(X)
        check_domain("n", n, Number(low=1, whole=True))
        random = check_random_state(random_state)
        shape = (checked.shape[0], n, 1 + self.n_labels_)
        return self._draw(checked, random.random_sample(shape))

    def _warn_about_many_pairs(self) -> None:
        others = self.n_labels_ - 1
        n_pairs = self.n_labels_ * min(self.n_parent_candidates or others, others)
        if n_pairs > _MANY_PAIRS:
            warnings.warn(
                f"{n_pairs:,} pairs of labels need a model for each tree, which takes long. Set "
                "n_parent_candidates=20 to try only the 20 labels with the highest mutual "
                "information with each label, and verbose=True to see the remaining time.",
                UserWarning,
                skip_file_prefixes=(PACKAGE,),
            )

    def _learn_design(self, X: Features) -> Matrix:
        self._design = Design(X) if self.base_estimator is None else None
        return self._rows(X)

    def _rows(self, X: Features) -> Matrix:
        """Preprocess features for the models."""
        return X if self._design is None else self._design.transform(X)

    def _learners(
        self, rows: Matrix, labels: NDArray[np.float64], random: np.random.RandomState
    ) -> tuple[Learner, Learner]:
        """Return the learners while the mixture grows, and for the final models."""
        if self.base_estimator is not None:
            self.C_ = None
            learner = EstimatorLearner(self.base_estimator)
            return learner, learner
        self.C_ = choose_C(rows, labels, random) if self.C == "cross_val" else float(self.C)
        exact = Penalty(1 / self.C_, tol=_TOL, max_iter=self.max_solver_iter)
        rough = replace(exact, tol=_ROUGH_TOL)
        return (
            LogisticLearner(rough, self.parent_effect),
            LogisticLearner(exact, self.parent_effect),
        )

    def _keep(self, growth: Growth) -> None:
        names = self.label_names_
        self.mixture_weights_ = self.mixture_.weights
        self.structures_ = []
        for number, component in enumerate(self.mixture_.components):
            parents = component.parents.tolist()
            self.structures_.append([(names[p], names[i]) for i, p in enumerate(parents) if p >= 0])
            described = [
                f"label {str(names[i])!r}"
                + (f" given {str(names[p])!r}" if p >= 0 else "")
                + f" in component {number}"
                for i, p in enumerate(parents)
            ]
            warn_if_not_converged(component.models, described, self.max_solver_iter)
        self.validation_log_likelihood_ = growth.validation
        self.log_likelihood_curves_ = growth.curves
        self.log_likelihood_curve_ = growth.final_curve

    def _log_cpds(self, X: Features) -> list[NDArray[np.float64]]:
        with one_blas_thread():
            return self.mixture_.log_cpds(self._rows(X))

    def _marginals(self, X: Features) -> NDArray[np.float64]:
        parts = [
            weight * sum_product(log_cpd, component.parents).marginals()
            for component, weight, log_cpd in zip(
                self.mixture_.components, self.mixture_.weights, self._log_cpds(X), strict=True
            )
        ]
        # Because of rounding, the sum of the weights can exceed 1.
        return np.minimum(np.sum(parts, axis=0), 1)

    def _draw(self, X: Features, uniform: NDArray[np.float64]) -> NDArray[np.int8]:
        """Sample labelsets, given random numbers of shape (n_samples, n, 1 + n_labels)."""
        limits = np.cumsum(self.mixture_.weights)[:-1]
        chosen = np.searchsorted(limits, uniform[..., 0], side="right")
        found = np.empty((*uniform.shape[:2], self.n_labels_), dtype=np.int8)
        log_cpds = self._log_cpds(X)
        for number, component in enumerate(self.mixture_.components):
            rows, draws = np.nonzero(chosen == number)
            found[rows, draws] = draw(
                log_cpds[number], component.parents, rows, uniform[rows, draws, 1:]
            )
        return found
