/**
 * @brief Splits that an approximate score leaves in the running, and the choice between them.
 *
 * Scores of `list_scan.h` are in single precision. What may be the best split by its score is
 * scored again in double precision, from sums that are exact, and the best of those is taken by the
 * order of preference that `evaluator.h` describes. Whether a split is scored again depends on the
 * scores of its node alone, so neither the cutting of the work into tasks nor the number of threads
 * changes the model.
 */
#ifndef XDCC_MULTILABEL_SPLIT_CANDIDATE_H_
#define XDCC_MULTILABEL_SPLIT_CANDIDATE_H_

#include <algorithm>   // for fill, max, remove_if, sort, transform
#include <cmath>       // for abs
#include <cstddef>     // for ptrdiff_t, size_t
#include <cstdint>     // for uint8_t, uint32_t
#include <functional>  // for minus
#include <limits>      // for numeric_limits
#include <tuple>       // for make_tuple
#include <vector>      // for vector

#include "../../../../src/common/hist_util.h"  // for HistogramCuts
#include "../../vectorised.h"                  // for XDCC_TARGET_CLONES
#include "../data/bin_index.h"                 // for BinIndex, BlockRowsView, FeatureBlock
#include "../data/gradient_matrix.h"           // for GradientMatrix
#include "evaluator.h"                         // for NodeStats, Split, SplitScanner
#include "list_scan.h"                         // for ListEntry
#include "row_cluster.h"                       // for RowCluster
#include "xgboost/base.h"                      // for bst_feature_t, bst_idx_t

namespace xgboost::multilabel {
/** @brief How the bins of a feature are passed, in the order of preference. */
enum class Direction : std::uint8_t {
  kUp,           // upwards, the other rows on the right
  kDown,         // downwards to the default bin, which is on the left
  kDownMissing,  // downwards, missing values on the left
};

/** @brief A split that may be the best. */
struct Candidate {
  bst_feature_t feature;
  std::size_t block;
  Direction direction;
  /** @brief Number of entries (of a list) or of bins passed. */
  std::uint32_t n;
  /** @brief The last bin passed, and the next one if there is one; counted from the block's. */
  std::uint32_t bin, next_bin;
  /** @brief The list's first entry in this direction; null where the node has histograms. */
  ListEntry const* first;
  float score;

  static constexpr std::uint32_t kNoBin = std::numeric_limits<std::uint32_t>::max();
};

/** @brief How far from the truth the scores of a node may be, and what they lack of a gain. */
struct ScoreError {
  /** @brief Relative to the score. */
  float relative{0.0f};
  /** @brief In itself. */
  float absolute{0.0f};
  /** @brief Gain minus score. */
  double rest{0.0};

  /** @brief Scores below it cannot be the best, `best` being one. */
  [[nodiscard]] float Threshold(float best) const {
    return best - relative * std::abs(best) - absolute;
  }
};

/** @brief The best score so far and what is not clearly worse. */
struct RunningBest {
  float score{-std::numeric_limits<float>::infinity()};
  std::vector<Candidate> candidates;

  void Merge(RunningBest const& that) {
    score = std::max(score, that.score);
    candidates.insert(candidates.end(), that.candidates.cbegin(), that.candidates.cend());
  }
};

/** @brief Sum of rows in double precision, exactly. [n_rows, width] -> [width] */
XDCC_TARGET_CLONES static void AddRowsExactly(GradientView gradients, bst_idx_t const* rows,
                                              std::size_t n_rows, double* out) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    float const* row = gradients.values + rows[i] * gradients.width;
    for (std::size_t k = 0; k < gradients.width; ++k) {
      out[k] += row[k];
    }
  }
}

/** @brief What is needed to turn a candidate into a split. */
struct CandidateContext {
  BinIndex const& index;
  common::HistogramCuts const& cuts;
  std::vector<FeatureBlock> const& blocks;
  GradientMatrix const& gradients;
  SplitScanner::Kernels const& kernels;
};

/**
 * @brief Collect the rows that a candidate of a histogram passes.
 *
 * @param previous If given, a candidate of the same range that passes less: without its rows.
 */
inline void RowsPassed(CandidateContext const& ctx, RowCluster const& cluster,
                       std::vector<std::uint32_t> const& rows, Candidate const* previous,
                       Candidate const& c, std::vector<bst_idx_t>* out) {
  auto const& ptrs = ctx.cuts.Ptrs();
  auto const origin = ctx.blocks[c.block].first_bin;
  bool const up = c.direction == Direction::kUp;
  auto low = up ? ptrs[c.feature] - origin : c.bin;
  auto high = up ? c.bin + 1 : ptrs[c.feature + 1] - origin;
  if (previous) {
    (up ? low : high) = up ? previous->bin + 1 : previous->bin;
  }
  if (ctx.index.HasColumns(c.block)) {
    auto const* column = ctx.index.Column(c.block, c.feature - ctx.blocks[c.block].begin);
    for (auto row : rows) {
      auto const global = cluster.GlobalRow(row);
      if (column[global] >= low && column[global] < high) {
        out->push_back(global);
      }
    }
    return;
  }
  auto const view = ctx.index.Rows(c.block);
  for (auto row : rows) {
    auto const global = cluster.GlobalRow(row);
    auto const* row_ptr = view.row_ptr + (global - view.base_rowid);
    for (auto e = row_ptr[0]; e < row_ptr[1]; ++e) {
      if (auto const bin = view.bins[e]; bin >= low && bin < high) {
        out->push_back(global);
        break;
      }
    }
  }
}

/**
 * @brief Score the candidates in double precision and take the best.
 *
 * @param rows  Rows of the node, where it has histograms.
 * @param stats The node; gets the sums of the left child.
 * @param split Stays as it is where no split gains anything.
 */
inline void Decide(CandidateContext const& ctx, ScoreError const& error, RowCluster const& cluster,
                   std::vector<std::uint32_t> const& rows, RunningBest* running,
                   SplitScanner* scanner, NodeStats* stats, Split* split) {
  auto& candidates = running->candidates;
  auto const threshold = error.Threshold(running->score);
  if (candidates.empty() || 2.0 * running->score - threshold + error.rest <= 0.0) {
    return;
  }
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](auto const& c) { return c.score < threshold; }),
                   candidates.end());
  std::sort(candidates.begin(), candidates.end(), [](auto const& l, auto const& r) {
    return std::make_tuple(l.feature, l.direction, l.n) <
           std::make_tuple(r.feature, r.direction, r.n);
  });

  std::vector<double> passed(ctx.gradients.Width()), best_passed;
  std::vector<bst_idx_t> rows_passed;
  Candidate const *best{nullptr}, *previous{nullptr};
  float best_gain{0.0f};
  for (auto const& c : candidates) {
    rows_passed.clear();
    // The scan goes on where the candidate before ended.
    if (previous && !(previous->feature == c.feature && previous->direction == c.direction)) {
      previous = nullptr;
    }
    if (!previous) {
      std::fill(passed.begin(), passed.end(), 0.0);
    }
    if (c.first) {
      std::ptrdiff_t const step = c.direction == Direction::kUp ? 1 : -1;
      for (auto i = previous ? previous->n : 0; i < c.n; ++i) {
        rows_passed.push_back(
            cluster.GlobalRow(c.first[step * static_cast<std::ptrdiff_t>(i)] & kRowMask));
      }
    } else {
      RowsPassed(ctx, cluster, rows, previous, c, &rows_passed);
    }
    AddRowsExactly(ctx.gradients.View(), rows_passed.data(), rows_passed.size(), passed.data());
    previous = &c;
    auto const gain = (scanner->*ctx.kernels.gain)(passed, *stats);
    // At equal gains the first candidate wins, but on the way down to a default bin the last.
    bool const later = best && c.direction == Direction::kDown &&
                       best->direction == Direction::kDown && best->feature == c.feature;
    if (gain > best_gain || (later && gain == best_gain)) {
      best = &c;
      best_gain = gain;
      best_passed = passed;
    }
  }
  if (!best) {
    return;
  }
  auto const first_bin = ctx.blocks[best->block].first_bin;
  auto const& values = ctx.cuts.Values();
  *split = {best_gain, best->feature, 0.0f, best->direction == Direction::kDownMissing};
  stats->left_sums = std::move(best_passed);
  if (best->direction == Direction::kUp) {
    split->split_value = values[first_bin + best->bin];
    return;
  }
  if (best->direction == Direction::kDown) {
    split->split_value =
        values[best->next_bin == Candidate::kNoBin ? ctx.index.DefaultBin(best->feature)
                                                   : first_bin + best->next_bin];
  } else {
    split->split_value = common::HistogramCuts::NumericBinLowerBound(
        ctx.cuts.Ptrs(), values, best->feature, static_cast<bst_bin_t>(first_bin + best->bin));
  }
  std::transform(stats->sums.cbegin(), stats->sums.cend(), stats->left_sums.cbegin(),
                 stats->left_sums.begin(), std::minus<>{});
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_CANDIDATE_H_
