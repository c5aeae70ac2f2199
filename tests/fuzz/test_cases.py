"""Random settings: what the cases cover, and that a broken model is found."""

import itertools
import json
import random

import pytest

from tests.fuzz.cases import DATA, FAMILIES, USE, cases
from tests.fuzz.pairwise import pairwise_cases, random_cases
from tests.fuzz.target import Different
from tests.fuzz.targets import settings
from tests.fuzz.trainers import train
from xdcc.base.booster_parameters import BOOSTER_PARAMS

AXES = {"a": [1, 2, 3], "b": [None, "x"], "c": [0, 1], "d": list("pqrs")}


def pairs(case):
    return set(itertools.combinations(case.items(), 2))


def test_every_two_values_meet_in_few_cases():
    found = list(pairwise_cases(AXES, random.Random(0)))
    every = {
        ((one, x), (other, y))
        for one, other in itertools.combinations(AXES, 2)
        for x in AXES[one]
        for y in AXES[other]
    }
    assert set.union(*map(pairs, found)) == every
    assert len(found) < 20  # of 48 combinations; 3 * 4 of two axes


def test_values_that_do_not_go_together_are_settled():
    def settle(values):
        return values | {"b": None} if values["a"] == 2 else values

    for case in (
        *pairwise_cases(AXES, random.Random(0), settle),
        *itertools.islice(random_cases(AXES, random.Random(0), settle), 50),
    ):
        assert (case["a"], case["b"]) != (2, "x")


def test_cases_are_data_that_follow_from_the_seed():
    first, again, other = (list(itertools.islice(cases(seed), 200)) for seed in (1, 1, 2))
    assert first == again or repr(first) == repr(again)  # some are NaN
    assert repr(first) != repr(other)
    assert repr(json.loads(json.dumps(first))) == repr(first)


def test_the_run_of_ci_has_cases_of_every_model_and_enough_with_three_threads():
    found = list(itertools.islice(cases(62), 1200))
    assert {case["model"] for case in found} >= FAMILIES.keys() - {"MultiLabelClassifier"}
    assert sum(case["n_jobs"] >= 3 for case in found) >= 500


def test_names_of_axes_are_different():
    for family in FAMILIES.values():
        axes = [*USE, *family.data, *family.params]
        assert len(axes) == len(set(axes))
        assert family.data.keys() == DATA.keys()


def test_every_parameter_of_the_booster_is_varied():
    known = {param.name for param in BOOSTER_PARAMS} - {"random_state", "n_jobs", "verbosity"}
    assert known <= FAMILIES["MultiLabelXGBClassifier"].params.keys()


CASE = {
    "model": "labels",
    "seed": 1,
    "n_jobs": 2,
    "where": "here",
    "data": {"rows": 64, "features": 2, "outputs": 3, "X": "dense", "Y": "usual"},
    "params": {"objective": "multilabel:logistic", "num_boost_round": 1, "matrix": "DMatrix"},
}


@pytest.mark.parametrize("where", USE["where"])
def test_a_model_that_depends_on_threads_is_found(where, monkeypatch):
    def depends(case, n_jobs):
        return train(case | {"seed": 1 + (n_jobs > 1)}, n_jobs)

    settings.attempt(CASE | {"where": where})
    monkeypatch.setattr(settings, "train", depends)
    with pytest.raises(Different, match="models differ between numbers of threads"):
        settings.attempt(CASE | {"where": where})


def test_a_refusal_that_depends_on_threads_is_found(monkeypatch):
    def depends(case, n_jobs):
        if n_jobs > 1:
            raise ValueError("too many")
        return train(case, n_jobs)

    monkeypatch.setattr(settings, "train", depends)
    with pytest.raises(Different, match=r"2 threads: ValueError\('too many'\), one: Trained"):
        settings.attempt(CASE)


@pytest.mark.parametrize("export", ["compiled", "stock", "treelite", "onnx"])
def test_an_export_that_predicts_differently_is_found(export, monkeypatch):
    estimated = {"n_estimators": 2, "max_depth": 2}
    case = CASE | {"model": "MultiLabelXGBClassifier", "params": estimated, "export": export}
    settings.attempt(case)
    monkeypatch.setattr(settings, "_compare_values", lambda *_: pytest.fail("compared"))
    with pytest.raises(pytest.fail.Exception, match="compared"):
        settings.attempt(case)
