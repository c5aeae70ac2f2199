/**
 * @brief Lays out a page for `sketch_search.h`; see `sketch_index.h`.
 */
#include "sketch_index.h"

#include <algorithm>  // for any_of, count_if, fill, fill_n, max, max_element, min, sort
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
#include <cstring>    // for memcpy
#include <numeric>    // for accumulate, partial_sum
#include <tuple>      // for make_tuple
#include <utility>    // for exchange
#include <vector>     // for vector

#include "../../../../src/common/categorical.h"      // for IsCat
#include "../../../../src/common/hist_util.h"        // for DispatchBinType
#include "../../../../src/common/threading_utils.h"  // for ParallelFor
#include "../../reductions.h"                        // for ForEachRun, SumOverWorkers
#include "xgboost/base.h"                            // for bst_bin_t, bst_feature_t
#include "xgboost/context.h"                         // for Context

namespace xgboost::multilabel {
SketchIndex::SketchIndex(Context const* ctx, GHistIndexMatrix const& page,
                         common::Span<FeatureType const> types)
    : n_rows_{page.Size()}, places_(page.Features()) {
  this->Classify(ctx, page, types);
  common::DispatchBinType(page.index.GetBinTypeSize(), [&](auto t) {
    this->VisitSlotType([&](auto slot) { this->ReadRows<decltype(t), decltype(slot)>(ctx, page); });
  });
}

void SketchIndex::Classify(Context const* ctx, GHistIndexMatrix const& page,
                           common::Span<FeatureType const> types) {
  auto const& ptrs = page.cut.Ptrs();
  // Rows by bin, then all rows. Workers classify features alike.
  std::vector<std::int64_t> counts(page.hit_count.cbegin(), page.hit_count.cend());
  counts.push_back(static_cast<std::int64_t>(n_rows_));
  SumOverWorkers(ctx, &counts);
  auto const n_rows = counts.back();
  struct DenseFeature {
    bst_feature_t feature;
    bool has_missing;
    std::uint32_t n_bins;
  };
  std::vector<DenseFeature> dense;
  std::vector<SparseFeature> lists;
  lists_->slot_of_bin.assign(page.cut.TotalBins(), -1);
  for (bst_feature_t f = 0; f < page.Features(); ++f) {
    auto const begin = counts.cbegin() + ptrs[f], end = counts.cbegin() + ptrs[f + 1];
    auto const n_present = std::accumulate(begin, end, std::int64_t{0});
    std::size_t n_bins = std::count_if(begin, end, [](auto n) { return n > 0; });
    if (n_present == 0 || (n_present == n_rows && n_bins == 1)) {
      continue;
    }
    SparseFeature as_sparse{f, 0, 0, kMissing};
    auto n_stored = n_present;
    if (n_present == n_rows) {
      auto const largest = std::max_element(begin, end);
      as_sparse.default_bin = static_cast<bst_bin_t>(largest - begin);
      n_stored -= *largest;
      --n_bins;
    }
    // The cost of a dense feature is that its bins are scored together with those of seven others.
    if (common::IsCat(types, f)) {
      as_sparse.n_categories = static_cast<std::uint32_t>(end - begin);
      lists.push_back(as_sparse);
    } else if (n_bins == 1 && n_stored <= n_rows / 2) {
      lists_->features.push_back(as_sparse);
    } else if (n_stored <= n_rows / 10) {
      lists.push_back(as_sparse);
    } else {
      dense.push_back({f, n_present < n_rows, static_cast<std::uint32_t>(end - begin)});
    }
  }
  lists_->n_singles = lists_->features.size();
  lists_->features.insert(lists_->features.cend(), lists.cbegin(), lists.cend());
  lists_->slot_ptr.push_back(0);
  std::uint32_t n_columns{0};
  for (std::size_t i = 0; i < lists_->features.size(); ++i) {
    auto& feature = lists_->features[i];
    places_[feature.feature] = {Kind::kSparse, static_cast<std::uint32_t>(i)};
    feature.begin = static_cast<std::uint32_t>(lists_->slot_bin.size());
    feature.column = feature.IsCategorical() ? n_columns++ : 0;
    for (auto bin = ptrs[feature.feature]; bin < ptrs[feature.feature + 1]; ++bin) {
      auto const within = static_cast<bst_bin_t>(bin - ptrs[feature.feature]);
      if (within != feature.default_bin && counts[bin] > 0) {
        lists_->slot_of_bin[bin] = static_cast<std::int32_t>(lists_->slot_bin.size());
        lists_->slot_bin.push_back(within);
        lists_->slot_at.push_back(static_cast<std::uint32_t>(i));
        lists_->slot_ptr.push_back(lists_->slot_ptr.back() + page.hit_count[bin]);
      }
    }
    feature.end = static_cast<std::uint32_t>(lists_->slot_bin.size());
  }

  // Features with as many bins share a block.
  std::sort(dense.begin(), dense.end(), [](auto const& l, auto const& r) {
    return std::make_tuple(l.has_missing, l.n_bins, l.feature) <
           std::make_tuple(r.has_missing, r.n_bins, r.feature);
  });
  for (std::size_t i = 0; i < dense.size(); ++i) {
    this->AddToBlocks(i, dense[i].feature, dense[i].has_missing, dense[i].n_bins);
  }
  this->EndBlocks();
  is_wide_ = std::any_of(blocks_.cbegin(), blocks_.cend(),
                         [](auto const& block) { return block.n_slots > 256; });
}

void SketchIndex::AddToBlocks(std::size_t at, bst_feature_t feature, bool has_missing,
                              std::uint32_t n_bins) {
  if (at % kLanes == 0) {
    blocks_.emplace_back();
    std::fill_n(blocks_.back().features, kLanes, bst_feature_t{kNoFeature});
  }
  auto& block = blocks_.back();
  block.features[at % kLanes] = feature;
  block.has_missing = block.has_missing || has_missing;
  block.n_slots = std::max(block.n_slots, n_bins);
  places_[feature] = {Kind::kDense, static_cast<std::uint32_t>(at)};
}

void SketchIndex::EndBlocks() {
  n_block_slots_ = 0;
  for (auto& block : blocks_) {
    block.n_slots += block.has_missing;
    block.first_slot = n_block_slots_;
    n_block_slots_ += block.n_slots;
  }
}

void SketchIndex::TakeBlocks(Context const* ctx, SketchIndex const& that,
                             std::vector<std::uint8_t> const& allowed) {
  n_rows_ = that.n_rows_;
  lists_ = that.lists_;
  is_wide_ = that.is_wide_;
  places_ = that.places_;
  blocks_.clear();
  std::vector<std::uint32_t> kept;  // places in the other index
  for (std::uint32_t at = 0; at < that.blocks_.size() * kLanes; ++at) {
    auto const& from = that.blocks_[at / kLanes];
    auto const f = from.features[at % kLanes];
    if (f == kNoFeature) {
      continue;
    }
    if (!allowed[f]) {
      places_[f] = {};
      continue;
    }
    this->AddToBlocks(kept.size(), f, from.has_missing, from.n_slots - from.has_missing);
    kept.push_back(at);
  }
  this->EndBlocks();
  this->VisitSlotType([&](auto type) {
    using SlotT = decltype(type);
    constexpr std::size_t kRun = 256;  // rows that a thread takes at a time
    bins_.Resize(blocks_.size() * kLanes * n_rows_ * sizeof(SlotT));
    ForEachRun(n_rows_, kRun, ctx->Threads(), [&](auto, auto begin, auto end) {
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        SlotT const* from[kLanes];
        std::size_t strides[kLanes];
        SlotT shift[kLanes];
        auto const n_lanes = std::min(kLanes, kept.size() - b * kLanes);
        for (std::size_t l = 0; l < kLanes; ++l) {  // a lane without a feature is like the first
          auto const at = kept[b * kLanes + (l < n_lanes ? l : 0)];
          from[l] = that.Slots<SlotT>(at / kLanes) + at % kLanes;
          strides[l] = that.Stride(at / kLanes);
          shift[l] = blocks_[b].has_missing - that.blocks_[at / kLanes].has_missing;
        }
        auto* to = const_cast<SlotT*>(this->Slots<SlotT>(b));
        auto const stride = this->Stride(b);
        for (auto i = begin; i < end; ++i) {
          for (std::size_t l = 0; l < kLanes; ++l) {
            to[i * stride + l] = static_cast<SlotT>(from[l][i * strides[l]] + shift[l]);
          }
        }
      }
    });
  });
}

template <typename BinT, typename SlotT>
void SketchIndex::ReadRows(Context const* ctx, GHistIndexMatrix const& page) {
  auto const& ptrs = page.cut.Ptrs();
  auto const* index = page.index.data<BinT>();
  bool const is_dense = page.IsDense();
  bins_.Assign(blocks_.size() * kLanes * n_rows_ * sizeof(SlotT), 0);
  std::vector<bst_feature_t> feature_of_bin;
  if (!is_dense) {
    feature_of_bin.resize(page.cut.TotalBins());
    for (bst_feature_t f = 0; f < page.Features(); ++f) {
      std::fill(feature_of_bin.begin() + ptrs[f], feature_of_bin.begin() + ptrs[f + 1], f);
    }
  }
  std::vector<bst_feature_t> in_blocks, in_slots;
  std::vector<SlotT*> lanes(page.Features(), nullptr);
  std::vector<std::size_t> strides(page.Features(), 0);
  std::vector<std::uint32_t> firsts(page.Features(), 0);
  for (bst_feature_t f = 0; f < page.Features(); ++f) {
    if (places_[f].kind == Kind::kSparse) {
      in_slots.push_back(f);
    } else if (places_[f].kind == Kind::kDense) {
      auto const b = places_[f].at / kLanes;
      in_blocks.push_back(f);
      lanes[f] = const_cast<SlotT*>(this->Slots<SlotT>(b)) + places_[f].at % kLanes;
      strides[f] = this->Stride(b);
      firsts[f] = ptrs[f] - blocks_[b].has_missing;
    }
  }
  /** Call fn(feature, bin) for a row's entries of some features, or, if sparse, for all. */
  auto for_each = [&](std::size_t row, std::vector<bst_feature_t> const& features, auto&& fn) {
    if (is_dense) {
      auto const* bins = index + row * page.Features();
      for (auto f : features) {
        fn(f, ptrs[f] + bins[f]);
      }
    } else {
      for (auto e = page.row_ptr[row]; e < page.row_ptr[row + 1]; ++e) {
        fn(feature_of_bin[index[e]], static_cast<std::uint32_t>(index[e]));
      }
    }
  };
  common::ParallelFor(blocks_.empty() ? 0 : n_rows_, ctx->Threads(), [&](auto i) {
    for_each(i, in_blocks, [&](auto f, auto bin) {
      if (lanes[f]) {
        lanes[f][i * strides[f]] = static_cast<SlotT>(bin - firsts[f]);
      }
    });
  });
  if (lists_->features.empty()) {
    return;
  }
  // Each thread reads a run of rows; where its rows begin in a slot's list follows from the counts.
  struct Entry {
    std::uint32_t row, slot;
  };
  auto const n_slots = lists_->slot_bin.size();
  std::size_t const n_runs =
      std::min<std::size_t>(ctx->Threads(), std::max<std::size_t>(n_rows_, 1));
  auto begin_of = [&](std::size_t run) { return n_rows_ * run / n_runs; };
  std::vector<std::vector<Entry>> entries(n_runs);
  std::vector<std::vector<std::size_t>> next(n_runs, std::vector<std::size_t>(n_slots, 0));
  lists_->row_ptr.assign(n_rows_ + 1, 0);
  // Nearly all bins are those that are not stored: eight are skipped at a time.
  constexpr std::size_t kTogether = sizeof(std::uint64_t);
  bool const is_narrow = is_dense && sizeof(BinT) == 1;
  auto const n_words = is_narrow ? page.Features() / kTogether : 0;
  std::vector<std::uint64_t> others(n_words), stored(n_words);
  std::vector<bst_feature_t> last;
  for (auto f : in_slots) {
    if (f >= n_words * kTogether) {
      last.push_back(f);
      continue;
    }
    reinterpret_cast<std::uint8_t*>(others.data())[f] =
        static_cast<std::uint8_t>(lists_->features[places_[f].at].default_bin);
    reinterpret_cast<std::uint8_t*>(stored.data())[f] = 0xff;
  }
  common::ParallelFor(n_runs, ctx->Threads(), [&](auto run) {
    auto* found = &entries[run];
    auto store = [&](std::size_t row, std::uint32_t bin) {
      if (auto const slot = lists_->slot_of_bin[bin]; slot >= 0) {
        found->push_back({static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(slot)});
        ++next[run][slot];
      }
    };
    for (auto i = begin_of(run); i < begin_of(run + 1); ++i) {
      auto const n_before = found->size();
      auto const* bins = index + (is_narrow ? i * page.Features() : 0);
      for (std::size_t w = 0; w < n_words; ++w) {
        std::uint64_t word;
        std::memcpy(&word, bins + w * kTogether, sizeof(word));
        if (((word ^ others[w]) & stored[w]) == 0) {
          continue;
        }
        for (auto f = w * kTogether; f < (w + 1) * kTogether; ++f) {
          store(i, ptrs[f] + bins[f]);
        }
      }
      for_each(i, last, [&](auto, auto bin) { store(i, bin); });
      lists_->row_ptr[i + 1] = found->size() - n_before;
    }
  });
  std::partial_sum(lists_->row_ptr.cbegin(), lists_->row_ptr.cend(), lists_->row_ptr.begin());
  for (std::size_t slot = 0; slot < n_slots; ++slot) {
    auto begin = lists_->slot_ptr[slot];
    for (auto& of_run : next) {
      begin += std::exchange(of_run[slot], begin);
    }
  }
  lists_->slot_rows.resize(lists_->slot_ptr.back());
  lists_->row_slots.resize(lists_->slot_ptr.back());
  for (auto const& feature : lists_->features) {
    if (feature.IsCategorical()) {
      lists_->columns.resize(lists_->columns.size() + n_rows_, feature.end - feature.begin);
    }
  }
  common::ParallelFor(n_runs, ctx->Threads(), [&](auto run) {
    auto const first_of_slot = next[run];
    for (auto const& entry : entries[run]) {
      lists_->slot_rows[next[run][entry.slot]++] = entry.row;
      auto const& feature = lists_->features[lists_->slot_at[entry.slot]];
      if (feature.IsCategorical()) {
        lists_->columns[feature.column * n_rows_ + entry.row] = entry.slot - feature.begin;
      }
    }
    // By ascending slot.
    std::vector<std::size_t> to(lists_->row_ptr.cbegin() + begin_of(run),
                                lists_->row_ptr.cbegin() + begin_of(run + 1));
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
      for (auto e = first_of_slot[slot]; e < next[run][slot]; ++e) {
        lists_->row_slots[to[lists_->slot_rows[e] - begin_of(run)]++] =
            static_cast<std::uint32_t>(slot);
      }
    }
  });
}
}  // namespace xgboost::multilabel
