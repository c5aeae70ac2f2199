"""TunedDecisionClassifierCV against its parts."""

import pickle
import threading
from typing import Any, Self

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import TimeSeriesSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from xdcc import metrics
from xdcc.base.fit_data import FitData
from xdcc.base.folds import OutOfFold, stratified_folds
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.decision.calibration import calibrate
from xdcc.decision.rule_choice import choose_rule
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels

matplotlib.use("Agg")
NAN = np.nan

X, Y = make_multilabel_classification(
    n_samples=200, n_features=6, n_classes=4, n_labels=2, random_state=5
)
X, X_NEW, Y, Y_NEW = X[:140], X[140:], Y[:140], Y[140:]
NEIGHBOURS = KNeighborsClassifier(n_neighbors=9)
BOOSTER = MultiLabelXGBClassifier(n_estimators=30, max_depth=3, learning_rate=0.2, n_jobs=1)


@pytest.mark.parametrize("ensemble", [False, True])
def test_the_parts(ensemble: bool) -> None:
    folds = stratified_folds(Y.astype(float), 4, 3)
    models, proba = [], np.empty(Y.shape)
    for fold in range(4):
        models.append(clone(NEIGHBOURS).fit(X[folds != fold], Y[folds != fold]))
        answers = models[-1].predict_proba(X[folds == fold])
        proba[folds == fold] = np.column_stack([answer[:, 1] for answer in answers])
    scaling, calibrated = calibrate(margins_of(proba), Y.astype(float), np.ones(len(Y)), folds)
    choice = choose_rule(
        FitData(calibrated, Y.astype(float), None), folds, measure="jaccard", seed=3
    )

    model = TunedDecisionClassifierCV(
        NEIGHBOURS, measure="jaccard", cv=4, random_state=3, ensemble=ensemble
    ).fit(X, Y)
    np.testing.assert_array_equal(model.folds_, folds)
    np.testing.assert_allclose(model.oof_proba_, expit(calibrated))
    assert model.cv_results_ == choice.results
    assert model.best_score_ == choice.score
    assert len(model.estimators_) == (4 if ensemble else 1)
    used = models if ensemble else [clone(NEIGHBOURS).fit(X, Y)]
    margins = np.mean(
        [
            margins_of(np.column_stack([p[:, 1] for p in each.predict_proba(X_NEW)]))
            for each in used
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.predict_proba(X_NEW), expit(scaling.margins(margins)))
    np.testing.assert_array_equal(
        model.predict(X_NEW), choice.rule.predict(expit(scaling.margins(margins)))
    )
    table = pd.DataFrame(model.cv_results_)
    assert table.loc[table.chosen, "rule"].tolist() == [model.rule_.name]
    of_folds = [
        metrics.jaccard(Y[folds == fold], model.oof_proba_[folds == fold] >= 0.5)
        for fold in range(4)
    ]
    (spread,) = table.loc[table.rule == "label_wise", "score_std"]
    assert spread == pytest.approx(np.std(of_folds))


@pytest.mark.parametrize("ensemble", [False, True])
def test_boosters_find_their_number_of_iterations(ensemble: bool) -> None:
    model = TunedDecisionClassifierCV(BOOSTER, calibrate=False, ensemble=ensemble).fit(X, Y)
    found = BOOSTER.out_of_fold(X, Y, model.folds_)
    assert found.unfitted.n_estimators < 30
    np.testing.assert_allclose(model.oof_proba_, found.proba, atol=2e-6)
    assert [each.get_booster().num_boosted_rounds() for each in model.estimators_] == (
        [found.unfitted.n_estimators] * (5 if ensemble else 1)
    )
    np.testing.assert_array_equal(model.calibration_.slope, 1)


def test_better_than_the_booster_at_one_half() -> None:
    many_X, many_Y = make_multilabel_classification(
        n_samples=1200, n_features=6, n_classes=5, n_labels=2, random_state=1
    )
    train, test = slice(600), slice(600, None)
    plain = clone(BOOSTER).fit(many_X[train], many_Y[train]).predict(many_X[test])
    for measure in ("example_f1", "subset_accuracy"):
        model = TunedDecisionClassifierCV(BOOSTER, measure=measure)
        found = model.fit(many_X[train], many_Y[train]).predict(many_X[test])
        score, of_plain = (
            getattr(metrics, measure)(many_Y[test], labels) for labels in (found, plain)
        )
        assert score > of_plain + 0.01
        # Estimated on 600 rows for 600 others: within five standard errors of the difference.
        assert score == pytest.approx(model.best_score_, abs=5 * np.sqrt(2) * 0.5 / np.sqrt(600))
    assert model.score(many_X[test], many_Y[test]) == score


@pytest.mark.parametrize(
    "estimator",
    [
        OneVsRestClassifier(LogisticRegression()),
        OneVsRestClassifier(RidgeClassifier()),
        DecisionTreeClassifier(max_depth=3, random_state=0),
        NEIGHBOURS,
    ],
)
@pytest.mark.usefixtures("threads")
def test_any_classifier_and_any_number_of_threads(estimator: Any) -> None:
    one, two = (TunedDecisionClassifierCV(estimator, n_jobs=n_jobs).fit(X, Y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.oof_proba_, two.oof_proba_)
    np.testing.assert_array_equal(one.predict_proba(X_NEW), two.predict_proba(X_NEW))
    assert one.cv_results_ == two.cv_results_
    assert one.best_score_ == two.best_score_


@pytest.mark.parametrize("classes", [["no", "yes"], [0, 1]])
@pytest.mark.parametrize("estimator", [BOOSTER, LogisticRegression()])
def test_one_dimension(estimator: Any, classes: list) -> None:
    target = np.array(classes)[Y[:, 0]]
    model = TunedDecisionClassifierCV(estimator, measure="micro_f1").fit(X, target)
    assert set(model.predict(X_NEW)) <= set(classes)
    assert model.predict_proba(X_NEW).shape == (len(X_NEW), 2)
    matrix = TunedDecisionClassifierCV(BOOSTER, measure="micro_f1").fit(X, Y[:, :1])
    if estimator is BOOSTER:
        np.testing.assert_array_equal(
            model.predict(X_NEW) == classes[1], matrix.predict(X_NEW)[:, 0] == 1
        )


def test_forms_of_data() -> None:
    expected = TunedDecisionClassifierCV(BOOSTER).fit(X, Y).predict_proba(X_NEW)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.DataFrame(Y, columns=list("wxyz"))
    model = TunedDecisionClassifierCV(BOOSTER).fit(frame, labels)
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame(X_NEW, columns=list("abcdef"))), expected
    )
    assert model.label_names_.tolist() == list("wxyz")
    assert model.feature_names_in_.tolist() == list("abcdef")
    model = TunedDecisionClassifierCV(BOOSTER).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert model.predict(sparse.csr_array(X_NEW)).shape == Y_NEW.shape


def test_weights_count_rows() -> None:
    weight = np.where(np.arange(len(X)) % 3 == 0, 0.0, 2.0)
    model = TunedDecisionClassifierCV(BOOSTER, calibrate=True).fit(X, Y, weight)
    # Labels of rows without weight can be anything, as long as the folds stay.
    other, folds = Y, model.folds_
    flipped = np.where((weight == 0)[:, None], 1 - other, other)
    found = BOOSTER.out_of_fold(X, flipped, folds, weight)
    again = BOOSTER.out_of_fold(X, other, folds, weight)
    np.testing.assert_array_equal(found.margins, again.margins)
    row_weight = weight.astype(float)
    ours, theirs = (
        calibrate(found.margins.astype(float), labels.astype(float), row_weight, folds)
        for labels in (other, flipped)
    )
    np.testing.assert_array_equal(ours.scaling.slope, theirs.scaling.slope)
    choices = [
        choose_rule(
            FitData(ours.margins, labels.astype(float), weight), folds, measure="example_f1"
        )
        for labels in (other, flipped)
    ]
    assert choices[0].results == choices[1].results
    assert choices[0].score == pytest.approx(model.best_score_)


def test_unknown_labels() -> None:
    labels = Y.astype(float)
    labels[::5, 2] = NAN
    labels[3] = NAN
    model = TunedDecisionClassifierCV(BOOSTER, measure="subset_accuracy").fit(X, labels)
    assert set(np.unique(model.predict(X_NEW))) <= {0, 1}
    assert np.isfinite(model.best_score_)
    assert np.isfinite(model.oof_proba_).all()


@pytest.mark.parametrize("measure", ["example_f1", "subset_accuracy", "macro_f1"])
@pytest.mark.parametrize("value", [0, 1])
def test_a_label_with_one_class_stays_constant(measure: str, value: int) -> None:
    labels = np.column_stack((Y[:, :2], np.full(len(Y), value)))
    for estimator in (BOOSTER, NEIGHBOURS):
        model = TunedDecisionClassifierCV(estimator, measure=measure).fit(X, labels)
        assert (model.predict(X_NEW)[:, 2] == value).all()
        expected = 1 / (len(X) + 2)
        np.testing.assert_allclose(
            model.predict_proba(X_NEW)[:, 2], 1 - expected if value else expected
        )
    alone = TunedDecisionClassifierCV(BOOSTER, measure=measure).fit(X, labels[:, 2:])
    assert (alone.predict(X_NEW) == value).all()


@pytest.mark.parametrize(
    "measure",
    ["subset_accuracy", "example_f1", "micro_f1", "macro_f1", "hamming_accuracy", "jaccard"],
)
def test_noise_is_chance(measure: str) -> None:
    """Labels that have nothing to do with X: no score is better than that of constants.

    Fair labels, 4 of them; each score below is the best that is possible when nothing is known,
    in expectation: 1/16 of labelsets, 1/2 of labels, and for F1 and Jaccard the best constant
    prediction, which is all labels. The margin is five standard errors of the mean over five
    seeds of 150 rows, for six measures: under normality an error rate of 2e-6.
    """
    scores, errors = [], []
    for seed in range(5):
        random = np.random.default_rng(seed)
        noise = random.integers(0, 2, size=(150, 4))
        model = TunedDecisionClassifierCV(
            MultiLabelXGBClassifier(n_estimators=5, max_depth=2, n_jobs=1), measure=measure
        ).fit(random.normal(size=(150, 3)), noise)
        scores.append(model.best_score_)
        errors.append(model.cv_results_["standard_error"][model.cv_results_["chosen"].index(True)])
    everything = np.ones((16, 4))
    labelsets = np.array([[n >> j & 1 for j in range(4)] for n in range(16)])
    chance = {"subset_accuracy": 1 / 16, "hamming_accuracy": 1 / 2}.get(measure)
    if chance is None:
        chance = getattr(metrics, measure)(labelsets, everything)
    margin = 5 * np.sqrt(np.square(errors).sum()) / len(errors)
    assert np.mean(scores) < chance + margin
    # Conversely, the estimate is not lower than choosing a rule costs.
    assert np.mean(scores) > 0.5 * chance - margin


class Trainer(ClassifierMixin, BaseEstimator):
    """Trains its folds by itself, and says that one label is certain."""

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        self.n_labels_ = np.shape(Y)[1]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full((len(X), self.n_labels_), 0.25)

    def out_of_fold(self, X: Any, Y: Any, folds: Any, sample_weight: Any = None) -> OutOfFold:
        return OutOfFold(np.full(np.shape(Y), np.log(3)), [self.fit(X, Y)], Trainer())


def test_an_estimator_that_trains_its_folds_is_asked_to() -> None:
    model = TunedDecisionClassifierCV(Trainer(), calibrate=False).fit(X, Y)
    np.testing.assert_allclose(model.oof_proba_, 0.75)
    np.testing.assert_allclose(model.predict_proba(X_NEW), 0.25)
    # The user's object is not trained.
    trainer = Trainer()
    TunedDecisionClassifierCV(trainer).fit(X, Y)
    assert not hasattr(trainer, "n_labels_")


def test_it_is_not_asked_where_folds_train_on_fewer_rows() -> None:
    """It learns only the fold of each row, so its folds are trained one by one."""
    ordered = TimeSeriesSplit(3)
    model = TunedDecisionClassifierCV(Trainer(), cv=ordered, calibrate=False).fit(X, Y)
    np.testing.assert_allclose(model.oof_proba_[model.folds_ >= 0], 0.25)
    # Row 0 is not tested, but trains in all folds.
    parts = np.append(-1, np.arange(139) % 3)
    pairs = [(np.flatnonzero(parts != k), np.flatnonzero(parts == k)) for k in range(3)]
    model = TunedDecisionClassifierCV(Trainer(), cv=pairs, calibrate=False).fit(X, Y)
    np.testing.assert_allclose(model.oof_proba_[1:], 0.75)
    assert np.isnan(model.oof_proba_[0]).all()


@pytest.mark.parametrize("measure", ["example_f1", "subset_accuracy", metrics.jaccard])
def test_pickle_and_clone(measure: Any) -> None:
    model = TunedDecisionClassifierCV(BOOSTER, measure=measure).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
    np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
    once_more = clone(model).fit(X, Y)
    assert once_more.cv_results_ == model.cv_results_


def test_rules_can_be_chosen() -> None:
    model = TunedDecisionClassifierCV(BOOSTER, rules=["known_labelset", "threshold"]).fit(X, Y)
    assert dict.fromkeys(model.cv_results_["rule"]) == {"threshold": None, "known_labelset": None}


def test_a_callable_is_as_good_as_the_name() -> None:
    kinds = ["label_wise", "f1_maximiser"]
    by_name = TunedDecisionClassifierCV(BOOSTER, measure="jaccard", rules=kinds).fit(X, Y)
    by_call = TunedDecisionClassifierCV(BOOSTER, measure=metrics.jaccard, rules=kinds).fit(X, Y)
    assert by_call.rule_.params == by_name.rule_.params
    np.testing.assert_allclose(by_call.cv_results_["score"], by_name.cv_results_["score"])


def test_random_state_decides_on_folds_and_draws() -> None:
    models = [
        TunedDecisionClassifierCV(NEIGHBOURS, random_state=seed).fit(X, Y)
        for seed in (0, None, 1, np.random.RandomState(7), np.random.RandomState(7))
    ]
    assert models[0].best_score_ == models[1].best_score_ != models[2].best_score_
    assert models[3].best_score_ == models[4].best_score_
    assert (models[0].folds_ != models[2].folds_).any()


def test_plot() -> None:
    model = TunedDecisionClassifierCV(BOOSTER, measure="subset_accuracy").fit(X, Y)
    from matplotlib import pyplot

    ax = model.plot_rules()
    assert [text.get_text() for text in ax.get_yticklabels()] == list(
        dict.fromkeys(model.cv_results_["rule"])
    )
    by_kind = dict(
        zip(model.cv_results_["rule"], model.cv_results_["corrected_score"], strict=True)
    )
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], list(by_kind.values()))
    assert ax.get_xlabel() == "subset_accuracy"
    assert model.plot_rules(ax) is ax
    pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"measure": "f1"}, ValueError, "measure='f1': it must be one of 'hamming_accuracy'"),
        ({"measure": None}, ValueError, "measure=None"),
        ({"measure": lambda t, p: "much"}, TypeError, "returned 'much', which is not a number"),
        ({"measure": lambda t, p: NAN}, ValueError, "returned nan; it must be finite"),
        ({"rules": "best"}, ValueError, "rules='best': it must be 'auto' or a sequence of"),
        ({"rules": []}, ValueError, "it must be 'auto' or a sequence of"),
        ({"rules": ["threshold", "f1"]}, ValueError, "it must be 'auto' or a sequence of"),
        ({"cv": 1}, ValueError, "cv=1"),
        ({"cv": 141}, ValueError, "141 folds need as many rows, but n_samples=140"),
        ({"calibrate": "yes"}, ValueError, "calibrate='yes'"),
        ({"ensemble": 3}, ValueError, "ensemble=3"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"estimator": Ridge()}, ValueError, r"estimator=Ridge\(\): it must be an"),
    ],
)
def test_bad_arguments(
    monkeypatch: pytest.MonkeyPatch, options: dict, error: type[Exception], message: str
) -> None:
    """An error comes before anything is trained."""
    monkeypatch.setattr(
        "xdcc.decision.tuned_decision.out_of_fold", lambda *_, **__: pytest.fail("trains")
    )
    model = TunedDecisionClassifierCV(**({"estimator": BOOSTER} | options))
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.plot_rules()


def test_bad_data() -> None:
    model = TunedDecisionClassifierCV(BOOSTER)
    with pytest.raises(ValueError, match="Y holds 2"):
        model.fit(X, Y + 1)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, Y[:-1])
    with pytest.raises(ValueError, match="sample_weight is zero in every row"):
        model.fit(X, Y, np.zeros(len(X)))
    with pytest.raises(ValueError, match="5 folds need as many rows, but n_samples=3"):
        model.fit(X[:3], Y[:3])


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize(
    "estimator",
    [
        MultiLabelXGBClassifier(n_estimators=20, max_depth=3),
        DynamicChainClassifier(n_estimators=3, chain_length=2, cv=2),
        SketchedExtraTreesClassifier(n_estimators=10),
        LogisticLabels(),
        OneVsRestClassifier(LogisticRegression()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_folds_side_by_side(estimator: Any, n_jobs: int, threads: None) -> None:
    if not isinstance(estimator, OneVsRestClassifier):
        estimator = clone(estimator).set_params(n_jobs=n_jobs)
    before = threading.active_count()
    found = TunedDecisionClassifierCV(estimator, cv=3, n_jobs=n_jobs).fit(X, Y)
    assert threading.active_count() == before
    one = clone(estimator).set_params(n_jobs=1)
    expected = TunedDecisionClassifierCV(one, cv=3, n_jobs=1).fit(X, Y)
    np.testing.assert_array_equal(found.oof_proba_, expected.oof_proba_)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert str(found.cv_results_) == str(expected.cv_results_)
    for each in found.estimators_:
        assert each.get_params().get("n_jobs") == estimator.get_params().get("n_jobs")


def test_a_function_of_the_user_is_called_by_one_thread() -> None:
    called = set()

    def measure(Y_true: Any, Y_pred: Any) -> float:
        called.add(threading.current_thread())
        return float((Y_true == Y_pred).mean())

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    TunedDecisionClassifierCV(tree, measure=measure, cv=3, n_jobs=3).fit(X, Y)
    assert called == {threading.current_thread()}


def test_an_error_of_a_fold_is_raised() -> None:
    class Refuses(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
            raise RuntimeError("fold without a model")

    for n_jobs in (1, 3):
        before = threading.active_count()
        with pytest.raises(RuntimeError, match="fold without a model"):
            TunedDecisionClassifierCV(Refuses(), cv=3, n_jobs=n_jobs).fit(X, Y)
        assert threading.active_count() == before
