"""xdcc.scoring: scorers equal the metrics, in all uses of scikit-learn."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from xdcc import metrics
from xdcc.base.labels import label_scores
from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.scoring import get_scorer, scorer_names

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(90, 4))
Y = (X[:, :3] + X[:, 1:] + 0.5 * RANDOM.normal(size=(90, 3)) > 0.3).astype(int)
UNKNOWN = np.where(RANDOM.random(Y.shape) < 0.2, np.nan, Y)
WEIGHT = RANDOM.integers(1, 4, size=90)

PROBABILITIES = ["neg_log_loss", "neg_brier_score"]
RANKINGS = [
    "label_ranking_average_precision",
    "macro_average_precision",
    "micro_average_precision",
    "macro_roc_auc",
    "micro_roc_auc",
    "neg_coverage_error",
    "neg_label_ranking_loss",
    "neg_one_error",
]
AT_K = ["precision_at_1", "precision_at_2", "ndcg_at_2", "ndcg_at_3"]
OF_SCORES = [*RANKINGS, *PROBABILITIES, *AT_K]
OF_LABELS = [name for name in scorer_names() if name not in OF_SCORES]
NAMES = [*scorer_names(), *AT_K]


class Told(ClassifierMixin, BaseEstimator):
    """Predicts given values for any X."""

    def __init__(self, labels=None, proba=None):
        self.labels = labels
        self.proba = proba

    def fit(self, X, Y):
        self.classes_ = [np.array([0, 1])] * 3
        return self

    def predict(self, X):
        return self.labels

    def predict_proba(self, X):
        return self.proba


PROBA = RANDOM.random(Y.shape).round(1)
TOLD = Told((PROBA >= 0.5).astype(int), PROBA).fit(X, Y)


def measure_of(name):
    if name in AT_K:
        metric, _, k = name.partition("_at_")
        return partial(getattr(metrics, f"{metric}_at_k"), k=int(k))
    function = name.removeprefix("neg_")
    return getattr(metrics, function, None) or getattr(metrics, f"{function}_score")


def test_every_metric_has_a_scorer():
    measures = set(metrics.__all__) - {"evaluate", "report", "precision_at_k", "ndcg_at_k"}
    assert {measure_of(name).__name__ for name in scorer_names()} == measures
    assert len(scorer_names()) == len(measures)
    assert {*RANKINGS, *PROBABILITIES} < set(scorer_names())


@pytest.mark.parametrize("name", NAMES)
def test_scorer_equals_the_metric_of_known_labels(name):
    sign = -1 if name.startswith("neg_") else 1
    predicted = TOLD.proba if name in OF_SCORES else TOLD.labels
    for truth in (Y, UNKNOWN, sparse.csr_array(Y), UNKNOWN.tolist()):
        expected = sign * measure_of(name)(truth, predicted)
        assert get_scorer(name)(TOLD, X, truth) == expected
    weighted = sign * measure_of(name)(UNKNOWN, predicted, sample_weight=WEIGHT)
    assert get_scorer(name)(TOLD, X, UNKNOWN, sample_weight=WEIGHT) == weighted
    flipped = Told(np.where(np.isnan(UNKNOWN), 1 - TOLD.labels, TOLD.labels), TOLD.proba).fit(X, Y)
    assert get_scorer(name)(flipped, X, UNKNOWN) == get_scorer(name)(TOLD, X, UNKNOWN)


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_scores_highest(name):
    right, wrong = Told(Y, Y / 1.0).fit(X, Y), Told(1 - Y, 1.0 - Y).fit(X, Y)
    scorer = get_scorer(name)
    assert scorer(right, X, Y) > scorer(TOLD, X, Y) > scorer(wrong, X, Y)


def test_options_of_the_metric():
    never = Told(np.zeros_like(Y), PROBA).fit(X, Y)
    assert get_scorer("macro_precision")(never, X, Y) == 0
    assert get_scorer("macro_precision", zero_division=1)(never, X, Y) == 1


@pytest.mark.parametrize("name", OF_LABELS)
@pytest.mark.parametrize("threshold", [0.3, [0.3, 0.5, 0.9]])
def test_thresholds_apply_to_probabilities(name, threshold):
    scorer = get_scorer(name, threshold=threshold)
    sign = -1 if name.startswith("neg_") else 1
    expected = sign * measure_of(name)(UNKNOWN, np.array(threshold) <= PROBA)
    assert scorer(TOLD, X, UNKNOWN) == expected


def test_a_threshold_on_a_decision_function():
    ridge = RidgeClassifier().fit(X, Y)
    expected = metrics.micro_f1(Y, ridge.decision_function(X) >= -0.2)
    assert get_scorer("micro_f1", threshold=-0.2)(ridge, X, Y) == expected


def test_log_loss_needs_probabilities():
    ridge = RidgeClassifier().fit(X, Y)
    for name in PROBABILITIES:
        with pytest.raises(ValueError, match=r"Y_proba\[.*must be from 0 to 1"):
            get_scorer(name)(ridge, X, Y)


@pytest.mark.parametrize("name", [*RANKINGS, *AT_K])
@pytest.mark.parametrize(
    "estimator",
    [
        LaCovaCClassifier(),
        DecisionTreeClassifier(max_depth=3),
        MultiOutputClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), RidgeClassifier()),
    ],
    ids=["array", "list of the tree", "list of one per label", "decision function"],
)
def test_ranking_metrics_take_all_formats_of_scores(name, estimator):
    fitted = estimator.fit(X, Y)
    sign = -1 if name.startswith("neg_") else 1
    expected = sign * measure_of(name)(Y, label_scores(fitted, X, 3))
    assert get_scorer(name)(fitted, X, Y) == expected


def test_one_label_in_a_column():
    one = Y[:, [0]]
    binary = LogisticRegression().fit(X, one.ravel())
    assert get_scorer("hamming_accuracy")(binary, X, one) == binary.score(X, one.ravel())
    certain = binary.predict_proba(X)[:, [1]] >= 0.7
    expected = metrics.micro_f1(one, certain)
    assert get_scorer("micro_f1", threshold=0.7)(binary, X, one) == expected
    tree = LaCovaCClassifier().fit(X, one)
    expected = metrics.micro_f1(one, np.reshape(tree.predict(X), (-1, 1)))
    assert get_scorer("micro_f1")(tree, X, one) == expected


def test_grid_search_chooses_by_the_scorer():
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 3]},
        scoring={name: get_scorer(name) for name in scorer_names()},
        refit="neg_coverage_error",
        cv=KFold(3),
    ).fit(X, Y)
    for name in scorer_names():
        scores = search.cv_results_[f"mean_test_{name}"]
        assert np.isfinite(scores).all()
        assert (scores <= 0).all() == name.startswith("neg_")
    assert search.best_params_ == {"max_depth": 3}
    assert get_scorer("neg_one_error")(search, X, Y) > -0.5


def test_cross_validation_with_unknown_labels():
    class Frequencies(Told):
        def fit(self, X, Y):
            self.shares = np.nanmean(Y, axis=0)
            return super().fit(X, Y)

        def predict_proba(self, X):
            return np.tile(self.shares, (len(X), 1))

    scorer = get_scorer("neg_label_ranking_loss")
    folds = list(KFold(3).split(X))
    scores = cross_val_score(Frequencies(), X, UNKNOWN, scoring=scorer, cv=folds)
    assert len(set(scores)) > 1
    for score, (train, test) in zip(scores, folds, strict=True):
        proba = np.tile(np.nanmean(UNKNOWN[train], axis=0), (len(test), 1))
        assert score == -metrics.label_ranking_loss(UNKNOWN[test], proba)


def test_weights_are_routed_when_requested():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    options = {"cv": KFold(3), "params": {"sample_weight": WEIGHT}}
    with sklearn.config_context(enable_metadata_routing=True):
        tree.set_fit_request(sample_weight=False)
        scorer = get_scorer("example_f1")
        with pytest.raises(ValueError, match="sample_weight"):
            cross_validate(tree, X, Y, scoring=scorer, **options)
        scorer.set_score_request(sample_weight=True)
        # GridSearchCV and similar estimators clone their input.
        scorer = clone(scorer, safe=False)
        weighted = cross_validate(tree, X, Y, scoring=scorer, **options)["test_score"]
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        predicted = tree.fit(X[train], Y[train]).predict(X[test])
        weight = WEIGHT[test]
        assert weighted[fold] == metrics.example_f1(Y[test], predicted, sample_weight=weight)
        assert weighted[fold] != metrics.example_f1(Y[test], predicted)


@pytest.mark.parametrize("name", ["micro_f1", "neg_hamming_loss", "neg_label_ranking_loss"])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda tree: tree,
        lambda tree: make_pipeline(StandardScaler(), tree),
        lambda tree: GridSearchCV(
            tree, {"min_samples_leaf": [5]}, cv=KFold(2), scoring=get_scorer("example_f1")
        ),
    ],
    ids=["estimator", "pipeline", "search"],
)
def test_columns_of_Y_are_matched_by_name(name, wrap):
    frame = pd.DataFrame(Y, columns=["red", "green", "blue"])
    fitted = wrap(LaCovaCClassifier()).fit(X, frame)
    expected = get_scorer(name)(fitted, X, Y)
    turned = frame[["blue", "red", "green"]]
    assert get_scorer(name)(fitted, X, turned) == pytest.approx(expected)
    assert get_scorer(name)(fitted, X, turned.to_numpy()) != pytest.approx(expected)
    with pytest.raises(ValueError, match="missing: 'black'; unexpected: 'blue'"):
        get_scorer(name)(fitted, X, frame.rename(columns={"blue": "black"}))


def test_labels_without_names_are_matched_by_position():
    fitted = LaCovaCClassifier().fit(X, Y)
    frame = pd.DataFrame(Y, columns=["red", "green", "blue"])
    scorer = get_scorer("example_f1")
    assert scorer(fitted, X, frame) == scorer(fitted, X, Y)


@pytest.mark.parametrize("name", ["example_f1", "neg_one_error"])
def test_scorers_are_pickled_and_cloned(name):
    options = {"threshold": 0.4, "zero_division": 0} if name == "example_f1" else {}
    scorer = get_scorer(name, **options)
    for copy in (pickle.loads(pickle.dumps(scorer)), clone(scorer, safe=False)):
        assert copy(TOLD, X, Y) == scorer(TOLD, X, Y)
        assert repr(copy) == repr(scorer)
    assert eval(repr(scorer))(TOLD, X, Y) == scorer(TOLD, X, Y)


@pytest.mark.parametrize("name", ["f1", "hamming_loss", "precision_at_0", "ndcg_at_x", None])
def test_unknown_names_are_rejected(name):
    with pytest.raises(
        ValueError, match=rf"name is {name!r}; it must be one of .* neg_brier_score, precision_at_3"
    ):
        get_scorer(name)


@pytest.mark.parametrize("name", OF_SCORES)
def test_metrics_of_scores_have_no_threshold(name):
    with pytest.raises(ValueError, match=f"threshold is 0.5, but {name} is a metric of scores"):
        get_scorer(name, threshold=0.5)


@pytest.mark.parametrize("name", ["example_f1", "neg_one_error"])
@pytest.mark.parametrize(
    ("Y_bad", "message"),
    [
        (Y[:, 0], r"Y has the shape \(90,\); it must be \(n_samples, n_labels\)"),
        (Y[:50], r"same shape .*got \(50, 3\) and \(90, 3\)"),
        (2 * Y, r"Y_true\[\d+, \d\] is 2, must be 0, 1 or NaN"),
    ],
)
def test_invalid_labels_are_rejected(name, Y_bad, message):
    with pytest.raises(ValueError, match=message):
        get_scorer(name)(TOLD, X, Y_bad)


def test_option_that_the_metric_does_not_have():
    with pytest.raises(TypeError, match="average"):
        get_scorer("micro_f1", average="macro")(TOLD, X, Y)
