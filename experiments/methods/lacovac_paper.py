"""The methods of the LaCovaC paper, as its numbers come out (`method_parts/lacovac_paper.py`)."""

from typing import Any

import numpy as np

from experiments.engine.registry import Method, predicted_labels
from experiments.method_parts import lacovac_paper as paper
from experiments.method_parts.base_learners import nominal_features
from experiments.method_parts.j48_tree import J48TreeClassifier
from experiments.method_parts.readings import pcut_reading
from xdcc.data import MultiLabelDataset
from xdcc.lacovac import LaCovaCClassifier


def _build(train: MultiLabelDataset, seed: int, kind: str, cut: bool, certain: bool, pruned: bool,
           smooth: Any, **params: Any) -> paper.AsPublished:  # fmt: skip
    if kind == "tree":
        model: Any = LaCovaCClassifier(n_jobs=1, **params)
        if not cut:
            model.set_params(categorical_features=nominal_features(train))
    elif kind not in paper.PEERS:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join([*paper.PEERS, 'tree'])}")
    else:
        order = {"order": np.arange(train.n_labels)} if kind == "cc" else {}  # as in MEKA
        tree = J48TreeClassifier() if pruned else J48TreeClassifier(confidence=None, laplace=True)
        model = paper.PEERS[kind](estimator=tree, random_state=seed, **order)
    return paper.AsPublished(model, cut=cut, certain=certain, smooth=smooth)


METHOD = Method(
    title="trees, chains and powersets as in the LaCovaC paper",
    reference="Al-Otaibi, Kull, Flach, ECAI 2016",
    build=_build,
    params={"kind": "br", "cut": True, "certain": False, "pruned": False, "smooth": None},
    readings={"labels": predicted_labels, "pcut": pcut_reading, "ties": paper.pcut_with_ties},
    scores={"log_loss": paper.smoothed_log_loss},
)
