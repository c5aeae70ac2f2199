/**
 * @brief Finds the splits of a tree on one, two or four numbers per row: a label, or a sketch.
 *
 * A row's gradient and Hessian in a direction are integers, scaled by a power of two so that no sum
 * of them exceeds 2^31, and packed into one word of 64 bits, the gradient above: one addition adds
 * both, sums are exact in any order, and the rounding is 2^-31 of the sum of absolute values. Rows
 * stand in the order of nodes, their words beside them.
 *
 * A node's histogram has eight lanes per slot, one for each feature of a block
 * (`direction_index.h`): rows are added lane by lane, and scored eight features at a time without a
 * shuffle across lanes. Sparse features add up their stored rows only. Of two siblings the smaller
 * one is added up, and the larger one is what is left of their parent; small nodes are added up and
 * forgotten, and scored without their empty slots.
 *
 * Workers scale their integers by sums over all rows, and add up their histograms, one message for
 * all nodes of a level. All else that they decide follows from these, and from the numbers of all
 * workers' rows: they grow the tree of one process, bit for bit.
 *
 * A split's score, of the labels' directions d,
 *
 *   sum_d  G_Ld^2 / (H_Ld + lambda) + G_Rd^2 / (H_Rd + lambda)
 *
 * is computed in single precision from exact sums, with the same operations on every machine, and
 * the largest one wins; of equal ones the feature with the lower index, missing values on the
 * right, then the lower value (the higher one with missing values on the left). Its gain is
 * computed in double precision.
 */
#ifndef XDCC_MULTILABEL_DIRECTION_SEARCH_H_
#define XDCC_MULTILABEL_DIRECTION_SEARCH_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t, int64_t, uint32_t, uint8_t
#include <map>      // for map
#include <vector>   // for vector

#include "../../../../src/common/hist_util.h"  // for HistogramCuts
#include "../data/aligned_array.h"             // for AlignedArray
#include "../data/direction_index.h"           // for DirectionIndex
#include "evaluator.h"                         // for Split
#include "xgboost/base.h"                      // for GradientPair, bst_node_t
#include "xgboost/context.h"                   // for Context
#include "xgboost/linalg.h"                    // for MatrixView
#include "xgboost/span.h"                      // for Span

namespace xgboost::multilabel {
class DirectionSearch {
 public:
  static constexpr std::size_t kMaxDirections = 4;

  struct Param {
    double lambda;
    /** @brief What a child's Hessian must reach; 0 unless there is a single direction. */
    double min_child_weight;
    /** @brief Limit on histograms that are kept for the sake of siblings. */
    std::size_t max_bytes;
  };
  /** @brief A node to evaluate. */
  struct Request {
    bst_node_t nid;
    /** @brief `RegTree::kInvalidNodeId` for the root. */
    bst_node_t parent;
    /** @brief By feature: whether the node may be split on it; null: on all. */
    std::uint8_t const* allowed;
    /** @brief Whether its children may be evaluated. */
    bool goes_on;
    Split* split;
    /** @brief Set to the sums of the left child, gradients then Hessians. [2 * n_directions] */
    std::vector<double>* left_sums;
  };

  /**
   * @brief Begin a tree.
   *
   * @param index     Must live as long as the tree is grown.
   * @param gpair     At most `kMaxDirections` numbers. [n_rows, n_directions]
   */
  void Reset(Context const* ctx, DirectionIndex const* index,
             linalg::MatrixView<GradientPair const> gpair, Param const& param);
  /** @brief Sums over a node's rows, gradients then Hessians. [2 * n_directions] */
  [[nodiscard]] std::vector<double> Sums(bst_node_t nid) const;
  /**
   * @brief Find the best split of each node.
   *
   * @param requests The root, or pairs of siblings, the left one first.
   */
  void Evaluate(common::HistogramCuts const& cuts, std::vector<Request> const& requests);
  /** @brief A node that is split as `Evaluate` found best. */
  struct Applied {
    bst_node_t nid, left, right;
  };
  /** @brief Send the rows of nodes to their children. */
  void Partition(std::vector<Applied> const& applied);

  /** @brief Global indices of a node's rows, ascending. */
  [[nodiscard]] common::Span<std::uint32_t const> Rows(bst_node_t nid) const {
    return {rows_.data() + nodes_[nid].begin, nodes_[nid].end - nodes_[nid].begin};
  }
  /** @brief Call `fn(leaf, row, active)` for each row; active: whether it carries a gradient. */
  template <typename Fn>
  void ForEachRow(Fn&& fn) const {
    for (std::size_t nid = 0; nid < nodes_.size(); ++nid) {
      if (nodes_[nid].is_leaf) {
        for (auto i = nodes_[nid].begin; i < nodes_[nid].end; ++i) {
          fn(static_cast<bst_node_t>(nid), rows_[i], this->IsActive(i));
        }
      }
    }
  }
  [[nodiscard]] bool IsLeaf(bst_node_t nid) const { return nodes_[nid].is_leaf; }
  [[nodiscard]] std::size_t NumNodes() const { return nodes_.size(); }

 private:
  using Words = std::int64_t;

  /** @brief The best split so far, by its score in single precision. */
  struct Best {
    float score{0.0f};
    bst_feature_t feature{DirectionIndex::kNoFeature};
    /** @brief The last bin on the left, counted from the feature's first. */
    bst_bin_t bin{0};
    bool default_left{false};
    /** @brief Sums of the rows that go left. */
    Words left[kMaxDirections]{};

    /** @brief Whether this one is to be preferred. */
    [[nodiscard]] bool Beats(Best const& that) const {
      return score > that.score || (score == that.score && feature < that.feature);
    }
  };
  struct Node {
    std::size_t begin{0}, end{0};  // of its rows
    std::int64_t n_all_rows{0};    // on all workers
    bool is_leaf{false};
    Words total[kMaxDirections]{};
    /** @brief Dense blocks, then sparse slots; empty if it is not kept. */
    AlignedArray<Words> histogram;
    /** @brief Its histogram over all workers, while it is evaluated; null if it is to be made. */
    Words const* summed{nullptr};
    Best best;

    [[nodiscard]] std::size_t NumRows() const { return end - begin; }
  };
  /** @brief One node, or two siblings. */
  struct Job {
    std::size_t begin, n_nodes;  // among the requests
    bool from_parent{false};     // siblings: the larger one by subtraction
    std::size_t small{0};        // of siblings

    /** @brief Whether rows are added up for the k-th node. */
    [[nodiscard]] bool IsFilled(std::size_t k) const { return !from_parent || k == small; }
  };
  /** @brief A job on some parts of histograms. */
  struct Task {
    std::size_t job, block_begin, block_end;
  };
  [[nodiscard]] bool IsActive(std::size_t i) const {
    for (std::size_t d = 0; d < width_; ++d) {
      if (words_[i * width_ + d] != 0) {
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
    return slot * width_ * DirectionIndex::kLanes;
  }
  [[nodiscard]] std::size_t PartSize(std::size_t part) const {
    constexpr auto kLanes = DirectionIndex::kLanes;
    auto const& blocks = index_->Blocks();
    auto const n_slots =
        part < blocks.size() ? blocks[part].n_slots : (index_->NumSlots() + kLanes - 1) / kLanes;
    return n_slots * width_ * kLanes;
  }
  [[nodiscard]] std::size_t PartEnd(std::size_t part) const {
    return this->PartBegin(part) + this->PartSize(part);
  }
  [[nodiscard]] std::size_t HistogramSize() const { return this->PartEnd(index_->Blocks().size()); }
  /** @brief End of the parts from `part` on that are filled together: blocks of a chunk. */
  [[nodiscard]] std::size_t GroupEnd(std::size_t part, std::size_t end) const;
  /** @brief Whether a node has so few rows that a histogram of its own would be nearly empty. */
  [[nodiscard]] bool IsFew(Node const& node) const;

  /** @brief Choose what integers count: the same for any number of threads and workers. */
  void SetUnits(linalg::MatrixView<GradientPair const> gpair);
  /** @brief Put all rows into the root. */
  void SetRoot(linalg::MatrixView<GradientPair const> gpair);
  /** @brief Whether histograms of a node are worth being kept. */
  [[nodiscard]] bool WorthKeeping(Node const& node) const;
  void MakeJobs(std::vector<Request> const& requests, std::vector<Job>* jobs);
  /** @brief Find the best splits of some jobs' nodes. */
  void Search(common::Span<Job const> jobs, std::vector<Request> const& requests);
  void Work(Task const& task, Job const& job, std::vector<Request> const& requests, Best* best);
  /** @brief Add up a node's rows in a group of parts of its histogram, all zero before. */
  void FillParts(Node const& node, std::size_t begin, std::size_t end, Words* out) const;
  void FillBlocks(Node const& node, std::size_t begin, std::size_t end, Words* out) const;
  /** @brief Add up the stored slots of rows [begin, end), in the order of nodes. */
  void FillSlots(std::size_t begin, std::size_t end, Words* out) const;
  /** @brief Let all threads add up the stored slots of large nodes. */
  void ShareSlots(common::Span<Job const> jobs, std::vector<Request> const& requests);
  /** @brief Add up rows for some jobs, and the results over workers. */
  void SumOverWorkers(common::Span<Job const> jobs, std::vector<Request> const& requests);
  /** @brief What becomes of a block's histogram. */
  enum class Histogram : std::uint8_t {
    kKept,
    kCleared,   // all zero afterwards
    kToBeMade,  // all zero before and afterwards: `IsFew`
  };
  void ScoreBlock(Node const& node, std::size_t block, std::uint8_t const* allowed, Histogram kind,
                  Words* histogram, Best* best) const;
  void ScoreSlots(Node const& node, std::uint8_t const* allowed, Words const* histogram,
                  Best* best);
  void ScoreList(Node const& node, DirectionIndex::SparseFeature const& feature,
                 Words const* histogram, Best* best);
  /** @brief The lowest bin above the best split's that holds rows of the node. */
  [[nodiscard]] bst_bin_t NextBin(Node const& node) const;
  /** @brief That of each node whose missing values go left, on all workers. */
  [[nodiscard]] std::vector<bst_bin_t> NextBins(std::vector<Request> const& requests) const;
  /** @brief What a node gains by its best split, and the sums of its left child. */
  void Finish(common::HistogramCuts const& cuts, Request const& request, bst_bin_t next);
  /** @brief Call `fn(i, goes_left)` for each of a node's rows, in their order. */
  template <typename Fn>
  void ForEachSide(Node const& node, Fn&& fn);
  [[nodiscard]] double Score(Words const* sums) const;
  [[nodiscard]] double Grad(Words sum, std::size_t d) const {
    return static_cast<double>(sum >> 32) * grad_unit_[d];
  }
  [[nodiscard]] double Hess(Words sum, std::size_t d) const {
    return static_cast<double>(sum & 0xffffffff) * hess_unit_[d];
  }

  Context const* ctx_{nullptr};
  std::int32_t n_threads_{1};
  /** @brief Whether rows are shared out among workers. */
  bool is_shared_{false};
  DirectionIndex const* index_{nullptr};
  std::size_t width_{1};  // directions, up to 1, 2 or 4
  std::size_t n_directions_{1};
  Param param_{};
  double grad_unit_[kMaxDirections]{}, hess_unit_[kMaxDirections]{};  // what an integer counts
  /** @brief By direction: lambda in units of the Hessian, and the factor of its part of a score. */
  float scaled_lambda_[kMaxDirections]{}, weight_[kMaxDirections]{};
  /** @brief What a child's Hessian and lambda must reach, in the same units. */
  float floor_{0.0f};
  std::size_t kept_bytes_{0};

  std::vector<Node> nodes_;          // by node index
  std::vector<std::uint32_t> rows_;  // in the order of nodes
  std::vector<Words> words_;         // beside them. [n_rows, width]
  std::vector<AlignedArray<Words>> spare_;
  /** @brief Histograms to be added up over workers. */
  AlignedArray<Words> message_;

  /** @brief Working memory of a thread. */
  struct Buffer {
    AlignedArray<Words> blocks;  // of a group; all zero between uses
    AlignedArray<Words> slots;
    std::vector<float> penalties;
    std::vector<Words> filled;  // slots with rows, and their words
    std::vector<std::uint32_t> rows;
    std::vector<Words> words;
    std::vector<std::uint8_t> marks;  // all zero between uses
  };
  std::vector<Buffer> buffers_;
  /** @brief Of this search's own threads: others may search at the same time. */
  [[nodiscard]] Buffer& OfThread() { return buffers_[n_threads_ == 1 ? 0 : omp_get_thread_num()]; }
  /** @brief By node: sums of its stored slots, by run of rows and then in the first run. */
  std::map<bst_node_t, std::vector<AlignedArray<Words>>> shared_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_DIRECTION_SEARCH_H_
