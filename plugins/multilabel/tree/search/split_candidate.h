/**
 * @brief The splits of a node that may be the best by their approximate scores.
 *
 * Where a label may or may not count, or a child may or may not be allowed, scores of
 * `approximate_scan.h` are the highest possible. A split stays a candidate unless the bound of the
 * error (`score_error.h`) says that another one is better; `exact_decision.h` decides between them.
 * Whether a split is a candidate depends on the scores of its node alone, so neither the division
 * into tasks nor the number of threads changes the model.
 */
#ifndef XDCC_MULTILABEL_SPLIT_CANDIDATE_H_
#define XDCC_MULTILABEL_SPLIT_CANDIDATE_H_

#include <algorithm>  // for max, remove_if, sort, unique
#include <cstddef>    // for size_t
#include <cstdint>    // for uint8_t, uint32_t
#include <limits>     // for numeric_limits
#include <tuple>      // for make_tuple
#include <vector>     // for vector

#include "../../../../src/common/hist_util.h"  // for HistogramCuts
#include "../data/bin_index.h"                 // for BinIndex, FeatureBlock
#include "../data/gradient_matrix.h"           // for GradientMatrix
#include "approximate_scan.h"                  // for ListEntry
#include "score_error.h"                       // for ScoreError
#include "split_evaluator.h"                   // for SplitEvaluator
#include "xgboost/base.h"                      // for bst_feature_t
#include "xgboost/data.h"                      // for FeatureType
#include "xgboost/span.h"                      // for Span

namespace xgboost::multilabel {
/** @brief How the bins of a feature are scanned, in the order of preference. */
enum class Direction : std::uint8_t {
  kUp,           // upwards, the other rows on the right
  kDown,         // downwards to the default bin, which is on the left
  kDownMissing,  // downwards, missing values on the left
  kCategories,   // not at all: a candidate is all splits of a categorical feature
};

/** @brief A split that may be the best. */
struct Candidate {
  bst_feature_t feature;
  std::size_t block;
  Direction direction;
  /** @brief Number of entries (of a list) or of bins scanned. */
  std::uint32_t n;
  /** @brief The last bin scanned, and the next one if there is one; counted from the block's. */
  std::uint32_t bin, next_bin;
  /** @brief The list's first entry in this direction; null where the node has histograms. */
  ListEntry const* first;
  float score;

  static constexpr std::uint32_t kNoBin = std::numeric_limits<std::uint32_t>::max();
};

/** @brief The best score that an allowed split surely has so far, and what is not clearly worse. */
struct RunningBest {
  float score{-std::numeric_limits<float>::infinity()};
  std::vector<Candidate> candidates;

  void Merge(RunningBest const& that) {
    score = std::max(score, that.score);
    candidates.insert(candidates.end(), that.candidates.cbegin(), that.candidates.cend());
  }
};

/** @brief The data that turn a candidate into a split. */
struct CandidateContext {
  BinIndex const& index;
  common::HistogramCuts const& cuts;
  std::vector<FeatureBlock> const& blocks;
  GradientMatrix const& gradients;
  SplitEvaluator::Kernels const& kernels;
  common::Span<FeatureType const> types;
  /** @brief Monotone constraints by feature; those after the last are 0. */
  common::Span<int const> orders;

  /** @brief 1 where the rows scanned must not weigh more than the others, -1 where not less. */
  [[nodiscard]] int OrderOf(bst_feature_t feature, Direction direction) const {
    auto const order = feature < orders.size() ? orders[feature] : 0;
    return direction == Direction::kUp ? order : -order;
  }
};

/** @brief Drop candidates that are clearly not the best, and sort the others. */
inline void KeepLikely(ScoreError const& error, RunningBest* running) {
  auto& candidates = running->candidates;
  auto const threshold = error.Threshold(running->score);
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(),
                     [&](auto const& c) { return c.score < threshold || !error.MayGain(c.score); }),
      candidates.end());
  std::sort(candidates.begin(), candidates.end(), [](auto const& l, auto const& r) {
    return std::make_tuple(l.feature, l.direction, l.n) <
           std::make_tuple(r.feature, r.direction, r.n);
  });
  // A categorical feature may be here twice: missing values on the left, and on the right.
  auto const same = [](auto const& l, auto const& r) {
    return l.feature == r.feature && l.direction == Direction::kCategories;
  };
  candidates.erase(std::unique(candidates.begin(), candidates.end(), same), candidates.end());
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_CANDIDATE_H_
