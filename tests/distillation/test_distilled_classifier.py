"""``distil`` and ``DistilledClassifier``: the student has the teacher's interface and answers."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import xdcc
from xdcc.automatic import MultiLabelClassifier
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.distillation import DistilledClassifier, distil
from xdcc.distillation import lessons as lessons_module
from xdcc.distillation.teacher import Teacher
from xdcc.explain import shap_values
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import CompiledModel, load_model, save_model, to_forest, to_onnx, to_stock

SMALL = {"n_estimators": 40, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return xdcc.data.make_multilabel(300, n_features=8, n_labels=4, random_state=0)


def _booster(**params):
    return MultiLabelXGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, **params)


def _forest():
    return SketchedExtraTreesClassifier(n_estimators=30, random_state=0, n_jobs=1)


@pytest.fixture(scope="module")
def teacher(data):
    return TunedDecisionClassifierCV(_forest(), cv=3).fit(data.X[:200], data.Y[:200])


@pytest.fixture(scope="module")
def student(teacher, data):
    return distil(teacher, data.X[:200], data.Y[:200], **SMALL)


def test_a_student_predicts_as_its_teacher(teacher, student, data):
    X = data.X[200:]
    margins = [np.log(p / (1 - p)) for p in (m.predict_proba(X) for m in (teacher, student))]
    assert np.corrcoef(margins[0].ravel(), margins[1].ravel())[0, 1] > 0.95
    assert (student.predict(X) == teacher.predict(X)).mean() > 0.9
    assert student.rule_ is teacher.rule_
    np.testing.assert_array_equal(
        student.predict(X), student.rule_.predict(student.predict_proba(X))
    )


def test_generated_rows_help(teacher, data):
    X = data.X[200:]
    distances = [
        np.abs(
            distil(teacher, data.X[:200], data.Y[:200], n_generated=n, **SMALL).predict_proba(X)
            - teacher.predict_proba(X)
        ).mean()
        for n in (0, 3000)
    ]
    assert distances[1] < 0.8 * distances[0]


def _held_out(monkeypatch):
    """Collect what is held out."""
    found, choose = [], lessons_module.rows_to_hold_out

    def collect(*args):
        found.append(choose(*args))
        return found[-1]

    monkeypatch.setattr("xdcc.distillation.classifier.rows_to_hold_out", collect)
    return found


@pytest.mark.parametrize("n_groups", [2, 40])
def test_groups_are_held_out_together(teacher, data, n_groups, monkeypatch):
    X, Y, groups = data.X[:200], data.Y[:200], np.arange(200) % n_groups
    held_out = _held_out(monkeypatch)
    distil(teacher, X, Y, groups=groups, n_generated=0, **SMALL)
    DistilledClassifier(_booster(), n_generated=0, **SMALL).fit(X, Y, groups=groups)
    frame = pd.DataFrame(X).add_prefix("x").assign(patient=groups)
    DistilledClassifier(_booster(), n_generated=0, **SMALL).fit(frame, Y, groups="patient")
    for rows in held_out:
        assert rows.any()
        assert not set(groups[rows]) & set(groups[~rows])


def test_a_teacher_that_takes_groups_receives_them(data):
    groups = np.arange(200) // 10
    with pytest.raises(ValueError, match="3 folds need as many groups, but groups has 2"):
        DistilledClassifier(TunedDecisionClassifierCV(_booster(), cv=3), **SMALL).fit(
            data.X, data.Y, groups=np.arange(300) % 2
        )
    with pytest.raises(ValueError, match=r"groups has the shape \(200,\)"):
        DistilledClassifier(_booster(), **SMALL).fit(data.X, data.Y, groups=groups)
    with pytest.raises(ValueError, match="2 folds need as many groups, but groups has a single"):
        DistilledClassifier(_booster(), **SMALL).fit(data.X, data.Y, groups=np.zeros(300))


def test_unlabelled_rows_help(teacher, data):
    rng = np.random.default_rng(0)
    more = data.X[200:][rng.integers(0, 100, size=300)]
    distances = [
        np.abs(
            distil(
                teacher,
                data.X[:200],
                data.Y[:200],
                X_unlabelled=unlabelled,
                n_generated=0,
                **SMALL,
            ).predict_proba(data.X[200:])
            - teacher.predict_proba(data.X[200:])
        ).mean()
        for unlabelled in (None, more)
    ]
    assert distances[1] < 0.8 * distances[0]


def test_the_report_compares_on_rows_that_neither_has_seen(student):
    report = student.report_
    table = pd.DataFrame(report)
    assert table["model"].tolist() == ["teacher", "student"]
    numbers = table.drop(columns="model").to_numpy(float)
    assert np.isfinite(numbers).all()
    assert report["agreement"][0] == 1
    assert 0.8 < report["agreement"][1] < 1
    assert report["margin_difference"][0] == 0 < report["margin_difference"][1]
    assert abs(report["log_loss"][1] / report["log_loss"][0] - 1) < 0.2
    assert report["bytes"][1] < report["bytes"][0]


def test_the_assistant_has_not_seen_the_rows_of_the_report(teacher, data, monkeypatch):
    seen = []
    trained_on = Teacher.trained_on

    def noting(self, part):
        seen.append(part)
        return trained_on(self, part)

    monkeypatch.setattr(Teacher, "trained_on", noting)
    distil(teacher, data.X[:200], data.Y[:200], **SMALL)
    (part,) = seen
    np.testing.assert_array_equal(part.X, data.X[:200][teacher.folds_ != 0].astype(np.float32))


def test_targets_are_half_label_and_half_probability(data):
    Y = data.Y[:200].astype(float)
    Y[:9, 1] = np.nan
    teacher = TunedDecisionClassifierCV(_booster(), cv=3).fit(data.X[:200], Y)
    asked = Teacher(teacher)
    checked = asked.data(data.X[:200], Y, np.arange(1, 201))
    proba = asked.proba_of_training_rows(checked.X, 4)
    np.testing.assert_array_equal(proba, teacher.oof_proba_)
    generation = lessons_module.Generation(2, 0.5, 0.25, 0)
    unlabelled = data.X[200:].astype(np.float32)
    found = lessons_module.prepare_lessons(asked, checked, proba, unlabelled, generation)
    assert len(found.Y) == 200 + 400 + 100
    expected = np.where(np.isnan(Y), proba, (np.nan_to_num(Y) + proba) / 2)
    np.testing.assert_allclose(found.Y[:200], expected, rtol=1e-6)
    np.testing.assert_allclose(found.Y[200:], teacher.predict_proba(found.X[200:]), rtol=1e-6)
    np.testing.assert_array_equal(found.sample_weight[:200], np.arange(1, 201))
    weights = np.sort(found.sample_weight[200:600])
    np.testing.assert_array_equal(weights, np.repeat(np.arange(1, 201), 2) / 4)
    assert (found.sample_weight[600:] == 1).all()


@pytest.mark.parametrize(
    ("shape", "copies"),
    [
        ((100, 5), 16),
        ((1000, 5), 12),
        ((3000, 5), 8),
        ((10_000, 5), 5),
        ((60_000, 5), 1),
        ((1000, 10_000), 5),
    ],
)
def test_the_number_of_generated_rows(shape, copies):
    X = np.broadcast_to(np.float32(0), shape)
    assert DistilledClassifier()._copies(X) == copies
    assert DistilledClassifier(n_generated=50)._copies(X) == 50 / shape[0]
    if shape[1] == 10_000:  # what a sparse X does not store is no entry
        assert DistilledClassifier()._copies(sparse.csr_matrix(shape, dtype=np.float32)) == 12


@pytest.mark.parametrize(
    ("n_estimators", "n_rows", "most"),
    [("auto", 199, 300), ("auto", 200, 500), (700, 100, 700), (3, 1000, 3)],
)
def test_the_largest_number_of_trees(n_estimators, n_rows, most):
    assert DistilledClassifier(n_estimators=n_estimators)._most_trees(n_rows) == most


def test_the_number_of_leaves(teacher, data):
    student = distil(teacher, data.X[:200], data.Y[:200], max_leaves=4, n_estimators=5, n_jobs=1)
    n_leaves = [tree.count("leaf=") for tree in student.estimator_.booster_.get_dump()]
    assert max(n_leaves) == 4


@pytest.mark.parametrize("form", ["dense", "frame", "sparse"])
@pytest.mark.parametrize("kind", ["mixture", "tuned", "thresholds", "booster", "forest", "linear"])
def test_teachers_and_forms_of_X(data, kind, form):
    X = np.round(data.X, 1)
    X[::7, 2] = np.nan
    if kind == "linear":
        X = np.nan_to_num(X)
    if form == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(np.nan_to_num(X)) < 0.4, 0, np.nan_to_num(X)))
    elif form == "frame":
        names = [f"f{number}" for number in range(8)]
        X = pd.DataFrame(X, columns=names)
        if kind not in ("linear", "forest", "thresholds"):
            X["colour"] = pd.Categorical(np.array(["red", "blue"])[data.Y[:, 0]])
    Y = pd.DataFrame(data.Y, columns=["a", "b", "c", "d"])
    teacher = {
        "mixture": MultiLabelClassifier(cv=2, n_jobs=1),
        "tuned": TunedDecisionClassifierCV(_booster(sparse_zeros="missing"), cv=2),
        "thresholds": ThresholdClassifier(_forest(), method="per_label"),
        "booster": _booster(),
        "forest": _forest(),
        "linear": LogisticLabels(n_jobs=1),
    }[kind].fit(X, Y)
    student = distil(teacher, X, Y, **SMALL)
    assert student.label_names_.tolist() == ["a", "b", "c", "d"]
    assert (student.predict(X) == teacher.predict(X)).mean() > 0.8
    assert student.predict_proba(X).shape == (300, 4)
    if form == "frame":
        assert student.feature_names_in_.tolist() == X.columns.tolist()
        if "colour" in X:
            assert student.estimator_.categories_[8].tolist() == ["blue", "red"]


@pytest.mark.parametrize("in_frame", [False, True])
def test_a_stranger(data, in_frame):
    X = pd.DataFrame(data.X, columns=list("abcdefgh")) if in_frame else data.X
    teacher = RandomForestClassifier(50, min_samples_leaf=5, random_state=0).fit(X, data.Y)
    student = distil(teacher, X, data.Y, **SMALL)
    assert (student.predict(X) == teacher.predict(X)).mean() > 0.85
    assert student.rule_.name == "label_wise"
    assert student.estimator is None


def test_a_stranger_that_knows_categories(data):
    from xgboost import XGBClassifier

    frame = pd.DataFrame(data.X[:, :3], columns=list("abc"))
    colours = pd.Categorical(
        np.array(["red", "blue", None], object)[np.arange(300) % 3],
        categories=["red", "green", "blue"],
    )
    frame["colour"] = colours
    y = data.Y[:, 0] ^ (frame["colour"] == "red").to_numpy()
    teacher = XGBClassifier(n_estimators=20, enable_categorical=True, n_jobs=1).fit(frame, y)
    student = distil(teacher, frame, y, **SMALL)
    assert student.predict(frame).shape == (300,)
    assert (student.predict(frame) == teacher.predict(frame)).mean() > 0.85


def test_a_tuned_stranger(data):
    logistic = ThresholdClassifier(LogisticRegression(), method="global")
    teacher = logistic.fit(data.X, data.Y[:, 0])
    student = distil(teacher, data.X, data.Y[:, 0], **SMALL)
    assert (student.predict(data.X) == teacher.predict(data.X)).mean() > 0.85


def test_without_labels(teacher, data):
    student = distil(teacher, data.X[:200], **SMALL)
    assert (student.predict(data.X) == teacher.predict(data.X)).mean() > 0.9
    assert np.isnan(student.report_["log_loss"]).all()
    assert student.report_["agreement"][1] > 0.8


def test_classes_of_one_target(data):
    y = np.array(["no", "yes"])[data.Y[:, 0]]
    teacher = TunedDecisionClassifierCV(_booster(), cv=2).fit(data.X, y)
    for student in (distil(teacher, data.X, y, **SMALL), distil(teacher, data.X, **SMALL)):
        assert student.predict_proba(data.X).shape == (300, 2)
        assert (student.predict(data.X) == teacher.predict(data.X)).mean() > 0.85


def test_constant_labels_stay_constant(data):
    Y = data.Y.copy()
    Y[:, 2] = 1
    teacher = TunedDecisionClassifierCV(_booster(), cv=2).fit(data.X, Y)
    student = distil(teacher, data.X, Y, **SMALL)
    assert (student.predict(data.X)[:, 2] == 1).all()
    np.testing.assert_array_equal(
        student.predict_proba(data.X)[:, 2], teacher.predict_proba(data.X)[:, 2]
    )


def test_few_rows(data):
    teacher = _booster().fit(data.X[:5], data.Y[:5])
    student = distil(teacher, data.X[:5], data.Y[:5], **SMALL)
    assert student.predict(data.X[:5]).shape == (5, 4)
    assert np.isnan(student.report_["agreement"]).all()


def test_a_second_level_is_distilled(data):
    model = MultiLabelClassifier("subset_accuracy", cv=2, n_jobs=1).fit(data.X, data.Y)
    student = distil(model, data.X, data.Y, **SMALL)
    assert student.rule_ is model.rule_
    assert (student.predict(data.X) == model.predict(data.X)).mean() > 0.85


def test_fit_trains_the_teacher_first(data):
    weight = np.linspace(0.5, 2, 200)
    tuned = TunedDecisionClassifierCV(_forest(), cv=3)
    model = DistilledClassifier(tuned, **SMALL).fit(data.X[:200], data.Y[:200], weight)
    teacher = clone(tuned).fit(data.X[:200], data.Y[:200], weight)
    student = distil(teacher, data.X[:200], data.Y[:200], weight, **SMALL)
    np.testing.assert_array_equal(model.predict_proba(data.X), student.predict_proba(data.X))
    assert not hasattr(model.estimator, "rule_")  # not trained
    unweighted = DistilledClassifier(tuned, **SMALL).fit(data.X[:200], data.Y[:200])
    assert (model.predict_proba(data.X) != unweighted.predict_proba(data.X)).any()


def test_the_seed_decides(teacher, data):
    one, again, other = (
        distil(teacher, data.X[:200], data.Y[:200], random_state=seed, **SMALL).predict_proba(
            data.X
        )
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("compiled", [False, True])
def test_model_files(student, data, tmp_path, compiled):
    save_model(student, tmp_path / "model")
    loaded = load_model(tmp_path / "model", compiled=compiled)
    np.testing.assert_array_equal(loaded.predict(data.X), student.predict(data.X))
    np.testing.assert_array_equal(loaded.predict_proba(data.X), student.predict_proba(data.X))
    if not compiled:
        assert loaded.report_ == student.report_


def test_compiled(student, data):
    compiled = CompiledModel(student)
    np.testing.assert_array_equal(compiled.predict(data.X), student.predict(data.X))
    np.testing.assert_array_equal(compiled.predict_proba(data.X), student.predict_proba(data.X))


def test_exports(student, data, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X = data.X.astype(np.float32)
    forest = to_forest(student)
    np.testing.assert_allclose(forest.inplace_predict(X), student.predict_proba(X), atol=1e-6)
    to_stock(student.estimator_, tmp_path / "stock")
    session = onnxruntime.InferenceSession(to_onnx(student).SerializeToString())
    labels, proba, _ = session.run(None, {"X": X})
    np.testing.assert_allclose(proba, student.predict_proba(X), atol=1e-5)
    assert (labels == student.predict(X)).mean() > 0.999


def test_shap_values_add_up(student, data):
    values = shap_values(student, data.X[:20]).values
    proba = student.predict_proba(data.X[:20])
    np.testing.assert_allclose(values.sum(axis=2), np.log(proba / (1 - proba)), atol=1e-4)
    assert student.label_importances_.shape == (4, 8)
    np.testing.assert_allclose(student.feature_importances_.sum(), 1)


BAD = {
    "no classifier": (lambda t: "booster", {}, TypeError, "with predict_proba, not builtins.str"),
    "no probabilities": (
        lambda t: RidgeClassifier(),
        {},
        TypeError,
        "The teacher must be a fitted classifier with predict_proba, not "
        "sklearn.linear_model._ridge.RidgeClassifier.",
    ),
    "not fitted": (lambda t: clone(t), {}, NotFittedError, "TunedDecisionClassifierCV"),
    "a stranger, not fitted": (
        lambda t: LogisticRegression(),
        {},
        NotFittedError,
        "LogisticRegression",
    ),
    "other features": (
        lambda t: t,
        {"X": np.zeros((200, 3))},
        ValueError,
        "X has 3 features, but TunedDecisionClassifierCV is expecting 8",
    ),
    "other rows": (
        lambda t: t,
        {"X": np.zeros((150, 8)), "Y": None},
        ValueError,
        "X has 150 rows, but the teacher was trained on 200: X must be the rows of its fit. Give "
        "others as X_unlabelled.",
    ),
    "other labels": (
        lambda t: t,
        {"Y": np.zeros((200, 3))},
        ValueError,
        "Y has 3 labels, but in fit there were 4.",
    ),
    "other number of labels than rows": (
        lambda t: t,
        {"Y": np.zeros((100, 4))},
        ValueError,
        "inconsistent numbers of samples",
    ),
    "probabilities as labels": (
        lambda t: t,
        {"Y": np.full((200, 4), 0.5)},
        ValueError,
        "Y holds 0.5 in row 0",
    ),
    "other unlabelled features": (
        lambda t: t,
        {"X_unlabelled": np.zeros((2, 3))},
        ValueError,
        "X has 3 features, but DistilledClassifier is expecting 8",
    ),
    "share": (
        lambda t: t,
        {"exchange": 1.5},
        ValueError,
        "exchange=1.5: it must be a number",
    ),
    "an estimator": (
        lambda t: t,
        {"estimator": 3},
        TypeError,
        "distil: the teacher is the first argument; there is no estimator.",
    ),
    "an unknown parameter": (lambda t: t, {"depth": 3}, TypeError, "depth"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(teacher, data, name):
    make, arguments, error, message = BAD[name]
    arguments = {"X": data.X[:200], "Y": data.Y[:200], **arguments}
    with pytest.raises(error, match=re.escape(message)):
        distil(make(teacher), **arguments)


def test_a_stranger_needs_labels(data):
    teacher = RandomForestClassifier(5).fit(data.X, data.Y)
    message = "Y is missing: RandomForestClassifier does not know the names and the form"
    with pytest.raises(ValueError, match=message):
        distil(teacher, data.X)
    with pytest.raises(ValueError, match=r"4.*labels|labels.*4|shape"):
        distil(teacher, data.X, data.Y[:, :3])


def test_a_student_of_distil_has_nobody_to_train(student, data):
    message = "estimator=None: fit needs the teacher to train. Use xdcc.distil for a fitted one."
    with pytest.raises(ValueError, match=re.escape(message)):
        clone(student).fit(data.X, data.Y)


def test_the_teacher_is_not_changed(data):
    teacher = TunedDecisionClassifierCV(_booster(), cv=2).fit(data.X, data.Y)
    before = copy.deepcopy(teacher)
    distil(teacher, data.X, data.Y, **SMALL)
    np.testing.assert_array_equal(teacher.predict_proba(data.X), before.predict_proba(data.X))
    assert vars(teacher).keys() == vars(before).keys()
    assert len(teacher.estimators_) == 2
