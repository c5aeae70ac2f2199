"""Messages about bad parameters: they have the name, the value, and what is allowed.

The tests go over every estimator, so that a new one is held to the same.
"""

import inspect
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

import xdcc
from xdcc.base.booster_estimator import BoosterEstimator
from xdcc.base.booster_parameters import BOOSTER_PARAMS
from xdcc.base.domains import Classifier
from xdcc.base.estimator import MultiLabelEstimator
from xdcc.boosting import MultiLabelXGBClassifier

X, Y = make_multilabel_classification(
    n_samples=40, n_features=4, n_classes=3, n_labels=2, random_state=0
)

CLASSES = {
    name: value
    for name in xdcc.__all__
    if inspect.isclass(value := getattr(xdcc, name)) and issubclass(value, MultiLabelEstimator)
}
NEEDS_ESTIMATOR = {"ThresholdClassifier", "TunedDecisionClassifierCV"}
MADE_OF_ANOTHER = NEEDS_ESTIMATOR | {"DistilledClassifier"}


def make(name: str, **params: Any) -> Any:
    """Make an estimator; `params` may be other names of booster parameters."""
    if name in MADE_OF_ANOTHER:
        params = {"estimator": DecisionTreeClassifier(), **params}
    return CLASSES[name](**params)


def domains(name: str) -> dict[str, Any]:
    """Domain of every parameter of an estimator, booster parameters under all their names."""
    cls = CLASSES[name]
    named = inspect.signature(cls).parameters
    found = {parameter: domain for parameter, domain in cls._domains.items() if parameter in named}
    if issubclass(cls, BoosterEstimator):
        for param in BOOSTER_PARAMS:
            if param.is_known(cls._uses_plugin):
                found |= dict.fromkeys((param.name, *param.other_names), param.domain)
    return found


WHOLE = [
    (name, parameter)
    for name in CLASSES
    for parameter, domain in domains(name).items()
    if "whole number" in str(domain)
]


def test_whole_numbers_are_found() -> None:
    expected = {
        ("BoomerClassifier", "min_coverage"),
        ("RandomDecisionTreeClassifier", "disjunction_size"),
        ("LaCovaCClassifier", "min_samples_split"),
        ("DynamicChainClassifier", "max_leaves"),
        ("BinaryRelevance", "max_depth"),
        ("MultiLabelXGBClassifier", "nthread"),
    }
    assert expected <= set(WHOLE)


@pytest.mark.parametrize("name", sorted({name for name, _ in WHOLE}))
def test_whole_numbers_of_more_than_64_bits(name: str) -> None:
    parameters = [parameter for of, parameter in WHOLE if of == name]
    for parameter, value in product(parameters, (2**63, 2**64, 10**30, -(2**63) - 1)):
        with pytest.raises(ValueError, match=f"^{parameter}={value}: it must be .*in 64 bits"):
            make(name, **{parameter: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "parameter"), [(n, p) for n, p in WHOLE if "2**31" in str(domains(n)[p])]
)
def test_whole_numbers_that_xgboost_cannot_hold(name: str, parameter: str) -> None:
    message = rf"^{parameter}=2147483648: it must be .* below 2\*\*31"
    with pytest.raises(ValueError, match=message):
        make(name, **{parameter: 2**31}).fit(X, Y)


BASES = [
    (name, parameter)
    for name in CLASSES
    for parameter in domains(name)
    if parameter in ("estimator", "base_estimator")
]


def test_every_estimator_with_a_base_learner_is_found() -> None:
    assert {name for name, _ in BASES} == {
        name
        for name, cls in CLASSES.items()
        if {"estimator", "base_estimator"} & set(inspect.signature(cls).parameters)
    }
    assert len(BASES) == 14


@pytest.mark.parametrize(("name", "parameter"), BASES)
def test_no_base_learner(name: str, parameter: str) -> None:
    for value in ("x", LogisticRegression, 3, Ridge(), KMeans(), [LogisticRegression()]):
        given = re.escape(f"{parameter}={value!r}")
        message = f"^{given}: it must be an instance of a classifier with fit and predict_proba"
        with pytest.raises(ValueError, match=message):
            make(name, **{parameter: value}).fit(X, Y)


@pytest.mark.parametrize("name", sorted(NEEDS_ESTIMATOR))
def test_no_base_learner_at_all(name: str) -> None:
    with pytest.raises(ValueError, match=r"^estimator=None: it must be an instance of a"):
        make(name, estimator=None).fit(X, Y)


@pytest.mark.parametrize(("name", "parameter"), BASES)
def test_no_base_learner_in_cross_validation(name: str, parameter: str) -> None:
    """scikit-learn asks for tags before it fits."""
    with pytest.raises(ValueError, match=f"^{parameter}='x': it must be an instance"):
        cross_val_score(make(name, **{parameter: "x"}), X, Y, error_score="raise")


def test_what_is_a_classifier() -> None:
    class Fitted(LogisticRegression):
        fit = property()  # type: ignore[assignment]

    assert Classifier().accepts(LogisticRegression())
    assert not Classifier().accepts(Fitted())
    assert not Classifier().accepts(None)


UNKNOWN = [
    ("example_f2", "Unknown metric function example_f2. Did you mean 'example_f1'?"),
    ("", "Unknown metric function."),
    ("error@x", "unable to parse the threshold value for the error metric."),
    ("ams", "AMS must be in format ams@k."),
    ("example_f1@2", "The metric `example_f1@2` needs a threshold in [0, 1] after the @."),
    ("quantile", "XGBoost cannot evaluate it here."),
]
UNSUITABLE = [
    ("ndcg@5", "Ranking metrics do not support multi-target labels."),
    ("map@3-", "Ranking metrics do not support multi-target labels."),
    ("mlogloss", "`merror` and `mlogloss` do not support multi-target labels."),
    ("aft-nloglik", "XGBoost cannot evaluate it here."),
]


def refusal(metric: Any, **fit_params: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        MultiLabelXGBClassifier(n_estimators=1, eval_metric=metric).fit(X, Y, **fit_params)
    assert type(caught.value) is ValueError  # XGBoost's errors are ValueErrors, too
    return str(caught.value)


@pytest.mark.parametrize("is_measured", [False, True])
@pytest.mark.parametrize(("metric", "reason"), UNKNOWN)
def test_a_metric_that_xgboost_does_not_know(metric: str, reason: str, is_measured: bool) -> None:
    fit_params = {"eval_set": [(X, Y)]} if is_measured else {}
    for given in (metric, ["logloss", metric], ("logloss", metric)):
        message = refusal(given, **fit_params)
        assert message.startswith(f"eval_metric={metric!r}: {reason}")
        assert "Choose from 'example_f1', 'hamming_loss', 'subset_loss'" in message
        assert "\n" not in message


@pytest.mark.parametrize(("metric", "reason"), UNSUITABLE)
def test_a_metric_that_is_not_for_label_matrices(metric: str, reason: str) -> None:
    message = refusal(metric, eval_set=[(X, Y)])
    assert message.startswith(f"eval_metric={metric!r}: {reason}")
    assert "\n" not in message


@pytest.mark.parametrize(
    "value", [len, 3, ["logloss", 3], {"logloss"}, np.array(["logloss"]), b"logloss"], ids=str
)
def test_no_name_of_a_metric(value: object) -> None:
    message = refusal(value)
    assert message.startswith(f"eval_metric={value!r}: it must be a name or a list of names")
    assert "'example_f1'" in message


@pytest.mark.parametrize(
    "metric", ["error@0.3", "auc", "ams@0.15", "rmse", "hamming_loss@0.4", ("logloss", "aucpr"), []]
)
def test_metrics_that_xgboost_knows(metric: Any) -> None:
    model = MultiLabelXGBClassifier(n_estimators=1, eval_metric=metric)
    model.fit(X, Y, eval_set=[(X, Y)])
    expected = metric if isinstance(metric, tuple) else [metric or "logloss"]
    assert list(model.evals_result_["validation_0"]) == list(expected)


def test_a_metric_of_rankings_suits_a_single_label() -> None:
    model = MultiLabelXGBClassifier(n_estimators=1, eval_metric=["ndcg@5", "map@3-"])
    model.fit(X, Y[:, 0], eval_set=[(X, Y[:, 0])])
    assert list(model.evals_result_["validation_0"]) == ["ndcg@5", "map@3-"]
