/**
 * @brief The search on one to four numbers per row: a sketch, a label, or a small group of labels.
 *
 * These numbers are the *dimensions* of the sketch. A row's gradient and Hessian in a dimension are
 * integers, scaled by a power of two so that no sum of them exceeds 2^31, and packed into 64 bits,
 * the gradient in the upper half: one addition adds both. Sums are exact in any order, and the
 * rounding is 2^-31 of the sum of absolute values. Rows are in the order of nodes, their packed
 * gradients beside them.
 *
 * A node's histogram has eight lanes per slot, one for each feature of a block (`sketch_index.h`):
 * rows are added lane by lane, and scored eight features at a time without a shuffle across lanes.
 * Sparse features add up their stored rows only, and where a node has few, their slots are looked
 * up instead of all being read. Histograms of small nodes are filled and forgotten, and scored
 * without their empty slots.
 *
 * Workers scale their integers by sums over all rows, and add up their histograms, one message for
 * all nodes of a level. All else that they decide follows from these, and from the numbers of all
 * workers' rows: they grow the tree of one process, bit for bit.
 *
 * The score of a split,
 *
 *   sum_d  G_Ld^2 / (H_Ld + lambda) + G_Rd^2 / (H_Rd + lambda)
 *
 * over the dimensions d, is computed in single precision from exact sums, with the same operations
 * on every machine, and the largest one wins; of equal ones the feature with the lower index,
 * missing values on the right, then the lower value (the higher one with missing values on the
 * left). Its gain is computed in double precision. Trees differ by rounding from those of
 * `label_search.h`. Categories are split as `sketch_categories.h` says.
 */
#ifndef XDCC_MULTILABEL_SKETCH_SEARCH_H_
#define XDCC_MULTILABEL_SKETCH_SEARCH_H_

#include <algorithm>  // for max
#include <array>      // for array
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, int64_t, uint32_t, uint64_t, uint8_t
#include <map>        // for map
#include <memory>     // for shared_ptr, weak_ptr
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../../src/data/gradient_index.h"  // for GHistIndexMatrix
#include "../data/aligned_array.h"                // for AlignedArray, MemoryPool
#include "../data/sketch_index.h"                 // for SketchIndex
#include "node_plan.h"                            // for BlockTask, MemoryBudget, NodeJob
#include "sketch_categories.h"                    // for SketchCategory, SketchCategoryRules
#include "sketch_kernels.h"                       // for PackedSum, kMaxDimensions
#include "split_search.h"                         // for SplitSearch
#include "xgboost/base.h"                         // for GradientPair, bst_node_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/data.h"                         // for DMatrix
#include "xgboost/linalg.h"                       // for MatrixView
#include "xgboost/span.h"                         // for Span

namespace xgboost::multilabel {
class SketchSearch : public SplitSearch {
 public:
  /** @brief Whether the search supports these parameters and data, on all workers. */
  [[nodiscard]] static bool Supports(Context const* ctx, TreeRules const& rules,
                                     TreeData const& data);
  /** @brief Make the index of a matrix's bins, unless it is there, and return the bins. */
  std::shared_ptr<GHistIndexMatrix const> Index(Context const* ctx, TreeRules const& rules,
                                                DMatrix* p_fmat);
  /** @brief For the next tree, use the index of another search; the matrix is not read. */
  void UseIndexOf(SketchSearch const& other, std::shared_ptr<GHistIndexMatrix const> page) {
    whole_index_ = other.whole_index_;
    indexed_page_ = other.indexed_page_;
    given_page_ = std::move(page);
  }

  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override;
  [[nodiscard]] std::vector<double> RootSums() override;
  void Evaluate(std::vector<NodeRequest> const& requests) override;
  void Partition(RegTree const& tree, std::vector<AppliedSplit> const& applied) override;
  void End(common::Span<bst_node_t> out) override;
  [[nodiscard]] LeafSums SumOverLeaves(LabelGradients const& gradients) const override;

 private:
  static constexpr auto kLanes = SketchIndex::kLanes;
  static constexpr std::size_t kRun = 1024;  // rows that a thread takes at a time

  /** @brief The best split so far, by its score in single precision. */
  struct ScoredSplit {
    float score{0.0f};
    bst_feature_t feature{SketchIndex::kNoFeature};
    /** @brief The last bin on the left, counted from the feature's first. */
    bst_bin_t bin{0};
    bool default_left{false};
    PackedSum left_sum[kMaxDimensions]{};
    /** @brief A bit for each category that goes right; empty if the feature is a number. */
    std::vector<std::uint32_t> right_categories{};

    [[nodiscard]] bool IsBetter(ScoredSplit const& that) const {
      return score > that.score || (score == that.score && feature < that.feature);
    }
  };
  struct Node {
    std::size_t begin{0}, end{0};  // of its rows
    std::int64_t n_all_rows{0};    // on all workers
    bool is_leaf{false};
    PackedSum total[kMaxDimensions]{};
    /** @brief Dense blocks, then sparse slots; empty if it is not kept. */
    AlignedArray<PackedSum> histogram;
    /** @brief Its histogram over all workers, while it is evaluated; null if it is to be filled. */
    PackedSum const* summed{nullptr};
    ScoredSplit best;

    [[nodiscard]] std::size_t NumRows() const { return end - begin; }
  };
  struct Job : NodeJob {
    /** @brief For siblings: whether the larger one's histogram follows from the parent's. */
    bool from_parent{false};

    /** @brief Whether rows are added up for the k-th node. */
    [[nodiscard]] bool IsFilled(std::size_t k) const { return !from_parent || k == small; }
  };
  using Jobs = common::Span<Job const>;
  using Requests = std::vector<NodeRequest>;
  /** @brief By node of a job. */
  using JobBest = std::array<ScoredSplit, 2>;
  /** @brief The use of a block's histogram. */
  enum class Histogram : std::uint8_t {
    kKept,
    kCleared,     // all zero afterwards
    kToBeFilled,  // all zero before and afterwards: `IsFew`
  };
  /** @brief Some rows, in the order of nodes, of a node. */
  struct Piece {
    std::size_t of;  // of some nodes
    std::size_t begin, end;
    std::size_t n_left{0};

    [[nodiscard]] std::size_t NumRows() const { return end - begin; }
  };
  /** @brief A group of parts of a node's histogram, added up run by run of its rows. */
  struct SharedGroup {
    std::size_t first;   // value of the first run's sums
    std::size_t n_runs;  // as many sums, one after the other
  };
  /** @brief Working memory of a thread. */
  struct Buffer {
    AlignedArray<PackedSum> blocks;  // of a group; all zero between uses
    AlignedArray<PackedSum> slots;
    std::vector<float> penalties;
    std::vector<PackedSum> filled;  // slots with rows, and their sums
    std::vector<SketchCategory> categories;
    std::vector<std::uint8_t> marks;      // all zero between uses
    std::vector<std::uint64_t> has_rows;  // a bit for each slot; all zero between uses

    /** @brief Make sure that `filled` has a place for each slot of a feature. */
    void Reserve(SketchIndex::SparseFeature const& feature, std::size_t width) {
      filled.resize(std::max(filled.size(), (feature.end - feature.begin) * (1 + width)));
    }
  };

  // sketch_search.cc: the data, and histograms of nodes.

  /** @brief Choose what integers count: the same for any number of threads and workers. */
  void SetUnits(Regularisation const& reg, linalg::MatrixView<GradientPair const> gpair);
  /** @brief The same of the parameters for categories. */
  void SetCategoryRules(CategoryRules const& rules, TreeData const& data);
  /** @brief Put all rows into the root. */
  void SetRoot(linalg::MatrixView<GradientPair const> gpair);
  /** @brief Whether the histogram of a node is worth keeping. */
  [[nodiscard]] bool WorthKeeping(Node const& node) const;
  [[nodiscard]] std::vector<Job> MakeJobs(Requests const& requests);
  /** @brief Make room for a group of blocks in each thread. */
  void ReserveBuffers();
  /** @brief Add up a node's rows in a group of parts of its histogram, all zero before. */
  void FillParts(Node const& node, std::size_t begin, std::size_t end, PackedSum* out) const;
  /** @brief Add up rows in a group of blocks, or where these end in the sparse slots. */
  void FillRows(Piece const& rows, std::size_t begin, std::size_t end, PackedSum* out) const;
  void FillBlocks(Piece const& rows, std::size_t begin, std::size_t end, PackedSum* out) const;
  void FillSlots(Piece const& rows, PackedSum* out) const;
  /** @brief The nodes of some jobs whose rows are added up. */
  [[nodiscard]] static std::vector<bst_node_t> FilledNodes(Jobs jobs, Requests const& requests);
  /** @brief Let several threads add up the rows of each large node. */
  void ShareNodes(Jobs jobs, Requests const& requests);
  /** @brief Add up rows for some jobs, and the results over workers. */
  void SumJobsOverWorkers(Jobs jobs, Requests const& requests);
  /** @brief Gain of a node's best split, and the sums of its left child. */
  void Finish(NodeRequest const& request, bst_bin_t next);

  // sketch_scores.cc: the best split by score.

  /** @brief Find the best splits of some jobs' nodes. */
  void Search(Jobs jobs, Requests const& requests);
  void SearchParts(BlockTask const& task, Job const& job, Requests const& requests, JobBest* best);
  void ScoreBlock(Node const& node, std::size_t block, std::uint8_t const* allowed, Histogram kind,
                  PackedSum* histogram, ScoredSplit* best) const;
  /** @brief Score the sparse features. */
  void ScoreSlots(Node const& node, std::uint8_t const* allowed, PackedSum const* histogram,
                  ScoredSplit* best);
  /** @brief Score the sparse features with a single slot. */
  void ScoreSingles(Node const& node, std::uint8_t const* allowed, PackedSum const* histogram,
                    ScoredSplit* best);
  /** @brief Score the others in a node that has few of their slots: these are looked up. */
  void ScoreFewEntries(Node const& node, std::uint8_t const* allowed, PackedSum const* histogram,
                       ScoredSplit* best);
  void ScoreList(Node const& node, SketchIndex::SparseFeature const& feature,
                 PackedSum const* histogram, ScoredSplit* best);
  /** @brief Score a feature by its slots that hold rows: `Buffer::filled`. */
  template <std::size_t kWidth>
  void ScoreFilled(NodeScoring const& by, SketchIndex::SparseFeature const& feature,
                   std::vector<PackedSum> const& filled, std::size_t n_filled, ScoredSplit* best);
  /** @brief The same for a categorical feature. */
  template <std::size_t kWidth>
  void ScoreCategories(NodeScoring const& by, SketchIndex::SparseFeature const& feature,
                       std::vector<PackedSum> const& filled, std::size_t n_filled,
                       PackedSum const* others, ScoredSplit* best);

  // sketch_partition.cc: which rows are on which side of a split.

  /** @brief Divide the rows of nodes: pieces of large ones, and whole small ones. */
  [[nodiscard]] std::vector<Piece> MakePieces(std::vector<bst_node_t> const& nodes) const;
  /** @brief Call `fn(i, goes_left)` for some of a node's rows, in their order. */
  template <typename Fn>
  void ForEachSide(Node const& node, Piece const& piece, Fn&& fn);
  template <typename Fn>
  void ForEachCategorySide(ScoredSplit const& split, SketchIndex::SparseFeature const& feature,
                           Piece const& piece, Fn&& fn) const;
  /**
   * @brief Partition some of a node's rows.
   *
   * Those on the right go to the end of the piece in `spare_rows_`, in reverse order.
   *
   * @param rows,packed Where those on the left go, at the beginning of the piece.
   */
  void PartitionPiece(Node const& node, std::uint32_t* rows, PackedSum* packed, Piece* piece);
  /** @brief Take a piece's rows on the right back, in their order. */
  void TakeRight(Piece const& piece, std::size_t to);
  /** @brief The lowest bin above the best split's that holds some of the node's rows. */
  [[nodiscard]] bst_bin_t NextBin(Node const& node, Piece const& piece) const;
  /** @brief That of each node whose missing values go left, on all workers. */
  [[nodiscard]] std::vector<bst_bin_t> NextBins(Requests const& requests) const;

  [[nodiscard]] bool IsActive(std::size_t i) const {
    for (std::size_t d = 0; d < width_; ++d) {
      if (packed_[i * width_ + d] != 0) {
        return true;
      }
    }
    return false;
  }
  /** @brief A histogram's parts: blocks, and behind them the sparse slots if there are any. */
  [[nodiscard]] std::size_t NumParts() const {
    return index_->Blocks().size() + (index_->NumSlots() > 0);
  }
  [[nodiscard]] std::size_t PartBegin(std::size_t part) const {
    auto const& blocks = index_->Blocks();
    auto const slot = part < blocks.size() ? blocks[part].first_slot : index_->NumBlockSlots();
    return slot * width_ * kLanes;
  }
  [[nodiscard]] std::size_t PartSize(std::size_t part) const {
    auto const& blocks = index_->Blocks();
    auto const n_slots =
        part < blocks.size() ? blocks[part].n_slots : (index_->NumSlots() + kLanes - 1) / kLanes;
    return n_slots * width_ * kLanes;
  }
  /** @brief Size of the parts [begin, end). */
  [[nodiscard]] std::size_t PartsSize(std::size_t begin, std::size_t end) const {
    return this->PartBegin(end - 1) + this->PartSize(end - 1) - this->PartBegin(begin);
  }
  [[nodiscard]] std::size_t HistogramSize() const {
    return this->PartsSize(0, index_->Blocks().size() + 1);
  }
  /** @brief The first of the parts that may be filled together with one: blocks of a chunk. */
  [[nodiscard]] std::size_t GroupBegin(std::size_t part) const;
  /** @brief End of the parts from `part` on that are filled together. */
  [[nodiscard]] std::size_t GroupEnd(std::size_t part, std::size_t end) const;
  /** @brief Whether a node has so few rows that a histogram of its own would be nearly empty. */
  [[nodiscard]] bool IsFew(Node const& node) const;
  [[nodiscard]] NodeScoring ScoringOf(Node const& node) const {
    return {node.total, scaled_lambda_, weight_, floor_};
  }

  [[nodiscard]] double Grad(PackedSum sum, std::size_t d) const {
    return static_cast<double>(sum >> 32) * grad_unit_[d];
  }
  [[nodiscard]] double Hess(PackedSum sum, std::size_t d) const {
    return static_cast<double>(sum & 0xffffffff) * hess_unit_[d];
  }
  /** @brief Gradients, then Hessians. [2 * n_dims] */
  [[nodiscard]] std::vector<double> Unpack(PackedSum const* sums) const;
  /** @brief Score of a node, in double precision. */
  [[nodiscard]] double ScoreOf(PackedSum const* sums) const;
  /** @brief Threads of this search only: others may search at the same time. */
  [[nodiscard]] Buffer& OfThread() { return buffers_[omp_get_thread_num()]; }

  Context const* ctx_{nullptr};
  std::int32_t n_threads_{1};
  /** @brief Whether rows are distributed over workers. */
  bool is_shared_{false};
  /** @brief While a tree grows. */
  std::shared_ptr<GHistIndexMatrix const> page_;
  std::shared_ptr<GHistIndexMatrix const> given_page_;
  std::weak_ptr<GHistIndexMatrix const> indexed_page_;
  std::shared_ptr<SketchIndex const> whole_index_;
  /** @brief The same with a tree's columns only. */
  SketchIndex columns_index_;
  /** @brief One of these: the one that the tree uses. */
  SketchIndex const* index_{nullptr};

  std::size_t width_{1};  // dimensions, up to 1, 2 or 4
  std::size_t n_dims_{1};
  SketchCategoryRules category_rules_;
  double lambda_{0.0};
  double grad_unit_[kMaxDimensions]{}, hess_unit_[kMaxDimensions]{};  // what an integer counts
  /** @brief By dimension: lambda in units of the Hessian, and the factor of its part of a score. */
  float scaled_lambda_[kMaxDimensions]{}, weight_[kMaxDimensions]{};
  /** @brief Minimum of a child's Hessian and lambda, in the same units. */
  float floor_{0.0f};

  std::vector<Node> nodes_;                // by node index
  std::vector<std::uint32_t> rows_;        // in the order of nodes
  std::vector<PackedSum> packed_;          // gradients beside them. [n_rows, width]
  std::vector<std::uint32_t> spare_rows_;  // while nodes are partitioned
  std::vector<PackedSum> spare_packed_;
  MemoryPool<PackedSum> spare_;
  MemoryBudget budget_;
  /** @brief Histograms to be added up over workers. */
  AlignedArray<PackedSum> message_;
  std::vector<Buffer> buffers_;  // one per thread
  /** @brief By node and the first part of a group. */
  std::map<std::pair<bst_node_t, std::size_t>, SharedGroup> shared_;
  AlignedArray<PackedSum> shared_sums_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_SEARCH_H_
