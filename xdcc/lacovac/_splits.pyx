"""Kernel that grows label trees: counts, clusters, and the search for horizontal splits.

A node's rows lie next to each other in one array of row indices, which horizontal splits
partition in place; the children of a vertical split share their parent's rows. For each node
the varying labels are numbered anew, largest variance first, and for every pair of them the
rows that have both are counted.

The rows of a feature are scanned from its largest value down to zero and from its smallest value
up to zero, so that rows whose value is zero, most of them in sparse data, are never touched. The
side of the split that grows in a scan is called the moving one; its counts of labels and of pairs
change with every row by what that row has, and those of the other side, the rest, are what is
missing to the node's.

With n rows, c_j of which have label j and c_jk both labels, n² times a variance is
c_j (n - c_j) and n² times a covariance is n c_jk - c_j c_k: whole numbers, exact in float64. So
equal splits get equal scores, and rounding decides no tie (while sums stay below 2^53: 10,000 rows
and 10,000 labels at least, since a covariance is at most n²/4). Sums of variances follow from two
numbers that a row changes in no more steps than it has labels. Sums of covariances need all
pairs; they are added label by label, and a candidate is dropped as soon as what it has reached
is worse than the best split.

Nothing depends on the order of rows or the number of threads. (More than 300 lines: one state, a
node's counts, is what every function here works on.)
"""

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport fabs, isnan, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from xdcc.kernels.arrays cimport as_array
from xdcc.kernels.categories cimport Categories, categories_of, category_number, n_categories
from xdcc.kernels.matrix cimport HeldMatrix, Matrix
from xdcc.kernels.random cimport draw
from xdcc.kernels.threads cimport threads_worth

cdef extern from *:
    """
    #include <cmath>
    #include <cstdint>

    struct XdccEntry {
      float value;
      std::int32_t position;
      bool operator<(XdccEntry const& other) const { return value < other.value; }
    };

    struct XdccVariance {
      double variance;
      std::int32_t label;
      std::int32_t count;
      bool operator<(XdccVariance const& other) const {
        return variance != other.variance ? variance > other.variance : label < other.label;
      }
    };

    // n^2 times the absolute covariances of one label, which c rows have, with others.
    // Summands are whole numbers: their order does not matter.
    static inline double xdcc_moving(double n, double c, std::int32_t const* pairs,
                                     double const* count, std::int64_t size) {
      double sum = 0;
    #pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < size; ++i) {
        sum += std::fabs(n * pairs[i] - c * count[i]);
      }
      return sum;
    }

    static inline double xdcc_rest(double n, double c, std::int32_t const* all,
                                   std::int32_t const* moving, double const* count,
                                   std::int64_t size) {
      double sum = 0;
    #pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < size; ++i) {
        sum += std::fabs(n * (all[i] - moving[i]) - c * count[i]);
      }
      return sum;
    }
    """
    cdef cppclass Entry "XdccEntry":
        float value
        int32_t position

    cdef cppclass LabelVariance "XdccVariance":
        double variance
        int32_t label
        int32_t count

    double _moving_row "xdcc_moving"(double n, double c, const int32_t* pairs,
                                     const double* count, int64_t size) noexcept nogil
    double _rest_row "xdcc_rest"(double n, double c, const int32_t* all, const int32_t* moving,
                                 const double* count, int64_t size) noexcept nogil

cdef enum:
    LEAF = 0
    VERTICAL = 1
    NUMERIC = 2
    NOMINAL = 3

cdef enum:
    COVARIANCE = 0
    VARIANCE = 1
    GAIN_RATIO = 2

cdef enum:
    TOGETHER = 0
    SINGLE_LINKAGE = 1
    ALL_OR_NONE = 2

KINDS = {"leaf": LEAF, "vertical": VERTICAL, "numeric": NUMERIC, "nominal": NOMINAL}
CRITERIA = {"covariance": COVARIANCE, "variance": VARIANCE, "gain_ratio": GAIN_RATIO}
CLUSTERINGS = {None: TOGETHER, "single_linkage": SINGLE_LINKAGE, "all_or_none": ALL_OR_NONE}

cdef double INFINITE = float("inf")
cdef double Z = 1.96                       # two-sided 95 % of the normal distribution
cdef double FOLDED_MEAN = 0.7978845608028654      # of |N(0, 1)|: sqrt(2 / pi)
cdef double FOLDED_VARIANCE = 0.3633802276324186  # 1 - 2 / pi
cdef double WORTH_THREADS = 2e6            # steps of a search below which threads cost more


cdef cppclass Training:
    """What trees are grown from, and how; the arrays belong to the caller."""
    int64_t n_rows
    int64_t n_features
    int64_t n_labels
    const Matrix* X                # in Fortran order or CSR
    Categories categories
    const int64_t* label_start     # row i has label[label_start[i] : label_start[i + 1]]
    const int32_t* label
    const double* nlogn            # [n_rows + 1]: n log2(n)
    int criterion
    int clustering
    bint train_size
    int64_t max_depth              # -1: no limit
    int64_t min_samples_split
    int64_t min_samples_leaf
    int64_t max_features           # 0: all


cdef cppclass Tree:
    """A grown tree; children lie side by side."""
    vector[int8_t] kind
    vector[int32_t] feature
    vector[float] threshold
    vector[float] value
    vector[int32_t] child
    vector[int32_t] n_children
    vector[int32_t] default_child
    vector[int32_t] n_samples
    vector[int32_t] depth
    vector[double] impurity
    vector[int32_t] label_list
    vector[int64_t] list_end
    vector[int32_t] list_label


cdef struct Part:
    int32_t node
    int64_t start
    int64_t end
    bint clustered                 # the node's labels are a cluster of the same rows


cdef struct Split:
    bint valid
    int8_t kind
    int8_t missing_right
    int32_t feature
    float threshold
    double score                   # the lower the better
    double gain                    # with the gain ratio only
    double gain_ratio


cdef cppclass Node:
    """The node that is being split."""
    int64_t n
    int64_t k                      # number of varying labels
    const int32_t* rows
    vector[LabelVariance] varying
    vector[double] count           # [k]
    vector[int32_t] pairs          # [k, k]: entry a, b with a < b
    vector[int32_t] label_start    # [n + 1]
    vector[int32_t] label          # varying labels of each row, ascending
    vector[int32_t] number         # [n_labels]: number of a varying label, else -1
    vector[int32_t] positives      # [n_labels]
    vector[uint8_t] here           # [n_labels]
    vector[int32_t] cluster        # [k]: its first label
    double sum_count
    double sum_square
    double sum_pairs
    double entropy
    vector[int32_t] features       # to be searched
    vector[int32_t] feature_size   # [n_features], 0 between nodes
    vector[int64_t] feature_start
    vector[Entry] entries          # sparse X: values of a feature side by side
    vector[Split] splits


cdef cppclass Scratch:
    """A thread's memory for a scan: counts of the moving side."""
    double n
    double sum_count
    double sum_square
    double sum_pairs
    double cross                   # Σ c_j (of the node) c_j (of the moving side)
    vector[double] count
    vector[double] rest
    vector[int32_t] pairs          # zero between scans
    vector[Entry] entries
    vector[int32_t] missing
    vector[int32_t] code
    vector[int32_t] by_code
    vector[int32_t] code_start
    double best


# -------------------------------------------------------------------------------------- counting


cdef void _count_labels(Node* d, const Training* t, const int32_t* labels, int64_t n_labels
                        ) noexcept nogil:
    """Find the varying labels of a node and the labels of each row among them."""
    cdef int64_t i, j, row
    cdef int32_t label, c, begin
    cdef LabelVariance entry
    for j in range(n_labels):
        d.here[labels[j]] = 1
        d.positives[labels[j]] = 0
    for i in range(d.n):
        row = d.rows[i]
        for j in range(t.label_start[row], t.label_start[row + 1]):
            d.positives[t.label[j]] += 1
    d.varying.clear()
    for j in range(n_labels):
        label = labels[j]
        c = d.positives[label]
        if 0 < c < d.n:
            entry.variance = <double>c * <double>(d.n - c)
            entry.label = label
            entry.count = c
            d.varying.push_back(entry)
        else:
            d.here[label] = 0
    sort(d.varying.begin(), d.varying.end())
    d.k = <int64_t>d.varying.size()
    d.count.resize(d.k)
    d.sum_count = 0
    d.sum_square = 0
    for j in range(d.k):
        d.number[d.varying[j].label] = <int32_t>j
        d.count[j] = d.varying[j].count
        d.sum_count += d.count[j]
        d.sum_square += d.count[j] * d.count[j]
    d.label_start.resize(d.n + 1)
    d.label_start[0] = 0
    d.label.clear()
    d.sum_pairs = 0
    for i in range(d.n):
        row = d.rows[i]
        begin = <int32_t>d.label.size()
        for j in range(t.label_start[row], t.label_start[row + 1]):
            if d.here[t.label[j]]:
                d.label.push_back(d.number[t.label[j]])
        sort(d.label.begin() + begin, d.label.end())
        d.label_start[i + 1] = <int32_t>d.label.size()
        c = d.label_start[i + 1] - begin
        d.sum_pairs += <double>c * <double>(c - 1) / 2
    for j in range(d.k):
        d.here[d.varying[j].label] = 0


cdef void _count_pairs(Node* d) noexcept nogil:
    cdef int64_t i, a, b
    d.pairs.assign(d.k * d.k, 0)
    for i in range(d.n):
        for a in range(d.label_start[i], d.label_start[i + 1]):
            for b in range(a + 1, d.label_start[i + 1]):
                d.pairs[d.label[a] * d.k + d.label[b]] += 1


# ------------------------------------------------------------------------------------ clustering


cdef int32_t _root(vector[int32_t]& cluster, int32_t a) noexcept nogil:
    while cluster[a] != a:
        cluster[a] = cluster[cluster[a]]
        a = cluster[a]
    return a


cdef bint _is_together(Node* d, double n_threshold) noexcept nogil:
    """LaCova: is the sum of absolute covariances larger than independence would have it?

    A covariance of independent labels has mean 0 and variance v_j v_k / (n - 1); the sum of
    absolute values is taken as normal.
    """
    cdef double n = <double>d.n, total = 0, mean = 0, variance = 0, scale
    cdef int64_t a, b
    if n_threshold <= 1:
        return False
    for a in range(d.k):
        total += _moving_row(n, d.count[a], &d.pairs[a * d.k] + a + 1, d.count.data() + a + 1,
                             d.k - a - 1)
        for b in range(a + 1, d.k):
            scale = d.varying[a].variance * d.varying[b].variance / (n_threshold - 1)
            mean += sqrt(scale)
            variance += scale
    return total > FOLDED_MEAN * mean + Z * sqrt(FOLDED_VARIANCE * variance)


cdef void _cluster(Node* d, const Training* t, double n_threshold) noexcept nogil:
    """Clusters of the varying labels: `cluster` is the first label (by number) of each one's."""
    cdef double n = <double>d.n
    cdef double threshold = Z / sqrt(n_threshold - 1) if n_threshold > 1 else INFINITE
    cdef double covariance
    cdef int32_t a, b, of_a, of_b
    d.cluster.resize(d.k)
    for a in range(d.k):
        d.cluster[a] = a
    if t.clustering == ALL_OR_NONE:
        return
    for a in range(d.k):
        for b in range(a + 1, d.k):
            covariance = fabs(n * d.pairs[a * d.k + b] - d.count[a] * d.count[b])
            # Single linkage cut at the threshold: connected components.
            if covariance / sqrt(d.varying[a].variance * d.varying[b].variance) > threshold:
                of_a = _root(d.cluster, a)
                of_b = _root(d.cluster, b)
                if of_a < of_b:
                    d.cluster[of_b] = of_a
                else:
                    d.cluster[of_a] = of_b
    for a in range(d.k):
        d.cluster[a] = _root(d.cluster, a)


# -------------------------------------------------------------------------------------- scoring


cdef void _clear(Scratch* s, int64_t k) noexcept nogil:
    s.n = 0
    s.sum_count = 0
    s.sum_square = 0
    s.sum_pairs = 0
    s.cross = 0
    s.count.assign(k, 0)


cdef void _add(Scratch* s, const Node* d, int64_t position, bint pairs) noexcept nogil:
    """Move a row to the moving side."""
    cdef int64_t a, b, begin = d.label_start[position], end = d.label_start[position + 1]
    cdef int32_t j
    cdef int32_t* row
    cdef double m = <double>(end - begin)
    s.n += 1
    s.sum_count += m
    s.sum_pairs += m * (m - 1) / 2
    for a in range(begin, end):
        j = d.label[a]
        s.sum_square += 2 * s.count[j] + 1
        s.cross += d.count[j]
        s.count[j] += 1
        if pairs:
            row = s.pairs.data() + j * d.k
            for b in range(a + 1, end):
                row[d.label[b]] += 1


cdef void _take_pairs_back(Scratch* s, const Node* d, int64_t position) noexcept nogil:
    cdef int64_t a, b, end = d.label_start[position + 1]
    for a in range(d.label_start[position], end):
        for b in range(a + 1, end):
            s.pairs[d.label[a] * d.k + d.label[b]] -= 1


cdef inline double _per_child(double sum, double n) noexcept nogil:
    """n times the sum of sample (co)variances, from n² times that of the plain ones."""
    return sum / (n - 1) if n > 1 else 0


cdef double _covariance_score(Scratch* s, const Node* d) noexcept nogil:
    """Sum over both sides of the smaller one of variances and absolute covariances.

    Infinite if it exceeds `s.best`.
    """
    cdef double m = s.n, r = <double>d.n - m
    cdef double moving_variance = m * s.sum_count - s.sum_square
    cdef double rest_square = d.sum_square - 2 * s.cross + s.sum_square
    cdef double rest_count = d.sum_count - s.sum_count
    cdef double rest_variance = r * rest_count - rest_square
    # The absolute sum of the covariances is a lower bound for the sum of absolute ones.
    cdef double moving = fabs(m * s.sum_pairs - (s.sum_count ** 2 - s.sum_square) / 2)
    cdef double rest = fabs(
        r * (d.sum_pairs - s.sum_pairs) - (rest_count ** 2 - rest_square) / 2
    )
    cdef double low, c
    cdef int64_t a, k = d.k, size
    cdef bint moving_open = moving < moving_variance, rest_open = rest < rest_variance
    low = (_per_child(moving if moving_open else moving_variance, m)
           + _per_child(rest if rest_open else rest_variance, r))
    if low > s.best:
        return INFINITE
    if not moving_open and not rest_open:
        return low
    if rest_open:
        for a in range(k):
            s.rest[a] = d.count[a] - s.count[a]
    cdef double moving_sum = 0, rest_sum = 0
    for a in range(k - 1):
        size = k - a - 1
        if moving_open:
            c = s.count[a]
            if 0 < c < m:
                moving_sum += _moving_row(m, c, s.pairs.data() + a * k + a + 1,
                                          s.count.data() + a + 1, size)
            if moving_sum >= moving_variance:
                moving_open = False
        if rest_open:
            c = s.rest[a]
            if 0 < c < r:
                rest_sum += _rest_row(r, c, d.pairs.data() + a * k + a + 1,
                                      s.pairs.data() + a * k + a + 1, s.rest.data() + a + 1, size)
            if rest_sum >= rest_variance:
                rest_open = False
        # What was found so far is a lower bound, and so is what was found before.
        low = (_per_child(max(moving, moving_sum) if moving_open else moving_variance, m)
               + _per_child(max(rest, rest_sum) if rest_open else rest_variance, r))
        if low > s.best:
            return INFINITE
        if not moving_open and not rest_open:
            return low
    return (_per_child(moving_sum if moving_open else moving_variance, m)
            + _per_child(rest_sum if rest_open else rest_variance, r))


cdef double _child_covariance(const Scratch* s, const Node* d) noexcept nogil:
    """The smaller one of variances and absolute covariances of the moving side alone."""
    cdef double variance = s.n * s.sum_count - s.sum_square, total = 0
    cdef int64_t a, k = d.k
    for a in range(k - 1):
        if total >= variance:
            return variance
        if 0 < s.count[a] < s.n:
            total += _moving_row(s.n, s.count[a], s.pairs.data() + a * k + a + 1,
                                 s.count.data() + a + 1, k - a - 1)
    return min(total, variance)


cdef double _moving_entropy(const Scratch* s, const Node* d, const Training* t) noexcept nogil:
    """n times the labels' summed entropies on the moving side."""
    cdef int64_t a, n = <int64_t>s.n, c
    cdef double total = 0
    for a in range(d.k):
        c = <int64_t>s.count[a]
        total += t.nlogn[n] - t.nlogn[c] - t.nlogn[n - c]
    return total


cdef double _rest_entropy(const Scratch* s, const Node* d, const Training* t) noexcept nogil:
    cdef int64_t a, n = d.n - <int64_t>s.n, c
    cdef double total = 0
    for a in range(d.k):
        c = <int64_t>(d.count[a] - s.count[a])
        total += t.nlogn[n] - t.nlogn[c] - t.nlogn[n - c]
    return total


cdef inline bint _by_covariance(const Node* d, const Training* t) noexcept nogil:
    """A single varying label has no covariances: it is split by its variance."""
    return t.criterion == COVARIANCE and d.k > 1


cdef void _offer(Split* best, Scratch* s, const Node* d, const Training* t, float threshold,
                 bint missing_right) noexcept nogil:
    """Score the split between moving side and rest; keep it if it is better."""
    cdef double score, info = 0, m, r
    if t.criterion == GAIN_RATIO:
        info = d.entropy - (_moving_entropy(s, d, t) + _rest_entropy(s, d, t))
        score = -info
    elif _by_covariance(d, t):
        score = _covariance_score(s, d)
        if score == INFINITE:
            return
    else:
        m = s.n
        r = <double>d.n - m
        score = _per_child(m * s.sum_count - s.sum_square, m) + _per_child(
            r * (d.sum_count - s.sum_count) - (d.sum_square - 2 * s.cross + s.sum_square), r
        )
    if best.valid and (score > best.score or (score == best.score and (
        threshold > best.threshold
        or (threshold == best.threshold and missing_right >= best.missing_right)
    ))):
        return
    best.valid = True
    best.score = score
    best.threshold = threshold
    best.missing_right = missing_right
    if t.criterion == GAIN_RATIO:
        best.gain = info
        best.gain_ratio = info / (
            t.nlogn[d.n] - (t.nlogn[<int64_t>s.n] + t.nlogn[d.n - <int64_t>s.n])
        )
    elif score < s.best:
        s.best = score


# -------------------------------------------------------------------------------------- scanning


cdef inline float _between(float low, float high) noexcept nogil:
    """A threshold t with low <= t < high."""
    cdef float middle = <float>((<double>low + <double>high) / 2)
    return middle if middle < high else low


cdef void _collect(Scratch* s, const Node* d, const Training* t, int64_t i) noexcept nogil:
    """Values of the i-th feature that are not zero, and rows where it is missing."""
    cdef int64_t p, feature = d.features[i]
    cdef Entry entry
    s.entries.clear()
    s.missing.clear()
    if t.X.dense != NULL:
        for p in range(d.n):
            entry.value = t.X.dense[feature * t.n_rows + d.rows[p]]
            entry.position = <int32_t>p
            if isnan(entry.value):
                s.missing.push_back(<int32_t>p)
            elif entry.value != 0:
                s.entries.push_back(entry)
    else:
        for p in range(d.feature_start[i], d.feature_start[i + 1]):
            entry = d.entries[p]
            if isnan(entry.value):
                s.missing.push_back(entry.position)
            elif entry.value != 0:
                s.entries.push_back(entry)


cdef void _scan(Split* best, Scratch* s, const Node* d, const Training* t, int64_t begin,
                int64_t end, int64_t step, bint with_zero, bint with_missing) noexcept nogil:
    """Move the rows from `begin` to `end` one after the other, and score where values change.

    The moving side is the right one in a scan downwards, `step` -1. `with_missing` tells whether
    it begins with the rows without a value; `with_zero` whether zeros follow at the end.
    """
    cdef int64_t i = begin, p
    cdef bint pairs = _by_covariance(d, t)
    cdef float value, following
    cdef bint missing_right
    _clear(s, d.k)
    if with_missing:
        for p in range(<int64_t>s.missing.size()):
            _add(s, d, s.missing[p], pairs)
    while i != end:
        value = s.entries[i].value
        _add(s, d, s.entries[i].position, pairs)
        i += step
        if i != end:
            following = s.entries[i].value
        elif with_zero:
            following = 0
        elif 0 <= i < <int64_t>s.entries.size() and step < 0:
            following = s.entries[i].value
        else:
            break
        if following == value or s.n < t.min_samples_leaf:
            continue
        if d.n - s.n < t.min_samples_leaf:
            break
        if s.missing.empty():
            missing_right = (s.n > d.n - s.n) if step < 0 else (s.n < d.n - s.n)
        else:
            missing_right = with_missing == (step < 0)
        if step < 0:
            _offer(best, s, d, t, _between(following, value), missing_right)
        else:
            _offer(best, s, d, t, _between(value, following), missing_right)
    if pairs:
        while i != begin:
            i -= step
            _take_pairs_back(s, d, s.entries[i].position)
        if with_missing:
            for p in range(<int64_t>s.missing.size()):
                _take_pairs_back(s, d, s.missing[p])


cdef bint _is_constant(const Scratch* s, const Node* d) noexcept nogil:
    """No two rows with different values."""
    cdef int64_t n_known = d.n - <int64_t>s.missing.size(), i
    if s.entries.empty():
        return True
    if <int64_t>s.entries.size() < n_known:
        return False
    for i in range(1, <int64_t>s.entries.size()):
        if s.entries[i].value != s.entries[0].value:
            return False
    return True


cdef void _search_numeric(Split* best, Scratch* s, const Node* d, const Training* t
                          ) noexcept nogil:
    cdef int64_t n_entries = <int64_t>s.entries.size(), n_negative = 0
    cdef bint with_zero = n_entries + <int64_t>s.missing.size() < d.n
    cdef int64_t i
    cdef int with_missing
    cdef bint sorted_already = True
    for i in range(1, n_entries):
        if s.entries[i].value < s.entries[i - 1].value:
            sorted_already = False
            break
    if not sorted_already:
        sort(s.entries.begin(), s.entries.end())
    while n_negative < n_entries and s.entries[n_negative].value < 0:
        n_negative += 1
    best.kind = NUMERIC
    for with_missing in range(2 if s.missing.size() else 1):
        _scan(best, s, d, t, n_entries - 1, n_negative - 1, -1, with_zero, with_missing)
        if n_negative:
            _scan(best, s, d, t, 0, n_negative, 1, with_zero, with_missing)


cdef int32_t _largest_category(Scratch* s, const Node* d, const Training* t, int64_t feature
                               ) noexcept nogil:
    """Order the rows by category; return the one with the most rows (ties: the first).

    Rows of categories that are too rare for a branch, and rows without a value, belong to it.
    """
    cdef int64_t i, n_codes = n_categories(&t.categories, feature)
    cdef int32_t largest = 0
    cdef int32_t of_zero = category_number(&t.categories, feature, 0) if s.entries.size() < <size_t>d.n else 0
    s.code.assign(d.n, of_zero)
    for i in range(<int64_t>s.entries.size()):
        s.code[s.entries[i].position] = category_number(&t.categories, feature, s.entries[i].value)
    for i in range(<int64_t>s.missing.size()):
        s.code[s.missing[i]] = -1
    s.code_start.assign(n_codes + 1, 0)
    for i in range(d.n):
        if s.code[i] >= 0:
            s.code_start[s.code[i] + 1] += 1
    for i in range(n_codes):
        if s.code_start[i + 1] > s.code_start[largest + 1]:
            largest = <int32_t>i
    for i in range(d.n):
        if s.code[i] < 0 or s.code_start[s.code[i] + 1] < t.min_samples_leaf:
            if s.code[i] >= 0:
                s.code_start[s.code[i] + 1] -= 1
            s.code[i] = largest
            s.code_start[largest + 1] += 1
    for i in range(n_codes):
        s.code_start[i + 1] += s.code_start[i]
    s.by_code.resize(d.n)
    for i in range(d.n - 1, -1, -1):
        s.code_start[s.code[i] + 1] -= 1
        s.by_code[s.code_start[s.code[i] + 1]] = <int32_t>i
    # The loop above has moved every end to its beginning.
    for i in range(n_codes):
        s.code_start[i] = s.code_start[i + 1]
    s.code_start[n_codes] = <int32_t>d.n
    return largest


cdef void _search_nominal(Split* best, Scratch* s, const Node* d, const Training* t,
                          int64_t feature) noexcept nogil:
    """Score a branch for every category that is frequent enough."""
    cdef int64_t i, n_codes, n_branches = 0
    cdef int32_t code
    cdef double score = 0, entropy = 0, nlogn = 0, size
    cdef bint pairs = _by_covariance(d, t)
    _largest_category(s, d, t, feature)
    n_codes = <int64_t>s.code_start.size() - 1
    for code in range(n_codes):
        if s.code_start[code] == s.code_start[code + 1]:
            continue
        n_branches += 1
        _clear(s, d.k)
        for i in range(s.code_start[code], s.code_start[code + 1]):
            _add(s, d, s.by_code[i], pairs)
        size = s.n
        if size < t.min_samples_leaf:
            n_branches = 0
        if t.criterion == GAIN_RATIO:
            entropy += _moving_entropy(s, d, t)
            nlogn += t.nlogn[<int64_t>size]
        elif pairs:
            score += _per_child(_child_covariance(s, d), size)
        else:
            score += _per_child(size * s.sum_count - s.sum_square, size)
        if pairs:
            for i in range(s.code_start[code], s.code_start[code + 1]):
                _take_pairs_back(s, d, s.by_code[i])
        if n_branches == 0 or score > s.best:
            return
    if n_branches < 2:
        return
    best.valid = True
    best.kind = NOMINAL
    best.score = score
    if t.criterion == GAIN_RATIO:
        best.gain = d.entropy - entropy
        best.gain_ratio = best.gain / (t.nlogn[d.n] - nlogn)
    elif score < s.best:
        s.best = score


cdef bint _search_feature(Split* best, Scratch* s, const Node* d, const Training* t, int64_t i
                          ) noexcept nogil:
    """Find the best split on a feature; False if the feature does not vary."""
    cdef int64_t feature = d.features[i]
    best.valid = False
    best.feature = <int32_t>feature
    best.missing_right = False
    _collect(s, d, t, i)
    if _is_constant(s, d):
        return False
    if n_categories(&t.categories, feature) > 0:
        _search_nominal(best, s, d, t, feature)
    else:
        _search_numeric(best, s, d, t)
    return True


cdef void _gather(Node* d, const Training* t) noexcept nogil:
    """List the features to be searched; of sparse X those with a value in the node's rows."""
    cdef int64_t i, k, row, feature, at
    cdef Entry entry
    d.features.clear()
    if t.X.dense != NULL:
        for feature in range(t.n_features):
            d.features.push_back(<int32_t>feature)
        return
    for i in range(d.n):
        row = d.rows[i]
        for k in range(t.X.indptr[row], t.X.indptr[row + 1]):
            feature = t.X.indices[k]
            if d.feature_size[feature] == 0:
                d.features.push_back(<int32_t>feature)
            d.feature_size[feature] += 1
    sort(d.features.begin(), d.features.end())
    d.feature_start.resize(d.features.size() + 1)
    at = 0
    for i in range(<int64_t>d.features.size()):
        d.feature_start[i] = at
        at += d.feature_size[d.features[i]]
        d.feature_size[d.features[i]] = <int32_t>d.feature_start[i]
    d.feature_start[d.features.size()] = at
    d.entries.resize(at)
    for i in range(d.n):
        row = d.rows[i]
        for k in range(t.X.indptr[row], t.X.indptr[row + 1]):
            feature = t.X.indices[k]
            entry.value = t.X.data[k]
            entry.position = <int32_t>i
            d.entries[d.feature_size[feature]] = entry
            d.feature_size[feature] += 1
    for i in range(<int64_t>d.features.size()):
        d.feature_size[d.features[i]] = 0


cdef void _search_drawn(Node* d, const Training* t, Scratch* s, uint64_t* state) noexcept nogil:
    """Search `max_features` varying features, and more until there is a split."""
    cdef int64_t n = <int64_t>d.features.size(), i, k, n_varying = 0
    cdef int64_t n_valid = 0
    cdef vector[int32_t] order
    cdef int32_t feature
    order.resize(n)
    for i in range(n):
        order[i] = <int32_t>i
        d.splits[i].valid = False
    for i in range(n):
        k = i + <int64_t>(draw(state) % <uint64_t>(n - i))
        feature = order[k]
        order[k] = order[i]
        n_varying += _search_feature(&d.splits[feature], s, d, t, feature)
        n_valid += d.splits[feature].valid
        if n_varying >= t.max_features and n_valid:
            break


cdef int64_t _search(Node* d, const Training* t, Scratch* scratch, int n_threads,
                     uint64_t* state) noexcept nogil:
    """Position of the best split in `splits`, -1 if there is none.

    Of equal splits the one on the last feature is taken.
    """
    cdef int64_t i, n, best = -1, n_gains = 0
    cdef double mean_gain = 0, steps
    cdef Scratch* s
    _gather(d, t)
    n = <int64_t>d.features.size()
    # Every value moves a row, and every label and pair of labels of it is counted.
    steps = <double>(n * d.n if t.X.dense != NULL else <int64_t>d.entries.size())
    steps *= 1 + (d.sum_count + d.sum_pairs) / <double>d.n
    d.splits.resize(n)
    for i in range(n_threads):
        s = scratch + i
        s.best = INFINITE
        s.rest.resize(d.k)
        if <int64_t>s.pairs.size() < d.k * d.k:
            s.pairs.resize(d.k * d.k, 0)
    if t.max_features > 0:
        _search_drawn(d, t, scratch, state)
    elif threads_worth(n_threads, steps, WORTH_THREADS) > 1:
        with parallel(num_threads=n_threads):
            for i in prange(n, schedule="dynamic", chunksize=8):
                s = scratch + threadid()
                _search_feature(&d.splits[i], s, d, t, i)
    else:
        for i in range(n):
            _search_feature(&d.splits[i], scratch, d, t, i)
    if t.criterion != GAIN_RATIO:
        for i in range(n):
            if d.splits[i].valid and (best < 0 or d.splits[i].score <= d.splits[best].score):
                best = i
        return best
    for i in range(n):
        if d.splits[i].valid and d.splits[i].gain > 0:
            mean_gain += d.splits[i].gain
            n_gains += 1
    if n_gains == 0:
        return -1
    mean_gain = mean_gain / n_gains
    for i in range(n):
        # As in C4.5: a high ratio counts only with a gain that is not below the average.
        if d.splits[i].valid and d.splits[i].gain > 0 and (
            d.splits[i].gain >= mean_gain * (1 - 1e-9)
        ) and (best < 0 or d.splits[i].gain_ratio >= d.splits[best].gain_ratio):
            best = i
    return best


# --------------------------------------------------------------------------------------- growing


cdef void _new_node(Tree* tree, int64_t n, int32_t depth, int32_t label_list, float value
                    ) noexcept nogil:
    tree.kind.push_back(LEAF)
    tree.feature.push_back(-1)
    tree.threshold.push_back(0)
    tree.value.push_back(value)
    tree.child.push_back(-1)
    tree.n_children.push_back(0)
    tree.default_child.push_back(-1)
    tree.n_samples.push_back(<int32_t>n)
    tree.depth.push_back(depth)
    tree.impurity.push_back(0)
    tree.label_list.push_back(label_list)


cdef bint _split_labels(Tree* tree, Node* d, Part part, const int32_t* labels, int64_t n_labels,
                        vector[Part]* stack) noexcept nogil:
    """Make the node a vertical split if its labels are in more than one cluster.

    Clusters are in the order of their first labels; a constant label is one of its own.
    """
    cdef vector[int32_t] name      # of each label's cluster: its first label
    cdef vector[int32_t] first     # label of each cluster, by the number of its first label
    cdef int64_t i, j
    cdef int32_t of_label
    cdef Part below
    cdef bint split = False
    name.resize(n_labels)
    first.assign(d.k, -1)
    for j in range(n_labels):
        name[j] = labels[j]
        if 0 < d.positives[labels[j]] < d.n:
            of_label = d.cluster[d.number[labels[j]]]
            if first[of_label] < 0:
                first[of_label] = labels[j]
            name[j] = first[of_label]
        if name[j] != name[0]:
            split = True
    if not split:
        return False
    tree.kind[part.node] = VERTICAL
    tree.child[part.node] = <int32_t>tree.kind.size()
    for j in range(n_labels):
        if name[j] != labels[j]:
            continue
        for i in range(j, n_labels):
            if name[i] == labels[j]:
                tree.list_label.push_back(labels[i])
        tree.list_end.push_back(<int64_t>tree.list_label.size())
        below.node = <int32_t>tree.kind.size()
        below.start = part.start
        below.end = part.end
        below.clustered = True
        _new_node(tree, d.n, tree.depth[part.node], <int32_t>tree.list_end.size() - 2, 0)
        tree.n_children[part.node] += 1
        stack.push_back(below)
    return True


cdef void _split_rows(Tree* tree, Node* d, const Training* t, Scratch* s, Part part, int64_t best,
                      vector[int32_t]& rows, vector[int32_t]& moved, vector[Part]* stack
                      ) noexcept nogil:
    """Make the node a horizontal split and order its rows by child."""
    cdef Split split = d.splits[best]
    cdef int64_t i, n_codes = 2, at = part.start
    cdef int32_t largest = 0, code
    cdef Part below
    cdef float value
    _collect(s, d, t, best)
    if split.kind == NOMINAL:
        largest = _largest_category(s, d, t, split.feature)
        n_codes = <int64_t>s.code_start.size() - 1
    else:
        s.code.assign(d.n, 0 > split.threshold)
        for i in range(<int64_t>s.entries.size()):
            s.code[s.entries[i].position] = s.entries[i].value > split.threshold
        for i in range(<int64_t>s.missing.size()):
            s.code[s.missing[i]] = split.missing_right
        largest = split.missing_right
    tree.kind[part.node] = split.kind
    tree.feature[part.node] = split.feature
    tree.threshold[part.node] = split.threshold if split.kind == NUMERIC else 0
    tree.child[part.node] = <int32_t>tree.kind.size()
    for code in range(n_codes):
        below.start = at
        for i in range(d.n):
            if s.code[i] == code:
                moved[at] = rows[part.start + i]
                at += 1
        below.end = at
        if below.end == below.start:
            continue
        if code == largest:
            tree.default_child[part.node] = tree.n_children[part.node]
        value = 0
        if split.kind == NOMINAL:
            value = t.categories.value[t.categories.start[split.feature] + code]
        below.node = <int32_t>tree.kind.size()
        below.clustered = False
        _new_node(tree, at - below.start, tree.depth[part.node] + 1,
                  tree.label_list[part.node], value)
        tree.n_children[part.node] += 1
        stack.push_back(below)
    for i in range(part.start, part.end):
        rows[i] = moved[i]


cdef void _grow(Tree* tree, const Training* t, vector[int32_t]& rows, uint64_t seed, int n_threads
                ) noexcept nogil:
    """Grow one tree: leaf first, then clusters, then a horizontal split (Algorithm 1)."""
    cdef Node d
    cdef vector[Scratch] scratch
    cdef vector[int32_t] moved, labels
    cdef vector[Part] stack
    cdef Part part
    cdef int64_t j, best, n_labels
    cdef int32_t label_list
    cdef uint64_t state = seed
    cdef double total, n_threshold
    cdef bint together
    scratch.resize(n_threads)
    moved.resize(rows.size())
    d.number.assign(t.n_labels, -1)
    d.positives.assign(t.n_labels, 0)
    d.here.assign(t.n_labels, 0)
    d.feature_size.assign(t.n_features, 0)
    tree.list_end.push_back(0)
    for j in range(t.n_labels):
        tree.list_label.push_back(<int32_t>j)
    tree.list_end.push_back(t.n_labels)
    _new_node(tree, <int64_t>rows.size(), 0, 0, 0)
    part.node = 0
    part.start = 0
    part.end = <int64_t>rows.size()
    part.clustered = False
    stack.push_back(part)
    while not stack.empty():
        part = stack.back()
        stack.pop_back()
        label_list = tree.label_list[part.node]
        labels.assign(tree.list_label.data() + tree.list_end[label_list],
                      tree.list_label.data() + tree.list_end[label_list + 1])
        n_labels = <int64_t>labels.size()
        d.n = part.end - part.start
        d.rows = rows.data() + part.start
        _count_labels(&d, t, labels.data(), n_labels)
        total = 0
        for j in range(d.k):
            total += d.varying[j].variance
        tree.impurity[part.node] = total / (<double>d.n * <double>d.n)
        if d.k == 0 or d.n < t.min_samples_split or (
            0 <= t.max_depth <= tree.depth[part.node]
        ):
            continue
        if t.criterion == COVARIANCE or t.clustering != TOGETHER:
            _count_pairs(&d)
        if t.clustering != TOGETHER and not part.clustered:
            n_threshold = <double>rows.size() if t.train_size else <double>d.n
            together = t.clustering == ALL_OR_NONE and _is_together(&d, n_threshold)
            if not together:
                _cluster(&d, t, n_threshold)
            if not together and _split_labels(tree, &d, part, labels.data(), n_labels, &stack):
                continue
        if t.criterion == GAIN_RATIO:
            d.entropy = 0
            for j in range(d.k):
                d.entropy += (t.nlogn[d.n] - t.nlogn[d.varying[j].count]
                              - t.nlogn[d.n - d.varying[j].count])
        best = _search(&d, t, scratch.data(), n_threads, &state)
        if best >= 0:
            _split_rows(tree, &d, t, scratch.data(), part, best, rows, moved, &stack)


cdef Training _training(HeldMatrix held, category, category_start, label_start, label, nlogn,
                        n_labels, how):
    cdef Training t
    cdef const int64_t[::1] rows = label_start
    cdef const int32_t[::1] labels = label
    cdef const double[::1] table = nlogn
    t.X = &held.matrix
    t.categories = categories_of(category, category_start)
    t.label_start = &rows[0]
    t.label = &labels[0] if labels.shape[0] else NULL
    t.nlogn = &table[0]
    t.n_rows = held.matrix.n_rows
    t.n_features = held.matrix.n_features
    t.n_labels = n_labels
    t.criterion = CRITERIA[how.criterion]
    t.clustering = CLUSTERINGS[how.clustering]
    t.train_size = how.threshold_size == "train"
    t.max_depth = -1 if how.max_depth is None else how.max_depth
    t.min_samples_split = how.min_samples_split
    t.min_samples_leaf = how.min_samples_leaf
    t.max_features = how.max_features
    return t


def grow(X, category, category_start, label_start, label, nlogn, n_labels, rows, seeds, how,
         n_threads):
    """Grow one tree per seed; see ``_splits.pyi``."""
    cdef HeldMatrix held = HeldMatrix(X, "F", "csr")
    cdef Training training = _training(held, category, category_start, label_start, label, nlogn,
                                       n_labels, how)
    cdef const Training* t = &training
    cdef const uint64_t[::1] seed = seeds
    cdef const int32_t[:, ::1] of_tree = rows
    cdef int64_t i, n_trees = seed.shape[0], n_rows = of_tree.shape[1]
    cdef int outer = min(n_threads, n_trees), inner = n_threads if n_trees == 1 else 1
    cdef vector[Tree] trees
    cdef vector[vector[int32_t]] own_rows
    cdef Tree* tree
    trees.resize(n_trees)
    own_rows.resize(n_trees)
    for i in range(n_trees):
        own_rows[i].assign(&of_tree[i, 0], &of_tree[i, 0] + n_rows)
    tree = trees.data()
    if outer == 1:
        with nogil:
            for i in range(n_trees):
                _grow(tree + i, t, own_rows[i], seed[i], inner)
    else:
        with nogil:
            for i in prange(n_trees, schedule="dynamic", chunksize=1, num_threads=outer):
                _grow(tree + i, t, own_rows[i], seed[i], 1)
    return [_arrays(tree + i) for i in range(n_trees)]


cdef _arrays(Tree* tree):
    return {
        "kind": as_array(tree.kind.data(), tree.kind.size()),
        "feature": as_array(tree.feature.data(), tree.feature.size()),
        "threshold": as_array(tree.threshold.data(), tree.threshold.size()),
        "value": as_array(tree.value.data(), tree.value.size()),
        "child": as_array(tree.child.data(), tree.child.size()),
        "n_children": as_array(tree.n_children.data(), tree.n_children.size()),
        "default_child": as_array(tree.default_child.data(), tree.default_child.size()),
        "n_samples": as_array(tree.n_samples.data(), tree.n_samples.size()),
        "depth": as_array(tree.depth.data(), tree.depth.size()),
        "impurity": as_array(tree.impurity.data(), tree.impurity.size()),
        "label_list": as_array(tree.label_list.data(), tree.label_list.size()),
        "list_start": as_array(tree.list_end.data(), tree.list_end.size()),
        "list_label": as_array(tree.list_label.data(), tree.list_label.size()),
    }
