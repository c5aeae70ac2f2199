"""``CompiledBooster``: the booster of an order-free chain as flat arrays, and its search."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from xdcc.base.libraries import xgb
from xdcc.base.stored import stored
from xdcc.chain.order_free_inference import N_KNOWN, PRIOR_OF_CANDIDATES, SLACK, LabelsetScore
from xdcc.prediction._kernel import LabelsetSearch
from xdcc.prediction.builder import LayoutBuilder
from xdcc.prediction.predictors import Outputs, WithKernels, of_margins


@stored
@dataclass(frozen=True, eq=False)
class CompiledBooster(WithKernels):
    """The booster of an order-free chain, for `LabelStates`.

    Attributes
    ----------
    layouts : list of Layout
        One, which starts from its first features: the margins.
    """

    _kind: ClassVar[str] = "from features"
    _is_one: ClassVar[bool] = True

    @classmethod
    def of(cls, booster: "xgb.Booster", n_labels: int) -> Self:
        """Flatten the booster of a chain of labels that vary."""
        builder = LayoutBuilder(2 * n_labels, n_labels)
        builder.add_boosters([booster])
        return cls([builder.build(None, starts_from_features=True)])

    def inplace_predict(self, data: Any, **kwargs: Any) -> Outputs:
        """Predict margins for [margins | revealed labels]."""
        return of_margins(self._kernels[0], data, 1)

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
