"""`StockChain` takes the same steps as `xdcc.chain`, on predictions with many ties.

Both walk through rounds of invented boosters, whose margins are a few whole numbers: several
labels have the same probability, and many have exactly 0.5.
"""

import hashlib
import json

import numpy as np
import pytest
from scipy import sparse

from xdcc.chain.loop import ChainRun, cumulated_proba, labels_from_proba, run_chain, standard_proba
from xdcc.chain.propagation import PropagationRule
from xdcc.serving import StockChain, stock_chain
from xdcc.serving.stock_chain import FORMAT_VERSION, logistic

N_ROWS, N_LABELS, N_ROUNDS = 300, 7, 3
RULES = [
    PropagationRule(candidates, order, labels_per_round)
    for candidates, order, labels_per_round in (
        ("open", "positive", 1),
        ("open", "positive", 2),
        ("open", "certainty", 1),
        ("open", "certainty", 3),
        ("all", "positive", 1),
    )
]


class _InventedBooster:
    """Margins of a row, known by its first feature; known label features add to them."""

    def __init__(self, margins):
        self._margins = margins

    def num_features(self):
        return 1 + self._margins.shape[1]

    def inplace_predict(self, joined, *, predict_type="value", **_):
        if sparse.issparse(joined):
            dense = np.full(joined.shape, np.nan, dtype=np.float32)
            coo = joined.tocoo()
            stored = ~np.isnan(coo.data)
            dense[coo.row[stored], coo.col[stored]] = coo.data[stored]
            joined = dense
        rows = joined[:, 0].astype(int) - 1
        further = np.nan_to_num(joined[:, 1:]).round().sum(axis=1, keepdims=True)
        margins = self._margins[rows] + further.astype(np.float32)
        return margins if predict_type == "margin" else logistic(margins)


@pytest.mark.parametrize("make_X", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_folds", [1, 3])
@pytest.mark.parametrize("end_label", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_same_steps(rule, end_label, n_folds, make_X, tmp_path, monkeypatch):
    rng = np.random.default_rng(len(str(rule)) + 10 * end_label + n_folds)
    shape = (N_ROUNDS, n_folds, N_ROWS, N_LABELS + end_label)
    margins = rng.integers(-2, 2, shape).astype(np.float32)
    rounds = [[_InventedBooster(fold) for fold in round_] for round_ in margins]
    X = make_X(np.arange(1, N_ROWS + 1, dtype=np.float32)[:, np.newaxis])

    for state in run_chain(ChainRun(X, N_LABELS, N_ROUNDS, rule, end_label), rounds):
        last = state
    assert np.isnan(last.P).any() or rule.labels_per_round > 1
    assert last.ended.any() == end_label

    names = [[f"round_{r:03}_{f}.ubj" for f in range(n_folds)] for r in range(N_ROUNDS)]
    files = {names[r][f]: rounds[r][f] for r in range(N_ROUNDS) for f in range(n_folds)}
    for name in files:
        (tmp_path / name).touch()
    empty = hashlib.sha256().hexdigest()
    monkeypatch.setattr(stock_chain, "_booster", lambda path, *_: files[path.name])
    for prediction, cumulation, expected in (
        ("standard", "equation9", standard_proba(last.P)),
        ("cumulated", "equation9", cumulated_proba(last.running, last.P, "equation9")),
        ("cumulated", "authors", cumulated_proba(last.running, last.P, "authors")),
    ):
        settings = dict(
            format_version=FORMAT_VERSION,
            xgboost="3.4.1",
            label_names=list("abcdefg"),
            output="labels",
            one_target=False,
            classes=None,
            n_features=1,
            feature_names=None,
            categories=[],
            sparse_zeros="missing",
            sparse_X=sparse.issparse(X),
            n_label_features=N_LABELS + end_label,
            candidates=rule.candidates,
            order=rule.order,
            labels_per_round=rule.labels_per_round,
            end_label=end_label,
            prediction=prediction,
            cumulation=cumulation,
            rounds=[[empty] * n_folds] * N_ROUNDS,
        )
        (tmp_path / "chain.json").write_text(json.dumps(settings))
        stock = StockChain(tmp_path)
        np.testing.assert_array_equal(stock.predict_proba(X), expected)
        labels = labels_from_proba(expected, prediction, cumulation)
        np.testing.assert_array_equal(stock.predict(X), labels)
