"""``OrderFreePredictor``: what an order-free chain predicts, from the margins of all labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import Choice, Domain, Number, check_domain
from xdcc.base.label_rows import row_blocks
from xdcc.base.labels import Labels
from xdcc.base.libraries import special
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.base.stored_types import Of
from xdcc.chain.label_booster import CompiledBooster
from xdcc.chain.order_free_inference import (
    BLOCK_ENTRIES,
    LabelsetScore,
    LabelStates,
    draw_labelsets,
    probable_labelsets,
)
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.cuts import Floats
from xdcc.decision.f1_maximiser import SizedMarginals
from xdcc.prediction._kernel import LabelsetSearch
from xdcc.prediction.predictors import MarginSource, Outputs

LabelsetPrediction = Literal["mode", "subset_accuracy", "example_f1", "marginal"]

LABELSET_PREDICTIONS: tuple[str, ...] = get_args(LabelsetPrediction)
"""Kinds of predictions of an order-free chain."""

PREDICTION_DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {
        "prediction": Choice(LABELSET_PREDICTIONS),
        "n_beams": Number(low=1, whole=True),
        "n_draws": Number(low=1, whole=True),
    }
)
"""Domains of the parameters that matter in prediction."""


@stored
@dataclass(frozen=True, eq=False)
class OrderFreePredictor:
    """An order-free chain; outputs are the margins of the first classifier.

    Attributes
    ----------
    source : MarginSource
        Computes margins of all labels.
    booster : CompiledBooster or None
        Booster of the labels that vary; None if they do not depend on each other.
    calibration : LabelCalibration
        Calibration of the first classifier.
    params : dict of str to object
        Parameters of the estimator that matter in prediction.
    seed : int
        Of draws.
    score : LabelsetScore or None
        With ``prediction="subset_accuracy"``.
    """

    source: MarginSource
    booster: CompiledBooster | None
    calibration: Annotated[LabelCalibration, Of(n_labels="source.n_outputs")]
    params: dict[str, Any]
    seed: int
    score: LabelsetScore | None
    _search: ClassVar[LabelsetSearch | None]

    def _check_state(self) -> None:
        n_varied, score = self.calibration.constant.n_varied, self.score
        if self.booster is not None:
            require(self.booster.n_outputs == n_varied, "booster")
        require(self.params.keys() == PREDICTION_DOMAINS.keys(), "params")
        for name, domain in PREDICTION_DOMAINS.items():
            check_domain(name, self.params[name], domain)
        require(max(self.params["n_beams"], self.params["n_draws"]) <= 2**20, "params")
        np.random.default_rng(self.seed)
        if score is not None:
            require(score.known.n_labels == n_varied, "score")
        require(score is not None or self.params["prediction"] != "subset_accuracy", "score")

    @property
    def n_outputs(self) -> int:
        """Number of labels."""
        return self.calibration.n_labels

    @property
    def n_given(self) -> int:
        """Number of features of X, if what computes margins is flat."""
        source: Any = self.source
        return int(source.n_given)

    def __post_init__(self) -> None:
        """Make the search."""
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
        return self.calibration.constant.in_margins(self.log_odds(outputs, self._unknown(outputs)))

    def proba(self, outputs: Outputs) -> Outputs:
        """Compute probabilities."""
        return self.marginals(outputs, self._unknown(outputs))

    def labels(self, outputs: Outputs) -> NDArray[np.int64]:
        """Decide labels."""
        if self._search is None:
            return self.decide(outputs, self._unknown(outputs))
        constant = self.calibration.constant
        labels = np.tile(constant.value, (len(outputs), 1))
        labels[:, constant.varied] = self._search.decide(outputs)
        return labels.astype(np.int64)

    def begin(self, margins: Outputs) -> LabelStates:
        """Get rows at the beginning of the chain."""
        return LabelStates.begin(self.booster, margins.astype(np.float32))

    def states(self, margins: Outputs, given: Labels) -> Iterator[tuple[slice, LabelStates]]:
        """Walk over blocks of rows at the beginning of the chain; there are none without labels.

        `given` has the labels that are known, NaN for others.
        """
        n_rows, n_labels = margins.shape
        if n_labels:
            start, revealed = margins.astype(np.float32), self.of_varied(given)
            for rows in row_blocks((n_rows, n_labels * self.params["n_beams"]), BLOCK_ENTRIES):
                yield rows, LabelStates(self.booster, start[rows], revealed[rows])

    def of_varied(self, labels: Labels) -> Labels:
        """Take the labels that vary."""
        return np.ascontiguousarray(labels[:, self.calibration.constant.varied])

    def log_odds(self, margins: Outputs, given: Labels) -> Labels:
        """Predict the labels that vary, given those that are known; 0 for the others."""
        log_odds = np.zeros_like(given)
        varied = np.flatnonzero(self.calibration.constant.varied)
        for rows, states in self.states(margins, given):
            log_odds[rows, varied] = states.log_odds()
        return log_odds

    def marginals(self, margins: Outputs, given: Labels) -> Floats:
        """Predict probabilities; those of known labels are 0 and 1."""
        proba = self.calibration.constant.in_proba(special.expit(self.log_odds(margins, given)))
        return np.where(np.isnan(given), proba, given)

    def decide(self, margins: Outputs, given: Labels) -> NDArray[np.int64]:
        """Decide labels, given those that are known."""
        prediction, n_beams = self.params["prediction"], self.params["n_beams"]
        if prediction == "marginal":
            return (self.marginals(margins, given) >= 0.5).astype(np.int64)
        labels = np.tile(self.calibration.constant.value, (len(given), 1))
        varied = np.flatnonzero(self.calibration.constant.varied)
        rng = np.random.default_rng(self.seed)
        for rows, states in self.states(margins, given):
            if prediction == "mode":
                labels[rows, varied] = probable_labelsets(states, n_beams).first()
            elif prediction == "subset_accuracy":
                assert self.score is not None
                labels[rows, varied] = self.score.best(states, n_beams)
            else:
                draws = self.with_constant(
                    draw_labelsets(states, self.params["n_draws"], rng), given[rows], rng
                )
                labels[rows] = SizedMarginals.of_samples(draws).maximise().labels
        return np.where(np.isnan(given), labels, given).astype(np.int64)

    def with_constant(
        self, draws: NDArray[np.int8], given: Labels, rng: np.random.Generator
    ) -> NDArray[np.int8]:
        """Put draws of constant labels, and those that are known, beside draws of the others."""
        constant = self.calibration.constant
        shape = (*draws.shape[:2], given.shape[1])
        whole = (rng.random(shape) < constant.proba).astype(np.int8)
        whole[:, :, constant.varied] = draws
        given = given[:, np.newaxis]
        return np.where(np.isnan(given), whole, given).astype(np.int8)

    def _unknown(self, outputs: Outputs) -> NDArray[np.float32]:
        n_labels = len(self.calibration.slope)
        return np.full((len(outputs), n_labels), np.nan, dtype=np.float32)
