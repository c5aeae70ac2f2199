"""Classes register themselves, and their declarations hold what they are made of."""

from dataclasses import dataclass, replace
from importlib import import_module
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from xdcc.base.estimator import MultiLabelEstimator, declares_parameters
from xdcc.base.input_form import InputForm
from xdcc.base.lazy_import import import_package
from xdcc.base.output_form import LabelForm
from xdcc.base.stored import (
    check_state,
    learned,
    stored,
    stored_class,
    stored_classes,
    stored_name,
)
from xdcc.base.stored_types import OPTIONAL, Constraint, Of, Shape, Starts, Within


@stored
@dataclass(frozen=True)
class Pieces:
    start: Annotated[NDArray[np.int64], Starts("value")]
    value: Annotated[NDArray[np.float64], Shape(None), Within(0)]
    scale: float = 1.0

    def _check_state(self):
        if self.scale * self.value.sum() > 100:
            raise ValueError("the sum is too large")

    @property
    def n_pieces(self):
        return len(self.start) - 1


@stored
@declares_parameters
class Model(MultiLabelEstimator):
    alpha: float = 1.0
    beta: Annotated[float, OPTIONAL] = 2.0

    pieces_: Annotated[Pieces, Of(n_pieces="n_labels_")] = learned()
    note_: Annotated[str, OPTIONAL] = learned()


def _pieces(**changed: Any) -> dict[str, Any]:
    return {"start": np.array([0, 1, 3]), "value": np.ones(3), "scale": 2.0} | changed


def _fitted(**changed: Any) -> dict[str, Any]:
    return {
        "alpha": 0.5,
        "beta": 1.5,
        "_input_form": InputForm(4),
        "_output_form": LabelForm.of_matrix(np.array(["a", "b"], dtype=object), is_named=False),
        "pieces_": Pieces(**_pieces()),
    } | changed


def test_names_of_classes_outside_of_the_package_have_their_module():
    assert stored_name(Pieces) == f"{__name__}.Pieces"
    assert stored_classes()[f"{__name__}.Model"] is Model


def test_a_subclass_has_to_register_itself():
    assert stored_name(type("Other", (Model,), {})) is None


def test_no_two_classes_have_one_name():
    other = type("Pieces", (), {"__module__": __name__, "__qualname__": "Elsewhere.Pieces"})
    stored(other)  # another name
    other.__qualname__ = "Pieces"
    again = stored(other)  # defined again, as in a notebook
    assert stored_classes()[f"{__name__}.Pieces"] is again
    assert stored_name(Pieces) is None
    stored(Pieces)
    rule = type("LabelWise", (), {"__module__": "xdcc.elsewhere"})
    import_package("decision")
    with pytest.raises(ValueError, match=r"model files already know 'LabelWise': xdcc\.decision"):
        stored(rule)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"start": np.array([0, 3, 1])}, "start does not fit"),
        ({"start": np.array([0, 1, 4])}, "start does not fit"),
        ({"start": np.array([0.0, 3.0])}, "start of a Pieces is an array of float64"),
        ({"value": np.array([1.0, -1.0, 1.0])}, "value does not fit"),
        ({"value": np.ones((3, 1))}, "value does not fit"),
        ({"scale": 50.0}, "the sum is too large"),
        ({"scale": "2"}, "scale of a Pieces is a str"),
        ({"of": 1}, "a Pieces has no attribute 'of'"),
    ],
)
def test_a_part_that_does_not_fit(changed, message):
    with pytest.raises((TypeError, ValueError), match=message):
        stored_class(Pieces).make(_pieces(**changed))


def test_a_part_is_made_by_calling_its_class():
    attributes = _pieces()
    del attributes["scale"]
    made = stored_class(Pieces).make(attributes)
    assert made.scale == 1.0
    assert stored_class(Pieces).attributes_of(made) == {**attributes, "scale": 1.0}
    del attributes["value"]
    with pytest.raises(ValueError, match="a Pieces lacks its value"):
        stored_class(Pieces).make(attributes)


def test_an_estimator_has_parameters_and_what_fit_sets():
    known = stored_class(Model)
    assert vars(known.make({"alpha": 1.0, "beta": 3.0})) == {"alpha": 1.0, "beta": 3.0}
    assert vars(known.make(_fitted())).keys() == _fitted().keys()
    assert known.make(_fitted(note_="x")).note_ == "x"
    assert Model(alpha=2.0).get_params() == {"alpha": 2.0, "beta": 2.0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pieces_": SimpleNamespace(n_pieces=2)}, "pieces_ of a Model is a SimpleNamespace"),
        ({"pieces_": Pieces(np.array([0, 3]), np.ones(3))}, "pieces_ does not fit"),
        ({"note_": 1}, "note_ of a Model is an int"),
        ({"_input_form": InputForm(4).names}, "_input_form of a Model is a NoneType"),
    ],
)
def test_an_estimator_that_does_not_fit(changed, message):
    with pytest.raises((TypeError, ValueError), match=message):
        stored_class(Model).make(_fitted(**changed))


@pytest.mark.parametrize("name", ["alpha", "pieces_", "_input_form", "_output_form"])
def test_an_estimator_that_lacks_something(name):
    attributes = _fitted()
    del attributes[name]
    with pytest.raises(ValueError, match=f"a Model lacks its {name}"):
        stored_class(Model).make(attributes)


def test_a_parameter_of_a_later_version_gets_its_default():
    attributes = _fitted()
    del attributes["beta"]
    assert stored_class(Model).make(attributes).beta == 2.0


def test_attributes_that_are_not_declared():
    model = stored_class(Model).make(_fitted())
    model.extra_ = 1
    with pytest.raises(TypeError, match="This Model has an attribute 'extra_' that the class does"):
        stored_class(Model).attributes_of(model)
    part = Pieces(**_pieces())
    vars(part)["extra"] = 1
    with pytest.raises(TypeError, match="This Pieces has an attribute 'extra' that the class does"):
        stored_class(Pieces).attributes_of(part)


def test_state_is_checked_again():
    model = stored_class(Model).make(_fitted())
    check_state(model)
    model.pieces_ = replace(model.pieces_, start=np.array([0, 3]))
    with pytest.raises(ValueError, match="pieces_ does not fit"):
        check_state(model)


def test_every_declaration_of_the_package_can_be_read():
    """Annotations beside a type are constraints or marks, never another type by mistake."""
    import_module("xdcc.serving.all_classes")
    for cls in stored_classes().values():
        for annotation in stored_class(cls).types.values():
            beside = getattr(annotation, "__metadata__", ())
            assert all(each is OPTIONAL or isinstance(each, Constraint) for each in beside)
