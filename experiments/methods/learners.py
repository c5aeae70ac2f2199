"""Transformations of the problem on base learners of scikit-learn: trees, logistic regression."""

from functools import partial
from typing import Any

from experiments.engine.registry import Method, Params, predicted_labels
from experiments.method_parts.base_learners import base_learner, random_order
from experiments.method_parts.readings import pcut_reading
from experiments.method_parts.scores import OF_PROBABILITIES, independent_cll_loss
from xdcc import baselines
from xdcc.data import MultiLabelDataset

CHENG = (
    "Dembczyński, Cheng, Hüllermeier, Bayes optimal multilabel classification via probabilistic "
    "classifier chains, 2010"
)
OVERVIEW = "Tsoumakas and Katakis, Multi-label classification: an overview, 2007"
READ = "Read et al., Classifier chains for multi-label classification, 2011"


def _build(train: MultiLabelDataset, seed: int, kind: type, base: str, C: float = 1.0,
           tree: Params | None = None, order_seed: int | None = None,
           **params: Any) -> Any:  # fmt: skip
    """With parameters of the base learner: `C` of a regression, those of a `tree`.

    With `order_seed` a chain has a random order of this seed.
    """
    learner = base_learner(base, train, C, **(tree or {}))
    if order_seed is not None:
        params["order"] = random_order(train, order_seed)
    return kind(estimator=learner, random_state=seed, **params)


def _method(kind: type, title: str, reference: str, base: str = "tree", **scores: Any) -> Method:
    return Method(
        title=title,
        reference=reference,
        build=partial(_build, kind=kind),
        params={"base": base},
        readings={"labels": predicted_labels, "pcut": pcut_reading},
        scores=OF_PROBABILITIES | scores,
    )


METHODS = {
    "br_learner": _method(
        baselines.BinaryRelevance, "binary relevance", OVERVIEW, cll_loss=independent_cll_loss
    ),
    "cc_learner": _method(baselines.ClassifierChain, "classifier chain, random order", READ),
    "lp": _method(baselines.LabelPowerset, "label powerset", OVERVIEW),
    "pcc": _method(
        baselines.ProbabilisticClassifierChain, "probabilistic classifier chain", CHENG, "logistic"
    ),
    "ecc": _method(
        baselines.EnsembleOfChains, "ensemble of chains in random orders", READ, "logistic"
    ),
    "epcc": _method(
        baselines.ProbabilisticEnsembleOfChains,
        "ensemble of probabilistic chains",
        CHENG,
        "logistic",
    ),
    "homer": _method(
        baselines.HOMER,
        "hierarchy of label clusters",
        "Tsoumakas, Katakis, Vlahavas, Effective and efficient multilabel classification in "
        "domains with large number of labels, 2008",
    ),
    "lpbr": _method(
        baselines.LPBR,
        "label powersets on clusters of dependent labels",
        "Tenenboim-Chaimovich, Rokach, Shapira, Identification of label dependencies for "
        "multi-label classification, 2010",
    ),
}
