"""`check_type`: every form of annotation, what fits it and what does not."""

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from xdcc.serving.value_types import check_type

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
        (tuple[int, ...], [(), (1, 2)], [[1], (1, "a")]),
        (tuple[int, str], [(1, "a")], [(1,), ("a", 1), (1, "a", 2)]),
        (dict[int, list[str]], [{}, {1: ["a"]}], [{"a": []}, {1: [1]}, []]),
        (NDArray[np.int32], [np.zeros(2, np.int32)], [np.zeros(2), np.zeros(2, np.int64), [1]]),
        (NDArray[np.floating], [np.zeros(2), np.zeros((1, 1), np.float32)], [np.zeros(2, int)]),
        (NDArray[Any], [np.zeros(2), np.array("a")], [None, [1]]),
        (range, [range(3)], [[0, 1, 2]]),
    ],
)
def test_annotations(annotation, fits, others):
    for value in fits:
        check_type(value, annotation, "x")
    for value in others:
        with pytest.raises(TypeError, match=r"^x is an? "):
            check_type(value, annotation, "x")
