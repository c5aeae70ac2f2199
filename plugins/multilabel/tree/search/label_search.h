/**
 * @brief The search for any number of labels, with integers and vectors: lists or histograms.
 *
 * A *local row set* (`quantised_rows.h`) holds the rows of a node and of all its descendants, with
 * gradients as integers. A small node gets a row set with sorted row lists (`row_lists.h`): work on
 * it and below it grows with rows alone, not with bins. A large node gets a row set with histograms
 * (`integer_histogram.h`). A descendant that is small enough gets a row set of its own, with lists.
 *
 * `Evaluate` works on the nodes of a level:
 *
 * 1. Number the rows of each node that carry a gradient, and mark for siblings which of their
 *    parent's rows went to the right.
 * 2. Prepare: make row sets, and sum up nodes.
 * 3. Work, one task per node (or two siblings) and group of feature blocks: make or partition the
 *    lists, or fill the histograms; score all splits approximately (`split_scan.h`); keep those
 *    that the error of the scores leaves as candidates.
 * 4. Decide between the candidates in double precision (`exact_decision.h`).
 *
 * Rows may be distributed over the pages of external memory, over workers, or both
 * (`label_search_shared.cc`). Then all nodes have histograms, filled page by page. Workers add them
 * up as integers, each those of its share of the features (`worker_shares.h`), on which it
 * searches. The exact sums of candidates are added up over all rows. So all find what one process
 * would. A node with few of its row set's rows gets a row set of its own, whose integers are finer.
 */
#ifndef XDCC_MULTILABEL_LABEL_SEARCH_H_
#define XDCC_MULTILABEL_LABEL_SEARCH_H_

#include <array>    // for array
#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t, uint8_t, uint32_t
#include <memory>   // for shared_ptr, unique_ptr, weak_ptr
#include <mutex>    // for mutex
#include <vector>   // for vector

#include "../../../../src/data/gradient_index.h"  // for GHistIndexMatrix
#include "../data/aligned_array.h"                // for AlignedArray, MemoryPool
#include "../data/bin_index.h"                    // for BinIndex, FeatureBlock
#include "../data/gradient_matrix.h"              // for GradientMatrix
#include "../data/page_rows.h"                    // for PageRows
#include "exact_decision.h"                       // for RowShare, ThreadScanners
#include "integer_histogram.h"                    // for BinSortBuffer
#include "label_node.h"                           // for LabelNode, RootLists
#include "label_search_param.h"                   // for LabelSearchParam
#include "node_plan.h"                            // for BlockTask, MemoryBudget, NodeJob
#include "row_lists.h"                            // for ListBuffer
#include "split_candidate.h"                      // for CandidateContext, RunningBest
#include "split_scan.h"                           // for ScanBuffer
#include "split_search.h"                         // for NodeRequest, SplitSearch
#include "worker_shares.h"                        // for WorkerShares
#include "xgboost/base.h"                         // for bst_bin_t, bst_idx_t
#include "xgboost/context.h"                      // for Context
#include "xgboost/data.h"                         // for BatchParam, DMatrix, FeatureType
#include "xgboost/span.h"                         // for Span

namespace xgboost::multilabel {
class LabelSearch : public SplitSearch {
 public:
  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override;
  [[nodiscard]] std::vector<double> RootSums() override { return gradients_.Sum(ctx_); }
  void Evaluate(std::vector<NodeRequest> const& requests) override;
  void Partition(RegTree const& tree, std::vector<AppliedSplit> const& applied) override;
  void End(common::Span<bst_node_t> out) override;
  [[nodiscard]] LeafSums SumOverLeaves(LabelGradients const& gradients) const override;

 private:
  /** @brief One node that gets a row set, or two siblings in the row set of their parent. */
  struct Job : NodeJob {
    bool is_new;
    /** @brief Whether the row set has lists, not histograms. */
    bool has_lists;
    /** @brief For histogram siblings: whether they stay in the row set. */
    std::array<bool, 2> stays{};
  };
  /** @brief The nodes to evaluate, and what is to be done. */
  struct Level {
    std::vector<NodeRequest> const& requests;
    std::vector<Job> jobs;
    std::vector<BlockTask> tasks;

    [[nodiscard]] Job const& JobOf(BlockTask const& task) const { return jobs[task.job]; }
    /** @brief The requests of a job's nodes. */
    [[nodiscard]] NodeRequest const* Requests(Job const& job) const { return &requests[job.begin]; }
  };
  /** @brief Rows of a node that carry a gradient, ascending. */
  struct NodeRows {
    std::vector<bst_idx_t> global;
    /** @brief Numbers in the parent's row set. */
    std::vector<std::uint32_t> local;
  };
  /** @brief The new histograms of a job's nodes in a block; empty where they follow from others. */
  using Parts = std::array<NodeHistogram, 2>;
  /** @brief By node of a job. */
  using JobBest = std::array<RunningBest, 2>;
  /** @brief Working memory of a thread, in cache lines of its own. */
  struct alignas(kCacheLines) Buffer {
    ListBuffer lists;
    BinSortBuffer bins;
    ScanBuffer scan;
  };

  // label_search.cc: reading the data, and the steps of `Evaluate`.

  /** @brief Read the gradients, the pages and the shape of the matrix. Returns the first page. */
  std::shared_ptr<GHistIndexMatrix const> Read(Context const* ctx, TreeRules const& rules,
                                               TreeData const& data);
  /**
   * @brief Cut the features into blocks, smaller ones where there are too few for all threads.
   *
   * Workers have the same blocks, whatever number of threads they have, and one each at least.
   *
   * @param has_lists Whether all nodes have lists, whose blocks may be small.
   */
  void MakeBlocks(common::HistogramCuts const& cuts, bool has_lists);
  /** @brief Lay out the only page, unless that was done for the tree before. */
  void UpdateIndex(std::shared_ptr<GHistIndexMatrix const> const& page);
  /** @brief Check that every thread can have the histogram of a block of features. */
  void CheckMemory() const;
  /** @brief Whether a feature has so many categories that they are sorted. */
  [[nodiscard]] bool SortsCategories(std::uint32_t max_to_onehot) const;
  /** @brief Forget the nodes of the tree before; their memory is used again. */
  void ForgetNodes();
  void ForgetNode(LabelNode* node);
  [[nodiscard]] BatchSet<GHistIndexMatrix> Pages() const {
    return p_fmat_->GetBatches<GHistIndexMatrix>(ctx_, batch_);
  }
  [[nodiscard]] CandidateContext MakeContext() const {
    return {*index_, cuts_, blocks_, gradients_, kernels_, types_, orders_};
  }
  [[nodiscard]] std::vector<Job> MakeJobs(std::vector<NodeRequest> const& requests);
  [[nodiscard]] std::vector<BlockTask> MakeLevelTasks(Level const& level) const;
  /** @brief Candidates for the best split of each node. */
  [[nodiscard]] std::vector<RunningBest> CollectCandidates(Level const& level,
                                                           std::vector<JobBest> const& running);
  /** @brief Decide; threads share out the rows of large nodes. */
  void DecideNodes(Level const& level, std::vector<RunningBest> const& best);
  /** @param sums Exact sums of the candidates; null where they are not shared out. */
  void DecideNode(NodeRequest const& request, std::size_t i, RunningBest const& best,
                  double const* sums);
  /** @brief Give the memory of parents back. */
  void DropParents(std::vector<NodeRequest> const& requests);

  // label_search_nodes.cc: the sums of nodes, and their scores.

  /** @brief Collect the rows of each node that carry a gradient; mark those of right children. */
  void NumberRows(std::vector<NodeRequest> const& requests);
  /** @brief Make row sets and sum up nodes; rows are taken from where a job keeps them. */
  void Prepare(Level const& level);
  /** @brief Make the row sets that are new. */
  void MakeRowSets(Level const& level);
  std::shared_ptr<RowSet> MakeRowSet(NodeRequest const& request, std::vector<bst_idx_t> global_rows,
                                     bool has_lists, std::int32_t n_threads);
  /** @param totals Sums of the new row set, or of the smaller sibling. */
  void SetNodes(Level const& level, Job const& job, AlignedArray<std::int32_t> totals);
  /** @brief Entries for the lists of a new row set. */
  [[nodiscard]] std::shared_ptr<BlockEntries> TakeEntries();
  /** @brief Sum up and score one node, or two siblings, in a group of blocks. */
  void Work(Level const& level, std::size_t task, JobBest* running);
  void Score(Level const& level, BlockTask const& task, JobBest* running);
  /** @brief Numbers of all rows of a row set. */
  [[nodiscard]] common::Span<std::uint32_t const> AllOf(RowSet const& row_set) const {
    return {numbers_.data(), row_set.rows.NumRows()};
  }
  /** @brief Numbers of a node's rows in its row set. */
  [[nodiscard]] common::Span<std::uint32_t const> RowsOf(LabelNode const& node,
                                                         NodeRows const& rows) const {
    bool const is_whole = node.n_rows == node.row_set->n_all_rows;
    return is_whole ? this->AllOf(*node.row_set) : common::Span{rows.local};
  }
  /** @brief Rows of a job's k-th node, which are added up: all of a new row set. */
  [[nodiscard]] common::Span<std::uint32_t const> RowsToFill(Level const& level, Job const& job,
                                                             std::size_t k) const {
    return job.is_new ? this->AllOf(this->RowSetOf(level, job))
                      : common::Span<std::uint32_t const>{node_rows_[job.begin + k].local};
  }
  /** @brief The row set that the rows of a job are numbered in. */
  [[nodiscard]] RowSet const& RowSetOf(Level const& level, Job const& job) const {
    auto const* request = level.Requests(job);
    return *nodes_[job.is_new ? request->nid : request->parent].row_set;
  }
  /**
   * @brief Whether the histogram of a job's k-th node is filled in a block.
   *
   * The larger sibling's is what the parent has left, if that was kept (on any worker).
   */
  [[nodiscard]] bool IsFilled(Level const& level, BlockTask const& task, std::size_t k) const;
  /**
   * @brief Make room for the histograms of a job that have to be filled in a block.
   *
   * @param keeps Whether they are to be kept if there is room.
   */
  [[nodiscard]] Parts BeginParts(Level const& level, BlockTask const& task, bool keeps);
  /** @brief Add a share of the rows of a page. */
  void AddPage(Level const& level, BlockTask const& task, BinIndex const& index, RowShare share,
               Parts* parts);
  /** @brief Let several threads fill each of the histograms that have many rows. */
  void ShareHistograms(Level const& level);
  /**
   * @brief Give nodes their histograms.
   *
   * Those of other workers' blocks are empty here, and `kept_bytes` says what is kept there.
   */
  void TakeParts(Level const& level, BlockTask const& task, Parts* parts);
  /** @brief Forget the sums of a node. */
  void DropSums(LabelNode* node);
  /** @brief Fill the lists of one block for a new row set or two siblings. */
  void FillLists(Level const& level, Job const& job, std::size_t b, ListBuffer* buffer);
  /** @brief Fill the sums of a group of blocks, a chunk of labels at a time: it stays in cache. */
  void FillSums(Level const& level, BlockTask const& task);
  /** @brief Fill the sums over categories of a group of blocks. */
  void FillCategories(Level const& level, BlockTask const& task);
  /** @brief Number the sums of the lists with one bin. */
  void NumberSums(std::size_t b, LabelNode* node);
  /** @brief Make room for the sums of a group of blocks. */
  void ReserveSums(BlockTask const& task, LabelNode* node);
  void DropFeatureSums(BlockTask const& task, LabelNode* node);
  /** @brief Keep the root's lists for the trees that follow. */
  void KeepRoot(LabelNode const& node);

  // label_search_shared.cc: where rows are distributed over pages or workers.

  /** @brief Call `fn` with the bins of each page, one after the other. */
  template <typename Fn>
  void ForEachPage(Fn&& fn) const;
  /** @brief All tasks, as many at a time as there is memory for. */
  void WorkOnPages(Level const& level, std::vector<JobBest>* running);
  /** @brief Add up histograms of this worker's blocks, and send the others to their workers. */
  void SendParts(BlockTask const* tasks, std::vector<Parts>* parts);
  /** @brief Decide; first add up what the candidates need. */
  void DecideOnPages(Level const& level, std::vector<RunningBest> const& best);
  /** @brief Check that all workers have the same number of sums: they do if they compute alike. */
  void CheckAgreement(std::size_t n_sums) const;

  Context const* ctx_{nullptr};
  /** @brief Number of threads that loops make use of. */
  std::int32_t n_threads_{1};
  DMatrix* p_fmat_{nullptr};  // while a tree grows
  BatchParam batch_;
  LabelSearchParam param_;
  GradientMatrix gradients_;
  PageRows rows_;
  /** @brief Whether rows are distributed over pages or workers. */
  bool is_shared_{false};
  WorkerShares shares_;

  common::HistogramCuts cuts_{0};
  std::vector<bst_bin_t> default_bins_;  // by feature
  std::vector<FeatureBlock> blocks_;
  std::unique_ptr<BinIndex> index_;  // of the only page
  std::weak_ptr<GHistIndexMatrix const> indexed_page_;
  std::vector<FeatureBlock> indexed_blocks_;
  std::vector<bst_bin_t> indexed_default_bins_;
  SplitEvaluator::Kernels kernels_{};
  common::Span<FeatureType const> types_;
  common::Span<int const> orders_;  // monotone constraints

  std::vector<LabelNode> nodes_;            // by node index
  std::vector<NodeRows> node_rows_;         // by request; more are of earlier ones: memory is kept
  std::vector<std::uint32_t> row_numbers_;  // by global row: its number in its row set
  std::vector<std::uint32_t> numbers_;      // 0, 1, ...
  RootLists root_lists_;
  std::shared_ptr<BlockEntries> root_children_;
  MemoryPool<std::int32_t> row_memory_, histogram_memory_;
  std::vector<std::shared_ptr<BlockEntries>> spare_entries_;
  std::mutex entries_lock_;
  std::vector<std::vector<Parts>> shared_parts_;  // by task; empty, or filled by several threads
  std::vector<ThreadScanners> scanners_;          // one per thread
  std::vector<Buffer> buffers_;                   // one per thread
  MemoryBudget budget_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LABEL_SEARCH_H_
