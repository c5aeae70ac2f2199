"""``MultiLabelXGBClassifier``: its training, and going on from an earlier model."""

import pathlib
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from xdcc.boosting import SPLIT_METHOD_NUMBERS, SPLIT_METHODS, MultiLabelXGBClassifier
from xdcc.boosting.booster_file import check_booster
from xdcc.serving import load_model, save_model

X, Y = make_multilabel_classification(
    n_samples=120, n_features=8, n_classes=4, n_labels=2, random_state=0
)


def _classifier(**params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(**{"n_estimators": 8, "max_depth": 3, "n_jobs": 1, **params})


def test_same_as_xgboost_train() -> None:
    booster = xgb.train(
        {
            "objective": "multilabel:maxGain",
            "max_depth": 3,
            "eta": 0.2,
            "lambda": 0.5,
            "gamma": 0.1,
            "nthread": 1,
        },
        xgb.DMatrix(X, label=Y),
        num_boost_round=8,
    )
    model = _classifier(learning_rate=0.2, split_method="maxGain", reg_lambda=0.5, gamma=0.1)
    np.testing.assert_array_equal(model.fit(X, Y).predict_proba(X), booster.predict(xgb.DMatrix(X)))


def test_sum_gain_is_stock_multi_output_trees() -> None:
    stock = xgb.XGBClassifier(
        n_estimators=8,
        max_depth=3,
        min_child_weight=0,
        multi_strategy="multi_output_tree",
        n_jobs=1,
    )
    np.testing.assert_allclose(
        _classifier().fit(X, Y).predict_proba(X), stock.fit(X, Y).predict_proba(X), atol=1e-5
    )


def test_split_methods_differ_and_numbers_mean_names() -> None:
    by_name = {s: _classifier(split_method=s).fit(X, Y).predict_proba(X) for s in SPLIT_METHODS}
    assert len({proba.tobytes() for proba in by_name.values()}) == len(SPLIT_METHODS)
    for number, name in SPLIT_METHOD_NUMBERS.items():
        by_number = _classifier(split_method=number).fit(X, Y).predict_proba(X)
        np.testing.assert_array_equal(by_number, by_name[name])


def test_unknown_split_method() -> None:
    with pytest.raises(ValueError, match="split_method='gain': it must be one of 'sumGain'"):
        _classifier(split_method="gain").fit(X, Y)


def test_labels_are_probabilities_of_at_least_one_half() -> None:
    model = _classifier().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= 0.5)
    assert model.predict(X).dtype == np.int64
    assert model.predict_proba(X).shape == (120, 4)


def test_start_is_the_mean_of_the_known_labels() -> None:
    labels = Y.astype(float)
    labels[::3, 0] = np.nan
    model = _classifier(learning_rate=0.0).fit(X, labels)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], np.nanmean(labels, axis=0), rtol=1e-5)


def test_base_score_per_label() -> None:
    start = [0.1, 0.2, 0.3, 0.4]
    model = _classifier(learning_rate=0.0, base_score=start).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], start, rtol=1e-5)
    with pytest.raises(ValueError, match="base_score has 2 entries for 4 labels"):
        _classifier(base_score=[0.1, 0.2]).fit(X, Y)


def test_eval_set() -> None:
    model = _classifier(eval_metric=["logloss", "hamming_loss"])
    model.fit(X[:80], Y[:80], eval_set=[(X[:80], Y[:80]), (X[80:], Y[80:])])
    assert list(model.evals_result_) == ["validation_0", "validation_1"]
    history = model.evals_result_["validation_1"]
    assert len(history["logloss"]) == 8
    loss = np.mean([log_loss(Y[80:, j], model.predict_proba(X[80:])[:, j]) for j in range(4)])
    assert history["logloss"][-1] == pytest.approx(loss, rel=1e-5)
    wrong = (model.predict(X[80:]) != Y[80:]).mean()
    assert history["hamming_loss"][-1] == pytest.approx(wrong, rel=1e-5)


def test_early_stopping_predicts_with_the_best_iteration() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, size=Y.shape)
    model = _classifier(n_estimators=100, early_stopping_rounds=3, learning_rate=1.0)
    model.fit(X[:80], noise[:80], eval_set=[(X[80:], noise[80:])])
    history = model.evals_result_["validation_0"]["logloss"]
    assert len(history) < 100
    assert model.best_iteration_ == int(np.argmin(history))
    assert len(history) == model.best_iteration_ + 4
    best = model.get_booster()[: model.best_iteration_ + 1].predict(xgb.DMatrix(X))
    np.testing.assert_array_equal(model.predict_proba(X), best)


@pytest.mark.parametrize(
    ("params", "eval_set", "message"),
    [
        ({"early_stopping_rounds": 3}, None, "early_stopping_rounds needs an eval_set"),
        ({"early_stopping_rounds": 0}, [(X, Y)], "early_stopping_rounds=0: .* at least 1"),
        ({}, [(X, Y[:, :2])], r"eval_set\[0\] has 2 labels, but in fit there were 4"),
        ({}, [(X, Y), (X, Y[:-1])], "inconsistent numbers of samples"),
        ({}, [(X[:, :3], Y)], "X has 3 features"),
        ({}, [(X, 2 * Y)], "Unknown label type"),
    ],
)
def test_bad_eval_set(params: dict[str, Any], eval_set: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _classifier(**params).fit(X, Y, eval_set=eval_set)


def test_booster_knows_the_features_names() -> None:
    frame = pd.DataFrame(X, columns=[f"f<{j}>" for j in range(8)])
    booster = _classifier().fit(frame, Y).get_booster()
    assert booster.feature_names == list(frame.columns)
    assert set(booster.get_score()) <= set(frame.columns)


def test_get_booster_before_fit() -> None:
    with pytest.raises(NotFittedError):
        _classifier().get_booster()


def test_pickle() -> None:
    model = _classifier().fit(X, Y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_grid_search_over_booster_parameters() -> None:
    search = GridSearchCV(_classifier(gamma=0.0), {"gamma": [0.0, 1e6], "max_depth": [3]}, cv=2)
    assert search.fit(X, Y).best_params_["gamma"] == 0.0


def test_scorers_that_use_probabilities() -> None:
    scores = cross_val_score(_classifier(), X, Y, cv=2, scoring="roc_auc")
    assert (scores > 0.6).all()


def test_html_representation_shows_booster_parameters() -> None:
    assert "max_leaves" in _classifier(max_leaves=7)._repr_html_()


X_EARLIER, Y_EARLIER = make_multilabel_classification(
    n_samples=120, n_features=5, n_classes=3, n_labels=2, random_state=0
)
FRAME = pd.DataFrame(X_EARLIER, columns=list("vwxyz"))
LABELS = pd.DataFrame(Y_EARLIER, columns=["a", "b", "c"])


def _goes_on(n_estimators: int = 4, **params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(
        **{"n_estimators": n_estimators, "max_depth": 3, "n_jobs": 1, **params}
    )


@pytest.mark.parametrize("kind", ["estimator", "booster", "file", "path"])
def test_goes_on_where_the_other_stopped(kind: str, tmp_path: pathlib.Path) -> None:
    first = _goes_on(4).fit(X_EARLIER, Y_EARLIER)
    file = tmp_path / "booster.ubj"
    first.get_booster().save_model(file)
    start: Any = {
        "estimator": first,
        "booster": first.get_booster(),
        "file": str(file),
        "path": file,
    }[kind]
    before = first.predict_proba(X_EARLIER)
    found = _goes_on(3).fit(X_EARLIER, Y_EARLIER, xgb_model=start)
    assert found.booster_.num_boosted_rounds() == 7
    assert found.best_iteration_ == 6
    np.testing.assert_allclose(
        found.predict_proba(X_EARLIER),
        _goes_on(7).fit(X_EARLIER, Y_EARLIER).predict_proba(X_EARLIER),
        atol=1e-6,
    )
    np.testing.assert_array_equal(first.predict_proba(X_EARLIER), before)
    assert first.booster_.num_boosted_rounds() == 4


def test_starts_from_the_iterations_that_predict() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, size=Y_EARLIER.shape)
    stopped = _goes_on(100, early_stopping_rounds=3, learning_rate=1.0)
    stopped.fit(X_EARLIER[:80], noise[:80], eval_set=[(X_EARLIER[80:], noise[80:])])
    assert stopped.best_iteration_ + 1 < stopped.booster_.num_boosted_rounds()
    found = _goes_on(1, learning_rate=0.0).fit(X_EARLIER, noise, xgb_model=stopped)
    np.testing.assert_allclose(
        found.predict_proba(X_EARLIER), stopped.predict_proba(X_EARLIER), atol=1e-6
    )


def test_early_stopping_counts_from_the_first_iteration() -> None:
    first = _goes_on(5).fit(X_EARLIER[:80], Y_EARLIER[:80])
    found = _goes_on(50, early_stopping_rounds=2, learning_rate=1.0)
    found.fit(
        X_EARLIER[:80], Y_EARLIER[:80], eval_set=[(X_EARLIER[80:], Y_EARLIER[80:])], xgb_model=first
    )
    best = found.booster_[: found.best_iteration_ + 1]
    assert found.best_iteration_ >= 5
    np.testing.assert_array_equal(found.predict_proba(X_EARLIER), best.inplace_predict(X_EARLIER))


def test_columns_of_labels_are_found_by_name() -> None:
    first = _goes_on().fit(FRAME, LABELS)
    found = _goes_on(3).fit(FRAME, LABELS[["c", "a", "b"]], xgb_model=first)
    assert found.label_names_.tolist() == ["a", "b", "c"]
    expected = _goes_on(3).fit(FRAME, LABELS, xgb_model=first)
    np.testing.assert_array_equal(found.predict_proba(FRAME), expected.predict_proba(FRAME))


def test_categories_and_classes_are_those_of_the_first_fit() -> None:
    text = pd.DataFrame({"kind": pd.Categorical(np.array(["p", "q", "r"])[np.arange(120) % 3])})
    target = np.where(np.arange(120) % 3 == 1, "yes", "no")
    first = _goes_on().fit(text, target)
    later = text[text["kind"] != "p"].copy()
    later["kind"] = later["kind"].cat.remove_unused_categories()
    found = _goes_on(2).fit(later, target[(text["kind"] != "p").to_numpy()], xgb_model=first)
    np.testing.assert_array_equal(found.categories_[0], ["p", "q", "r"])
    np.testing.assert_array_equal(found.predict(text), target)
    only_no = _goes_on(2).fit(text[target == "no"], target[target == "no"], xgb_model=first)
    np.testing.assert_array_equal(only_no.classes_, ["no", "yes"])


def test_a_label_that_is_unknown_now_stays_as_it_was() -> None:
    first = _goes_on().fit(X_EARLIER, Y_EARLIER)
    labels = Y_EARLIER.astype(float)
    labels[:, 1] = np.nan
    found = _goes_on(3).fit(X_EARLIER, labels, xgb_model=first).predict_proba(X_EARLIER)
    np.testing.assert_array_equal(found[:, 1], first.predict_proba(X_EARLIER)[:, 1])
    assert (found[:, 0] != first.predict_proba(X_EARLIER)[:, 0]).any()
    with pytest.raises(ValueError, match="Y has no known label"):
        _goes_on().fit(X_EARLIER, np.full(Y_EARLIER.shape, np.nan), xgb_model=first)


@pytest.mark.parametrize("as_booster", [False, True])
@pytest.mark.parametrize(
    ("features", "labels", "message"),
    [
        (FRAME.iloc[:, :4], LABELS, "features|- z"),
        (FRAME.rename(columns={"v": "u"}), LABELS, "'u'|- u"),
        (FRAME, LABELS.iloc[:, :2], "labels"),
    ],
)
def test_other_columns(features: Any, labels: Any, message: str, as_booster: bool) -> None:
    first = _goes_on().fit(FRAME, LABELS)
    start = first.get_booster() if as_booster else first
    with pytest.raises(ValueError, match=message):
        _goes_on().fit(features, labels, xgb_model=start)


@pytest.mark.parametrize("n_before", [1, 2])
def test_later_labels_start_at_their_frequencies(n_before: int) -> None:
    before = LABELS.iloc[:, :n_before]
    first = _goes_on(3, label_weight=[2.0] * n_before).fit(FRAME, before)
    later = LABELS.astype(float)
    later.iloc[:50, n_before:] = np.nan
    weight = np.where(np.arange(120) < 60, 1.0, 2.0)
    start = _goes_on(1, learning_rate=0.0).fit(FRAME, later, weight, xgb_model=first)
    assert start.label_names_.tolist() == ["a", "b", "c"]
    assert start.booster_.num_boosted_rounds() == 4
    found = start.predict_proba(FRAME)
    np.testing.assert_array_equal(found[:, :n_before], first.predict_proba(FRAME))
    frequency = np.average(later.iloc[50:, n_before:], axis=0, weights=weight[50:])
    np.testing.assert_allclose(found[:, n_before:], np.tile(frequency, (120, 1)), rtol=1e-5)
    assert first.n_labels_ == n_before

    further = _goes_on(30).fit(FRAME, later[["c", "b", "a"]], xgb_model=first)
    named = ["a", "c", "b"] if n_before == 1 else ["a", "b", "c"]
    assert further.label_names_.tolist() == named
    assert further.score(FRAME, LABELS) > 0.8
    check_booster(further.booster_.save_raw())
    again = _goes_on(1).fit(FRAME, LABELS.assign(d=LABELS["a"]), xgb_model=further)
    assert again.label_names_.tolist() == [*named, "d"]


def test_later_labels_of_arrays_and_of_lists_of_names() -> None:
    first = _goes_on().fit(X_EARLIER, Y_EARLIER[:, :2])
    found = _goes_on(20).fit(X_EARLIER, Y_EARLIER, xgb_model=first)
    assert found.label_names_.tolist() == ["label_0", "label_1", "label_2"]
    assert found.score(X_EARLIER, Y_EARLIER) > 0.8
    of_names = _goes_on().fit(X_EARLIER, [["b"], ["c"]] * 60)
    more = _goes_on().fit(X_EARLIER, [["b", "a"], [], ["c"]] * 40, xgb_model=of_names)
    assert more.label_names_.tolist() == ["b", "c", "a"]


def test_a_later_label_that_is_unknown_in_all_rows_is_absent() -> None:
    first = _goes_on().fit(FRAME, LABELS)
    with pytest.warns(UserWarning, match=r"Unknown \(NaN\) in every row that counts: label 'd'"):
        found = _goes_on().fit(FRAME, LABELS.assign(a=np.nan, d=np.nan), xgb_model=first)
    assert found.predict_proba(FRAME)[:, 3].max() < 1e-5


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS.drop(columns="a").assign(d=1), r"each once, .*\(missing: 'a'; unexpected: 'd'\)"),
        (Y_EARLIER[:, :2], "Y has 2 labels, but in fit there were 3"),
        (LABELS.assign(d="ill"), "Y holds 'ill' in row 0 for label 'd'"),
    ],
)
def test_later_labels_that_are_refused(labels: Any, message: str) -> None:
    first = _goes_on().fit(FRAME, LABELS)
    with pytest.raises(ValueError, match=message):
        _goes_on().fit(FRAME, labels, xgb_model=first)
    with pytest.raises(ValueError, match=r"and Y 4 labels\. To add labels, pass the fitted estim"):
        _goes_on().fit(FRAME, LABELS.assign(d=1), xgb_model=first.get_booster())


def test_other_names_of_labels() -> None:
    first = _goes_on().fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="d"):
        _goes_on().fit(FRAME, LABELS.rename(columns={"c": "d"}), xgb_model=first)


def test_other_storage() -> None:
    first = _goes_on().fit(X_EARLIER, Y_EARLIER)
    with pytest.raises(ValueError, match="X is sparse, but in fit it was dense"):
        _goes_on().fit(sparse.csr_matrix(X_EARLIER), Y_EARLIER, xgb_model=first)


def test_a_booster_knows_no_categories() -> None:
    text = pd.DataFrame({"kind": pd.Categorical(list("pqr") * 40)})
    first = _goes_on().fit(text, Y_EARLIER)
    with pytest.raises(ValueError, match=r"X has categories, .* pass the fitted estimator"):
        _goes_on().fit(text, Y_EARLIER, xgb_model=first.get_booster())


def test_no_model(tmp_path: pathlib.Path) -> None:
    with pytest.raises(NotFittedError):
        _goes_on().fit(X_EARLIER, Y_EARLIER, xgb_model=_goes_on())
    with pytest.raises(TypeError, match=r"xgb_model is a dict; it must be a fitted Multi"):
        _goes_on().fit(X_EARLIER, Y_EARLIER, xgb_model={})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"xgb_model='.*nothing\.ubj' is not the file of"):
        _goes_on().fit(X_EARLIER, Y_EARLIER, xgb_model=str(tmp_path / "nothing.ubj"))
    (tmp_path / "text.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is not the file of a booster"):
        _goes_on().fit(X_EARLIER, Y_EARLIER, xgb_model=tmp_path / "text.json")


def test_another_objective() -> None:
    stock = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X_EARLIER, Y_EARLIER), 2)
    for start in (stock, xgb.XGBClassifier(n_estimators=2).fit(X_EARLIER, Y_EARLIER)):
        with pytest.raises((TypeError, ValueError), match=r"binary:logistic|XGBClassifier"):
            _goes_on().fit(X_EARLIER, Y_EARLIER, xgb_model=start)


def test_dropout() -> None:
    params = {"objective": "multilabel:logistic", "rate_drop": 0.5, "seed": 3}
    start = xgb.train(params, xgb.DMatrix(X_EARLIER, Y_EARLIER), 6)
    with pytest.raises(ValueError, match=r"xgb_model was trained with dropout \(rate_drop\)"):
        _goes_on().fit(X_EARLIER, Y_EARLIER, xgb_model=start)


def test_only_missing_values_go_to_the_left() -> None:
    """A monotone constraint forbids the other direction; XGBoost's threshold is then -inf."""
    X = X_EARLIER.astype(np.float32)
    X[::2, 0] = np.nan
    Y = np.isfinite(X[:, :1]).astype(int)
    model = _goes_on(3, monotone_constraints=[1] + [0] * (X.shape[1] - 1)).fit(X, Y)
    assert "-Infinity" in model.get_booster().save_raw("json").decode()
    check_booster(bytes(model.get_booster().save_raw("ubj")))
    X[0, 0], X[1, 0] = np.finfo(np.float32).min, np.nan
    for rows in (X, X[:1], X[1:2]):
        proba = np.asarray(model.predict_proba(rows))[:, 0]
        np.testing.assert_array_equal(proba > 0.5, np.isfinite(rows[:, 0]))
        np.testing.assert_array_equal(proba, model.get_booster().predict(xgb.DMatrix(rows)).ravel())


class _Recorder(xgb.callback.TrainingCallback):
    """Sees what Optuna's pruning sees, and stops as told."""

    def __init__(self, stop_after: int | None = None, prune: bool = False) -> None:
        self.stop_after, self.prune, self.seen = stop_after, prune, []

    def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: Any) -> bool:
        self.seen.append(evals_log["validation_0"]["logloss"][-1])
        if epoch + 1 == self.stop_after and self.prune:
            raise InterruptedError("pruned")
        return epoch + 1 == self.stop_after


def test_callbacks_are_called_in_every_round() -> None:
    recorder = _Recorder(stop_after=4)
    model = MultiLabelXGBClassifier(n_estimators=10, callbacks=[recorder])
    model.fit(X, Y, eval_set=[(X, Y)])
    assert recorder.seen == model.evals_result_["validation_0"]["logloss"]
    assert len(recorder.seen) == model.best_iteration_ + 1 == 4
    expected = MultiLabelXGBClassifier(n_estimators=4).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    assert clone(model).callbacks is not None


def test_callbacks_of_xgboost() -> None:
    half, new = slice(0, None, 2), slice(1, None, 2)
    rates = xgb.callback.LearningRateScheduler([0.5, 0.1, 0.05, 0.2])
    model = MultiLabelXGBClassifier(n_estimators=4, callbacks=[rates]).fit(X, Y)
    params = {"objective": "multilabel:logistic"}
    booster = xgb.train(params, xgb.DMatrix(X, Y), 4, callbacks=[rates])
    np.testing.assert_array_equal(model.predict_proba(X), booster.predict(xgb.DMatrix(X)))
    constant = MultiLabelXGBClassifier(n_estimators=4).fit(X, Y)
    assert (model.predict_proba(X) != constant.predict_proba(X)).any()
    stopped, expected = (
        MultiLabelXGBClassifier(n_estimators=200, learning_rate=1.0, **arguments).fit(
            X[half], Y[half], eval_set=[(X[new], Y[new])]
        )
        for arguments in (
            {"callbacks": [xgb.callback.EarlyStopping(rounds=3)]},
            {"early_stopping_rounds": 3},
        )
    )
    assert stopped.best_iteration_ == expected.best_iteration_ < 150
    np.testing.assert_array_equal(stopped.predict_proba(X), expected.predict_proba(X))


def test_a_callback_that_raises_leaves_no_model() -> None:
    model = MultiLabelXGBClassifier(n_estimators=10, callbacks=[_Recorder(2, prune=True)])
    with pytest.raises(InterruptedError, match="pruned"):
        model.fit(X, Y, eval_set=[(X, Y)])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_model_files_keep_no_callbacks(tmp_path: pathlib.Path) -> None:
    rates = xgb.callback.LearningRateScheduler([0.5, 0.1])
    model = MultiLabelXGBClassifier(n_estimators=2, callbacks=[rates]).fit(X, Y)
    save_model(model, tmp_path / "model.xdcc")
    loaded = load_model(tmp_path / "model.xdcc")
    assert loaded.callbacks is None
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("callbacks", ["early", [print], xgb.callback.EarlyStopping(rounds=3)])
def test_what_is_no_list_of_callbacks(callbacks: Any) -> None:
    with pytest.raises(ValueError, match=r"callbacks=.*: it must be a list of xgboost\.callback"):
        MultiLabelXGBClassifier(callbacks=callbacks).fit(X, Y)
