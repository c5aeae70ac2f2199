/**
 * @brief Scores the splits of a row set's node and keeps those that may be the best.
 *
 * First the splits are listed as ranges of entries: a feature's list, upwards and, where rows are
 * missing from it, downwards; or the bins of its histogram, each an entry whose "row" is the bin's
 * sums; or its categories (`category_lists.h`). A list with one bin offers one split, which is
 * scored from the sum of its rows. Then all ranges are scored, a chunk of labels at a time, by the
 * loops of `approximate_scan.h`.
 */
#ifndef XDCC_MULTILABEL_SPLIT_SCAN_H_
#define XDCC_MULTILABEL_SPLIT_SCAN_H_

#include <algorithm>  // for max, min, partition_point
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint8_t, uint32_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "../../../../src/common/categorical.h"  // for IsCat
#include "../../param/split_method.h"            // for InfoOf
#include "../data/bin_index.h"                   // for BinIndex
#include "approximate_scan.h"                    // for ListRange, ChooseScan
#include "category_lists.h"                      // for CategoryBuffer, CategoryList
#include "label_node.h"                          // for LabelNode
#include "label_search_param.h"                  // for LabelSearchParam
#include "split_candidate.h"  // for Candidate, CandidateContext, Direction, RunningBest
#include "xgboost/base.h"     // for bst_bin_t, bst_feature_t

namespace xgboost::multilabel {
/** @brief A range of entries, and what its splits are. */
struct SplitRange {
  ListRange list;
  Direction direction;
  bst_feature_t feature;
  std::size_t block;
  std::size_t offset;         // of its scores
  std::size_t categories{0};  // position of a categorical feature's list
};

/** @brief Splits on features with one bin, scored from their sums: [begin, end) of the buffer. */
struct BlockSplits {
  std::size_t block, begin, end;
};
/** @brief Working memory of one thread. */
struct ScanBuffer {
  std::vector<ListEntry> bins;  // that hold rows, of a block's histogram
  std::vector<BlockSplits> single_blocks;
  std::vector<ListEntry> single_sums;  // positions of the sums
  std::vector<SplitRange> singles;     // the lists of these splits
  std::vector<SplitRange> ranges;
  CategoryBuffer categories;
  std::vector<float> scores, right_scores;  // scores of the singles, then of the ranges
  std::vector<float> doubt, hess;           // see `ScanOutput`
  std::vector<std::int32_t> flags;
  std::size_t n_scores{0};
};

/** @brief All splits of a categorical feature, `score` being the highest. */
inline Candidate CategoryCandidate(bst_feature_t feature, std::size_t block, ListEntry const* first,
                                   std::uint32_t n,
                                   float score = std::numeric_limits<float>::infinity()) {
  return {feature, block, Direction::kCategories, n, Candidate::kNoBin, Candidate::kNoBin,
          first,   score};
}

/**
 * @brief The sorted entries of a numeric feature, and the splits that they offer.
 *
 * Entries upwards of the default bin are scanned downwards, others upwards. Missing values are on
 * the right, then on the left.
 */
struct FeatureEntries {
  CandidateContext const& context;
  bst_feature_t feature;
  std::size_t block;
  ListEntry const *begin, *end;
  /** @brief The first entry above the default bin, if `has_default`. */
  ListEntry const* middle;
  /** @brief Whether rows are not stored, and whether these are in the default bin. */
  bool others, has_default;

  /** @brief The splits whose last entry on the left is one up to `to`. */
  [[nodiscard]] SplitRange Up(ListEntry const* to, bool with_last) const {
    return this->Make(begin, 1, to - begin, with_last, Direction::kUp);
  }
  [[nodiscard]] SplitRange Down(ListEntry const* to, Direction direction) const {
    return this->Make(end - 1, -1, end - to, true, direction);
  }
  void Push(std::vector<SplitRange>* ranges) const {
    auto push = [&](SplitRange const& range) {
      if (range.list.n > 0) {
        ranges->push_back(range);
      }
    };
    if (has_default) {
      push(this->Up(middle, true));
      push(this->Down(middle, Direction::kDown));
      return;
    }
    push(this->Up(end, others));
    if (others) {
      push(this->Down(begin, Direction::kDownMissing));
    }
  }

 private:
  [[nodiscard]] SplitRange Make(ListEntry const* first, std::ptrdiff_t step, std::ptrdiff_t n,
                                bool with_last, Direction direction) const {
    return {{first, step, static_cast<std::uint32_t>(n), with_last, false,
             context.OrderOf(feature, direction)},
            direction,
            feature,
            block,
            0};
  }
};

/** @brief Give the scores of each range a place, after those of the singles. */
inline void PlaceScores(ScanBuffer* buffer) {
  buffer->n_scores = buffer->singles.size();
  for (auto& range : buffer->ranges) {
    range.offset = buffer->n_scores;
    buffer->n_scores += range.list.n;
  }
}

/**
 * @brief List the splits on the categorical features in the buffer.
 *
 * @param running Gets features of which only exact sums say what they offer.
 */
inline void MakeCategoryRanges(LabelSearchParam const& param, LabelNode const& node,
                               NodeStats const& stats, ScanBuffer* buffer, RunningBest* running) {
  auto& categories = buffer->categories;
  SetKeys(param, node, stats, &categories);
  categories.entries.clear();
  categories.entries.reserve(categories.keys.size());  // ranges point into it
  for (std::size_t i = 0; i < categories.lists.size(); ++i) {
    auto const& list = categories.lists[i];
    auto push = [&](ListRange const& range) {
      buffer->ranges.push_back({range, Direction::kCategories, list.feature, list.block, 0, i});
    };
    if (!PushCategoryRanges(param, node, list, &categories, push)) {
      running->candidates.push_back(
          CategoryCandidate(list.feature, list.block, list.first, list.n));
    }
  }
}

/**
 * @brief List the splits of a node with lists, in a group of blocks.
 *
 * @param running See `MakeCategoryRanges`.
 */
inline void MakeListRanges(CandidateContext const& context, LabelSearchParam const& param,
                           std::size_t block_begin, std::size_t block_end,
                           std::uint8_t const* allowed, LabelNode const& node,
                           NodeStats const& stats, ScanBuffer* buffer, RunningBest* running) {
  buffer->single_blocks.clear();
  buffer->single_sums.clear();
  buffer->singles.clear();
  buffer->ranges.clear();
  buffer->categories.lists.clear();
  auto const& ptrs = context.cuts.Ptrs();
  for (auto b = block_begin; b < block_end; ++b) {
    auto const* entries = (*node.entries)[b].data();
    auto const n_singles = buffer->singles.size();
    for (std::uint32_t i = 0; i < node.lists[b].size(); ++i) {
      auto const& list = node.lists[b][i];
      auto const feature = list.feature;
      if (allowed && !allowed[feature]) {
        continue;
      }
      auto const *begin = entries + list.begin, *end = entries + list.end;
      if (common::IsCat(context.types, feature)) {
        auto const n = list.end - list.begin;
        if (!param.adds_categories) {
          running->candidates.push_back(CategoryCandidate(feature, b, begin, n));
          continue;
        }
        bool const has_default = context.index.DefaultBin(feature) != BinIndex::kNoBin;
        auto const& slots = node.categories[b];
        buffer->categories.lists.push_back({feature, b, begin, n, ptrs[feature + 1] - ptrs[feature],
                                            has_default, slots.first[i],
                                            slots.first[i + 1] - slots.first[i]});
        continue;
      }
      auto const default_bin = context.index.DefaultBin(feature);
      bool const others = list.end - list.begin != node.n_rows;
      bool const has_default = others && default_bin != BinIndex::kNoBin;
      auto const* middle = begin;
      if (has_default) {
        auto const bin = static_cast<std::uint32_t>(default_bin) - context.blocks[b].first_bin;
        middle =
            std::partition_point(begin, end, [&](ListEntry e) { return (e >> kBinShift) < bin; });
      }
      FeatureEntries const splits{context, feature, b, begin, end, middle, others, has_default};
      // Single entries are scored together, unless the feature's order must be kept.
      if (node.HasSum(b, i) && context.OrderOf(feature, Direction::kUp) == 0) {
        buffer->single_sums.push_back(list.sum);
        buffer->singles.push_back(has_default && middle == begin
                                      ? splits.Down(begin, Direction::kDown)
                                      : splits.Up(end, true));
      } else {
        splits.Push(&buffer->ranges);
      }
    }
    if (buffer->singles.size() > n_singles) {
      buffer->single_blocks.push_back({b, n_singles, buffer->singles.size()});
    }
  }
  if (!buffer->categories.lists.empty()) {
    MakeCategoryRanges(param, node, stats, buffer, running);
  }
  PlaceScores(buffer);
}

/** @brief The same with histograms: the bins of a feature make a list. */
inline void MakeBinRanges(CandidateContext const& context, std::size_t b,
                          std::uint8_t const* allowed, LabelNode const& node, ScanBuffer* buffer,
                          RunningBest* running) {
  auto const& histogram = node.histograms[b].sums;
  auto const& block = context.blocks[b];
  auto const& ptrs = context.cuts.Ptrs();
  buffer->single_blocks.clear();
  buffer->singles.clear();
  buffer->ranges.clear();
  buffer->bins.clear();
  buffer->bins.reserve(block.n_bins);  // ranges point into it
  for (auto f = block.begin; f < block.end; ++f) {
    if (allowed && !allowed[f]) {
      continue;
    }
    if (common::IsCat(context.types, f)) {
      running->candidates.push_back(CategoryCandidate(f, b, nullptr, 0));
      continue;
    }
    auto const begin = buffer->bins.size();
    std::size_t n_stored{0}, n_below{0};
    auto const default_bin = context.index.DefaultBin(f);
    for (auto bin = ptrs[f] - block.first_bin; bin < ptrs[f + 1] - block.first_bin; ++bin) {
      if (auto const count = histogram.Count(bin); count != 0) {
        n_stored += count;
        n_below += static_cast<bst_bin_t>(block.first_bin + bin) < default_bin;
        buffer->bins.push_back(bin | bin << kBinShift);
      }
    }
    auto const *first = buffer->bins.data() + begin,
               *end = buffer->bins.data() + buffer->bins.size();
    bool const others = n_stored != node.n_rows;
    FeatureEntries{context, f,
                   b,       first,
                   end,     first + n_below,
                   others,  others && default_bin != BinIndex::kNoBin}
        .Push(&buffer->ranges);
  }
  PlaceScores(buffer);
}

/** @brief Pick the candidates of a range that reach a score. */
inline void Collect(SplitRange const& range, bool has_lists, float const* scores, float threshold,
                    std::vector<Candidate>* out) {
  auto const* entry = range.list.first;
  std::size_t k{0};
  for (std::uint32_t i = 1; i <= range.list.n; ++i, entry += range.list.step) {
    bool const is_last = i == range.list.n;
    auto const next_bin = is_last ? Candidate::kNoBin : entry[range.list.step] >> kBinShift;
    auto const bin = *entry >> kBinShift;
    if (is_last ? range.list.with_last : next_bin != bin) {
      if (scores[k] >= threshold) {
        out->push_back({range.feature, range.block, range.direction, i, bin, next_bin,
                        has_lists ? range.list.first : nullptr, scores[k]});
      }
      ++k;
    }
  }
}

/**
 * @brief Give the score -inf to splits with a child that misses a minimum.
 *
 * @param running Gets the best score that an allowed split surely has.
 */
inline void ScoreAllowed(LabelSearchParam const& param, LabelNode const& node, std::size_t begin,
                         std::size_t n, ScanBuffer* buffer, RunningBest* running) {
  auto const& limits = node.scan.limits;
  std::int32_t const flip = param.reg.AllMustCount() ? SplitFlags::kBoth : 0;
  bool const has_mean = param.reg.MeanFloor() > 0.0, has_flags = param.LimitsLabels();
  // A label that may not count also changes its weight in the other child.
  bool const needs_counts = param.is_monotone && param.reg.LabelFloor() > 0.0;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (auto k = begin; k < begin + n; ++k) {
    bool may{true}, does{true}, is_open{false};
    if (has_flags) {
      auto const flags = buffer->flags[k] ^ flip;
      does = (flags & SplitFlags::kBoth) == SplitFlags::kBoth;
      bool const in_doubt = (flags & SplitFlags::kInDoubt) != 0;
      may = (does || in_doubt) && (flags & SplitFlags::kViolates) == 0;
      is_open = (in_doubt && (needs_counts || (param.is_monotone && param.reg.lambda == 0.0))) ||
                (flags & SplitFlags::kMayViolate) != 0;
      does = does && !is_open;
    }
    if (has_mean) {
      auto const least = std::min(buffer->hess[k], limits.hess - buffer->hess[k]);
      may = may && least >= limits.may_reach;
      does = does && least >= limits.reaches;
    }
    auto& score = buffer->scores[k];
    auto const doubt = has_flags ? buffer->doubt[k] : 0.0f;
    if (may && does) {
      running->score = std::max(running->score, score - doubt);
    }
    if (!may) {
      score = -kInf;
    } else if (is_open || (doubt > 0.0f && param.reg.lambda == 0.0)) {
      score = kInf;  // the smaller the Hessian, the larger
    }
  }
}

/** @brief Score the splits in the buffer and keep those that may be the best. */
inline void ScoreSplits(LabelSearchParam const& param, std::size_t n_labels, LabelNode const& node,
                        ScanBuffer* buffer, RunningBest* running) {
  auto const n_scores = buffer->n_scores;
  auto const& ranges = buffer->ranges;
  auto const method = param.method;
  auto const rule = param.Rule();
  bool const is_sum = InfoOf(method).is_sum;
  bool const is_limited = param.LimitsChildren();
  auto const& rows = node.row_set->rows;
  if (param.reg.AllMustCount() && rows.Labels().size() < n_labels) {
    return;
  }
  auto const n_all = n_scores * rows.Chunks().size();
  buffer->scores.resize(std::max(buffer->scores.size(), n_all));
  buffer->right_scores.resize(buffer->scores.size());
  if (is_limited) {
    buffer->doubt.resize(buffer->scores.size());
    buffer->hess.resize(buffer->scores.size());
    buffer->flags.resize(buffer->scores.size());
  }
  std::vector<std::uint32_t> n_candidates(ranges.size());
  for (std::size_t c = 0; c < rows.Chunks().size(); ++c) {
    auto const& chunk = rows.Chunks()[c];
    auto const scan = ChooseScan(method, rule, chunk.width);
    auto const at = chunk.padded_begin;
    ChunkView view{
        rows.Values(chunk),          node.totals.Data() + 2 * at,      rows.GradScale() + at,
        rows.HessScale() + at,       node.row_set->lambda.Data() + at, node.scan.mean.Data() + at,
        node.scan.total.Data() + at, node.row_set->padding.Data() + at};
    view.alpha = static_cast<float>(param.reg.alpha);
    view.max_step = param.reg.max_delta_step != 0.0 ? static_cast<float>(param.reg.max_delta_step)
                                                    : std::numeric_limits<float>::infinity();
    if (is_limited) {
      view.may_count = node.scan.limits.may_count.Data() + at;
      view.counts = node.scan.limits.counts.Data() + at;
      view.all_must = param.reg.AllMustCount() ? -1 : 0;
    }
    if (param.is_monotone) {
      auto const& bounds = node.scan.bounds;
      view.lower = bounds.lower.Data() + at;
      view.upper = bounds.upper.Data() + at;
      view.grad_error = bounds.grad_error.Data() + at;
      view.hess_error = bounds.hess_error.Data() + at;
      view.relative_error = bounds.relative;
      view.must_be_ordered = n_labels == 1 ? -1 : 0;
    }
    auto const first = c * n_scores;
    auto output = [&](std::size_t offset) {
      auto const i = first + offset;
      ScanOutput out{buffer->scores.data() + i, buffer->right_scores.data() + i, nullptr, nullptr,
                     nullptr};
      if (is_limited) {
        out.doubt = buffer->doubt.data() + i;
        out.flags = buffer->flags.data() + i;
        out.hess = param.reg.MeanFloor() > 0.0 ? buffer->hess.data() + i : nullptr;
      }
      return out;
    };
    for (auto const& splits : buffer->single_blocks) {
      auto of_sums = view;
      of_sums.rows = {node.sums[splits.block].Of(chunk), false, false};
      scan({buffer->single_sums.data() + splits.begin, 1,
            static_cast<std::uint32_t>(splits.end - splits.begin), true, true},
           of_sums, output(splits.begin));
    }
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      if (ranges[r].direction == Direction::kCategories) {
        auto const& list = buffer->categories.lists[ranges[r].categories];
        view.rows = {node.categories[list.block].Of(chunk, list.first_slot), false, false};
      } else if (!node.histograms.empty()) {
        view.rows = {node.histograms[ranges[r].block].sums.Sums(chunk), false, false};
      } else {
        view.rows = rows.Values(chunk);
      }
      n_candidates[r] = scan(ranges[r].list, view, output(ranges[r].offset));
    }
    for (std::size_t k = 0; c > 0 && k < n_scores; ++k) {
      if (is_sum) {
        buffer->scores[k] += buffer->scores[first + k];
      } else {
        buffer->scores[k] = std::max(buffer->scores[k], buffer->scores[first + k]);
        buffer->right_scores[k] =
            std::max(buffer->right_scores[k], buffer->right_scores[first + k]);
      }
      if (is_limited) {
        buffer->doubt[k] += buffer->doubt[first + k];
        buffer->hess[k] += buffer->hess[first + k];
        buffer->flags[k] |= buffer->flags[first + k];
      }
    }
  }

  // Labels that the row set leaves out count 0, in a maximum too.
  float const floor =
      rows.Labels().size() < n_labels ? 0.0f : -std::numeric_limits<float>::infinity();
  auto combine = [&](std::size_t begin, std::size_t n) {
    auto* scores = buffer->scores.data() + begin;
    if (!is_sum) {
      auto const* other = buffer->right_scores.data() + begin;
      for (std::size_t k = 0; k < n; ++k) {
        scores[k] = std::max(scores[k], floor) + std::max(other[k], floor);
      }
    }
    if (is_limited) {
      ScoreAllowed(param, node, begin, n, buffer, running);
    }
    float best = -std::numeric_limits<float>::infinity();
    for (std::size_t k = 0; k < n; ++k) {
      best = std::max(best, scores[k]);
    }
    if (!is_limited) {
      running->score = std::max(running->score, best);
    }
    return best;
  };
  auto const n_singles = buffer->singles.size();
  if (auto const best = combine(0, n_singles);
      best >= node.scan.error.Threshold(running->score) && n_singles > 0) {
    for (std::size_t k = 0; k < n_singles; ++k) {
      if (buffer->scores[k] >= node.scan.error.Threshold(running->score)) {
        auto const& range = buffer->singles[k];
        running->candidates.push_back({range.feature, range.block, range.direction, range.list.n,
                                       *range.list.first >> kBinShift, Candidate::kNoBin,
                                       range.list.first, buffer->scores[k]});
      }
    }
  }
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    auto const best = combine(ranges[r].offset, n_candidates[r]);
    auto const threshold = node.scan.error.Threshold(running->score);
    if (best >= threshold && ranges[r].direction == Direction::kCategories) {
      auto const& list = buffer->categories.lists[ranges[r].categories];
      running->candidates.push_back(
          CategoryCandidate(list.feature, list.block, list.first, list.n, best));
    } else if (best >= threshold) {
      Collect(ranges[r], node.histograms.empty(), buffer->scores.data() + ranges[r].offset,
              threshold, &running->candidates);
    }
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_SCAN_H_
