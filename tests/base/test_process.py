"""Forks and interrupts.

Every kind of estimator works in a forked child of a process that has used threads. Ctrl-C waits
until a block has ended, and is not lost.
"""

import os
import signal
import threading

import pytest

from xdcc.base.process import late_interrupt

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

SORTS = """
import os, sys, time, warnings
import numpy as np
import xgboost as xgb

warnings.simplefilter("ignore")
random = np.random.default_rng(0)
X = random.normal(size=(5000, 2))
matrix = xgb.DMatrix(X, (X[:, 0] > 0).astype(int))


def evaluate():
    params = {"nthread": 2, "objective": "binary:logistic", "eval_metric": "auc"}
    xgb.train(params, matrix, 1, evals=[(matrix, "train")], verbose_eval=False)


evaluate()
child = os.fork()
evaluate()
if child == 0:
    os._exit(0)
end = time.monotonic() + 60
while (result := os.waitpid(child, os.WNOHANG)) == (0, 0):
    if time.monotonic() > end:
        os.kill(child, 9)
    time.sleep(0.01)
assert result[1] == 0, "the child hangs or dies"
"""

ESTIMATORS = {
    "RandomDecisionTreeClassifier": {},
    "SketchedExtraTreesClassifier": {},
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


def test_a_forked_child_predicts_and_trains(run_python):
    result = run_python("-c", TRAIN_FORK_AND_PREDICT, repr(ESTIMATORS))
    assert result.returncode == 0, result.stderr


def test_a_pool_of_forked_processes_predicts(run_python):
    result = run_python("-c", POOL)
    assert result.returncode == 0, result.stderr


def test_a_forked_child_sorts(run_python):
    result = run_python("-c", SORTS)
    assert result.returncode == 0, result.stderr


@pytest.fixture(autouse=True)
def python_handler():
    """Ctrl-C raises KeyboardInterrupt, also where a job in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_block(then):
    with late_interrupt():
        signal.raise_signal(signal.SIGINT)
        then()


def test_an_interrupt_waits():
    done = []
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupted_block(lambda: done.append("all"))
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_error_of_the_block_is_the_context_of_the_interrupt():
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted_block(lambda: [][0])
    assert isinstance(caught.value.__context__, IndexError)


def test_blocks_within_blocks():
    done = []

    def two_blocks():
        with late_interrupt():
            interrupted_block(lambda: done.append("the inner one"))
            done.append("the outer one")

    with pytest.raises(KeyboardInterrupt):
        two_blocks()
    assert done == ["the inner one", "the outer one"]


def test_an_own_handler_is_called_and_comes_back():
    seen = []

    def handler(number, frame):
        seen.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        with late_interrupt():
            signal.raise_signal(signal.SIGINT)
            assert not seen
        assert seen == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_handler():
    handlers = []

    def work():
        with late_interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
