"""Warnings of X and Y that can be learned from, but hardly as meant."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier

from xdcc import MultiLabelClassifier, MultiLabelXGBClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.linear import LogisticLabels
from xdcc.serving import CompiledModel, load_model, save_model

N_ROWS = 60
_random = np.random.default_rng(0)
X = pd.DataFrame(_random.normal(size=(N_ROWS, 3)), columns=list("abc"))
Y = pd.DataFrame((X.to_numpy()[:, :2] > 0).astype(int), columns=["red", "blue"])
MODELS = [
    MultiLabelXGBClassifier(n_estimators=2, n_jobs=1),
    LogisticLabels(cv=2, n_jobs=1),
    TunedDecisionClassifierCV(MultiLabelXGBClassifier(n_estimators=2, n_jobs=1), cv=2),
    TunedDecisionClassifierCV(MultiOutputClassifier(LogisticRegression()), cv=2),
]


def _messages(model: Any, X: Any, Y: Any, *weights: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(model).fit(X, Y, *weights)
    assert all(each.category is UserWarning for each in caught)
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("model", MODELS)
def test_indices_in_different_orders(model: Any) -> None:
    shuffled = X.sample(frac=1, random_state=0)
    (message,) = _messages(model, shuffled, Y)
    assert message == (
        "The indices of X and Y have the same values in different orders. Rows are matched by "
        "position, so the labels may be those of other rows: give Y.loc[X.index], or reset both "
        "indices if the rows are in the same order."
    )
    assert _messages(model, shuffled, Y.loc[shuffled.index]) == []
    assert _messages(model, shuffled.reset_index(drop=True), Y.loc[shuffled.index]) == [message]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (X, Y),
        (X.set_index(np.arange(N_ROWS) + 7), Y),  # other values
        (X.set_index(pd.Index([f"row {i}" for i in range(N_ROWS)])), Y),
        (X.set_index(np.arange(N_ROWS)[::-1]), Y.to_numpy()),
        (X.to_numpy(), Y.set_index(np.arange(N_ROWS)[::-1])),
        (pl.DataFrame(X), Y.set_index(np.arange(N_ROWS)[::-1])),
        (X.to_numpy().tolist(), Y.to_numpy().tolist()),
    ],
)
def test_other_indices_are_no_reason_to_warn(rows: Any, labels: Any) -> None:
    assert _messages(MODELS[0], rows, labels) == []


def test_index_of_a_target_of_one_dimension() -> None:
    (message,) = _messages(MODELS[0], X, Y["red"][::-1])
    assert "in different orders" in message


@pytest.mark.parametrize("model", MODELS[:3])
def test_labels_of_which_only_positives_are_known(model: Any) -> None:
    labels = Y.astype(float).where(Y == 1).assign(green=Y["red"].astype(float))
    (message,) = _messages(model, X, labels)
    assert message == (
        "Only positives are known, all others are NaN, of label 'red', 'blue'. Every prediction "
        "will be 1. Add known negatives (0), or take unknown entries as 0."
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(X, labels)
    assert (fitted.predict(X)[:, :2] == 1).all()


def test_only_rows_that_count_tell_whether_negatives_are_known() -> None:
    labels = Y.astype(float).where(Y == 1)
    labels.loc[0, ["red", "blue"]] = 0
    weight = np.ones(N_ROWS)
    assert _messages(MODELS[0], X, labels, weight) == []
    weight[0] = 0
    assert len(_messages(MODELS[0], X, labels, weight)) == 1


def test_labels_that_are_constant_or_unknown_are_another_matter() -> None:
    constant = Y.assign(green=1, white=0).astype(float)
    constant.loc[3, "white"] = np.nan
    assert _messages(MODELS[0], X, constant) == []
    (message,) = _messages(MODELS[0], X, Y.assign(green=np.nan))
    assert "Unknown (NaN) in every row that counts: label 'green'" in message


def _with_identifier(n_rows: int = N_ROWS, n_distinct: int = N_ROWS) -> pd.DataFrame:
    names = [f"customer {i % n_distinct}" for i in range(n_rows)]
    return X[:n_rows].assign(customer=pd.Categorical(names), kind=pd.Categorical(names).codes % 4)


@pytest.mark.parametrize("model", [*MODELS[:3], MultiLabelClassifier(cv=2, n_jobs=1)])
def test_a_category_for_every_row_is_ignored(model: Any, tmp_path: Any) -> None:
    frame = _with_identifier()
    expected = (
        "Column 'customer' of X (position 3) has 60 categories in 60 rows, so it tells nothing "
        "about other rows. It is ignored: all of its values are taken as missing. If they are "
        "numbers or dates, make numbers of it."
    )
    messages = _messages(model, frame, Y)
    assert messages == [expected]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit(frame, Y)
    new = frame.assign(customer=pd.Categorical(["nobody"] * N_ROWS))  # no warning
    proba = fitted.predict_proba(frame)
    np.testing.assert_array_equal(fitted.predict_proba(new), proba)
    np.testing.assert_array_equal(fitted.predict_proba(new.assign(customer="none")[:5]), proba[:5])
    save_model(fitted, tmp_path / "model.xdcc")
    again = load_model(tmp_path / "model.xdcc")
    np.testing.assert_array_equal(again.predict_proba(new), proba)
    if not isinstance(model, LogisticLabels):
        np.testing.assert_allclose(CompiledModel(fitted).predict_proba(new), proba, atol=1e-6)


@pytest.mark.parametrize(("n_rows", "n_distinct"), [(60, 54), (49, 49), (60, 30)])
def test_other_categories_are_kept(n_rows: int, n_distinct: int) -> None:
    frame = _with_identifier(n_rows, n_distinct)
    assert _messages(MODELS[0], frame, Y[:n_rows]) == []
    model = clone(MODELS[0]).fit(frame, Y[:n_rows])
    assert len(model.categories_[3]) == n_distinct


def test_nearly_as_many_categories_as_rows() -> None:
    (message,) = _messages(MODELS[0], _with_identifier(60, 55), Y)
    assert "'customer' of X (position 3) has 55 categories in 60 rows" in message
    frame = _with_identifier()
    frame.loc[:8, "customer"] = None
    (message,) = _messages(MODELS[0], frame, Y)
    assert "has 51 categories in 51 rows" in message


_DAYS = pd.date_range("2024-01-01", periods=N_ROWS)


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        (_DAYS, r"datetime64\[\w+\]"),
        (_DAYS.tz_localize("UTC"), r"datetime64\[\w+, UTC\]"),
        (_DAYS - _DAYS[0], r"timedelta64\[\w+\]"),
        (_DAYS.to_period("M"), r"period\[M\]"),
        (pd.Series(_DAYS.date), "object"),
        (_DAYS.strftime("%Y-%m-%d").where(_DAYS.day > 1), "(str|object)"),
        (_DAYS.strftime("%Y-%m-%dT%H:%M"), "(str|object)"),
    ],
)
@pytest.mark.parametrize("takes_categories", [True, False])
def test_dates(column: Any, dtype: str, takes_categories: bool) -> None:
    model = clone(MODELS[0])
    if not takes_categories:
        model = TunedDecisionClassifierCV(_NumbersOnly(n_estimators=2, n_jobs=1), cv=2)
    message = (
        rf"^Column 'day' of X \(position 3\) has the type {dtype}; the estimator takes no dates "
        r"and times\. Make numbers of them: the year, the month, the days since a date, "
        r"\(day - pd\.Timestamp\('2020-01-01'\)\)\.dt\.days\.$"
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X.assign(day=np.asarray(column, object) if dtype == "object" else column), Y)


class _NumbersOnly(MultiLabelXGBClassifier):
    _takes_categories = False


def test_dates_of_polars() -> None:
    frame = pl.DataFrame(X).with_columns(day=pl.Series(_DAYS.date.tolist()))
    with pytest.raises(ValueError, match=r"Column 'day' of X .* takes no dates and times"):
        MODELS[0].fit(frame, Y)


def test_other_text_is_no_date() -> None:
    with pytest.raises(ValueError, match=r"Column 'name' .* make it a category with astype"):
        MODELS[0].fit(X.assign(name="platform 9 of 12, left"), Y)
