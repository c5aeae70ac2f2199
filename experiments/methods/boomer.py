"""BOOMER: gradient boosted rules for one or for all labels."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from experiments.engine.registry import Labels, Method, Reading, Split, predicted_labels
from experiments.method_parts.base_learners import nominal_features
from experiments.method_parts.scores import log_loss
from xdcc.boomer import BoomerClassifier
from xdcc.data import MultiLabelDataset

COUNTS = (50, 100, 150, 200, 300, 400, 500, 700, 1000, 1500, 2000, 3000, 5000, 7000)
STAGES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> BoomerClassifier:
    nominal = nominal_features(train)
    return BoomerClassifier(categorical_features=nominal, random_state=seed, n_jobs=1, **params)


def _first_rules(model: BoomerClassifier, split: Split, number: int) -> Labels:
    return model.predict(split.X, n_rules=min(number, len(model.rules_)))


def _after_rules(model: BoomerClassifier, split: Split) -> Iterator[Labels]:
    yield from (_first_rules(model, split, k) for k in STAGES if k <= len(model.rules_))


READINGS: dict[str, Reading] = {"labels": predicted_labels, "stages": _after_rules}
READINGS |= {f"{k} rules": partial(_first_rules, number=k) for k in COUNTS}
METHOD = Method(
    title="boosted multi-label rules",
    reference="Rapp, Loza Mencía, Fürnkranz, Nguyen, Hüllermeier, ECML PKDD 2020",
    build=_build,
    params={"n_rules": 1000, "loss": "logistic_example_wise", "head": "complete"},
    grid={"learning_rate": [0.1, 0.3, 0.5], "l2": [0.0, 0.25, 1.0, 4.0, 16.0, 64.0]},
    readings=READINGS,
    scores={"log_loss": log_loss},
)
