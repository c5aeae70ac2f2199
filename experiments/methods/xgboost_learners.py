"""XGBoost as base learner: a model for each label, a chain of them, one for labelsets."""

from collections.abc import Callable
from typing import Any

from xgboost import XGBClassifier

from experiments.engine.registry import Method
from experiments.method_parts.base_learners import BOOSTER_GRID
from experiments.method_parts.scores import log_loss
from xdcc import baselines
from xdcc.data import MultiLabelDataset


def _br(train: MultiLabelDataset, seed: int, **params: Any) -> baselines.BinaryRelevance:
    return baselines.BinaryRelevance(random_state=seed, n_jobs=1, **params)


def _cc(train: MultiLabelDataset, seed: int, **params: Any) -> baselines.ClassifierChain:
    return baselines.ClassifierChain(random_state=seed, n_jobs=1, **params)


def _lp(train: MultiLabelDataset, seed: int, **params: Any) -> baselines.LabelPowerset:
    return baselines.LabelPowerset(estimator=XGBClassifier(n_jobs=1, **params), random_state=seed)


def _method(build: Callable[..., Any], title: str, reference: str, **params: Any) -> Method:
    return Method(
        title=title,
        reference=reference,
        build=build,
        params=params,
        grid=BOOSTER_GRID,
        scores={"log_loss": log_loss},
    )


OVERVIEW = "Tsoumakas and Katakis, Multi-label classification: an overview, 2007"
READ = (
    "Read, Pfahringer, Holmes, Frank, Classifier chains for multi-label classification, "
    "Machine Learning 85, 2011"
)

METHODS = {
    "br": _method(_br, "binary relevance with default XGBoost", OVERVIEW),
    "cc": _method(_cc, "classifier chain with default XGBoost, random order", READ, order="random"),
    "lp_xgboost": _method(_lp, "label powerset with default XGBoost", OVERVIEW),
}
