"""Each yes and no in the first table of docs/start/how_it_compares.md is what the library does.

Libraries that are not installed are skipped. A library of wrappers can do what it does with one of
the classifiers named here; of xdcc, both classifiers have to.
"""

import importlib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier

import xdcc

PAGE = Path(__file__).parents[1] / "docs" / "start" / "how_it_compares.md"
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 5))
SCORES = np.column_stack([X[:, 0] + X[:, 1], X[:, 1] - 0.2, X[:, 2] - X[:, 0]])
Y = (SCORES + RANDOM.normal(scale=0.2, size=SCORES.shape) > 0).astype(int)
HIDDEN = RANDOM.random(len(X)) < 0.3


def table():
    """Cells of the first table: row → column → cell."""
    first = PAGE.read_text("utf-8").partition("\n## ")[0]
    lines = [line for line in first.splitlines() if "|" in line]
    header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {name: dict(zip(header[1:], cells, strict=True)) for name, *cells in rows}


def dense(A):
    return A.toarray() if sparse.issparse(A) else np.asarray(A)


def labels(model, X, Y):
    found = dense(model.fit(X, Y).predict(X))
    assert found.shape == (len(X) if isinstance(X, pd.DataFrame) else X.shape[0], 3)
    return found


def unknown_labels(make):
    known = Y.astype(float)
    known[HIDDEN, 0] = np.nan
    found = labels(make(), X, known)[:, 0]
    for value in (0, 1):  # unknown is neither absent nor present
        assert (found[HIDDEN & (Y[:, 0] == value)] == value).mean() > 0.6


def missing_values(make):
    labels(make(), np.where(HIDDEN[:, None], np.nan, X), Y)


def sparse_features(make):
    labels(make(), sparse.csr_matrix(np.where(abs(X) > 0.5, X, 0)), Y)


def categories(make):
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["city"] = pd.Categorical(np.where(X[:, 1] > 0.2, "Bonn", "Kiel"))
    labels(make(), frame, Y)


def constant_label(make):
    assert (labels(make(), X, Y * [1, 0, 1])[:, 1] == 0).all()


def more_classes(make):
    assert set(np.unique(labels(make(), X, Y + (SCORES > 1)))) == {0, 1, 2}


def names_of_labels(make):
    labels(make(), X, [[name for name, y in zip("abc", row, strict=True) if y] for row in Y])


def sample_weight(make):
    make().fit(X, Y, sample_weight=np.linspace(0, 1, len(X)))


def one_array(make):
    proba = make().fit(X, Y).predict_proba(X)
    assert not isinstance(proba, list)
    assert proba.shape == Y.shape


def cross_validation(make):
    assert np.isfinite(cross_val_score(make(), X, Y, cv=2, error_score="raise")).all()


TRIED = {
    "NaN in Y (unknown label)": unknown_labels,
    "NaN in X": missing_values,
    "sparse X": sparse_features,
    "columns of type `category`": categories,
    "a label that is constant in training": constant_label,
    "more than two classes in a column of Y": more_classes,
    "Y as lists of label names": names_of_labels,
    "`sample_weight` in `fit`": sample_weight,
    "`predict_proba`: one array": one_array,
    "`cross_val_score` with its own score": cross_validation,
}

TREES = HistGradientBoostingClassifier(max_iter=5)
WRAPPED = TREES, LogisticRegression(), RandomForestClassifier(10)


def of_lightgbm(library):
    params = {"n_estimators": 5, "n_jobs": 1, "verbose": -1}
    return [lambda: MultiOutputClassifier(library.LGBMClassifier(**params))]


def of_xgboost(library):
    params = {"n_estimators": 5, "multi_strategy": "multi_output_tree"}
    return [lambda: library.XGBClassifier(**params)]


def of_catboost(library):
    params = {"iterations": 5, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return [
        lambda: library.CatBoostClassifier(loss_function="MultiLogloss", **params),
        lambda: library.CatBoostClassifier(loss_function="MultiCrossEntropy", **params),
        lambda: library.CatBoostClassifier(
            loss_function="MultiLogloss", cat_features=["city"], **params
        ),
    ]


def of_scikit_multilearn(library):
    kinds = library.BinaryRelevance, library.ClassifierChain, library.LabelPowerset
    return [
        lambda kind=kind, base=base: kind(base, require_dense=[base is TREES, True])
        for kind in kinds
        for base in WRAPPED
    ]


LIBRARIES = {
    "xdcc": (
        "xdcc",
        lambda _: [
            lambda: xdcc.MultiLabelXGBClassifier(n_estimators=5, learning_rate=1.0),
            lambda: xdcc.MultiLabelClassifier(cv=2, n_jobs=1),
        ],
    ),
    "scikit-learn per label": (
        "sklearn",
        lambda _: [lambda base=base: MultiOutputClassifier(base) for base in WRAPPED],
    ),
    "scikit-learn chain": (
        "sklearn",
        lambda _: [lambda base=base: ClassifierChain(base) for base in WRAPPED],
    ),
    "XGBoost": ("xgboost", of_xgboost),
    "LightGBM": ("lightgbm", of_lightgbm),
    "CatBoost": ("catboost", of_catboost),
    "scikit-multilearn": ("skmultilearn.problem_transform", of_scikit_multilearn),
    "mlrl-boomer": (
        "mlrl.boosting",
        lambda library: [lambda: library.BoomerClassifier(max_rules=20)],
    ),
}


def works(trial, make):
    with warnings.catch_warnings(action="ignore"):
        try:
            trial(make)
        except Exception:
            return False
    return True


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_table_says_what_the_library_does(library):
    name, makers = LIBRARIES[library]
    pytest.importorskip(name)
    makers = makers(importlib.import_module(name))
    together = all if library == "xdcc" else any
    done = {row: together(works(trial, make) for make in makers) for row, trial in TRIED.items()}
    said = {row: cells[library] for row, cells in table().items()}
    assert said == {row: "yes" if can else "no" for row, can in done.items()}


def test_the_table_has_a_row_for_every_trial():
    rows = table()
    assert list(rows) == list(TRIED)
    assert all(list(cells) == list(LIBRARIES) for cells in rows.values())
