"""MultiLabelClassifier against its parts, within its time, and with every form of data."""

import pickle
import re
import time
import warnings
from itertools import count

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import TimeSeriesSplit

from xdcc import MultiLabelClassifier, metrics
from xdcc.automatic.boosters import second_level
from xdcc.automatic.families import families_of, usual_candidates
from xdcc.automatic.forests import forest
from xdcc.automatic.mixture import Mixture
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.checks import check_fit_data
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import LabelCosts
from xdcc.decision.calibration import calibrate_labels
from xdcc.decision.out_of_fold import mean_margins, out_of_fold
from xdcc.decision.proba_metrics import proba_metric
from xdcc.decision.rule_choice import choose_rule
from xdcc.decision.threshold_rules import LabelWise

matplotlib.use("Agg")
NAN = np.nan

X, Y = make_multilabel_classification(
    n_samples=400, n_features=6, n_classes=4, n_labels=2, random_state=5
)
X, X_NEW, Y, Y_NEW = X[:140], X[140:], Y[:140], Y[140:]


def _classifier(measure="example_f1", **params):
    return MultiLabelClassifier(measure, **{"cv": 3, "n_jobs": 1, **params})


def _without_seconds(model):
    return {name: column for name, column in model.summary_.items() if name != "seconds"}


@pytest.fixture(scope="module")
def fitted():
    return _classifier(random_state=3).fit(X, Y)


def test_the_parts(fitted):
    """Each candidate by itself, calibrated; the mixture of those that entered; its second level."""
    table = pd.DataFrame(fitted.summary_).set_index("candidate")
    shape = Shape(140, 6, 4, 140 * 6, 3)
    tried = usual_candidates(families_of(None), shape)
    assert table.index.tolist() == [*(candidate.name for candidate in tried), "second level"]
    assert (table.seeds == 1).all()
    assert np.isnan(table.loc["linear", "rounds"])
    data = check_fit_data(MultiLabelXGBClassifier(), X, Y)
    mixture, predicted = Mixture(data), {}

    def train(candidate, number, data, X_new):
        found = out_of_fold(candidate.estimator(3 + number, 1), data, fitted.folds_)
        single = found.margins.astype(np.float32).astype(np.float64)  # as they are kept
        calibration, margins = calibrate_labels(data._replace(X=single), fitted.folds_)
        right = np.where(Y == 1, expit(margins), 1 - expit(margins))
        assert table.log_loss.iloc[number] == pytest.approx(-np.log(right).mean(), rel=1e-4)
        return margins, calibration.margins(mean_margins(found.estimators, X_new, 4))

    for number, candidate in enumerate(tried):
        margins, predicted[candidate.name] = train(
            candidate, number, data, X_NEW.astype(np.float32)
        )
        mixture.admit(candidate.name, margins)
        assert table.best_log_loss.iloc[number] == pytest.approx(mixture.log_loss)
    shares = dict(zip(mixture.names, mixture.shares, strict=True))
    assert [(member.name, member.share) for member in fitted.members_] == [*shares.items()]
    expected = sum(share * predicted[name] for name, share in shares.items())

    stacked = second_level(shape, len(shares))
    features = check_fit_data(MultiLabelXGBClassifier(), mixture.features, Y)
    on_new = np.hstack([predicted[name] for name in shares]).astype(np.float32)
    margins, of_level = train(stacked, len(tried), features, on_new)
    assert mixture.stack(margins) == bool(fitted.stacked_)
    assert table.best_log_loss.iloc[-1] == pytest.approx(mixture.log_loss)
    share = mixture.stacked_share
    assert [member.share for member in fitted.stacked_] == [share] * (share > 0)
    for name, own in shares.items():
        assert table.share[name] == pytest.approx((1 - share) * own)
    assert table.share.sum() == pytest.approx(1)

    proba = fitted.predict_proba(X_NEW)
    np.testing.assert_allclose(proba, expit((1 - share) * expected + share * of_level), rtol=1e-6)
    np.testing.assert_allclose(fitted.oof_proba_, expit(mixture.margins))
    of_folds = [
        metrics.log_loss(Y[rows], fitted.oof_proba_[rows])
        for rows in (fitted.folds_ == fold for fold in np.unique(fitted.folds_))
    ]
    assert table.best_log_loss_std.iloc[-1] == pytest.approx(np.std(of_folds), rel=1e-4)
    choice = choose_rule(
        data._replace(X=mixture.margins), fitted.folds_, measure="example_f1", seed=3
    )
    assert fitted.cv_results_["score"] == choice.results["score"]
    assert fitted.best_score_ == choice.score
    np.testing.assert_array_equal(fitted.predict(X_NEW), choice.rule.predict(proba))


def test_better_than_the_booster_at_one_half():
    """Most of eight labels are rare: at 0.5 they are hardly ever predicted."""
    many_X, many_Y = make_multilabel_classification(
        n_samples=1050, n_features=10, n_classes=8, n_labels=1, length=15, random_state=1
    )
    train, test = slice(250), slice(250, None)
    plain = MultiLabelXGBClassifier(n_jobs=1).fit(many_X[train], many_Y[train])
    for measure in ("example_f1", "subset_accuracy"):
        model = _classifier(measure).fit(many_X[train], many_Y[train])
        score, of_plain = (
            getattr(metrics, measure)(many_Y[test], each.predict(many_X[test]))
            for each in (model, plain)
        )
        # The standard error of the difference is 0.015 at most.
        assert score > of_plain + 0.03
        # Estimated on 250 rows for 800 others: within five standard errors of the difference.
        assert score == pytest.approx(model.best_score_, abs=5 * 0.5 * np.sqrt(1 / 250 + 1 / 800))


@pytest.mark.parametrize("measure", ["subset_accuracy", "example_f1", "hamming_accuracy"])
def test_noise_is_chance(measure):
    """Labels that have nothing to do with X: no score is better than that of constants.

    As for `TunedDecisionClassifierCV`, but candidates are chosen, too: three fair labels, of which
    the best constant prediction gets 1/8 of labelsets and 1/2 of labels right, and for F1
    predicts all labels. The margin is five standard errors of the mean over four seeds of 100
    rows, for three measures: under normality an error rate of 1e-6.
    """
    scores, errors = [], []
    for seed in range(4):
        random = np.random.default_rng(seed)
        noise = random.integers(0, 2, size=(100, 3))
        model = _classifier(measure, cv=2).fit(random.normal(size=(100, 3)), noise)
        scores.append(model.best_score_)
        errors.append(model.cv_results_["standard_error"][model.cv_results_["chosen"].index(True)])
    labelsets = np.array([[n >> j & 1 for j in range(3)] for n in range(8)])
    chance = {"subset_accuracy": 1 / 8, "hamming_accuracy": 1 / 2}.get(measure)
    if chance is None:
        chance = metrics.example_f1(labelsets, np.ones((8, 3)))
    margin = 5 * np.sqrt(np.square(errors).sum()) / len(errors)
    assert 0.5 * chance - margin < np.mean(scores) < chance + margin


def test_the_same_for_any_number_of_threads(fitted):
    model = _classifier(random_state=3, n_jobs=2).fit(X, Y)
    assert _without_seconds(model) == _without_seconds(fitted)
    assert model.best_score_ == fitted.best_score_
    np.testing.assert_array_equal(model.predict_proba(X_NEW), fitted.predict_proba(X_NEW))


def test_the_seed_decides(fitted):
    other = _classifier(random_state=4).fit(X, Y)
    assert (other.folds_ != fitted.folds_).any()
    assert other.best_score_ != fitted.best_score_


def _stop_watch(monkeypatch):
    """Let a second pass each time the clock is read."""
    seconds = count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(seconds)))


def test_too_short_for_one_model(monkeypatch):
    _stop_watch(monkeypatch)
    with pytest.warns(UserWarning, match="time_budget is too short for any model"):
        model = _classifier(time_budget=1).fit(X, Y)
    assert len(model.summary_["candidate"]) == 1
    assert {booster.get_booster().num_boosted_rounds() for booster in model.estimators_} == {1}
    assert model.predict(X_NEW).shape == Y_NEW.shape


def test_the_best_so_far_when_time_is_up(monkeypatch):
    _stop_watch(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short, long = (
            pd.DataFrame(_classifier(time_budget=seconds).fit(X, Y).summary_)
            for seconds in (60, 700)
        )
    assert 0 < len(short) < len(long)
    assert short.candidate[0].startswith("first")
    assert long.best_log_loss.iloc[-1] <= short.best_log_loss.iloc[-1]


def test_more_time_tries_more_candidates_and_never_keeps_a_worse_mixture(monkeypatch):
    monkeypatch.setattr("xdcc.automatic.search._MOST_FAILURES", 3)
    usual = len(usual_candidates(families_of(None), Shape(140, 6, 4, 140 * 6, 3)))
    table = pd.DataFrame(_classifier(time_budget=1e6, random_state=3).fit(X, Y).summary_)
    assert len(table) > usual
    assert (np.diff(table.best_log_loss) <= 0).all()
    assert table.seeds.max() > 1
    assert table.share.sum() == pytest.approx(1)
    assert (table.groupby("candidate").share.apply(np.count_nonzero) <= 1).all()
    # It ends by itself when some in turn have not helped.
    last = table[table.candidate != "second level"].best_log_loss
    assert (last[-3:] == last.iloc[-1]).all()
    assert last.iloc[-4] == last.iloc[-1] < last.iloc[-5]


def test_an_estimate_that_exceeds_the_time_left_is_not_begun():
    candidate = forest(Shape(10**6, 100, 5, 10**8, 5))
    budget = TimeBudget(time.perf_counter(), 10)
    assert budget.estimate(candidate) == candidate.least_seconds > budget.left()
    budget.learn(candidate, candidate.seconds / 1e6)
    assert budget.estimate(candidate) < budget.left()
    budget.reserve(3)
    assert 6 < budget.left() < 7
    budget.reserve(30)  # at most four tenths
    assert 5 < budget.left() < 6
    assert TimeBudget(0, None).left() == np.inf


def test_forms_of_data(fitted):
    expected = fitted.predict_proba(X_NEW)
    columns, names = list("abcdef"), list("wxyz")
    model = _classifier(random_state=3)
    model.fit(pd.DataFrame(X, columns=columns), pd.DataFrame(Y, columns=names))
    np.testing.assert_array_equal(
        model.predict_proba(pd.DataFrame(X_NEW, columns=columns)), expected
    )
    assert model.label_names_.tolist() == names
    assert model.feature_names_in_.tolist() == columns
    frame = pd.DataFrame(X, columns=columns)
    frame["kind"] = pd.Categorical(np.where(Y[:, 0] == 1, "yes", "no"))
    model = _classifier(random_state=3).fit(frame, Y)
    assert (model.predict(frame)[:, 0] == Y[:, 0]).mean() > 0.95
    model = _classifier().fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert model.predict(sparse.csr_array(X_NEW)).shape == Y_NEW.shape


def test_missing_values_unknown_labels_and_weights():
    features, labels = X.copy(), Y.astype(float)
    features[::4, 1] = NAN
    labels[::5, 2] = NAN
    labels[3] = NAN
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, 2.0)
    model = _classifier("subset_accuracy").fit(features, labels, weight)
    assert set(np.unique(model.predict(X_NEW))) <= {0, 1}
    assert np.isfinite(model.best_score_)
    assert np.isfinite(model.oof_proba_).all()
    # Labels of rows without weight can be anything, as long as the folds stay.
    frequencies = np.nanmean(labels[weight > 0], axis=0)
    np.testing.assert_allclose(model.oof_proba_[weight > 0].mean(axis=0), frequencies, atol=0.1)


def test_one_dimension():
    target = np.array(["no", "yes"])[Y[:, 0]]
    model = _classifier("micro_f1").fit(X, target)
    assert set(model.predict(X_NEW)) <= {"no", "yes"}
    assert model.predict_proba(X_NEW).shape == (len(X_NEW), 2)
    matrix = _classifier("micro_f1").fit(X, Y[:, :1])
    np.testing.assert_array_equal(model.predict(X_NEW) == "yes", matrix.predict(X_NEW)[:, 0] == 1)


@pytest.mark.parametrize("value", [0, 1])
def test_a_label_with_one_class_stays_constant(value):
    labels = np.column_stack((Y[:, :2], np.full(len(Y), value)))
    model = _classifier().fit(X, labels)
    assert (model.predict(X_NEW)[:, 2] == value).all()
    expected = 1 / (len(X) + 2)
    np.testing.assert_allclose(
        model.predict_proba(X_NEW)[:, 2], 1 - expected if value else expected
    )
    alone = _classifier().fit(X, labels[:, 2:])
    assert (alone.predict(X_NEW) == value).all()


def test_a_callable_measure(fitted):
    by_call = _classifier(metrics.hamming_accuracy).fit(X, Y)
    assert 0.5 < by_call.best_score_ < 1
    assert by_call.plot_rules().get_xlabel() == "measure"
    assert set(by_call.cv_results_["score_std"]) == {None}
    board = by_call.leaderboard(X_NEW, Y_NEW).set_index("candidate")
    expected = metrics.hamming_accuracy(Y_NEW, by_call.predict(X_NEW))
    assert board.test_score["mixture"] == pytest.approx(expected)


@pytest.mark.parametrize(
    "measure", ["macro_roc_auc", "macro_average_precision", "neg_log_loss", "precision_at_3"]
)
def test_a_measure_of_probabilities(fitted, measure):
    """The same mixture as for other metrics, scored as it is."""
    model = _classifier(measure, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X_NEW), fitted.predict_proba(X_NEW))
    expected = proba_metric(measure).score(Y, model.oof_proba_)
    assert model.best_score_ == pytest.approx(expected)
    assert model.rule_ == LabelWise()
    np.testing.assert_array_equal(model.predict(X_NEW), model.predict_proba(X_NEW) >= 0.5)
    table = pd.DataFrame(model.cv_results_)
    assert table.rule.tolist() == ["label_wise"]
    assert table.score[0] == table.corrected_score[0] == model.best_score_
    assert 0 < table.standard_error[0] < 0.1
    assert model.plot_rules().get_xlabel() == measure
    matplotlib.pyplot.close("all")
    # 140 rows for 260 others: within five standard errors of the difference.
    error = table.standard_error[0] * np.sqrt(1 + len(X) / len(X_NEW))
    reached = proba_metric(measure).score(Y_NEW, model.predict_proba(X_NEW))
    assert reached == pytest.approx(model.best_score_, abs=5 * error)
    board = model.leaderboard(X_NEW, Y_NEW).set_index("candidate")
    assert board.test_score["mixture"] == pytest.approx(reached)


def test_a_measure_of_probabilities_with_unknown_labels_and_weights():
    labels = np.column_stack((Y[:, :3], np.zeros(len(Y))))  # the last one has no area
    labels[::5, 2] = NAN
    labels[3] = NAN
    weight = np.where(np.arange(len(X)) % 7 == 0, 0.0, 2.0)
    weight[1] = 5
    model = _classifier("macro_roc_auc").fit(X, labels, weight)
    expected = metrics.macro_roc_auc(labels, model.oof_proba_, sample_weight=weight)
    assert model.best_score_ == pytest.approx(expected)
    assert (model.predict(X_NEW)[:, 3] == 0).all()


def test_a_measure_of_probabilities_of_the_rows_that_folds_test():
    cv = TimeSeriesSplit(3)
    model = _classifier("neg_brier_score", cv=cv).fit(X, Y)
    tested = model.folds_ >= 0
    assert 0 < tested.sum() < len(X)
    expected = -metrics.brier_score(Y[tested], model.oof_proba_[tested])
    assert model.best_score_ == pytest.approx(expected)
    labels = np.zeros_like(Y)
    labels[~tested] = Y[~tested]
    with pytest.raises(ValueError, match="has no value: no label has known entries of both"):
        _classifier("micro_roc_auc", cv=cv).fit(X, labels)


def test_costs_of_labels():
    costs = LabelCosts(false_positive=1, false_negative=[20, 1, 1, 1])
    model = _classifier(costs).fit(X, Y)
    assert model.best_score_ < 0
    assert model.rule_.name in model.cv_results_["rule"]
    board = model.leaderboard(X_NEW, Y_NEW).set_index("candidate")
    expected = costs.score(Y_NEW, model.predict(X_NEW))
    assert board.test_score["mixture"] == pytest.approx(expected)
    # A label that is expensive to miss is predicted more often than it occurs.
    assert model.predict(X_NEW)[:, 0].mean() > Y_NEW[:, 0].mean()
    with pytest.raises(ValueError, match="labels"):
        _classifier(LabelCosts(1, [5, 1])).fit(X, Y)


def test_pickle_and_clone(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X_NEW), fitted.predict_proba(X_NEW))
    assert clone(fitted).get_params() == fitted.get_params()


def test_progress(capsys):
    _classifier(verbose=1).fit(X[:60], Y[:60])
    shown = capsys.readouterr().err
    assert "linear" in shown
    assert "steps, log-loss 0." in shown
    assert re.search(r"extra trees, up to \d+ MiB", shown)
    _classifier().fit(X[:60], Y[:60])
    assert capsys.readouterr().err == ""


def test_plots(fitted):
    ax = fitted.plot_summary()
    table = pd.DataFrame(fitted.summary_)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], table.log_loss)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), table.best_log_loss)
    assert [text.get_text() for text in ax.get_yticklabels()] == table.candidate.tolist()
    assert fitted.plot_summary(ax) is ax
    rules = fitted.plot_rules()
    assert rules.get_xlabel() == "example_f1"
    assert {text.get_text() for text in rules.get_yticklabels()} == set(fitted.cv_results_["rule"])
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"measure": "f1"}, ValueError, "measure='f1': it must be one of 'hamming_accuracy'"),
        ({"measure": "precision_at_0"}, ValueError, "or 'ndcg_at_5' and so on"),
        ({"measure": "ndcg_at_x"}, ValueError, "measure='ndcg_at_x': it must be one of"),
        ({"measure": "log_loss"}, ValueError, "'neg_log_loss'"),
        ({"measure": "precision_at_5"}, ValueError, "has no value: there are only 4 labels"),
        ({"measure": None}, ValueError, "measure=None"),
        ({"measure": lambda t, p: "much"}, TypeError, "returned 'much', which is not a number"),
        ({"measure": lambda t, p: NAN}, ValueError, "returned nan; it must be finite"),
        ({"time_budget": 0}, ValueError, "time_budget=0: it must be a number above 0 or None"),
        ({"cv": 1}, ValueError, "cv=1"),
        ({"cv": 141}, ValueError, "141 folds need as many rows, but n_samples=140"),
        ({"n_jobs": 0}, ValueError, "n_jobs=0"),
        ({"verbose": "much"}, ValueError, "verbose='much'"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
    ],
)
def test_bad_arguments(monkeypatch, options, error, message):
    """An error comes before anything is trained."""
    monkeypatch.setattr(
        "xdcc.automatic.classifier.Search.run", lambda search: pytest.fail("trains")
    )
    model = _classifier(**options)
    with pytest.raises(error, match=message):
        model.fit(X, Y)
    for method in (model.predict, model.plot_summary):
        with pytest.raises(NotFittedError):
            method(X)


def test_a_forest_without_memory_is_left_out(monkeypatch):
    monkeypatch.setattr("xdcc.base.memory.available_memory", lambda: 2.0**20)
    monkeypatch.setattr("xdcc.linear.memory.require_memory", lambda *_: None)
    needed = r"3 forests of 200 trees may take \d+ MiB, but 1 MiB are available"
    with pytest.warns(UserWarning, match=f"'extra trees' is left out. {needed}"):
        model = _classifier().fit(X, Y)
    assert "extra trees" not in model.summary_["candidate"]
    assert "linear" in model.summary_["candidate"]


def test_stored_zeros_are_zeros():
    features = np.where(np.abs(X) < np.median(np.abs(X)), 0, X)
    plain = sparse.csr_array(features)
    rows, columns = np.indices(features.shape)
    stored = sparse.csr_array(
        (features.ravel(), (rows.ravel(), columns.ravel())), shape=features.shape
    )
    assert stored.nnz > plain.nnz
    models = [_classifier(random_state=0).fit(each, Y) for each in (plain, stored)]
    for each in (plain, stored):
        first, second = (model.predict_proba(each) for model in models)
        np.testing.assert_array_equal(first, second)


def test_one_row_of_each_class():
    """A label of a single row is in one fold only: no model of that fold has seen it."""
    model = _classifier(cv=2).fit(X[:4], np.eye(4, dtype=int))
    assert model.predict_proba(X[:4]).shape == (4, 4)
    assert np.isfinite(model.oof_proba_).all()


def test_bad_data():
    constant = np.zeros_like(Y)
    constant[:, 0] = 1
    with pytest.raises(ValueError, match=r"macro_roc_auc' has no value: no label has known"):
        _classifier("macro_roc_auc").fit(X, constant)
    with pytest.raises(ValueError, match="Y holds 2"):
        _classifier().fit(X, Y + 1)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        _classifier().fit(X, Y[:-1])
    with pytest.raises(ValueError, match="sample_weight is zero in every row"):
        _classifier().fit(X, Y, np.zeros(len(X)))
    with pytest.raises(ValueError, match="3 folds need as many rows, but n_samples=2"):
        _classifier().fit(X[:2], Y[:2])


def test_weights_of_entries():
    of_rows = np.linspace(0.5, 2, 90)
    tiled = np.tile(of_rows[:, np.newaxis], (1, 3))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    Y = (X[:, :3] + rng.normal(size=(90, 3)) > 0).astype(int)
    models = [
        MultiLabelClassifier("hamming_accuracy", cv=2, random_state=0, n_jobs=1).fit(
            X, Y, sample_weight=weight
        )
        for weight in (tiled, of_rows, tiled * [1, 5, 0.2])
    ]
    found, expected, other = (model.predict_proba(X) for model in models)
    np.testing.assert_array_equal(found, expected)
    assert not np.array_equal(found, other)
    assert models[2].best_score_ > 0.5
    with pytest.raises(ValueError, match="labels of a row, which have different weights"):
        MultiLabelClassifier("ndcg_at_2").fit(X, Y, sample_weight=tiled * [1, 5, 0.2])
