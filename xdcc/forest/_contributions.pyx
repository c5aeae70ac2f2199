"""Kernel that explains a forest: SHAP values of sums over its leaves, by the paths of the trees.

A feature that is not given takes both branches of its tests, weighted by the training rows that did
(path-dependent TreeSHAP). For a leaf, let o_i be 1 if the row passes all tests of feature i on the
path, else 0, and z_i the product of the shares of training rows that do. The leaf's weight given
the features in S is the product of o_i over S and of z_i over the others. The Shapley value of
feature i in this game is an integral over t from 0 to 1,

    (o_i - z_i) / (o_i t + z_i (1 - t)) * prod_k (o_k t + z_k (1 - t)),

a polynomial whose degree is below the number of features on the path, so Gauss and Legendre's
quadrature is exact. All factors are positive: nothing cancels. Products are passed down the tree;
a leaf adds its weights to the features on its path, times its values. Threads go over rows.
"""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.forest._node cimport LEAF
from xdcc.forest.nodes cimport Nodes, child_of, nodes_of
from xdcc.kernels.arrays cimport elements
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.matrix cimport load_row, unload_row
from xdcc.kernels.threads cimport run_loop


cdef cppclass Explainer:
    """Working memory of a thread."""
    vector[float] memory           # features, if X is sparse
    vector[double] zero            # [n_features]: z of the path; 1 for features not on it
    vector[double] one             # [n_features]: o of the path; 1 for features not on it
    vector[int32_t] place          # [n_features]: where the feature is in `path`; -1: nowhere
    vector[int32_t] path           # the features on the path
    vector[double] ratio           # [longest path, n_points]: (o - z) / (o t + z (1 - t))
    vector[double] product         # [longest path + 1, n_points]: of the factors, by depth


cdef struct Explanation:
    # The loop of `contributions`.
    const Nodes* nodes
    const Matrix* X
    Explainer* explainers          # [n_threads]
    const double* weight           # [n_nodes]: of the training rows
    const int64_t* leaf_start      # leaf k has the entries from leaf_start[k] on
    const int32_t* label
    const double* value
    const double* point            # [n_points]: of the quadrature
    const double* point_weight
    int64_t n_points
    int64_t n_trees
    int64_t n_labels
    double* found                  # [n_rows, n_labels, n_features]


cdef void add_leaf(
    const Explanation* all, Explainer* own, int64_t leaf, const double* product, double* found
) noexcept nogil:
    """Add the contributions of a leaf to those of the features on the path."""
    cdef int64_t begin = all.leaf_start[leaf], end = all.leaf_start[leaf + 1], entry, q
    cdef size_t k
    cdef const double* ratio
    cdef double weight
    if begin == end:
        return
    for k in range(own.path.size()):
        ratio = own.ratio.data() + k * all.n_points
        weight = 0
        for q in range(all.n_points):
            weight += all.point_weight[q] * product[q] * ratio[q]
        for entry in range(begin, end):
            found[all.label[entry] * all.X.n_features + own.path[k]] += weight * all.value[entry]


cdef void explain_below(
    const Explanation* all, Explainer* own, int64_t node, int64_t depth, const float* x,
    double* found,
) noexcept nogil:
    """Explain the leaves below a node."""
    cdef double* product = own.product.data() + depth * all.n_points
    cdef double* below = product + all.n_points
    cdef double* ratio
    cdef double zero, one, zero_below, one_below, t, after
    cdef int64_t feature, chosen, child, q
    cdef int32_t place
    cdef bint is_new
    if all.nodes.kind[node] == LEAF:
        add_leaf(all, own, all.nodes.child[node], product, found)
        return
    feature = all.nodes.feature[node]
    chosen = child_of(all.nodes, node, x)
    is_new = own.place[feature] < 0
    if is_new:
        own.place[feature] = <int32_t>own.path.size()
        own.path.push_back(<int32_t>feature)
    zero, one = own.zero[feature], own.one[feature]
    ratio = own.ratio.data() + own.place[feature] * all.n_points
    for child in range(all.nodes.child[node], all.nodes.child[node] + 2):
        zero_below = zero * all.weight[child] / all.weight[node]
        one_below = one if child == chosen else 0
        for q in range(all.n_points):
            t = all.point[q]
            after = one_below * t + zero_below * (1 - t)
            below[q] = product[q] * after / (one * t + zero * (1 - t))
            ratio[q] = (one_below - zero_below) / after
        own.zero[feature], own.one[feature] = zero_below, one_below
        explain_below(all, own, child, depth + 1, x, found)
    own.zero[feature], own.one[feature] = zero, one
    if is_new:
        own.path.pop_back()
        own.place[feature] = -1
    else:
        for q in range(all.n_points):
            t = all.point[q]
            ratio[q] = (one - zero) / (one * t + zero * (1 - t))


cdef void explain_row(void* data, int64_t row, int thread) noexcept nogil:
    """Explain a row by all trees."""
    cdef const Explanation* all = <const Explanation*>data
    cdef Explainer* own = all.explainers + thread
    cdef const float* x = load_row(all.X, &own.memory, row)
    cdef double* found = all.found + row * all.n_labels * all.X.n_features
    cdef int64_t tree, q
    for tree in range(all.n_trees):
        for q in range(all.n_points):
            own.product[q] = 1
        explain_below(all, own, all.nodes.start[tree], 0, x, found)
    unload_row(all.X, &own.memory, row)


cdef int64_t weigh(
    const Nodes* nodes, const double* leaf_weight, double* weight, int64_t node
) noexcept nogil:
    """Add up the weights of the leaves below a node, and return how deep the deepest is."""
    cdef int64_t left, right, child = nodes.child[node]
    if nodes.kind[node] == LEAF:
        weight[node] = leaf_weight[child]
        return 0
    left = weigh(nodes, leaf_weight, weight, child)
    right = weigh(nodes, leaf_weight, weight, child + 1)
    weight[node] = weight[child] + weight[child + 1]
    return 1 + max(left, right)


def contributions(forest, X, leaf_values, n_threads):
    """SHAP values of the sums of the leaves that rows reach; see ``_contributions.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef Nodes nodes
    cdef Explanation explanation
    cdef int64_t tree, depth = 0
    cdef int64_t n_features = held.matrix.n_features
    cdef int threads = n_threads, i
    set_number = forest.set_number
    nodes = nodes_of(forest, set_number)
    weight = np.empty(len(forest.kind))
    leaf_start = leaf_values.indptr.astype(np.int64)
    label, value = leaf_values.indices.astype(np.int32), leaf_values.data.astype(np.float64)
    cdef const double* leaf_weight = elements[double](forest.leaf_weight)
    cdef double[::1] weight_view = weight
    for tree in range(len(forest.start) - 1):
        depth = max(depth, weigh(&nodes, leaf_weight, &weight_view[0], nodes.start[tree]))
    # On a path there are at most this many features.
    points, point_weights = np.polynomial.legendre.leggauss(max(1, (min(depth, n_features) + 1) // 2))
    points, point_weights = (points + 1) / 2, point_weights / 2
    found = np.zeros((held.matrix.n_rows, leaf_values.shape[1], n_features))
    cdef double[:, :, ::1] found_view = found
    explanation.nodes = &nodes
    explanation.X = &held.matrix
    explanation.weight = &weight_view[0]
    explanation.leaf_start = elements[int64_t](leaf_start)
    explanation.label = elements[int32_t](label)
    explanation.value = elements[double](value)
    explanation.point = elements[double](points)
    explanation.point_weight = elements[double](point_weights)
    explanation.n_points = len(points)
    explanation.n_trees = len(forest.start) - 1
    explanation.n_labels = leaf_values.shape[1]
    explanation.found = &found_view[0, 0, 0]
    cdef vector[Explainer] explainers = vector[Explainer](threads)
    for i in range(threads):
        explainers[i].zero.assign(n_features, 1)
        explainers[i].one.assign(n_features, 1)
        explainers[i].place.assign(n_features, -1)
        explainers[i].ratio.resize(min(depth, n_features) * explanation.n_points)
        explainers[i].product.resize((depth + 2) * explanation.n_points)
    explanation.explainers = explainers.data()
    with nogil:
        run_loop(held.matrix.n_rows, 1, threads, explain_row, &explanation)
    return found
