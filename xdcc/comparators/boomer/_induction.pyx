"""Training kernel: learn one rule after another (Algorithms 1 to 3).

A `RuleLearner` keeps the scores, gradients and second derivatives (``derivatives.pxd``) of the
training rows. ``learn`` draws a sample, adds one condition after another
(``attribute_search.pxd``, in parallel over attributes), computes the head on all rows
(``linear_systems.pxd``), and updates the covered rows. Each rule has its own seed, so continuing a
training gives the same rules.
"""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from xdcc.comparators.boomer.attribute_search cimport (
    Column, Scratch, allocate, begin_search, finish_search, search_attribute,
)
from xdcc.comparators.boomer.candidates cimport (
    BEST_LABEL, LINEAR_SYSTEM, ONE_LABEL, SUM_OF_LABELS, Candidate, Node,
)
from xdcc.comparators.boomer.conditions cimport covers
from xdcc.comparators.boomer.derivatives cimport (
    LOGISTIC_EXAMPLE_WISE, LOGISTIC_LABEL_WISE, SQUARED_HINGE_LABEL_WISE, SQUARED_LABEL_WISE,
    Hessian, LossKind, Statistics, differentiate_example_wise, differentiate_label_wise, sum_rows,
)
from xdcc.comparators.boomer.linear_systems cimport (
    BinMemory, HeadMemory, System, label_score, solve_bins, solve_head,
)
from xdcc.kernels.random cimport draw_below
from xdcc.kernels.threads cimport run_loop, threads_worth

LOSSES = {
    "logistic_label_wise": LOGISTIC_LABEL_WISE,
    "logistic_example_wise": LOGISTIC_EXAMPLE_WISE,
    "squared_label_wise": SQUARED_LABEL_WISE,
    "squared_hinge_label_wise": SQUARED_HINGE_LABEL_WISE,
}

cdef enum:
    # Use threads from this many additions per search, a millisecond or more.
    WORK_FOR_THREADS = 3000000


# ---------------------------------------------------------------------------------------- samples

cdef inline void draw_rows(
    bint bootstrap, int64_t n_rows, uint64_t* random, double* weight
) noexcept nogil:
    """Draw a bootstrap sample, or take all rows; `weight` [n_rows] counts each row in the sample."""
    cdef int64_t row
    for row in range(n_rows):
        weight[row] = not bootstrap
    if bootstrap:
        for row in range(n_rows):
            weight[draw_below(random, n_rows)] += 1


cdef inline void draw_attributes(
    int64_t n_drawn, int64_t n_features, uint64_t* random, uint8_t* is_drawn,
    vector[int32_t]* attributes,
) noexcept nogil:
    """Draw distinct attributes (Floyd's method) in ascending order.

    `is_drawn` [n_features] is working memory, zero before and after.
    """
    cdef int64_t feature, last
    attributes.clear()
    if n_drawn >= n_features:
        for feature in range(n_features):
            attributes.push_back(<int32_t>feature)
        return
    for last in range(n_features - n_drawn, n_features):
        feature = draw_below(random, last + 1)
        if is_drawn[feature]:
            feature = last
        is_drawn[feature] = 1
        attributes.push_back(<int32_t>feature)
    sort(attributes.begin(), attributes.end())
    for feature in attributes[0]:
        is_drawn[feature] = 0


# ------------------------------------------------------------------------------------------ rules


cdef struct ConditionSearch:
    # A search over the drawn attributes, shared by the threads.
    const Node* node
    void* learner                   # a `RuleLearner`
    const int32_t* attributes       # [n_drawn]
    Scratch* scratch                # [n_threads]
    Candidate* found                # [n_drawn]


cdef void search_drawn(void* data, int64_t i, int thread) noexcept nogil:
    cdef const ConditionSearch* search = <const ConditionSearch*>data
    (<RuleLearner>search.learner)._search(
        search.node, search.attributes[i], search.scratch + thread, search.found + i
    )


cdef void finish_thread(void* data, int64_t i, int thread) noexcept nogil:
    """Finish the searches of thread `i`."""
    cdef const ConditionSearch* search = <const ConditionSearch*>data
    finish_search(search.node, search.scratch + i)


cdef cppclass Body:
    # The conditions of a rule.
    vector[int32_t] feature
    vector[int8_t] relation
    vector[float] threshold
    int32_t label                   # of a single-label head, else -1


cdef class RuleLearner:
    """Learns rules one by one; see ``_induction.pyi``."""

    cdef readonly object scores
    cdef readonly object coverage
    # The attributes (``training.py``).
    cdef const int64_t[::1] start
    cdef const int64_t[::1] known_end
    cdef const int32_t[::1] row
    cdef const float[::1] value
    cdef const uint8_t[::1] nominal
    cdef const int64_t[::1] n_distinct
    # The training rows.
    cdef const uint8_t[:, ::1] Y
    cdef double[:, ::1] score
    cdef int64_t[::1] n_covering
    cdef double[:, ::1] derivative          # [n_rows, 2 n_padded], as in `Statistics`
    cdef double[:, ::1] label_derivative    # [n_rows, 2] of the one label of a rule
    cdef double[::1] ones
    # The settings.
    cdef LossKind loss
    cdef bint complete
    cdef bint takes_system
    cdef bint bootstrap
    cdef double l2
    cdef double learning_rate
    cdef double bin_share
    cdef int64_t n_attributes
    cdef int64_t max_conditions
    cdef int64_t min_coverage
    cdef int n_threads
    cdef int64_t n_rows
    cdef int64_t n_features
    cdef int64_t n_labels
    cdef int64_t n_padded
    # The rule being learned.
    cdef double[::1] weight                 # [n_rows] how often each row is in the sample
    cdef uint8_t[::1] inside                # [n_rows] whether a row of the sample is covered
    cdef vector[int32_t] sampled            # rows of the sample that are covered
    cdef vector[int32_t] covered            # all rows that are covered
    # Working memory.
    cdef uint8_t[::1] holds                 # [n_rows]
    cdef uint8_t[::1] is_drawn              # [n_features]
    cdef double[::1] total                  # [2 n_padded]
    cdef double[::1] products               # [n_padded, n_padded]
    cdef double[::1] spread                 # [n_padded]
    cdef Hessian hessian                    # points to `products` and `spread`
    cdef vector[int32_t] attributes
    cdef vector[Scratch] scratch            # [n_threads]
    cdef vector[Candidate] found            # [n_attributes]
    cdef HeadMemory head_memory
    cdef BinMemory bin_memory

    def __init__(self, columns, Y, scores, coverage, settings, n_threads):
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
        self.n_padded = (self.n_labels + 3) // 4 * 4
        self.scores = scores
        self.coverage = coverage
        self.score = scores
        self.n_covering = coverage
        self.loss = LOSSES[settings.loss]
        self.complete = settings.complete
        self.takes_system = self.complete and self.loss == LOGISTIC_EXAMPLE_WISE
        self.bootstrap = settings.bootstrap
        self.n_attributes = settings.n_attributes
        self.l2 = settings.l2
        self.learning_rate = settings.learning_rate
        self.bin_share = settings.bin_share
        self.max_conditions = settings.max_conditions
        self.min_coverage = settings.min_coverage
        self.n_threads = n_threads
        self.derivative = np.zeros((self.n_rows, 2 * self.n_padded))
        self.label_derivative = np.zeros((0 if self.complete else self.n_rows, 2))
        self.weight = np.zeros(self.n_rows)
        self.ones = np.ones(self.n_rows)
        self.inside = np.zeros(self.n_rows, np.uint8)
        self.holds = np.zeros(self.n_rows, np.uint8)
        self.is_drawn = np.zeros(self.n_features, np.uint8)
        self.total = np.zeros(2 * self.n_padded)
        # The default rule needs a linear system even if the other heads do not.
        self.products = np.zeros(
            self.n_padded**2 if self.loss == LOGISTIC_EXAMPLE_WISE else 1
        )
        self.spread = np.zeros(self.n_padded)
        self.hessian.products = &self.products[0]
        self.hessian.spread = &self.spread[0]
        self.scratch.resize(n_threads)
        cdef int64_t i
        for i in range(self.n_threads):
            allocate(
                &self.scratch[i], self.n_rows, self.n_labels, self.n_padded,
                self.takes_system, self.bin_share > 0,
            )
        for i in range(self.n_rows):
            self._differentiate(i, -1)

    def statistics(self):
        """Return gradients and second derivatives; see ``_induction.pyi``."""
        both = np.asarray(self.derivative)
        return (
            both[:, : self.n_labels].copy(),
            both[:, self.n_padded : self.n_padded + self.n_labels].copy(),
        )

    def default_rule(self):
        """Add the rule that covers every row; see ``_induction.pyi``."""
        cdef int64_t i
        self.covered.resize(self.n_rows)
        for i in range(self.n_rows):
            self.covered[i] = <int32_t>i
        head = np.zeros(self.n_labels)
        cdef double[::1] view = head
        # Always a complete head, without bins and without shrinkage.
        self._find_head(-1, self.loss == LOGISTIC_EXAMPLE_WISE, 0, &view[0])
        self._apply(-1, &view[0])
        return head

    def learn(self, seed):
        """Add a rule; see ``_induction.pyi``."""
        cdef uint64_t random = seed
        cdef Body body
        cdef int64_t i
        body.label = -1
        with nogil:
            self._refine(self.bootstrap, self.n_attributes, &random, &body)
            if body.feature.empty() and self.n_attributes < self.n_features:
                # The drawn attributes are constant in the sample; others may not be.
                self._refine(self.bootstrap, self.n_features, &random, &body)
            if body.feature.empty() and self.bootstrap:
                self._refine(False, self.n_features, &random, &body)
        if body.feature.empty():
            return None
        head = np.zeros(self.n_labels if self.complete else 1)
        cdef double[::1] view = head
        self._find_head(body.label, self.takes_system, self.bin_share, &view[0])
        for i in range(view.shape[0]):
            view[i] *= self.learning_rate
        self._apply(body.label, &view[0])
        return (
            np.array(body.feature, np.int32),
            np.array(body.relation, np.int8),
            np.array(body.threshold, np.float32),
            body.label,
            head,
            <int64_t>self.covered.size(),
        )

    cdef void _differentiate(self, int64_t row, int64_t label) noexcept nogil:
        """Update the derivatives of a row, for one label if the loss allows it and `label` >= 0."""
        cdef const uint8_t* y = &self.Y[row, 0]
        cdef const double* score = &self.score[row, 0]
        cdef double* gradient = &self.derivative[row, 0]
        cdef double* second = gradient + self.n_padded
        if self.loss == LOGISTIC_EXAMPLE_WISE:
            differentiate_example_wise(y, score, self.n_labels, self.complete, gradient, second)
        elif label < 0:
            differentiate_label_wise(self.loss, y, score, 0, self.n_labels, gradient, second)
        else:
            differentiate_label_wise(self.loss, y, score, label, label + 1, gradient, second)

    cdef Statistics _statistics(self, const double* weight) noexcept nogil:
        cdef Statistics statistics
        statistics.values = &self.derivative[0, 0]
        statistics.weight = weight
        statistics.n_labels = self.n_labels
        statistics.n_padded = self.n_padded
        return statistics

    cdef void _refine(
        self, bint bootstrap, int64_t n_attributes, uint64_t* random, Body* body
    ) noexcept nogil:
        """Add the best condition as long as it improves the rule (Algorithm 3)."""
        cdef Candidate best
        cdef Node node
        cdef int64_t i
        cdef int32_t feature
        self._draw_sample(bootstrap, random)
        if self.takes_system:
            node.quality = LINEAR_SYSTEM
        else:
            node.quality = SUM_OF_LABELS if self.complete else BEST_LABEL
        node.statistics = self._statistics(&self.weight[0])
        node.inside = &self.inside[0]
        node.min_coverage = self.min_coverage
        node.total = &self.total[0]
        node.hessian = self.hessian
        node.l2 = self.l2
        node.bin_share = self.bin_share
        best.gain = 0
        while self.max_conditions < 0 or <int64_t>body.feature.size() < self.max_conditions:
            node.n_inside = <int64_t>self.sampled.size()
            sum_rows(
                &node.statistics, self.sampled.data(), node.n_inside, &self.total[0],
                &self.hessian if self.takes_system else NULL,
            )
            draw_attributes(
                n_attributes, self.n_features, random, &self.is_drawn[0], &self.attributes
            )
            feature = self._best_condition(&node, &best)
            if feature < 0:
                break
            body.feature.push_back(feature)
            body.relation.push_back(<int8_t>best.relation)
            body.threshold.push_back(best.threshold)
            self._restrict(feature, <int8_t>best.relation, best.threshold)
            if node.quality == BEST_LABEL:
                # Further conditions are for this label only.
                body.label = best.label
                self._choose_label(best.label)
                node.quality = ONE_LABEL
                node.statistics.values = &self.label_derivative[0, 0]
                node.statistics.n_labels = 1
                node.statistics.n_padded = 1
        for i in range(<int64_t>self.sampled.size()):
            self.inside[self.sampled[i]] = 0

    cdef void _draw_sample(self, bint bootstrap, uint64_t* random) noexcept nogil:
        """Draw a sample for a rule without conditions, which covers all rows."""
        cdef int64_t row, n_sampled = 0
        draw_rows(bootstrap, self.n_rows, random, &self.weight[0])
        self.covered.resize(self.n_rows)
        self.sampled.resize(self.n_rows)
        for row in range(self.n_rows):
            self.covered[row] = <int32_t>row
            self.inside[row] = self.weight[row] > 0
            self.sampled[n_sampled] = <int32_t>row
            n_sampled += self.inside[row]
        self.sampled.resize(n_sampled)

    cdef int32_t _best_condition(self, const Node* node, Candidate* best) noexcept nogil:
        """Search all drawn attributes; return the best one, or -1 if no condition is better."""
        cdef int64_t i, n_drawn = <int64_t>self.attributes.size(), work = 0
        cdef int n_threads
        cdef Candidate none
        cdef ConditionSearch search
        cdef int32_t winner = -1
        none.gain = best.gain
        none.order = -1
        none.label = -1
        self.found.assign(n_drawn, none)
        for i in range(n_drawn):
            work += self._work(node, self.attributes[i])
        n_threads = threads_worth(self.n_threads, <double>work, WORK_FOR_THREADS)
        search.node = node
        search.learner = <void*>self
        search.attributes = self.attributes.data()
        search.scratch = self.scratch.data()
        search.found = self.found.data()
        for i in range(n_threads):
            begin_search(&self.scratch[i], best.gain)
        run_loop(n_drawn, 1, n_threads, search_drawn, &search)
        if node.quality == LINEAR_SYSTEM:
            run_loop(n_threads, 1, n_threads, finish_thread, &search)
        for i in range(n_drawn):
            if self.found[i].gain > best.gain:
                best[0] = self.found[i]
                winner = self.attributes[i]
        return winner

    cdef int64_t _work(self, const Node* node, int32_t feature) noexcept nogil:
        """Estimate the number of additions of the search on an attribute."""
        cdef int64_t n_padded = node.statistics.n_padded
        cdef int64_t n_rows = min(self.known_end[feature] - self.start[feature], node.n_inside)
        cdef int64_t n_steps = min(self.n_distinct[feature], node.n_inside)
        if not self.takes_system:
            return n_rows * 2 * n_padded
        return (
            n_rows * (2 * n_padded + n_padded * n_padded // 8)
            + n_steps * n_padded * n_padded * n_padded // 12
        )

    cdef void _search(
        self, const Node* node, int32_t feature, Scratch* scratch, Candidate* best
    ) noexcept nogil:
        cdef Column column
        cdef int64_t start = self.start[feature], known_end = self.known_end[feature]
        if self.start[feature + 1] == start:
            return
        column.row = &self.row[start]
        column.value = &self.value[start]
        column.n_stored = known_end - start
        column.n_missing = self.start[feature + 1] - known_end
        column.nominal = self.nominal[feature]
        search_attribute(node, &column, scratch, best)

    cdef void _restrict(self, int32_t feature, int8_t relation, float threshold) noexcept nogil:
        """Drop the rows that a new condition does not cover."""
        cdef int64_t i, n_kept = 0
        cdef uint8_t zero = covers(relation, threshold, 0)
        cdef int32_t row
        for i in range(<int64_t>self.covered.size()):
            self.holds[self.covered[i]] = zero
        for i in range(self.start[feature], self.start[feature + 1]):
            self.holds[self.row[i]] = covers(relation, threshold, self.value[i])
        for i in range(<int64_t>self.covered.size()):
            row = self.covered[i]
            self.covered[n_kept] = row
            n_kept += self.holds[row]
        self.covered.resize(n_kept)
        n_kept = 0
        for i in range(<int64_t>self.sampled.size()):
            row = self.sampled[i]
            self.sampled[n_kept] = row
            n_kept += self.holds[row]
            self.inside[row] = self.holds[row]
        self.sampled.resize(n_kept)

    cdef void _choose_label(self, int32_t label) noexcept nogil:
        """Gather the derivatives of one label for the covered rows of the sample."""
        cdef int64_t i
        cdef int32_t row
        for i in range(<int64_t>self.sampled.size()):
            row = self.sampled[i]
            self.label_derivative[row, 0] = self.derivative[row, label]
            self.label_derivative[row, 1] = self.derivative[row, self.n_padded + label]

    cdef void _find_head(
        self, int32_t label, bint takes_system, double bin_share, double* head
    ) noexcept nogil:
        """Compute the head on all covered rows (Algorithm 2), of one label if `label` >= 0."""
        cdef int64_t i, n_covered = <int64_t>self.covered.size()
        cdef int32_t row
        cdef double gradient = 0, second = 0, gain
        cdef Statistics statistics = self._statistics(&self.ones[0])
        cdef System system
        if label >= 0:
            for i in range(n_covered):
                row = self.covered[i]
                gradient += self.derivative[row, label]
                second += self.derivative[row, self.n_padded + label]
            head[0] = label_score(gradient, second, self.l2)
            return
        sum_rows(
            &statistics, self.covered.data(), n_covered, &self.total[0],
            &self.hessian if takes_system else NULL,
        )
        if not takes_system:
            for i in range(self.n_labels):
                head[i] = label_score(self.total[i], self.total[self.n_padded + i], self.l2)
            return
        system.n_labels = self.n_labels
        system.n_padded = self.n_padded
        system.hessian = self.hessian
        system.of_rest = False
        system.gradient = &self.total[0]
        system.l2 = self.l2
        if bin_share > 0:
            solve_bins(&system, bin_share, head, &gain, &self.bin_memory)
        else:
            solve_head(&system, head, &self.head_memory)

    cdef void _apply(self, int32_t label, const double* head) noexcept nogil:
        """Add a head to the covered rows and update their derivatives."""
        cdef int64_t i, k
        cdef int32_t row
        for i in range(<int64_t>self.covered.size()):
            row = self.covered[i]
            if label >= 0:
                self.score[row, label] += head[0]
            else:
                for k in range(self.n_labels):
                    self.score[row, k] += head[k]
            self.n_covering[row] += 1
            self._differentiate(row, label)
