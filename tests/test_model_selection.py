"""The stratified splitter for label matrices."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.tree import DecisionTreeClassifier

import xdcc
from xdcc import metrics
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.comparators.baselines import (
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfChains,
    LabelPowerset,
)
from xdcc.comparators.boomer import BoomerClassifier
from xdcc.comparators.ctbn import CTBNClassifier, CTBNMixtureClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.comparators.rdt import RandomDecisionTreeClassifier
from xdcc.decision import ThresholdClassifier, TunedDecisionClassifierCV
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.model_selection import LabelStratifiedKFold


def some_labels(n_rows=200, n_labels=4, unknown=0.0, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_rows, n_labels)) < [0.5, 0.2, 0.1, 0.05][:n_labels]).astype(float)
    Y[rng.random(Y.shape) < unknown] = np.nan
    return Y


@settings(max_examples=25, deadline=None)
@given(
    n_rows=st.integers(2, 60),
    n_splits=st.integers(2, 6),
    unknown=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_row_is_tested_once(n_rows, n_splits, unknown, seed):
    n_splits = min(n_splits, n_rows)
    Y = some_labels(n_rows, unknown=unknown, seed=seed)
    splits = list(LabelStratifiedKFold(n_splits, random_state=seed).split(np.zeros(n_rows), Y))
    assert len(splits) == n_splits
    assert np.sort(np.concatenate([test for _, test in splits])).tolist() == list(range(n_rows))
    for train, test in splits:
        assert np.sort(np.concatenate((train, test))).tolist() == list(range(n_rows))


def test_labels_are_as_frequent_in_every_fold():
    Y = some_labels(400)
    for _, test in LabelStratifiedKFold(4, random_state=1).split(Y, Y):
        assert Y[test].sum(axis=0) == pytest.approx(Y.sum(axis=0) / 4, abs=2)


def test_known_labels_are_spread_present_and_absent_ones():
    Y = some_labels(400, unknown=0.9)
    for _, test in LabelStratifiedKFold(4, random_state=1).split(Y, Y):
        for value in (0, 1):
            count = (value == Y).sum(axis=0)
            assert (Y[test] == value).sum(axis=0) == pytest.approx(count / 4, abs=4)


@pytest.mark.parametrize(
    "make",
    [
        sparse.csr_matrix,
        pd.DataFrame,
        lambda Y: Y.tolist(),
    ],
)
def test_forms_of_y(make):
    Y = some_labels(30)
    cv = LabelStratifiedKFold(3)
    for one, other in zip(cv.split(Y, Y), cv.split(Y, make(Y)), strict=True):
        assert one[1].tolist() == other[1].tolist()


def test_a_binary_target():
    y = np.array(["no"] * 20 + ["yes"] * 10)
    for _, test in LabelStratifiedKFold(5).split(y, y):
        assert (y[test] == "yes").sum() == 2


def test_seeds():
    Y = some_labels(60)

    def tests(**params):
        return [test.tolist() for _, test in LabelStratifiedKFold(3, **params).split(Y, Y)]

    assert tests(random_state=1) == tests(random_state=1) != tests(random_state=2)
    assert tests() == tests(random_state=0)
    random = np.random.RandomState(0)
    assert tests(random_state=random) != tests(random_state=random)


def test_cross_validation_with_unknown_labels():
    data = xdcc.data.make_multilabel(120, n_labels=3, unknown=0.3, random_state=0)
    model, cv = xdcc.LogisticLabels(C=1.0), LabelStratifiedKFold(3, random_state=0)
    scores = cross_val_score(model, data.X, data.Y, cv=cv, error_score="raise")
    assert scores.shape == (3,)
    assert (scores > 0.3).all()
    search = GridSearchCV(model, {"C": [1e-3, 1.0]}, cv=cv, error_score="raise")
    assert search.fit(data.X, data.Y).best_params_ == {"C": 1.0}
    known = np.nan_to_num(data.Y)
    assert cross_val_predict(model, data.X, known, cv=cv).shape == known.shape
    # scikit-learn's own splitter takes such labels, but does not look at them.
    assert len(list(KFold(3).split(data.X, data.Y))) == 3


_BOOSTER = MultiLabelXGBClassifier(n_estimators=3, n_jobs=1)
TAKE_UNKNOWN_LABELS = [
    _BOOSTER,
    xdcc.MultiLabelClassifier(cv=2, n_jobs=1),
    DynamicChainClassifier(n_estimators=2, n_jobs=1),
    OrderFreeChainClassifier(_BOOSTER, n_estimators=3, cv=2, n_jobs=1),
    TunedDecisionClassifierCV(_BOOSTER, cv=2),
    TunedDecisionClassifierCV(BinaryRelevance(n_estimators=2, n_jobs=1), cv=2),
    ThresholdClassifier(_BOOSTER, cv=2),
    xdcc.LogisticLabels(n_jobs=1),
    SketchedExtraTreesClassifier(n_estimators=5, random_state=0, n_jobs=1),
    BinaryRelevance(estimator=DecisionTreeClassifier(max_depth=3, random_state=0)),
    BinaryRelevance(n_estimators=2, n_jobs=1),
    ClassifierChain(n_estimators=2, n_jobs=1),
    CTBNClassifier(C=1.0, n_jobs=1, random_state=0),
    CTBNMixtureClassifier(max_components=2, C=1.0, n_jobs=1, random_state=0),
]
REFUSE_UNKNOWN_LABELS = [
    RandomDecisionTreeClassifier(n_estimators=3, n_jobs=1),
    BoomerClassifier(n_rules=5, n_jobs=1),
    LaCovaCClassifier(n_jobs=1),
    LabelPowerset(random_state=0),
    EnsembleOfChains(n_estimators=2, random_state=0),
]


def _name(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", TAKE_UNKNOWN_LABELS, ids=_name)
@pytest.mark.parametrize("scoring", [None, make_scorer(metrics.example_f1)], ids=["score", "f1"])
def test_every_estimator_that_takes_unknown_labels(estimator, scoring):
    data = xdcc.data.make_multilabel(120, n_labels=3, unknown=0.2, random_state=0)
    assert np.isnan(data.Y).any()
    cv = LabelStratifiedKFold(3, random_state=0)
    scores = cross_val_score(estimator, data.X, data.Y, cv=cv, scoring=scoring, error_score="raise")
    assert scores.shape == (3,)
    assert ((scores > 0) & (scores < 1)).all()


@pytest.mark.parametrize("estimator", REFUSE_UNKNOWN_LABELS, ids=_name)
def test_the_others_say_that_they_do_not(estimator):
    data = xdcc.data.make_multilabel(60, n_labels=3, unknown=0.2, random_state=0)
    with pytest.raises(ValueError, match="unknown"):
        cross_val_score(estimator, data.X, data.Y, cv=LabelStratifiedKFold(3), error_score="raise")


@pytest.mark.parametrize("make", [xdcc.MultiLabelClassifier, TunedDecisionClassifierCV])
def test_as_folds_of_an_estimator(make):
    data = xdcc.data.make_multilabel(90, n_labels=3, unknown=0.2, random_state=0)
    arguments = () if make is xdcc.MultiLabelClassifier else (_BOOSTER,)
    cv = LabelStratifiedKFold(3, random_state=1)
    model = make(*arguments, cv=cv, n_jobs=1).fit(data.X, data.Y)
    for fold, (_, test) in enumerate(cv.split(data.X, data.Y)):
        np.testing.assert_array_equal(np.flatnonzero(model.folds_ == fold), test)


def test_it_prints_its_parameters():
    assert repr(LabelStratifiedKFold(3)) == "LabelStratifiedKFold(n_splits=3, random_state=None)"
    assert clone(LabelStratifiedKFold(4), safe=False).get_n_splits() == 4


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_splits": 1}, "n_splits=1: it must be"),
        ({"n_splits": 2.5}, "n_splits=2.5: it must be"),
        ({"n_splits": "5"}, "n_splits='5': it must be"),
        ({"random_state": "x"}, "random_state='x': it must be"),
        ({"n_splits": 31}, "31 folds need as many rows, but n_samples=30"),
    ],
)
def test_bad_parameters(params, message):
    Y = some_labels(30)
    with pytest.raises(ValueError, match=message):
        list(LabelStratifiedKFold(**params).split(Y, Y))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        (np.full((30, 2), 2), "Y holds 2 in row 0"),
        (np.zeros((29, 2)), "inconsistent numbers of samples"),
        (np.arange(30) % 3, "Only binary classification is supported"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        list(LabelStratifiedKFold().split(np.zeros((30, 1)), y))
