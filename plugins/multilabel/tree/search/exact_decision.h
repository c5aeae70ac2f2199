/**
 * @brief The choice between the candidates for the best split of a node, in double precision.
 *
 * Candidates are scored again from sums that are exact, and the best is taken by the order of
 * preference that `split_evaluator.h` describes.
 */
#ifndef XDCC_MULTILABEL_EXACT_DECISION_H_
#define XDCC_MULTILABEL_EXACT_DECISION_H_

#include <algorithm>   // for any_of, fill, transform
#include <cstddef>     // for ptrdiff_t, size_t
#include <cstdint>     // for uint32_t
#include <functional>  // for plus
#include <utility>     // for move
#include <vector>      // for vector

#include "../../../../src/common/hist_util.h"  // for HistogramCuts
#include "../../reductions.h"                  // for Subtract
#include "../../vectorised.h"                  // for XDCC_BEST_CLONE
#include "../data/bin_index.h"                 // for BinIndex, BlockRowsView
#include "../data/gradient_matrix.h"           // for AddRowsExactly
#include "approximate_scan.h"                  // for kBinShift, kRowMask
#include "category_scan.h"                     // for CategoryScanner, CategorySums
#include "quantised_rows.h"                    // for QuantisedRows
#include "split_candidate.h"                   // for Candidate, CandidateContext, Direction
#include "split_evaluator.h"                   // for SearchResult, NodeStats, Split, SplitEvaluator
#include "xgboost/base.h"                      // for bst_bin_t, bst_idx_t
#include "xgboost/span.h"                      // for Span

namespace xgboost::multilabel {
/** @brief Working memory of a thread that decides. */
struct ThreadScanners {
  SplitEvaluator numbers;
  CategoryScanner categories;
};

/** @brief Call `fn(row, bin)` for a page's rows that are stored in bins [low, high) of a feature.
 */
template <typename Fn>
void ForEachRow(CandidateContext const& ctx, BinIndex const& index, QuantisedRows const& quantised,
                common::Span<std::uint32_t const> rows, Candidate const& c, std::uint32_t low,
                std::uint32_t high, Fn&& fn) {
  auto const *first = rows.data(), *last = first + rows.size();
  if (index.HasColumns(c.block)) {
    auto const column = index.Column(c.block, c.feature - ctx.blocks[c.block].begin);
    for (auto const* row = first; row != last; ++row) {
      auto const global = quantised.GlobalRow(*row);
      if (auto const bin = column[global]; bin >= low && bin < high) {
        fn(global, bin);
      }
    }
    return;
  }
  auto const view = index.Rows(c.block);
  for (auto const* row = first; row != last; ++row) {
    auto const global = quantised.GlobalRow(*row);
    auto const* row_ptr = view.row_ptr + (global - view.base_rowid);
    for (auto e = row_ptr[0]; e < row_ptr[1]; ++e) {
      if (auto const bin = view.bins[e]; bin >= low && bin < high) {
        fn(global, bin);
        break;
      }
    }
  }
}

/** @brief A part of the rows that a candidate passes: the `part`-th of `n_parts`. */
struct RowShare {
  std::size_t part{0}, n_parts{1};

  /** @brief Where the share of `n` rows begins; that of the next one is where it ends. */
  [[nodiscard]] std::size_t Begin(std::size_t n) const { return n * part / n_parts; }
  [[nodiscard]] std::size_t End(std::size_t n) const { return n * (part + 1) / n_parts; }
};

/**
 * @brief Collect rows that a candidate passes.
 *
 * @param rows     Rows of the node, where it has histograms.
 * @param previous If given, a candidate of the same range that passes less: without its rows.
 * @param share    Share of the rows of the node or of its list.
 */
inline void ScannedRows(CandidateContext const& ctx, BinIndex const& index,
                        QuantisedRows const& quantised, common::Span<std::uint32_t const> rows,
                        Candidate const* previous, Candidate const& c, RowShare share,
                        std::vector<bst_idx_t>* out) {
  out->clear();
  if (c.first) {
    std::ptrdiff_t const step = c.direction == Direction::kUp ? 1 : -1;
    auto const from = previous ? previous->n : 0, n = c.n - from;
    for (auto k = from + share.Begin(n); k < from + share.End(n); ++k) {
      out->push_back(
          quantised.GlobalRow(c.first[step * static_cast<std::ptrdiff_t>(k)] & kRowMask));
    }
    return;
  }
  rows = rows.subspan(share.Begin(rows.size()), share.End(rows.size()) - share.Begin(rows.size()));
  auto const& ptrs = ctx.cuts.Ptrs();
  auto const origin = ctx.blocks[c.block].first_bin;
  bool const up = c.direction == Direction::kUp;
  auto low = up ? ptrs[c.feature] - origin : c.bin;
  auto high = up ? c.bin + 1 : ptrs[c.feature + 1] - origin;
  if (previous) {
    (up ? low : high) = up ? previous->bin + 1 : previous->bin;
  }
  ForEachRow(ctx, index, quantised, rows, c, low, high,
             [&](bst_idx_t row, std::uint32_t) { out->push_back(row); });
}

/** @brief Number of categories of a candidate's feature. */
inline std::size_t NumCategories(CandidateContext const& ctx, Candidate const& c) {
  return ctx.cuts.Ptrs()[c.feature + 1] - ctx.cuts.Ptrs()[c.feature];
}

/** @brief Call `fn(row, category)` for rows of a page that are stored for a candidate's feature. */
template <typename Fn>
void ForEachCategory(CandidateContext const& ctx, BinIndex const& index,
                     QuantisedRows const& quantised, common::Span<std::uint32_t const> rows,
                     Candidate const& c, Fn&& fn) {
  auto const begin = ctx.cuts.Ptrs()[c.feature] - ctx.blocks[c.block].first_bin;
  auto const end = static_cast<std::uint32_t>(begin + NumCategories(ctx, c));
  ForEachRow(ctx, index, quantised, rows, c, begin, end,
             [&](bst_idx_t row, std::uint32_t bin) { fn(row, bin - begin); });
}

/** @brief Sum up the rows of a node by category of a candidate's feature. */
class CategoryReader {
  std::vector<double> sums_;  // [slots, width]
  CategorySums found_;

  void Add(CandidateContext const& ctx, std::size_t slot, std::size_t category,
           common::Span<bst_idx_t const> rows) {
    auto* sums = sums_.data() + slot * ctx.gradients.Width();
    XDCC_BEST_CLONE(AddRowsExactly)(ctx.gradients.View(), rows.data(), rows.size(), sums);
    found_.by_category[category] = sums;
  }

 public:
  /** @param sums Where rows are shared out: what `AddCandidates` found; else null. */
  CategorySums const& Read(CandidateContext const& ctx, QuantisedRows const& quantised,
                           common::Span<std::uint32_t const> rows, Candidate const& c,
                           double const* sums) {
    auto const& ptrs = ctx.cuts.Ptrs();
    auto const n_categories = ptrs[c.feature + 1] - ptrs[c.feature];
    auto const begin = ptrs[c.feature] - ctx.blocks[c.block].first_bin;
    auto const default_bin = ctx.index.DefaultBin(c.feature);
    found_.feature = c.feature;
    found_.by_category.assign(n_categories, nullptr);
    found_.default_category = default_bin == BinIndex::kNoBin
                                  ? bst_bin_t{BinIndex::kNoBin}
                                  : default_bin - static_cast<bst_bin_t>(ptrs[c.feature]);
    if (sums) {
      auto const width = ctx.gradients.Width();
      for (std::size_t k = 0; k < n_categories; ++k) {
        auto const* of_category = sums + k * width;
        if (std::any_of(of_category, of_category + width, [](double x) { return x != 0.0; })) {
          found_.by_category[k] = of_category;
        }
      }
      return found_;
    }
    if (c.first) {
      auto is_last = [&](std::uint32_t i) {
        return i + 1 == c.n || (c.first[i] ^ c.first[i + 1]) >> kBinShift != 0;
      };
      std::size_t n_here{0};
      for (std::uint32_t i = 0; i < c.n; ++i) {
        n_here += is_last(i);
      }
      sums_.assign(n_here * ctx.gradients.Width(), 0.0);
      std::vector<bst_idx_t> of_category;
      std::size_t slot{0};
      for (std::uint32_t i = 0; i < c.n; ++i) {
        of_category.push_back(quantised.GlobalRow(c.first[i] & kRowMask));
        if (is_last(i)) {
          this->Add(ctx, slot++, (c.first[i] >> kBinShift) - begin, of_category);
          of_category.clear();
        }
      }
      return found_;
    }
    sums_.assign(n_categories * ctx.gradients.Width(), 0.0);
    ForEachCategory(ctx, ctx.index, quantised, rows, c, [&](bst_idx_t row, std::size_t category) {
      this->Add(ctx, category, category, {&row, 1});
    });
    return found_;
  }
};

/** @brief The candidate whose scan the i-th one continues, null if it begins one. */
inline Candidate const* PreviousOf(std::vector<Candidate> const& candidates, std::size_t i) {
  if (i == 0) {
    return nullptr;
  }
  auto const &c = candidates[i], &previous = candidates[i - 1];
  return previous.feature == c.feature && previous.direction == c.direction ? &previous : nullptr;
}

/**
 * @brief Number of sums that decide between candidates.
 *
 * One for each, of the rows that it passes beyond those of the candidate before; of a categorical
 * feature one for each category.
 */
inline std::size_t NumSums(CandidateContext const& ctx, std::vector<Candidate> const& candidates) {
  std::size_t n{0};
  for (auto const& c : candidates) {
    n += c.direction == Direction::kCategories ? NumCategories(ctx, c) : 1;
  }
  return n;
}

/**
 * @brief Add up these sums over rows of a page, in double precision.
 *
 * @param index Index of the page.
 * @param rows  The node's rows in it, where it has histograms: needed for categories.
 * @param share Share of these rows, or of those in lists.
 * @param sums  [NumSums(candidates), width]
 */
inline void AddCandidates(CandidateContext const& ctx, BinIndex const& index,
                          QuantisedRows const& quantised, common::Span<std::uint32_t const> rows,
                          std::vector<Candidate> const& candidates, RowShare share, double* sums) {
  auto const width = ctx.gradients.Width();
  std::vector<bst_idx_t> scanned;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    auto const& c = candidates[i];
    if (c.direction == Direction::kCategories) {
      auto const begin = share.Begin(rows.size()), end = share.End(rows.size());
      ForEachCategory(ctx, index, quantised, rows.subspan(begin, end - begin), c,
                      [&](bst_idx_t row, std::size_t category) {
                        XDCC_BEST_CLONE(AddRowsExactly)(ctx.gradients.View(), &row, 1,
                                                        sums + category * width);
                      });
      sums += NumCategories(ctx, c) * width;
      continue;
    }
    ScannedRows(ctx, index, quantised, rows, PreviousOf(candidates, i), c, share, &scanned);
    XDCC_BEST_CLONE(AddRowsExactly)(ctx.gradients.View(), scanned.data(), scanned.size(), sums);
    sums += width;
  }
}

/**
 * @brief Score the candidates in double precision and take the best.
 *
 * @param rows       Rows of the node, where it has histograms.
 * @param candidates The candidates that `KeepLikely` kept.
 * @param sums       Where rows are divided among workers, the result of `AddCandidates`; else null.
 * @param stats      The node; gets the sums of the left child.
 * @param split      Stays as it is where no split gains anything.
 */
inline void Decide(CandidateContext const& ctx, QuantisedRows const& quantised,
                   common::Span<std::uint32_t const> rows, std::vector<Candidate> const& candidates,
                   double const* sums, ThreadScanners* scanners, NodeStats* stats, Split* split) {
  std::vector<double> scanned(ctx.gradients.Width()), best_scanned;
  std::vector<bst_idx_t> scanned_rows;
  CategoryReader categories;
  SearchResult best_category;
  Candidate const* best{nullptr};
  float best_gain{0.0f};
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    auto const& c = candidates[i];
    if (c.direction == Direction::kCategories) {
      auto const& found = categories.Read(ctx, quantised, rows, c, sums);
      scanners->categories.Scan(found, *stats, &best_category);
      if (sums) {
        sums += NumCategories(ctx, c) * scanned.size();
      }
      continue;
    }
    auto const* previous = PreviousOf(candidates, i);
    if (!previous) {
      std::fill(scanned.begin(), scanned.end(), 0.0);
    }
    if (sums) {
      std::transform(scanned.cbegin(), scanned.cend(), sums, scanned.begin(), std::plus<>{});
      sums += scanned.size();
    } else {
      ScannedRows(ctx, ctx.index, quantised, rows, previous, c, {}, &scanned_rows);
      XDCC_BEST_CLONE(AddRowsExactly)(ctx.gradients.View(), scanned_rows.data(),
                                      scanned_rows.size(), scanned.data());
    }
    auto const gain =
        (scanners->numbers.*ctx.kernels.gain)(scanned, *stats, ctx.OrderOf(c.feature, c.direction));
    // At equal gains the first candidate wins, but on the way down to a default bin the last.
    bool const later = best && c.direction == Direction::kDown &&
                       best->direction == Direction::kDown && best->feature == c.feature;
    if (gain > best_gain || (later && gain == best_gain)) {
      best = &c;
      best_gain = gain;
      best_scanned = scanned;
    }
  }
  if (best) {
    *split = {best_gain, best->feature, 0.0f, best->direction == Direction::kDownMissing, {}};
  }
  if (best_category.split.IsBetter(*split)) {
    *split = std::move(best_category.split);
    stats->left_sums = std::move(best_category.left_sums);
    return;
  }
  if (!best) {
    return;
  }
  auto const first_bin = ctx.blocks[best->block].first_bin;
  auto const& values = ctx.cuts.Values();
  stats->left_sums = std::move(best_scanned);
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
  Subtract(stats->sums, stats->left_sums, &stats->left_sums);
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_EXACT_DECISION_H_
