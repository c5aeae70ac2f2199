"""Dynamic chains in experiments: their readings, the times of their rounds, and their order."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from experiments.engine.registry import Labels, Reading, Split
from xdcc.chain import DynamicChainClassifier
from xdcc.data import MultiLabelDataset
from xdcc.explain import round_statistics

MAX_ROUNDS = 10
"""Rounds of a chain unless a configuration says otherwise: a chain of all labels of bibtex takes
too long to be tuned."""


def build_chain(
    train: MultiLabelDataset, seed: int, chain_length: int | str | None, **params: Any
) -> DynamicChainClassifier:
    """Return a chain of at most as many rounds as there are labels."""
    if isinstance(chain_length, int):
        chain_length = min(chain_length, train.n_labels)
    return DynamicChainClassifier(
        chain_length=chain_length,  # type: ignore[arg-type]
        random_state=seed,
        n_jobs=1,
        **params,
    )


def fit_chain(chain: DynamicChainClassifier, train: MultiLabelDataset) -> dict[str, Any]:
    """Train a chain; return the wall seconds of its rounds."""
    seconds: list[float] = []
    chain.fit(train.X, train.Y, callback=lambda _, __, taken: seconds.append(taken))
    return {"round_seconds": seconds}


def chain_readings() -> dict[str, Reading]:
    """Return the cumulated and the standard prediction; their stages are the rounds."""
    return {name: partial(_after_each_round, prediction=name) for name in ("cumulated", "standard")}


def _after_each_round(
    chain: DynamicChainClassifier, split: Split, prediction: str
) -> Iterator[Labels]:
    before = chain.prediction
    stages = list(chain.set_params(prediction=prediction).staged_predict(split.X))
    chain.set_params(prediction=before)  # other readings of the same model
    return iter(stages)


def positives_per_round(chain: DynamicChainClassifier, X: Any, Y: Any) -> dict[str, Any]:
    """Return how many labels each round decides as positive and as negative."""
    rounds = round_statistics(chain, X).by_round()
    return {name: rounds[name].tolist() for name in ("positive", "negative")}
