"""One fitted estimator predicts for many threads at once, as it does for one."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from xdcc.baselines import BinaryRelevance, ClassifierChain
from xdcc.boomer import BoomerClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.ctbn import CTBNMixtureClassifier
from xdcc.decision import ThresholdClassifier
from xdcc.lacovac import LaCovaCForestClassifier
from xdcc.rdt import RandomDecisionTreeClassifier
from xdcc.serving import StockChain, load_model, save_model, to_stock

N_THREADS = 32
SMALL = {"n_estimators": 4, "max_depth": 3}

MODELS = {
    "boosting": lambda: MultiLabelXGBClassifier(**SMALL),
    "dynamic chain": lambda: DynamicChainClassifier(**SMALL, chain_length=2, cv=2),
    "order-free chain": lambda: OrderFreeChainClassifier(n_estimators=4, n_masks=2, cv=2),
    "boomer": lambda: BoomerClassifier(n_rules=20),
    "random trees": lambda: RandomDecisionTreeClassifier(n_estimators=10),
    "forest": lambda: LaCovaCForestClassifier(n_estimators=4),
    "mixture": lambda: CTBNMixtureClassifier(max_components=2, n_anneal=5),
    "relevance": lambda: BinaryRelevance(),
    "classifier chain": lambda: ClassifierChain(),
    "thresholds": lambda: ThresholdClassifier(MultiLabelXGBClassifier(**SMALL), cv=2),
}


def _same_for_all(reference, predict, inputs):
    """Compare what threads get that begin together with what one thread gets of another model.

    So what an estimator does when it predicts for the first time, it does for many at once.
    """
    expected = [reference(X) for X in inputs]
    barrier = threading.Barrier(N_THREADS)

    def work(number):
        barrier.wait(60)
        return [
            np.array_equal(predict(inputs[k % len(inputs)]), expected[k % len(inputs)])
            for k in range(number, number + len(inputs))
        ]

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(all(same) for same in pool.map(work, range(N_THREADS)))


@pytest.fixture(scope="module")
def inputs(rows):
    X = np.nan_to_num(rows.X_new)
    return [X[:40], X[:7], X[7:8], X[8:30]]


@pytest.mark.parametrize("name", MODELS)
def test_an_estimator_predicts_for_many_threads(name, rows, inputs, tmp_path):
    model = MODELS[name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    save_model(model.fit(np.nan_to_num(rows.X), rows.Y), tmp_path / "model")
    _same_for_all(model.predict_proba, load_model(tmp_path / "model").predict_proba, inputs)
    _same_for_all(model.predict, load_model(tmp_path / "model").predict, inputs)


def test_sparse_rows_of_many_threads(rows, inputs, tmp_path):
    model = MultiLabelXGBClassifier(**SMALL, random_state=0)
    save_model(model.fit(sparse.csr_matrix(np.nan_to_num(rows.X)), rows.Y), tmp_path / "model")
    inputs = [sparse.csr_matrix(X) for X in inputs]
    _same_for_all(model.predict_proba, load_model(tmp_path / "model").predict_proba, inputs)


def test_an_exported_chain_predicts_for_many_threads(rows, inputs, tmp_path):
    to_stock(MODELS["dynamic chain"]().fit(np.nan_to_num(rows.X), rows.Y), tmp_path / "exported")
    one, other = StockChain(tmp_path / "exported"), StockChain(tmp_path / "exported")
    _same_for_all(one.predict_proba, other.predict_proba, inputs)
