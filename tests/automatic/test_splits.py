"""Groups, ordered time and refitted members of MultiLabelClassifier."""

import pickle
from itertools import count

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.tree import DecisionTreeClassifier

import xdcc
from xdcc import MultiLabelClassifier, TunedDecisionClassifierCV
from xdcc.automatic.families import families_of, usual_candidates
from xdcc.automatic.search import Search
from xdcc.automatic.shape import Shape
from xdcc.automatic.time_budget import TimeBudget
from xdcc.base.checks import check_fit_data
from xdcc.base.folds import make_folds
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import ThresholdClassifier
from xdcc.decision.out_of_fold import out_of_fold
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels
from xdcc.serving import load_model, save_model

DATA = xdcc.data.make_multilabel(150, n_labels=3, random_state=4)
X, Y = DATA.X[:100], DATA.Y[:100].astype(float)
X_NEW = DATA.X[100:]
TREE = DecisionTreeClassifier(random_state=0)


def _classifier(**params):
    return MultiLabelClassifier(**{"cv": 3, "n_jobs": 1, "random_state": 0, **params})


def _tuned(estimator=TREE, **params):
    return TunedDecisionClassifierCV(estimator, **{"cv": 3, "random_state": 0, **params})


def test_groups_stay_together():
    """Labels that only a row of the same group tells: nothing can be learned across groups."""
    random = np.random.default_rng(0)
    groups = np.arange(120) % 40
    features = random.normal(size=(40, 4))[groups] + 1e-3 * random.normal(size=(120, 4))
    labels = random.integers(0, 2, size=(40, 3))[groups]
    known = _classifier().fit(features, labels)
    assert min(known.summary_["log_loss"]) < 0.3
    for cv in (3, GroupKFold(3), list(GroupKFold(3).split(features, groups=groups))):
        model = _classifier(cv=cv).fit(features, labels, groups=groups)
        assert all(len(set(model.folds_[groups == group])) == 1 for group in range(40))
        assert min(model.summary_["log_loss"]) > 0.6
        tuned = _tuned(cv=cv).fit(features, labels, groups=groups)
        np.testing.assert_array_equal(tuned.folds_, model.folds_)


@pytest.mark.parametrize(
    "estimator",
    [
        MultiLabelXGBClassifier(n_estimators=1, n_jobs=1),
        SketchedExtraTreesClassifier(n_estimators=3, random_state=0, n_jobs=1),
        LogisticLabels(C=1.0, n_jobs=1),
        TREE,
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_no_fold_learns_from_later_rows(estimator):
    """Labels of the last fold's training rows change that fold's model and no other."""
    other = Y.copy()
    other[50:75] = 1 - other[50:75]
    models, margins = [], []
    for labels in (Y, other):
        data = check_fit_data(clone(estimator) if estimator is not TREE else _tuned(), X, labels)
        folds = make_folds(TimeSeriesSplit(3), X, labels, None, data=data, random_state=0)
        found = out_of_fold(estimator, data, folds)
        models.append([np.asarray(each.predict_proba(X_NEW)) for each in found.estimators])
        margins.append(found.margins)
        assert np.isnan(found.margins[:25]).all()
        assert np.isfinite(found.margins[25:]).all()
    for one, two in zip(models[0][:2], models[1][:2], strict=True):
        np.testing.assert_array_equal(one, two)
    assert (models[0][2] != models[1][2]).any()
    np.testing.assert_array_equal(margins[0][25:75], margins[1][25:75])
    assert (margins[0][75:] != margins[1][75:]).any()


@pytest.mark.parametrize(
    "model",
    [_classifier(), _tuned(LogisticLabels(C=1.0)), _tuned(LogisticLabels(C=1.0), calibrate=False)],
)
def test_ordered_time(model, tmp_path):
    model = clone(model).set_params(measure="subset_accuracy", cv=TimeSeriesSplit(3)).fit(X, Y)
    np.testing.assert_array_equal(model.folds_, np.arange(100) // 25 - 1)
    assert np.isnan(model.oof_proba_[:25]).all()
    assert np.isfinite(model.oof_proba_[25:]).all()
    assert 0 <= model.best_score_ <= 1
    assert "joint_labelset" not in model.cv_results_["rule"]
    save_model(model, tmp_path / "model.xdcc")
    for again in (load_model(tmp_path / "model.xdcc"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X_NEW), model.predict_proba(X_NEW))
        np.testing.assert_array_equal(again.folds_, model.folds_)
        np.testing.assert_array_equal(again.oof_proba_, model.oof_proba_)
    # A splitter cannot be stored, and is no longer needed.
    assert load_model(tmp_path / "model.xdcc").cv is None
    assert isinstance(clone(model).cv, TimeSeriesSplit)


def test_labels_of_rows_that_are_not_tested_take_no_part_in_choices():
    """The first third is noise: it would spoil the log-loss, were it counted."""
    labels = Y.copy()
    labels[:25] = np.random.default_rng(0).integers(0, 2, size=(25, 3))
    model = _classifier(cv=TimeSeriesSplit(3)).fit(X, labels)
    tested = np.where(labels == 1, model.oof_proba_, 1 - model.oof_proba_)[25:]
    assert -np.log(tested).mean() == pytest.approx(model.summary_["best_log_loss"][-1], rel=1e-4)


def test_a_label_that_only_varies_before_the_first_fold():
    """A label that varies has no fixed prediction; one that is the same everywhere has."""
    labels = np.column_stack((Y, np.arange(100) < 10, np.ones(100)))
    for make in (_classifier, _tuned):
        model = make(cv=TimeSeriesSplit(3)).fit(X, labels)
        assert np.isnan(model.calibration_.constant.value[3])
        assert model.calibration_.constant.value[4] == 1
        assert np.isfinite(model.predict_proba(X_NEW)).all()
        assert np.isnan(model.oof_proba_[:25]).all()


@pytest.mark.parametrize("cv", [3, TimeSeriesSplit(3)], ids=["folds", "time"])
def test_refit(cv, tmp_path):
    """The mixture, its calibration and the rule stay; each member is trained on all rows."""
    of_folds, model = (_classifier(cv=cv, refit=refit).fit(X, Y) for refit in (False, True))
    names = [member.name for member in model.members_]
    assert names == [member.name for member in of_folds.members_]
    assert model.cv_results_["score"] == of_folds.cv_results_["score"]
    np.testing.assert_array_equal(model.oof_proba_, of_folds.oof_proba_)
    assert [len(member.estimators) for member in model.members_] == [1] * len(names)
    data = check_fit_data(MultiLabelXGBClassifier(), X, Y)
    folds = make_folds(cv, X, Y, None, data=data, random_state=0)
    for number, candidate in enumerate(
        usual_candidates(families_of(None), Shape(100, X.shape[1], 3, X.size, 3))
    ):
        if candidate.name in names:
            found = out_of_fold(candidate.estimator(number, 1), data, folds)
            [refitted] = model.members_[names.index(candidate.name)].estimators
            again = found.unfitted.set_params(random_state=refitted.random_state).fit(X, Y)
            expected = again.predict_proba(X_NEW)
            np.testing.assert_allclose(refitted.predict_proba(X_NEW), expected, atol=1e-6)
    assert (model.predict_proba(X_NEW) != of_folds.predict_proba(X_NEW)).any()
    save_model(model, tmp_path / "model.xdcc")
    loaded = load_model(tmp_path / "model.xdcc")
    np.testing.assert_array_equal(loaded.predict_proba(X_NEW), model.predict_proba(X_NEW))
    assert loaded.refit is True


def test_a_time_budget_leaves_time_to_refit(monkeypatch):
    """Each time the clock is read, a second passes; a refit takes as long as a fold."""
    reserved, reserve = [], TimeBudget.reserve

    def recorded(budget, seconds):
        reserved.append(seconds)
        reserve(budget, seconds)

    monkeypatch.setattr(TimeBudget, "reserve", recorded)
    seconds = count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(seconds)))
    model = _classifier(time_budget=700, refit=True).fit(X, Y)
    table = pd.DataFrame(model.summary_)
    names = [member.name for member in model.members_]
    of_members = table.seconds[table.candidate.isin(names)].sum()
    # A calibration takes two looks, a rule six times as long.
    assert reserved[-2:] == [6 + of_members / 2, 6]
    n_seeds = table[table.share > 0].set_index("candidate").seeds
    assert [len(member.estimators) for member in model.members_] == n_seeds[names].tolist()


def test_time_that_is_left_trains_members_on_all_rows(monkeypatch):
    """As many models as there are folds, with other seeds, if there are enough rows."""
    data = check_fit_data(MultiLabelXGBClassifier(), X, Y)
    monkeypatch.setattr("xdcc.automatic.search._MOST_FAILURES", 2)
    is_of_all = {}
    for least in (len(X) + 1, len(X)):
        monkeypatch.setattr("xdcc.automatic.search._LEAST_ROWS", least)
        of_all = []
        model = _classifier(time_budget=600).fit(X, Y)
        for estimator in model.estimators_:
            [again] = clone(estimator)._fit_with_seeds(data, [estimator.random_state])
            same = np.array_equal(estimator.predict_proba(X_NEW), again.predict_proba(X_NEW))
            of_all.append(same)
        is_of_all[least] = of_all
    assert not any(is_of_all[len(X) + 1])
    assert all(is_of_all[len(X)])
    for member in model.members_:
        is_linear = isinstance(member.estimators[0], LogisticLabels)
        assert len(member.estimators) == (1 if is_linear else 3)
        assert len({each.random_state for each in member.estimators}) == len(member.estimators)


def test_a_budget_that_is_too_short_for_as_many_trains_two(monkeypatch):
    monkeypatch.setattr("xdcc.automatic.search._LEAST_ROWS", len(X))
    monkeypatch.setattr("xdcc.automatic.search._MOST_FAILURES", 2)
    asked = []

    def every_other(budget, seconds):
        asked.append(seconds)
        return len(asked) % 2 == 0

    monkeypatch.setattr(TimeBudget, "reserve_more", every_other)
    model = _classifier(time_budget=600).fit(X, Y)
    for member in model.members_:
        is_linear = isinstance(member.estimators[0], LogisticLabels)
        assert len(member.estimators) == (1 if is_linear else 2)
    # Three folds, then two models of the same members.
    assert asked[-2] == pytest.approx(1.5 * asked[-1])


def test_a_second_level_has_time_however_slow_the_members_were(monkeypatch):
    def learn(budget, candidate, seconds):
        budget._slowness[candidate.kind] = 1e6

    monkeypatch.setattr(TimeBudget, "learn", learn)
    names = _classifier(time_budget=600).fit(X, Y).summary_["candidate"]
    # By its estimate no booster would be begun any more.
    assert len(names) < 5
    assert names[-1] == "second level"


def test_a_second_level_comes_before_models_of_all_rows(monkeypatch):
    kept, train = {}, Search._train

    def spied(search, candidate, *others):
        kept[candidate.name] = search._budget._reserved
        return train(search, candidate, *others)

    monkeypatch.setattr(Search, "_train", spied)
    monkeypatch.setattr(Search, "_seconds_on_all_rows", lambda search, names: 200.0)
    monkeypatch.setattr("xdcc.automatic.search._MOST_FAILURES", 2)
    _classifier(time_budget=600).fit(X, Y)
    assert kept.pop("second level") < 50
    assert max(kept.values()) > 200


def test_two_models_of_all_rows(monkeypatch):
    """By default, unless it costs too much, rows are few, or a row is in no fold."""
    monkeypatch.setattr("xdcc.automatic.search._LEAST_ROWS", len(X))
    of_folds = _classifier(refit=False).fit(X, Y)
    model = _classifier().fit(X, Y)
    assert model.cv_results_["score"] == of_folds.cv_results_["score"]
    for member in model.members_:
        is_linear = isinstance(member.estimators[0], LogisticLabels)
        assert len(member.estimators) == (1 if is_linear else 2)
        assert len({each.random_state for each in member.estimators}) == len(member.estimators)

    def keeps_those_of_folds(**params):
        found = _classifier(**params).fit(X, Y)
        booster = found.members_[0].estimators
        return len(booster) == 3

    assert keeps_those_of_folds(cv=TimeSeriesSplit(3))
    monkeypatch.setattr("xdcc.automatic.search._LEAST_ROWS", len(X) + 1)
    assert keeps_those_of_folds()
    monkeypatch.setattr("xdcc.automatic.search._LEAST_ROWS", len(X))
    monkeypatch.setattr("xdcc.automatic.search._LONGEST_ON_ALL_ROWS", 0)
    assert keeps_those_of_folds()


def test_a_linear_member_is_one_model():
    """A mean of log-odds that are linear is linear."""
    random = np.random.default_rng(0)
    features = random.normal(size=(150, 5))
    margins = features @ random.normal(size=(5, 3))
    model = _classifier().fit(features, margins > random.logistic(size=margins.shape))
    n_models = {member.name: len(member.estimators) for member in model.members_}
    assert n_models.pop("linear") == 1
    assert set(n_models.values()) <= {3}


def test_forms_of_groups():
    groups = np.arange(100) // 10
    frame = pd.DataFrame(X)
    model = _classifier(cv=GroupKFold(2)).fit(frame, pd.DataFrame(Y), groups=pd.Series(groups))
    again = _classifier(cv=2).fit(X, Y, np.ones(100), groups.astype(str).tolist())
    assert set(model.folds_) == set(again.folds_) == {0, 1}


@pytest.mark.parametrize(
    "model",
    [
        _classifier(members=["linear"]),
        _tuned(),
        xdcc.DynamicChainClassifier(n_estimators=2, n_jobs=1),
        xdcc.OrderFreeChainClassifier(TREE, cv=3, n_estimators=5, n_jobs=1),
        ThresholdClassifier(LogisticLabels(C=1.0), method="per_label", min_positive=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_column_of_groups_and_its_values_make_the_same_model(model):
    frame = pd.DataFrame(X).add_prefix("x").assign(day=np.arange(100) // 10)
    found = []
    for groups in ("day", frame["day"].astype(str).tolist(), None):
        fitted = clone(model).fit(frame, Y.astype(int), groups=groups)
        found.append(getattr(fitted, "thresholds_", fitted.predict_proba(frame)))
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()  # other folds
    with pytest.raises(ValueError, match="groups='dy': X has no such column"):
        clone(model).fit(frame, Y.astype(int), groups="dy")
    with pytest.raises(ValueError, match="groups has 2 different values"):
        clone(model).fit(frame, Y.astype(int), groups=np.arange(100) // 50)


@pytest.mark.parametrize(
    ("cv", "groups", "message"),
    [
        (KFold, None, "it must be a whole number at least 2, a splitter with split"),
        ("KFold", None, "cv='KFold'"),
        (2.5, None, "cv=2.5"),
        (ShuffleSplit(2, test_size=0.9, random_state=0), None, "can be tested once at most"),
        (3, np.zeros(100), "3 folds need as many groups, but groups has a single value"),
        (3, np.zeros(99), r"groups has the shape \(99,\); it must be \(100,\)"),
        (3, "day", "groups='day' names a column, but X is a ndarray"),
        (3, [None] * 100, r"groups is missing \(NaN or None\) in 100 rows"),
        ([1, 2], None, "Fold 0 of cv is not a pair"),
    ],
)
@pytest.mark.parametrize("make", [_classifier, _tuned])
def test_bad_input(make, cv, groups, message):
    model = make(cv=cv)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y, groups=groups)
    assert not hasattr(model, "folds_")


def test_values_of_refit():
    with pytest.raises(ValueError, match="refit='yes': it must be 'auto' or True or False"):
        _classifier(refit="yes").fit(X, Y)
