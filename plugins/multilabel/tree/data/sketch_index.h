/**
 * @brief The bins of a page, laid out for a search on one to four numbers per row.
 *
 * A feature is stored in one of two ways, or not at all if it cannot split:
 *
 * - *Dense*: eight features share a *block*, and a row's eight bins of a block are contiguous.
 *   Eight blocks make a chunk, in which a row's bins fill a cache line or two: a node's rows are
 *   read without waste, however few they are. Where features of a block miss values, slot 0 of
 *   each is for these and bin b is slot b + 1; elsewhere bin b is slot b.
 * - *Sparse*: where most rows share one bin, or miss the feature, only the others are stored. Each
 *   bin that they occur in is a *slot*; a row has a list of slots, a slot a list of rows. Features
 *   with a single slot come first: they offer one split, and their slots are scored side by side.
 *   Categorical features are always stored so, a slot for each category: few of many categories
 *   have rows in a small node.
 */
#ifndef XDCC_MULTILABEL_SKETCH_INDEX_H_
#define XDCC_MULTILABEL_SKETCH_INDEX_H_

#include <algorithm>  // for max
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint16_t, uint32_t, uint8_t
#include <limits>     // for numeric_limits
#include <memory>     // for make_shared, shared_ptr
#include <vector>     // for vector

#include "../../../../src/data/gradient_index.h"  // for GHistIndexMatrix
#include "aligned_array.h"                        // for AlignedArray
#include "xgboost/base.h"                         // for bst_bin_t, bst_feature_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/data.h"                         // for FeatureType
#include "xgboost/span.h"                         // for Span

namespace xgboost::multilabel {
class SketchIndex {
 public:
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kChunkBlocks = 8;
  static constexpr bst_feature_t kNoFeature = std::numeric_limits<bst_feature_t>::max();

  enum class Kind : std::uint8_t { kNone, kDense, kSparse };
  /** @brief Where a feature is. */
  struct Place {
    Kind kind{Kind::kNone};
    /** @brief Dense: block * kLanes + lane. Sparse: position among the sparse features. */
    std::uint32_t at{0};
  };
  /** @brief Eight features. */
  struct Block {
    /** @brief Number of slots of the feature with most. */
    std::uint32_t n_slots{0};
    bool has_missing{false};
    /** @brief `kNoFeature` where there are fewer. */
    bst_feature_t features[kLanes];
    /** @brief Position of its histogram among those of all blocks, counted in slots. */
    std::size_t first_slot{0};
  };
  /** @brief A feature of which few rows are stored: its slots [begin, end), by ascending bin. */
  struct SparseFeature {
    bst_feature_t feature;
    std::uint32_t begin, end;
    /** @brief The bin of the other rows; `kMissing` if these miss the feature. */
    bst_bin_t default_bin;
    /** @brief 0: the feature is a number. */
    std::uint32_t n_categories{0};

    /** @brief Number of a categorical feature among the categorical ones. */
    std::uint32_t column{0};

    [[nodiscard]] bool IsCategorical() const { return n_categories > 0; }
  };
  static constexpr bst_bin_t kMissing = -1;

  SketchIndex() = default;
  /** @param types Types of the features; empty: all are numbers. */
  SketchIndex(Context const* ctx, GHistIndexMatrix const& page,
              common::Span<FeatureType const> types);
  /**
   * @brief Become another index with fewer features in blocks; lists are shared.
   *
   * @param allowed By feature: whether a dense one is kept.
   */
  void TakeBlocks(Context const* ctx, SketchIndex const& that,
                  std::vector<std::uint8_t> const& allowed);

  [[nodiscard]] std::size_t NumRows() const { return n_rows_; }
  [[nodiscard]] Place const& PlaceOf(bst_feature_t f) const { return places_[f]; }

  [[nodiscard]] std::vector<Block> const& Blocks() const { return blocks_; }
  /** @brief Number of slots of all blocks. */
  [[nodiscard]] std::size_t NumBlockSlots() const { return n_block_slots_; }
  /** @brief Call `fn` with a number of the type of dense features' slots: one byte, or two. */
  template <typename Fn>
  void VisitSlotType(Fn&& fn) const {
    if (is_wide_) {
      fn(std::uint16_t{});
    } else {
      fn(std::uint8_t{});
    }
  }
  /** @brief A block's slots of row 0; those of row i are `Stride(block)` * i further on. */
  template <typename SlotT>
  [[nodiscard]] SlotT const* Slots(std::size_t block) const {
    auto const chunk = block / kChunkBlocks;
    return reinterpret_cast<SlotT const*>(bins_.Data()) +
           (chunk * kChunkBlocks * n_rows_ + block % kChunkBlocks) * kLanes;
  }
  [[nodiscard]] std::size_t Stride(std::size_t block) const {
    auto const begin = block / kChunkBlocks * kChunkBlocks;
    return kLanes * (blocks_.size() - begin < kChunkBlocks ? blocks_.size() - begin : kChunkBlocks);
  }

  [[nodiscard]] std::vector<SparseFeature> const& Sparse() const { return lists_->features; }
  /** @brief Number of slots of all sparse features, and of those that have one slot. */
  [[nodiscard]] std::size_t NumSlots() const { return lists_->slot_bin.size(); }
  [[nodiscard]] std::size_t NumSingles() const { return lists_->n_singles; }
  /** @brief Mean number of a row's stored slots. */
  [[nodiscard]] double StoredPerRow() const {
    return static_cast<double>(lists_->row_slots.size()) /
           static_cast<double>(std::max<std::size_t>(1, n_rows_));
  }
  /** @brief Position of a slot's feature among the sparse ones. */
  [[nodiscard]] std::uint32_t PositionOf(std::size_t slot) const { return lists_->slot_at[slot]; }
  /** @brief Bin of a slot, counted from the feature's first. */
  [[nodiscard]] bst_bin_t Bin(std::size_t slot) const { return lists_->slot_bin[slot]; }
  /** @brief A row's slots are [RowSlots()[RowPtr()[row]], RowSlots()[RowPtr()[row + 1]]). */
  [[nodiscard]] std::size_t const* RowPtr() const { return lists_->row_ptr.data(); }
  [[nodiscard]] std::uint32_t const* RowSlots() const { return lists_->row_slots.data(); }
  [[nodiscard]] std::size_t const* SlotPtr() const { return lists_->slot_ptr.data(); }
  [[nodiscard]] std::uint32_t const* SlotRows() const { return lists_->slot_rows.data(); }
  /** @brief By row: the slot of a categorical feature, counted from its first; its number of slots
   * where the row has none. */
  [[nodiscard]] std::uint32_t const* Column(SparseFeature const& feature) const {
    return lists_->columns.data() + feature.column * n_rows_;
  }

 private:
  /** @brief The features of which few rows are stored. */
  struct Lists {
    std::vector<SparseFeature> features;
    std::size_t n_singles{0};
    std::vector<bst_bin_t> slot_bin;
    std::vector<std::uint32_t> slot_at;     // position of the slot's feature
    std::vector<std::int32_t> slot_of_bin;  // by bin of the page; -1: not stored
    std::vector<std::size_t> row_ptr, slot_ptr;
    std::vector<std::uint32_t> row_slots, slot_rows;
    std::vector<std::uint32_t> columns;  // of categorical features
  };

  void Classify(Context const* ctx, GHistIndexMatrix const& page,
                common::Span<FeatureType const> types);
  template <typename BinT, typename SlotT>
  void ReadRows(Context const* ctx, GHistIndexMatrix const& page);
  /** @brief Give a dense feature the place `at`, the next one. */
  void AddToBlocks(std::size_t at, bst_feature_t feature, bool has_missing, std::uint32_t n_bins);
  /** @brief Count the slots of blocks that have all their features. */
  void EndBlocks();

  std::size_t n_rows_{0};
  std::vector<Place> places_;  // by feature
  std::vector<Block> blocks_;
  std::size_t n_block_slots_{0};
  bool is_wide_{false};
  AlignedArray<std::uint8_t> bins_;  // or two bytes each

  std::shared_ptr<Lists> lists_{std::make_shared<Lists>()};
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_INDEX_H_
