"""Training a chain: folds, the end label and early stopping, against plain loops.

The stopping score is the metric of its name in `xdcc.metrics`, which has other code. Features are
quantised once: the boosters are those of new matrices of [X | P].
"""

from typing import Any

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from scipy import sparse

from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.base.folds import stratified_folds
from xdcc.chain import DynamicChainClassifier
from xdcc.chain.loop import ChainState
from xdcc.chain.propagation import NO_LABEL, at_end, end_truth, propagate
from xdcc.chain.training import (
    ChainPlan,
    EarlyStopping,
    QuantisedFeatures,
    open_base_score,
    stop_score,
    train_chain,
)
from xdcc.decision.label_metrics import COUNTED
from xdcc.prediction.propagation_rule import PropagationRule

NAN = np.nan
N_ROWS, N_FEATURES, N_LABELS = 90, 5, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
Y = (X[:, :N_LABELS] + RNG.normal(size=(N_ROWS, N_LABELS)) > 0.5).astype(np.float32)
X_NEW = RNG.normal(size=(40, N_FEATURES)).astype(np.float32)
Y_NEW = (X_NEW[:, :N_LABELS] + RNG.normal(size=(40, N_LABELS)) > 0.5).astype(np.float32)


def _chain(**params: Any) -> DynamicChainClassifier:
    small = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "split_method": "sumGain"}
    paper = {"chain_length": None, "propagate": "in_sample", "stop_tolerance": 0.0}
    return DynamicChainClassifier(**small | paper | params)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("end_label", [False, True])
def test_agrees_with_a_plain_loop(end_label: bool, ensemble: bool, weighted: bool) -> None:
    """New matrices and `xgboost.train` in every round and fold, other rows with the weight 0."""
    weight = RNG.random(N_ROWS).astype(np.float32) + 0.5 if weighted else None
    folds = stratified_folds(Y, 3, 0)
    params = {
        "objective": "multilabel:sumGain",
        "max_depth": 3,
        "nthread": 1,
        "label_feature_begin": N_FEATURES,
    }
    plan = ChainPlan(N_LABELS, 4, end_label=end_label, folds=folds, ensemble=ensemble)
    rounds = train_chain(FitData(X, Y, weight), params, plan)

    n_columns = N_LABELS + end_label
    P = np.full((N_ROWS, n_columns), NAN, dtype=np.float32)
    labels_of_P = P[:, :N_LABELS]
    ended = np.zeros(N_ROWS, dtype=bool)
    for round_, boosters in enumerate(rounds):
        truth = np.column_stack((Y, end_truth(Y, labels_of_P))) if end_label else Y
        joined = np.hstack((X, P))

        def train(
            rows: NDArray[np.bool_],
            truth: NDArray[np.float32] = truth,
            joined: NDArray[np.float32] = joined,
            ended: NDArray[np.bool_] = ended,
            seed: int = round_,
        ) -> xgb.Booster:
            own_weight = np.where(rows & ~ended, 1 if weight is None else weight, 0)
            start = open_base_score(truth, own_weight, P)
            matrix = xgb.DMatrix(joined, truth)
            xgb.train(params, matrix, 1)  # makes the bins, which do not depend on the weights
            matrix.set_weight(own_weight)
            return xgb.train({**params, "seed": seed, "base_score": start}, matrix, 4)

        expected = [train(folds != fold) for fold in range(3)]
        Y_proba = np.empty(P.shape, dtype=np.float32)
        for fold, booster in enumerate(expected):
            out = folds == fold
            Y_proba[out] = booster.predict(xgb.DMatrix(joined[out]))
        if not ensemble:
            expected = [train(np.ones(N_ROWS, dtype=bool))]
        assert len(boosters) == len(expected)
        for found, plain in zip(boosters, expected, strict=True):
            np.testing.assert_array_equal(
                found.inplace_predict(joined), plain.inplace_predict(joined)
            )
        if end_label:
            ended |= at_end(labels_of_P, Y_proba)
        propagate(labels_of_P, Y_proba[:, :N_LABELS], PropagationRule(), ~ended)
    is_over = not (np.isnan(labels_of_P).any(axis=1) & ~ended).any()
    assert is_over
    assert len(rounds) <= N_LABELS


def test_out_of_fold_rows_are_not_seen() -> None:
    """Without a fold's labels its predictions, and so the chain, stay the same."""
    folds = stratified_folds(Y, 2, 0)
    noise = np.where(folds[:, np.newaxis] == 0, 1 - Y, Y)
    for labels, weight_of_fold in ((Y, 0), (noise, 0)):
        booster = train_chain(
            FitData(X, labels, None),
            {"objective": "multilabel:logistic", "nthread": 1},
            ChainPlan(1, 3, folds=folds, ensemble=True),
        )[0][weight_of_fold]
        proba = booster.inplace_predict(np.hstack((X, np.full_like(Y, NAN))))
        if labels is Y:
            expected = proba
    np.testing.assert_array_equal(proba, expected)


def test_end_truth_and_at_end() -> None:
    labels = np.array([[1, 0], [1, 0], [0, 0], [1, 1], [NAN, 0]], dtype=np.float32)
    P = np.array([[0.9, NAN], [NAN, 0.1], [NAN, NAN], [0.2, NAN], [NAN, NAN]])
    np.testing.assert_array_equal(end_truth(labels, P), [1, 0, 1, 0, 1])

    P = np.array([[NAN, NAN], [NAN, NAN], [0.9, NAN], [NAN, NAN], [0.1, 0.2]])
    Y_proba = np.array(
        [[0.4, 0.6, 0.7], [0.4, 0.8, 0.7], [0.95, 0.6, 0.7], [0.1, 0.2, 0.4], [1.0, 1.0, 0.5]]
    )
    np.testing.assert_array_equal(at_end(P, Y_proba), [True, False, True, False, True])


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_rows_that_ended_stay_as_they_are(kind: str) -> None:
    make = sparse.csr_matrix if kind == "csr" else np.asarray
    features = make(X_NEW)
    chain = _chain(end_label=True, n_estimators=20).fit(make(X), Y)
    order = chain.chain_order(features)
    has_none = (order.labels == NO_LABEL).all(axis=1)
    assert has_none.any()
    assert not has_none.all()
    was_open = np.ones(len(X_NEW), dtype=bool)
    for column in order.labels.T:  # once nothing is propagated, nothing is any more
        assert not (~was_open & (column != NO_LABEL)).any()
        was_open &= column != NO_LABEL
    chain.set_params(prediction="standard")
    assert not chain.predict_proba(features)[has_none].any()
    stages = list(chain.staged_predict_proba(features))
    np.testing.assert_array_equal(stages[-1], chain.predict_proba(features))


def test_training_ends_when_every_row_is_at_its_end() -> None:
    alone = np.zeros_like(Y)
    alone[:, 0] = X[:, 0] > 0
    chain = _chain(end_label=True, n_estimators=20).fit(X, alone)
    assert chain.n_rounds_ < N_LABELS
    np.testing.assert_array_equal(chain.predict(X), alone)


def test_end_label_is_not_among_the_predictions() -> None:
    chain = _chain(end_label=True, base_score=[0.5] * N_LABELS).fit(X, Y)
    assert chain.predict_proba(X_NEW).shape == (len(X_NEW), N_LABELS)
    assert all(b.num_features() == N_FEATURES + N_LABELS + 1 for (b,) in chain.boosters_)


@pytest.mark.parametrize("source", ["eval_set", "cross_val"])
def test_early_stopping_keeps_the_best_round(source: str) -> None:
    params: dict[str, Any] = {"stop_measure": "subset_accuracy", "n_estimators": 20}
    if source == "cross_val":
        params["propagate"] = "cross_val"
    eval_set = [(X_NEW, Y_NEW)] if source == "eval_set" else None
    chain = _chain(early_stopping_rounds=1, **params).fit(X, Y, eval_set=eval_set)
    scores = chain.stop_scores_
    assert chain.n_rounds_ == int(np.argmax(scores)) + 1
    assert len(scores) in (chain.n_rounds_, chain.n_rounds_ + 1)
    whole = _chain(**params).fit(X, Y)
    if source == "eval_set":
        measured = [metrics.subset_accuracy(Y_NEW, Y_) for Y_ in whole.staged_predict(X_NEW)]
        assert scores == measured[: len(scores)]
    np.testing.assert_array_equal(
        chain.predict_proba(X_NEW),
        list(whole.staged_predict_proba(X_NEW))[chain.n_rounds_ - 1],
    )
    assert not hasattr(chain.set_params(early_stopping_rounds=None).fit(X, Y), "stop_scores_")


def test_small_steps_are_not_better() -> None:
    """.5 .51 .52 .53 with a tolerance of .015: the second is not better, the third is."""
    scores = iter([0.5, 0.51, 0.52, 0.53, 0.53, 0.53])
    watch = EarlyStopping(
        Y, None, predict=lambda _: Y, measure=lambda *_: next(scores), patience=3, tolerance=0.015
    )
    stops = [watch.should_stop([], ChainState(np.full_like(Y, NAN))) for _ in range(6)]
    assert stops == [False, False, False, False, False, True]
    assert watch.best_round == 3
    assert watch.scores == [0.5, 0.51, 0.52, 0.53, 0.53, 0.53]


def test_auto_turns_on_the_end_label_and_early_stopping() -> None:
    chain = _chain(chain_length="auto", propagate="cross_val").fit(X, Y)
    assert chain.end_label_
    assert len(chain.stop_scores_) >= chain.n_rounds_
    assert DynamicChainClassifier(n_estimators=1).fit(X, Y).end_label_  # the default
    plain = _chain(chain_length="auto").fit(X, Y)
    assert plain.end_label_
    assert not hasattr(plain, "stop_scores_")


def test_more_labels_per_round_than_there_are() -> None:
    """Absent labels take no memory: 10**9 of them for each row would take 8 GB."""
    chain = _chain(labels_per_round=10**9).fit(X, Y)
    assert chain.n_rounds_ == 1
    assert chain.rule_.labels_per_round == N_LABELS
    all_at_once = _chain(labels_per_round=N_LABELS).fit(X, Y)
    np.testing.assert_array_equal(chain.predict_proba(X_NEW), all_at_once.predict_proba(X_NEW))
    assert chain.chain_order(X_NEW).labels.shape == (len(X_NEW), N_LABELS)


def test_several_labels_per_round_need_fewer_rounds() -> None:
    chain = _chain(labels_per_round=3).fit(X, Y)
    assert chain.n_rounds_ == 2
    order = chain.chain_order(X_NEW)
    assert order.labels.shape == order.values.shape == (len(X_NEW), 6)
    np.testing.assert_array_equal(np.sort(order.labels, axis=1)[:, 2:], [range(4)] * len(X_NEW))
    assert set(order.rounds(N_LABELS).ravel().tolist()) == {1, 2}
    with pytest.warns(UserWarning, match="chain_length=3 is more than 4 labels need: 2 rounds"):
        _chain(labels_per_round=3, chain_length=3).fit(X, Y)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize(
    "params",
    [
        {"order": "certainty"},
        {"labels_per_round": 2},
        {"propagate": "cross_val", "ensemble": True, "cv": 3},
        {"propagate": "cross_val", "end_label": True, "candidates": "all"},
    ],
)
@pytest.mark.usefixtures("threads")
def test_number_of_threads_and_storage_do_not_matter(params: dict[str, Any], kind: str) -> None:
    chain = _chain(**params, subsample=0.8, random_state=3).fit(X, Y)
    two = _chain(**params, subsample=0.8, random_state=3, n_jobs=2)
    if kind == "csr":  # all values stored: nothing is missing
        two.fit(sparse.csr_matrix(X), Y)
        found = two.predict_proba(sparse.csr_matrix(X_NEW))
    else:
        found = two.fit(X, Y).predict_proba(X_NEW)
    np.testing.assert_array_equal(found, chain.predict_proba(X_NEW))


@pytest.mark.parametrize(
    ("params", "eval_set", "message"),
    [
        (
            {"chain_length": "all"},
            None,
            r"chain_length='all': it must be a whole number at least 1, 'auto'",
        ),
        ({"order": "first"}, None, "order='first': it must be one of 'positive', 'certainty'"),
        ({"labels_per_round": 0}, None, "labels_per_round=0: it must be a whole number"),
        ({"candidates": "all", "labels_per_round": 2}, None, "candidates='all' goes with"),
        ({"propagate": "oob"}, None, "propagate='oob': it must be one of 'auto', 'cross_val'"),
        ({"cv": 1}, None, "cv=1: it must be a whole number at least 2"),
        (
            {"propagate": "cross_val", "cv": 91},
            None,
            "91 folds need as many rows, but n_samples=90",
        ),
        ({"ensemble": True}, None, "ensemble=True averages the boosters of folds: it needs"),
        ({"early_stopping_rounds": 0}, [(X, Y)], "early_stopping_rounds=0: it must be"),
        ({"stop_tolerance": -1}, [(X, Y)], "stop_tolerance=-1: it must be a number at least 0"),
        ({"early_stopping_rounds": 2}, None, "early_stopping_rounds needs something to measure on"),
        ({}, [(X, Y)], "eval_set is not used: set early_stopping_rounds or chain_length='auto'"),
        ({"stop_measure": "auc"}, None, "stop_measure='auc': it must be one of 'hamming_accuracy'"),
        ({"early_stopping_rounds": 2}, [(X, Y[:, :2])], "has 2 labels, but in fit there were 4"),
        ({"early_stopping_rounds": 2}, [(X[:, :2], Y)], "X has 2 features, but"),
        ({"early_stopping_rounds": 2}, [(X[:9], Y)], "inconsistent numbers of samples"),
        ({"early_stopping_rounds": 2}, (X, Y), "eval_set must be a sequence of pairs"),
    ],
)
def test_bad_argument(params: dict[str, Any], eval_set: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _chain(**params).fit(X, Y, eval_set=eval_set)


_RNG_OF_SCORES = np.random.default_rng(0)


@pytest.mark.parametrize("unknown", [0.0, 0.7])
@pytest.mark.parametrize("name", COUNTED)
def test_is_the_measure_of_that_name(name: str, unknown: float) -> None:
    Y = (_RNG_OF_SCORES.random((40, 3)) < 0.4).astype(np.float32)
    Y[_RNG_OF_SCORES.random(Y.shape) < unknown] = np.nan
    labels = (_RNG_OF_SCORES.random(Y.shape) < 0.4).astype(np.int64)
    assert stop_score(name, Y, labels) == pytest.approx(getattr(metrics, name)(Y, labels))


@pytest.mark.parametrize("name", COUNTED)
def test_many_blocks_of_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Y = (_RNG_OF_SCORES.random((40, 3)) < 0.4).astype(np.float32)
    labels = (_RNG_OF_SCORES.random(Y.shape) < 0.4).astype(np.int64)
    monkeypatch.setattr("xdcc.base.label_rows._BLOCK_ENTRIES", 7)
    assert stop_score(name, Y, labels) == pytest.approx(getattr(metrics, name)(Y, labels))


@pytest.mark.parametrize("name", COUNTED)
def test_nothing_known(name: str) -> None:
    with pytest.raises(ValueError, match="nothing to measure early stopping on: every label is"):
        stop_score(name, np.full((2, 3), np.nan), np.zeros((2, 3), dtype=np.int64))


_RNG_OF_BINS = np.random.default_rng(0)
_X_OF_BINS = _RNG_OF_BINS.normal(size=(200, 5)).astype(np.float32)
_Y_OF_BINS = (_X_OF_BINS[:, :3] + _RNG_OF_BINS.normal(size=(200, 3)) > 0).astype(np.float32)
_WEIGHT_OF_BINS = _RNG_OF_BINS.random(200).astype(np.float32)
_P_OF_BINS = np.where(
    _RNG_OF_BINS.random(_Y_OF_BINS.shape) < 0.5, _Y_OF_BINS * np.float32(0.75), np.nan
).astype(np.float32)


@pytest.mark.parametrize("weight", [None, _WEIGHT_OF_BINS], ids=["no_weights", "weights"])
@pytest.mark.parametrize("max_bin", [None, 8, 256, 300])
def test_boosters_of_a_round(max_bin: int | None, weight: np.ndarray | None) -> None:
    params = {"objective": "multilabel:sumGain", "base_score": 0.5}
    if max_bin is not None:
        params["max_bin"] = max_bin
    features = QuantisedFeatures(
        FitData(_X_OF_BINS, _Y_OF_BINS, weight), max_bin=max_bin, n_threads=1
    )
    for known in (np.full_like(_P_OF_BINS, np.nan), _P_OF_BINS):
        joined = features.joined(known)
        fresh = xgb.DMatrix(np.hstack((_X_OF_BINS, known)), label=_Y_OF_BINS, weight=weight)
        found, expected = (xgb.train(params, matrix, 3) for matrix in (joined, fresh))
        assert found.save_raw("ubj") == expected.save_raw("ubj")
        np.testing.assert_array_equal(found.predict(joined), expected.predict(fresh))
        del joined


def test_rows_that_do_not_fit() -> None:
    features = QuantisedFeatures(
        FitData(_X_OF_BINS, _Y_OF_BINS, None), max_bin=None, n_threads=None
    )
    with pytest.raises(xgb.core.XGBoostError, match="have 199 rows, the features 200"):
        features.joined(_P_OF_BINS[1:])


@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("end_label", [False, True])
def test_folds_side_by_side(ensemble: bool, end_label: bool, threads: None) -> None:
    """The boosters of a step train on matrices of their own: the same chain."""
    params = {"propagate": "cross_val", "ensemble": ensemble, "end_label": end_label}
    one, *others = (_chain(n_jobs=n, **params).fit(X, Y) for n in (1, 2, 3, -1))
    for found in others:
        assert found.n_rounds_ == one.n_rounds_
        for boosters, expected in zip(found.boosters_, one.boosters_, strict=True):
            assert [b.save_raw() for b in boosters] == [b.save_raw() for b in expected]
