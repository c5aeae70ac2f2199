/**
 * @brief The search on few numbers per row: which rows are on which side of a split.
 */
#include <algorithm>  // for copy_n, lower_bound, max, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int64_t, uint32_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "../../../../src/collective/allreduce.h"    // for Allreduce, Op
#include "../../../../src/common/categorical.h"      // for KCatBitField
#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../../../../src/tree/sample_position.h"    // for SamplePosition
#include "../../reductions.h"                        // for SumOverWorkers
#include "sketch_search.h"
#include "xgboost/tree_model.h"  // for RegTree

namespace xgboost::multilabel {
std::vector<double> SketchSearch::RootSums() { return this->Unpack(nodes_[RegTree::kRoot].total); }

template <typename Fn>
void SketchSearch::ForEachSide(Node const& node, Piece const& piece, Fn&& fn) {
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
      for (auto i = piece.begin; i < piece.end; ++i) {
        fn(i, slots[rows_[i] * stride] - from <= last);
      }
    });
    return;
  }
  auto const& feature = index_->Sparse()[place.at];
  if (feature.IsCategorical()) {
    this->ForEachCategorySide(best, feature, piece, fn);
    return;
  }
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
  if (n_stored > 16 * piece.NumRows()) {
    for (auto i = piece.begin; i < piece.end; ++i) {
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
  for (auto i = piece.begin; i < piece.end; ++i) {
    fn(i, static_cast<bool>(marks[rows_[i]]) != others_left);
  }
  for (auto e = slot_ptr[begin]; e < slot_ptr[end]; ++e) {
    marks[stored[e]] = 0;
  }
}

template <typename Fn>
void SketchSearch::ForEachCategorySide(ScoredSplit const& split,
                                       SketchIndex::SparseFeature const& feature,
                                       Piece const& piece, Fn&& fn) const {
  common::KCatBitField const right{common::Span{split.right_categories}};
  std::vector<std::uint8_t> slot_left;
  for (auto slot = feature.begin; slot < feature.end; ++slot) {
    slot_left.push_back(!right.Check(index_->Bin(slot)));
  }
  slot_left.push_back(feature.default_bin == SketchIndex::kMissing
                          ? split.default_left
                          : !right.Check(feature.default_bin));
  auto const* slots = index_->Column(feature);
  for (auto i = piece.begin; i < piece.end; ++i) {
    fn(i, slot_left[slots[rows_[i]]] != 0);
  }
}

std::vector<SketchSearch::Piece> SketchSearch::MakePieces(
    std::vector<bst_node_t> const& nodes) const {
  constexpr std::size_t kPiece = std::size_t{1} << 11;  // rows
  std::vector<Piece> pieces;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    auto const& node = nodes_[nodes[k]];
    auto const n_rows = node.NumRows();
    auto const n = n_threads_ == 1 ? 1 : std::max<std::size_t>(1, n_rows / kPiece);
    for (std::size_t p = 0; p < n; ++p) {
      pieces.push_back({k, node.begin + n_rows * p / n, node.begin + n_rows * (p + 1) / n});
    }
  }
  return pieces;
}

void SketchSearch::PartitionPiece(Node const& node, std::uint32_t* rows, PackedSum* packed,
                                  Piece* piece) {
  auto left = piece->begin, right = piece->end;
  VisitWidth(width_, [&](auto width) {
    constexpr std::size_t kWidth = width;
    this->ForEachSide(node, *piece, [&](std::size_t i, bool goes_left) {
      // Both are written; the next row overwrites the wrong one.
      auto const row = rows_[i];
      spare_rows_[right - 1] = row;
      rows[left] = row;
      for (std::size_t d = 0; d < kWidth; ++d) {
        auto const sum = packed_[i * kWidth + d];
        spare_packed_[(right - 1) * kWidth + d] = sum;
        packed[left * kWidth + d] = sum;
      }
      left += goes_left;
      right -= !goes_left;
    });
  });
  piece->n_left = left - piece->begin;
}

void SketchSearch::TakeRight(Piece const& piece, std::size_t to) {
  for (auto from = piece.end; from > piece.begin + piece.n_left; ++to) {
    --from;
    rows_[to] = spare_rows_[from];
    for (std::size_t d = 0; d < width_; ++d) {
      packed_[to * width_ + d] = spare_packed_[from * width_ + d];
    }
  }
}

void SketchSearch::Partition(RegTree const&, std::vector<AppliedSplit> const& applied) {
  std::vector<bst_node_t> parents;
  for (auto const& split : applied) {
    parents.push_back(split.nid);
    auto const n = static_cast<std::size_t>(std::max(split.left, split.right)) + 1;
    if (nodes_.size() < n) {
      nodes_.resize(n);
    }
  }
  spare_rows_.resize(rows_.size());
  spare_packed_.resize(packed_.size());
  auto pieces = this->MakePieces(parents);
  auto is_whole = [&](Piece const& piece) {
    return piece.NumRows() == nodes_[parents[piece.of]].NumRows();
  };
  common::ParallelFor(pieces.size(), n_threads_, common::Sched::Dyn(1), [&](auto p) {
    auto* piece = &pieces[p];
    auto const& node = nodes_[parents[piece->of]];
    if (is_whole(*piece)) {
      this->PartitionPiece(node, rows_.data(), packed_.data(), piece);
      this->TakeRight(*piece, piece->begin + piece->n_left);
    } else {
      this->PartitionPiece(node, spare_rows_.data(), spare_packed_.data(), piece);
    }
  });
  std::vector<std::int64_t> n_left(applied.size());
  for (auto const& piece : pieces) {
    n_left[piece.of] += static_cast<std::int64_t>(piece.n_left);
  }
  struct Move {
    Piece const* piece;
    std::size_t left, right;  // where its rows go
  };
  std::vector<Move> moves;
  std::size_t left{0};
  for (auto const& piece : pieces) {
    auto const& node = nodes_[parents[piece.of]];
    if (piece.begin == node.begin) {
      left = node.begin;
    }
    if (!is_whole(piece)) {
      auto const n_before = piece.begin - left;  // on the right
      moves.push_back({&piece, left, node.begin + n_left[piece.of] + n_before});
    }
    left += piece.n_left;
  }
  common::ParallelFor(moves.size(), n_threads_, common::Sched::Dyn(1), [&](auto m) {
    auto const& [piece, to_left, to_right] = moves[m];
    std::copy_n(spare_rows_.cbegin() + piece->begin, piece->n_left, rows_.begin() + to_left);
    std::copy_n(spare_packed_.cbegin() + piece->begin * width_, piece->n_left * width_,
                packed_.begin() + to_left * width_);
    this->TakeRight(*piece, to_right);
  });
  for (std::size_t a = 0; a < applied.size(); ++a) {
    auto& node = nodes_[applied[a].nid];
    auto &l = nodes_[applied[a].left], &r = nodes_[applied[a].right];
    l.begin = node.begin;
    l.end = r.begin = node.begin + n_left[a];
    r.end = node.end;
    for (std::size_t d = 0; d < width_; ++d) {
      l.total[d] = node.best.left_sum[d];
      r.total[d] = node.total[d] - node.best.left_sum[d];
    }
    node.is_leaf = false;
    l.is_leaf = r.is_leaf = true;
  }
  SumOverWorkers(ctx_, &n_left);  // from here on of all workers
  for (std::size_t a = 0; a < applied.size(); ++a) {
    nodes_[applied[a].left].n_all_rows = n_left[a];
    nodes_[applied[a].right].n_all_rows = nodes_[applied[a].nid].n_all_rows - n_left[a];
  }
}

bst_bin_t SketchSearch::NextBin(Node const& node, Piece const& piece) const {
  auto const& best = node.best;
  auto const place = index_->PlaceOf(best.feature);
  auto next = std::numeric_limits<bst_bin_t>::max();
  if (place.kind == SketchIndex::Kind::kDense) {
    auto const b = place.at / kLanes;
    auto const stride = index_->Stride(b);
    bst_bin_t const offset = index_->Blocks()[b].has_missing;
    index_->VisitSlotType([&](auto slot) {
      auto const* slots = index_->Slots<decltype(slot)>(b) + place.at % kLanes;
      for (auto i = piece.begin; i < piece.end; ++i) {
        auto const bin = static_cast<bst_bin_t>(slots[rows_[i] * stride]) - offset;
        next = bin > best.bin && this->IsActive(i) ? std::min(next, bin) : next;
      }
    });
    return next;
  }
  auto const& feature = index_->Sparse()[place.at];
  auto const* row_ptr = index_->RowPtr();
  for (auto i = piece.begin; i < piece.end; ++i) {
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
  std::vector<bst_bin_t> next(requests.size(), std::numeric_limits<bst_bin_t>::max());
  std::vector<bst_node_t> nodes;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto const& best = nodes_[requests[i].nid].best;
    if (best.default_left && best.right_categories.empty()) {
      nodes.push_back(requests[i].nid);
      numbers.push_back(i);
    }
  }
  if (nodes.empty()) {  // on all workers
    return next;
  }
  auto const pieces = this->MakePieces(nodes);
  std::vector<bst_bin_t> of_pieces(pieces.size());
  common::ParallelFor(pieces.size(), n_threads_, common::Sched::Dyn(1), [&](auto p) {
    of_pieces[p] = this->NextBin(nodes_[nodes[pieces[p].of]], pieces[p]);
  });
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    auto& of_node = next[numbers[pieces[p].of]];
    of_node = std::min(of_node, of_pieces[p]);
  }
  if (is_shared_) {
    collective::SafeColl(collective::Allreduce(ctx_, linalg::MakeVec(next.data(), next.size()),
                                               collective::Op::kMin));
  }
  return next;
}

void SketchSearch::End(common::Span<bst_node_t> out) {
  page_.reset();
  std::vector<bst_node_t> leaves;
  for (std::size_t nid = 0; nid < nodes_.size(); ++nid) {
    if (nodes_[nid].is_leaf) {
      leaves.push_back(static_cast<bst_node_t>(nid));
    }
  }
  auto const pieces = this->MakePieces(leaves);
  common::ParallelFor(pieces.size(), n_threads_, common::Sched::Dyn(1), [&](auto p) {
    auto const nid = leaves[pieces[p].of];
    for (auto i = pieces[p].begin; i < pieces[p].end; ++i) {
      out[rows_[i]] = tree::SamplePosition::Encode(nid, this->IsActive(i));
    }
  });
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
