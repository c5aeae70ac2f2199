"""Random settings of all models: trained with several threads as with one, and predicted equally.

`cases.py` generates the cases. A model that is trained, whatever goes on beside it, equals that of
one thread bit for bit. The model then predicts the same from a file, a pickle, and as each export.
A setting that does not go together with others is refused with a message, for any number of
threads.
"""

import gc
import json
import os
import pickle
import signal
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from scipy import sparse

from tests.fuzz.cases import Case, cases
from tests.fuzz.target import Different, Target
from tests.fuzz.trainers import Trained, train
from tests.processors import idle_processors
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.explain import shap_values
from xdcc.serving import (
    CompiledModel,
    load_model,
    save_model,
    stock_booster,
    to_forest,
    to_onnx,
    to_treelite,
)

REFUSALS = (ValueError, TypeError, xgb.core.XGBoostError)

_SECONDS = 120
"""Limit for a forked child."""


def attempt(case: Case) -> None:
    """Train a case with its number of threads and with one, and use the model."""
    several = _outcome(lambda: _WHERE[case["where"]](case), case["n_jobs"])
    one = _outcome(lambda: train(case, 1), 1)
    if isinstance(several, Exception) or isinstance(one, Exception):
        # Each thread has histograms of its own, and the message says so.
        is_memory = "max_histogram_mib" in str(several)
        if type(several) is not type(one) and not is_memory:
            raise Different(f"{case['n_jobs']} threads: {several!r}, one: {one!r}")
        raise several
    _compare_threads(several, one)
    with idle_processors(case["n_jobs"]), xgb.config_context(verbosity=0):
        try:
            _THEN.get(case.get("then"), _check_form)(several)
            _EXPORTS.get(case.get("export"), _check_form)(several)
        except REFUSALS as error:
            raise Different("the model is trained, but cannot be used") from error


def _outcome(run: Callable[[], Trained], n_processors: int) -> Trained | Exception:
    """Train, or return why that is refused. All threads help: workers rest on a busy machine."""
    with idle_processors(n_processors):
        try:
            return run()
        except REFUSALS as error:
            if not str(error).strip():
                raise Different(f"{type(error).__name__} has no message") from error
            return error


# Where a model is trained.


def _here(case: Case) -> Trained:
    return train(case, case["n_jobs"])


def _in_pool(case: Case) -> Trained:
    """Train in three threads at once."""
    with ThreadPoolExecutor(3) as pool:
        first, *others = [pool.submit(_here, case) for _ in range(3)]
        found = first.result()
        for other in others:
            _compare_threads(other.result(), found)
    return found


def _in_child(case: Case) -> Trained:
    """Train here, and in a child that has none of the threads."""
    found = _here(case)
    if "tsan" in os.environ.get("LD_PRELOAD", ""):
        return found  # it ends a process that starts threads after a fork with several of them
    # Freeing a matrix in external memory waits for its threads, which a child does not have.
    gc.collect()
    child = os.fork()
    if child == 0:
        gc.disable()
        signal.alarm(_SECONDS)
        status = 1
        with suppress(BaseException):
            status = 0 if _is_same(_here(case), found) else 3
        os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        signal.raise_signal(os.WTERMSIG(status))  # a finding, with what the child said
    if status:
        raise Different(f"a forked child ended with {os.WEXITSTATUS(status)}")
    return found


def _beside_work(case: Case) -> Trained:
    """Train while another process keeps a processor busy."""
    child = os.fork()
    if child == 0:
        signal.alarm(_SECONDS)
        while True:
            pass
    try:
        return _here(case)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


_WHERE: dict[str, Callable[[Case], Trained]] = {
    "here": _here,
    "thread pool": _in_pool,
    "forked child": _in_child,
    "busy": _beside_work,
}


def _is_same(found: Trained, expected: Trained) -> bool:
    return found.start() != expected.start() or found.bits() == expected.bits()


def _compare_threads(found: Trained, expected: Trained) -> None:
    """Raise if two models differ, but for a start that XGBoost estimates in another order."""
    if not _is_same(found, expected):
        differ = [
            np.nanmax(np.abs(np.subtract(a, b, dtype=float)), initial=0)
            for a, b in zip(found.predictions(), expected.predictions(), strict=True)
        ]
        raise Different(f"models differ between numbers of threads, predictions by {differ}")


# What is done with a model.


def _check_form(trained: Trained) -> None:
    """Check the number of rows, and that probabilities are some."""
    for values in trained.predictions():
        assert len(values) == trained.X.shape[0], values.shape
    if isinstance(trained.model, MultiLabelEstimator):
        proba = np.asarray(trained.model.predict_proba(trained.X))
        assert np.isfinite(proba).all(), "a probability is not finite"
        assert ((proba >= 0) & (proba <= 1 + 1e-6)).all(), "a probability is outside 0 to 1"


def _through_file(trained: Trained) -> None:
    model = trained.model
    if isinstance(model, xgb.Booster):
        for form in ("ubj", "json"):
            _compare(Trained(xgb.Booster(model_file=model.save_raw(form)), trained.X), trained)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xdcc")
        try:
            save_model(model, path)
        except TypeError:  # a base learner of another library
            return
        _compare(Trained(load_model(path), trained.X), trained)


def _through_pickle(trained: Trained) -> None:
    _compare(Trained(pickle.loads(pickle.dumps(trained.model)), trained.X), trained)


def _sliced(trained: Trained) -> None:
    """The first boosting round alone predicts as the range of this round."""
    booster, X = trained.booster, _rows_of_booster(trained)
    if X is not None:
        data = _matrix(X)
        first = booster.predict(data, iteration_range=(0, 1), output_margin=True)
        _compare_values(booster[:1].predict(data, output_margin=True), first, 0)


def _explained(trained: Trained) -> None:
    """Contributions add up to margins, and every row reaches a leaf."""
    booster, X = trained.booster, _rows_of_booster(trained)
    if X is not None:
        data = _matrix(X[:9])
        margins = booster.predict(data, output_margin=True)
        contributions = booster.predict(data, pred_contribs=True)
        _compare_values(contributions.sum(axis=-1), margins, 1e-3)
        assert np.asarray(booster.predict(data, pred_leaf=True) >= 0).all()
    if isinstance(trained.model, MultiLabelEstimator):
        with suppress(TypeError, ValueError):  # another estimator; all labels are constant
            assert np.isfinite(shap_values(trained.model, trained.X[:9]).values).all()


_THEN: dict[str | None, Callable[[Trained], None]] = {
    "file": _through_file,
    "pickle": _through_pickle,
    "slice": _sliced,
    "contributions": _explained,
}


def _matrix(X: Any) -> xgb.DMatrix:
    return xgb.DMatrix(X, nthread=1, enable_categorical=True)


def _rows_of_booster(trained: Trained) -> Any:
    """Return the rows as the booster takes them; None if the model has none, or encodes rows."""
    is_plain = isinstance(trained.X, np.ndarray) or isinstance(trained.model, xgb.Booster)
    if trained.booster is None or not is_plain:
        return None
    config = json.loads(trained.booster.save_config())["learner"]
    return None if config["gradient_booster"]["name"] == "gblinear" else trained.X


# Exports.


def _compiled(trained: Trained) -> None:
    """A kernel predicts, as in a service."""
    if isinstance(trained.model, xgb.Booster):
        X = sparse.csr_matrix(trained.X) if sparse.issparse(trained.X) else trained.X
        found = trained.model.inplace_predict(X)
        _compare_values(found, trained.model.predict(_matrix(trained.X)), 0)
        return
    try:
        compiled = CompiledModel(trained.model, n_jobs=2)
    except TypeError:
        return
    is_exact = trained.booster is not None
    for name in ("predict_proba", "predict"):
        if hasattr(trained.model, name):
            expected = getattr(trained.model, name)(trained.X)
            if name == "predict_proba" or is_exact:
                found = getattr(compiled, name)(trained.X)
                _compare_values(found, expected, 0 if is_exact else 1e-6)


def _stock(trained: Trained) -> None:
    """XGBoost without the plugin predicts."""
    booster, X = trained.booster, _rows_of_booster(trained)
    if X is not None:
        data, stock = _matrix(X), stock_booster(booster)
        for raw in True, False:
            expected = booster.predict(data, output_margin=raw)
            _compare_values(stock.predict(data, output_margin=raw), expected, 1e-6)
    elif trained.booster is None and isinstance(trained.X, np.ndarray):
        with suppress(TypeError):
            forest = to_forest(trained.model)
            proba = _of_labels(trained, trained.model.predict_proba(trained.X))
            if proba.shape[1]:  # of a flat Y there may be one class, which is no label
                _compare_values(forest.predict(_matrix(trained.X)), proba, 1e-5)


_OF_TREELITE = ("multilabel:", "binary:logistic")
"""The objectives of boosters that `to_treelite` takes."""


def _treelite(trained: Trained) -> None:
    import treelite

    if not isinstance(trained.X, np.ndarray) or _rows_of_booster(trained) is None:
        return
    is_known = any(name in trained.booster.save_config() for name in _OF_TREELITE)
    if isinstance(trained.model, xgb.Booster) and not is_known:
        return
    try:
        trees = to_treelite(trained.model)
    except TypeError:
        return
    expected = trained.predictions()[-1]
    if isinstance(trained.model, MultiLabelEstimator):
        expected = _of_labels(trained, expected)
    if np.size(expected):
        found = treelite.gtil.predict(trees, trained.X.astype(np.float32))
        _compare_values(found, expected, 1e-5)


def _onnx(trained: Trained) -> None:
    """The runtime of ONNX predicts from dense rows."""
    import onnxruntime

    if isinstance(trained.model, xgb.Booster) or not isinstance(
        trained.X, np.ndarray | sparse.sparray
    ):
        return
    try:
        graph = to_onnx(trained.model).SerializeToString()
    except TypeError:
        return
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph, options)
    dense = trained.X.toarray() if sparse.issparse(trained.X) else trained.X
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": dense.astype(np.float32)}), strict=True))
    if "targets" in found:
        _compare_values(found["targets"], trained.model.predict(trained.X), 1e-5)
    else:
        proba = trained.model.predict_proba(trained.X)
        if isinstance(trained.model, MultiLabelEstimator):
            proba = _of_labels(trained, proba)
        if proba.shape[1]:
            _compare_values(found["probabilities"], proba, 1e-5)


def _of_labels(trained: Trained, proba: Any) -> Any:
    """Return a column for each label; of a flat Y, scikit-learn has one for each class."""
    return proba if np.ndim(trained.model.predict(trained.X[:1])) == 2 else proba[:, 1:]


_EXPORTS: dict[str | None, Callable[[Trained], None]] = {
    "compiled": _compiled,
    "stock": _stock,
    "treelite": _treelite,
    "onnx": _onnx,
}


def _compare(found: Trained, expected: Trained) -> None:
    if found.bits() != expected.bits():
        raise Different("a copy of the model predicts differently")


def _compare_values(found: Any, expected: Any, tolerance: float) -> None:
    """Raise if values differ by more than a tolerance, relative to those above 1."""
    found, expected = (np.asarray(values, dtype=float) for values in (found, expected))
    found = found.reshape(expected.shape)
    if not np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
        difference = np.nanmax(np.abs(found - expected))
        raise Different(f"predictions differ by {difference}, of {np.nanmax(np.abs(expected))}")


settings = Target(cases, attempt, REFUSALS)
