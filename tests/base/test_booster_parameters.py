"""Booster parameters on their way from an estimator to `xgboost.train`."""

import re

import numpy as np
import pytest

from xdcc.base.booster_parameters import (
    PARAM_BY_NAME,
    seed_from,
    split_method_name,
    to_native,
)
from xdcc.baselines import BinaryRelevance
from xdcc.boosting import (
    BOOSTER_PARAMS,
    SPLIT_METHOD_NUMBERS,
    SPLIT_METHODS,
    MultiLabelXGBClassifier,
)

DEFAULTS = {"learning_rate": 0.3, "reg_lambda": 1.0}


def _native(given: dict, *, plugin: bool = True) -> dict:
    return to_native(DEFAULTS, given, defaults=DEFAULTS, plugin=plugin)


def test_native_names_and_plain_values() -> None:
    native = _native({"reg_alpha": np.float64(0.5), "base_score": np.array([0.5, 0.25])})
    assert native == {"eta": 0.3, "lambda": 1.0, "alpha": 0.5, "base_score": [0.5, 0.25]}
    assert type(native["alpha"]) is float
    assert [type(score) for score in native["base_score"]] == [float, float]


def test_none_leaves_the_default_to_xgboost() -> None:
    assert _native({"eta": None, "gamma": None}) == {"lambda": 1.0}


def test_another_name_replaces_a_default_but_not_a_given_value() -> None:
    assert _native({"lambda": 2})["lambda"] == 2
    with pytest.raises(ValueError, match="reg_lambda and lambda are the same parameter"):
        to_native({"reg_lambda": 3.0}, {"lambda": 2}, defaults=DEFAULTS, plugin=True)


def test_two_other_names() -> None:
    with pytest.raises(ValueError, match="gamma and min_split_loss are the same parameter"):
        _native({"gamma": 1, "min_split_loss": 1})


def test_error_names_the_parameter_as_it_was_spelled() -> None:
    with pytest.raises(ValueError, match=r"^min_split_loss=-1: it has to be a number at least 0"):
        _native({"min_split_loss": -1})


@pytest.mark.parametrize("name", ["split_method", "min_child_weight_scope"])
def test_stock_xgboost_does_not_know_the_plugins_parameters(name: str) -> None:
    with pytest.raises(ValueError, match=f"Unknown booster parameter '{name}'"):
        _native({name: "any"}, plugin=False)
    assert PARAM_BY_NAME[name].plugin_only


def test_split_methods_by_the_numbers_of_the_authors() -> None:
    assert {n: split_method_name(n) for n in range(1, 7)} == dict(SPLIT_METHOD_NUMBERS)
    assert split_method_name(np.int64(3)) == "sumGain"
    assert [split_method_name(name) for name in SPLIT_METHODS] == list(SPLIT_METHODS)
    assert _native({"split_method": 1})["split_method"] == "maxGain"


@pytest.mark.parametrize("split_method", ["sumgain", 0, 7, True, 1.0, None])
def test_unknown_split_method(split_method: object) -> None:
    with pytest.raises(ValueError, match=r"split_method=.*one of 'sumGain'.*'maxAbsG', 1.*6"):
        split_method_name(split_method)


def test_seeds() -> None:
    assert seed_from(None) is None
    assert seed_from(np.int32(7)) == 7
    generator = np.random.RandomState(0)
    assert seed_from(generator) != seed_from(generator)
    assert seed_from(np.random.RandomState(0)) == seed_from(np.random.RandomState(0))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("device", "cuda", "trees are grown on processors"),
        ("device", "cpu", "trees are grown on processors"),
        ("multi_strategy", "one_output_per_tree", "the estimator itself says"),
        ("tree_method", "exact", "trees are grown from histograms"),
    ],
)
@pytest.mark.parametrize("plugin", [True, False])
def test_what_no_estimator_can_choose(name: str, value: str, reason: str, plugin: bool) -> None:
    with pytest.raises(ValueError, match=f"^{name}='{value}' cannot be set: {reason}"):
        _native({name: value}, plugin=plugin)


@pytest.mark.parametrize("plugin", [True, False])
def test_monotone_constraints(plugin: bool) -> None:
    constraints = {"f": 1}
    native = _native({"monotone_constraints": constraints}, plugin=plugin)
    assert native["monotone_constraints"] == constraints
    assert "monotone_constraints" not in _native({"monotone_constraints": None}, plugin=plugin)


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, {}), (-1, {}), (3, {"nthread": 3}), (np.int64(2), {"nthread": 2})],
)
def test_threads(n_jobs: object, expected: dict) -> None:
    native = _native({"n_jobs": n_jobs})
    assert {name: value for name, value in native.items() if name == "nthread"} == expected


@pytest.mark.parametrize("n_jobs", [0, -2, 1.0, True, 10**6, "all"])
@pytest.mark.parametrize("name", ["n_jobs", "nthread"])
def test_bad_threads(name: str, n_jobs: object) -> None:
    with pytest.raises(ValueError, match=f"^{name}=.* whole number from 1 to .*None or -1 for all"):
        _native({name: n_jobs})


def test_largest_seed() -> None:
    assert _native({"random_state": 2**32 - 1})["seed"] == 2**32 - 1
    with pytest.raises(ValueError, match=r"random_state=4294967296: .* below 2\*\*32"):
        _native({"random_state": 2**32})


def test_no_name_belongs_to_two_parameters() -> None:
    names = [name for p in BOOSTER_PARAMS for name in {p.name, *p.other_names}]
    assert len(names) == len(set(names))


def _documents(estimator: type, name: str) -> bool:
    # Indentation differs: Python 3.13 takes it off docstrings.
    return (
        re.search(rf"^\s*({name} :|\* `{name}`)", estimator.__doc__ or "", re.MULTILINE) is not None
    )


def test_every_parameter_is_documented_where_it_can_be_given() -> None:
    for param in BOOSTER_PARAMS:
        assert _documents(MultiLabelXGBClassifier, param.name)
        assert _documents(BinaryRelevance, param.name) != param.plugin_only
    assert "{booster_params}" not in MultiLabelXGBClassifier.__doc__
