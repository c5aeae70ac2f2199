"""Predictors: what answers ``predict`` of a fitted model, from kernels over flat arrays.

A predictor computes *outputs* from X, and from these log-odds, probabilities and labels. Estimators
make theirs when they first predict (:class:`PredictsByKernel`); a compiled model stores one.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from xdcc.base.input_form import Features
from xdcc.base.kept import kept
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Finite
from xdcc.base.threads import n_threads
from xdcc.prediction._kernel import INFINITE_MARGINS, Kernel, logistic, logistic_labels
from xdcc.prediction.layout import Floats, Layout

type Outputs = NDArray[np.floating]

_FEW_ROWS = 64
"""So many rows are predicted by one thread."""


class Predictor(Protocol):
    """Predicts for rows."""

    def outputs(self, X: Any, n_threads: int) -> Any:
        """Predict from an array of any strides or a CSR matrix; None if X has to be checked."""

    def margins(self, outputs: Any) -> Outputs:
        """Compute log-odds, (n_samples, n_labels)."""

    def proba(self, outputs: Any) -> Outputs:
        """Compute probabilities, (n_samples, n_labels)."""

    def labels(self, outputs: Any) -> NDArray[np.int64]:
        """Decide labels, (n_samples, n_labels)."""


class MarginSource(Protocol):
    """Computes calibrated margins of labels."""

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins, (n_samples, n_labels); None if X has to be checked."""

    def weights(self) -> tuple[list[Floats], Floats] | None:
        """Return a factor of each model's margins and what is added to their sum, (n_labels,) each.

        None if there is more to it than a sum.
        """
        return None


def threads_for(X: Any, n_jobs: int | None) -> int:
    """Return the number of threads that predict rows."""
    return n_threads(n_jobs) if X.ndim == 2 and X.shape[0] > _FEW_ROWS else 1


class PredictsByKernel[P: Predictor]:
    """An estimator that predicts by a predictor: the first base class of an estimator."""

    n_jobs: int | None
    _checks_numbers: ClassVar[bool] = True

    @abstractmethod
    def _predicts_from(self) -> tuple[Any, ...]:
        """Return the source of the predictor: a new one is made when this has changed."""

    @abstractmethod
    def _make_predictor(self) -> P:
        """Make the predictor."""

    def _predictor(self) -> P:
        """Return the predictor, which is made when it is needed first; parameters are checked."""
        model: Any = self

        def make() -> P:
            model._check_params()
            return self._make_predictor()

        return kept(self, "predictor", (self.n_jobs, *self._predicts_from()), make)

    def _outputs(self, predictor: P, X: Any) -> Any:
        """Predict rows that were read or checked."""
        found = predictor.outputs(X, threads_for(X, self._n_jobs_here()))
        if found is None:  # the check raises an error, or makes the rows canonical
            model: Any = self
            checked = model._check_X(X)
            found = predictor.outputs(checked, threads_for(checked, self._n_jobs_here()))
        return found

    def _n_jobs_here(self) -> int | None:
        """Return `n_jobs`; of an ensemble without one, that of its classifiers."""
        return self.n_jobs

    def _margins(self, X: Features) -> Any:
        predictor = self._predictor()
        return predictor.margins(self._outputs(predictor, X))

    def _proba(self, X: Features) -> Any:
        predictor = self._predictor()
        return predictor.proba(self._outputs(predictor, X))

    def _labels(self, X: Features) -> NDArray[np.int64]:
        predictor = self._predictor()
        return predictor.labels(self._outputs(predictor, X))


@dataclass(frozen=True, eq=False)
class WithKernels:
    """Has a kernel for each of some layouts."""

    layouts: list[Layout]
    _kernels: ClassVar[Sequence[Kernel]]
    _kind: ClassVar[str]
    """The kind of the layouts."""
    _is_one: ClassVar[bool] = False
    """Whether there has to be one of them only."""

    def __post_init__(self) -> None:
        """Make the kernels."""
        object.__setattr__(self, "_kernels", [Kernel(layout) for layout in self.layouts])

    def _check_state(self) -> None:
        """Check that the layouts are of their kind, and those side by side of equal sizes."""
        n_layouts = len(self.layouts)
        require(n_layouts == 1 if self._is_one else n_layouts > 0, "layouts")
        require(all(layout.kind == self._kind for layout in self.layouts), "layouts")
        for layout in self._side_by_side():
            require(layout.n_features == self.layouts[0].n_features, "n_features")
            require(layout.n_outputs == self.n_outputs, "n_labels")

    def _side_by_side(self) -> Sequence[Layout]:
        """Get the layouts that predict from the same rows."""
        return self.layouts

    @property
    def n_outputs(self) -> int:
        """Number of labels."""
        return self.layouts[0].n_outputs

    @property
    def n_given(self) -> int:
        """Number of features of X."""
        return self.layouts[0].n_given

    def _of_each(self, kernels: Sequence[Kernel], X: Any, n_threads: int) -> list[Outputs] | None:
        """Predict by several kernels; None if X has to be checked."""
        found = []
        for kernel in kernels:
            outputs = kernel.predict(X, n_threads)
            if outputs is None:
                return None
            found.append(outputs)
        return found


def of_margins(kernel: Kernel, margins: Any, n_threads: int) -> Outputs:
    """Predict from margins of other kernels; a ValueError if they are infinite."""
    found = kernel.predict(margins, n_threads)
    if found is None:
        raise ValueError(INFINITE_MARGINS)
    return found


@dataclass(frozen=True, eq=False)
class WithOneKernel(WithKernels):
    """Has a single kernel, whose predictions are the outputs.

    Attributes
    ----------
    layouts : list of Layout
        One.
    """

    _is_one: ClassVar[bool] = True

    def outputs(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict by the kernel; None if X has to be checked."""
        return self._kernels[0].predict(X, n_threads)


@stored
@dataclass(frozen=True, eq=False)
class BoosterPredictor(WithOneKernel):
    """A single booster; outputs are margins."""

    _kind: ClassVar[str] = "single"

    def margins(self, outputs: Outputs) -> Outputs:
        """Return log-odds."""
        return outputs

    def proba(self, outputs: Outputs) -> Outputs:
        """Compute probabilities."""
        proba: Any = outputs.copy()
        logistic(proba)
        return proba

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Decide labels."""
        return logistic_labels(outputs)


@stored
@dataclass(frozen=True, eq=False)
class MixtureMargins(WithKernels, MarginSource):
    """Margins of a mixture.

    Attributes
    ----------
    layouts : list of Layout
        One; or for a mixture with a second level one for each member, then that of the second
        level, which takes the margins of the members.
    shares : list of float
        Weights of the members below a second level; none without one.
    second_share : float
        Weight of the second level.
    """

    _kind: ClassVar[str] = "mixture"
    shares: Annotated[list[float], Finite()]
    second_share: Annotated[float, Finite()]

    def _check_state(self) -> None:
        super()._check_state()
        n_members = len(self.shares)
        require(len(self.layouts) == (n_members + 1 if n_members else 1), "layouts")
        if n_members:
            last = self.layouts[-1]
            require(last.n_features == n_members * self.n_outputs, "layouts")
            require(last.n_labels == self.n_outputs, "layouts")

    def _side_by_side(self) -> Sequence[Layout]:
        return self.layouts[: max(len(self.shares), 1)]

    def weights(self) -> tuple[list[Floats], Floats] | None:
        """Return a factor of each model and what is added; None with a second level."""
        if self.shares:
            return None
        [layout] = self.layouts
        factors, added = [], layout.intercept
        for member in layout.members:
            scale = layout.slope * member.share
            factors += [scale * member.slope / member.n_estimators] * member.n_estimators
            added = added + scale * member.intercept
        return factors, added

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        *members, last = self._kernels
        if not members:
            return last.predict(X, n_threads)
        found = self._of_each(members, X, n_threads)
        if found is None:
            return None
        own = of_margins(last, second_level(found), n_threads)
        mixed = weighted_sum(self.shares, found)
        return weighted_sum([1 - self.second_share, self.second_share], [mixed, own])


def second_level(margins: Sequence[NDArray[np.floating]]) -> NDArray[np.float32]:
    """Put the margins of members side by side, `(n_samples, n_members * n_labels)`."""
    return np.hstack(margins).astype(np.float32)


def weighted_sum(
    shares: Sequence[float] | Floats, margins: Sequence[NDArray[np.floating]]
) -> Floats:
    """Add up margins with weights, in double precision."""
    total = np.zeros(margins[0].shape)
    for share, each in zip(shares, margins, strict=True):
        total += share * each
    return total
