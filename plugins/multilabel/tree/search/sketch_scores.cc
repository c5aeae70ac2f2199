/**
 * @brief The search on few numbers per row: the best split of a node, by score.
 */
#include <algorithm>  // for any_of, copy_n, fill, fill_n, max, min
#include <array>      // for array
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t, uint64_t, uint8_t
#include <limits>     // for numeric_limits
#include <utility>    // for exchange, move
#include <vector>     // for vector

#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "sketch_search.h"

namespace xgboost::multilabel {
namespace {
/** @brief Copy a slot and its sums; return whether it holds rows. */
template <std::size_t kWidth>
bool CopySlot(PackedSum const* histogram, std::size_t slot, PackedSum* to) {
  constexpr auto kLanes = SketchIndex::kLanes;
  auto const* sums = histogram + slot / kLanes * kLanes * kWidth + slot % kLanes;
  to[0] = static_cast<PackedSum>(slot);
  PackedSum any{0};
  for (std::size_t d = 0; d < kWidth; ++d) {
    to[1 + d] = sums[d * kLanes];
    any |= to[1 + d];
  }
  return any != 0;
}
}  // namespace

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

template <std::size_t kWidth>
void SketchSearch::ScoreFilled(NodeScoring const& by, SketchIndex::SparseFeature const& feature,
                               std::vector<PackedSum> const& filled, std::size_t n_filled,
                               ScoredSplit* best) {
  using Sums = std::array<PackedSum, kWidth>;
  auto sums_of = [&](std::size_t i, std::size_t d) { return filled[i * (1 + kWidth) + 1 + d]; };
  Sums others;  // in the default bin, or missing
  std::copy_n(by.total, kWidth, others.begin());
  for (std::size_t i = 0; i < n_filled; ++i) {
    for (std::size_t d = 0; d < kWidth; ++d) {
      others[d] -= sums_of(i, d);
    }
  }
  if (feature.IsCategorical()) {
    this->ScoreCategories<kWidth>(by, feature, filled, n_filled, others.data(), best);
    return;
  }
  struct Found {
    float score{0.0f};
    bst_bin_t bin{0};
    Sums left{};
  };
  bool const has_missing = feature.default_bin == SketchIndex::kMissing;
  auto scan = [&](bool default_left) {
    Found found;
    Sums left{};
    auto add_others = [&] {
      for (std::size_t d = 0; d < kWidth; ++d) {
        left[d] += others[d];
      }
    };
    auto try_split = [&](bst_bin_t bin) {
      auto const score = ScoreSplit<kWidth>(left.data(), by);
      if (score > found.score || (default_left && score == found.score)) {
        found = {score, bin, left};
      }
    };
    bool others_added = has_missing;
    if (default_left) {
      add_others();
    }
    for (std::size_t i = 0; i < n_filled; ++i) {
      auto const bin = index_->Bin(filled[i * (1 + kWidth)]);
      if (bin > feature.default_bin && !std::exchange(others_added, true)) {
        add_others();
        try_split(feature.default_bin);
      }
      for (std::size_t d = 0; d < kWidth; ++d) {
        left[d] += sums_of(i, d);
      }
      try_split(bin);
    }
    return found;
  };
  auto found = scan(false);
  bool default_left{false};
  if (has_missing) {
    auto const missing_left = scan(true);
    default_left = missing_left.score > found.score;
    found = default_left ? missing_left : found;
  }
  ScoredSplit of_feature{found.score, feature.feature, found.bin, default_left, {}};
  if (of_feature.IsBetter(*best)) {
    std::copy_n(found.left.cbegin(), kWidth, of_feature.left_sum);
    *best = of_feature;
  }
}

template <std::size_t kWidth>
void SketchSearch::ScoreCategories(NodeScoring const& by, SketchIndex::SparseFeature const& feature,
                                   std::vector<PackedSum> const& filled, std::size_t n_filled,
                                   PackedSum const* others, ScoredSplit* best) {
  bool const has_default = feature.default_bin != SketchIndex::kMissing;
  auto& categories = this->OfThread().categories;
  categories.clear();
  auto add_default = [&] {
    if (std::any_of(others, others + kWidth, [](auto sum) { return sum != 0; })) {
      categories.push_back({feature.default_bin, others});
    }
  };
  bool is_added = !has_default;
  for (std::size_t i = 0; i < n_filled; ++i) {
    auto const* entry = filled.data() + i * (1 + kWidth);
    auto const code = index_->Bin(entry[0]);
    if (code > feature.default_bin && !std::exchange(is_added, true)) {
      add_default();
    }
    categories.push_back({code, entry + 1});
  }
  if (!is_added) {
    add_default();
  }
  double direction[kWidth]{-1.0};  // with one dimension: by the weight of a category
  for (std::size_t d = 0; kWidth > 1 && d < kWidth; ++d) {
    auto const factor = grad_unit_[d] / hess_unit_[d];
    auto const grad = static_cast<double>(by.total[d] >> 32);
    auto const hess = static_cast<double>(by.total[d] & 0xffffffff);
    direction[d] = factor * factor * grad / (hess + by.lambda[d]);
  }
  PackedSum const none[kWidth]{};
  SketchCategoryScan<kWidth> const found{
      category_rules_, by, direction, feature.n_categories, has_default ? none : others,
      &categories};
  ScoredSplit of_feature{found.Score(), feature.feature, 0, found.DefaultLeft(), {}};
  if (of_feature.IsBetter(*best)) {
    std::copy_n(found.LeftSum(), kWidth, of_feature.left_sum);
    of_feature.right_categories = found.RightCategories();
    *best = std::move(of_feature);
  }
}

void SketchSearch::ScoreSlots(Node const& node, std::uint8_t const* allowed,
                              PackedSum const* histogram, ScoredSplit* best) {
  auto const& sparse = index_->Sparse();
  if (index_->NumSingles() > 0) {
    this->ScoreSingles(node, allowed, histogram, best);
  }
  auto const begin = index_->NumSingles();
  if (begin == sparse.size()) {
    return;
  }
  auto const n_entries = static_cast<double>(node.NumRows()) * index_->StoredPerRow();
  if (!is_shared_ && n_entries < static_cast<double>(index_->NumSlots() - sparse[begin].begin)) {
    this->ScoreFewEntries(node, allowed, histogram, best);
    return;
  }
  for (auto at = begin; at < sparse.size(); ++at) {
    if (!allowed || allowed[sparse[at].feature]) {
      this->ScoreList(node, sparse[at], histogram, best);
    }
  }
}

void SketchSearch::ScoreFewEntries(Node const& node, std::uint8_t const* allowed,
                                   PackedSum const* histogram, ScoredSplit* best) {
  constexpr std::size_t kBits = std::numeric_limits<std::uint64_t>::digits;
  auto const& sparse = index_->Sparse();
  auto const begin = sparse[index_->NumSingles()].begin;
  auto const by = this->ScoringOf(node);
  auto& buffer = this->OfThread();
  buffer.has_rows.resize(index_->NumSlots() / kBits + 1, 0);
  auto const* row_ptr = index_->RowPtr();
  auto const* row_slots = index_->RowSlots();
  for (auto i = node.begin; i < node.end; ++i) {
    for (auto e = row_ptr[rows_[i]]; e < row_ptr[rows_[i] + 1]; ++e) {
      buffer.has_rows[row_slots[e] / kBits] |= std::uint64_t{1} << row_slots[e] % kBits;
    }
  }
  VisitWidth(width_, [&](auto width) {
    auto at = sparse.size();
    std::size_t n_filled{0};
    auto score = [&] {
      if (n_filled > 0 && (!allowed || allowed[sparse[at].feature])) {
        this->ScoreFilled<width>(by, sparse[at], buffer.filled, n_filled, best);
      }
    };
    for (std::size_t w = 0; w < buffer.has_rows.size(); ++w) {
      for (auto bits = std::exchange(buffer.has_rows[w], 0); bits != 0; bits &= bits - 1) {
        auto const slot = w * kBits + __builtin_ctzll(bits);
        if (slot < begin) {
          continue;
        }
        if (at == sparse.size() || slot >= sparse[at].end) {
          score();
          at = index_->PositionOf(slot);
          n_filled = 0;
          buffer.Reserve(sparse[at], width);
        }
        n_filled += CopySlot<width>(histogram, slot, buffer.filled.data() + n_filled * (1 + width));
      }
    }
    score();
  });
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
  auto& buffer = this->OfThread();
  std::size_t n_filled{0};
  VisitWidth(width_, [&](auto width) {
    buffer.Reserve(feature, width);
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
      n_filled += CopySlot<width>(histogram, slot, buffer.filled.data() + n_filled * (1 + width));
    }
    this->ScoreFilled<width>(by, feature, buffer.filled, n_filled, best);
  });
}
}  // namespace xgboost::multilabel
