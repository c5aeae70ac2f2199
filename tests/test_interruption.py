"""Interruptions of a training: Ctrl-C, an exception at any time, a clock that jumps.

The estimator is unfitted or as before, and goes on; what the clock says changes nothing.
"""

import inspect
import sys
from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import xdcc
from xdcc.serving import load_model, save_model

ESTIMATORS = {
    "MultiLabelXGBClassifier": {"n_estimators": 3},
    "DynamicChainClassifier": {"n_estimators": 2, "cv": 2},
    "OrderFreeChainClassifier": {"n_estimators": 2, "cv": 2, "random_state": 0},
    "BinaryRelevance": {"n_estimators": 2},
    "EnsembleOfChains": {"n_estimators": 2},
    "HOMER": {},
    "RandomDecisionTreeClassifier": {"n_estimators": 3, "random_state": 0},
    "SketchedExtraTreesClassifier": {"n_estimators": 3, "random_state": 0},
    "LaCovaCClassifier": {},
    "LaCovaCForestClassifier": {"n_estimators": 2, "random_state": 0},
    "BoomerClassifier": {"n_rules": 10, "random_state": 0},
    "LogisticLabels": {"cv": 2, "n_jobs": 1},
    "CTBNMixtureClassifier": {
        "C": 1.0,
        "max_components": 2,
        "n_anneal": 5,
        "random_state": 0,
        "n_jobs": 1,
    },
}


def new(name):
    return getattr(xdcc, name)(**ESTIMATORS[name])


def rows(seed, n_features, n_labels):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, n_features)).astype(np.float32)
    return X, (X[:, :n_labels] + rng.normal(size=(80, n_labels)) > 0).astype(int)


def is_counted(code):
    """Whether it is a function of the package; generators may swallow what profilers raise."""
    return "/xdcc/" in code.co_filename and not code.co_flags & inspect.CO_GENERATOR


def n_calls(function):
    """Count the calls of the package's functions, of which `interrupted` names one."""
    count = 0

    def watch(frame, event, _):
        nonlocal count
        count += event == "call" and is_counted(frame.f_code)

    run_watched(function, watch)
    return count


def interrupted(function, at):
    """Raise what Ctrl-C raises, in a function of the package."""
    count = 0

    def watch(frame, event, _):
        nonlocal count
        count += event == "call" and is_counted(frame.f_code)
        if count >= at:
            sys.setprofile(None)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched(function, watch)


def run_watched(function, watch):
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_interrupted_in_fit(name):
    first, others = rows(0, 5, 3), rows(1, 4, 2)
    fitted = new(name).fit(*first)
    fresh = new(name)
    total = n_calls(lambda: fresh.fit(*others))
    expected = fitted.predict_proba(first[0])
    for share in (0.1, 0.4, 0.7, 0.85):
        at = max(2, int(share * total))
        fresh = new(name)
        interrupted(lambda: fresh.fit(*others), at)  # noqa: B023
        with pytest.raises(NotFittedError):
            fresh.predict(first[0])
        interrupted(lambda: fitted.fit(*others), at)
        assert np.array_equal(fitted.predict_proba(first[0]), expected)
        assert fitted.n_labels_ == 3
    assert fitted.fit(*others).predict(others[0]).shape == (80, 2)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_interrupted_in_predict(name):
    X, Y = rows(0, 5, 3)
    fitted = new(name).fit(X, Y)
    expected = fitted.predict_proba(X)
    total = n_calls(lambda: fitted.predict_proba(X))
    for share in (0.3, 0.6, 0.95):
        interrupted(lambda: fitted.predict_proba(X), max(2, int(share * total)))
        assert np.array_equal(fitted.predict_proba(X), expected)


def test_a_callback_that_raises():
    X, Y = rows(0, 5, 3)
    chain = xdcc.DynamicChainClassifier(n_estimators=2, chain_length=1, cv=2).fit(X, Y)
    expected = chain.predict_proba(X)

    def fails(number, n_rounds, seconds):
        raise OSError("no space for a report")

    with pytest.raises(OSError, match="no space"):
        chain.fit(X[:, :2], Y[:, :1], callback=fails)
    assert np.array_equal(chain.predict_proba(X), expected)


MANY_FITS = """
import gc, resource, signal, sys, time
from pathlib import Path
import numpy as np
import xdcc

name, params, n_fits, interrupt = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 10)).astype(np.float32)
Y = (X[:, :4] + rng.normal(size=(300, 4)) > 0).astype(int)


def resident():
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def ctrl_c(*_):
    signal.raise_signal(signal.SIGINT)


signal.signal(signal.SIGALRM, ctrl_c)
delay, n_interrupted = 0, 0
for number in range(n_fits):
    began = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, delay * rng.random())  # none if it is 0
        getattr(xdcc, name)(**params).fit(X, Y).predict(X)
        signal.setitimer(signal.ITIMER_REAL, 0)
        if interrupt:
            delay = time.perf_counter() - began
    except (KeyboardInterrupt, TypeError) as end:
        # NumPy's comparison of rows, as np.unique makes it, takes any exception for a bad type.
        assert not isinstance(end, TypeError) or "structured arrays" in str(end), end
        n_interrupted += 1
    if number == n_fits // 5:
        early = resident()
assert not interrupt or n_interrupted > n_fits / 3, n_interrupted
print(resident() - early)
"""


@pytest.mark.slow
@pytest.mark.parametrize("options", [["1000"], ["400", "interrupted"]], ids=" ".join)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_many_fits_take_no_more_memory_than_some(run_python, name, options):
    command = ["-W", "ignore", "-c", MANY_FITS, name, repr(ESTIMATORS[name]), *options]
    result = run_python(*command, seconds=1800)
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) < 8  # MiB


CLOCK = cycle([1.8e9, 1.8e9 - 86_400, 0.0, 4e9, 4e9])
"""Back by a day, back to the epoch, far ahead, and standing still."""

CLASSIFIERS = [
    xdcc.MultiLabelClassifier("hamming_accuracy", cv=2, time_budget=1e6, random_state=0, verbose=1),
    xdcc.BoomerClassifier(n_rules=10, random_state=0, verbose=1),
    xdcc.CTBNMixtureClassifier(C=1.0, max_components=2, n_anneal=5, random_state=0, verbose=1),
]
_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 4))
Y = (X[:, :3] + _rng.normal(size=(60, 3)) > 0).astype(int)


def trained(classifier, path):
    model = classifier.fit(X, Y)
    save_model(model, path)
    return load_model(path).predict_proba(X), path.read_bytes()


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_a_clock_that_jumps(classifier, tmp_path, monkeypatch):
    proba, written = trained(classifier, tmp_path / "before.xdcc")
    seconds = getattr(classifier, "summary_", {}).get("seconds")
    with monkeypatch.context() as jumping:
        jumping.setattr("time.time", lambda: next(CLOCK))
        proba_after, written_after = trained(classifier, tmp_path / "after.xdcc")
    assert_array_equal(proba_after, proba)
    if seconds is None:  # the table of `MultiLabelClassifier` has seconds
        assert written_after == written
    else:
        assert min(classifier.summary_["seconds"]) >= 0
