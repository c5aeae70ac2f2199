"""Which test a node gets: drawn from the tests that the path from the root has not used up.

A label or a discrete feature is of no use twice on a path. Such tests are marked, in one array for
the whole tree; ``leave_path`` unmarks them when the depth-first walk goes back up. Drawing from
many open tests is trial and error, from few it counts them.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport n_categories
from xdcc.kernels.random cimport draw_below, draw_uniform
from xdcc.rdt._node cimport DISCRETE, DISJUNCTION, LABEL, LEAF, NUMERIC
from xdcc.rdt._training cimport Training


cdef cppclass OpenTests:
    """The tests of a path that are used up."""
    int64_t n_features
    vector[uint8_t] used           # [n_features + n_labels]
    vector[int32_t] path           # the used ones, in their order
    int64_t n_open_features
    int64_t n_open_labels


cdef cppclass DrawnTest:
    """A test that a node may get."""
    int8_t kind                    # LEAF: no test
    int64_t number
    vector[int32_t] joined         # features of a disjunction
    float threshold                # of a numeric test


cdef inline void open_all(OpenTests* tests, const Training* training) noexcept nogil:
    """Stand at the root."""
    tests.n_features = training.X.n_features
    tests.n_open_features = training.X.n_features
    tests.n_open_labels = training.n_labels
    tests.used.assign(training.X.n_features + training.n_labels, 0)


cdef inline void use_up(OpenTests* tests, int64_t test) noexcept nogil:
    """Mark a test for the rest of the path."""
    tests.used[test] = 1
    tests.path.push_back(<int32_t>test)
    if test < tests.n_features:
        tests.n_open_features -= 1
    else:
        tests.n_open_labels -= 1


cdef inline void leave_path(OpenTests* tests, size_t length) noexcept nogil:
    """Go back to where the path had used up `length` tests."""
    cdef int32_t test
    while tests.path.size() > length:
        test = tests.path.back()
        tests.path.pop_back()
        tests.used[test] = 0
        if test < tests.n_features:
            tests.n_open_features += 1
        else:
            tests.n_open_labels += 1


cdef inline int64_t draw_open(
    const uint8_t* used, int64_t n_tests, int64_t n_open, uint64_t* random
) noexcept nogil:
    """Draw one of the tests that are not used; each is equally likely."""
    cdef int64_t test, n_before
    if 2 * n_open >= n_tests:
        while True:
            test = draw_below(random, n_tests)
            if not used[test]:
                return test
    n_before = draw_below(random, n_open)
    for test in range(n_tests):
        if not used[test]:
            if n_before == 0:
                return test
            n_before -= 1
    return -1


cdef inline void draw_test(
    DrawnTest* test, const OpenTests* tests, const Training* training, uint64_t* random
) noexcept nogil:
    """Draw a test, and the further features of a disjunction; LEAF if there is none left."""
    cdef bint any_label = tests.n_open_labels > 0 and training.label_test_fraction > 0
    cdef bint any_feature = tests.n_open_features > 0 and training.label_test_fraction < 1
    cdef int64_t n_features = tests.n_features
    cdef int64_t further
    if not any_label and not any_feature:
        test.kind = LEAF
        return
    if any_label and (draw_uniform(random) < training.label_test_fraction or not any_feature):
        test.kind = LABEL
        test.number = n_features + draw_open(
            tests.used.data() + n_features, training.n_labels, tests.n_open_labels, random
        )
        return
    test.number = draw_open(tests.used.data(), n_features, tests.n_open_features, random)
    if training.disjunction_size > 1 and training.is_sparse[test.number]:
        test.kind = DISJUNCTION
        test.joined.clear()
        test.joined.push_back(<int32_t>test.number)
        for further in range(training.disjunction_size - 1):
            # A feature that is drawn twice changes nothing.
            test.joined.push_back(
                training.sparse_feature[draw_below(random, training.n_sparse)]
            )
    elif n_categories(&training.categories, test.number) > 0:
        test.kind = DISCRETE
    else:
        test.kind = NUMERIC
