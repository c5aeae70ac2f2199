"""Decision rules on the probabilities of one booster, calibrated on folds.

Each decision rule is learned on the out-of-fold probabilities, scored and used to predict, so its
time is its whole cost. The estimated score is stored in
`model.promises`, for the comparison with the test score.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments.engine.registry import DecisionRule, Labels, Method, Split
from experiments.method_parts import OF_PROBABILITIES, log_loss_given_one
from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.rule_choice import choose_rule
from xdcc.decision.rules import RULE_NAMES, learn_rules, predict_with_all

MEASURED = ("subset_accuracy", "example_f1")
KINDS = [name for name in RULE_NAMES if name != "least_cost"]


def decision_rules() -> dict[str, DecisionRule]:
    """Return the decision rules, named `<kind>, <metric>`.

    Kinds are those of the library; `all`, the best of all kinds by its out-of-fold score, with the
    library's estimate, which is corrected for the choice; `all, not corrected`; and `in sample`,
    the best of the rules that are learned and scored on the training rows of the model.
    """
    ways: dict[str, Callable[..., tuple[Any, float]]] = {
        **{kind: partial(_honest, kinds=[kind]) for kind in KINDS},
        "all": partial(_honest, kinds=KINDS),
        "all, not corrected": partial(_honest, kinds=KINDS, corrected=False),
        "in sample": _in_sample,
    }
    return {
        f"{kind}, {measure}": partial(_read, way=way, measure=measure, name=f"{kind}, {measure}")
        for measure in MEASURED
        for kind, way in ways.items()
    }


def promise_gap(model: Any, split: Split, Y: Any, rule: str) -> float:
    """Return the estimated score minus the score on the test part."""
    promised, labels = model.promises[rule]
    return float(promised - getattr(metrics, rule.rpartition(", ")[2])(Y, labels))


def promise_error(model: Any, split: Split, Y: Any, rule: str) -> float:
    """Return the absolute difference of the estimated score and that on the test part."""
    return abs(promise_gap(model, split, Y, rule))


def _read(model: Any, split: Split, way: Callable[..., Any], measure: str, name: str) -> Labels:
    rule, promised = way(model, split, measure)
    proba = model.predict_proba(split.X)
    labels = model.calibration_.constant.in_labels(rule.predict(proba))
    model.promises = getattr(model, "promises", {}) | {name: (promised, labels)}
    return labels


def _honest(
    model: Any, split: Split, measure: str, kinds: list[str], corrected: bool = True
) -> tuple[Any, float]:
    Y = np.asarray(split.train.Y, dtype=np.float32)
    data = FitData(margins_of(model.oof_proba_), Y, None)
    choice = choose_rule(data, model.folds_, measure=measure, kinds=kinds)
    return choice.rule, choice.score if corrected else max(choice.results["score"])


def _in_sample(model: Any, split: Split, measure: str) -> tuple[Any, float]:
    Y = np.asarray(split.train.Y, dtype=np.float32)
    margins = margins_of(model.predict_proba(split.train.X))
    rules = learn_rules(KINDS, FitData(margins, Y, None), measure)
    scores = [getattr(metrics, measure)(Y, labels) for labels in predict_with_all(rules, margins)]
    return rules[int(np.argmax(scores))], max(scores)


def _build(
    train: MultiLabelDataset, seed: int, calibrate: bool, n_estimators: int
) -> TunedDecisionClassifierCV:
    # The first classifier of the order-free chain.
    booster = MultiLabelXGBClassifier(
        n_estimators=n_estimators, learning_rate=0.05, subsample=0.7, sketch_size=1, max_bin=64,
        labels_per_tree=(train.n_labels + 1) // 2, random_state=seed, n_jobs=1,
    )  # fmt: skip
    return TunedDecisionClassifierCV(
        booster, rules=["label_wise"], calibrate=calibrate, random_state=seed
    )


DECISION_RULES = decision_rules()


METHODS = {
    "decision_rules": Method(
        title="one booster, calibrated on folds, with each decision rule",
        reference="this project: xdcc.decision.TunedDecisionClassifierCV",
        build=_build,
        revision=2,
        params={"n_estimators": 1000, "calibrate": True},
        rules=DECISION_RULES,
        scores=OF_PROBABILITIES
        | {"log_loss_given_one": log_loss_given_one}
        | {f"promise_gap@{name}": partial(promise_gap, rule=name) for name in DECISION_RULES}
        | {f"promise_error@{name}": partial(promise_error, rule=name) for name in DECISION_RULES},
    ),
}
