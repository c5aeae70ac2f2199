"""`to_json` and `from_json`: values come back with their kinds, through real JSON."""

import json

import numpy as np
import pytest
import xgboost as xgb

from xdcc.chain.propagation import PropagationRule
from xdcc.serving.estimator_state import from_json, to_json


def _through_json(value):
    return from_json(json.loads(json.dumps(to_json(value, [], "x"), allow_nan=False)), [])


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        2**70,
        0.1,
        "größe\n\ud83d",
        [],
        [1, [2.5, None]],
        {},
        {"a": 1, 2: {None: []}, True: "b"},
        PropagationRule("open", "certainty", 2),
        {"float": "nan"},
    ],
    ids=repr,
)
def test_values(value):
    back = _through_json(value)
    assert type(back) is type(value)
    assert back == value


@pytest.mark.parametrize(
    "value",
    [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3), dtype=np.float32),
        np.array([np.nan, -np.inf, 1e-45, 0.1], dtype=np.float32),
        np.array([[True], [False]]),
        np.array(["a", "größe"]),
        np.array(["a", 1, 2.5, None, True], dtype=object),
        np.array(7),
    ],
    ids=repr,
)
def test_arrays(value):
    back = _through_json(value)
    assert (back.dtype, back.shape) == (value.dtype, value.shape)
    np.testing.assert_array_equal(back, value)
    assert [type(v) for v in back.ravel()] == [type(v) for v in value.ravel()]


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_json_lacks(number):
    np.testing.assert_equal(_through_json([number]), [number])


@pytest.mark.parametrize(
    ("value", "plain"),
    [((1, 2), [1, 2]), (np.float32(0.5), 0.5), (np.int8(3), 3), (np.True_, True)],
)
def test_what_becomes_plain(value, plain):
    back = _through_json(value)
    assert type(back) is type(plain)
    assert back == plain


def test_boosters_are_numbered():
    boosters, kept = [xgb.Booster(), xgb.Booster()], []
    state = to_json([boosters[:1], [boosters[1]]], kept, "x")
    assert state == [[{"booster": 0}], [{"booster": 1}]]
    assert kept == boosters
    assert from_json(state, boosters) == [boosters[:1], [boosters[1]]]


@pytest.mark.parametrize("value", [object(), {1, 2}, b"a", np.array([1j]), [{"a": lambda: 1}]])
def test_what_has_no_form(value):
    with pytest.raises(TypeError, match=r"here holds .*, which a model file has no form for"):
        to_json(value, [], "here")


def test_an_unknown_kind():
    with pytest.raises(ValueError, match="no kind of value is called 'set'"):
        from_json({"set": [1]}, [])
