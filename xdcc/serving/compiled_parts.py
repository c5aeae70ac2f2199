"""The parts of a compiled model: predictors with their kernels, and the form of X.

`CompiledParts` is what a file stores of a compiled model. All its parts are of known classes
(``known_classes.py``). A predictor computes *outputs* from X, and from these log-odds,
probabilities and labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from xdcc.automatic.joint_labelset import JOINT, N_BEAMS
from xdcc.automatic.mixture import second_level, weighted_sum
from xdcc.base.checks import learned_by
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.chain.loop import labels_from_proba
from xdcc.chain.order_free_inference import N_KNOWN, PRIOR_OF_CANDIDATES, SLACK, LabelsetScore
from xdcc.decision import KnownLabelsets
from xdcc.decision.calibration import ConstantLabels, LabelCalibration
from xdcc.decision.rules import (
    AnyRule,
    CommonThreshold,
    LabelWise,
    LeastCost,
    ThresholdPerLabel,
)
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving._compiled_prediction import (
    INFINITE_MARGINS,
    Kernel,
    LabelsetSearch,
    logistic,
)
from xdcc.serving.compiled_estimator import SERVED, EstimatorPredictor
from xdcc.serving.compiled_layout import Layout

type Outputs = NDArray[np.floating]

CHECKERS: Mapping[str, type[MultiLabelEstimator]] = {
    cls.__name__: cls
    for cls in (
        MultiLabelXGBClassifier,
        SketchedExtraTreesClassifier,
        LogisticLabels,
        DynamicChainClassifier,
        *SERVED,
    )
}
"""Classes that check X, by name."""

_THRESHOLDS = (LabelWise, LeastCost, CommonThreshold, ThresholdPerLabel)


@dataclass(frozen=True, eq=False)
class InputForm:
    """The form of X and Y in ``fit``.

    Attributes
    ----------
    checked_by : str
        Name of the class that checks X, one of `CHECKERS`.
    sparse_zeros : str or None
        Its parameter; None if it has none.
    learned : dict of str to object
        Fitted attributes that describe the form, such as the number of features.
    """

    checked_by: str
    sparse_zeros: str | None
    learned: dict[str, Any]

    @classmethod
    def of(cls, model: Any) -> Self:
        """Take the form that a fitted estimator of the package knows."""
        sparse_zeros = getattr(model, "sparse_zeros", None)
        return cls(type(model).__name__, sparse_zeros, learned_by(model))

    def checker(self) -> Any:
        """Make an estimator that can check X and give predictions the form of Y, and no more."""
        checker: Any = CHECKERS[self.checked_by]()
        if self.sparse_zeros is not None:
            checker.sparse_zeros = self.sparse_zeros
        vars(checker).update(self.learned)
        return checker


@dataclass(frozen=True, eq=False)
class _WithKernels:
    """Has a kernel for each of some layouts."""

    layouts: list[Layout]
    _kernels: ClassVar[Sequence[Kernel]]

    def __post_init__(self) -> None:
        """Make the kernels."""
        object.__setattr__(self, "_kernels", [Kernel(layout) for layout in self.layouts])

    def _of_each(self, kernels: Sequence[Kernel], X: Any, n_threads: int) -> list[Outputs] | None:
        """Predict by several kernels; None if X has to be checked."""
        found = []
        for kernel in kernels:
            outputs = kernel.predict(X, n_threads)
            if outputs is None:
                return None
            found.append(outputs)
        return found


def _of_margins(kernel: Kernel, margins: Any, n_threads: int) -> Outputs:
    """Predict from margins of other kernels."""
    found = kernel.predict(margins, n_threads)
    if found is None:
        raise ValueError(INFINITE_MARGINS)
    return found


@dataclass(frozen=True, eq=False)
class MixtureMargins(_WithKernels):
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

    shares: list[float]
    second_share: float

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        *members, last = self._kernels
        if not members:
            return last.predict(X, n_threads)
        found = self._of_each(members, X, n_threads)
        if found is None:
            return None
        own = _of_margins(last, second_level(found), n_threads)
        mixed = weighted_sum(self.shares, found)
        return weighted_sum([1 - self.second_share, self.second_share], [mixed, own])


@dataclass(frozen=True, eq=False)
class ChainMargins(_WithKernels):
    """Calibrated means of the margins of dynamic chains.

    Attributes
    ----------
    layouts : list of Layout
        The chains.
    calibration : LabelCalibration
        Calibration of the mean.
    """

    calibration: LabelCalibration

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        found = self._of_each(self._kernels, X, n_threads)
        if found is None:
            return None
        total = margins_of(found[0])
        for proba in found[1:]:
            total = total + margins_of(proba)
        return self.calibration.margins(total / len(found))


@dataclass(frozen=True, eq=False)
class CompiledBooster(_WithKernels):
    """The booster of an order-free chain, for `LabelStates`.

    Attributes
    ----------
    layouts : list of Layout
        One, which starts from its first features: the margins.
    """

    def inplace_predict(self, data: Any, **_: Any) -> Outputs:
        """Predict margins for [margins | revealed labels]."""
        return _of_margins(self._kernels[0], data, 1)

    def search(self, n_beams: int, score: LabelsetScore | None) -> LabelsetSearch:
        """Make the search for the labelset of the highest score; without one, the most probable."""
        if score is None:
            return LabelsetSearch(
                self._kernels[0],
                np.empty((0, self.layouts[0].n_labels), np.int8),
                np.empty(0),
                n_beams=n_beams,
                slack=0.0,
                joint=1.0,
                prior=0.0,
                n_known=0,
                known_prior=0.0,
            )
        return LabelsetSearch(
            self._kernels[0],
            np.ascontiguousarray(score.known.labelsets),
            np.ascontiguousarray(score.known.counts, dtype=np.float64),
            n_beams=n_beams,
            slack=SLACK,
            joint=score.joint,
            prior=score.prior,
            n_known=N_KNOWN,
            known_prior=PRIOR_OF_CANDIDATES,
        )


@dataclass(frozen=True, eq=False)
class CompiledJointLabelset:
    """`JointLabelset` with a compiled booster.

    Attributes
    ----------
    booster : CompiledBooster
    constant, known, prior
        The attributes of `JointLabelset`.
    """

    booster: CompiledBooster
    constant: ConstantLabels
    known: KnownLabelsets
    prior: float
    _search: ClassVar[LabelsetSearch]

    def __post_init__(self) -> None:
        """Make the search."""
        score = LabelsetScore(JOINT, self.prior, self.known)
        object.__setattr__(self, "_search", self.booster.search(N_BEAMS, score))

    def decide(self, margins: Any) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        labels = np.zeros(margins.shape, dtype=np.int8)
        labels[:, self.constant.varied] = self._search.decide(margins[:, self.constant.varied])
        return self.constant.in_labels(labels)


@dataclass(frozen=True, eq=False)
class BoosterPredictor(_WithKernels):
    """A single booster; outputs are margins.

    Attributes
    ----------
    layouts : list of Layout
        One.
    """

    def outputs(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        return self._kernels[0].predict(X, n_threads)

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
        return (self.proba(outputs) >= 0.5).astype(np.int64)


@dataclass(frozen=True, eq=False)
class DecisionPredictor:
    """A model with a decision rule; outputs are margins.

    Attributes
    ----------
    source : MixtureMargins or ChainMargins
        Computes margins.
    rule : Rule
        Decision rule.
    constant : ConstantLabels
        Labels that are the same in all rows.
    """

    source: MixtureMargins | ChainMargins
    rule: AnyRule | CompiledJointLabelset
    constant: ConstantLabels
    _thresholds: ClassVar[Any]

    def __post_init__(self) -> None:
        """Take the thresholds, which are compared without the checks of rules."""
        rule = self.rule
        thresholds = np.asarray(rule._thresholds()) if isinstance(rule, _THRESHOLDS) else None
        object.__setattr__(self, "_thresholds", thresholds)

    def outputs(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        return self.source.margins(X, n_threads)

    def margins(self, outputs: Outputs) -> Outputs:
        """Return log-odds."""
        return outputs

    def proba(self, outputs: Outputs) -> Outputs:
        """Compute probabilities."""
        return self.constant.in_proba(expit(outputs))

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Decide labels."""
        if self._thresholds is not None:
            labels = expit(outputs) >= self._thresholds
        else:
            labels = self.rule.decide(outputs.astype(np.float64, copy=False))
        return self.constant.in_labels(labels.astype(np.int64))


@dataclass(frozen=True, eq=False)
class ChainPredictor(_WithKernels):
    """A dynamic chain; outputs are probabilities.

    Attributes
    ----------
    layouts : list of Layout
        One.
    """

    def outputs(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict probabilities; None if X has to be checked."""
        return self._kernels[0].predict(X, n_threads)

    def margins(self, outputs: Outputs) -> Outputs:
        """Compute log-odds."""
        return margins_of(outputs)

    def proba(self, outputs: Outputs) -> Outputs:
        """Return probabilities."""
        return outputs

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Decide labels."""
        chain = self.layouts[0].chain
        assert chain is not None
        return labels_from_proba(outputs, chain.prediction, chain.cumulation)


@dataclass(frozen=True, eq=False)
class OrderFreePredictor:
    """An order-free chain; outputs are the margins of the first classifier.

    Attributes
    ----------
    source : MixtureMargins
        Computes margins of all labels.
    booster : CompiledBooster or None
        Booster of the labels that vary; None if they do not depend on each other.
    calibration : LabelCalibration
        Calibration of the first classifier.
    params : dict of str to object
        Parameters of the estimator that matter in prediction.
    seed : int
        Seed of the random draws.
    score : LabelsetScore or None
        With ``prediction="subset_accuracy"``.
    """

    source: MixtureMargins
    booster: CompiledBooster | None
    calibration: LabelCalibration
    params: dict[str, Any]
    seed: int
    score: LabelsetScore | None
    _chain: ClassVar[Any]
    _search: ClassVar[LabelsetSearch | None]

    def __post_init__(self) -> None:
        """Make an estimator that can predict from margins, and no more; and the search."""
        chain: Any = OrderFreeChainClassifier(**self.params)
        chain.booster_, chain.calibration_ = self.booster, self.calibration
        chain.n_labels_, chain._seed = len(self.calibration.slope), self.seed
        chain.labelset_score_ = self.score
        object.__setattr__(self, "_chain", chain)
        search = None
        if self.booster is not None and self.params["prediction"] in ("mode", "subset_accuracy"):
            score = self.score if self.params["prediction"] == "subset_accuracy" else None
            search = self.booster.search(self.params["n_beams"], score)
        object.__setattr__(self, "_search", search)

    def outputs(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins of the labels that vary; None if X has to be checked."""
        margins = self.source.margins(X, n_threads)
        return None if margins is None else margins[:, self.calibration.constant.varied]

    def margins(self, outputs: Outputs) -> Outputs:
        """Compute log-odds."""
        log_odds = self._chain._log_odds(outputs, self._unknown(outputs))
        return self.calibration.constant.in_margins(log_odds)

    def proba(self, outputs: Outputs) -> Outputs:
        """Compute probabilities."""
        return self._chain._marginals(outputs, self._unknown(outputs))

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Decide labels."""
        if self._search is None:
            return self._chain._decide(outputs, self._unknown(outputs))
        constant = self.calibration.constant
        labels = np.tile(constant.value, (len(outputs), 1))
        labels[:, constant.varied] = self._search.decide(outputs)
        return labels.astype(np.int64)

    def _unknown(self, outputs: Outputs) -> NDArray[np.float32]:
        return np.full((len(outputs), self._chain.n_labels_), np.nan, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class CompiledParts:
    """A compiled model, except for the number of threads.

    Attributes
    ----------
    input : InputForm
        The form of X and Y.
    predictor
        Computes outputs.
    """

    input: InputForm
    predictor: (
        BoosterPredictor
        | DecisionPredictor
        | ChainPredictor
        | OrderFreePredictor
        | EstimatorPredictor
    )
