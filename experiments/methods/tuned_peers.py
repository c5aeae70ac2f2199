"""Methods of any library with the decision rules of this package; `MultiLabelClassifier` at 0.5.

`<method>_decided` is the method in `xdcc.decision.TunedDecisionClassifierCV`: five folds and
calibration. It is trained once for all metrics. The rule with a metric's name is learned for that
metric on the out-of-fold probabilities; its time includes the learning. The rule `at 0.5` is the
same model without a learned rule.
"""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from experiments.engine.registry import DecisionRule, Labels, Method, Split, predicted_labels
from experiments.method_parts import log_loss
from experiments.methods import boosted_rules, boosters, other_libraries, transformations
from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.data import MultiLabelDataset
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.rule_choice import choose_rule

MEASURED = ("subset_accuracy", "example_f1", "hamming_accuracy")

PEERS = {
    name: method
    for family in (boosted_rules, boosters, other_libraries, transformations)
    for name, method in family.METHODS.items()
    if name in {"boomer", "mlrl_boomer", "mlxgb", "lightgbm_br", "catboost_varied", "forest",
                "forest_br", "extra_trees", "br", "cc"}
}  # fmt: skip


class ReadByRules(BaseEstimator):
    """A classifier trained on folds and calibrated, with a decision rule for each metric."""

    def __init__(self, estimator: Any, random_state: int = 0) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Train the folds and calibrate them."""
        tuned = TunedDecisionClassifierCV(
            self.estimator, rules=["label_wise"], random_state=self.random_state, n_jobs=1
        )
        self.tuned_ = tuned.fit(X, Y)
        self._predicted: tuple[Any, Any] = (None, None)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return calibrated probabilities; those of the same rows are kept."""
        if self._predicted[0] is not X:
            self._predicted = (X, self.tuned_.predict_proba(X))
        return self._predicted[1]

    def labels_for(self, measure: str, X: Any, Y_train: Any) -> Labels:
        """Learn the rule for a metric, as the estimator does, and predict with it."""
        Y = np.asarray(Y_train, dtype=np.float32)
        data = FitData(margins_of(self.tuned_.oof_proba_), Y, None)
        found = choose_rule(data, self.tuned_.folds_, measure=measure, seed=self.random_state)
        labels = found.rule.predict(self.predict_proba(X))
        return self.tuned_.calibration_.constant.in_labels(labels)


def _build(train: MultiLabelDataset, seed: int, peer: Method, **params: Any) -> ReadByRules:
    return ReadByRules(peer.build(train, seed, **params), seed)


def _at_half(model: Any, split: Split) -> Labels:
    return (model.predict_proba(split.X) >= 0.5).astype(np.int8)


def _by_rule(model: ReadByRules, split: Split, measure: str) -> Labels:
    return model.labels_for(measure, split.X, split.train.Y)


DECISION_RULES: dict[str, DecisionRule] = {"at 0.5": _at_half}
DECISION_RULES |= {measure: partial(_by_rule, measure=measure) for measure in MEASURED}


METHODS = {
    f"{name}_decided": Method(
        title=f"{peer.title}, with tuned decision rules",
        reference=peer.reference,
        build=partial(_build, peer=peer),
        params=peer.params,
        grid=peer.grid,
        rules=DECISION_RULES,
        scores={"log_loss": log_loss},
        requires=peer.requires,
        revision=2,
    )
    for name, peer in PEERS.items()
} | {
    "auto_at_half": Method(
        title="MultiLabelClassifier, also without its decision rule",
        reference="this project: xdcc.MultiLabelClassifier",
        build=boosters.METHODS["auto"].build,
        params={"measure": "example_f1"},
        rules={"labels": predicted_labels, "at 0.5": _at_half},
        scores={"log_loss": log_loss},
        revision=2,
    )
}
