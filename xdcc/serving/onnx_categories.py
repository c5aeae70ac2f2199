"""Categories in a graph: their codes in X as rows of tables, and tests of trees for sets of them.

ONNX has no test for a large set that every runtime evaluates fast. So sets become features. A table
has their values for each category; a row of X takes as many rows of it as there are columns with
categories. Forests have so many sets that the features, most of which a row never meets, took
longer than the trees. So each holds three sets: the numbers from 0 to 7 in the order of a Gray
code, in which a set is a union of few intervals (`CUTS`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from xdcc.prediction.layout import Layout
from xdcc.serving.onnx_graph import Graph

_BLOCK = 64
"""Features that a row of the table has; all are of one column of X."""

CUTS = ((4,), (2, 6), (1, 3, 5, 7))
"""For each set of a feature, the values from which on rows are in it, out of it, and so on."""

_BEFORE, _AFTER = 2, 1
"""Rows of a table before and after those of a column's categories: for missing and negative codes,
and for all larger ones."""


class CodeRows(NamedTuple):
    """Columns of X that have categories.

    Attributes
    ----------
    rows : str
        For each of them the row of its code in a table that has a row for each code of each column,
        int64 of shape (n_samples, n_columns).
    of_column : dict of int to slice
        Rows of each column, by its position in X: a missing code, negative ones, those of the
        categories, larger ones.
    n_rows : int
        Number of rows of such a table.
    """

    rows: str
    of_column: dict[int, slice]
    n_rows: int

    def table[T](self, column: int, *, missing: T, categories: Sequence[T], other: T) -> list[T]:
        """Return the rows of a column; categories beyond those given are others."""
        rows = self.of_column[column]
        n_others = rows.stop - rows.start - _BEFORE - len(categories)
        return [missing, other, *categories, *[other] * n_others]


def add_codes(
    graph: Graph,
    codes: str,
    n_categories: Mapping[int, int],
    dtype: type[np.floating] = np.float32,
) -> CodeRows:
    """Add the rows of codes, of a type and of shape (n_samples, n_columns).

    `n_categories` has the number of categories of each of these columns.
    """
    size = np.array(list(n_categories.values()))
    length = size + _BEFORE + _AFTER
    begin = np.cumsum(length) - length
    least, missing = (graph.constant(value, dtype) for value in (1 - _BEFORE, -_BEFORE))
    bounded = graph.add("Max", graph.add("Min", codes, graph.constant(size, dtype)), least)
    bounded = graph.add("Where", graph.add("IsNaN", codes), missing, bounded)
    rows = graph.add("Add", graph.cast(bounded, np.int64), graph.constant(begin + _BEFORE))
    slices = map(slice, begin.tolist(), (begin + length).tolist())
    return CodeRows(rows, dict(zip(n_categories, slices, strict=True)), int(length.sum()))


def add_set_tests(graph: Graph, codes: CodeRows | None, layout: Layout) -> tuple[list[str], Layout]:
    """Replace the sets of a flat model by features.

    Returns matrices, float32, that have to follow the features of the model; and the model, whose
    trees test numbers only. A test of such a feature has the first of its set's `CUTS` as threshold
    and stands for all of them.
    """
    tests = np.flatnonzero(layout.nodes[:, 1] < 0)
    if not len(tests):
        return [], layout
    assert codes is not None
    slot, place = ~layout.nodes[tests, 1], layout.nodes[tests, 0].astype(np.int64)
    feature = layout.slot_feature[slot]
    missing_is_in = layout.slot_missing[slot] > 0
    class_of_row = np.zeros(codes.n_rows, np.int64)
    number, threshold = np.zeros(len(tests), np.int32), np.zeros(len(tests), np.float32)
    tables, columns, first_rows, n_blocks, n_rows = [], [], [], 0, 0
    for index, (column, rows) in enumerate(codes.of_column.items()):
        own = np.flatnonzero(feature == column)
        if not len(own):
            continue
        n_categories = rows.stop - rows.start - _BEFORE - _AFTER
        sets, of_test = _distinct_rows(_sets(layout, place[own], missing_is_in[own], n_categories))
        feature_of_set, position_of_set = np.divmod(np.arange(len(sets)), len(CUTS))
        number[own] = n_blocks * _BLOCK + feature_of_set[of_test]
        threshold[own] = np.array([cuts[0] for cuts in CUTS])[position_of_set[of_test]]
        table, class_of_row[rows] = _distinct_rows(_joined(sets, n_categories))
        by_block = table.reshape(len(table), -1, _BLOCK).swapaxes(0, 1)
        tables.append(by_block.reshape(-1, _BLOCK))
        columns += [index] * len(by_block)
        first_rows += [n_rows + i * len(table) for i in range(len(by_block))]
        n_blocks += len(by_block)
        n_rows += len(tables[-1])
    of_column = graph.add("Gather", graph.constant(class_of_row), codes.rows)
    of_block = graph.add("Gather", of_column, graph.constant(columns, np.int64), axis=1)
    row = graph.add("Add", of_block, graph.constant(first_rows, np.int64))
    found = graph.add("Gather", graph.constant(np.concatenate(tables)), row)
    shape = graph.constant([-1, n_blocks * _BLOCK], np.int64)
    values = graph.cast(graph.add("Reshape", found, shape), np.float32)

    n_slots, n_features = len(layout.slot_feature), layout.n_features
    nodes = layout.nodes.copy()
    nodes[tests, 0] = threshold.view(np.int32)
    nodes[tests, 1] = n_slots + number
    of_sets = np.arange(n_blocks * _BLOCK, dtype=np.int32)
    numeric = replace(
        layout,
        nodes=nodes,
        slot_feature=np.append(layout.slot_feature, n_features + of_sets),
        slot_missing=np.append(layout.slot_missing, np.zeros(len(of_sets), np.float32)),
    )
    return [values], numeric


def _sets(
    layout: Layout, place: NDArray[np.int64], missing_is_in: NDArray[np.bool_], n_categories: int
) -> NDArray[np.uint8]:
    """Read the sets of a column: the bits of its categories, and whether missing codes are in it.

    The result has the shape (n_sets, n_bytes).
    """
    word = np.arange(-(-n_categories // 32))
    is_stored = word < -(layout.sets[place] // -32)[:, np.newaxis]
    at = np.where(is_stored, place[:, np.newaxis] + 1 + word, 0)
    words = np.where(is_stored, layout.sets[at], 0).astype("<i4")
    return np.column_stack((words.view(np.uint8), missing_is_in))


def _joined(sets: NDArray[np.uint8], n_categories: int) -> NDArray[np.uint8]:
    """Join sets to features, for each row of the column's table: (n_rows, n_features)."""
    n_features = -(-len(sets) // (len(CUTS) * _BLOCK)) * _BLOCK
    joined = np.zeros((_BEFORE + n_categories + _AFTER, n_features), np.uint8)
    is_in = np.zeros(joined.shape, np.uint8)
    for position in range(len(CUTS)):
        own = sets[position :: len(CUTS)]
        bits = np.unpackbits(own[:, :-1], axis=1, count=n_categories, bitorder="little")
        # A bit of a number is whether an odd number of the bits of its Gray code are set up to it.
        is_in[0, : len(own)] ^= own[:, -1]
        is_in[_BEFORE:-_AFTER, : len(own)] ^= bits.T
        joined = 2 * joined + is_in
    return joined


def _distinct_rows(rows: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return each row once, and the number of each; ``np.unique(axis=0)`` takes minutes here."""
    whole = np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()
    _, first, number = np.unique(whole, return_index=True, return_inverse=True)
    return rows[first], number
