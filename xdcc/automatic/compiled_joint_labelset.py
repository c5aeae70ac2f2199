"""``CompiledJointLabelset``: the rule of :mod:`xdcc.automatic.joint_labelset` as it predicts."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import LabelsetScore
from xdcc.decision.calibration import ConstantLabels
from xdcc.decision.labelsets import KnownLabelsets
from xdcc.decision.rule import Decides
from xdcc.prediction._kernel import LabelsetSearch

JOINT = 0.5
"""Weight of the chain beside the independent labels."""
N_BEAMS = 8


@stored
@dataclass(frozen=True, eq=False)
class CompiledJointLabelset(Decides):
    """`JointLabelset` with a flat booster.

    Attributes
    ----------
    booster : CompiledBooster
    constant, known, prior
        The attributes of `JointLabelset`.
    """

    name: ClassVar[str] = "joint_labelset"
    booster: Annotated[CompiledBooster, Of(n_outputs="constant.n_varied")]
    constant: ConstantLabels
    known: Annotated[KnownLabelsets, Of(n_labels="constant.n_varied")]
    prior: float
    _search: ClassVar[LabelsetSearch]

    def _check_labels(self, n_labels: int) -> None:
        require(self.constant.n_labels == n_labels, "constant labels of the rule")

    def __post_init__(self) -> None:
        """Make the search."""
        score = LabelsetScore(JOINT, self.prior, self.known)
        object.__setattr__(self, "_search", self.booster.search(N_BEAMS, score))

    def decide(self, margins: Any) -> NDArray[np.int8]:
        """Predict labels, `(n_samples, n_labels)`, from log-odds of the same shape."""
        labels = np.zeros(margins.shape, dtype=np.int8)
        labels[:, self.constant.varied] = self._search.decide(margins[:, self.constant.varied])
        return self.constant.in_labels(labels)
