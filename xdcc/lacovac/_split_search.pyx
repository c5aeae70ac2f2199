"""Searching horizontal splits: a feature's rows change sides one by one, and splits are scored.

A numeric feature is scanned from its largest value down to zero and from its smallest value up to
zero, so that zeros are never touched; a nominal one has a branch for every category. Rows without
a value are tried on both sides of a numeric split. Threads share the features; a thread drops a
split as soon as it knows a better one of its own. Of equal splits the one with the lowest
threshold is taken, and the one on the last feature, so the result depends neither on the order of
rows nor on the number of threads.
"""

from cython.parallel cimport parallel, prange, threadid
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport n_categories
from xdcc.kernels.random cimport draw
from xdcc.kernels.threads cimport threads_worth
from xdcc.lacovac._branches cimport find_branches
from xdcc.lacovac._feature_values cimport (
    FeatureValues, are_equal, collect_values, list_features, sort_values
)
from xdcc.lacovac._moving_side cimport (
    MovingSide, empty_side, move_row, prepare_side, take_pairs_back
)
from xdcc.lacovac._node_kinds cimport NOMINAL, NUMERIC
from xdcc.lacovac._node_labels cimport NodeLabels
from xdcc.lacovac._rules cimport COVARIANCE, GAIN_RATIO
from xdcc.lacovac._scores cimport (
    covariance_of_moved, covariance_score, entropies_of_moved, entropies_of_node,
    entropies_of_rest, per_side, variance_score, variances_of_moved
)
from xdcc.lacovac._training cimport Training

cdef double INFINITE = float("inf")
cdef double WORTH_THREADS = 2e6    # steps of a search below which threads cost more


# -------------------------------------------------------------------------------- numeric splits


cdef inline float between(float low, float high) noexcept nogil:
    """Threshold with low <= threshold < high."""
    cdef float middle = <float>((<double>low + <double>high) / 2)
    return middle if middle < high else low


cdef void offer(Scan* scan, Split* best, float threshold, bint missing_right) noexcept nogil:
    """Score the split between the moving side and the rest; keep it if it is better."""
    cdef const double* nlogn = scan.training.nlogn
    cdef const NodeLabels* node = scan.node
    cdef int criterion = scan.training.rules.criterion
    cdef int64_t n_moved = <int64_t>scan.side.n_rows
    cdef double score, gain = 0
    if criterion == GAIN_RATIO:
        gain = scan.node_entropy - (entropies_of_moved(&scan.side, node, nlogn)
                                    + entropies_of_rest(&scan.side, node, nlogn))
        score = -gain
    elif scan.by_covariance:
        score = covariance_score(&scan.side, node, scan.limit)
        if score > scan.limit:
            return
    else:
        score = variance_score(&scan.side, node)
    if best.is_valid and (score > best.score or (score == best.score and (
        threshold > best.threshold
        or (threshold == best.threshold and missing_right >= best.missing_right)
    ))):
        return
    best.is_valid = True
    best.score = score
    best.threshold = threshold
    best.missing_right = missing_right
    if criterion == GAIN_RATIO:
        best.gain = gain
        best.gain_ratio = gain / (nlogn[node.n_rows]
                                  - (nlogn[n_moved] + nlogn[node.n_rows - n_moved]))
    elif score < scan.limit:
        scan.limit = score


cdef void move_missing(Scan* scan) noexcept nogil:
    cdef int64_t i
    for i in range(<int64_t>scan.values.missing.size()):
        move_row(&scan.side, scan.node, scan.values.missing[i], scan.by_covariance)


cdef void take_missing_back(Scan* scan) noexcept nogil:
    cdef int64_t i
    for i in range(<int64_t>scan.values.missing.size()):
        take_pairs_back(&scan.side, scan.node, scan.values.missing[i])


cdef void scan_values(Scan* scan, Split* best, bint downwards, bint with_missing) noexcept nogil:
    """Move rows from one end of the values to zero; score a split where values change.

    The moving side is the right one in a scan downwards. It begins with the rows without a value
    if `with_missing`.
    """
    cdef const FeatureValues* values = &scan.values
    cdef const NodeLabels* node = scan.node
    cdef MovingSide* side = &scan.side
    cdef int64_t min_rows = scan.training.rules.min_samples_leaf
    cdef int64_t n_values = <int64_t>values.nonzero.size(), n_moved, n_rest
    cdef int64_t step = -1 if downwards else 1
    cdef int64_t begin = n_values - 1 if downwards else 0
    cdef int64_t end = values.n_negative - 1 if downwards else values.n_negative
    cdef int64_t i = begin
    cdef float value, following
    cdef bint missing_right
    empty_side(side, node)
    if with_missing:
        move_missing(scan)
    while i != end:
        value = values.nonzero[i].value
        move_row(side, node, values.nonzero[i].position, scan.by_covariance)
        i += step
        if i != end:
            following = values.nonzero[i].value
        elif values.has_zeros:
            following = 0
        elif downwards and i >= 0:
            following = values.nonzero[i].value
        else:
            break
        n_moved = <int64_t>side.n_rows
        n_rest = node.n_rows - n_moved
        if following == value or n_moved < min_rows:
            continue
        if n_rest < min_rows:
            break
        if not values.missing.empty():
            missing_right = with_missing == downwards
        elif downwards:
            missing_right = n_moved > n_rest
        else:
            missing_right = n_moved < n_rest
        if downwards:
            offer(scan, best, between(following, value), missing_right)
        else:
            offer(scan, best, between(value, following), missing_right)
    if scan.by_covariance:
        while i != begin:
            i -= step
            take_pairs_back(side, node, values.nonzero[i].position)
        if with_missing:
            take_missing_back(scan)


cdef void search_numeric(Scan* scan, Split* best) noexcept nogil:
    cdef int with_missing
    sort_values(&scan.values)
    best.kind = NUMERIC
    for with_missing in range(1 if scan.values.missing.empty() else 2):
        scan_values(scan, best, True, with_missing)
        if scan.values.n_negative:
            scan_values(scan, best, False, with_missing)


# -------------------------------------------------------------------------------- nominal splits


cdef void search_nominal(Scan* scan, Split* best) noexcept nogil:
    """Score a branch for every category that is frequent enough."""
    cdef const NodeLabels* node = scan.node
    cdef const double* nlogn = scan.training.nlogn
    cdef MovingSide* side = &scan.side
    cdef int64_t min_rows = scan.training.rules.min_samples_leaf
    cdef bint by_gain_ratio = scan.training.rules.criterion == GAIN_RATIO
    cdef int64_t i, category, begin, end, n_branches = 0
    cdef double score = 0, entropies = 0, sum_nlogn = 0
    find_branches(&scan.branches, &scan.values, &scan.training.categories, best.feature,
                  node.n_rows, min_rows)
    for category in range(<int64_t>scan.branches.start.size() - 1):
        begin = scan.branches.start[category]
        end = scan.branches.start[category + 1]
        if begin == end:
            continue
        if end - begin < min_rows:
            return
        n_branches += 1
        empty_side(side, node)
        for i in range(begin, end):
            move_row(side, node, scan.branches.position[i], scan.by_covariance)
        if by_gain_ratio:
            entropies += entropies_of_moved(side, node, nlogn)
            sum_nlogn += nlogn[end - begin]
        elif scan.by_covariance:
            score += covariance_of_moved(side, node)
            for i in range(begin, end):
                take_pairs_back(side, node, scan.branches.position[i])
        else:
            score += per_side(variances_of_moved(side), side.n_rows)
        if score > scan.limit:
            return
    if n_branches < 2:
        return
    best.is_valid = True
    best.kind = NOMINAL
    best.score = score
    if by_gain_ratio:
        best.gain = scan.node_entropy - entropies
        best.gain_ratio = best.gain / (nlogn[node.n_rows] - sum_nlogn)
    elif score < scan.limit:
        scan.limit = score


# -------------------------------------------------------------------------------------- features


cdef bint search_feature(SplitSearch* search, Scan* scan, int64_t at) noexcept nogil:
    """Find the best split on a feature; False if the feature does not vary."""
    cdef const Training* training = search.training
    cdef Split* best = &search.splits[at]
    best.is_valid = False
    best.missing_right = False
    best.feature = search.features.feature[at]
    best.at = <int32_t>at
    collect_values(&scan.values, &search.features, &training.X, scan.node, at)
    if are_equal(&scan.values):
        return False
    if n_categories(&training.categories, best.feature):
        search_nominal(scan, best)
    else:
        search_numeric(scan, best)
    return True


cdef void search_drawn_features(SplitSearch* search) noexcept nogil:
    """Search `max_features` varying features, and more until there is a split."""
    cdef int64_t n_features = <int64_t>search.features.feature.size()
    cdef int64_t max_features = search.training.rules.max_features
    cdef int64_t i, drawn, n_varying = 0
    cdef bint has_split = False
    cdef int32_t at
    cdef vector[int32_t] order
    order.resize(n_features)
    for i in range(n_features):
        order[i] = <int32_t>i
        search.splits[i].is_valid = False
    for i in range(n_features):
        drawn = i + <int64_t>(draw(&search.random_state) % <uint64_t>(n_features - i))
        at = order[drawn]
        order[drawn] = order[i]
        n_varying += search_feature(search, search.scans.data(), at)
        has_split = has_split or search.splits[at].is_valid
        if has_split and n_varying >= max_features:
            break


cdef void search_all_features(SplitSearch* search, const NodeLabels* node) noexcept nogil:
    cdef int64_t at, n_features = <int64_t>search.features.feature.size()
    cdef double n_values
    cdef int n_threads
    # Every value moves a row, and every label and pair of labels of it is counted.
    n_values = <double>(n_features * node.n_rows if search.training.X.dense != NULL
                        else <int64_t>search.features.stored.size())
    n_threads = threads_worth(
        <int>search.scans.size(),
        n_values * (1 + (node.sum_count + node.sum_pairs) / <double>node.n_rows),
        WORTH_THREADS,
    )
    if n_threads == 1:
        for at in range(n_features):
            search_feature(search, search.scans.data(), at)
    else:
        with parallel(num_threads=n_threads):
            for at in prange(n_features, schedule="dynamic", chunksize=8):
                search_feature(search, search.scans.data() + threadid(), at)


cdef const Split* find_split(SplitSearch* search, const NodeLabels* node) noexcept nogil:
    """Find the best split of a node; NULL if there is none."""
    cdef const Training* training = search.training
    cdef int64_t i
    cdef Scan* scan
    list_features(&search.features, &training.X, node)
    search.splits.resize(search.features.feature.size())
    for i in range(<int64_t>search.scans.size()):
        scan = &search.scans[i]
        scan.training = training
        scan.node = node
        # A single varying label has no covariances: it is split by its variance.
        scan.by_covariance = training.rules.criterion == COVARIANCE and node.n_varying > 1
        if training.rules.criterion == GAIN_RATIO:
            scan.node_entropy = entropies_of_node(node, training.nlogn)
        scan.limit = INFINITE
        prepare_side(&scan.side, node)
    if training.rules.max_features > 0:
        search_drawn_features(search)
    else:
        search_all_features(search, node)
    if training.rules.criterion == GAIN_RATIO:
        return best_by_gain_ratio(search.splits)
    return best_by_score(search.splits)


cdef const Split* best_by_score(const vector[Split]& splits) noexcept nogil:
    cdef int64_t i
    cdef const Split* best = NULL
    for i in range(<int64_t>splits.size()):
        if splits[i].is_valid and (best == NULL or splits[i].score <= best.score):
            best = &splits[i]
    return best


cdef const Split* best_by_gain_ratio(const vector[Split]& splits) noexcept nogil:
    """As in C4.5: a high ratio counts only with a gain that is not below the average."""
    cdef int64_t i, n_gains = 0
    cdef double sum_gain = 0, least
    cdef const Split* best = NULL
    for i in range(<int64_t>splits.size()):
        if splits[i].is_valid and splits[i].gain > 0:
            sum_gain += splits[i].gain
            n_gains += 1
    if n_gains == 0:
        return NULL
    least = sum_gain / n_gains * (1 - 1e-9)
    for i in range(<int64_t>splits.size()):
        if splits[i].is_valid and splits[i].gain > 0 and splits[i].gain >= least and (
            best == NULL or splits[i].gain_ratio >= best.gain_ratio
        ):
            best = &splits[i]
    return best
