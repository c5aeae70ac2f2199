"""One booster, calibrated on folds, whose probabilities every decision rule reads."""

from functools import partial

from experiments.engine.registry import Method
from experiments.method_parts.decision_rules import promise_error, promise_gap, rule_readings
from experiments.method_parts.scores import OF_PROBABILITIES, log_loss_given_one
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset
from xdcc.decision import TunedDecisionClassifierCV


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


READINGS = rule_readings()
METHOD = Method(
    title="one booster, calibrated on folds, with each decision rule",
    reference="this project: xdcc.decision.TunedDecisionClassifierCV",
    build=_build,
    params={"n_estimators": 1000, "calibrate": True},
    readings=READINGS,
    scores=OF_PROBABILITIES
    | {"log_loss_given_one": log_loss_given_one}
    | {f"promise_gap@{name}": partial(promise_gap, reading=name) for name in READINGS}
    | {f"promise_error@{name}": partial(promise_error, reading=name) for name in READINGS},
)
