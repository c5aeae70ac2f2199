/**
 * @brief Lays out a page for searches on directions; see `direction_index.h`.
 */
#include "direction_index.h"

#include <algorithm>  // for count_if, fill, fill_n, max, max_element, sort
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
#include <cstring>    // for memcpy
#include <numeric>    // for accumulate, partial_sum
#include <tuple>      // for make_tuple
#include <vector>     // for vector

#include "../../../../src/collective/aggregator.h"   // for GlobalSum, SafeColl
#include "../../../../src/common/hist_util.h"        // for DispatchBinType
#include "../../../../src/common/threading_utils.h"  // for ParallelFor
#include "xgboost/base.h"                            // for bst_bin_t, bst_feature_t
#include "xgboost/context.h"                         // for Context
#include "xgboost/linalg.h"                          // for MakeVec

namespace xgboost::multilabel {
DirectionIndex::DirectionIndex(Context const* ctx, GHistIndexMatrix const& page)
    : n_rows_{page.Size()}, places_(page.Features()) {
  this->Classify(ctx, page);
  common::DispatchBinType(page.index.GetBinTypeSize(), [&](auto t) {
    using BinT = decltype(t);
    if (is_wide_) {
      this->ReadRows<BinT, std::uint16_t>(ctx, page);
    } else {
      this->ReadRows<BinT, std::uint8_t>(ctx, page);
    }
  });
}

void DirectionIndex::Classify(Context const* ctx, GHistIndexMatrix const& page) {
  auto const& ptrs = page.cut.Ptrs();
  // Rows by bin, then all rows. Workers take the same ways.
  std::vector<std::int64_t> counts(page.hit_count.cbegin(), page.hit_count.cend());
  counts.push_back(static_cast<std::int64_t>(n_rows_));
  collective::SafeColl(collective::GlobalSum(ctx, linalg::MakeVec(counts.data(), counts.size())));
  auto const n_rows = counts.back();
  struct DenseFeature {
    bst_feature_t feature;
    bool has_missing;
    std::uint32_t n_bins;
  };
  std::vector<DenseFeature> dense;
  std::vector<SparseFeature> lists;
  slot_of_bin_.assign(page.cut.TotalBins(), -1);
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
    // What a dense feature costs is that its bins are scored with those of seven others.
    if (n_bins == 1 && n_stored <= n_rows / 2) {
      sparse_.push_back(as_sparse);
    } else if (n_stored <= n_rows / 10) {
      lists.push_back(as_sparse);
    } else {
      dense.push_back({f, n_present < n_rows, static_cast<std::uint32_t>(end - begin)});
    }
  }
  n_singles_ = sparse_.size();
  sparse_.insert(sparse_.cend(), lists.cbegin(), lists.cend());
  slot_ptr_.push_back(0);
  for (std::size_t i = 0; i < sparse_.size(); ++i) {
    auto& feature = sparse_[i];
    places_[feature.feature] = {Kind::kSparse, static_cast<std::uint32_t>(i)};
    feature.begin = static_cast<std::uint32_t>(slot_bin_.size());
    for (auto bin = ptrs[feature.feature]; bin < ptrs[feature.feature + 1]; ++bin) {
      auto const within = static_cast<bst_bin_t>(bin - ptrs[feature.feature]);
      if (within != feature.default_bin && counts[bin] > 0) {
        slot_of_bin_[bin] = static_cast<std::int32_t>(slot_bin_.size());
        slot_bin_.push_back(within);
        slot_ptr_.push_back(slot_ptr_.back() + page.hit_count[bin]);
      }
    }
    feature.end = static_cast<std::uint32_t>(slot_bin_.size());
  }

  // Features with as many bins share a block.
  std::sort(dense.begin(), dense.end(), [](auto const& l, auto const& r) {
    return std::make_tuple(l.has_missing, l.n_bins, l.feature) <
           std::make_tuple(r.has_missing, r.n_bins, r.feature);
  });
  for (std::size_t i = 0; i < dense.size(); ++i) {
    if (blocks_.empty() || i % kLanes == 0) {
      blocks_.emplace_back();
      std::fill_n(blocks_.back().features, kLanes, bst_feature_t{kNoFeature});
    }
    auto& block = blocks_.back();
    block.features[i % kLanes] = dense[i].feature;
    block.has_missing = block.has_missing || dense[i].has_missing;
    block.n_slots = std::max(block.n_slots, dense[i].n_bins);
    places_[dense[i].feature] = {Kind::kDense, static_cast<std::uint32_t>(i)};
  }
  for (auto& block : blocks_) {
    block.n_slots += block.has_missing;
    block.first_slot = n_block_slots_;
    n_block_slots_ += block.n_slots;
    is_wide_ = is_wide_ || block.n_slots > 256;
  }
}

template <typename BinT, typename SlotT>
void DirectionIndex::ReadRows(Context const* ctx, GHistIndexMatrix const& page) {
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
  if (sparse_.empty()) {
    return;
  }
  slot_rows_.resize(slot_ptr_.back());
  row_slots_.resize(slot_ptr_.back());
  row_ptr_.assign(n_rows_ + 1, 0);
  auto next = slot_ptr_;
  auto store = [&](std::size_t row, std::uint32_t bin) {
    if (auto const slot = slot_of_bin_[bin]; slot >= 0) {
      slot_rows_[next[slot]++] = static_cast<std::uint32_t>(row);
      ++row_ptr_[row + 1];
    }
  };
  if (is_dense && sizeof(BinT) == 1) {
    // Nearly all bins are those that are not stored: eight are passed over at a time.
    constexpr std::size_t kTogether = sizeof(std::uint64_t);
    auto const n_words = page.Features() / kTogether;
    std::vector<std::uint64_t> others(n_words), stored(n_words);
    std::vector<bst_feature_t> rest;
    for (auto f : in_slots) {
      if (f >= n_words * kTogether) {
        rest.push_back(f);
        continue;
      }
      reinterpret_cast<std::uint8_t*>(others.data())[f] =
          static_cast<std::uint8_t>(sparse_[places_[f].at].default_bin);
      reinterpret_cast<std::uint8_t*>(stored.data())[f] = 0xff;
    }
    for (std::size_t i = 0; i < n_rows_; ++i) {
      auto const* bins = index + i * page.Features();
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
      for_each(i, rest, [&](auto, auto bin) { store(i, bin); });
    }
  } else {
    for (std::size_t i = 0; i < n_rows_; ++i) {
      for_each(i, in_slots, [&](auto, auto bin) { store(i, bin); });
    }
  }
  std::partial_sum(row_ptr_.cbegin(), row_ptr_.cend(), row_ptr_.begin());
  next.assign(row_ptr_.cbegin(), row_ptr_.cend());
  for (std::size_t slot = 0; slot < slot_bin_.size(); ++slot) {
    for (auto e = slot_ptr_[slot]; e < slot_ptr_[slot + 1]; ++e) {
      row_slots_[next[slot_rows_[e]]++] = static_cast<std::uint32_t>(slot);
    }
  }
}
}  // namespace xgboost::multilabel
