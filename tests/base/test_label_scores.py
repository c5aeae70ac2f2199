"""Scores of labels from every form in which scikit-learn's classifiers give them."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.label_scores import label_scores

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = (X + 0.3 * RANDOM.normal(size=X.shape) > 0).astype(int)
LOGISTIC = LogisticRegression()


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        MultiOutputClassifier(LOGISTIC),
        make_pipeline(
            StandardScaler(with_mean=False, with_std=False), OneVsRestClassifier(LOGISTIC)
        ),
    ],
    ids=["list of arrays", "one array"],
)
def test_binary_relevance_is_one_logistic_regression_per_label(estimator, n_labels):
    fitted = estimator.fit(X, Y[:, :n_labels])
    expected = [LOGISTIC.fit(X, Y[:, j]).predict_proba(X)[:, 1] for j in range(n_labels)]
    np.testing.assert_allclose(label_scores(fitted, X, n_labels), np.transpose(expected))


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(max_depth=3),
        ClassifierChain(LOGISTIC),
        MLPClassifier((2,), max_iter=500, tol=0.1, random_state=0),
    ],
)
def test_a_score_of_half_divides_what_is_predicted(estimator):
    fitted = estimator.fit(X, Y)
    scores = label_scores(fitted, X, 3)
    assert scores.shape == Y.shape
    clear = scores != 0.5
    np.testing.assert_array_equal((scores > 0.5)[clear], (fitted.predict(X) == 1)[clear])


@pytest.mark.parametrize("estimator", [OneVsRestClassifier(LinearSVC()), RidgeClassifier()])
@pytest.mark.parametrize("n_labels", [1, 3])
def test_decision_function(estimator, n_labels):
    labels = Y[:, 0] if n_labels == 1 else Y
    fitted = estimator.fit(X, labels)
    scores = label_scores(fitted, X, n_labels)
    assert scores.shape == (60, n_labels)
    np.testing.assert_array_equal(scores > 0, fitted.predict(X).reshape(scores.shape))


@pytest.mark.parametrize(("labels", "of_one"), [([0, 0, 1], 1 / 3), ([0, 0, 0], 0), ([1, 1, 1], 1)])
def test_a_single_label_with_one_class_or_two(labels, of_one):
    fitted = DummyClassifier(strategy="prior").fit(X[:3], labels)
    np.testing.assert_allclose(label_scores(fitted, X, 1), np.full((60, 1), of_one))
    both = DummyClassifier(strategy="prior").fit(X[:3], np.column_stack([labels, [0, 1, 0]]))
    np.testing.assert_allclose(label_scores(both, X, 2), [[of_one, 1 / 3]] * 60)


def test_a_classifier_without_scores_is_refused():
    class Stubborn:
        def predict(self, X):
            return np.zeros((len(X), 3))

    with pytest.raises(AttributeError, match="Stubborn has neither predict_proba nor decision"):
        label_scores(Stubborn(), X, 3)


def test_another_number_of_labels_is_refused():
    fitted = DecisionTreeClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=r"shape \(60, 3\); expected \(n_samples, 4\)"):
        label_scores(fitted, X, 4)
