"""``distil=True``: the student that :func:`xdcc.distil` would train replaces the mixture."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import xdcc
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.explain import shap_values
from xdcc.serving import CompiledModel, load_model, save_model, to_forest


@pytest.fixture(scope="module")
def data():
    data = xdcc.data.make_multilabel(200, n_features=8, n_labels=4, random_state=1)
    data.Y[:, 3] = 1  # constant
    return data


@pytest.fixture(scope="module")
def mixture(data):
    return xdcc.MultiLabelClassifier(cv=2, random_state=3, n_jobs=1).fit(data.X, data.Y)


@pytest.fixture(scope="module")
def distilled(mixture, data):
    return clone(mixture).set_params(distil=True).fit(data.X, data.Y)


def test_it_is_the_student_of_the_mixture(mixture, distilled, data):
    student = xdcc.distil(mixture, data.X, data.Y, random_state=3, n_jobs=1)
    for predict in ("predict", "predict_proba"):
        np.testing.assert_array_equal(
            getattr(distilled, predict)(data.X), getattr(student, predict)(data.X)
        )
    assert distilled.report_["log_loss"] == student.report_["log_loss"]
    assert not hasattr(mixture, "report_")


def test_another_fit_leaves_no_report(distilled, mixture, data):
    model = copy.copy(distilled).set_params(distil=False).fit(data.X, data.Y)
    assert not hasattr(model, "report_")
    np.testing.assert_array_equal(model.predict_proba(data.X), mixture.predict_proba(data.X))


def test_only_a_booster_is_left(mixture, distilled):
    (member,) = distilled.members_
    assert (member.name, member.share) == ("student", 1)
    assert [type(each) for each in distilled.estimators_] == [MultiLabelXGBClassifier]
    assert distilled.stacked_ == []
    assert distilled.report_["model"] == ["teacher", "student"]
    # What is about the mixture stays.
    assert distilled.summary_["candidate"] == mixture.summary_["candidate"]
    assert distilled.best_score_ == mixture.best_score_
    np.testing.assert_array_equal(distilled.oof_proba_, mixture.oof_proba_)


def test_the_leaderboard_tests_the_student(mixture, distilled, data):
    board = distilled.leaderboard(data.X, data.Y).set_index("candidate")
    tested = ["predict_seconds", "test_log_loss", "test_score"]
    assert board.index.tolist() == [*mixture.leaderboard().candidate, "student"]
    assert board[tested].drop("student").isna().all(axis=None)
    expected = xdcc.metrics.log_loss(data.Y, distilled.predict_proba(data.X))
    assert board.test_log_loss["student"] == pytest.approx(expected)
    assert board.log_loss["mixture"] == mixture.summary_["best_log_loss"][-1]


def test_weights_reach_the_student(mixture, distilled, data):
    weight = np.linspace(0.5, 2, 200)
    model = clone(distilled).fit(data.X, data.Y, weight)
    teacher = clone(mixture).fit(data.X, data.Y, weight)
    student = xdcc.distil(teacher, data.X, data.Y, weight, random_state=3, n_jobs=1)
    np.testing.assert_array_equal(model.predict_proba(data.X), student.predict_proba(data.X))


def test_it_is_stored_compiled_exported_and_explained(distilled, data, tmp_path):
    proba = distilled.predict_proba(data.X)
    save_model(distilled, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(data.X), proba)
    assert loaded.report_ == distilled.report_
    np.testing.assert_array_equal(CompiledModel(distilled).predict_proba(data.X), proba)
    forest = to_forest(distilled)
    np.testing.assert_allclose(forest.inplace_predict(data.X), proba, atol=1e-6)
    margins = np.log(proba[:5, :3] / (1 - proba[:5, :3]))  # the constant label is left out
    values = shap_values(distilled, data.X[:5]).values
    np.testing.assert_allclose(values.sum(axis=2), margins, rtol=0, atol=1e-4)


def test_it_can_be_a_teacher(distilled, data):
    student = xdcc.distil(distilled, data.X, data.Y, n_estimators=40, n_jobs=1)
    assert (student.predict(data.X) == distilled.predict(data.X)).mean() > 0.85


def test_bad_input(data):
    model = xdcc.MultiLabelClassifier(distil="yes")
    with pytest.raises(ValueError, match="distil='yes': it must be True or False"):
        model.fit(data.X, data.Y)
