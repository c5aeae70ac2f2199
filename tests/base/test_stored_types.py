"""Declarations of state: annotations and constraints, what fits each and what does not."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from xdcc.base.stored_types import (
    Below,
    Finite,
    In,
    Names,
    Of,
    Permutation,
    Shape,
    Starts,
    Within,
    check_type,
    constraints_of,
)


class Draws(Protocol):
    def draw(self): ...


class Sampler(Draws):
    pass


class Other:
    def draw(self):
        """Have the method, but not the protocol as a base."""


type Numbers = list[float] | None


@pytest.mark.parametrize(
    ("annotation", "fits", "others"),
    [
        (Any, [None, object()], []),
        (None, [None], [0, ""]),
        (bool, [True], [1, None]),
        (int, [0, -(2**70)], [True, 1.0, "1"]),
        (float, [1.5, 2], [True, "1", None]),
        (str, ["", "a"], [b"a", None]),
        (int | None, [1, None], [1.5]),
        (Literal["a", 1], ["a", 1], ["b", True, 1.0]),
        (Numbers, [[1.0, 2], None, []], [["a"], (1.0,), 1.0]),
        (Sequence[int], [[1], (1, 2), []], [["a"], 1, np.zeros(1, int)]),
        (tuple[int, ...], [(), (1, 2)], [[1], (1, "a")]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1), (1, "a", 2)]),
        (dict[int, list[str]], [{}, {1: ["a"]}], [{"a": []}, {1: [1]}, []]),
        (NDArray[np.int32], [np.zeros(2, np.int32)], [np.zeros(2), np.zeros(2, np.int64), [1]]),
        (NDArray[np.floating], [np.zeros(2), np.zeros((1, 1), np.float32)], [np.zeros(2, int)]),
        (NDArray[Any], [np.zeros(2), np.array("a")], [None, [1]]),
        (range, [range(3)], [[0, 1, 2]]),
        (Annotated[int, Below(3)], [1, 5], ["1"]),
        (Annotated[list[int] | None, Shape(1)], [None, [1]], [["a"]]),
        (Draws, [Sampler()], [Other(), None]),
    ],
)
def test_annotations(annotation, fits, others):
    for value in fits:
        check_type(value, annotation, "x")
    for value in others:
        with pytest.raises(TypeError, match=r"^x is an? "):
            check_type(value, annotation, "x")


OWNER = SimpleNamespace(
    n_labels_=3,
    rows=np.zeros((4, 2)),
    part=SimpleNamespace(names=["a", "b"]),
    label=np.zeros(5),
)


@pytest.mark.parametrize(
    ("constraint", "fits", "others"),
    [
        (Shape(None), [np.zeros(0), [1, 2]], [np.zeros(()), np.zeros((1, 1))]),
        (Shape("rows", "n_labels_"), [np.zeros((4, 3))], [np.zeros((3, 3)), np.zeros((4, 2))]),
        (Shape("part.names"), [["c", "d"]], [["c"]]),
        (Below("n_labels_"), [0, 2, np.array([0, 2])], [3, -1, np.array([0, 3]), np.array([-1])]),
        (Within(0, 1), [0, 1.0, np.array([0.5])], [-0.1, np.array([2]), np.array([np.nan])]),
        (Within(0, low_open=True), [1, np.inf], [0, -1, np.nan]),
        (Finite(), [0.0, [1.0], np.array([2])], [np.inf, [np.nan], np.array([-np.inf])]),
        (In((0, 2)), [np.array([2, 0]), np.array([], int)], [np.array([1]), np.array([0, -1])]),
        (
            Starts("label"),
            [np.array([0, 5]), np.array([0, 2, 2, 5])],
            [np.array([0, 4]), np.array([1, 5]), np.array([0, 6, 5]), np.array([]), np.array(0)],
        ),
        (Starts("label", "part.names"), [np.array([0, 1, 5])], [np.array([0, 5])]),
        (
            Permutation("n_labels_"),
            [np.array([2, 0, 1])],
            [np.array([0, 0, 1]), np.array([0, 1]), np.array([1, 2, 3]), np.array([0, 1, 2, 3])],
        ),
        (
            Names(2),
            [np.array(["a", ""], object)],
            [np.array(["a"], object), np.array(["a", 1], object), np.array([["a", "b"]], object)],
        ),
        (
            Of(n="n_labels_"),
            [SimpleNamespace(n=3), [], [SimpleNamespace(n=3)]],
            [SimpleNamespace(n=2), [SimpleNamespace(n=3), SimpleNamespace(n=4)]],
        ),
    ],
)
def test_constraints(constraint, fits, others):
    for value in fits:
        assert constraint.holds(value, OWNER)
    for value in others:
        assert not constraint.holds(value, OWNER)


def test_constraints_of_an_alias_are_found():
    type Share = Annotated[float, Within(0, 1)]
    assert constraints_of(Share) == [Within(0, 1)]
    assert constraints_of(float) == []
