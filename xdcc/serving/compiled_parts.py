"""What a compiled model consists of: kernels, decision rule and the form of X.

`CompiledParts` is what a file stores of a compiled model. All its parts are of known classes
(``known_classes.py``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.automatic.mixture import second_level, weighted_sum
from xdcc.base.checks import learned_by
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision.calibration import ConstantLabels
from xdcc.decision.rules import AnyRule
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving._compiled_prediction import Kernel
from xdcc.serving.compiled_layout import Layout

CHECKERS: Mapping[str, type[MultiLabelEstimator]] = {
    cls.__name__: cls
    for cls in (MultiLabelXGBClassifier, SketchedExtraTreesClassifier, LogisticLabels)
}
"""Classes that check X, by name."""


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
        What it has learned about the form, such as the number of features.
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
class CompiledMargins:
    """Computes margins.

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

    layouts: list[Layout]
    shares: list[float]
    second_share: float

    _kernels: ClassVar[Sequence[Kernel]]

    def __post_init__(self) -> None:
        """Make the kernels."""
        object.__setattr__(self, "_kernels", [Kernel(layout) for layout in self.layouts])

    def margins(self, X: Any, n_threads: int) -> NDArray[np.floating] | None:
        """Predict as `Kernel.margins` does."""
        first, *others = self._kernels
        if not others:
            return first.margins(X, n_threads)
        found = []
        for kernel in self._kernels[:-1]:
            margins = kernel.margins(X, n_threads)
            if margins is None:
                return None
            found.append(margins)
        own = self._kernels[-1].margins(second_level(found), n_threads)
        assert own is not None
        mixed = weighted_sum(self.shares, found)
        return weighted_sum([1 - self.second_share, self.second_share], [mixed, own])


@dataclass(frozen=True, eq=False)
class CompiledParts:
    """A compiled model, except for the number of threads.

    Attributes
    ----------
    input : InputForm
        The form of X and Y.
    predictor : CompiledMargins
        Computes margins.
    rule : Rule or None
        Decision rule; None for a single booster.
    constant : ConstantLabels or None
        Labels that are the same in all rows; None for a single booster.
    """

    input: InputForm
    predictor: CompiledMargins
    rule: AnyRule | JointLabelset | None
    constant: ConstantLabels | None
