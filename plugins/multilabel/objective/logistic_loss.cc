/**
 * @brief Computes signed probabilities and gradients; see `logistic_loss.h`. Compiled without fused
 * multiply-add.
 */
#include "logistic_loss.h"

#include <algorithm>  // for copy_n, fill, find_if, min
#include <cmath>      // for isnan
#include <cstdint>    // for int32_t
#include <cstring>    // for memcpy, memset
#include <vector>     // for vector

#include "logistic.h"         // for XDCC_LOGISTIC, kLogisticLanes
#include "xgboost/logging.h"  // for LOG

namespace xgboost::multilabel {
namespace {
/** @brief Whether any bit of a vector is set. */
inline __attribute__((always_inline)) bool Any(Int8 const& bits) {
  std::int32_t any{0};
  for (std::size_t l = 0; l < sizeof(bits) / sizeof(any); ++l) {
    any |= bits[l];
  }
  return any != 0;
}

/** @brief Signed probabilities of some entries. Returns whether all labels are 0, 1 or NaN. */
XDCC_TARGET_CLONES bool SignedLogistic(float const* margins, float const* labels, std::size_t n,
                                       float* out) {
  Int8 bad{};
  for (std::size_t i = 0; i < n; i += kLogisticLanes) {
    auto const n_here = std::min(kLogisticLanes, n - i);
    float rest[3][kLogisticLanes];
    auto const *z = margins + i, *y = labels + i;
    auto* to = out + i;
    if (n_here < kLogisticLanes) {
      std::memset(rest, 0, sizeof(rest));
      z = std::copy_n(z, n_here, rest[0]) - n_here;
      y = std::copy_n(y, n_here, rest[1]) - n_here;
      to = rest[2];
    }
    XDCC_LOGISTIC(z)
#define XDCC_SIGN(k)                                              \
  Float8 y##k;                                                    \
  std::memcpy(&y##k, y + 8 * k, sizeof(y##k));                    \
  Int8 const known##k = y##k == y##k, positive##k = y##k == 1.0f; \
  bad |= known##k & ~positive##k & (y##k != 0.0f);                \
  p##k = Float8((Int8(p##k) | (positive##k << 31)) & known##k);   \
  std::memcpy(to + 8 * k, &p##k, sizeof(p##k));
    XDCC_FOUR(XDCC_SIGN)
#undef XDCC_SIGN
    if (n_here < kLogisticLanes) {
      std::copy_n(to, n_here, out + i);
    }
  }
  return !Any(bad);
}

/** @brief Turn margins into probabilities, in place. */
XDCC_TARGET_CLONES void ToProbabilities(float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLogisticLanes) {
    auto const n_here = std::min(kLogisticLanes, n - i);
    float rest[kLogisticLanes];
    auto* here = n_here == kLogisticLanes ? values + i : rest;
    if (here == rest) {
      std::copy_n(values + i, n_here, rest);
      std::fill(rest + n_here, rest + kLogisticLanes, 0.0f);
    }
    XDCC_LOGISTIC(here)
#define XDCC_STORE(k) std::memcpy(here + 8 * k, &p##k, sizeof(p##k));
    XDCC_FOUR(XDCC_STORE)
#undef XDCC_STORE
    if (here == rest) {
      std::copy_n(rest, n_here, values + i);
    }
  }
}

/** @brief Weights of a run of entries. */
struct EntryFactors {
  float of_negatives, of_positives;
  /** @brief Factors of the entries, of negative and of positive labels; null: none. [n] */
  float const *entries, *negative, *positive;
};

/**
 * @brief Gradients and Hessians of labels.
 *
 * A label between 0 and 1 is a negative and a positive, each with its part of the weight.
 *
 * @param n Number of entries, a multiple of `kLogisticLanes`.
 * @return  Whether all labels are 0, 1 or NaN, or, if they are soft, in [0, 1].
 */
XDCC_TARGET_CLONES bool ToGradients(float const* margins, float const* labels, std::size_t n,
                                    EntryFactors const& weights, bool is_soft, float* out) {
  constexpr std::size_t kLanes = 8;
  Int8 const soft = Int8{} - static_cast<std::int32_t>(is_soft);
  Int8 bad{};
  for (std::size_t i = 0; i < n; i += kLogisticLanes) {
    XDCC_LOGISTIC(margins + i)
    Float8 const probabilities[]{p0, p1, p2, p3};
    XDCC_UNROLL(4)
    for (std::size_t k = 0; k < kLogisticLanes / kLanes; ++k) {
      auto const at = i + k * kLanes;
      Float8 y;
      std::memcpy(&y, labels + at, sizeof(y));
      Int8 const is_known = y == y;
      Int8 const is_hard = (y == 0.0f) | (y == 1.0f);
      bad |= is_known & ~(is_hard | (soft & (y >= 0.0f) & (y <= 1.0f)));
      Float8 const p = probabilities[k], q = 1.0f - p;
      Float8 const h = p * q < kMinHessian ? Float8{} + kMinHessian : p * q;
      Float8 of_negatives = Float8{} + weights.of_negatives,
             of_positives = Float8{} + weights.of_positives;
      if (weights.entries) {
        Float8 factor;
        std::memcpy(&factor, weights.entries + at, sizeof(factor));
        of_negatives *= factor;
        of_positives *= factor;
      }
      Float8 const negative = of_negatives * (1.0f - y), positive = of_positives * y;
      Float8 grad_negative = negative * p, grad_positive = positive * q;
      Float8 hess_negative = negative * h, hess_positive = positive * h;
      if (weights.negative) {
        Float8 factor;
        std::memcpy(&factor, weights.negative + at, sizeof(factor));
        grad_negative *= factor;
        hess_negative *= factor;
        std::memcpy(&factor, weights.positive + at, sizeof(factor));
        grad_positive *= factor;
        hess_positive *= factor;
      }
      Float8 const grad = Float8(Int8(grad_negative - grad_positive) & is_known);
      Float8 const hess = Float8(Int8(hess_negative + hess_positive) & is_known);
      Float8 const mixed[2]{XDCC_SHUFFLE(grad, hess, 0, 8, 1, 9, 2, 10, 3, 11),
                            XDCC_SHUFFLE(grad, hess, 4, 12, 5, 13, 6, 14, 7, 15)};
      std::memcpy(out + 2 * at, mixed, sizeof(mixed));
    }
  }
  return !Any(bad);
}
}  // namespace

void LogisticLoss::Probabilities(float const* margins, std::size_t begin, std::size_t end,
                                 float* out) const {
  auto const at = begin * n_labels;
  if (!XDCC_BEST_CLONE(SignedLogistic)(margins + at, labels + at, (end - begin) * n_labels, out)) {
    this->RejectLabels();
  }
}

void LogisticLoss::Gradients(float const* margins, std::size_t begin, std::size_t end,
                             GradientPair* out) const {
  // Rows of different weights are done one by one, others together; the last entries in a copy.
  bool const is_uniform = weights.Empty() && of_labels->Empty();
  auto const run = (is_uniform ? end - begin : 1) * n_labels;
  auto const n_whole = run / kLogisticLanes * kLogisticLanes, n_rest = run - n_whole;
  std::vector<float> negative, positive;
  if (!of_labels->Empty()) {
    for (std::size_t j = 0; j < n_labels; ++j) {
      negative.push_back(of_labels->OfLabel(j));
      positive.push_back(of_labels->OfLabel(j) * of_labels->OfPositive(j));
    }
    negative.resize(n_whole + kLogisticLanes);
    positive.resize(n_whole + kLogisticLanes);
  }
  bool is_valid{true};
  for (auto i = begin * n_labels; i < end * n_labels; i += run) {
    auto* pairs = reinterpret_cast<float*>(out + (i - begin * n_labels));
    auto const weight = weights[i / n_labels];
    EntryFactors of_run{weight, weight * positive_weight, nullptr, nullptr, nullptr};
    auto start_at = [&](std::size_t j) {
      of_run.entries = entry_weights ? entry_weights + i + j : nullptr;
      of_run.negative = negative.empty() ? nullptr : negative.data() + j;
      of_run.positive = positive.empty() ? nullptr : positive.data() + j;
    };
    start_at(0);
    is_valid &=
        XDCC_BEST_CLONE(ToGradients)(margins + i, labels + i, n_whole, of_run, is_soft, pairs);
    if (n_rest > 0) {
      float rest[5][kLogisticLanes]{};  // margins, labels, pairs, weights
      std::copy_n(margins + i + n_whole, n_rest, rest[0]);
      std::copy_n(labels + i + n_whole, n_rest, rest[1]);
      start_at(n_whole);
      if (entry_weights) {
        std::copy_n(of_run.entries, n_rest, rest[4]);
        of_run.entries = rest[4];
      }
      is_valid &=
          XDCC_BEST_CLONE(ToGradients)(rest[0], rest[1], kLogisticLanes, of_run, is_soft, rest[2]);
      std::copy_n(rest[2], 2 * n_rest, pairs + 2 * n_whole);
    }
  }
  if (!is_valid) {
    this->RejectLabels();
  }
}

void LogisticLoss::RejectLabels() const {
  auto const* bad = std::find_if(labels, labels + n_rows * n_labels, [&](float y) {
    bool const is_valid = is_soft ? y >= 0.0f && y <= 1.0f : y == 0.0f || y == 1.0f;
    return !std::isnan(y) && !is_valid;
  });
  auto const at = static_cast<std::size_t>(bad - labels);
  LOG(FATAL) << "A label of `" << objective << "` must be " << (is_soft ? "in [0, 1]" : "0 or 1")
             << ", or NaN if it is unknown; row " << at / n_labels << ", label " << at % n_labels
             << " is " << *bad << "." << (is_soft ? "" : " Probabilities need soft_labels=true.");
}

void ApplyLogistic(float* values, std::size_t n) { XDCC_BEST_CLONE(ToProbabilities)(values, n); }
}  // namespace xgboost::multilabel
