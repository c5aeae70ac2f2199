"""Search horizontal splits: move rows to one side one by one, and score the splits.

A numeric feature is scanned from its largest value down to zero and from its smallest value up to
zero, so zeros are never visited. A nominal feature has a branch for each category. Numeric splits
are tried with missing values on either side. Threads share the features; a thread stops scoring a
split when it is worse than the best one of the thread. Ties go to the lowest threshold and to the
last feature, so the result depends neither on the order of the rows nor on the number of threads.

Scores are lower for better splits. ``covariance`` (LaCovaC, LaCova) adds over both sides the
smaller of the summed variances and the summed absolute covariances of the labels, both sample
estimates times the number of rows. Covariances are added label by label until the score exceeds
the best one. ``variance`` uses the variances alone. ``gain ratio`` (ML-C4.5) uses entropies, with a
table of n log2(n).
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector

from xdcc.kernels.categories cimport n_categories
from xdcc.kernels.random cimport draw
from xdcc.kernels.threads cimport run_loop, threads_worth
from xdcc.comparators.lacovac._node cimport (
    FeatureValues, NodeLabels, absolute_covariances, absolute_covariances_of_rest, are_equal,
    collect_values, find_branches, list_features, sort_values
)
from xdcc.comparators.lacovac._training cimport COVARIANCE, GAIN_RATIO, NOMINAL, NUMERIC, Training

cdef double INFINITE = float("inf")
cdef double WORTH_THREADS = 2e6    # use threads from this number of steps


# ------------------------------------------------------------------------------------ moving side

# The counts of the rest are those of the node minus those of the moving side. Moving a row updates
# the sums of variances in one step per label of the row. Sums of covariances need counts of pairs;
# a scan that counts them must undo them, which is less expensive than setting all pairs to zero.


cdef inline void prepare_side(MovingSide* side, const NodeLabels* node) noexcept nogil:
    """Resize the memory for a node."""
    side.rest_count.resize(node.n_varying)
    if <int64_t>side.pair_count.size() < node.n_varying * node.n_varying:
        side.pair_count.resize(node.n_varying * node.n_varying, 0)


cdef inline void empty_side(MovingSide* side, const NodeLabels* node) noexcept nogil:
    """Remove all rows; counts of pairs have been undone."""
    side.n_rows = 0
    side.sum_count = 0
    side.sum_square = 0
    side.sum_pairs = 0
    side.cross = 0
    side.count.assign(node.n_varying, 0)


cdef inline void move_row(
    MovingSide* side, const NodeLabels* node, int64_t position, bint with_pairs
) noexcept nogil:
    """Move the row at a position in the node."""
    cdef int64_t one, other
    cdef int64_t begin = node.row_start[position], end = node.row_start[position + 1]
    cdef int32_t label
    cdef int32_t* pairs_of_label
    cdef double n_labels = <double>(end - begin)
    cdef double sum_square = side.sum_square, cross = side.cross
    side.n_rows += 1
    side.sum_count += n_labels
    side.sum_pairs += n_labels * (n_labels - 1) / 2
    for one in range(begin, end):
        label = node.row_label[one]
        sum_square += 2 * side.count[label] + 1
        cross += node.count[label]
        side.count[label] += 1
        if with_pairs:
            pairs_of_label = side.pair_count.data() + label * node.n_varying
            for other in range(one + 1, end):
                pairs_of_label[node.row_label[other]] += 1
    side.sum_square = sum_square
    side.cross = cross


cdef inline void undo_pairs(
    MovingSide* side, const NodeLabels* node, int64_t position
) noexcept nogil:
    """Undo the counts of pairs of a moved row."""
    cdef int64_t one, other, end = node.row_start[position + 1]
    cdef int32_t* pairs_of_label
    for one in range(node.row_start[position], end):
        pairs_of_label = side.pair_count.data() + node.row_label[one] * node.n_varying
        for other in range(one + 1, end):
            pairs_of_label[node.row_label[other]] -= 1


# ------------------------------------------------------------------------------ scores: variances


cdef inline double per_side(double total, double n_rows) noexcept nogil:
    """Return n times a sum of sample (co)variances, given n² times that of population ones."""
    return total / (n_rows - 1) if n_rows > 1 else 0


cdef inline double variances_of_moved(const MovingSide* side) noexcept nogil:
    """Return n² times the sum of the label variances."""
    return side.n_rows * side.sum_count - side.sum_square


cdef inline double variances_of_rest(const MovingSide* side, const NodeLabels* node
                                     ) noexcept nogil:
    cdef double n_rest = <double>node.n_rows - side.n_rows
    cdef double rest_square = node.sum_square - 2 * side.cross + side.sum_square
    return n_rest * (node.sum_count - side.sum_count) - rest_square


cdef inline double variance_score(const MovingSide* side, const NodeLabels* node) noexcept nogil:
    return per_side(variances_of_moved(side), side.n_rows) + per_side(
        variances_of_rest(side, node), <double>node.n_rows - side.n_rows
    )


# ---------------------------------------------------------------------------- scores: covariances


cdef inline double covariance_score(MovingSide* side, const NodeLabels* node, double limit
                                    ) noexcept nogil:
    """Return the score by covariances, or a lower bound if the score exceeds `limit`."""
    cdef double n_moved = side.n_rows, n_rest = <double>node.n_rows - side.n_rows
    cdef double moved_variance = variances_of_moved(side)
    cdef double rest_variance = variances_of_rest(side, node)
    cdef double rest_total = node.sum_count - side.sum_count
    cdef double rest_square = node.sum_square - 2 * side.cross + side.sum_square
    # The absolute value of the sum of covariances bounds the sum of absolute values from below.
    cdef double moved_bound = fabs(
        n_moved * side.sum_pairs - (side.sum_count ** 2 - side.sum_square) / 2
    )
    cdef double rest_bound = fabs(
        n_rest * (node.sum_pairs - side.sum_pairs) - (rest_total ** 2 - rest_square) / 2
    )
    # Open: the sum of covariances can still be smaller than the sum of variances.
    cdef bint moved_open = moved_bound < moved_variance, rest_open = rest_bound < rest_variance
    cdef double moved_sum = 0, rest_sum = 0, count
    cdef int64_t label, to_pairs, n_varying = node.n_varying
    cdef double bound = (per_side(moved_bound if moved_open else moved_variance, n_moved)
                         + per_side(rest_bound if rest_open else rest_variance, n_rest))
    if bound > limit or not (moved_open or rest_open):
        return bound
    if rest_open:
        for label in range(n_varying):
            side.rest_count[label] = node.count[label] - side.count[label]
    for label in range(n_varying - 1):
        to_pairs = label * n_varying + label + 1
        if moved_open:
            count = side.count[label]
            if 0 < count < n_moved:
                moved_sum += absolute_covariances(
                    n_moved, count, side.pair_count.data() + to_pairs,
                    side.count.data() + label + 1, n_varying - label - 1,
                )
            moved_open = moved_sum < moved_variance
        if rest_open:
            count = side.rest_count[label]
            if 0 < count < n_rest:
                rest_sum += absolute_covariances_of_rest(
                    n_rest, count, node.pair_count.data() + to_pairs,
                    side.pair_count.data() + to_pairs,
                    side.rest_count.data() + label + 1, n_varying - label - 1,
                )
            rest_open = rest_sum < rest_variance
        # Partial sums are lower bounds, as are the bounds above.
        bound = (per_side(max(moved_bound, moved_sum) if moved_open else moved_variance, n_moved)
                 + per_side(max(rest_bound, rest_sum) if rest_open else rest_variance, n_rest))
        if bound > limit or not (moved_open or rest_open):
            return bound
    return (per_side(moved_sum if moved_open else moved_variance, n_moved)
            + per_side(rest_sum if rest_open else rest_variance, n_rest))


cdef inline double covariance_of_moved(const MovingSide* side, const NodeLabels* node
                                       ) noexcept nogil:
    """Return the score of the moving side, one branch of a nominal split."""
    cdef double variance = variances_of_moved(side), total = 0
    cdef int64_t label, n_varying = node.n_varying
    for label in range(n_varying - 1):
        if total >= variance:
            break
        if 0 < side.count[label] < side.n_rows:
            total += absolute_covariances(
                side.n_rows, side.count[label],
                side.pair_count.data() + label * n_varying + label + 1,
                side.count.data() + label + 1, n_varying - label - 1,
            )
    return per_side(min(total, variance), side.n_rows)


# ------------------------------------------------------------------------------ scores: entropies


cdef inline double entropy(const double* nlogn, int64_t n_rows, int64_t count) noexcept nogil:
    """Return n times the entropy of a label that `count` of n rows have."""
    return nlogn[n_rows] - nlogn[count] - nlogn[n_rows - count]


cdef inline double entropies_of_node(const NodeLabels* node, const double* nlogn) noexcept nogil:
    cdef int64_t label
    cdef double total = 0
    for label in range(node.n_varying):
        total += entropy(nlogn, node.n_rows, <int64_t>node.count[label])
    return total


cdef inline double entropies_of_moved(
    const MovingSide* side, const NodeLabels* node, const double* nlogn
) noexcept nogil:
    cdef int64_t label
    cdef double total = 0
    for label in range(node.n_varying):
        total += entropy(nlogn, <int64_t>side.n_rows, <int64_t>side.count[label])
    return total


cdef inline double entropies_of_rest(
    const MovingSide* side, const NodeLabels* node, const double* nlogn
) noexcept nogil:
    cdef int64_t label, n_rest = node.n_rows - <int64_t>side.n_rows
    cdef double total = 0
    for label in range(node.n_varying):
        total += entropy(nlogn, n_rest, <int64_t>(node.count[label] - side.count[label]))
    return total


# --------------------------------------------------------------------------------- numeric splits


cdef inline float between(float low, float high) noexcept nogil:
    """Return a threshold with low <= threshold < high."""
    cdef float middle = <float>((<double>low + <double>high) / 2)
    return middle if middle < high else low


cdef void score_split(Scan* scan, Split* best, float threshold, bint missing_right) noexcept nogil:
    """Score the split into the moving side and the rest; keep it if it is better."""
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


cdef void undo_missing(Scan* scan) noexcept nogil:
    cdef int64_t i
    for i in range(<int64_t>scan.values.missing.size()):
        undo_pairs(&scan.side, scan.node, scan.values.missing[i])


cdef void scan_values(Scan* scan, Split* best, bint downwards, bint with_missing) noexcept nogil:
    """Move rows from one end of the values to zero, and score a split at each change of value.

    The moving side is the right side in a scan downwards. With `with_missing`, it starts with the
    rows whose value is missing.
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
            score_split(scan, best, between(following, value), missing_right)
        else:
            score_split(scan, best, between(value, following), missing_right)
    if scan.by_covariance:
        while i != begin:
            i -= step
            undo_pairs(side, node, values.nonzero[i].position)
        if with_missing:
            undo_missing(scan)


cdef void search_numeric(Scan* scan, Split* best) noexcept nogil:
    cdef int with_missing
    sort_values(&scan.values)
    best.kind = NUMERIC
    for with_missing in range(1 if scan.values.missing.empty() else 2):
        scan_values(scan, best, True, with_missing)
        if scan.values.n_negative:
            scan_values(scan, best, False, with_missing)


# --------------------------------------------------------------------------------- nominal splits


cdef void search_nominal(Scan* scan, Split* best) noexcept nogil:
    """Score the split with a branch for each category that is frequent enough."""
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
                undo_pairs(side, node, scan.branches.position[i])
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


# --------------------------------------------------------------------------------------- features


cdef bint search_feature(SplitSearch* search, Scan* scan, int64_t at) noexcept nogil:
    """Find the best split on a feature; return false if the feature is constant."""
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
    """Search `max_features` random features that vary, and more until there is a split."""
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


cdef void search_by_thread(void* data, int64_t at, int thread) noexcept nogil:
    cdef SplitSearch* search = <SplitSearch*>data
    search_feature(search, search.scans.data() + thread, at)


cdef void search_all_features(SplitSearch* search, const NodeLabels* node) noexcept nogil:
    cdef int64_t n_features = <int64_t>search.features.feature.size()
    cdef double n_values
    cdef int n_threads
    # Each value moves a row, which counts each label and pair of labels of the row.
    n_values = <double>(n_features * node.n_rows if search.training.X.dense != NULL
                        else <int64_t>search.features.stored.size())
    n_threads = threads_worth(
        <int>search.scans.size(),
        n_values * (1 + (node.sum_count + node.sum_pairs) / <double>node.n_rows),
        WORTH_THREADS,
    )
    run_loop(n_features, 8, n_threads, search_by_thread, search)


cdef const Split* find_split(SplitSearch* search, const NodeLabels* node) noexcept nogil:
    """Find the best split of a node, or NULL."""
    cdef const Training* training = search.training
    cdef int64_t i
    cdef Scan* scan
    list_features(&search.features, &training.X, node)
    search.splits.resize(search.features.feature.size())
    for i in range(<int64_t>search.scans.size()):
        scan = &search.scans[i]
        scan.training = training
        scan.node = node
        # A single varying label has no covariances, so use its variance.
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
    """Find the best gain ratio among splits whose gain is at least the average, as in C4.5."""
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
