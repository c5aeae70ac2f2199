"""`KnownClass`: objects are taken apart and made again, and what does not fit is refused."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain.propagation import PropagationRule
from xdcc.serving import estimator_state
from xdcc.serving.estimator_state import put_together, take_apart
from xdcc.serving.known_classes import KNOWN_CLASSES, MODELS, NAMES, KnownClass


class Pair(NamedTuple):
    """A named tuple."""

    left: int
    right: str


class Counted:
    """Derives something from what it is made of."""

    def __init__(self, values):
        self.values = values
        self._total = values.sum()


CONSTRUCTED = {
    "Pair": KnownClass(Pair, {"left": int, "right": str}, constructed=True),
    "Counted": KnownClass(Counted, {"values": NDArray[np.int64]}, constructed=True),
}


def test_every_class_has_one_name():
    assert len(NAMES) == len(KNOWN_CLASSES)
    assert all(KNOWN_CLASSES[name].cls is cls for cls, name in NAMES.items())
    assert set(MODELS) < set(NAMES)


def test_what_is_made_by_calling_the_class(monkeypatch):
    for name, known in CONSTRUCTED.items():
        monkeypatch.setitem(estimator_state.KNOWN_CLASSES, name, known)
        monkeypatch.setitem(estimator_state.NAMES, known.cls, name)
    back = put_together(take_apart(MultiLabelXGBClassifier(n_estimators=Pair(1, "a"))))
    assert back.n_estimators == Pair(1, "a")
    assert type(back.n_estimators) is Pair
    back = put_together(take_apart(MultiLabelXGBClassifier(n_estimators=Counted(np.arange(4)))))
    assert back.n_estimators._total == 6


def test_attributes_that_are_missing_unknown_or_of_another_type():
    known = CONSTRUCTED["Pair"]
    for attributes, message in (
        ({"left": 1}, "a Pair lacks its right"),
        ({"left": 1, "right": "a", "count": 2}, "a Pair has no attribute 'count'"),
        ({"left": "1", "right": "a"}, "left of a Pair is a str"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            known.make(attributes)


def test_invariants_of_a_class_hold():
    attributes = vars(PropagationRule("open", "certainty", 2))
    known = KNOWN_CLASSES["PropagationRule"]
    assert known.make(attributes) == PropagationRule("open", "certainty", 2)
    with pytest.raises(ValueError, match="candidates='all' goes with"):
        known.make({**attributes, "candidates": "all"})
    with pytest.raises(TypeError, match="order of a PropagationRule"):
        known.make({**attributes, "order": "random"})


def test_an_estimator_is_fitted_or_not(rows):
    model = MultiLabelXGBClassifier(n_estimators=1)
    known = KNOWN_CLASSES["MultiLabelXGBClassifier"]
    assert vars(known.make(known.attributes_of(model))) == vars(model)
    attributes = known.attributes_of(model.fit(rows.X, rows.Y))
    del attributes["classes_"]
    with pytest.raises(ValueError, match="lacks its classes_"):
        known.make(attributes)
