/**
 * @brief The search on few numbers per row: which rows are on which side of a split.
 */
#include <algorithm>  // for any_of, copy_n, lower_bound, max, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int64_t, uint32_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "../../../../src/collective/allreduce.h"    // for Allreduce, Op
#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../../../../src/tree/sample_position.h"    // for SamplePosition
#include "../../reductions.h"                        // for SumOverWorkers
#include "sketch_search.h"
#include "xgboost/tree_model.h"  // for RegTree

namespace xgboost::multilabel {
std::vector<double> SketchSearch::RootSums() { return this->Unpack(nodes_[RegTree::kRoot].total); }

template <typename Fn>
void SketchSearch::ForEachSide(Node const& node, Fn&& fn) {
  auto const& best = node.best;
  auto const place = index_->PlaceOf(best.feature);
  if (place.kind == SketchIndex::Kind::kDense) {
    auto const b = place.at / kLanes;
    auto const& block = index_->Blocks()[b];
    auto const stride = index_->Stride(b);
    // With missing values on the right, slot 0 wraps around to the largest number.
    std::uint32_t const from = block.has_missing && !best.default_left;
    auto const last = static_cast<std::uint32_t>(best.bin) + block.has_missing - from;
    index_->VisitSlotType([&](auto slot) {
      auto const* slots = index_->Slots<decltype(slot)>(b) + place.at % kLanes;
      for (auto i = node.begin; i < node.end; ++i) {
        fn(i, slots[rows_[i] * stride] - from <= last);
      }
    });
    return;
  }
  auto const& feature = index_->Sparse()[place.at];
  bool const others_left = feature.default_bin == SketchIndex::kMissing
                               ? best.default_left
                               : feature.default_bin <= best.bin;
  // The slots whose rows go to the other side than the rows that are not stored.
  auto begin = feature.begin, end = feature.end;
  auto middle = begin;
  while (middle < feature.end && index_->Bin(middle) <= best.bin) {
    ++middle;
  }
  (others_left ? begin : end) = middle;
  auto const *slot_ptr = index_->SlotPtr(), *row_ptr = index_->RowPtr();
  auto const n_stored = slot_ptr[end] - slot_ptr[begin];
  if (n_stored > 16 * node.NumRows()) {
    for (auto i = node.begin; i < node.end; ++i) {
      auto const* row_end = index_->RowSlots() + row_ptr[rows_[i] + 1];
      auto const* slot = std::lower_bound(index_->RowSlots() + row_ptr[rows_[i]], row_end, begin);
      fn(i, (slot != row_end && *slot < end) != others_left);
    }
    return;
  }
  auto& marks = this->OfThread().marks;
  marks.resize(index_->NumRows(), 0);
  auto const* stored = index_->SlotRows();
  for (auto e = slot_ptr[begin]; e < slot_ptr[end]; ++e) {
    marks[stored[e]] = 1;
  }
  for (auto i = node.begin; i < node.end; ++i) {
    fn(i, static_cast<bool>(marks[rows_[i]]) != others_left);
  }
  for (auto e = slot_ptr[begin]; e < slot_ptr[end]; ++e) {
    marks[stored[e]] = 0;
  }
}

void SketchSearch::Partition(RegTree const&, std::vector<AppliedSplit> const& applied) {
  for (auto const& split : applied) {
    auto const n = static_cast<std::size_t>(std::max(split.left, split.right)) + 1;
    if (nodes_.size() < n) {
      nodes_.resize(n);
    }
  }
  std::vector<std::int64_t> n_left(applied.size());  // on all workers
  common::ParallelFor(applied.size(), n_threads_, common::Sched::Dyn(1), [&](auto a) {
    auto& node = nodes_[applied[a].nid];
    auto& buffer = this->OfThread();
    if (buffer.rows.size() < node.NumRows()) {
      buffer.rows.resize(node.NumRows());
    }
    buffer.packed.resize(std::max(buffer.packed.size(), node.NumRows() * width_));
    auto left = node.begin;
    std::size_t right{0};
    VisitWidth(width_, [&](auto width) {
      constexpr std::size_t kWidth = width;
      this->ForEachSide(node, [&](std::size_t i, bool goes_left) {
        // Both are written; the next row overwrites the wrong one.
        auto const row = rows_[i];
        rows_[left] = row;
        buffer.rows[right] = row;
        for (std::size_t d = 0; d < kWidth; ++d) {
          auto const packed = packed_[i * kWidth + d];
          packed_[left * kWidth + d] = packed;
          buffer.packed[right * kWidth + d] = packed;
        }
        left += goes_left;
        right += !goes_left;
      });
    });
    std::copy_n(buffer.rows.cbegin(), right, rows_.begin() + left);
    std::copy_n(buffer.packed.cbegin(), right * width_, packed_.begin() + left * width_);
    auto &l = nodes_[applied[a].left], &r = nodes_[applied[a].right];
    l.begin = node.begin;
    l.end = r.begin = left;
    r.end = node.end;
    for (std::size_t d = 0; d < width_; ++d) {
      l.total[d] = node.best.left_sum[d];
      r.total[d] = node.total[d] - node.best.left_sum[d];
    }
    n_left[a] = static_cast<std::int64_t>(l.NumRows());
    node.is_leaf = false;
    l.is_leaf = r.is_leaf = true;
  });
  SumOverWorkers(ctx_, &n_left);
  for (std::size_t a = 0; a < applied.size(); ++a) {
    nodes_[applied[a].left].n_all_rows = n_left[a];
    nodes_[applied[a].right].n_all_rows = nodes_[applied[a].nid].n_all_rows - n_left[a];
  }
}

bst_bin_t SketchSearch::NextBin(Node const& node) const {
  auto const& best = node.best;
  auto const place = index_->PlaceOf(best.feature);
  auto next = std::numeric_limits<bst_bin_t>::max();
  if (place.kind == SketchIndex::Kind::kDense) {
    auto const b = place.at / kLanes;
    auto const stride = index_->Stride(b);
    bst_bin_t const offset = index_->Blocks()[b].has_missing;
    index_->VisitSlotType([&](auto slot) {
      auto const* slots = index_->Slots<decltype(slot)>(b) + place.at % kLanes;
      for (auto i = node.begin; i < node.end; ++i) {
        auto const bin = static_cast<bst_bin_t>(slots[rows_[i] * stride]) - offset;
        next = bin > best.bin && this->IsActive(i) ? std::min(next, bin) : next;
      }
    });
    return next;
  }
  auto const& feature = index_->Sparse()[place.at];
  auto const* row_ptr = index_->RowPtr();
  for (auto i = node.begin; i < node.end; ++i) {
    for (auto e = row_ptr[rows_[i]]; e < row_ptr[rows_[i] + 1]; ++e) {
      auto const slot = index_->RowSlots()[e];
      if (slot >= feature.begin && slot < feature.end && index_->Bin(slot) > best.bin &&
          this->IsActive(i)) {
        next = std::min(next, index_->Bin(slot));
      }
    }
  }
  return next;
}

std::vector<bst_bin_t> SketchSearch::NextBins(Requests const& requests) const {
  auto const n = requests.size();
  std::vector<bst_bin_t> next(n, std::numeric_limits<bst_bin_t>::max());
  auto needs = [&](auto const& request) { return nodes_[request.nid].best.default_left; };
  common::ParallelFor(n, n_threads_, common::Sched::Dyn(1), [&](auto i) {
    if (needs(requests[i])) {
      next[i] = this->NextBin(nodes_[requests[i].nid]);
    }
  });
  if (is_shared_ && std::any_of(requests.cbegin(), requests.cend(), needs)) {
    collective::SafeColl(
        collective::Allreduce(ctx_, linalg::MakeVec(next.data(), n), collective::Op::kMin));
  }
  return next;
}

void SketchSearch::End(common::Span<bst_node_t> out) {
  page_.reset();
  for (std::size_t nid = 0; nid < nodes_.size(); ++nid) {
    for (auto i = nodes_[nid].begin; nodes_[nid].is_leaf && i < nodes_[nid].end; ++i) {
      out[rows_[i]] = tree::SamplePosition::Encode(static_cast<bst_node_t>(nid), this->IsActive(i));
    }
  }
}

LeafSums SketchSearch::SumOverLeaves(LabelGradients const& gradients) const {
  LeafSums out;
  std::vector<std::vector<common::Span<std::uint32_t const>>> rows;
  for (std::size_t nid = 0; nid < nodes_.size(); ++nid) {
    auto const& node = nodes_[nid];
    if (node.is_leaf) {
      out.leaves.push_back(static_cast<bst_node_t>(nid));
      rows.push_back({{rows_.data() + node.begin, node.NumRows()}});
    }
  }
  out.sums = SumLeaves(ctx_, gradients, rows);
  return out;
}
}  // namespace xgboost::multilabel
