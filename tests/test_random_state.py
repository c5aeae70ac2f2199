"""`random_state` means the same for every estimator: None is the seed 0."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import xdcc
from tests.test_check_estimator import ESTIMATORS

DATA = xdcc.data.make_multilabel(60, n_labels=3, random_state=0)
SEEDED = [estimator for estimator in ESTIMATORS if hasattr(estimator, "random_state")]


def predictions(estimator, seed):
    """Fit an estimator to labels, numbers or classes, whatever it takes, and predict."""
    tags = get_tags(estimator)
    Y = DATA.Y
    if tags.classifier_tags is not None and not tags.classifier_tags.multi_label:
        Y = Y @ [1, 2, 4]
    model = clone(estimator).set_params(random_state=seed).fit(DATA.X, Y)
    predict = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    return predict(DATA.X)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("estimator", SEEDED, ids=str)
def test_none_is_the_seed_0(estimator):
    none, again, zero = (predictions(estimator, seed) for seed in (None, None, 0))
    np.testing.assert_array_equal(none, again)
    np.testing.assert_array_equal(none, zero)


@pytest.mark.parametrize("cls", {type(e): None for e in SEEDED}, ids=lambda cls: cls.__name__)
def test_documentation_says_so(cls):
    described = xdcc.CTBNMixtureClassifier if cls is xdcc.CTBNClassifier else cls
    _, _, text = inspect.getdoc(described).partition("random_state : int, RandomState instance")
    assert "None is the seed 0" in " ".join(text.split("\n\n")[0].split())


def test_every_estimator_is_tested():
    named = {getattr(xdcc, name) for name in xdcc.__all__ if isinstance(getattr(xdcc, name), type)}
    takes_seed = {cls for cls in named if "random_state" in inspect.signature(cls).parameters}
    assert takes_seed <= {type(e) for e in SEEDED}
