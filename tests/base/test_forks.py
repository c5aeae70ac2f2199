"""Every kind of estimator works in a forked child of a process that has used threads."""

import os

import pytest

TRAIN_FORK_AND_PREDICT = """
import os, sys, time, warnings
import numpy as np
import xdcc

warnings.simplefilter("ignore")  # Python warns of forks beside threads: it is what is tested
random = np.random.default_rng(0)
X = random.normal(size=(400, 6))
Y = (X[:, :3] + random.normal(size=(400, 3)) > 0).astype(int)


def trained(name, params):
    return getattr(xdcc, name)(n_jobs=2, random_state=0, **params).fit(X, Y)


def exit_status(child):
    end = time.monotonic() + 60
    while (result := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, 9)
        time.sleep(0.01)
    return os.waitstatus_to_exitcode(result[1])


for name, params in eval(sys.argv[1]).items():
    estimator = trained(name, params)
    expected = estimator.predict_proba(X)
    child = os.fork()
    new = trained(name, params)
    same = all(np.array_equal(e.predict_proba(X), expected) for e in (estimator, new))
    if child == 0:
        os._exit(0 if same else 3)
    assert same, f"{name}: the parent predicts otherwise after the fork"
    assert exit_status(child) == 0, f"{name}: the child hangs (-9), predicts otherwise (3) or dies"
"""

POOL = """
import multiprocessing, warnings
import numpy as np
import xdcc

warnings.simplefilter("ignore")
data = xdcc.data.make_multilabel(400, n_labels=3, random_state=0)
classifier = xdcc.MultiLabelXGBClassifier(n_estimators=3, n_jobs=2).fit(data.X, data.Y)
expected = classifier.predict_proba(data.X)
with multiprocessing.get_context("fork").Pool(2) as pool:
    for found in pool.map_async(classifier.predict_proba, [data.X] * 4).get(timeout=60):
        assert np.array_equal(found, expected)
"""

ESTIMATORS = {
    "RandomDecisionTreeClassifier": {},
    "LaCovaCForestClassifier": {"n_estimators": 4},
    "BoomerClassifier": {"n_rules": 300},
    "MultiLabelXGBClassifier": {"n_estimators": 3},
    "BinaryRelevance": {"n_estimators": 3},
    "DynamicChainClassifier": {"n_estimators": 3},
    "OrderFreeChainClassifier": {"n_estimators": 3, "cv": 2},
}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@pytest.fixture(autouse=True)
def threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")  # on a busy machine spinning costs seconds


def test_a_forked_child_predicts_and_trains(run_python):
    result = run_python("-c", TRAIN_FORK_AND_PREDICT, repr(ESTIMATORS))
    assert result.returncode == 0, result.stderr


def test_a_pool_of_forked_processes_predicts(run_python):
    result = run_python("-c", POOL)
    assert result.returncode == 0, result.stderr
