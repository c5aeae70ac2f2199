"""`take_apart` and `put_together`: values keep their types through JSON.

`StoredClass`: objects are taken apart and made again, and what does not fit is refused.
"""

import json
from typing import NamedTuple, get_args

import numpy as np
import pytest
import xgboost as xgb
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from xdcc.base.output_form import LabelForm
from xdcc.base.stored import stored, stored_class
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.chain.propagation import PropagationRule
from xdcc.decision import KnownLabelsets, ThresholdClassifier
from xdcc.decision.rules import LabelWise
from xdcc.serving.estimator_state import State, put_together, take_apart


def _holding(value):
    """Put a value where anything is allowed: an argument of an estimator."""
    return ThresholdClassifier(None, threshold=value)


def _through_json(value):
    state = take_apart(_holding(value))
    objects = json.loads(json.dumps(state.objects, allow_nan=False))
    return put_together(State(objects, state.arrays, state.boosters)).threshold


def _put_together(value, arrays=(), boosters=()):
    [entry] = take_apart(_holding(None)).objects
    entry["attributes"]["threshold"] = value
    return put_together(State([entry], arrays, boosters)).threshold


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
        (),
        (1, (2.5, ["a"])),
        {},
        {"a": 1, 2: {None: []}, True: "b", (1, 2): 3},
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
        np.array(["2026-11-21"], dtype="datetime64[D]"),
        np.array(["a", 1, 2.5, None, True, (1, "b")], dtype=object),
        np.array([["a", None]], dtype=object).T,
        np.array([], dtype=object),
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
    [
        (np.float32(0.5), 0.5),
        (np.int8(3), 3),
        (np.True_, True),
        (np.random.RandomState(3), None),
    ],
    ids=["float32", "int8", "bool", "RandomState"],
)
def test_values_that_become_plain(value, plain):
    back = _through_json(value)
    assert type(back) is type(plain)
    assert back == plain


def test_identity_is_kept():
    array, booster, inner = np.arange(3), xgb.Booster(), MultiLabelXGBClassifier()
    state = take_apart(_holding([array, booster, inner, [inner, booster, array]]))
    assert (len(state.arrays), len(state.boosters), len(state.objects)) == (1, 1, 2)
    one_array, one_booster, one_inner, others = put_together(state).threshold
    assert [one_inner, one_booster, one_array] == others


@pytest.mark.parametrize("value", [object(), {1, 2}, b"a", np.array([1j]), [{"a": lambda: 1}]])
def test_values_that_cannot_be_stored(value):
    with pytest.raises(TypeError, match=r"threshold holds .*, which a model file cannot store"):
        take_apart(_holding(value))


@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeClassifier()])
def test_estimators_of_scikit_learn_cannot_be_stored(estimator):
    name = type(estimator).__name__
    message = f"ThresholdClassifier.estimator is a {name} of sklearn.*pickle.*joblib"
    with pytest.raises(TypeError, match=message):
        take_apart(ThresholdClassifier(estimator))


def test_unknown_attributes_are_refused():
    model = MultiLabelXGBClassifier()
    model.note_ = "mine"
    with pytest.raises(TypeError, match="'note_' that the class does not declare"):
        take_apart(model)


@pytest.mark.parametrize(
    "value",
    [
        {"set": [1]},
        {"float": "1.5"},
        {"float": 1},
        {"tuple": {}},
        {"dict": [[1]]},
        {"dict": [1]},
        {"dict": {"a": 1}},
        {"dict": [[[], 1]]},
        {},
        {"tuple": [], "dict": []},
        {"array": 0},
        {"array": "0"},
        {"array": True},
        {"booster": -1},
        {"booster": None},
        {"object": 0},
        {"object": [0]},
        {"values": []},
        {"values": {"shape": [2], "entries": [1]}},
        {"values": {"shape": [10**12], "entries": []}},
        {"values": {"shape": [-1, -1], "entries": [1]}},
        {"values": {"shape": [True], "entries": [1]}},
        {"values": {"shape": 1, "entries": [1]}},
        {"values": {"shape": [1], "entries": "a"}},
        {"values": {"shape": [1] * 65, "entries": [1]}},
        {"values": {"shape": [1], "entries": [1], "more": 1}},
    ],
    ids=repr,
)
def test_invalid_values_are_refused(value):
    with pytest.raises((TypeError, ValueError)):
        _put_together(value)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([], "no objects"),
        ({}, "no objects"),
        (None, "no objects"),
        ([[]], "class and attributes were expected"),
        ([{"class": "Forest"}], "class and attributes were expected"),
        ([{"class": "os.system", "attributes": {}}], "'os.system' is not a known class"),
        ([{"class": ["Forest"], "attributes": {}}], "is not a known class"),
        ([{"class": "Forest", "attributes": []}], "not a mapping"),
        ([{"class": "Forest", "attributes": {}}], "a Forest lacks its start"),
        ([{"class": "Penalty", "attributes": {"l2": "1"}}], "l2 of a Penalty is a str"),
        ([{"class": "Penalty", "attributes": {"of": 1}}], "a Penalty has no attribute 'of'"),
        ([{"class": "Penalty", "attributes": {"__class__": 1}}], "no attribute '__class__'"),
    ],
)
def test_objects_that_are_refused(objects, message):
    with pytest.raises((TypeError, ValueError), match=message):
        put_together(State(objects))


@stored
class Pair(NamedTuple):
    """A named tuple."""

    left: int
    right: str


@stored
class Counted:
    """Derives something from what it is made of."""

    values: NDArray[np.int64]

    def __init__(self, values):
        self.values = values
        self._total = values.sum()


def test_declarations_of_classes_and_their_bases():
    chain = stored_class(DynamicChainClassifier)
    assert get_args(chain.fitted["boosters_"])[0] == list[list[xgb.Booster]]
    assert chain.fitted["_output_form"] is LabelForm
    assert "stop_scores_" in chain.optional
    assert "n_estimators" in chain.params
    assert set(stored_class(KnownLabelsets).params) == {"labelsets", "counts"}
    assert stored_class(LabelWise).types == {}


def test_what_is_made_by_calling_the_class():
    back = put_together(take_apart(MultiLabelXGBClassifier(n_estimators=Pair(1, "a"))))
    assert back.n_estimators == Pair(1, "a")
    assert type(back.n_estimators) is Pair
    back = put_together(take_apart(MultiLabelXGBClassifier(n_estimators=Counted(np.arange(4)))))
    assert back.n_estimators._total == 6


def test_attributes_that_are_missing_unknown_or_of_another_type():
    known = stored_class(Pair)
    for attributes, message in (
        ({"left": 1}, "a Pair lacks its right"),
        ({"left": 1, "right": "a", "count": 2}, "a Pair has no attribute 'count'"),
        ({"left": "1", "right": "a"}, "left of a Pair is a str"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            known.make(attributes)


def test_invariants_of_a_class_hold():
    attributes = vars(PropagationRule("open", "certainty", 2))
    known = stored_class(PropagationRule)
    assert known.make(attributes) == PropagationRule("open", "certainty", 2)
    with pytest.raises(ValueError, match="candidates='all' goes with"):
        known.make({**attributes, "candidates": "all"})
    with pytest.raises(TypeError, match="order of a PropagationRule"):
        known.make({**attributes, "order": "random"})


def test_an_estimator_is_fitted_or_not(rows):
    model = MultiLabelXGBClassifier(n_estimators=1)
    known = stored_class(MultiLabelXGBClassifier)
    assert vars(known.make(known.attributes_of(model))) == vars(model)
    attributes = known.attributes_of(model.fit(rows.X, rows.Y))
    del attributes["_output_form"]
    with pytest.raises(ValueError, match="lacks its _output_form"):
        known.make(attributes)


def test_files_of_earlier_versions_lack_parameters_that_came_later():
    known = stored_class(MultiLabelXGBClassifier)
    X = np.eye(6, 3)
    model = MultiLabelXGBClassifier(n_estimators=2).fit(X, X)
    stored = known.attributes_of(model)
    del stored["callbacks"]
    again = known.make(stored)
    assert again.callbacks is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    del stored["_output_form"]
    with pytest.raises(ValueError, match="a MultiLabelXGBClassifier lacks its _output_form"):
        known.make(stored)
