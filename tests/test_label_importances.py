"""Importances of features for each label, of every estimator that has them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError

import xdcc
from xdcc.boosting.importance import label_gains

random = np.random.default_rng(0)
X = random.normal(size=(300, 5)).astype(np.float32)
Y = (X[:, :3] + 0.3 * random.normal(size=(300, 3)) > 0).astype(int)
"""Label j depends on feature j; two features are noise."""

MODELS = [
    xdcc.MultiLabelXGBClassifier(n_estimators=30, n_jobs=1),
    xdcc.SketchedExtraTreesClassifier(n_estimators=30, random_state=0, n_jobs=1),
    xdcc.LogisticLabels(n_jobs=1),
    xdcc.MultiLabelClassifier(cv=3, n_jobs=1),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_each_label_depends_on_its_feature(model):
    with pytest.raises(NotFittedError):
        _ = xdcc.LogisticLabels().label_importances_
    model.fit(X, Y)
    of_labels = model.label_importances_
    assert of_labels.shape == (3, 5)
    assert (of_labels >= 0).all()
    assert_allclose(of_labels.sum(axis=1), 1)
    assert of_labels.argmax(axis=1).tolist() == [0, 1, 2]
    assert_allclose(model.feature_importances_.sum(), 1)
    assert set(np.argsort(model.feature_importances_)[:2].tolist()) == {3, 4}


def test_a_mixture_averages_its_members():
    model = MODELS[3].fit(X, Y)
    expected = np.zeros((3, 5))
    for member in model.members_:
        for each in member.estimators:
            expected += member.share / len(member.estimators) * each.label_importances_
    assert_allclose(model.label_importances_, expected)


@pytest.mark.parametrize("labels", [Y, Y[:, 0]], ids=["three labels", "one dimension"])
def test_gains_of_a_booster_by_hand(labels):
    """One test of each tree: the variance between its two leaves, weighted by their Hessians."""
    model = xdcc.MultiLabelXGBClassifier(n_estimators=1, max_depth=1, n_jobs=1).fit(X, labels)
    n_labels = model.n_labels_
    feature = int(next(iter(model.booster_.get_score()))[1:])
    margins = model.booster_.inplace_predict(
        X, predict_type="margin", strict_shape=True, validate_features=False
    )
    values, counts = np.unique(margins, axis=0, return_counts=True)
    assert len(values) == 2
    # At equal probabilities every row has the same Hessian.
    start = model.booster_[:0].inplace_predict(X[:1], predict_type="margin", strict_shape=True)
    hessian = 1 / (1 + np.exp(-start)) * (1 - 1 / (1 + np.exp(-start)))
    weight = counts * hessian.mean()
    middle = weight @ values / weight.sum()
    expected = weight @ (values - middle) ** 2
    gains = label_gains(model.booster_, 5, n_labels)
    assert np.flatnonzero(gains.sum(axis=0)).tolist() == [feature]
    assert_allclose(gains[:, feature] / gains.sum(), expected / expected.sum(), rtol=1e-3)


def test_linear_importance_is_the_variance_of_a_term():
    model = xdcc.LogisticLabels(n_jobs=1).fit(10 * X + 3, Y)
    variances = ((10 * X) * model.coef_[:, None, :]).var(axis=1)
    shares = variances / variances.sum(axis=1, keepdims=True)
    assert_allclose(model.label_importances_, shares, rtol=1e-3)


def test_categories_and_missing_values_count_for_their_feature():
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = pd.Categorical(np.where(Y[:, 1] == 1, "yes", "no"))
    frame.loc[Y[:, 2] == 1, "d"] = np.nan
    model = xdcc.LogisticLabels(n_jobs=1).fit(frame, Y)
    assert model.label_importances_.argmax(axis=1).tolist() == [0, 5, 3]
