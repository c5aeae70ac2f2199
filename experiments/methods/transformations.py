"""Problem transformations: binary relevance, chains, powersets and others.

The base learners are scikit-learn's (trees, logistic regression) and default XGBoost.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from xgboost import XGBClassifier

from experiments.engine.registry import Method, Params, predicted_labels
from experiments.method_parts import (
    BOOSTER_GRID,
    OF_PROBABILITIES,
    base_learner,
    independent_cll_loss,
    log_loss,
    pcut_rule,
    random_order,
)
from xdcc.comparators import baselines
from xdcc.data import MultiLabelDataset

CHENG = (
    "Dembczyński, Cheng, Hüllermeier, Bayes optimal multilabel classification via probabilistic "
    "classifier chains, 2010"
)
OVERVIEW = "Tsoumakas and Katakis, Multi-label classification: an overview, 2007"
READ = (
    "Read, Pfahringer, Holmes, Frank, Classifier chains for multi-label classification, "
    "Machine Learning 85, 2011"
)


def _learner(train: MultiLabelDataset, seed: int, kind: type, base: str, C: float = 1.0,
           tree: Params | None = None, order_seed: int | None = None,
           **params: Any) -> Any:  # fmt: skip
    """With parameters of the base learner: `C` of a regression, those of a `tree`.

    With `order_seed` a chain has a random order of this seed.
    """
    learner = base_learner(base, train, C, **(tree or {}))
    if order_seed is not None:
        params["order"] = random_order(train, order_seed)
    return kind(estimator=learner, random_state=seed, **params)


def _on_learner(
    kind: type, title: str, reference: str, base: str = "tree", **scores: Any
) -> Method:
    return Method(
        title=title,
        reference=reference,
        build=partial(_learner, kind=kind),
        params={"base": base},
        rules={"labels": predicted_labels, "pcut": pcut_rule},
        scores=OF_PROBABILITIES | scores,
    )


def _br(train: MultiLabelDataset, seed: int, **params: Any) -> baselines.BinaryRelevance:
    return baselines.BinaryRelevance(random_state=seed, n_jobs=1, **params)


def _cc(train: MultiLabelDataset, seed: int, **params: Any) -> baselines.ClassifierChain:
    return baselines.ClassifierChain(random_state=seed, n_jobs=1, **params)


def _lp(train: MultiLabelDataset, seed: int, **params: Any) -> baselines.LabelPowerset:
    return baselines.LabelPowerset(estimator=XGBClassifier(n_jobs=1, **params), random_state=seed)


def _on_xgboost(build: Callable[..., Any], title: str, reference: str, **params: Any) -> Method:
    return Method(
        title=title,
        reference=reference,
        build=build,
        params=params,
        grid=BOOSTER_GRID,
        scores={"log_loss": log_loss},
    )


METHODS = {
    "br_learner": _on_learner(
        baselines.BinaryRelevance, "binary relevance", OVERVIEW, cll_loss=independent_cll_loss
    ),
    "cc_learner": _on_learner(baselines.ClassifierChain, "classifier chain, random order", READ),
    "lp": _on_learner(baselines.LabelPowerset, "label powerset", OVERVIEW),
    "pcc": _on_learner(
        baselines.ProbabilisticClassifierChain, "probabilistic classifier chain", CHENG, "logistic"
    ),
    "ecc": _on_learner(
        baselines.EnsembleOfChains, "ensemble of chains in random orders", READ, "logistic"
    ),
    "epcc": _on_learner(
        baselines.ProbabilisticEnsembleOfChains,
        "ensemble of probabilistic chains",
        CHENG,
        "logistic",
    ),
    "homer": _on_learner(
        baselines.HOMER,
        "hierarchy of label clusters",
        "Tsoumakas, Katakis, Vlahavas, Effective and efficient multilabel classification in "
        "domains with large number of labels, 2008",
    ),
    "lpbr": _on_learner(
        baselines.LPBR,
        "label powersets on clusters of dependent labels",
        "Tenenboim-Chaimovich, Rokach, Shapira, Identification of label dependencies for "
        "multi-label classification, 2010",
    ),
    "br": _on_xgboost(_br, "binary relevance with default XGBoost", OVERVIEW),
    "cc": _on_xgboost(
        _cc, "classifier chain with default XGBoost, random order", READ, order="random"
    ),
    "lp_xgboost": _on_xgboost(_lp, "label powerset with default XGBoost", OVERVIEW),
}
