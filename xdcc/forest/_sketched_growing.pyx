"""Kernel that grows extra trees on sketches: one per seed, threads over trees.

A tree searches its splits on `sketch_size` random projections of the centred labels, which are
drawn for the tree. Its rows have these values as integers on a common grid, so sums are exact in
any order. A node draws features and one cut for each, and takes the split after which the
projections vary least within the children. Label values enter only when a leaf is written.

Features come in two kinds. A *dense* one has a bin for every row; a node gathers its rows' bins,
draws an edge between the least and the largest, and adds up the rows above it. A *sparse* one has
few rows with another value than 0. Each tree draws one threshold for it, so it is binary in the
tree, and a node knows for every such feature how many of its rows are *on*, that is on the other
side of the threshold than 0, and the sum of their values. These sums are counted for the smaller
child of a split and subtracted for the larger one. In small nodes each feature has a mask of the
rows in which it is on instead.

A tree depends on its seed alone, not on the thread that grows it. At last the trees, in the order
of their seeds, are made to refer to their places in one set of arrays.
"""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.forest._node cimport CATEGORIES, LEAF, NUMERIC
from xdcc.forest.dense_batches cimport LANES
from xdcc.forest.grown_tree cimport GrownTree, add_node, set_test, write_leaf
from xdcc.forest.growth cimport Growth, OpenNode, Split
from xdcc.forest.row_division cimport divide_rows, move_few
from xdcc.forest.sparse_masks cimport SMALL, list_root, list_varied, members_right
from xdcc.forest.sparse_sums cimport (
    draw_sparse_thresholds, needs_sums, open_children, open_root,
)
from xdcc.forest.split_score cimport sum_rows
from xdcc.forest.split_search cimport find_split, settle_split
from xdcc.forest.training cimport Training
from xdcc.forest.tree_rows cimport centre_labels, project, round_values, sample_rows
from xdcc.kernels.arrays cimport as_array, elements
from xdcc.kernels.threads cimport run_loop

KINDS = {"leaf": LEAF, "numeric": NUMERIC, "categories": CATEGORIES}

MAX_NODES = np.iinfo(np.int32).max


# ---------------------------------------------------------------------------------- growing a tree


cdef inline bint must_be_leaf(
    const Growth* growth, const Training* training, int64_t begin, int64_t end,
    int64_t width,
) noexcept nogil:
    """Whether a node has too few rows, or all of them have the same projections."""
    cdef int64_t i
    cdef const int32_t* value = growth.value.data()
    if end - begin < 2 * training.min_samples_leaf:
        return True
    for i in range((begin + 1) * width, end * width):
        if value[i] != value[i - width]:
            return False
    return True


cdef inline void push_totals(
    Growth* growth, const OpenNode* small, int64_t width
) noexcept nogil:
    """Put the totals of a node's children on the stack, those of the smaller one on top."""
    cdef size_t at = growth.totals.size()
    cdef int64_t k
    growth.totals.resize(at + 2 * width)
    cdef int32_t* of_large = growth.totals.data() + at
    cdef int32_t* of_small = of_large + width
    sum_rows(of_small, growth, small.begin, small.end, width)
    for k in range(width):
        of_large[k] = growth.total[k] - of_small[k]


cdef inline void pop_total(Growth* growth, int64_t width) noexcept nogil:
    """Take the total of the node on top of the stack."""
    cdef size_t at = growth.totals.size() - width
    cdef int64_t k
    for k in range(width):
        growth.total[k] = growth.totals[at + k]
    growth.totals.resize(at)


cdef inline void divide(
    GrownTree* tree, Growth* growth, const Training* training, const OpenNode* parent,
    int64_t width,
) noexcept nogil:
    """Divide the rows of a node between two new ones; the smaller child grows next."""
    cdef int64_t middle = parent.begin
    if growth.few.empty():
        middle += divide_rows(growth, parent, width)
    else:
        middle += move_few(growth, parent, width)
    cdef OpenNode left = parent[0], right = parent[0]
    left.node = <int32_t>tree.kind.size()
    left.end = middle
    left.slot = -1
    left.is_leaf = must_be_leaf(growth, training, left.begin, left.end, width)
    right.node = left.node + 1
    right.begin = middle
    right.slot = -1
    right.is_leaf = must_be_leaf(growth, training, right.begin, right.end, width)
    add_node(tree)
    add_node(tree)
    if parent.members:
        right.members = members_right(parent.members, growth.goes_right.data())
        left.members = parent.members & ~right.members
    if right.end - right.begin < left.end - left.begin:
        if parent.slot >= 0:
            open_children(growth, training, &right, &left, parent.slot, width)
        push_totals(growth, &right, width)
        growth.stack.push_back(left)
        growth.stack.push_back(right)
    else:
        if parent.slot >= 0:
            open_children(growth, training, &left, &right, parent.slot, width)
        push_totals(growth, &left, width)
        growth.stack.push_back(right)
        growth.stack.push_back(left)


cdef inline void start_tree(
    Growth* growth, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw what a tree has of its own: rows, projections, cuts of sparse features."""
    cdef int64_t n = training.n_sampled, i
    growth.n_values = training.sketch_size if training.sketch_size else training.n_labels
    growth.width = growth.n_values + (training.weight != NULL)
    growth.value.resize(n * growth.width)
    growth.value_right.resize(n * growth.width)
    growth.rows_right.resize(n)
    growth.goes_right.resize(n)
    growth.projected.resize(n * growth.n_values)
    growth.total.resize(growth.width)
    growth.right.resize(growth.width)
    growth.right_lanes.resize(growth.width * LANES)
    growth.bins.resize(n * LANES)
    growth.is_on.resize(training.n_rows)
    growth.mask_of.resize(training.n_sparse)
    growth.present.resize((training.n_sparse + 63) // 64)
    growth.member_value.resize(SMALL * growth.width)
    growth.count.resize(training.n_labels)
    growth.order.resize(training.n_dense)
    for i in range(training.n_dense):
        growth.order[i] = <int32_t>i
    sample_rows(growth, training, random)
    if training.sketch_size:
        project(growth, training, random)
    else:
        centre_labels(growth, training)
    round_values(growth, training)
    draw_sparse_thresholds(growth, training, random)


cdef inline void grow_nodes(
    GrownTree* tree, Growth* growth, const Training* training, uint64_t* random, int64_t width
) noexcept nogil:
    """Divide nodes, from the root on, until all are leaves."""
    cdef OpenNode open_node
    cdef Split split
    open_node.node = 0
    open_node.begin = 0
    open_node.end = training.n_sampled
    open_node.slot = -1
    open_node.members = 0
    open_node.is_leaf = must_be_leaf(growth, training, 0, open_node.end, width)
    if training.n_sparse and needs_sums(&open_node):
        open_root(growth, training, &open_node, width)
    add_node(tree)
    growth.stack.push_back(open_node)
    growth.totals.resize(width)
    sum_rows(growth.totals.data(), growth, 0, open_node.end, width)
    while not growth.stack.empty():
        open_node = growth.stack.back()
        growth.stack.pop_back()
        pop_total(growth, width)
        if not open_node.is_leaf:
            if open_node.members:
                list_varied(growth, &open_node)
            elif training.n_sparse and open_node.slot < 0:
                list_root(growth, training, &open_node, width)
            find_split(&split, growth, training, &open_node, random, width)
            if split.feature >= 0:
                settle_split(&split, growth, training, &open_node)
                set_test(tree, &split, training, &open_node)
                divide(tree, growth, training, &open_node, width)
                continue
            if open_node.slot >= 0:
                growth.free_slots.push_back(open_node.slot)
        write_leaf(tree, growth, training, &open_node)


cdef inline void grow_tree(
    GrownTree* tree, Growth* growth, const Training* training, uint64_t seed
) noexcept nogil:
    """Grow a tree; all that is random comes from its seed."""
    cdef uint64_t random = seed
    start_tree(growth, training, &random)
    # The compiler can make use of constants.
    if growth.width == 1:
        grow_nodes(tree, growth, training, &random, 1)
    elif growth.width == 2:
        grow_nodes(tree, growth, training, &random, 2)
    elif growth.width == 4:
        grow_nodes(tree, growth, training, &random, 4)
    else:
        grow_nodes(tree, growth, training, &random, growth.width)


# ---------------------------------------------------------------------------------------- forests


cdef struct Growing:
    # Trees that grow, which threads share.
    const Training* training
    GrownTree* tree                # [n_trees]
    Growth* growth                 # [n_threads]
    const uint64_t* seed           # [n_trees]


cdef void grow_numbered(void* data, int64_t i, int thread) noexcept nogil:
    cdef const Growing* growing = <const Growing*>data
    grow_tree(growing.tree + i, growing.growth + thread, growing.training, growing.seed[i])


cdef Training training_of(columns, labels, shape):
    """Point into arrays, which have to stay alive."""
    cdef Training training
    training.n_rows = len(labels.positive_start) - 1
    training.n_dense = len(columns.dense)
    training.n_sparse = len(columns.least)
    training.dense = elements[uint8_t](columns.dense.reshape(-1))
    training.edge = elements[float](columns.edge)
    training.edge_start = elements[int64_t](columns.edge_start)
    training.is_category = elements[uint8_t](columns.is_category)
    training.has_missing = elements[uint8_t](columns.has_missing)
    training.is_plain = not (
        columns.is_category.any() or columns.has_missing[: training.n_dense].any()
    )
    training.feature = elements[int32_t](columns.feature)
    training.least = elements[float](columns.least)
    training.largest = elements[float](columns.largest)
    training.row_start = elements[int64_t](columns.row_start)
    training.row_feature = elements[int32_t](columns.row_feature)
    training.row_value = elements[float](columns.row_value)
    training.column_start = elements[int64_t](columns.column_start)
    training.column_row = elements[int32_t](columns.column_row)
    training.column_value = elements[float](columns.column_value)
    training.is_binary = columns.is_binary
    training.n_labels = labels.n_labels
    training.positive_start = elements[int64_t](labels.positive_start)
    training.positive = elements[int32_t](labels.positive)
    training.unknown_start = elements[int64_t](labels.unknown_start)
    training.unknown = elements[int32_t](labels.unknown)
    training.mean = elements[double](labels.mean)
    training.weight = elements[float](labels.weight)
    training.positive_share = elements[float](labels.positive_share)
    training.unknown_share = elements[float](labels.unknown_share)
    training.n_sampled = shape.n_sampled
    training.n_drawn_dense = shape.n_drawn_dense
    training.sparse_share = shape.sparse_share
    training.min_samples_leaf = shape.min_samples_leaf
    training.sketch_size = shape.sketch_size
    return training


def grow(columns, labels, shape, seeds, n_threads):
    """Grow one tree per seed; see ``_sketched_growing.pyi``."""
    cdef Training training = training_of(columns, labels, shape)
    cdef const uint64_t[::1] seed = seeds
    cdef int64_t n_trees = seed.shape[0]
    cdef int threads = n_threads
    cdef vector[GrownTree] trees
    cdef vector[Growth] growths
    trees.resize(n_trees)
    growths.resize(threads)
    cdef Growing growing
    growing.training = &training
    growing.tree = trees.data()
    growing.growth = growths.data()
    growing.seed = &seed[0]
    with nogil:
        run_loop(n_trees, 1, threads, grow_numbered, &growing)
    _move_references(trees)
    return _joined(trees)


def samples(n_rows, n_sampled, seeds):
    """Which rows trees have; see ``_sketched_growing.pyi``."""
    cdef Training training
    cdef Growth growth
    cdef uint64_t random
    cdef const uint64_t[::1] seed = seeds
    cdef int64_t tree
    cdef size_t i
    training.n_rows = n_rows
    training.n_sampled = n_sampled
    in_sample = np.zeros((seed.shape[0], n_rows), np.uint8)
    cdef uint8_t[:, ::1] view = in_sample
    for tree in range(seed.shape[0]):
        random = seed[tree]
        sample_rows(&growth, &training, &random)
        for i in range(growth.rows.size()):
            view[tree, growth.rows[i]] = 1
    return in_sample


cdef _move_references(vector[GrownTree]& trees):
    """Let every tree refer to where it will be behind those before it."""
    cdef size_t i, k, n_nodes = 0
    cdef int64_t first_row = 0, first_label = 0
    cdef int32_t first_node = 0, first_leaf = 0
    cdef GrownTree* tree
    for i in range(trees.size()):
        n_nodes += trees[i].kind.size()
    if n_nodes > <size_t>MAX_NODES:
        raise ValueError(
            f"The trees have {n_nodes} nodes together; no more than {MAX_NODES} can be numbered. "
            "Take fewer trees or a larger min_samples_leaf."
        )
    for i in range(trees.size()):
        tree = &trees[i]
        for k in range(tree.kind.size()):
            tree.child[k] += first_leaf if tree.kind[k] == LEAF else first_node
        for k in range(tree.row_end.size()):
            tree.row_end[k] += first_row
            tree.label_end[k] += first_label
        first_node += <int32_t>tree.kind.size()
        first_leaf += <int32_t>tree.row_end.size()
        first_row += <int64_t>tree.row.size()
        first_label += <int64_t>tree.label.size()


cdef dict _joined(vector[GrownTree]& trees):
    """Join array by array: little more memory than that of the trees and the forest is needed."""
    cdef GrownTree* tree = trees.data()
    cdef size_t i, n = trees.size()
    zero = np.zeros(1, np.int64)
    return {
        "start": np.cumsum([0] + [tree[i].kind.size() for i in range(n)], dtype=np.int64),
        "kind": np.concatenate([as_array[int8_t](tree[i].kind) for i in range(n)]),
        "missing": np.concatenate([as_array[int8_t](tree[i].missing) for i in range(n)]),
        "feature": np.concatenate([as_array[int32_t](tree[i].feature) for i in range(n)]),
        "threshold": np.concatenate([as_array[float](tree[i].threshold) for i in range(n)]),
        "child": np.concatenate([as_array[int32_t](tree[i].child) for i in range(n)]),
        "category_set": np.concatenate(
            [as_array[uint64_t](tree[i].category_set) for i in range(n)]
        ),
        "leaf_weight": np.concatenate([as_array[double](tree[i].leaf_weight) for i in range(n)]),
        "row_start": np.concatenate(
            [zero] + [as_array[int64_t](tree[i].row_end) for i in range(n)]
        ),
        "row": np.concatenate([as_array[int32_t](tree[i].row) for i in range(n)]),
        "label_start": np.concatenate(
            [zero] + [as_array[int64_t](tree[i].label_end) for i in range(n)]
        ),
        "label": np.concatenate([as_array[int32_t](tree[i].label) for i in range(n)]),
        "share": np.concatenate([as_array[float](tree[i].share) for i in range(n)]),
    }
