"""Members and decision rules from outside the package: ``automatic/own_member.py`` and
``decision/own_rule.py``, and classifiers of scikit-learn.
"""

import copy
import warnings
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

import xdcc
from tests.automatic.own_member import CentroidClassifier, Centroids, Covariances
from tests.decision.own_rule import AtLeastOne
from xdcc.automatic import Candidate, MemberFamily
from xdcc.automatic.mixture import Member
from xdcc.automatic.mixture_margins import PartlyFlatMargins
from xdcc.automatic.other_models import OtherModels
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.checks import check_fit_data
from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import Recall, ThresholdRule, TunedDecisionClassifierCV
from xdcc.decision.rule_choice import choose_rule, try_rules
from xdcc.linear import LogisticLabels
from xdcc.metrics import example_f1, log_loss
from xdcc.prediction.predictors import MixtureMargins, second_level
from xdcc.serving import CompiledModel, load_model, save_model, to_onnx

NAN = np.nan
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 4)).astype(np.float32)
# A label for linear models, one for neighbours, and one for both.
Y = np.column_stack((X[:, 0] > 0.3, X[:, 1] * X[:, 2] > 0, (X[:, 3] > 0) & (X[:, 0] > -1)))
Y = (Y ^ (RANDOM.random(Y.shape) < 0.05)).astype(int)
X, X_NEW, Y, Y_NEW = X[:250], X[250:], Y[:250], Y[250:]
NEIGHBOURS = KNeighborsClassifier(15)


def classifier(measure="example_f1", **params):
    return xdcc.MultiLabelClassifier(
        measure, **{"cv": 3, "n_jobs": 1, "random_state": 0, "refit": False, **params}
    )


@pytest.fixture(scope="module")
def fitted():
    members = ["linear", Centroids(), ("neighbours", NEIGHBOURS)]
    return classifier(members=members, rules=["threshold", AtLeastOne]).fit(X, Y)


def mixed(model, rows):
    """The margins of a mixture, member by member."""
    found = [member.margins(rows, 3) for member in model.members_]
    whole = sum(member.share * each for member, each in zip(model.members_, found, strict=True))
    for level in model.stacked_:
        own = level.margins(second_level(found), 3)
        whole = (1 - level.share) * whole + level.share * own
    return whole


def test_they_compete_and_are_mixed(fitted):
    assert (
        fitted.summary_["candidate"]
        == [*("linear", "centroids, 0.3", "centroids, 1.0", "neighbours", "second level")][
            : len(fitted.summary_["candidate"])
        ]
    )
    shares = {member.name: member.share for member in fitted.members_}
    assert shares["linear"] > 0
    assert shares["neighbours"] > 0.2
    np.testing.assert_allclose(fitted.predict_proba(X_NEW), expit(mixed(fitted, X_NEW)), rtol=1e-6)
    alone = classifier(members=["linear"]).fit(X, Y)
    truth = Y_NEW == 1
    losses = [
        -np.log(np.where(truth, proba, 1 - proba)).mean()
        for proba in (fitted.predict_proba(X_NEW), alone.predict_proba(X_NEW))
    ]
    assert losses[0] < losses[1] - 0.02


def test_what_is_flat_has_a_kernel(fitted):
    source = fitted._predictor().source
    assert isinstance(source, PartlyFlatMargins)
    kinds = dict(zip((member.name for member in fitted.members_), source.sources, strict=True))
    assert isinstance(kinds["linear"], MixtureMargins)
    assert not isinstance(kinds["neighbours"], MixtureMargins)
    for rows in (X_NEW, X_NEW.astype(np.float64), np.asfortranarray(X_NEW), X_NEW[:1]):
        np.testing.assert_array_equal(fitted.predict(rows), fitted.predict(X_NEW)[: len(rows)])
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict(np.full((1, 4), np.inf))


def test_a_model_that_flattens(tmp_path):
    """All kernels: a mixture with it is compiled, and compiled files hold it."""
    alone = classifier(members=[("covariances", Covariances())]).fit(X, Y)
    model = classifier(members=["linear"]).fit(X, Y)
    (member,), (linear,) = alone.members_, model.members_
    model.members_ = [replace(linear, share=0.4), replace(member, share=0.6)]
    for each in (alone, model):
        assert isinstance(each._predictor().source, MixtureMargins)
        np.testing.assert_allclose(each.predict_proba(X_NEW), expit(mixed(each, X_NEW)), rtol=1e-6)
    save_model(CompiledModel(model), tmp_path / "compiled")
    compiled = load_model(tmp_path / "compiled", compiled=True)
    np.testing.assert_array_equal(compiled.predict_proba(X_NEW), model.predict_proba(X_NEW))


def test_a_second_level_on_them(fitted):
    features = second_level([member.margins(X, 3) for member in fitted.members_])
    booster = MultiLabelXGBClassifier(n_estimators=5, n_jobs=1).fit(features, Y)
    model = copy.copy(fitted)
    calibration = fitted.members_[0].calibration
    model.stacked_ = [Member("second level", 0.4, [booster], calibration)]
    np.testing.assert_allclose(model.predict_proba(X_NEW), expit(mixed(model, X_NEW)), rtol=1e-6)
    assert (model.predict_proba(X_NEW) != fitted.predict_proba(X_NEW)).any()


def test_they_are_instead_of_those_of_the_package():
    model = classifier(members=[NEIGHBOURS], rules=[AtLeastOne]).fit(X, Y)
    (member,) = model.members_
    assert member.name == "KNeighborsClassifier"
    assert member.share == 1
    assert model.rule_.name == "at_least_one"
    assert {table for table in model.cv_results_["rule"]} == {"at_least_one"}
    labels = model.predict(X_NEW)
    assert (labels.sum(axis=1) > 0).all()
    np.testing.assert_array_equal(labels, model.rule_.predict(model.predict_proba(X_NEW)))


def test_out_of_fold_by_hand():
    """Each row by a clone that was trained without its fold, calibrated."""
    model = classifier(members=[NEIGHBOURS]).fit(X, Y)
    margins = np.empty(Y.shape)
    for fold in range(3):
        out = model.folds_ == fold
        found = clone(NEIGHBOURS).fit(X[~out], Y[~out]).predict_proba(X[out])
        margins[out] = margins_of(np.column_stack([each[:, 1] for each in found]))
    for label in range(3):  # calibration keeps the order within a fold
        for fold in range(3):
            out = model.folds_ == fold
            order = np.argsort(margins[out, label], kind="stable")
            assert (np.diff(model.oof_proba_[out, label][order]) >= -1e-12).all()


def test_models_of_all_rows_have_their_seeds():
    sgd = MultiOutputClassifier(SGDClassifier(loss="log_loss"))
    models = [classifier(members=[sgd, NEIGHBOURS], refit="auto").fit(X, Y) for _ in range(2)]
    model = models[0]
    np.testing.assert_array_equal(*(each.predict_proba(X_NEW) for each in models))
    fixed = clone(sgd).set_params(estimator__random_state=3)
    for members, seeds in (([sgd], 2), ([fixed], 1)):
        model = classifier(members=members, refit="auto")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("xdcc.automatic.search._LEAST_ROWS", len(X))
            (member,) = model.fit(X, Y).members_
        assert len({each.random_state for each in member.estimators}) == seeds
        assert len(member.estimators) == seeds


def test_clones_and_pipelines(fitted):
    again = clone(fitted)
    assert again.members[2][1] is not NEIGHBOURS
    assert repr(again.get_params()["rules"]) == repr(fitted.rules)
    again.fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X_NEW), fitted.predict_proba(X_NEW))
    pipeline = make_pipeline(StandardScaler(), clone(fitted)).fit(X, Y)
    assert (pipeline.predict(X_NEW) == fitted.predict(X_NEW)).mean() > 0.9


def test_files(fitted, tmp_path):
    message = r"members holds Centroids, which .* needs members: set_params\(members=None\) before"
    with pytest.raises(TypeError, match=message):
        save_model(fitted, tmp_path / "model")
    model = copy.copy(fitted)
    model.members, model.rules = None, "auto"
    with pytest.raises(TypeError, match=r"classifier is a KNeighborsClassifier of sklearn\. What"):
        save_model(model, tmp_path / "model")
    with pytest.raises(TypeError, match=r"CompiledModel serves .*, not of .* \(the member '[nc]"):
        CompiledModel(fitted)
    with pytest.raises(TypeError, match=r"MultiLabelClassifier has no form .* \(the member '[nc]"):
        to_onnx(fitted)
    assert not (tmp_path / "model").exists()


def test_a_member_that_files_can_hold(tmp_path):
    boosters = MultiOutputClassifier(XGBClassifier(n_estimators=5, n_jobs=1))
    model = classifier(members=["linear", ("xgb", boosters)]).fit(X, Y)
    assert "xgb" in {member.name for member in model.members_}
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X_NEW), model.predict_proba(X_NEW))
    assert loaded.members[1][0] == "xgb"


def test_a_member_that_did_not_enter(tmp_path):
    """Without the parameter, which `fit` needs, a file can hold the mixture."""
    useless = MultiOutputClassifier(DummyClassifier())
    model = classifier(members=["linear", useless]).fit(X, Y)
    assert [member.name for member in model.members_] == ["linear"]
    outer = xdcc.ThresholdClassifier(model, cv="prefit").fit(X, Y)
    for each, param in ((model, "members"), (outer, "estimator__members")):
        with pytest.raises(TypeError, match=rf"holds DummyClassifier, .* set_params\({param}=None"):
            save_model(each, tmp_path / "model")
        save_model(each.set_params(**{param: None}), tmp_path / "model")
        loaded = load_model(tmp_path / "model")
        np.testing.assert_array_equal(loaded.predict_proba(X_NEW), each.predict_proba(X_NEW))
        model.members = ["linear", useless]


def test_a_rule_in_files(tmp_path):
    model = TunedDecisionClassifierCV(LogisticLabels(), rules=[AtLeastOne], cv=3).fit(X, Y)
    message = r"rules holds the class AtLeastOne, which .* rules: set_params\(rules='auto'\) before"
    with pytest.raises(TypeError, match=message):
        save_model(model, tmp_path / "model")
    model.rules = "auto"
    with pytest.raises(TypeError, match="rule_ holds AtLeastOne, which a model file cannot store"):
        save_model(model, tmp_path / "model")
    with pytest.raises(TypeError, match=r"have a flat form, not tests\.decision\.own_rule\.AtLea"):
        CompiledModel(model)
    with pytest.raises(TypeError, match="'at_least_one' is not a fixed sequence of operators"):
        to_onnx(model)


def test_a_threshold_rule_is_flat():
    class Half(ThresholdRule):
        name = "half"

        def _thresholds(self):
            return [0.5, 0.25, 0.75]

    model = TunedDecisionClassifierCV(LogisticLabels(), rules=[Half], cv=3).fit(X, Y)
    compiled = CompiledModel(model)
    np.testing.assert_array_equal(compiled.predict(X_NEW), model.predict(X_NEW))
    expected = model.predict_proba(X_NEW) >= [0.5, 0.25, 0.75]
    np.testing.assert_array_equal(model.predict(X_NEW), expected)


def test_a_rule_is_learned_and_judged_as_others():
    folds, margins = np.arange(len(Y)) % 3, RANDOM.normal(3 * Y - 1.5, 2.0)
    data = FitData(margins, Y.astype(np.float32), None)
    choice = choose_rule(data, folds, measure="example_f1", kinds=[AtLeastOne, "label_wise"])
    assert choice.results["rule"] == ["label_wise", "at_least_one", "at_least_one"]
    for number, share in enumerate((1, 0.5), start=1):
        decided = np.empty(Y.shape, int)
        for fold in range(3):
            out = folds == fold
            least = np.quantile(margins[~out], 1 - share * Y[~out].mean())
            decided[out] = AtLeastOne(least).decide(margins[out])
        assert choice.results["score"][number] == pytest.approx(example_f1(Y, decided))


def test_a_rule_with_constraints():
    constraints = {"label_1": Recall(0.9)}
    model = TunedDecisionClassifierCV(
        LogisticLabels(), rules=[AtLeastOne], constraints=constraints, cv=3
    ).fit(X, Y)
    labels, proba = model.predict(X_NEW), model.predict_proba(X_NEW)
    threshold = model.constraints_["threshold"][0]
    np.testing.assert_array_equal(labels[:, 1], proba[:, 1] >= threshold)
    others = model.rule_.rule.predict(proba)
    np.testing.assert_array_equal(labels[:, [0, 2]], others[:, [0, 2]])


class Recorder(ClassifierMixin, BaseEstimator):
    """Remembers what it is given, in all clones."""

    seen: ClassVar[list] = []

    def fit(self, X, Y, sample_weight=None):
        self.seen.append((X, Y, sample_weight))
        self.frequency_ = np.clip(np.asarray(Y, float).mean(axis=0), 0.1, 0.9)
        return self

    def predict_proba(self, X):
        self.seen.append((X, None, None))
        return np.tile(self.frequency_, (X.shape[0], 1))


@pytest.fixture
def recorder():
    Recorder.seen.clear()
    return Recorder()


def test_it_gets_frames_with_names_and_categories(recorder):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["colour"] = pd.Categorical(np.where(Y[:, 0] == 1, "red", "blue"))
    frame.loc[frame.index[::7], "colour"] = None
    model = classifier(members=[recorder]).fit(frame, Y)
    others = frame.iloc[:20].assign(colour=["red"] * 20)
    Recorder.seen.clear()
    model.predict(others)
    seen = Recorder.seen[-1][0]
    assert seen.columns.tolist() == ["a", "b", "c", "d", "colour"]
    assert seen["colour"].tolist() == ["red"] * 20
    assert seen["colour"].cat.categories.tolist() == ["blue", "red"]
    np.testing.assert_array_equal(seen["b"], frame["b"][:20])
    model.fit(frame, Y)
    trained = Recorder.seen[-2][0]
    assert trained["colour"].isna().sum() > 0


def test_it_gets_sparse_rows_and_weights(recorder):
    weight = RANDOM.random(len(X))
    classifier(members=[recorder]).fit(sparse.csr_array(X * (X > 0)), Y, weight)
    rows, labels, of_rows = next(each for each in reversed(Recorder.seen) if each[1] is not None)
    assert sparse.issparse(rows)
    assert rows.shape[0] == len(labels) == len(of_rows) < len(X)


def test_one_dimension():
    target = np.array(["no", "yes"])[Y[:, 0]]
    model = classifier("micro_f1", members=[LogisticRegression()]).fit(X, target)
    assert set(model.predict(X_NEW)) == {"no", "yes"}
    assert (model.predict(X_NEW) == np.array(["no", "yes"])[Y_NEW[:, 0]]).mean() > 0.85


OUT_OF_FOLD = ["candidate", "log_loss", "log_loss_std", "share", "fit_seconds"]


def test_the_leaderboard(fitted):
    board = fitted.leaderboard(X_NEW)
    assert board.columns.tolist() == [*OUT_OF_FOLD, "predict_seconds"]
    assert sorted(board.candidate) == sorted({*fitted.summary_["candidate"], "mixture"})
    assert board.log_loss.is_monotonic_increasing
    assert board.share.sum() == pytest.approx(1)
    table = pd.DataFrame(fitted.summary_).set_index("candidate")
    rows = board.set_index("candidate")
    for column in ("log_loss", "log_loss_std"):
        assert rows[column]["neighbours"] == table[column]["neighbours"]
        assert rows[column]["mixture"] == table[f"best_{column}"].iloc[-1]
    assert rows.fit_seconds["linear"] == table.seconds["linear"]
    assert rows.fit_seconds["mixture"] == pytest.approx(table.seconds.sum())
    assert (board.predict_seconds[board.share != 0] > 0).all()
    assert board.predict_seconds[board.share == 0].isna().all()
    assert fitted.leaderboard().columns.tolist() == OUT_OF_FOLD


def test_the_leaderboard_of_test_rows(fitted):
    truth = np.where(RANDOM.random(Y_NEW.shape) < 0.2, NAN, Y_NEW)
    truth[3] = NAN
    board = fitted.leaderboard(X_NEW, truth)
    assert board.columns.tolist() == [
        *(*OUT_OF_FOLD, "predict_seconds", "test_log_loss", "test_score")
    ]
    rows = board.set_index("candidate")
    proba = {"mixture": fitted.predict_proba(X_NEW)}
    margins = [member.margins(X_NEW, 3) for member in fitted.members_]
    members = {member.name: each for member, each in zip(fitted.members_, margins, strict=True)}
    members |= {level.name: level.margins(second_level(margins), 3) for level in fitted.stacked_}
    proba |= {name: expit(each) for name, each in members.items()}
    for name, each in proba.items():
        assert rows.test_log_loss[name] == pytest.approx(log_loss(truth, each), rel=1e-6)
        score = example_f1(truth, fitted.rule_.predict(each))
        assert rows.test_score[name] == pytest.approx(score)
    assert rows.test_score.drop(list(proba)).isna().all()
    assert rows.test_log_loss.drop(list(proba)).isna().all()


def test_the_leaderboard_of_an_older_model(fitted):
    """Files of 0.2 have no standard deviations."""
    older = copy.copy(fitted)
    older.summary_ = {
        name: column for name, column in fitted.summary_.items() if not name.endswith("_std")
    }
    board = older.leaderboard()
    assert board.log_loss_std.isna().all()
    expected = fitted.leaderboard().drop(columns="log_loss_std")
    pd.testing.assert_frame_equal(board.drop(columns="log_loss_std"), expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, Y_NEW), "give the X of the rows of Y"),
        ((X_NEW, Y_NEW[:-1]), "149"),
        ((X_NEW, Y_NEW[:, :2]), "2 labels"),
        ((X_NEW[:, :2], Y_NEW), "2 features"),
        ((X_NEW, Y_NEW * NAN), "no known label"),
    ],
)
def test_bad_input_of_the_leaderboard(fitted, arguments, message):
    with pytest.raises(ValueError, match=message):
        fitted.leaderboard(*arguments)


def test_a_time_budget():
    model = classifier(members=["linear", Centroids()], time_budget=4).fit(X, Y)
    names = model.summary_["candidate"]
    assert {"linear", "centroids, 0.3", "centroids, 1.0"} <= set(names)
    assert any(name.endswith(")") for name in names)  # drawn
    assert not any(name.startswith("first") for name in names)
    alone = classifier(members=[NEIGHBOURS], time_budget=60).fit(X, Y)
    assert alone.end_ == "all candidates were tried"


def test_a_member_that_would_take_too_long(monkeypatch):
    estimate = TimeBudget.estimate
    monkeypatch.setattr(
        TimeBudget,
        "estimate",
        lambda budget, each: 1e9 if each.name == "slow" else estimate(budget, each),
    )
    with pytest.warns(UserWarning, match="No model of 'slow' was trained: .* Not tried: slow"):
        model = classifier(members=["linear", ("slow", NEIGHBOURS)], time_budget=20).fit(X, Y)
    assert model.abandoned_["candidate"] == ["slow"]


def test_too_short_a_budget_for_a_classifier_that_cannot_end_early():
    with pytest.warns(UserWarning, match="too short for any model: 'neighbours' is used"):
        model = classifier(members=[("neighbours", NEIGHBOURS)], time_budget=1e-9).fit(X, Y)
    assert model.predict(X_NEW).shape == Y_NEW.shape
    with pytest.warns(UserWarning, match="too short for any model: 'linear' is used"):
        classifier(members=[("neighbours", NEIGHBOURS), "linear"], time_budget=1e-9).fit(X, Y)


def test_no_memory_for_any(monkeypatch):
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: 2.0**10)
    with pytest.raises(MemoryError, match="The candidate 'extra trees' is left out"):
        classifier(members=["extra trees"]).fit(X, Y)


class Slow(CentroidClassifier):
    """Takes a second, and another one for each 1000 rows, by a clock of its own."""

    seconds, n_rows = 0.0, 0

    def fit(self, X, Y):
        Slow.n_rows = len(X)
        Slow.seconds += 1 + len(X) / 1000
        return super().fit(X, Y)


def test_more_rows_tell_the_time(monkeypatch):
    """It counts only with a budget: else the model would depend on the machine."""
    monkeypatch.setattr("xdcc.automatic.other_classifier.time.perf_counter", lambda: Slow.seconds)
    data = check_fit_data(LogisticLabels(), np.tile(X, (8, 1)), np.tile(Y, (8, 1)))
    shape = Shape(2000, 4, 3, 8000, 3)
    family = OtherModels("slow", Slow())
    guess = family.candidates(shape, 10.0)[0]
    family.begin(data, shape, np.inf)
    assert Slow.n_rows == 20
    assert family.candidates(shape, np.inf)[0].seconds == guess.seconds
    family.begin(data, shape, 10.0)
    assert Slow.n_rows == 1000
    measured = family.candidates(shape, 10.0)[0]
    assert measured.seconds == pytest.approx((1 + 1) / 1000 * 3 * 2000)
    assert family.candidates(shape, np.inf)[0].seconds == guess.seconds
    budget = TimeBudget(0.0, 10.0)
    budget.learn(Candidate("another", NEIGHBOURS, 1.0), 30.0)
    assert budget.estimate(measured) == measured.seconds
    assert budget.estimate(guess) == 30 * guess.seconds


class Wrong(ClassifierMixin, BaseEstimator):
    """Predicts what is asked for, whatever is right."""

    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, Y):
        self.classes_ = [np.array([0, 1])] * 3
        return self

    def predict_proba(self, X):
        return self.answer(len(X))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.full((n, 2), 0.5), r"array of the shape \(\d+, 2\) for \d+ rows; expected"),
        (
            lambda n: np.full((n + 1, 3), 0.5),
            r"of the shape \(21, 3\) for 20 rows; expected \(20",
        ),
        (lambda n: [np.full((n, 2), 0.5)] * 2, r"a list of arrays of the shapes .* of 3 labels"),
        (lambda n: np.full(n, 0.5), r"array of the shape \(\d+,\), which holds no probabilities"),
        (lambda n: np.full((n, 3), NAN), r"is nan; a probability is between 0 and 1"),
        (lambda n: np.full((n, 3), 1.5), r"Y_proba\[0, 0\] is 1.5; a probability is between"),
        (lambda n: np.full((n, 3), -0.5), r"is -0.5; a probability is between 0 and 1"),
        (lambda n: "many", "which holds no probabilities of 3 labels"),
    ],
)
def test_what_is_no_probability(monkeypatch, answer, message):
    """A trial on few rows shows it before anything else is trained."""
    monkeypatch.setattr(
        MultiLabelXGBClassifier, "_out_of_fold", lambda *args, **kwargs: pytest.fail("trains")
    )
    with pytest.raises(ValueError, match=rf"The member 'odd' \(Wrong\) predicts .*{message}"):
        classifier(members=["boosters", ("odd", Wrong(answer))]).fit(X, Y)


def test_what_few_rows_do_not_show():
    late = Wrong(lambda n: np.full((n, 3), 0.5 if n < 60 else 7.0))
    with pytest.raises(ValueError, match=r"The member 'late' .* is 7; a probability is between"):
        classifier(members=["linear", ("late", late)]).fit(X, Y)

    class OfMany(Wrong):
        def fit(self, X, Y):
            if len(X) < 100:
                raise RuntimeError("too few rows")
            return super().fit(X, Y)

    model = classifier(members=[OfMany(lambda n: np.full((n, 3), 0.4))]).fit(X, Y)
    assert model.predict_proba(X_NEW).shape == Y_NEW.shape


COLOURS = pd.Categorical(["red"] * len(X))


def unknown(values):
    values = values.astype(np.float32)
    values[::3, 1] = NAN
    return values


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ((X, unknown(Y)), ValueError, "y contains NaN"),
        ((unknown(X), Y), ValueError, "X contains NaN"),
        ((X, Y, np.ones(len(X))), TypeError, "unexpected keyword argument 'sample_weight'"),
        ((pd.DataFrame(X, columns=[*"abcd"]).assign(e=COLOURS), Y), ValueError, "'red'"),
    ],
)
def test_what_more_rows_do_not_help(monkeypatch, data, error, message):
    """Data that a classifier does not accept raise an error before anything is trained."""
    monkeypatch.setattr(LogisticLabels, "_out_of_fold", lambda *args, **kwargs: pytest.fail("late"))
    with pytest.raises(error, match=message) as raised:
        classifier(members=["linear", NEIGHBOURS]).fit(*data)
    (note,) = raised.value.__notes__
    assert note.startswith("The member 'KNeighborsClassifier'")


def test_too_few_rows_for_a_trial():
    model = classifier(members=[KNeighborsClassifier(40)]).fit(X, Y)
    assert model.predict(X_NEW).shape == Y_NEW.shape


def test_errors_of_a_member_name_it():
    class Failing(Wrong):
        def fit(self, X, Y):
            raise RuntimeError("it has failed")

    with pytest.raises(RuntimeError, match="it has failed") as raised:
        classifier(members=["linear", ("odd", Failing(None))]).fit(X, Y)
    assert raised.value.__notes__ == ["The member 'odd' (Failing) raised this."]


def test_margins_of_the_wrong_shape():
    class Narrow(LogisticLabels):
        def _out_of_fold(self, data, folds, *, should_end=None):
            found = super()._out_of_fold(data, folds, should_end=should_end)
            return found._replace(margins=self.change(found.margins))

    Narrow.change = staticmethod(lambda margins: margins[:, :2])
    with pytest.raises(
        ValueError, match=r"'narrow' \(Narrow\) gives log-odds of the shape \(250, "
    ):
        classifier(members=[("narrow", Narrow())]).fit(X, Y)
    Narrow.change = staticmethod(lambda margins: margins + np.inf)
    with pytest.raises(ValueError, match=r"'narrow' .* gives log-odds that are not finite"):
        classifier(members=[("narrow", Narrow())]).fit(X, Y)


class OneCandidate(MemberFamily):
    name = "one"

    def __init__(self, candidate):
        self.candidate = candidate

    def candidates(self, shape, longest):
        return [self.candidate]


class Nameless(OneCandidate):
    name = None


class NoCandidate(OneCandidate):
    def candidates(self, shape, longest):
        return []


def test_a_family_that_draws_says_how():
    with pytest.raises(TypeError, match="Draws has draws=1, but no method `draw`"):

        class Draws(OneCandidate):
            draws = 1


def test_what_a_family_learns_stays_in_fit():
    class Learns(OneCandidate):
        def __init__(self, candidate):
            super().__init__(candidate)
            self.learned = []

        def learn(self, training):
            self.learned.append(training.candidate.name)
            return super().learn(training)

    family = Learns(Candidate("nn", NEIGHBOURS, 1.0))
    classifier(members=[family]).fit(X, Y)
    assert family.learned == []


def twice():
    return [("a", NEIGHBOURS), ("a", NEIGHBOURS)]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([LinearSVC()], r"members\[0\], 'LinearSVC'=LinearSVC\(\): it must be an instance of a cl"),
        ([NEIGHBOURS, ("mine", 3)], r"members\[1\], 'mine'=3: it must be an instance of a classif"),
        ([KNeighborsClassifier], r"members\[0\], 'ABCMeta'=.*: it must be an instance"),
        (["forests"], r"members\[0\]='forests': it must be one of 'boosters', 'extra trees', 'lin"),
        ("linear", "members='linear': it must be None or a list of 'boosters'"),
        ([], r"members=\[\]: it must be None or a list"),
        (twice(), "members: there is more than one 'a'"),
        (["linear", "linear"], "members: there is more than one 'linear'"),
        ([("linear", NEIGHBOURS)], r"members\[0\]: 'linear' is the name of a family of xdcc"),
        ([("second level", NEIGHBOURS)], "there is more than one 'second level'"),
        ([OneCandidate(Candidate("svm", LinearSVC(), 1.0))], "model of the candidate 'svm'=Linear"),
        (
            [OneCandidate(Candidate("nn", NEIGHBOURS, 0))],
            "seconds of the candidate 'nn'=0: it must",
        ),
        ([Centroids(), ("centroids, 1.0", NEIGHBOURS)], "more than one candidate 'centroids, 1.0'"),
        ([Nameless(None)], r"members\[0\]: Nameless has no name"),
        ([NoCandidate(None)], "members: none of the families lists a candidate"),
        (
            [LogisticRegression()],
            r"'LogisticRegression' \(LogisticRegression\) takes a single label, and Y has 3\. "
            r"sklearn\.multioutput",
        ),
    ],
)
def test_bad_members(members, message):
    with pytest.raises(ValueError, match=message):
        classifier(members=members).fit(X, Y)


def test_weights_of_entries():
    weight = RANDOM.uniform(0.5, 1, Y.shape)
    with pytest.raises(ValueError, match=r"the member 'KNeighborsClassifier' .* weights of rows"):
        classifier(members=["linear", NEIGHBOURS]).fit(X, Y, weight)


def test_explanations_name_a_member(fitted):
    with pytest.raises(TypeError, match=r"The member '.*' .* cannot be explained by SHAP values"):
        xdcc.explain.shap_values(fitted, X_NEW[:3])
    with pytest.raises(TypeError, match=r"The member '.*' .* has no importances of features"):
        _ = fitted.label_importances_


def rule_that_predicts(what):
    class Odd(AtLeastOne):
        name = "odd"

        def decide(self, margins):
            return what(super().decide(margins))

    return Odd


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (lambda labels: 2 * labels, "predicts 2 in row .* for label number .*; a label is 0 or 1"),
        (lambda labels: labels - 0.5, r"predicts -?0\.5 in row 0"),
        (
            lambda labels: labels[:, :2],
            r"predicts an array of the shape \(250, 2\); expected \(250",
        ),
        (lambda labels: labels * NAN, "predicts nan in row 0 for label number 0"),
    ],
)
@pytest.mark.parametrize(
    "make", [classifier, lambda **p: TunedDecisionClassifierCV(NEIGHBOURS, **p)]
)
def test_what_is_no_label(monkeypatch, make, what, message):
    """Rules of users decide once before anything is trained."""
    for kind in (MultiLabelXGBClassifier, LogisticLabels):
        monkeypatch.setattr(kind, "_out_of_fold", lambda *args, **kwargs: pytest.fail("trains"))
    monkeypatch.setattr(KNeighborsClassifier, "fit", lambda *args: pytest.fail("trains"))
    with pytest.raises(ValueError, match=f"The decision rule 'odd' {message}"):
        make(rules=["threshold", rule_that_predicts(what)]).fit(X, Y)


def test_a_rule_that_errs_later():
    kind = rule_that_predicts(lambda labels: labels if len(labels) > 100 else labels + 3)
    model = TunedDecisionClassifierCV(LogisticLabels(), rules=[kind], cv=2).fit(X, Y)
    with pytest.raises(ValueError, match=r"The decision rule 'odd' predicts [34] in row 0"):
        model.predict(X_NEW[:5])


def test_as_many_rules_for_any_rows():
    class Growing(AtLeastOne):
        name = "growing"

        @classmethod
        def learn(cls, rows):
            return [cls(0.0)] * (2 if len(rows.Y) < 200 else 1)

    data, folds = (
        FitData(RANDOM.normal(size=Y.shape), Y.astype(np.float32), None),
        np.arange(250) % 3,
    )
    with pytest.raises(
        ValueError, match="'growing' have 1 configurations learned from all rows, and 2"
    ):
        try_rules(data, folds, measure="example_f1", kinds=[Growing])


@pytest.mark.parametrize(
    "rules",
    [
        ["cut"],
        [],
        "threshold",
        [AtLeastOne(0.0)],
        [int],
        [rule_that_predicts(abs), rule_that_predicts(abs)],
    ],
)
def test_bad_rules(rules):
    message = "it must be 'auto' or a sequence of 'label_wise', .*, and subclasses of xdcc"
    for model in (classifier(rules=rules), TunedDecisionClassifierCV(NEIGHBOURS, rules=rules)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y)


def test_a_rule_says_what_it_needs():
    class OfSets(AtLeastOne):
        name = "of_sets"
        needs_labelsets = True

        @classmethod
        def why_not(cls, measure):
            return None if measure == "jaccard" else "needs the metric 'jaccard'"

    with pytest.raises(ValueError, match="The rule 'of_sets' needs the metric 'jaccard'"):
        TunedDecisionClassifierCV(LogisticLabels(), rules=[OfSets], cv=2).fit(X, Y)
    unknown = Y.astype(float)
    unknown[np.arange(len(Y)), np.arange(len(Y)) % 3] = NAN
    model = TunedDecisionClassifierCV(LogisticLabels(), measure="jaccard", rules=[OfSets], cv=2)
    with pytest.raises(ValueError, match="The rule 'of_sets' needs rows of which every label is k"):
        model.fit(X, unknown)


def test_rules_without_a_metric_of_labels():
    with pytest.raises(ValueError, match="on which decision rules have no influence: rules must"):
        classifier("neg_log_loss", rules=["threshold"]).fit(X, Y)


def test_warnings_of_a_trial_are_not_shown():
    class Warns(CentroidClassifier):
        def fit(self, X, Y):
            if len(X) < 100:
                warnings.warn("few rows", UserWarning, stacklevel=2)
            return super().fit(X, Y)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(members=[Warns()]).fit(X, Y)
