"""Training that goes on from an earlier model."""

import pathlib
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError

from xdcc.boosting import MultiLabelXGBClassifier

X, Y = make_multilabel_classification(
    n_samples=120, n_features=5, n_classes=3, n_labels=2, random_state=0
)
FRAME = pd.DataFrame(X, columns=list("vwxyz"))
LABELS = pd.DataFrame(Y, columns=["a", "b", "c"])


def _classifier(n_estimators: int = 4, **params: Any) -> MultiLabelXGBClassifier:
    return MultiLabelXGBClassifier(
        **{"n_estimators": n_estimators, "max_depth": 3, "n_jobs": 1, **params}
    )


@pytest.mark.parametrize("kind", ["estimator", "booster", "file", "path"])
def test_goes_on_where_the_other_stopped(kind: str, tmp_path: pathlib.Path) -> None:
    first = _classifier(4).fit(X, Y)
    file = tmp_path / "booster.ubj"
    first.get_booster().save_model(file)
    start: Any = {
        "estimator": first,
        "booster": first.get_booster(),
        "file": str(file),
        "path": file,
    }[kind]
    before = first.predict_proba(X)
    found = _classifier(3).fit(X, Y, xgb_model=start)
    assert found.booster_.num_boosted_rounds() == 7
    assert found.best_iteration_ == 6
    np.testing.assert_allclose(
        found.predict_proba(X), _classifier(7).fit(X, Y).predict_proba(X), atol=1e-6
    )
    np.testing.assert_array_equal(first.predict_proba(X), before)
    assert first.booster_.num_boosted_rounds() == 4


def test_starts_from_the_iterations_that_predict() -> None:
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 2, size=Y.shape)
    stopped = _classifier(100, early_stopping_rounds=3, learning_rate=1.0)
    stopped.fit(X[:80], noise[:80], eval_set=[(X[80:], noise[80:])])
    assert stopped.best_iteration_ + 1 < stopped.booster_.num_boosted_rounds()
    found = _classifier(1, learning_rate=0.0).fit(X, noise, xgb_model=stopped)
    np.testing.assert_allclose(found.predict_proba(X), stopped.predict_proba(X), atol=1e-6)


def test_early_stopping_counts_from_the_first_iteration() -> None:
    first = _classifier(5).fit(X[:80], Y[:80])
    found = _classifier(50, early_stopping_rounds=2, learning_rate=1.0)
    found.fit(X[:80], Y[:80], eval_set=[(X[80:], Y[80:])], xgb_model=first)
    best = found.booster_[: found.best_iteration_ + 1]
    assert found.best_iteration_ >= 5
    np.testing.assert_array_equal(found.predict_proba(X), best.inplace_predict(X))


def test_columns_of_labels_are_found_by_name() -> None:
    first = _classifier().fit(FRAME, LABELS)
    found = _classifier(3).fit(FRAME, LABELS[["c", "a", "b"]], xgb_model=first)
    assert found.label_names_.tolist() == ["a", "b", "c"]
    expected = _classifier(3).fit(FRAME, LABELS, xgb_model=first)
    np.testing.assert_array_equal(found.predict_proba(FRAME), expected.predict_proba(FRAME))


def test_categories_and_classes_are_those_of_the_first_fit() -> None:
    text = pd.DataFrame({"kind": pd.Categorical(np.array(["p", "q", "r"])[np.arange(120) % 3])})
    target = np.where(np.arange(120) % 3 == 1, "yes", "no")
    first = _classifier().fit(text, target)
    later = text[text["kind"] != "p"].copy()
    later["kind"] = later["kind"].cat.remove_unused_categories()
    found = _classifier(2).fit(later, target[(text["kind"] != "p").to_numpy()], xgb_model=first)
    np.testing.assert_array_equal(found.categories_[0], ["p", "q", "r"])
    np.testing.assert_array_equal(found.predict(text), target)
    only_no = _classifier(2).fit(text[target == "no"], target[target == "no"], xgb_model=first)
    np.testing.assert_array_equal(only_no.classes_, ["no", "yes"])


def test_a_label_that_is_unknown_now_stays_as_it_was() -> None:
    first = _classifier().fit(X, Y)
    labels = Y.astype(float)
    labels[:, 1] = np.nan
    found = _classifier(3).fit(X, labels, xgb_model=first).predict_proba(X)
    np.testing.assert_array_equal(found[:, 1], first.predict_proba(X)[:, 1])
    assert (found[:, 0] != first.predict_proba(X)[:, 0]).any()
    with pytest.raises(ValueError, match="Y has no known label"):
        _classifier().fit(X, np.full(Y.shape, np.nan), xgb_model=first)


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
    first = _classifier().fit(FRAME, LABELS)
    start = first.get_booster() if as_booster else first
    with pytest.raises(ValueError, match=message):
        _classifier().fit(features, labels, xgb_model=start)


def test_other_names_of_labels() -> None:
    first = _classifier().fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="d"):
        _classifier().fit(FRAME, LABELS.rename(columns={"c": "d"}), xgb_model=first)


def test_other_storage() -> None:
    first = _classifier().fit(X, Y)
    with pytest.raises(ValueError, match="X is sparse, but in fit it was dense"):
        _classifier().fit(sparse.csr_matrix(X), Y, xgb_model=first)


def test_a_booster_knows_no_categories() -> None:
    text = pd.DataFrame({"kind": pd.Categorical(list("pqr") * 40)})
    first = _classifier().fit(text, Y)
    with pytest.raises(ValueError, match=r"X has categories, .* give the fitted estimator"):
        _classifier().fit(text, Y, xgb_model=first.get_booster())


def test_no_model(tmp_path: pathlib.Path) -> None:
    with pytest.raises(NotFittedError):
        _classifier().fit(X, Y, xgb_model=_classifier())
    with pytest.raises(TypeError, match=r"xgb_model is a dict; it has to be a fitted Multi"):
        _classifier().fit(X, Y, xgb_model={})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"xgb_model='.*nothing\.ubj' is no booster's file"):
        _classifier().fit(X, Y, xgb_model=str(tmp_path / "nothing.ubj"))
    (tmp_path / "text.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is no booster's file"):
        _classifier().fit(X, Y, xgb_model=tmp_path / "text.json")


def test_another_objective() -> None:
    stock = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, Y), 2)
    for start in (stock, xgb.XGBClassifier(n_estimators=2).fit(X, Y)):
        with pytest.raises((TypeError, ValueError), match=r"binary:logistic|XGBClassifier"):
            _classifier().fit(X, Y, xgb_model=start)
