"""``Kernel``: the arrays of a compiled model and the loops over them (``walk.h``)."""

from functools import partial

import numpy as np

from cpython.buffer cimport (
    PyBUF_FORMAT, PyBUF_STRIDES, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
)
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport elements
from xdcc.kernels.matrix cimport HeldMatrix
from xdcc.kernels.threads cimport run_loop, threads_worth

cdef extern from "walk.h" namespace "xdcc" nogil:
    cdef struct Node:
        pass

    cdef struct Tree:
        int64_t begin
        int64_t end
        const float* start
        const double* mean
        cbool has_unknown

    cdef struct Linear:
        const int32_t* column
        const int32_t* n_values
        const int32_t* indicator
        const double* fill
        const double* weight
        const double* square
        const double* intercept
        cbool text_like

    cdef struct Member:
        int64_t trees_begin
        int64_t trees_end
        int64_t linear_begin
        int64_t linear_end
        double n_estimators
        double share
        const double* slope
        const double* intercept

    cdef struct Chain:
        int64_t n_given
        int64_t n_labels
        int64_t labels_per_round
        cbool all_compete
        cbool by_certainty
        cbool cumulated
        cbool keeps_maximum

    cdef cppclass Compiled:
        int64_t n_features
        int64_t n_labels
        int64_t n_slots
        int64_t n_nodes
        int64_t n_trees
        int32_t n_leaves
        int64_t n_forest_leaves
        int64_t width
        int64_t most_trees
        const int32_t* slot_feature
        const int32_t* slot_start
        const float* slot_missing
        const float* slot_absent
        const Node* nodes
        const int32_t* root
        const uint32_t* sets
        const float* leaf_value
        const int64_t* leaf_start
        const int32_t* leaf_label
        const double* leaf_share
        vector[Tree] trees
        vector[Linear] linear
        vector[Member] members
        const double* slope
        const double* intercept
        cbool has_sets
        cbool is_single
        cbool starts_from_features
        cbool is_chain
        Chain chain
        int64_t NGiven() const
        int64_t NOutputs() const

    cdef struct Rows:
        int64_t n_rows
        int64_t row_stride
        int64_t column_stride
        const char* dense
        cbool is_double
        const float* data
        const int32_t* indices
        const int64_t* indptr

    cdef cppclass Batch:
        cbool walks
        cbool is_useful

    void MakeBatch(const Compiled& model, Batch* batch) except +

    cdef cppclass Flag "std::atomic<bool>":
        cbool load()

    cdef cppclass Call:
        const Compiled* model
        const Batch* batch
        Rows rows
        int64_t block
        double* out
        float* single_out
        Flag is_infinite
        void ChooseBlock(int n_threads)
        void Prepare(int n_threads) except +

    cbool IsCanonical(const Rows& rows, int64_t n_entries, int64_t n_features)
    void PredictBlock(void* data, int64_t number, int thread) noexcept
    void ApplyLogistic(float* values, size_t n)
    void DecideLogistic(const float* margins, size_t n, int64_t* labels)

cdef extern from "labelset_search.h" namespace "xdcc" nogil:
    cdef struct SearchRule:
        int64_t n_beams
        double slack
        double joint
        double prior
        int64_t n_known
        double known_prior

    cdef struct KnownTable:
        int64_t n_sets
        const int8_t* labels
        const double* count

    cdef cppclass Search "xdcc::LabelsetSearch":
        Search(
            const Compiled& model, const Batch* batch, const SearchRule& rule,
            const KnownTable& known
        ) except +
        cbool Decide(const float* margins, int64_t n_rows, int8_t* labels) except +


cdef enum:
    SEARCHED_ROWS = 64     # whose labelsets are searched together
    BATCH_ROWS = 32        # fewer rows are not worth a batch
    BATCH_FEATURES = 8192  # with more features, 64 rows are not copied
    WORTH_THREADS = 65536  # walks through a tree
    SEARCH_ENTRIES = 4194304  # of states of rows that are searched together


INFINITE_MARGINS = "The model predicts margins that are not finite."


cdef class Kernel:
    """Predicts; see ``_kernel.pyi``."""

    cdef Compiled model
    cdef Batch batch
    cdef bint has_batch
    cdef object layout

    def __init__(self, layout):
        cdef Compiled* model = &self.model
        cdef Tree tree
        cdef Linear linear
        cdef Member member
        self.layout = layout
        model.n_features = len(layout.slot_start) - 1
        model.n_labels = layout.n_labels
        model.n_slots = len(layout.slot_feature)
        model.width = layout.width
        model.most_trees = max([part.end - part.begin for part in layout.trees], default=0)
        model.n_nodes = len(layout.nodes)
        model.n_trees = len(layout.root)
        model.n_leaves = len(layout.leaf_value) // layout.width
        model.n_forest_leaves = len(layout.leaf_start) - 1
        model.slot_feature = elements[int32_t](layout.slot_feature)
        model.slot_start = elements[int32_t](layout.slot_start)
        model.slot_missing = elements[float](layout.slot_missing)
        model.slot_absent = elements[float](layout.slot_absent)
        model.nodes = <const Node*>elements[int32_t](layout.nodes.ravel())
        model.root = elements[int32_t](layout.root)
        model.sets = <const uint32_t*>elements[int32_t](layout.sets)
        model.leaf_value = elements[float](layout.leaf_value)
        model.leaf_start = elements[int64_t](layout.leaf_start)
        model.leaf_label = elements[int32_t](layout.leaf_label)
        model.leaf_share = elements[double](layout.leaf_share)
        model.slope = elements[double](layout.slope)
        model.intercept = elements[double](layout.intercept)
        model.has_sets = len(layout.sets) > 0
        model.is_single = layout.is_single
        model.starts_from_features = layout.starts_from_features
        model.is_chain = layout.chain is not None
        if layout.chain is not None:
            chain = layout.chain
            model.chain.n_labels = model.n_labels - chain.end_label
            model.chain.n_given = model.n_features - model.n_labels
            model.chain.labels_per_round = chain.rule.labels_per_round
            model.chain.all_compete = chain.rule.candidates == "all"
            model.chain.by_certainty = chain.rule.order == "certainty"
            model.chain.cumulated = chain.prediction == "cumulated"
            model.chain.keeps_maximum = chain.cumulation == "authors"
        for part in layout.trees:
            tree.begin, tree.end = part.begin, part.end
            tree.start = elements[float](part.start)
            tree.mean = elements[double](part.mean)
            tree.has_unknown = part.has_unknown
            model.trees.push_back(tree)
        for part in layout.linear:
            linear.column = elements[int32_t](part.column)
            linear.n_values = elements[int32_t](part.n_values)
            linear.indicator = elements[int32_t](part.indicator)
            linear.fill = elements[double](part.fill)
            linear.weight = elements[double](part.weight)
            linear.square = elements[double](part.square)
            linear.intercept = elements[double](part.intercept)
            linear.text_like = part.text_like
            model.linear.push_back(linear)
        for part in layout.members:
            member.trees_begin, member.trees_end = part.trees
            member.linear_begin, member.linear_end = part.linear
            member.n_estimators, member.share = part.n_estimators, part.share
            member.slope = elements[double](part.slope)
            member.intercept = elements[double](part.intercept)
            model.members.push_back(member)

    def __reduce__(self):
        return type(self), (self.layout,)

    def predict(self, X, int n_threads):
        cdef Call call
        cdef HeldMatrix held
        cdef Py_buffer buffer
        cdef bint is_buffer = PyObject_CheckBuffer(X)
        if is_buffer:
            PyObject_GetBuffer(X, &buffer, PyBUF_FORMAT | PyBUF_STRIDES)
            try:
                if (
                    buffer.ndim != 2
                    or buffer.shape[0] == 0
                    or buffer.shape[1] != self.model.NGiven()
                    or (buffer.format[0] != b"f" and buffer.format[0] != b"d")
                    or buffer.format[1] != 0
                ):
                    return None
                call.rows.n_rows = buffer.shape[0]
                call.rows.dense = <const char*>buffer.buf
                call.rows.is_double = buffer.format[0] == b"d"
                call.rows.row_stride = buffer.strides[0]
                call.rows.column_stride = buffer.strides[1]
                return self._predicted(&call, n_threads)
            finally:
                PyBuffer_Release(&buffer)
        held = HeldMatrix(X, "C", "csr")
        if held.matrix.n_features != self.model.NGiven() or held.matrix.n_rows == 0:
            return None
        call.rows.n_rows = held.matrix.n_rows
        call.rows.dense = NULL
        call.rows.data = held.matrix.data
        call.rows.indices = held.matrix.indices
        call.rows.indptr = held.matrix.indptr
        if len(X.indptr) != call.rows.n_rows + 1 or not IsCanonical(
            call.rows, min(len(X.data), len(X.indices)), held.matrix.n_features
        ):
            return None
        return self._predicted(&call, n_threads)

    cdef const Batch* _batch(self) except? NULL:
        """Return the tables for batches, which the first batch makes; NULL if there are none."""
        if not self.has_batch:
            MakeBatch(self.model, &self.batch)
            self.has_batch = True
        return &self.batch if self.batch.is_useful else NULL

    cdef object _predicted(self, Call* call, int n_threads):
        cdef const Compiled* model = &self.model
        cdef int64_t n_rows = call.rows.n_rows, n_blocks
        cdef float[:, ::1] single
        cdef double[:, ::1] out
        cdef bint is_float = model.is_single or model.is_chain
        found = np.empty((n_rows, model.NOutputs()), np.float32 if is_float else np.float64)
        if is_float:
            single = found
            call.single_out = &single[0, 0]
        else:
            out = found
            call.out = &out[0, 0]
        call.model = model
        if n_rows >= BATCH_ROWS and (
            call.rows.dense == NULL or model.n_features <= BATCH_FEATURES
        ):
            call.batch = self._batch()
        n_threads = threads_worth(n_threads, <double>n_rows * len(self.layout.root), WORTH_THREADS)
        call.ChooseBlock(n_threads)
        n_blocks = (n_rows + call.block - 1) // call.block
        n_threads = <int>min(<int64_t>n_threads, n_blocks)
        call.Prepare(n_threads)
        with nogil:
            run_loop(n_blocks, 1, n_threads, PredictBlock, call)
        return None if call.is_infinite.load() else found


cdef class LabelsetSearch:
    """Searches labelsets; see ``_kernel.pyi``."""

    cdef Kernel kernel
    cdef SearchRule rule
    cdef KnownTable known
    cdef object arrays

    def __init__(
        self, Kernel kernel, const int8_t[:, ::1] labelsets, const double[::1] counts, *,
        n_beams, slack, joint, prior, n_known, known_prior,
    ):
        if labelsets.shape[1] != kernel.model.n_labels or labelsets.shape[0] != counts.shape[0]:
            raise ValueError("The known labelsets do not fit the booster.")
        if kernel.model.n_features != 2 * kernel.model.n_labels or not kernel.model.is_single:
            raise ValueError("The booster is not one of an order-free chain.")
        self.kernel = kernel
        self.rule.n_beams, self.rule.slack, self.rule.joint = n_beams, slack, joint
        self.rule.prior, self.rule.n_known, self.rule.known_prior = prior, n_known, known_prior
        self.arrays = labelsets.base, counts.base
        self.known.n_sets = counts.shape[0]
        if self.known.n_sets:
            self.known.labels, self.known.count = &labelsets[0, 0], &counts[0]

    def __reduce__(self):
        return partial(type(self), **self.rule), (self.kernel, *self.arrays)

    def decide(self, margins):
        cdef const float[:, ::1] margins_here = np.ascontiguousarray(margins, dtype=np.float32)
        cdef const Compiled* model = &self.kernel.model
        cdef int64_t n_rows = margins_here.shape[0], n_labels = model.n_labels, begin, n_here, block
        cdef Search* search
        cdef int8_t[:, ::1] labels
        cdef cbool is_finite = True
        if margins_here.shape[1] != n_labels:
            raise ValueError(f"margins has {margins_here.shape[1]} columns for {n_labels} labels.")
        found = np.empty((n_rows, n_labels), dtype=np.int8)
        labels = found
        block = SEARCH_ENTRIES // (2 * n_labels * n_labels * self.rule.n_beams)
        block = min(max(block, 1), SEARCHED_ROWS)
        search = new Search(model[0], self.kernel._batch(), self.rule, self.known)
        try:
            with nogil:
                begin = 0
                while begin < n_rows and is_finite:
                    n_here = min(block, n_rows - begin)
                    is_finite = search.Decide(&margins_here[begin, 0], n_here, &labels[begin, 0])
                    begin += n_here
        finally:
            del search
        if not is_finite:
            raise ValueError(INFINITE_MARGINS)
        return found


def logistic(float[:, ::1] margins):
    """Turn margins into probabilities, in place; see ``_kernel.pyi``."""
    if margins.shape[0] and margins.shape[1]:
        ApplyLogistic(&margins[0, 0], margins.shape[0] * margins.shape[1])


def logistic_labels(const float[:, ::1] margins):
    """Decide labels by their margins; see ``_kernel.pyi``."""
    found = np.empty((margins.shape[0], margins.shape[1]), np.int64)
    cdef int64_t[:, ::1] labels = found
    if margins.shape[0] and margins.shape[1]:
        DecideLogistic(&margins[0, 0], margins.shape[0] * margins.shape[1], &labels[0, 0])
    return found
