"""Memory that is short: the estimate, and an error before BLAS or the system ends the process."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from tests.short_memory import train_with_little_memory
from xdcc.base.memory import NotEnoughMemoryError
from xdcc.linear import LogisticLabels
from xdcc.linear.memory import MemoryNeed, count_columns

SETUP = """
from xdcc.linear import LogisticLabels

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 200)).astype(np.float32)
Y = (rng.random((400, 30)) < 0.2).astype(int)
"""


def test_an_error_comes_before_blas_ends_the_process(run_python):
    """With two threads, the fit takes one where memory suffices for no more."""
    for codes in train_with_little_memory(
        run_python,
        SETUP,
        "LogisticLabels(n_jobs=n_jobs).fit(X, Y)",
        "Logistic regressions of 30 labels on 200 columns",
        [8, 30, 60, 110, 150, 200, 300],
    ):
        assert set(codes) == {0, 3}
        assert codes[0] == 3
        assert codes[-1] == 0


def dense(n_rows, n_features):
    return np.random.default_rng(0).normal(size=(n_rows, n_features)).astype(np.float32)


def with_missing(n_rows, n_features):
    X = dense(n_rows, n_features)
    X[::7] = np.nan
    return X


def text(n_rows, n_features):
    return np.maximum(dense(n_rows, n_features) - 1.5, 0)


def sparse_text(n_rows, n_features):
    return sparse.csr_matrix(text(n_rows, n_features))


@pytest.mark.parametrize(
    ("make", "shape", "n_labels", "C"),
    [
        (dense, (400, 150), 4, "auto"),
        (dense, (60, 700), 4, 1.0),
        (dense, (1500, 5), 30, "auto"),
        (with_missing, (400, 150), 4, 1.0),
        (text, (300, 400), 4, "auto"),
        (sparse_text, (300, 400), 4, "auto"),
        (sparse_text, (300, 400), 70, 1.0),
    ],
)
def test_the_estimate_is_above_the_peak_and_near_it(make, shape, n_labels, C):
    X, rng = make(*shape), np.random.default_rng(1)
    Y = (rng.random((len(rng.normal(size=shape[0])), n_labels)) < 0.3).astype(int)
    LogisticLabels(C=C, n_jobs=1).fit(X[:50], Y[:50])  # imports
    tracemalloc.start()
    try:
        LogisticLabels(C=C, n_jobs=1).fit(X, Y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    n_columns = count_columns(X, np.zeros(shape[1], np.intp))
    need = MemoryNeed.of(X, n_columns, n_labels, 5 if C == "auto" else 0)
    estimate = need.total(1) - 2**26 * need.has_products
    assert peak < estimate + 2**20
    assert estimate < 4 * peak


def test_threads_that_memory_suffices_for(monkeypatch):
    need = MemoryNeed.of(dense(400, 150), 150, 4, 5)
    for n_threads in (1, 2, 5):
        monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: need.total(n_threads))  # noqa: B023
        monkeypatch.setattr("xdcc.linear.memory.available_memory", lambda: need.total(n_threads))  # noqa: B023
        assert need.threads(5) == n_threads
        assert need.threads(1) == 1


def test_what_would_need_less(monkeypatch):
    X = sparse_text(300, 400)
    total = MemoryNeed.of(X, 400, 190, 5).total(1)
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: total - 1)
    Y = np.tile([[0], [1]], (150, 190))
    with pytest.raises(
        NotEnoughMemoryError,
        match=r"^Logistic regressions of 190 labels on 400 columns of 300 rows may take \d+ MiB, "
        r"but \d+ MiB are available\. Take fewer folds \(cv\), rows or labels; fit with a number "
        r"as C takes \d+ MiB\.$",
    ):
        LogisticLabels().fit(X, Y)
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: 2.0**20)
    with pytest.raises(MemoryError, match=r"Train on fewer rows, columns or labels\.$"):
        LogisticLabels(C=1.0).fit(X, Y[:, :5])
    with pytest.raises(MemoryError, match="Take fewer folds"):
        LogisticLabels(C=1.0).out_of_fold(X, Y, np.arange(300) % 10)
