/**
 * @brief The search on few numbers per row: the best split of a node, by score.
 */
#include <algorithm>  // for copy_n, fill, fill_n, max, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t, uint8_t
#include <limits>     // for numeric_limits
#include <utility>    // for exchange
#include <vector>     // for vector

#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "sketch_search.h"

namespace xgboost::multilabel {
void SketchSearch::Search(Jobs jobs, Requests const& requests) {
  // Several tasks for each thread.
  constexpr std::size_t kTasksPerThread = 8;
  auto const n_parts = this->NumParts();
  std::size_t const n_together =
      n_threads_ == 1 ? n_parts : jobs.size() * n_parts / (kTasksPerThread * n_threads_);
  std::size_t const n_of_task = std::max<std::size_t>(1, n_together);
  auto const tasks =
      MakeTasks(jobs, n_parts, [&](Job const&) { return (n_parts + n_of_task - 1) / n_of_task; });
  std::vector<JobBest> best(tasks.size());
  common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto t) {
    auto const& job = jobs[tasks[t].job];
    this->SearchParts(tasks[t], job, requests, &best[t]);
  });
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    auto const& job = jobs[tasks[t].job];
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      auto& of_node = nodes_[requests[job.begin + k].nid].best;
      if (best[t][k].IsBetter(of_node)) {
        of_node = best[t][k];
      }
    }
  }
}

void SketchSearch::SearchParts(BlockTask const& task, Job const& job, Requests const& requests,
                               JobBest* best) {
  auto& buffer = this->OfThread();
  auto const small = job.small, large = 1 - job.small;
  auto node_of = [&](std::size_t k) -> Node& { return nodes_[requests[job.begin + k].nid]; };
  auto const n_blocks = index_->Blocks().size(), end = task.block_end;
  for (auto begin = task.block_begin; begin < end; begin = this->GroupEnd(begin, end)) {
    auto const group_end = this->GroupEnd(begin, end);
    bool const is_slots = begin == n_blocks;
    auto fill = [&](Node& node) {
      auto* out = node.histogram.Data() ? node.histogram.Data() + this->PartBegin(begin)
                  : is_slots            ? buffer.slots.Data()
                                        : buffer.blocks.Data();
      if (node.histogram.Data() || is_slots) {
        std::fill_n(out, this->PartsSize(begin, group_end), 0);
      }
      this->FillParts(node, begin, group_end, out);
      return out;
    };
    auto score = [&](std::size_t k, std::size_t b, Histogram kind, PackedSum* histogram) {
      auto const* allowed = requests[job.begin + k].Allowed();
      if (is_slots) {
        this->ScoreSlots(node_of(k), allowed, histogram, &(*best)[k]);
      } else {
        this->ScoreBlock(node_of(k), b, allowed, kind,
                         histogram + this->PartBegin(b) - this->PartBegin(begin), &(*best)[k]);
      }
    };
    auto score_alone = [&](std::size_t k) {
      auto& node = node_of(k);
      auto const kind = !is_slots && this->IsFew(node) ? Histogram::kToBeFilled
                        : node.histogram.Data()        ? Histogram::kKept
                                                       : Histogram::kCleared;
      auto* histogram = kind == Histogram::kToBeFilled ? buffer.blocks.Data() : fill(node);
      for (auto b = begin; b < group_end; ++b) {
        score(k, b, kind, histogram);
      }
    };
    if (!job.from_parent) {
      score_alone(small);
      if (job.n_nodes == 2) {
        score_alone(large);
      }
      continue;
    }
    auto const kind = node_of(small).histogram.Data() ? Histogram::kKept : Histogram::kCleared;
    auto* histogram = fill(node_of(small));
    auto* of_large = node_of(large).histogram.Data() + this->PartBegin(begin);
    for (auto b = begin; b < group_end; ++b) {
      auto const at = this->PartBegin(b) - this->PartBegin(begin);
      XDCC_BEST_CLONE(SubtractArray<PackedSum>)(histogram + at, this->PartSize(b), of_large + at);
      score(large, b, Histogram::kKept, of_large);
      score(small, b, kind, histogram);
    }
  }
}

void SketchSearch::ScoreBlock(Node const& node, std::size_t b, std::uint8_t const* allowed,
                              Histogram kind, PackedSum* histogram, ScoredSplit* best) const {
  auto const& block = index_->Blocks()[b];
  LaneBest lanes;
  auto const by = this->ScoringOf(node);
  FewRows few;
  bool const is_few = kind == Histogram::kToBeFilled;
  VisitWidth(width_, [&](auto width) {
    if (is_few) {
      index_->VisitSlotType([&](auto slot) {
        few.Fill<width>(index_->Slots<decltype(slot)>(b), index_->Stride(b),
                        rows_.data() + node.begin, packed_.data() + node.begin * width_,
                        node.NumRows(), block.has_missing, block.n_slots, histogram);
      });
    }
    auto const* sums = is_few ? few.sums : histogram;
    auto const n = is_few ? few.n : block.n_slots;
    auto const* slots = is_few ? reinterpret_cast<Int8 const*>(few.slots) : nullptr;
    if (block.has_missing) {
      XDCC_BEST_CLONE(ScanBlock<width, true>)(sums, n, slots, by, &lanes);
    } else {
      XDCC_BEST_CLONE(ScanBlock<width, false>)(sums, n, slots, by, &lanes);
    }
  });
  auto best_lane = kLanes;
  for (std::size_t l = 0; l < kLanes; ++l) {
    auto const f = block.features[l];
    if (f == SketchIndex::kNoFeature || (allowed && !allowed[f])) {
      continue;
    }
    bool const left = lanes.score[1][l] > lanes.score[0][l];
    if (!(lanes.score[left][l] > 0.0f)) {
      continue;
    }
    ScoredSplit const of_lane{
        lanes.score[left][l], f, lanes.slot[left][l] - block.has_missing, left, {}};
    if (of_lane.IsBetter(*best)) {
      *best = of_lane;
      best_lane = l;
    }
  }
  if (best_lane < kLanes) {  // add up its left side
    std::int64_t const last = best->bin + block.has_missing;
    auto add = [&](PackedSum const* sums) {
      for (std::size_t d = 0; d < width_; ++d) {
        best->left_sum[d] += sums[d * kLanes + best_lane];
      }
    };
    std::int64_t const begin = block.has_missing && !best->default_left;
    if (is_few) {
      for (std::size_t i = begin; i < few.n; ++i) {
        if (few.slots[i][kPlaceOfLane[best_lane]] <= last) {
          add(few.sums + i * width_ * kLanes);
        }
      }
    } else {
      for (auto slot = begin; slot <= last; ++slot) {
        add(histogram + slot * width_ * kLanes);
      }
    }
  }
  if (kind == Histogram::kCleared) {
    std::fill_n(histogram, block.n_slots * width_ * kLanes, 0);
  }
}

void SketchSearch::ScoreSlots(Node const& node, std::uint8_t const* allowed,
                              PackedSum const* histogram, ScoredSplit* best) {
  auto const& sparse = index_->Sparse();
  if (index_->NumSingles() > 0) {
    this->ScoreSingles(node, allowed, histogram, best);
  }
  for (auto i = index_->NumSingles(); i < sparse.size(); ++i) {
    if (!allowed || allowed[sparse[i].feature]) {
      this->ScoreList(node, sparse[i], histogram, best);
    }
  }
}

void SketchSearch::ScoreSingles(Node const& node, std::uint8_t const* allowed,
                                PackedSum const* histogram, ScoredSplit* best) {
  auto const n = index_->NumSingles();
  auto const& sparse = index_->Sparse();
  auto const by = this->ScoringOf(node);
  // Lanes past the last single belong to other features.
  auto& penalties = this->OfThread().penalties;
  auto const n_full = n / kLanes * kLanes, n_padded = (n + kLanes - 1) / kLanes * kLanes;
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  penalties.assign(n_padded, 0.0f);
  std::fill(penalties.begin() + n, penalties.end(), kNever);
  for (std::size_t i = 0; allowed && i < n; ++i) {
    penalties[i] = allowed[sparse[i].feature] ? 0.0f : kNever;
  }
  LaneBest lanes;
  VisitWidth(width_, [&](auto width) {
    auto const n_plain = allowed ? 0 : n_full;
    XDCC_BEST_CLONE(ScanSingles<width>)(histogram, n_plain, nullptr, by, &lanes);
    LaneBest others;
    XDCC_BEST_CLONE(ScanSingles<width>)(histogram + n_plain * width, n_padded - n_plain,
                                        penalties.data() + n_plain, by, &others);
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (others.score[0][l] > lanes.score[0][l]) {
        lanes.score[0][l] = others.score[0][l];
        lanes.slot[0][l] = others.slot[0][l] + static_cast<std::int32_t>(n_plain);
      }
    }
  });
  for (std::size_t l = 0; l < kLanes; ++l) {
    if (!(lanes.score[0][l] > 0.0f)) {
      continue;
    }
    auto const& feature = sparse[lanes.slot[0][l] + l];
    auto const bin = index_->Bin(feature.begin);
    bool const below = feature.default_bin != SketchIndex::kMissing && feature.default_bin < bin;
    ScoredSplit of_slot{
        lanes.score[0][l], feature.feature, below ? feature.default_bin : bin, false, {}};
    if (of_slot.IsBetter(*best)) {
      for (std::size_t d = 0; d < width_; ++d) {
        auto const sum = histogram[lanes.slot[0][l] * width_ + d * kLanes + l];
        of_slot.left_sum[d] = below ? node.total[d] - sum : sum;
      }
      *best = of_slot;
    }
  }
}

void SketchSearch::ScoreList(Node const& node, SketchIndex::SparseFeature const& feature,
                             PackedSum const* histogram, ScoredSplit* best) {
  auto const by = this->ScoringOf(node);
  PackedSum others[kMaxDimensions];  // in the default bin, or missing
  std::copy_n(node.total, kMaxDimensions, others);
  // Of a feature's many slots few hold rows of a small node.
  auto& filled = this->OfThread().filled;
  std::size_t n_filled{0};
  VisitWidth(width_, [&](auto width) {
    filled.resize((feature.end - feature.begin) * (1 + width));
    for (auto slot = feature.begin; slot < feature.end; ++slot) {
      auto const* sums = histogram + slot / kLanes * kLanes * width + slot % kLanes;
      if (slot % kLanes == 0 && slot + kLanes <= feature.end) {
        PackedSum any{0};
        for (std::size_t i = 0; i < kLanes * width; ++i) {
          any |= sums[i];
        }
        if (any == 0) {
          slot += kLanes - 1;
          continue;
        }
      }
      auto* to = filled.data() + n_filled * (1 + width);
      to[0] = slot;
      PackedSum any{0};
      for (std::size_t d = 0; d < width; ++d) {
        to[1 + d] = sums[d * kLanes];
        others[d] -= to[1 + d];
        any |= to[1 + d];
      }
      n_filled += any != 0;
    }
  });
  bool const has_missing = feature.default_bin == SketchIndex::kMissing;
  auto scan = [&](bool default_left) {
    ScoredSplit of_feature;
    of_feature.feature = feature.feature;
    PackedSum left[kMaxDimensions]{};
    auto add = [&](PackedSum const* sums) {
      for (std::size_t d = 0; d < width_; ++d) {
        left[d] += sums[d];
      }
    };
    auto try_split = [&](bst_bin_t bin) {
      auto const score = ScoreSplit(left, width_, by);
      if (score > of_feature.score || (default_left && score == of_feature.score)) {
        of_feature = {score, feature.feature, bin, default_left, {}};
        std::copy_n(left, kMaxDimensions, of_feature.left_sum);
      }
    };
    bool others_added = has_missing;
    if (default_left) {
      add(others);
    }
    for (std::size_t i = 0; i < n_filled; ++i) {
      auto const* slot = filled.data() + i * (1 + width_);
      auto const bin = index_->Bin(slot[0]);
      if (bin > feature.default_bin && !std::exchange(others_added, true)) {
        add(others);
        try_split(feature.default_bin);
      }
      add(slot + 1);
      try_split(bin);
    }
    return of_feature;
  };
  auto of_feature = scan(false);
  if (has_missing) {
    auto const missing_left = scan(true);
    if (missing_left.score > of_feature.score) {
      of_feature = missing_left;
    }
  }
  if (of_feature.IsBetter(*best)) {
    *best = of_feature;
  }
}
}  // namespace xgboost::multilabel
