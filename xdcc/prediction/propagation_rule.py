"""How a dynamic chain goes from round to round, and what it predicts."""

from dataclasses import dataclass
from typing import Literal, get_args

from xdcc.base.stored import stored

Candidates = Literal["open", "all"]
Order = Literal["positive", "certainty"]

CANDIDATES: tuple[str, ...] = get_args(Candidates)
"""The rules for which labels compete in a round; see :class:`PropagationRule`."""

ORDERS: tuple[str, ...] = get_args(Order)
"""The rules for which of the candidates comes first; see :class:`PropagationRule`."""

Prediction = Literal["cumulated", "standard"]
Cumulation = Literal["equation9", "authors"]

PREDICTIONS: tuple[str, ...] = get_args(Prediction)
"""The predictions of a chain, see :mod:`xdcc.chain.loop`."""

CUMULATIONS: tuple[str, ...] = get_args(Cumulation)
"""The ways to compute the cumulated prediction; see :func:`xdcc.chain.loop.cumulated_proba`."""


@stored
@dataclass(frozen=True)
class PropagationRule:
    """How a round chooses the labels that it propagates.

    Attributes
    ----------
    candidates : {"open", "all"}
        ``"open"``: the labels not propagated before compete (the text of section 3.2). Each
        round propagates a label in every row that has one left. Ties go to the lowest label.

        ``"all"``: all labels compete (equation 8 as printed, and the authors' code). If the
        choice falls on a label that was propagated before, nothing new is propagated; as in the
        authors' code, a stored positive is then raised to the chosen probability, or a stored
        negative lowered to it, but neither ever crosses 0.5. Ties for the largest probability
        go to the last label, for the smallest to the first.
    order : {"positive", "certainty"}
        ``"positive"``: if the largest probability is at least 0.5, its label comes first, else
        the label with the smallest (section 3.2). ``"certainty"``: the label whose probability
        is farthest from 0.5, as in RDT-DCC (equation 5 there); only with open candidates.
    labels_per_round : int
        How many labels a round propagates in a row, if that many are left; more than one only
        with open candidates.

    Raises
    ------
    ValueError
        If ``"all"`` meets another order than ``"positive"`` or more than one label per round.
    """

    candidates: Candidates = "open"
    order: Order = "positive"
    labels_per_round: int = 1

    def __post_init__(self) -> None:
        if self.candidates == "all" and (self.order != "positive" or self.labels_per_round > 1):
            raise ValueError(
                "candidates='all' goes with order='positive' and labels_per_round=1 only; it has "
                f"order={self.order!r} and labels_per_round={self.labels_per_round}. "
                "Use candidates='open'."
            )
