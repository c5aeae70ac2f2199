"""The fast reading of a row and the exact one accept the same rows and give the same numbers."""

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from xdcc.data import ArffError
from xdcc.data.arff_header import read_header
from xdcc.data.arff_rows import _exact_dense, _exact_sparse, read_dense, read_sparse
from xdcc.data.arff_text import Line
from xdcc.data.arff_values import AttributeReader

HEADER = [
    "@relation r",
    "@attribute a numeric",
    "@attribute b {x, 'y z', '', ' x', '?', 1, '_', 'é'}",
    "@attribute s string",
    "@attribute l numeric",
    "@attribute m {1,0}",
    "@data",
]
ATTRIBUTES = read_header([Line(Path("r"), 1, text) for text in HEADER])[0].attributes
READERS = [AttributeReader(a, a.name in "lm") for a in ATTRIBUTES]
CELLS = st.sampled_from([
    "0", "1", " 1", "1 ", "2.5", "-1e3", "1.", ".5", "+1", "1e999", "nan", "-inf", "1_0", "\uff11",
    "?", " ? ", "", " ", "x", " x", "y z", "'y z'", "' x'", "''", "'?'", "'", "_", "é", "1\t",
    "{2}",
])  # fmt: skip
INDICES = st.sampled_from([
    "0", "1", "2", "3", "4", "5", "-1", "+3", "-0", "1_0", "x", "",
    "0" * 4_400 + "1", "1" * 4_400,
])  # fmt: skip


def outcome(read):
    """Return what `read` gives, or the text of its error."""
    try:
        return read()
    except ArffError as error:
        return str(error)


@settings(max_examples=400, deadline=None)
@given(st.lists(CELLS, min_size=4, max_size=6))
@example(["1", "x", "s", "1", "0"])
@example(["1", "", "s", "1", "0"])
@example(["1", "x", "", "1", "0"])
@example(["1", " x", "s", "1", "0"])
@example(["inf", "x", "s", "1", "0"])
def test_dense_rows(cells):
    row = Line(Path("r"), 7, ",".join(cells))
    exact = outcome(lambda: _exact_dense(row, READERS))
    fast = outcome(lambda: read_dense([row], READERS))
    if isinstance(exact, str):
        assert fast == exact
    else:
        assert_array_equal(fast[0], [exact[0]])
        assert fast[1] == exact[1]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(INDICES, CELLS), max_size=3), st.booleans())
@example([("0", "1"), ("4", "0")], False)
@example([("4", "0"), ("0", "1")], False)
@example([("-1", "1")], False)
@example([("2", "?")], False)
def test_sparse_rows(entries, in_order):
    if in_order:
        entries = sorted(entries)
    body = ",".join(f"{index} {cell}" for index, cell in entries)
    row = Line(Path("r"), 7, f"{{{body}}}")
    exact = outcome(lambda: _exact_sparse(row, READERS))
    fast = outcome(lambda: read_sparse([row], READERS))
    if isinstance(exact, str):
        assert fast == exact
    else:
        assert list(zip(fast[0].indices, map(repr, fast[0].data.tolist()), strict=True)) == [
            (index, repr(value)) for index, value in exact[0]
        ]
        assert fast[1] == exact[1]
