"""Kernel that grows random decision trees: one per seed, threads over trees.

``_tree_growth.pxd`` is how one tree grows, from what ``_training.pxd`` describes. A tree depends on
its seed alone, not on the thread that grows it. At last the trees, in the order of their seeds, are
made to refer to their places in one set of arrays (``_grown_tree.pxd``).
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.categories cimport categories_of
from xdcc.kernels.matrix cimport HeldMatrix
from xdcc.rdt._grown_tree cimport GrownTree, TreePlace, go_behind, move_references
from xdcc.rdt._node cimport DISCRETE, DISJUNCTION, LABEL, LEAF, NUMERIC
from xdcc.rdt._training cimport Training
from xdcc.rdt._tree_growth cimport grow_tree

KINDS = {"leaf": LEAF, "numeric": NUMERIC, "discrete": DISCRETE, "label": LABEL,
         "disjunction": DISJUNCTION}

MAX_NODES = np.iinfo(np.int32).max


def grow(X, categories, is_sparse, Y, labelset, shape, seeds, n_threads):
    """Grow one tree per seed; see ``_forest_growing.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "F", "csc")
    cdef const uint8_t[::1] is_sparse_view = is_sparse
    cdef const int32_t[::1] sparse_view = np.flatnonzero(is_sparse).astype(np.int32)
    cdef const uint8_t[::1, :] Y_view = Y
    cdef const int32_t[::1] labelset_view = labelset
    cdef Training training
    training.X = held.matrix
    training.categories = categories_of(categories[0], categories[1])
    training.is_sparse = &is_sparse_view[0]
    training.sparse_feature = &sparse_view[0] if sparse_view.shape[0] else NULL
    training.n_sparse = sparse_view.shape[0]
    training.Y = &Y_view[0, 0]
    training.n_labels = Y_view.shape[1]
    training.labelset = &labelset_view[0]
    training.n_labelsets = np.max(labelset) + 1
    training.max_depth = shape.max_depth
    training.min_samples_split = shape.min_samples_split
    training.label_test_fraction = shape.label_test_fraction
    training.disjunction_size = shape.disjunction_size
    training.retry = shape.retry
    cdef const uint64_t[::1] seed = seeds
    cdef const Training* source = &training
    cdef int64_t i, n_trees = seed.shape[0]
    cdef int threads = n_threads
    cdef vector[GrownTree] trees
    trees.resize(n_trees)
    for i in prange(n_trees, nogil=True, schedule="dynamic", chunksize=1, num_threads=threads):
        grow_tree(&trees[i], source, seed[i])
    _move_references(trees)
    return _joined(trees)


cdef _move_references(vector[GrownTree]& trees):
    """Let every tree refer to where it will be behind those before it."""
    cdef size_t i, n_nodes = 0
    cdef TreePlace place = TreePlace(0, 0, 0, 0, 0)
    for i in range(trees.size()):
        n_nodes += trees[i].kind.size()
    if n_nodes > <size_t>MAX_NODES:
        raise ValueError(
            f"The trees have {n_nodes} nodes together; no more than {MAX_NODES} can be numbered. "
            "Take fewer trees, a smaller max_depth or a larger min_samples_split."
        )
    for i in range(trees.size()):
        move_references(&trees[i], &place)
        go_behind(&place, &trees[i])


cdef dict _joined(vector[GrownTree]& trees):
    """Join array by array: little more memory than that of the trees and the forest is needed.

    Taking tree by tree apart is shorter, and made the fit of small data 10 % slower.
    """
    cdef GrownTree* tree = trees.data()
    cdef size_t i, n = trees.size()
    zero = np.zeros(1, np.int64)
    return {
        "start": np.cumsum([0] + [tree[i].kind.size() for i in range(n)], dtype=np.int64),
        "kind": np.concatenate([
            as_array(tree[i].kind.data(), tree[i].kind.size())
            for i in range(n)
        ]),
        "index": np.concatenate([
            as_array(tree[i].index.data(), tree[i].index.size())
            for i in range(n)
        ]),
        "threshold": np.concatenate([
            as_array(tree[i].threshold.data(), tree[i].threshold.size())
            for i in range(n)
        ]),
        "value": np.concatenate([
            as_array(tree[i].value.data(), tree[i].value.size())
            for i in range(n)
        ]),
        "child": np.concatenate([
            as_array(tree[i].child.data(), tree[i].child.size())
            for i in range(n)
        ]),
        "branches": np.concatenate([
            as_array(tree[i].branches.data(), tree[i].branches.size())
            for i in range(n)
        ]),
        "disjunction": np.concatenate([
            as_array(tree[i].disjunction.data(), tree[i].disjunction.size())
            for i in range(n)
        ]),
        "leaf_size": np.concatenate([
            as_array(tree[i].leaf_size.data(), tree[i].leaf_size.size())
            for i in range(n)
        ]),
        "label_start": np.concatenate([zero] + [
            as_array(tree[i].label_end.data(), tree[i].label_end.size())
            for i in range(n)
        ]),
        "label": np.concatenate([
            as_array(tree[i].label.data(), tree[i].label.size())
            for i in range(n)
        ]),
        "label_count": np.concatenate([
            as_array(tree[i].label_count.data(), tree[i].label_count.size())
            for i in range(n)
        ]),
        "labelset_start": np.concatenate([zero] + [
            as_array(tree[i].labelset_end.data(), tree[i].labelset_end.size())
            for i in range(n)
        ]),
        "labelset": np.concatenate([
            as_array(tree[i].labelset.data(), tree[i].labelset.size())
            for i in range(n)
        ]),
        "labelset_count": np.concatenate([
            as_array(tree[i].labelset_count.data(), tree[i].labelset_count.size())
            for i in range(n)
        ]),
    }
