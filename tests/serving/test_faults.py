"""A save that a full disk or a kill interrupts leaves the older file.

Each save runs in a child process: the disk is "full" by the child's own limit on the size of files,
and a kill comes before a system call that is counted.
"""

import os
import resource
import signal
import traceback
import warnings
from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.serving import load_model, save_model


@pytest.fixture(scope="module")
def models(rows):
    old = MultiLabelXGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(rows.X, rows.Y)
    new = MultiLabelXGBClassifier(n_estimators=3, max_depth=2, n_jobs=1).fit(rows.X, rows.Y)
    return old, new


def _in_child(act):
    """Run a function in a fork; return how the child ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests may have had threads
        child = os.fork()
    if child == 0:
        try:
            threadpool_limits(1)  # the parent's threads are not here
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


STEPS = ("open", "fsync", "fchmod", "replace", "rename", "unlink")


def _killed_at(step):
    """Replace the calls that change files, so that the process is killed before one of them."""
    calls = 0

    def counted(call):
        def or_killed(*arguments, **settings):
            nonlocal calls
            calls += 1
            if calls > step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **settings)

        return or_killed

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))


def _full_disk(n_bytes):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def test_a_model_file_survives_a_kill(models, rows, tmp_path):
    old, new = models
    path = tmp_path / "model"
    save_model(old, path)

    def save(step):
        _killed_at(step)
        save_model(new, path)

    step = 0
    while (code := _in_child(partial(save, step))) == -signal.SIGKILL:
        found = load_model(path).predict_proba(rows.X_new)
        assert any(np.array_equal(found, model.predict_proba(rows.X_new)) for model in models)
        step += 1
    assert code == 0
    assert step >= 2
    np.testing.assert_array_equal(
        load_model(path).predict_proba(rows.X_new), new.predict_proba(rows.X_new)
    )
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize("n_bytes", [0, 1, 1000])
def test_a_model_file_survives_a_full_disk(models, rows, tmp_path, n_bytes):
    old, new = models
    path = tmp_path / "model"
    save_model(old, path)
    before = path.read_bytes()

    def save():
        _full_disk(n_bytes)
        with pytest.raises(OSError, match="File too large"):
            save_model(new, path)

    assert _in_child(save) == 0
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]
