"""Prediction kernel: find the rules that cover a row and add their scores."""

from libc.stdint cimport int8_t, int32_t, int64_t

from xdcc.comparators.boomer.conditions cimport covers
from xdcc.kernels.arrays cimport elements
from xdcc.kernels.matrix cimport HeldMatrix
from xdcc.kernels.rows cimport run_rows
from xdcc.kernels.threads cimport threads_worth

RELATIONS = ("<=", ">", "=", "!=")

cdef enum:
    # Use threads from this many pairs of a rule and a row.
    CHECKS_FOR_THREADS = 100000
    ROWS_AT_A_TIME = 16


cdef struct Rules:
    # Rule r has the conditions and the scores start[r] to start[r + 1].
    const int64_t* condition_start
    const int32_t* feature
    const int8_t* relation
    const float* threshold
    const int64_t* head_start
    const int32_t* label
    const double* score
    int64_t first           # the rules to add are first to end
    int64_t end


cdef struct Scoring:
    # Data of the loop over the rows.
    const Rules* rules
    double* sums            # [n_rows, n_labels]
    int64_t n_labels


def add_scores(X, arrays, first, last, scores, n_threads):
    """Add the scores of the rules `first` to `last`; see ``_coverage.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "C", "csr")
    cdef double[:, ::1] sums = scores
    cdef Rules rules
    rules.condition_start = elements[int64_t](arrays.condition_start)
    rules.feature = elements[int32_t](arrays.feature)
    rules.relation = elements[int8_t](arrays.relation)
    rules.threshold = elements[float](arrays.threshold)
    rules.head_start = elements[int64_t](arrays.head_start)
    rules.label = elements[int32_t](arrays.head_label)
    rules.score = elements[double](arrays.head_score)
    rules.first = first
    rules.end = last
    cdef int threads = threads_worth(
        n_threads, <double>held.matrix.n_rows * (rules.end - rules.first), CHECKS_FOR_THREADS
    )
    cdef Scoring scoring
    scoring.rules = &rules
    scoring.sums = &sums[0, 0]
    scoring.n_labels = sums.shape[1]
    with nogil:
        run_rows(&held.matrix, ROWS_AT_A_TIME, threads, _score_row, &scoring)


cdef void _score_row(void* data, const float* x, int64_t row, int thread) noexcept nogil:
    cdef const Scoring* scoring = <const Scoring*>data
    _add_rules(scoring.rules, x, scoring.sums + row * scoring.n_labels)


cdef inline bint _covers_row(const Rules* rules, int64_t rule, const float* x) noexcept nogil:
    cdef int64_t i
    for i in range(rules.condition_start[rule], rules.condition_start[rule + 1]):
        if not covers(rules.relation[i], rules.threshold[i], x[rules.feature[i]]):
            return False
    return True


cdef void _add_rules(const Rules* rules, const float* x, double* sums) noexcept nogil:
    cdef int64_t rule, i
    for rule in range(rules.first, rules.end):
        if _covers_row(rules, rule, x):
            for i in range(rules.head_start[rule], rules.head_start[rule + 1]):
                sums[rules.label[i]] += rules.score[i]
