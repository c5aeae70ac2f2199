"""The warning that random folds flatter the score."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import TimeSeriesSplit

import xdcc
from xdcc.automatic import fold_check
from xdcc.automatic.fold_check import LEAST_ROWS, find_flattery, suspects
from xdcc.automatic.shape import Shape
from xdcc.base.fit_data import FitData
from xdcc.base.input_form import InputForm

N_ROWS, N_DAYS = 4000, 100


def table(effect, n_rows=N_ROWS):
    """Rows of days that share an effect on two labels, and weather, which identifies the day."""
    random = np.random.default_rng(0)
    days = np.sort(random.integers(0, N_DAYS, n_rows))
    X = random.normal(size=(n_rows, 3))
    Z = X[:, :2] + effect * random.normal(size=(N_DAYS, 2))[days]
    Y = (Z + random.logistic(size=Z.shape) > 0).astype(float)
    weather = random.normal(size=N_DAYS)[days]
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(day=days, weather=weather), Y


@pytest.fixture
def plenty(monkeypatch):
    """As much time for the test as it can take, in a `fit` of a second."""
    monkeypatch.setattr(fold_check, "SHARE_OF_TIME", 1000.0)


def fit(X, Y, cv=3, **others):
    """Fit one linear candidate; warnings are errors."""
    return xdcc.MultiLabelClassifier(members=["linear"], cv=cv, refit=False).fit(X, Y, **others)


def messages(X, Y):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit(X, Y)
    return [str(each.message) for each in found if each.category is UserWarning]


def checked(X, Y, **form):
    return FitData(X, np.asarray(Y, np.float32), None, InputForm(X.shape[1], **form))


@pytest.mark.usefixtures("plenty")
def test_effects_of_days_are_told_once():
    (message,) = messages(*table(1.5))
    assert message.startswith(
        "Random folds flatter the score: rows that share a value of 'day' are alike. In a "
        "trial the log-loss was "
    )
    assert message.endswith(
        " % higher where no such rows were in training. If new rows have other values of 'day', "
        "pass groups='day' or, with rows in the order of 'day', cv=TimeSeriesSplit()."
    )


@pytest.mark.usefixtures("plenty")
def test_columns_without_names_have_a_number():
    X, Y = table(1.5)
    (message,) = messages(X.to_numpy(), Y)
    assert "a value of column 3 are alike" in message
    assert "pass groups=X[:, 3] or" in message


@pytest.mark.usefixtures("plenty")
def test_the_order_of_rows_is_named_without_a_column():
    X, Y = table(1.5)
    (message,) = messages(X.drop(columns="day"), Y)
    assert "rows that follow each other in X are alike" in message
    assert "pass cv=TimeSeriesSplit(); if rows belong together, pass a value for each" in message


@pytest.mark.usefixtures("plenty")
def test_identifiers_and_categories_in_any_order_are_named():
    X, Y = table(1.5)
    rows = np.random.default_rng(1).permutation(N_ROWS)
    place = X["day"].astype(str).astype("category")
    X = X.drop(columns="day").assign(place=place).iloc[rows].reset_index(drop=True)
    (message,) = messages(X, Y[rows])
    assert "a value of 'place' are alike" in message
    assert message.endswith("pass groups='place'.")


@pytest.mark.usefixtures("plenty")
def test_tables_without_structure_are_silent():
    fit(*table(0.0))


@pytest.mark.usefixtures("plenty")
@pytest.mark.parametrize("others", [{"groups": "day"}, {"cv": TimeSeriesSplit(3)}])
def test_groups_and_splitters_are_not_questioned(others):
    fit(*table(1.5), **others)


@pytest.mark.usefixtures("plenty")
def test_small_tables_are_not_tested():
    fit(*table(1.5, LEAST_ROWS - 1))


def test_two_percent_of_a_short_fit_do_not_suffice():
    fit(*table(1.5))


def test_trials_need_their_estimated_seconds(monkeypatch):
    X, Y = table(1.5)
    data = checked(X.to_numpy(np.float32), Y)
    shape = Shape.of(data, 5)
    needed = fold_check._seconds_of_trial(shape, N_ROWS)
    trials = []
    monkeypatch.setattr(
        fold_check, "_trial", lambda *given: trials.append(given) or fold_check.Flattery(0.1, 0.05)
    )
    for n_trials, n_expected in ((0.9, 0), (1.1, 1), (2.1, 2), (3.1, 3), (50, 4)):
        trials.clear()
        find_flattery(data, shape, n_trials * needed, seed=0)
        assert len(trials) == n_expected


def test_suspects_grow_or_are_categories_or_identifiers():
    random = np.random.default_rng(0)
    n = 6000
    columns = {
        "noise": random.normal(size=n),
        "age": random.integers(18, 80, n),
        "patient": random.integers(0, 1000, n),
        "place": random.integers(0, 40, n),
        "count": random.poisson(3, n),
        "panel year": np.tile(np.arange(40), n // 40),
        "time": np.arange(n) / 7,
    }
    X = np.column_stack(list(columns.values())).astype(np.float32)
    data = checked(X, np.ones((n, 1)), categories={3: np.arange(40).astype(str)})
    found = suspects(data, 9)
    assert [list(columns)[each.column] for each in found] == [
        "panel year",
        "time",
        "place",
        "patient",
    ]
    assert [each.grows for each in found] == [True, True, False, False]
    assert found[1].codes is None
    assert len(suspects(data, 2)) == 2
    (in_order,) = suspects(data._replace(X=sparse.csr_matrix(X)), 9)
    assert in_order.column is None
