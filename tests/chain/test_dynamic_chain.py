"""`DynamicChainClassifier` against a plain chain on `xgboost.train`, and its invariants."""

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier

N_LABELS = 5
X, Y = make_multilabel_classification(
    n_samples=150, n_features=8, n_classes=N_LABELS, n_labels=2, random_state=1
)
X, X_NEW, Y = X[:100].astype(np.float32), X[100:].astype(np.float32), Y[:100]


def _chain(**params: Any) -> DynamicChainClassifier:
    small = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1}
    paper = {"propagate": "in_sample", "chain_length": None}
    return DynamicChainClassifier(**{**small, **paper, **params})


class PlainChain:
    """The chain as the paper tells it: one row, one label, one round at a time."""

    def __init__(self, *, candidates: str, separate: bool, n_rounds: int) -> None:
        self.candidates = candidates
        self.separate = separate
        self.n_rounds = n_rounds

    def fit(self, Y: NDArray[np.floating]) -> "PlainChain":
        self.boosters = []
        P = np.full(Y.shape, np.nan, dtype=np.float32)
        for _ in range(self.n_rounds):
            params: dict[str, Any] = {"objective": "multilabel:maxGain", "max_depth": 3}
            if self.separate:
                params["label_feature_begin"] = X.shape[1]
                params["base_score"] = [
                    self._start([Y[i, j] for i in range(len(Y)) if np.isnan(P[i, j])])
                    for j in range(N_LABELS)
                ]
            matrix = xgb.DMatrix(np.hstack((X, P)), label=Y)
            self.boosters.append(xgb.train({**params, "nthread": 1}, matrix, 4))
            self._propagate(P, self.boosters[-1].predict(matrix))
        return self

    def predict(self, X: NDArray[np.float32], cumulation: str) -> dict[str, NDArray[np.floating]]:
        P = np.full((len(X), N_LABELS), np.nan, dtype=np.float32)
        running = np.zeros(P.shape)
        for booster in self.boosters:
            Y_proba = booster.predict(xgb.DMatrix(np.hstack((X, P))))
            for i in range(len(X)):
                for j in range(N_LABELS):
                    if cumulation == "equation9" or np.isnan(P[i, j]):
                        running[i, j] = max(running[i, j], Y_proba[i, j])
            self._propagate(P, Y_proba)
        cumulated = np.where(np.isnan(P), running, P) if cumulation == "equation9" else running
        return {"cumulated": cumulated, "standard": np.nan_to_num(P)}

    @staticmethod
    def _start(entries: list[float]) -> float:
        known = [entry for entry in entries if not np.isnan(entry)]
        return min(max(float(np.mean(known)), 1e-6), 1 - 1e-6) if known else 0.5

    def _propagate(self, P: NDArray[np.float32], Y_proba: NDArray[np.float32]) -> None:
        for i, row in enumerate(Y_proba):
            open_ = [j for j in range(N_LABELS) if self.candidates == "all" or np.isnan(P[i, j])]
            if not open_:
                continue
            if max(row[j] for j in open_) >= 0.5:
                j = max(open_, key=lambda j: row[j])
                if np.isnan(P[i, j]) or (P[i, j] >= 0.5 and row[j] > P[i, j]):
                    P[i, j] = row[j]
            else:
                j = min(open_, key=lambda j: row[j])
                if np.isnan(P[i, j]) or (P[i, j] < 0.5 and row[j] < P[i, j]):
                    P[i, j] = row[j]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("candidates", ["open", "all"])
def test_agrees_with_a_plain_chain(candidates: str, separate: bool, unknown: bool) -> None:
    labels = Y.astype(float)
    if unknown:
        labels[np.random.default_rng(0).random(Y.shape) < 0.2] = np.nan
    plain = PlainChain(candidates=candidates, separate=separate, n_rounds=4).fit(labels)
    chain = _chain(chain_length=4, candidates=candidates, separate_and_conquer=separate)
    chain.fit(X, labels)
    for cumulation in ("equation9", "authors"):
        expected = plain.predict(X_NEW, cumulation)
        for prediction in ("cumulated", "standard"):
            chain.set_params(prediction=prediction, cumulation=cumulation)
            np.testing.assert_allclose(chain.predict_proba(X_NEW), expected[prediction], rtol=1e-6)


def test_readings_differ_on_these_data() -> None:
    chain = _chain(chain_length=4).fit(X, Y)
    predictions = [
        chain.set_params(prediction=prediction, cumulation=cumulation).predict_proba(X_NEW)
        for prediction, cumulation in (
            ("cumulated", "equation9"),
            ("cumulated", "authors"),
            ("standard", "equation9"),
        )
    ]
    assert (predictions[0] != predictions[1]).any()
    assert (predictions[0] != predictions[2]).any()


@pytest.mark.parametrize("split_method", ["sumGain", "maxGain"])
def test_first_round_is_one_multi_label_booster(split_method: str) -> None:
    shared = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "split_method": split_method}
    start = {"base_score": 0.3, "subsample": 0.7, "random_state": 3}
    chain = DynamicChainClassifier(chain_length=1, **shared, **start).fit(X, Y)
    alone = MultiLabelXGBClassifier(**shared, **start).fit(X, Y)
    np.testing.assert_array_equal(chain.predict_proba(X_NEW), alone.predict_proba(X_NEW))


def test_first_round_starts_where_the_booster_alone_does() -> None:
    chain = _chain(chain_length=1, split_method="sumGain").fit(X, Y)
    alone = MultiLabelXGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, Y)
    np.testing.assert_allclose(chain.predict_proba(X_NEW), alone.predict_proba(X_NEW), rtol=1e-5)


def test_given_base_score_is_used_in_every_round() -> None:
    chain = _chain(base_score=0.25, learning_rate=0.0, prediction="standard").fit(X, Y)
    np.testing.assert_allclose(chain.chain_order(X_NEW).values, 0.25, rtol=1e-6)


def test_weights_count_in_the_start_of_a_round() -> None:
    weight = np.where(Y[:, 0] == 1, 3.0, 1.0)
    chain = _chain(chain_length=1, learning_rate=0.0).fit(X, Y, weight)
    expected = np.average(Y, axis=0, weights=weight)
    np.testing.assert_allclose(chain.predict_proba(X_NEW[:1])[0], expected, rtol=1e-5)


def test_open_candidates_decide_each_label_once() -> None:
    chain = _chain().fit(X, Y)
    order = chain.chain_order(X_NEW)
    assert order.labels.shape == order.values.shape == (len(X_NEW), N_LABELS)
    np.testing.assert_array_equal(
        np.sort(order.labels, axis=1), np.tile(np.arange(N_LABELS), (len(X_NEW), 1))
    )
    propagated = np.empty(order.values.shape)
    np.put_along_axis(propagated, order.labels, order.values, axis=1)
    np.testing.assert_array_equal(
        propagated, chain.set_params(prediction="standard").predict_proba(X_NEW)
    )


def test_all_candidates_decide_a_label_at_most_once_and_never_change_sides() -> None:
    chain = _chain(candidates="all", prediction="standard").fit(X, Y)
    order = chain.chain_order(X_NEW)
    none = order.labels < 0
    assert none.any()
    np.testing.assert_array_equal(np.isnan(order.values), none)
    for labels in order.labels:
        decided = labels[labels >= 0]
        assert len(set(decided)) == len(decided)
    stages = [np.where(proba == 0, np.nan, proba) for proba in chain.staged_predict_proba(X_NEW)]
    for before, after in pairwise(stages):
        decided = ~np.isnan(before)
        np.testing.assert_array_equal(before[decided] >= 0.5, after[decided] >= 0.5)
        # A positive only rises, a negative only falls.
        assert (abs(after[decided] - 0.5) >= abs(before[decided] - 0.5)).all()


@pytest.mark.parametrize("prediction", ["cumulated", "standard"])
def test_stages_are_shorter_chains(prediction: str) -> None:
    chain = _chain(prediction=prediction).fit(X, Y)
    stages = list(chain.staged_predict_proba(X_NEW))
    assert len(stages) == chain.n_rounds_ == N_LABELS
    np.testing.assert_array_equal(stages[-1], chain.predict_proba(X_NEW))
    for length in (1, 3):
        shorter = _chain(prediction=prediction, chain_length=length).fit(X, Y)
        np.testing.assert_array_equal(stages[length - 1], shorter.predict_proba(X_NEW))
    for proba, labels in zip(stages, chain.staged_predict(X_NEW), strict=True):
        np.testing.assert_array_equal(labels, proba >= 0.5)
    np.testing.assert_array_equal(labels, chain.predict(X_NEW))


def test_rows_do_not_depend_on_each_other() -> None:
    chain = _chain().fit(X, Y)
    rows = np.random.default_rng(0).permutation(len(X_NEW))
    np.testing.assert_array_equal(
        chain.predict_proba(X_NEW[rows]), chain.predict_proba(X_NEW)[rows]
    )
    np.testing.assert_array_equal(
        chain.chain_order(X_NEW[rows]).labels, chain.chain_order(X_NEW).labels[rows]
    )
    np.testing.assert_array_equal(chain.predict_proba(X_NEW[:1]), chain.predict_proba(X_NEW)[:1])


def test_rounds_have_seeds_of_their_own() -> None:
    params = {"separate_and_conquer": False, "subsample": 0.5, "chain_length": 2}
    chain = _chain(random_state=5, base_score=0.5, **params).fit(X, Y)
    second = _chain(random_state=6, base_score=0.5, **params).fit(X, Y)
    configs = [[b.save_config() for (b,) in fitted.boosters_] for fitted in (chain, second)]
    assert configs[0][1].count('"seed":"6"') == configs[1][0].count('"seed":"6"') > 0


def test_prediction_can_change_after_fit_but_candidates_cannot() -> None:
    chain = _chain(candidates="all").fit(X, Y)
    before = chain.predict_proba(X_NEW)
    chain.set_params(candidates="open")
    np.testing.assert_array_equal(chain.predict_proba(X_NEW), before)
    assert chain.rule_.candidates == "all"
    chain.set_params(prediction="standard")
    assert (chain.predict_proba(X_NEW) != before).any()


def test_authors_reading_takes_one_half_as_negative() -> None:
    chain = _chain(base_score=0.5, learning_rate=0.0).fit(X, Y)
    np.testing.assert_array_equal(chain.predict(X_NEW), 1)
    chain.set_params(cumulation="authors")
    np.testing.assert_array_equal(chain.predict_proba(X_NEW), 0.5)
    np.testing.assert_array_equal(chain.predict(X_NEW), 0)


def test_callback_hears_of_every_round() -> None:
    heard: list[tuple[int, int, float]] = []
    _chain(chain_length=3).fit(X, Y, callback=lambda *round_: heard.append(round_))
    assert [entry[:2] for entry in heard] == [(1, 3), (2, 3), (3, 3)]
    assert all(seconds > 0 for _, _, seconds in heard)


@pytest.mark.parametrize("verbose", [0, 1])
def test_verbose_prints_a_line_per_round(verbose: int, capsys: pytest.CaptureFixture[str]) -> None:
    _chain(chain_length=2, verbose=verbose).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["Round 1 of 2", "Round 2 of 2"][: 2 * verbose]


def test_chain_longer_than_the_labels_is_cut() -> None:
    with pytest.warns(UserWarning, match="chain_length=9 is more than 5 labels need: 5 rounds"):
        chain = _chain(chain_length=9).fit(X, Y)
    assert chain.n_rounds_ == len(chain.boosters_) == N_LABELS
    assert chain.chain_length == 9


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"chain_length": 0}, "chain_length=0: it must be a whole number at least 1"),
        ({"chain_length": -2}, "chain_length=-2"),
        ({"chain_length": 2.5}, "chain_length=2.5"),
        ({"split_method": "gain"}, "split_method='gain': it must be one of 'sumGain'"),
        ({"candidates": "some"}, "candidates='some': it must be one of 'open', 'all'"),
        ({"prediction": "both"}, "prediction='both': it must be one of 'cumulated', 'standard'"),
        ({"cumulation": "max"}, "cumulation='max': it must be one of 'equation9', 'authors'"),
        ({"base_score": [0.5]}, "base_score has 1 entries for 5 labels"),
    ],
)
def test_bad_argument(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _chain(**params).fit(X, Y)


def test_bad_argument_after_fit() -> None:
    chain = _chain(chain_length=1).fit(X, Y).set_params(prediction="both")
    with pytest.raises(ValueError, match="prediction='both'"):
        chain.predict(X_NEW)


@pytest.mark.parametrize("method", ["staged_predict", "staged_predict_proba", "chain_order"])
def test_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(_chain(), method)(X_NEW)


@pytest.mark.parametrize("method", ["staged_predict", "staged_predict_proba", "chain_order"])
def test_wrong_number_of_features(method: str) -> None:
    chain = _chain(chain_length=1).fit(X, Y)
    with pytest.raises(ValueError, match="X has 2 features"):
        getattr(chain, method)(X_NEW[:, :2])


def test_boosters_know_the_names() -> None:
    frame = pd.DataFrame(X, columns=[f"f<{j}>" for j in range(8)])
    labels = pd.DataFrame(Y, columns=["a", "b", "c", "d[0]", "f<0>"])
    chain = _chain(chain_length=2).fit(frame, labels)
    names = [*frame.columns, *(f"propagated {name}" for name in labels.columns)]
    assert all(booster.feature_names == names for (booster,) in chain.boosters_)
    np.testing.assert_array_equal(
        chain.predict_proba(pd.DataFrame(X_NEW, columns=frame.columns)),
        _chain(chain_length=2).fit(X, Y).predict_proba(X_NEW),
    )


def test_pickle() -> None:
    chain = _chain(chain_length=2).fit(X, Y)
    copy = pickle.loads(pickle.dumps(chain))
    np.testing.assert_array_equal(copy.predict_proba(X_NEW), chain.predict_proba(X_NEW))
