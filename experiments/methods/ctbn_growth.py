"""A mixture of trees of labels whose growth does not stop, read at every size (Figure 3 of MC)."""

from collections.abc import Iterator
from typing import Any

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts.ctbn_growth import GrowingMixture
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, n_components: int) -> GrowingMixture:
    return GrowingMixture(n_components, seed)


def _labels_by_size(model: GrowingMixture, split: Split) -> Iterator[Labels]:
    return (model.labels(split.X, size) for size in range(1, model.n_components + 1))


def _losses_by_size(model: GrowingMixture, X: Any, Y: Any) -> dict[str, Any]:
    return {"cll_loss": [-float(p) for p in model.log_likelihoods(X, Y)]}


METHOD = Method(
    title="mixture of conditional trees, grown without end",
    reference="Hong, Batal, Hauskrecht, CIKM 2014, Figure 3",
    build=_build,
    params={"n_components": 20},
    readings={"by size": _labels_by_size},
    details=_losses_by_size,
)
