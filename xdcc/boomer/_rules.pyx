"""Kernels of BOOMER: learning one rule after the other, and adding rules' scores.

``RuleLearner`` keeps the scores, gradients and Hessians of the training rows. ``learn`` draws a
sample, refines a rule condition by condition (``search.h`` finds the best condition on an
attribute; threads over attributes), recomputes the head on all rows, and updates the covered
rows. All that is random comes from the rule's own seed, so that a rule does not depend on how
the rules before it were asked for. ``add_scores`` adds rules to the scores of any rows.

(More than 300 lines: sampling, refinement, head and update of a rule share the same state.)
"""

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport exp, fabs, isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector
from scipy.linalg.cython_lapack cimport dppsv, dspsv

from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.random cimport draw_below
from xdcc.kernels.rows cimport load_row, unload_row
from xdcc.kernels.threads cimport threads_worth

cdef extern from "search.h" namespace "xdcc_boomer" nogil:
    cdef enum Relation:
        kAtMost
        kAbove
        kEqual
        kUnequal

    cdef enum Quality:
        kOneLabel
        kBestLabel
        kSumLabels
        kSystem

    cdef cppclass Column:
        const int32_t* row
        const float* value
        int64_t n_stored
        int64_t n_missing
        bint nominal

    cdef cppclass Node:
        Quality quality
        const uint8_t* inside
        int64_t n_inside
        int64_t min_coverage
        const double* statistics
        const double* weight
        const double* total
        int64_t K
        int64_t n_labels
        double l2
        const double* hessian
        const double* spread
        double bin_share

    cdef cppclass Candidate:
        double gain
        int64_t order
        int32_t label
        float threshold
        Relation relation

    cdef cppclass Scratch:
        Scratch()

    void begin(const Node& node, Scratch& s, double gain)
    void search(const Node& node, const Column& column, Scratch& s, Candidate* best)
    void finish(const Node& node, Scratch& s)
    void sum_rows(const double* statistics, const double* weight, int64_t width,
                  int64_t n_labels, const int32_t* rows, int64_t n, double* total,
                  double* hessian, double* spread)

    cdef cppclass Bins:
        Bins()

    double solve_bins(const double* hessian, const double* spread, const double* total,
                      const double* total_spread, int64_t K, const double* g, int64_t n,
                      double l2, double share, double* head, Bins& s)

cdef enum:
    LOGISTIC_LABEL_WISE = 0
    LOGISTIC_EXAMPLE_WISE = 1
    SQUARED_LABEL_WISE = 2
    SQUARED_HINGE_LABEL_WISE = 3

LOSSES = {
    "logistic_label_wise": LOGISTIC_LABEL_WISE,
    "logistic_example_wise": LOGISTIC_EXAMPLE_WISE,
    "squared_label_wise": SQUARED_LABEL_WISE,
    "squared_hinge_label_wise": SQUARED_HINGE_LABEL_WISE,
}

RELATIONS = ("<=", ">", "=", "!=")

# Additions of a search that threads are worth: a millisecond or more.
cdef int64_t _WORK_FOR_THREADS = 3000000
# The same in prediction, in rules times rows.
cdef int64_t _CHECKS_FOR_THREADS = 100000


cdef inline bint _holds(float value, int8_t relation, float threshold) noexcept nogil:
    """Whether a condition covers a value; none covers a missing one."""
    if relation == kAtMost:
        return value <= threshold
    if relation == kAbove:
        return value > threshold
    if relation == kEqual:
        return value == threshold
    return value != threshold and not isnan(value)


cdef class RuleLearner:
    """Learns rules one by one; see ``_rules.pyi``."""

    cdef readonly object scores
    cdef readonly object coverage
    cdef const int64_t[::1] start
    cdef const int64_t[::1] known_end
    cdef const int32_t[::1] row
    cdef const float[::1] value
    cdef const uint8_t[::1] nominal
    cdef const int64_t[::1] n_distinct
    cdef const uint8_t[:, ::1] Y
    cdef double[:, ::1] score
    cdef int64_t[::1] n_covering
    cdef double[:, ::1] statistic
    cdef double[:, ::1] label_statistic
    cdef double[::1] weight
    cdef double[::1] ones
    cdef uint8_t[::1] inside
    cdef uint8_t[::1] holds
    cdef uint8_t[::1] drawn
    cdef double[::1] total
    cdef double[::1] total_hessian
    cdef double[::1] total_spread
    cdef vector[int32_t] sampled
    cdef vector[int32_t] covered
    cdef vector[int32_t] attributes
    cdef vector[Scratch] scratch
    cdef vector[Candidate] found
    cdef vector[double] packed
    cdef Bins bins
    cdef vector[int] pivots
    cdef int loss
    cdef bint complete
    cdef bint system
    cdef double l2
    cdef double learning_rate
    cdef double bin_share
    cdef int64_t max_conditions
    cdef int64_t min_coverage
    cdef int threads
    cdef int64_t n_rows
    cdef int64_t n_features
    cdef int64_t n_labels
    cdef int64_t K

    def __init__(self, columns, Y, scores, coverage, loss, complete, l2, learning_rate, bin_share,
                 max_conditions, min_coverage, n_threads):
        self.start = columns.start
        self.known_end = columns.known_end
        self.row = columns.row
        self.value = columns.value
        self.nominal = columns.nominal
        self.n_distinct = columns.n_distinct
        self.Y = Y
        self.n_rows = Y.shape[0]
        self.n_labels = Y.shape[1]
        self.n_features = self.nominal.shape[0]
        self.K = (self.n_labels + 3) // 4 * 4
        self.scores = scores
        self.coverage = coverage
        self.score = scores
        self.n_covering = coverage
        self.loss = LOSSES[loss]
        self.complete = complete
        self.system = complete and self.loss == LOGISTIC_EXAMPLE_WISE
        self.l2 = l2
        self.learning_rate = learning_rate
        self.bin_share = bin_share
        self.max_conditions = max_conditions
        self.min_coverage = min_coverage
        self.threads = n_threads
        self.statistic = np.zeros((self.n_rows, 2 * self.K))
        self.label_statistic = np.zeros((0 if complete else self.n_rows, 2))
        self.weight = np.zeros(self.n_rows)
        self.ones = np.ones(self.n_rows)
        self.inside = np.zeros(self.n_rows, np.uint8)
        self.holds = np.zeros(self.n_rows, np.uint8)
        self.drawn = np.zeros(self.n_features, np.uint8)
        self.total = np.zeros(2 * self.K)
        # The default rule's head takes a linear system whatever the other heads are.
        self.total_hessian = np.zeros(self.K**2 if self.loss == LOGISTIC_EXAMPLE_WISE else 1)
        self.total_spread = np.zeros(self.K)
        self.scratch.resize(n_threads)
        cdef int64_t i
        for i in range(self.n_rows):
            self._differentiate(i, -1)

    def statistics(self):
        """Gradients and what is kept of the Hessians, [n_rows, n_labels] each."""
        both = np.asarray(self.statistic)
        return (both[:, :self.n_labels].copy(),
                both[:, self.K:self.K + self.n_labels].copy())

    def default_rule(self):
        """Head of the rule that covers every row, not shrunk; the scores are updated."""
        cdef int64_t i
        self.covered.resize(self.n_rows)
        for i in range(self.n_rows):
            self.covered[i] = <int32_t>i
        head = np.zeros(self.n_labels)
        cdef double[::1] view = head
        # The default rule has no bins: it is complete whatever the others are.
        self._find_head(-1, self.loss == LOGISTIC_EXAMPLE_WISE, 0, &view[0])
        self._apply(-1, &view[0])
        return head

    def learn(self, bootstrap, n_attributes, seed):
        """Learn a rule; None if no condition divides the rows. See ``_rules.pyi``."""
        cdef uint64_t state = seed
        cdef vector[int32_t] feature
        cdef vector[int8_t] relation
        cdef vector[float] threshold
        cdef int32_t label = -1
        cdef bint sample = bootstrap
        cdef int64_t i, n_drawn = n_attributes
        with nogil:
            self._refine(sample, n_drawn, &state, &feature, &relation, &threshold, &label)
            if feature.empty() and n_drawn < self.n_features:
                # The attributes drawn are constant in the sample: others may not be.
                self._refine(sample, self.n_features, &state, &feature, &relation, &threshold,
                             &label)
            if feature.empty() and sample:
                self._refine(False, self.n_features, &state, &feature, &relation, &threshold,
                             &label)
        if feature.empty():
            return None
        head = np.zeros(self.n_labels if self.complete else 1)
        cdef double[::1] view = head
        self._find_head(label, self.system, self.bin_share, &view[0])
        for i in range(view.shape[0]):
            view[i] *= self.learning_rate
        self._apply(label, &view[0])
        return (
            np.array([feature[i] for i in range(<int64_t>feature.size())], np.int32),
            np.array([relation[i] for i in range(<int64_t>relation.size())], np.int8),
            np.array([threshold[i] for i in range(<int64_t>threshold.size())], np.float32),
            label,
            head,
            <int64_t>self.covered.size(),
        )

    cdef void _differentiate(self, int64_t i, int64_t label) noexcept nogil:
        """Gradient and Hessian of a row; of one label only where that is enough."""
        cdef int64_t k, first = 0, end = self.n_labels
        cdef const uint8_t* y = &self.Y[i, 0]
        cdef const double* score = &self.score[i, 0]
        cdef double* g = &self.statistic[i, 0]
        cdef double* h = &self.statistic[i, self.K]
        cdef double s, p, most = 0, total, none
        if self.loss == LOGISTIC_EXAMPLE_WISE:
            for k in range(end):
                s = -score[k] if y[k] else score[k]
                g[k] = s
                if s > most:
                    most = s
            none = exp(-most)
            total = none
            for k in range(end):
                g[k] = exp(g[k] - most)
                total += g[k]
            for k in range(end):
                p = g[k] / total
                # A system's bounds use p0 p, a single label its own second derivative.
                h[k] = p * (none / total) if self.complete else p * ((total - g[k]) / total)
                g[k] = -p if y[k] else p
            return
        if label >= 0:
            first = label
            end = label + 1
        if self.loss == LOGISTIC_LABEL_WISE:
            for k in range(first, end):
                # The smaller of the two probabilities, without overflow.
                s = exp(-fabs(score[k]))
                p = s / (1 + s)
                h[k] = p * (1 - p)
                if (score[k] > 0) == y[k]:
                    g[k] = -p if y[k] else p
                else:
                    g[k] = p - 1 if y[k] else 1 - p
        elif self.loss == SQUARED_LABEL_WISE:
            for k in range(first, end):
                g[k] = 2 * (score[k] - (1 if y[k] else -1))
                h[k] = 2
        else:
            for k in range(first, end):
                s = 1 - (score[k] if y[k] else -score[k])
                if s > 0:
                    g[k] = -2 * s if y[k] else 2 * s
                    h[k] = 2
                else:
                    g[k] = 0
                    h[k] = 0

    cdef void _refine(self, bint bootstrap, int64_t n_attributes, uint64_t* state,
                      vector[int32_t]* feature, vector[int8_t]* relation,
                      vector[float]* threshold, int32_t* label) noexcept nogil:
        """Algorithm 3: add the best condition as long as the rule gets better."""
        cdef Candidate best
        cdef Node node
        cdef int64_t i
        cdef int32_t f
        self._draw_sample(bootstrap, state)
        node.quality = kSystem if self.system else (kSumLabels if self.complete else kBestLabel)
        node.inside = &self.inside[0]
        node.min_coverage = self.min_coverage
        node.statistics = &self.statistic[0, 0]
        node.total = &self.total[0]
        node.K = self.K
        node.n_labels = self.n_labels
        node.l2 = self.l2
        node.weight = &self.weight[0]
        node.hessian = &self.total_hessian[0]
        node.spread = &self.total_spread[0]
        node.bin_share = self.bin_share
        best.gain = 0
        while self.max_conditions < 0 or <int64_t>feature.size() < self.max_conditions:
            node.n_inside = <int64_t>self.sampled.size()
            sum_rows(node.statistics, node.weight, 2 * node.K, node.n_labels, self.sampled.data(),
                     node.n_inside, &self.total[0],
                     &self.total_hessian[0] if self.system else NULL, &self.total_spread[0])
            self._draw_attributes(n_attributes, state)
            f = self._best_condition(&node, &best)
            if f < 0:
                break
            feature.push_back(f)
            relation.push_back(<int8_t>best.relation)
            threshold.push_back(best.threshold)
            self._restrict(f, <int8_t>best.relation, best.threshold)
            if node.quality == kBestLabel:
                # From now on only this label counts.
                label[0] = best.label
                for i in range(<int64_t>self.sampled.size()):
                    f = self.sampled[i]
                    self.label_statistic[f, 0] = self.statistic[f, best.label]
                    self.label_statistic[f, 1] = self.statistic[f, self.K + best.label]
                node.quality = kOneLabel
                node.statistics = &self.label_statistic[0, 0]
                node.K = 1
                node.n_labels = 1
        for i in range(<int64_t>self.sampled.size()):
            self.inside[self.sampled[i]] = 0

    cdef void _draw_sample(self, bint bootstrap, uint64_t* state) noexcept nogil:
        """Draw as many rows as there are, with replacement; all rows if not `bootstrap`."""
        cdef int64_t i, n = self.n_rows, n_sampled = 0
        for i in range(n):
            self.weight[i] = not bootstrap
        if bootstrap:
            for i in range(n):
                self.weight[draw_below(state, n)] += 1
        self.covered.resize(n)
        self.sampled.resize(n)
        for i in range(n):
            self.covered[i] = <int32_t>i
            self.inside[i] = self.weight[i] > 0
            self.sampled[n_sampled] = <int32_t>i
            n_sampled += self.inside[i]
        self.sampled.resize(n_sampled)

    cdef void _draw_attributes(self, int64_t n, uint64_t* state) noexcept nogil:
        """Draw `n` different attributes (Floyd's method), sorted."""
        cdef int64_t i, j
        self.attributes.clear()
        if n >= self.n_features:
            for j in range(self.n_features):
                self.attributes.push_back(<int32_t>j)
            return
        for j in range(self.n_features - n, self.n_features):
            i = draw_below(state, j + 1)
            if self.drawn[i]:
                i = j
            self.drawn[i] = 1
            self.attributes.push_back(<int32_t>i)
        sort(self.attributes.begin(), self.attributes.end())
        for i in range(n):
            self.drawn[self.attributes[i]] = 0

    cdef int32_t _best_condition(self, const Node* node, Candidate* best) noexcept nogil:
        """Search all drawn attributes; -1 if no condition makes the rule better."""
        cdef int64_t a, n = <int64_t>self.attributes.size(), work = 0
        cdef int threads
        cdef Candidate none
        cdef Scratch* own = self.scratch.data()
        cdef Candidate* found
        cdef int32_t winner = -1
        none.gain = best.gain
        none.order = -1
        none.label = -1
        self.found.assign(n, none)
        found = self.found.data()
        for a in range(n):
            work += self._work(node, self.attributes[a])
        threads = threads_worth(self.threads, <double>work, <double>_WORK_FOR_THREADS)
        with nogil, parallel(num_threads=threads):
            begin(node[0], own[threadid()], best.gain)
            for a in prange(n, schedule="dynamic", chunksize=1):
                self._search(node, self.attributes[a], &own[threadid()], &found[a])
            finish(node[0], own[threadid()])
        for a in range(n):
            if found[a].gain > best.gain:
                best[0] = found[a]
                winner = self.attributes[a]
        return winner

    cdef int64_t _work(self, const Node* node, int32_t f) noexcept nogil:
        """Additions that the search on an attribute takes, roughly."""
        cdef int64_t K = node.K
        cdef int64_t n_rows = min(self.known_end[f] - self.start[f], node.n_inside)
        cdef int64_t n_steps = min(self.n_distinct[f], node.n_inside)
        if not self.system:
            return n_rows * 2 * K
        return n_rows * (2 * K + K * K // 8) + n_steps * K * K * K // 12

    cdef void _search(self, const Node* node, int32_t f, Scratch* s,
                      Candidate* best) noexcept nogil:
        cdef Column column
        cdef int64_t at = self.start[f]
        if self.start[f + 1] == at:
            return
        column.row = &self.row[at]
        column.value = &self.value[at]
        column.n_stored = self.known_end[f] - at
        column.n_missing = self.start[f + 1] - self.known_end[f]
        column.nominal = self.nominal[f]
        search(node[0], column, s[0], best)

    cdef void _restrict(self, int32_t f, int8_t relation, float threshold) noexcept nogil:
        """Keep the rows that a condition covers."""
        cdef int64_t i, e, n = 0
        cdef uint8_t zero = _holds(0, relation, threshold)
        cdef int32_t r
        for i in range(<int64_t>self.covered.size()):
            self.holds[self.covered[i]] = zero
        for e in range(self.start[f], self.start[f + 1]):
            self.holds[self.row[e]] = _holds(self.value[e], relation, threshold)
        for i in range(<int64_t>self.covered.size()):
            r = self.covered[i]
            self.covered[n] = r
            n += self.holds[r]
        self.covered.resize(n)
        n = 0
        for i in range(<int64_t>self.sampled.size()):
            r = self.sampled[i]
            self.sampled[n] = r
            n += self.holds[r]
            self.inside[r] = self.holds[r]
        self.sampled.resize(n)

    cdef void _find_head(self, int32_t label, bint system, double bin_share, double* head) noexcept:
        """Algorithm 2 on all covered training rows."""
        cdef int64_t i, k, n = self.n_labels
        cdef int32_t r
        cdef double* H = &self.total_hessian[0]
        cdef double* both = &self.total[0]
        if label >= 0:
            both[0] = 0
            both[1] = 0
            for i in range(<int64_t>self.covered.size()):
                r = self.covered[i]
                both[0] += self.statistic[r, label]
                both[1] += self.statistic[r, self.K + label]
            head[0] = -both[0] / (both[1] + self.l2)
            return
        sum_rows(&self.statistic[0, 0], &self.ones[0], 2 * self.K, n, self.covered.data(),
                 <int64_t>self.covered.size(), both, H if system else NULL, &self.total_spread[0])
        if not system:
            for k in range(n):
                head[k] = -both[k] / (both[self.K + k] + self.l2)
            return
        if bin_share > 0:
            solve_bins(H, &self.total_spread[0], NULL, NULL, self.K, both, n, self.l2, bin_share,
                       head, self.bins)
            return
        for k in range(n):
            H[k * self.K + k] += self.total_spread[k]
        self._pack(head)
        cdef int order = <int>n, one = 1, info = 0
        cdef char uplo = b"U"
        dppsv(&uplo, &order, &one, self.packed.data(), head, &order, &info)
        if info == 0:
            return
        # Indefinite by rounding: a symmetric solver that does not need more.
        self._pack(head)
        self.pivots.resize(n)
        dspsv(&uplo, &order, &one, self.packed.data(), self.pivots.data(), head, &order, &info)
        if info != 0:
            # Singular all the same, which l2 > 0 rules out but for overflow: no effect, never NaN.
            for k in range(n):
                head[k] = 0

    cdef void _pack(self, double* right) noexcept:
        """Write the linear system (16) as LAPACK takes it.

        Lines of the lower triangle are columns of the upper one, which is packed by columns.
        """
        cdef int64_t k, j, n = self.n_labels
        self.packed.clear()
        for k in range(n):
            for j in range(k + 1):
                self.packed.push_back(self.total_hessian[k * self.K + j])
            self.packed[self.packed.size() - 1] += self.l2
            right[k] = -self.total[k]

    cdef void _apply(self, int32_t label, const double* head) noexcept nogil:
        """Add a head to the covered rows and update their statistics."""
        cdef int64_t i, k
        cdef int32_t r
        for i in range(<int64_t>self.covered.size()):
            r = self.covered[i]
            if label >= 0:
                self.score[r, label] += head[0]
            else:
                for k in range(self.n_labels):
                    self.score[r, k] += head[k]
            self.n_covering[r] += 1
            self._differentiate(r, label)


def add_scores(X, condition_start, feature, relation, threshold, head_start,
               head_label, head_score, first, last, scores, n_threads):
    """Add the scores of the rules `first` to `last`; see ``_rules.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef const Matrix* matrix = &held.matrix
    cdef const int64_t[::1] c_start = condition_start
    cdef const int32_t[::1] c_feature = feature
    cdef const int8_t[::1] c_relation = relation
    cdef const float[::1] c_threshold = threshold
    cdef const int64_t[::1] h_start = head_start
    cdef const int32_t[::1] h_label = head_label
    cdef const double[::1] h_score = head_score
    cdef double[:, ::1] out = scores
    cdef int64_t i, n = matrix.n_rows, begin_rule = first, end_rule = last
    cdef int threads = threads_worth(
        n_threads, <double>(n * (end_rule - begin_rule)), <double>_CHECKS_FOR_THREADS
    )
    cdef vector[vector[float]] memory
    memory.resize(threads)
    cdef vector[float]* own = memory.data()
    cdef const float* x
    with nogil, parallel(num_threads=threads):
        for i in prange(n, schedule="static"):
            x = load_row(matrix, own + threadid(), i)
            _add_row(x, &c_start[0], &c_feature[0], &c_relation[0], &c_threshold[0], &h_start[0],
                     &h_label[0], &h_score[0], begin_rule, end_rule, &out[i, 0])
            unload_row(matrix, own + threadid(), i)


cdef void _add_row(const float* x, const int64_t* c_start, const int32_t* feature,
                   const int8_t* relation, const float* threshold, const int64_t* h_start,
                   const int32_t* label, const double* score, int64_t first, int64_t last,
                   double* out) noexcept nogil:
    cdef int64_t t, c, e
    cdef bint covered
    for t in range(first, last):
        covered = True
        for c in range(c_start[t], c_start[t + 1]):
            if not _holds(x[feature[c]], relation[c], threshold[c]):
                covered = False
                break
        if covered:
            for e in range(h_start[t], h_start[t + 1]):
                out[label[e]] += score[e]
