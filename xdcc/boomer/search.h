/**
 * @brief Search of the best condition on one attribute: running sums, bounds, exact qualities.
 *
 * The rows of a node come sorted by the attribute's value. Sums of their gradients and Hessians
 * run from the outer values towards 0, so that the rows whose value is 0 are never visited: what
 * is not inside a sum is the node's total without it. At every step between two values both sides
 * are candidates.
 *
 * The gain of a candidate is g' (H + l2 I)^-1 g, twice what equation 14 of the paper falls by. For
 * losses that decompose, and for heads of one label, it is read off the sums. For complete heads
 * with the example-wise logistic loss the Hessian of a row is diag(p) - g g' with p = |g|; as the
 * p of a row sum to 1 - p0, it is at least p0 diag(p) (a symmetric matrix that is diagonally
 * dominant with this margin), so that g' (diag(sum p0 p) + l2 I)^-1 g is an upper bound of the
 * gain. Steps whose bound reaches the best gain so far get a closer one in blocks (`BlockSums`).
 * The linear system is solved only for candidates that are left, eight at a time, one per lane of a
 * vector. A row's Hessian is never stored.
 *
 * Sums and lanes are added in a fixed order, whatever is skipped and whatever the processor's
 * vectors hold: results do not depend on the number of threads.
 *
 * More than 300 lines: the search is one pass of small functions that a compiler has to see at
 * once. It is C++, not Cython, for vectors and for versions of the code per instruction set.
 */
#ifndef XDCC_BOOMER_SEARCH_H_
#define XDCC_BOOMER_SEARCH_H_

#include <algorithm>  // for fill, max, min
#include <cmath>      // for ceil, fabs
#include <cstdint>    // for int8_t, int32_t, int64_t, uint8_t
#include <vector>     // for vector

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
/** A version per instruction set, chosen when the module is loaded; all give equal results. */
#define XDCC_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default"), flatten))
#else
#define XDCC_VECTORISED
#endif

namespace xdcc_boomer {

/** @brief Four numbers, at any address. */
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));
/** @brief Eight numbers, at any address: the lanes of eight linear systems. */
typedef double Eight __attribute__((vector_size(64), aligned(8), may_alias));

constexpr std::int64_t kLanes = 8;
/** @brief Steps that share anchors at most, and at least. */
constexpr std::int64_t kBlock = 16, kSmallestBlock = 4;
/** @brief Bounds are taken this much larger, which covers rounding. */
constexpr double kSlack = 1 + 1e-9;
/** @brief What is left of a total may be wrong by this share of the total. */
constexpr double kRounding = 1e-11;
/** @brief Two ways to solve a system differ by less, relatively, even if it is near singular. */
constexpr double kClose = 1 + 1e-5;

inline const Four& four(const double* at) { return *reinterpret_cast<const Four*>(at); }
inline Four& four(double* at) { return *reinterpret_cast<Four*>(at); }
inline Eight& eight(double* at) { return *reinterpret_cast<Eight*>(at); }

/** @brief Relational operators of conditions. */
enum Relation : std::int8_t { kAtMost = 0, kAbove = 1, kEqual = 2, kUnequal = 3 };

inline Relation opposite(Relation relation) { return static_cast<Relation>(relation ^ 1); }

/** @brief What the gain of a candidate is. */
enum Quality : std::int8_t {
  kOneLabel = 0,   ///< of the one label that the rule predicts for
  kBestLabel = 1,  ///< of its best label
  kSumLabels = 2,  ///< summed over labels
  kSystem = 3      ///< of the linear system
};

/** @brief An attribute's values, sorted; the arrays belong to the caller. */
struct Column {
  const std::int32_t* row;  ///< [n_stored + n_missing], missing ones last
  const float* value;       ///< not 0
  std::int64_t n_stored;
  std::int64_t n_missing;
  bool nominal;
};

/** @brief The rows that a rule covers so far, and what is asked of them. */
struct Node {
  Quality quality;
  const std::uint8_t* inside;  ///< [n_rows] whether a row is covered
  std::int64_t n_inside;
  std::int64_t min_coverage;
  const double* statistics;  ///< [n_rows, 2 K] g and h of every label
  const double* weight;      ///< [n_rows] how often each row is in the sample
  const double* total;       ///< [2 K] over the rows inside
  std::int64_t K;            ///< labels, a multiple of 4, or 1; padded with zeros
  std::int64_t n_labels;
  double l2;              ///< positive
  const double* hessian;  ///< [K, K] lower triangle of the total, of -sum w g g'
  const double* spread;   ///< [K] sum of w p
  double bin_share;       ///< share of labels that is the number of label bins, 0: no bins
};

/** @brief A candidate: the rule's next condition. */
struct Candidate {
  double gain;
  std::int64_t order;  ///< position in the search; lower ones win ties
  std::int32_t label;  ///< of a single-label head, else -1
  float threshold;
  Relation relation;
};

inline bool better(double gain, std::int64_t order, const Candidate& best) {
  return gain > best.gain || (gain == best.gain && order < best.order);
}

/** @brief A step between two values. */
struct Step {
  std::int64_t at;    ///< number, at most the number of stored values
  std::int64_t n_in;  ///< rows inside the running sum
  float low, high;    ///< neighbouring values; a nominal attribute's value is low
  Relation relation;  ///< of the rows inside the sum

  float threshold() const {
    if (relation >= kEqual) return low;
    const float middle = static_cast<float>((static_cast<double>(low) + high) / 2);
    return middle < high ? middle : low;
  }
};

/** @brief A lane of the linear systems that wait to be solved. */
struct Waiting {
  Candidate* best;
  Candidate candidate;
};

/** @brief A step whose bounds reach the best gain so far. */
struct InBlock {
  Step step;
  std::int64_t n_pending;  ///< of the pending rows, those inside its sum
  double bound[2];         ///< of both sides
};

/** @brief Working memory for label bins. */
struct Bins {
  std::vector<double> criterion;
  std::vector<std::int32_t> bin;  ///< of each label
  std::vector<double> lines;      ///< [n_bins, K] sums of the matrix' lines
  std::vector<double> system;     ///< [n_bins, n_bins] and twice [n_bins]
};

/** @brief Working memory of a thread. */
struct Scratch {
  std::vector<std::int32_t> rows;
  std::vector<float> values;
  std::vector<double> bounds;   ///< of both sides of every step
  std::vector<double> in;       ///< [2 K] running sums
  std::vector<double> total;    ///< [2 K] of the rows whose value is known
  std::vector<double> hessian;  ///< [K, K] running
  std::vector<double> total_hessian;
  std::vector<double> spread;  ///< [K] running
  std::vector<double> total_spread;
  std::vector<std::int32_t> pending;  ///< rows that the running Hessian lacks
  bool cleared;
  std::vector<InBlock> block;
  std::vector<double> block_sums;     ///< [kBlock / kLanes, 2, K, kLanes] g of both sides
  std::vector<double> block_hessian;  ///< [K, K] at the first step, then at those to be solved
  std::vector<double> block_spread;
  std::vector<double> factor;       ///< [K, K] of an anchor
  std::vector<double> vector_copy;  ///< [K, kLanes]
  std::vector<double> matrix;       ///< [K (K + 1) / 2, kLanes]
  std::vector<double> vector;       ///< [K, kLanes]
  std::vector<Waiting> waiting;
  Bins bins;
  double best_gain;  ///< of the candidates that this thread has solved
};

/** @brief Add -w g g' of some rows to the lower triangle, row after row. */
inline void add_products(double* hessian, double* spread, const double* statistics,
                         const double* weight, std::int64_t K, std::int64_t n_labels,
                         const std::int32_t* rows, std::int64_t n, double sign) {
  std::int64_t r = 0;
  for (; r + 4 <= n; r += 4) {
    const double* g0 = statistics + rows[r] * 2 * K;
    const double* g1 = statistics + rows[r + 1] * 2 * K;
    const double* g2 = statistics + rows[r + 2] * 2 * K;
    const double* g3 = statistics + rows[r + 3] * 2 * K;
    const double w0 = sign * weight[rows[r]], w1 = sign * weight[rows[r + 1]];
    const double w2 = sign * weight[rows[r + 2]], w3 = sign * weight[rows[r + 3]];
    for (std::int64_t k = 0; k < n_labels; ++k) {
      const double c0 = w0 * g0[k], c1 = w1 * g1[k], c2 = w2 * g2[k], c3 = w3 * g3[k];
      spread[k] = spread[k] + sign * std::fabs(c0) + sign * std::fabs(c1) + sign * std::fabs(c2) +
                  sign * std::fabs(c3);
      double* line = hessian + k * K;
      for (std::int64_t j = 0; j <= k; j += 4) {
        Four h = four(line + j);
        h -= c0 * four(g0 + j);
        h -= c1 * four(g1 + j);
        h -= c2 * four(g2 + j);
        h -= c3 * four(g3 + j);
        four(line + j) = h;
      }
    }
  }
  for (; r < n; ++r) {
    const double* g = statistics + rows[r] * 2 * K;
    const double w = sign * weight[rows[r]];
    for (std::int64_t k = 0; k < n_labels; ++k) {
      const double c = w * g[k];
      spread[k] = spread[k] + sign * std::fabs(c);
      double* line = hessian + k * K;
      for (std::int64_t j = 0; j <= k; j += 4) four(line + j) -= c * four(g + j);
    }
  }
}

/** @brief Running sums of one label. */
struct OneLabelSums {
  const Node& node;
  const double* total;
  double g, h;

  void reset() { g = h = 0; }
  void add(std::int32_t row) {
    const double w = node.weight[row];
    g += w * node.statistics[2 * row];
    h += w * node.statistics[2 * row + 1];
  }
  void gains(double* in, double* out) const {
    const double g_out = total[0] - g;
    *in = g * g / (h + node.l2);
    *out = g_out * g_out / (total[1] - h + node.l2);
  }
};

/** @brief Running sums of all labels; the gain is the best label's, the sum, or a bound. */
template <Quality quality>
struct AllLabelSums {
  const Node& node;
  const double* total;
  double* sums;

  void reset() { std::fill(sums, sums + 2 * node.K, 0.0); }
  void add(std::int32_t row) {
    const double w = node.weight[row];
    const double* more = node.statistics + row * 2 * node.K;
    for (std::int64_t k = 0; k < 2 * node.K; k += 4) four(sums + k) += w * four(more + k);
  }
  void gains(double* in, double* out) const {
    const std::int64_t K = node.K;
    Four gain_in = {0, 0, 0, 0}, gain_out = {0, 0, 0, 0};
    for (std::int64_t k = 0; k < K; k += 4) {
      const Four g_in = four(sums + k), h_in = four(sums + K + k) + node.l2;
      const Four g_out = four(total + k) - g_in;
      Four h_out = four(total + K + k) - four(sums + K + k);
      if constexpr (quality == kSystem) {
        const Four zero = {0, 0, 0, 0};
        h_out -= kRounding * four(total + K + k);
        h_out = h_out > zero ? h_out : zero;
      }
      h_out += node.l2;
      const Four q_in = g_in * g_in / h_in, q_out = g_out * g_out / h_out;
      if constexpr (quality == kBestLabel) {
        gain_in = q_in > gain_in ? q_in : gain_in;
        gain_out = q_out > gain_out ? q_out : gain_out;
      } else {
        gain_in += q_in;
        gain_out += q_out;
      }
    }
    if constexpr (quality == kBestLabel) {
      *in = std::max(std::max(gain_in[0], gain_in[1]), std::max(gain_in[2], gain_in[3]));
      *out = std::max(std::max(gain_out[0], gain_out[1]), std::max(gain_out[2], gain_out[3]));
    } else {
      *in = (gain_in[0] + gain_in[1]) + (gain_in[2] + gain_in[3]);
      *out = (gain_out[0] + gain_out[1]) + (gain_out[2] + gain_out[3]);
    }
  }
  std::int32_t label(bool is_in) const {
    std::int32_t best = 0;
    double most = -1;
    for (std::int64_t k = 0; k < node.n_labels; ++k) {
      const double g = is_in ? sums[k] : total[k] - sums[k];
      const double h = is_in ? sums[node.K + k] : total[node.K + k] - sums[node.K + k];
      const double q = g * g / (h + node.l2);
      if (q > most) {
        most = q;
        best = static_cast<std::int32_t>(k);
      }
    }
    return best;
  }
};

/** @brief Walk over the steps between values, from both ends to 0. */
template <class Sums, class Visit>
inline void walk(const Scratch& s, std::int64_t n, std::int64_t n_negative, std::int64_t n_zero,
                 bool nominal, Sums& sums, Visit visit) {
  const std::int32_t* rows = s.rows.data();
  const float* v = s.values.data();
  if (nominal) {
    for (std::int64_t i = 0, j = 0; i < n; i = j) {
      sums.reset();
      for (; j < n && v[j] == v[i]; ++j) sums.add(rows[j]);
      visit(Step{i, j - i, v[i], v[i], kEqual});
    }
    if (n_zero > 0) {
      sums.reset();
      for (std::int64_t i = 0; i < n; ++i) sums.add(rows[i]);
      visit(Step{n, n, 0, 0, kUnequal});
    }
    return;
  }
  const std::int64_t end = n_zero > 0 ? n_negative : n - 1;
  sums.reset();
  for (std::int64_t i = 0; i < end; ++i) {
    sums.add(rows[i]);
    const float high = i + 1 < n_negative || n_zero == 0 ? v[i + 1] : 0;
    if (v[i] < high) visit(Step{i, i + 1, v[i], high, kAtMost});
  }
  if (n_zero == 0) return;
  sums.reset();
  for (std::int64_t i = n - 1; i >= n_negative; --i) {
    sums.add(rows[i]);
    const float low = i > n_negative ? v[i - 1] : 0;
    if (low < v[i]) visit(Step{i, n - i, low, v[i], kAbove});
  }
}

/** @brief Forward elimination of eight systems: g' A^-1 g = sum of z_j^2 / d_j. */
XDCC_VECTORISED inline void eliminate(double* matrix, double* vector, std::int64_t n,
                                      double* gain) {
  Eight sum = {0, 0, 0, 0, 0, 0, 0, 0};
  for (std::int64_t j = 0; j < n; ++j) {
    const Eight pivot = eight(matrix + (j * (j + 1) / 2 + j) * kLanes);
    const Eight zero = {0, 0, 0, 0, 0, 0, 0, 0};
    // Positive but for rounding; a direction without curvature is left out.
    const Eight inverse = pivot > 0 ? 1 / pivot : zero;
    const Eight z = eight(vector + j * kLanes);
    sum += z * z * inverse;
    for (std::int64_t i = j + 1; i < n; ++i) {
      double* line = matrix + i * (i + 1) / 2 * kLanes;
      const Eight factor = eight(line + j * kLanes) * inverse;
      eight(vector + i * kLanes) -= factor * z;
      std::int64_t column = (j + 1) * (j + 2) / 2 + j;
      for (std::int64_t k = j + 1; k <= i; ++k) {
        eight(line + k * kLanes) -= factor * eight(matrix + column * kLanes);
        column += k + 1;
      }
    }
  }
  for (std::int64_t lane = 0; lane < kLanes; ++lane) gain[lane] = sum[lane];
}

/** @brief Solve the systems that wait. */
inline void solve_waiting(const Node& node, Scratch& s) {
  if (s.waiting.empty()) return;
  const std::int64_t n = node.n_labels;
  const std::int64_t used = static_cast<std::int64_t>(s.waiting.size());
  for (std::int64_t lane = used; lane < kLanes; ++lane) {
    for (std::int64_t e = 0; e < n * (n + 1) / 2; ++e)
      s.matrix[e * kLanes + lane] = s.matrix[e * kLanes];
    for (std::int64_t k = 0; k < n; ++k) s.vector[k * kLanes + lane] = s.vector[k * kLanes];
  }
  double gain[kLanes];
  eliminate(s.matrix.data(), s.vector.data(), n, gain);
  for (std::int64_t lane = 0; lane < used; ++lane) {
    Waiting& w = s.waiting[lane];
    w.candidate.gain = gain[lane];
    if (better(gain[lane], w.candidate.order, *w.best)) *w.best = w.candidate;
    s.best_gain = std::max(s.best_gain, gain[lane]);
  }
  s.waiting.clear();
}

/** @brief Put labels with similar criteria into bins, those that are raised and those that fall.
 *
 * @param criterion [n_labels] best score of each label if the others were 0.
 * @param share Bins of either sign per label of that sign, rounded up.
 * @param bin [n_labels] number of the bin, -1 if the criterion is 0.
 * @return Number of bins.
 */
inline std::int64_t assign_bins(const double* criterion, std::int64_t n_labels, double share,
                                std::int32_t* bin) {
  std::int64_t first = 0;
  std::fill(bin, bin + n_labels, -1);
  for (int sign = 1; sign >= -1; sign -= 2) {
    std::int64_t n = 0;
    double low = 0, high = 0;
    for (std::int64_t k = 0; k < n_labels; ++k) {
      const double c = sign * criterion[k];
      if (!(c > 0)) continue;
      low = n == 0 ? c : std::min(low, c);
      high = n == 0 ? c : std::max(high, c);
      ++n;
    }
    if (n == 0) continue;
    const std::int64_t n_bins = static_cast<std::int64_t>(std::ceil(share * n));
    for (std::int64_t k = 0; k < n_labels; ++k) {
      const double c = sign * criterion[k];
      if (!(c > 0)) continue;
      std::int64_t b = 0;
      if (high > low) b = static_cast<std::int64_t>((c - low) / (high - low) * n_bins);
      bin[k] = static_cast<std::int32_t>(first + std::min(b, n_bins - 1));
    }
    first += n_bins;
  }
  return first;
}

/** @brief Solve a system for bins: labels of a bin share a score.
 *
 * @param hessian [K, K] lower triangle of -sum w g g'.
 * @param spread [K] sum of w p.
 * @param total, total_spread If not NULL, the sums are what these have more.
 * @param g [n] sum of w g.
 * @param head [n] the scores, or NULL.
 * @return The gain.
 */
XDCC_VECTORISED inline double solve_bins(const double* hessian, const double* spread,
                                         const double* total, const double* total_spread,
                                         std::int64_t K, const double* g, std::int64_t n, double l2,
                                         double share, double* head, Bins& s) {
  s.criterion.resize(n);
  s.bin.resize(n);
  const auto diagonal = [&](std::int64_t k) {
    const double inside = hessian[k * K + k] + spread[k];
    return total == nullptr ? inside : total[k * K + k] + total_spread[k] - inside;
  };
  for (std::int64_t k = 0; k < n; ++k) s.criterion[k] = -g[k] / (diagonal(k) + l2);
  const std::int64_t m = assign_bins(s.criterion.data(), n, share, s.bin.data());
  const std::int32_t* bin = s.bin.data();
  s.system.assign(m * m + 2 * m, 0.0);
  double* A = s.system.data();
  double* z = A + m * m;
  double* inverse = z + m;
  // Lines of the triangle below the diagonal are added up by bin, then the columns of the sums.
  s.lines.assign(m * K, 0.0);
  for (std::int64_t k = 0; k < n; ++k) {
    if (bin[k] < 0) continue;
    z[bin[k]] -= g[k];
    A[bin[k] * m + bin[k]] += l2 + diagonal(k);
    double* sum = s.lines.data() + bin[k] * K;
    const double* line = hessian + k * K;
    if (total == nullptr) {
      for (std::int64_t j = 0; j < k; ++j) sum[j] += line[j];
    } else {
      const double* total_line = total + k * K;
      for (std::int64_t j = 0; j < k; ++j) sum[j] += total_line[j] - line[j];
    }
  }
  for (std::int64_t b = 0; b < m; ++b) {
    const double* sum = s.lines.data() + b * K;
    for (std::int64_t j = 0; j < n; ++j) {
      if (bin[j] < 0) continue;
      const std::int64_t c = bin[j];
      A[std::max(b, c) * m + std::min(b, c)] += (b == c ? 2 : 1) * sum[j];
    }
  }
  double gain = 0;
  for (std::int64_t j = 0; j < m; ++j) {
    const double pivot = A[j * m + j];
    inverse[j] = pivot > 0 ? 1 / pivot : 0;
    gain += z[j] * z[j] * inverse[j];
    for (std::int64_t i = j + 1; i < m; ++i) {
      const double factor = A[i * m + j] * inverse[j];
      z[i] -= factor * z[j];
      for (std::int64_t k = j + 1; k <= i; ++k) A[i * m + k] -= factor * A[k * m + j];
    }
  }
  if (head != nullptr) {
    for (std::int64_t j = m - 1; j >= 0; --j) {
      z[j] *= inverse[j];
      for (std::int64_t i = j + 1; i < m; ++i) z[j] -= A[i * m + j] * inverse[j] * z[i];
    }
    for (std::int64_t k = 0; k < n; ++k) head[k] = bin[k] < 0 ? 0 : z[bin[k]];
  }
  return gain;
}

/** @brief Set up the system of one side of a step, or solve it at once if labels are binned. */
inline void add_system(const Node& node, Scratch& s, bool is_in, const double* hessian,
                       const double* spread, const double* total_hessian,
                       const double* total_spread, const double* g, const Candidate& candidate,
                       Candidate* best) {
  const std::int64_t n = node.n_labels, K = node.K;
  const std::int64_t lane = static_cast<std::int64_t>(s.waiting.size());
  if (node.bin_share > 0) {
    Candidate solved = candidate;
    solved.gain = solve_bins(hessian, spread, is_in ? nullptr : total_hessian, total_spread, K, g,
                             n, node.l2, node.bin_share, nullptr, s.bins);
    if (better(solved.gain, solved.order, *best)) *best = solved;
    s.best_gain = std::max(s.best_gain, solved.gain);
    return;
  }
  double* to = s.matrix.data() + lane;
  for (std::int64_t k = 0; k < n; ++k) {
    const double* line = hessian + k * K;
    const double* total_line = total_hessian + k * K;
    for (std::int64_t j = 0; j <= k; ++j, to += kLanes)
      *to = is_in ? line[j] : total_line[j] - line[j];
    to[-kLanes] += node.l2 + (is_in ? spread[k] : total_spread[k] - spread[k]);
    s.vector[k * kLanes + lane] = g[k];
  }
  s.waiting.push_back(Waiting{best, candidate});
  if (lane + 1 == kLanes) solve_waiting(node, s);
}

/** @brief Whether a side of a step covers enough rows, and not all that were covered before. */
inline bool narrows(const Node& node, std::int64_t n) {
  return n >= node.min_coverage && n < node.n_inside;
}

/** @brief Find the best condition where the gain is read off the sums. */
template <class Sums, bool has_label>
inline void search_sums(const Node& node, Scratch& s, Sums& sums, std::int64_t n,
                        std::int64_t n_negative, std::int64_t n_zero, bool nominal,
                        Candidate* best) {
  const std::int64_t n_known = n + n_zero;
  walk(s, n, n_negative, n_zero, nominal, sums, [&](const Step& step) {
    double gain[2];
    sums.gains(gain, gain + 1);
    for (int side = 0; side < 2; ++side) {
      if (!(gain[side] > best->gain)) continue;
      if (!narrows(node, side == 0 ? step.n_in : n_known - step.n_in)) continue;
      best->gain = gain[side];
      best->relation = side == 0 ? step.relation : opposite(step.relation);
      best->threshold = step.threshold();
      if constexpr (has_label) best->label = sums.label(side == 0);
    }
  });
}

/** @brief Factorise a matrix into L D L'; false if it is not positive definite.
 *
 * @param matrix [K, K] the lower triangle; L and, on the diagonal, 1 / D when it returns.
 * @param column [K] working memory.
 */
inline bool factorise(double* matrix, std::int64_t K, std::int64_t n, double* column) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double pivot = matrix[j * K + j];
    if (!(pivot > 0)) return false;
    const double inverse = 1 / pivot;
    matrix[j * K + j] = inverse;
    for (std::int64_t i = j + 1; i < n; ++i) {
      double* line = matrix + i * K;
      column[i] = line[j];
      line[j] *= inverse;
      for (std::int64_t k = j + 1; k <= i; ++k) line[k] -= line[j] * column[k];
    }
  }
  return true;
}

/** @brief g' A^-1 g of eight vectors with one factorised matrix; they are changed. */
inline Eight solve_factorised(const double* factor, std::int64_t K, std::int64_t n, double* g) {
  Eight sum = {0, 0, 0, 0, 0, 0, 0, 0};
  for (std::int64_t i = 0; i < n; ++i) {
    const double* line = factor + i * K;
    Eight z = eight(g + i * kLanes);
    for (std::int64_t j = 0; j < i; ++j) z -= line[j] * eight(g + j * kLanes);
    eight(g + i * kLanes) = z;
    sum += z * z * line[i];
  }
  return sum;
}

/** @brief Running sums for linear systems, and the steps that may need one.
 *
 * The Hessian of a sum that runs on only grows (as a quadratic form), that of the rest shrinks. So
 * the gain of any step of a block is at most g' A^-1 g with its own g and the matrix A of the
 * block's first step, and on the other side with that of its last step. Few candidates are left to
 * be solved exactly.
 */
struct BlockSums {
  const Node& node;
  Scratch& s;
  const double* total_hessian;
  const double* total_spread;
  Candidate* best;

  void reset() {
    finish_block();
    s.pending.clear();
    s.cleared = true;
    std::fill(s.in.begin(), s.in.begin() + node.K, 0.0);
  }

  void add(std::int32_t row) {
    s.pending.push_back(row);
    const double w = node.weight[row];
    const double* more = node.statistics + row * 2 * node.K;
    for (std::int64_t k = 0; k < node.K; k += 4) four(s.in.data() + k) += w * four(more + k);
  }

  void add_step(const Step& step, const double* bound) {
    if (bound[0] < s.best_gain && bound[1] < s.best_gain) return;
    const std::int64_t at = static_cast<std::int64_t>(s.block.size());
    double* in = sums(at, 0);
    double* out = sums(at, 1);
    for (std::int64_t k = 0; k < node.n_labels; ++k) {
      in[k * kLanes] = s.in[k];
      out[k * kLanes] = s.total[k] - s.in[k];
    }
    const std::int64_t n_pending = static_cast<std::int64_t>(s.pending.size());
    s.block.push_back(InBlock{step, n_pending, {bound[0], bound[1]}});
    if (at + 1 == kBlock) finish_block();
  }

  void finish_block() {
    if (s.block.empty()) return;
    const std::int64_t K = node.K, n = node.n_labels;
    if (s.cleared) {
      std::fill(s.hessian.begin(), s.hessian.end(), 0.0);
      std::fill(s.spread.begin(), s.spread.end(), 0.0);
      s.cleared = false;
    }
    const std::int64_t first = s.block.front().n_pending, last = s.block.back().n_pending;
    advance(s.hessian.data(), s.spread.data(), 0, first);
    std::copy(s.hessian.begin(), s.hessian.end(), s.block_hessian.begin());
    std::copy(s.spread.begin(), s.spread.end(), s.block_spread.begin());
    advance(s.hessian.data(), s.spread.data(), first, last);
    // Solving for bins is cheaper than an anchor.
    if (static_cast<std::int64_t>(s.block.size()) >= kSmallestBlock && node.bin_share == 0) {
      for (std::int64_t k = 0; k < n; ++k) {
        const double* line = s.block_hessian.data() + k * K;
        std::copy(line, line + k + 1, s.factor.begin() + k * K);
        s.factor[k * K + k] += s.block_spread[k] + node.l2;
      }
      // The first step's own matrix is the anchor: its bound is its gain but for rounding.
      if (lower_bounds(0))
        s.best_gain = std::max(s.best_gain, s.block.front().bound[0] / (kClose * kClose));
      for (std::int64_t k = 0; k < n; ++k) {
        for (std::int64_t j = 0; j <= k; ++j)
          s.factor[k * K + j] = total_hessian[k * K + j] - s.hessian[k * K + j];
        s.factor[k * K + k] += total_spread[k] * (1 - kRounding) - s.spread[k] + node.l2;
      }
      lower_bounds(1);
    }
    solve_block();
    s.pending.erase(s.pending.begin(), s.pending.begin() + last);
    s.block.clear();
  }

 private:
  /** @brief Where the g of a step's side lies: [K, kLanes], from its lane on. */
  double* sums(std::int64_t at, int side) {
    return s.block_sums.data() + (at / kLanes * 2 + side) * node.K * kLanes + at % kLanes;
  }

  void advance(double* hessian, double* spread, std::int64_t from, std::int64_t to) {
    add_products(hessian, spread, node.statistics, node.weight, node.K, node.n_labels,
                 s.pending.data() + from, to - from, 1);
  }

  /** @brief Lower the bounds of one side by the anchor in `factor`; false if it is singular. */
  bool lower_bounds(int side) {
    if (!factorise(s.factor.data(), node.K, node.n_labels, s.vector_copy.data())) return false;
    const std::int64_t n_steps = static_cast<std::int64_t>(s.block.size());
    for (std::int64_t at = 0; at < n_steps; at += kLanes) {
      // A copy: the sums are needed again where a system is solved.
      std::copy(sums(at, side), sums(at, side) + node.K * kLanes, s.vector_copy.begin());
      const Eight bound =
          solve_factorised(s.factor.data(), node.K, node.n_labels, s.vector_copy.data());
      for (std::int64_t lane = 0; lane < kLanes && at + lane < n_steps; ++lane) {
        double& old = s.block[at + lane].bound[side];
        old = std::min(old, bound[lane] * kClose);
      }
    }
    return true;
  }

  void solve_block() {
    std::int64_t done = s.block.front().n_pending;
    double* part = s.in.data() + node.K;
    for (std::size_t at = 0; at < s.block.size(); ++at) {
      const InBlock& it = s.block[at];
      for (int side = 0; side < 2; ++side) {
        if (it.bound[side] < s.best_gain || it.bound[side] <= 0) continue;
        advance(s.block_hessian.data(), s.block_spread.data(), done, it.n_pending);
        done = it.n_pending;
        const double* g = sums(static_cast<std::int64_t>(at), side);
        for (std::int64_t k = 0; k < node.n_labels; ++k) part[k] = g[k * kLanes];
        const Candidate candidate{0, 2 * it.step.at + side, -1, it.step.threshold(),
                                  side == 0 ? it.step.relation : opposite(it.step.relation)};
        add_system(node, s, side == 0, s.block_hessian.data(), s.block_spread.data(), total_hessian,
                   total_spread, part, candidate, best);
      }
    }
  }
};

/** @brief Bounds first, then linear systems where a bound reaches the best gain. */
inline void search_systems(const Node& node, Scratch& s, std::int64_t n, std::int64_t n_negative,
                           std::int64_t n_zero, bool nominal, const std::int32_t* missing,
                           std::int64_t n_missing, Candidate* best) {
  const std::int64_t n_known = n + n_zero, K = node.K;
  AllLabelSums<kSystem> sums{node, s.total.data(), s.in.data()};
  double most = 0;
  s.bounds.resize(2 * (n + 1));
  walk(s, n, n_negative, n_zero, nominal, sums, [&](const Step& step) {
    double* bound = s.bounds.data() + 2 * step.at;
    sums.gains(bound, bound + 1);
    for (int side = 0; side < 2; ++side) {
      bound[side] *= kSlack;
      if (!narrows(node, side == 0 ? step.n_in : n_known - step.n_in)) bound[side] = -1;
      most = std::max(most, bound[side]);
    }
  });
  if (most < s.best_gain || most <= 0) return;

  const double* total_hessian = node.hessian;
  const double* total_spread = node.spread;
  if (n_missing > 0) {
    s.total_hessian.assign(node.hessian, node.hessian + K * K);
    s.total_spread.assign(node.spread, node.spread + K);
    for (std::int64_t i = 0; i < n_missing; ++i)
      if (node.inside[missing[i]])
        add_products(s.total_hessian.data(), s.total_spread.data(), node.statistics, node.weight, K,
                     node.n_labels, missing + i, 1, -1);
    total_hessian = s.total_hessian.data();
    total_spread = s.total_spread.data();
  }
  BlockSums blocks{node, s, total_hessian, total_spread, best};
  walk(s, n, n_negative, n_zero, nominal, blocks,
       [&](const Step& step) { blocks.add_step(step, s.bounds.data() + 2 * step.at); });
  blocks.finish_block();
}

/** @brief Find the best condition on an attribute.
 *
 * @param best Its gain has to be exceeded; changed if it is. With `kSystem` systems may still
 *   wait when the function returns: see `finish`.
 */
XDCC_VECTORISED inline void search(const Node& node, const Column& column, Scratch& s,
                                   Candidate* best) {
  const std::int64_t n_stored = column.n_stored;
  if (static_cast<std::int64_t>(s.rows.size()) < n_stored + 1) {
    s.rows.resize(n_stored + 1);
    s.values.resize(n_stored + 1);
  }
  std::int64_t n = 0, n_negative = 0;
  for (std::int64_t e = 0; e < n_stored; ++e) {
    // Written always, kept if the row is inside: no branch to be guessed.
    s.rows[n] = column.row[e];
    s.values[n] = column.value[e];
    n += node.inside[column.row[e]];
  }
  while (n_negative < n && s.values[n_negative] < 0) ++n_negative;
  const std::int64_t width = 2 * node.K;
  s.total.assign(node.total, node.total + width);
  s.in.resize(width);
  const std::int32_t* missing = column.row + n_stored;
  std::int64_t n_zero = node.n_inside - n;
  for (std::int64_t e = 0; e < column.n_missing; ++e) {
    if (!node.inside[missing[e]]) continue;
    --n_zero;
    const double w = node.weight[missing[e]];
    const double* less = node.statistics + missing[e] * width;
    for (std::int64_t k = 0; k < width; ++k) s.total[k] -= w * less[k];
  }
  if (n == 0) return;
  if (node.quality == kOneLabel) {
    OneLabelSums sums{node, s.total.data(), 0, 0};
    search_sums<OneLabelSums, false>(node, s, sums, n, n_negative, n_zero, column.nominal, best);
  } else if (node.quality == kBestLabel) {
    AllLabelSums<kBestLabel> sums{node, s.total.data(), s.in.data()};
    search_sums<AllLabelSums<kBestLabel>, true>(node, s, sums, n, n_negative, n_zero,
                                                column.nominal, best);
  } else if (node.quality == kSumLabels) {
    AllLabelSums<kSumLabels> sums{node, s.total.data(), s.in.data()};
    search_sums<AllLabelSums<kSumLabels>, false>(node, s, sums, n, n_negative, n_zero,
                                                 column.nominal, best);
  } else {
    search_systems(node, s, n, n_negative, n_zero, column.nominal, missing, column.n_missing, best);
  }
}

/** @brief Prepare a thread's memory for a node; gains have to exceed `gain`. */
inline void begin(const Node& node, Scratch& s, double gain) {
  s.best_gain = gain;
  s.waiting.clear();
  if (node.quality != kSystem) return;
  const std::int64_t K = node.K, n = node.n_labels;
  s.hessian.resize(K * K);
  s.spread.resize(K);
  s.block.clear();
  s.block_sums.resize(kBlock * 2 * K);
  s.block_hessian.resize(K * K);
  s.block_spread.resize(K);
  s.factor.resize(K * K);
  s.vector_copy.resize(K * kLanes);
  if (node.bin_share > 0) return;
  s.matrix.resize(n * (n + 1) / 2 * kLanes);
  s.vector.resize(n * kLanes);
}

/** @brief Solve what a thread's searches have left. */
inline void finish(const Node& node, Scratch& s) {
  if (node.quality == kSystem) solve_waiting(node, s);
}

/** @brief Weighted sums over some rows: of the statistics and, if asked for, of the products.
 *
 * @param total [width]
 * @param hessian [K, K] lower triangle of -sum w g g', or NULL.
 * @param spread [K] sum of w p.
 */
XDCC_VECTORISED inline void sum_rows(const double* statistics, const double* weight,
                                     std::int64_t width, std::int64_t n_labels,
                                     const std::int32_t* rows, std::int64_t n, double* total,
                                     double* hessian, double* spread) {
  std::fill(total, total + width, 0.0);
  for (std::int64_t r = 0; r < n; ++r) {
    const double w = weight[rows[r]];
    const double* more = statistics + rows[r] * width;
    for (std::int64_t k = 0; k < width; ++k) total[k] += w * more[k];
  }
  if (hessian == nullptr) return;
  const std::int64_t K = width / 2;
  std::fill(hessian, hessian + K * K, 0.0);
  std::fill(spread, spread + K, 0.0);
  add_products(hessian, spread, statistics, weight, K, n_labels, rows, n, 1);
}

}  // namespace xdcc_boomer

#endif  // XDCC_BOOMER_SEARCH_H_
