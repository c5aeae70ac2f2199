"""BR, CC, PCC and ensembles of chains on logistic regression, as in the MC paper."""

from experiments.engine.registry import Method
from experiments.method_parts.logistic_chains import LogisticChains, cll_loss_of_own_labels
from experiments.method_parts.scores import cll_loss, log_loss
from xdcc.data import MultiLabelDataset


def _build(train: MultiLabelDataset, seed: int, n_chains: int, beam_width: int) -> LogisticChains:
    return LogisticChains(n_chains, beam_width, seed)


METHOD = Method(
    title="binary relevance and chains on logistic regression, one strength for all models",
    reference="Read et al., 2011; Dembczyński et al., 2010; as in Hong et al., CIKM 2014",
    build=_build,
    params={"n_chains": 0, "beam_width": 1},
    scores={
        "log_loss": log_loss,
        "cll_loss": cll_loss_of_own_labels,
        "chain_rule_cll_loss": cll_loss,
    },
)
