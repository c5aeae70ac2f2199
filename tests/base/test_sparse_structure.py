"""A sparse matrix whose arrays do not fit together is refused before anything reads it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import xdcc
from xdcc.base.sparse_structure import check_sparse_structure


def _set(name: str, at: int, value: int) -> Callable[[Any], None]:
    return lambda matrix: getattr(matrix, name).__setitem__(at, value)


def _replace(name: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda matrix: setattr(matrix, name, change(getattr(matrix, name)))


DAMAGES = {
    "csr, beyond the last column": (
        "csr",
        _set("indices", 0, 10**6),
        r"entry 0 has the column 1000000, outside 0 to 2\.",
    ),
    "csr, before the first": ("csr", _set("indices", 1, -5), "entry 1 has the column -5, outside"),
    "csc": ("csc", _set("indices", 2, 9), r"entry 2 has the row 9, outside 0 to 2\."),
    "coo, row": ("coo", _set("row", 0, 3), "entry 0 has the row 3, outside 0 to 2"),
    "coo, column": ("coo", _set("col", 1, -1), "entry 1 has the column -1, outside 0 to 2"),
    "too few pointers": (
        "csr",
        _replace("indptr", lambda indptr: indptr[:-1]),
        r"indptr has 3 entries for 3 rows\.",
    ),
    "pointers descend": (
        "csr",
        _set("indptr", 1, 10**6),
        "indptr goes from 1000000 to 2 in row 1; it has to begin with 0 and not to descend",
    ),
    "pointers begin late": ("csc", _set("indptr", 0, 1), "indptr goes from 1 to 1 in column 0"),
    "pointers end late": ("csr", _set("indptr", 3, 8), "row 2 ends at entry 8, but there are 3"),
    "too few values": (
        "csr",
        _replace("data", lambda data: data[:2]),
        r"row 2 ends at entry 3, but there are 2\.",
    ),
}


@pytest.mark.parametrize(("kind", "damage", "message"), DAMAGES.values(), ids=DAMAGES.keys())
def test_the_message_names_the_entry(kind: str, damage: Any, message: str) -> None:
    matrix = sparse.eye(3, format=kind)
    check_sparse_structure("X", matrix)
    damage(matrix)
    with pytest.raises(ValueError, match=f"X is a broken sparse matrix: {message}"):
        check_sparse_structure("X", matrix)


@pytest.mark.parametrize(
    "name",
    [
        "MultiLabelXGBClassifier",
        "DynamicChainClassifier",
        "BinaryRelevance",
        "RandomDecisionTreeClassifier",
        "LaCovaCClassifier",
        "BoomerClassifier",
        "CTBNClassifier",
    ],
)
def test_estimators_refuse_it(name: str) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(40, 3, 0.5, format="csr", random_state=0)
    Y = (rng.random((40, 2)) < 0.4).astype(float)
    broken = X.copy()
    broken.indices[0] = 10**6
    broken_Y = sparse.csr_matrix(Y)
    broken_Y.indices[0] = 10**6
    estimator = getattr(xdcc, name)()
    for data in ((broken, Y), (X, broken_Y)):
        with pytest.raises(ValueError, match="is a broken sparse matrix: entry 0 has the column"):
            estimator.fit(*data)
    estimator.fit(X, Y)
    with pytest.raises(ValueError, match="X is a broken sparse matrix: entry 0 has the column"):
        estimator.predict(broken)
