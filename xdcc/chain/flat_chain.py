"""The flat form of dynamic chains, and what predicts with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from xdcc.base.margins import margins_of
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.chain.loop import labels_from_proba
from xdcc.decision.calibration import LabelCalibration
from xdcc.prediction.builder import LayoutBuilder
from xdcc.prediction.layout import ChainPart, Layout
from xdcc.prediction.predictors import MarginSource, Outputs, WithKernels, WithOneKernel


def chain_layout(model: Any) -> Layout:
    """Flatten a fitted `DynamicChainClassifier`."""
    n_outputs = model.n_labels_ + model.end_label_
    builder = LayoutBuilder(model.n_features_in_ + n_outputs, n_outputs)
    for boosters in model.boosters_:
        builder.add_boosters(boosters)
    part = ChainPart(model.rule_, model.end_label_, model.prediction, model.cumulation)
    return builder.build(None, chain=part)


@stored
@dataclass(frozen=True, eq=False)
class ChainPredictor(WithOneKernel):
    """A dynamic chain; outputs are probabilities."""

    _kind: ClassVar[str] = "chain"

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


@stored
@dataclass(frozen=True, eq=False)
class ChainMargins(WithKernels, MarginSource):
    """Calibrated means of the margins of dynamic chains.

    Attributes
    ----------
    layouts : list of Layout
        The chains.
    calibration : LabelCalibration
        Calibration of the mean.
    """

    _kind: ClassVar[str] = "chain"
    calibration: Annotated[LabelCalibration, Of(n_labels="n_outputs")]

    @classmethod
    def of(cls, chains: Sequence[Any], calibration: LabelCalibration) -> "ChainMargins":
        """Flatten fitted chains."""
        return cls([chain_layout(chain) for chain in chains], calibration)

    def margins(self, X: Any, n_threads: int) -> Outputs | None:
        """Predict margins; None if X has to be checked."""
        found = self._of_each(self._kernels, X, n_threads)
        if found is None:
            return None
        total = margins_of(found[0])
        for proba in found[1:]:
            total = total + margins_of(proba)
        return self.calibration.margins(total / len(found))
