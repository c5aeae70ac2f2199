/**
 * @brief Finds the best splits of nodes, with integers and vectors: lists or histograms.
 *
 * A *cluster* (`row_cluster.h`) is the rows of a node, and of all its descendants, with gradients
 * as integers. A small node becomes a cluster with sorted row lists (`row_lists.h`), and so work
 * on it and on what lies below grows with rows alone, not with bins. A large node becomes a cluster
 * with histograms (`integer_histogram.h`), of which the larger sibling's follow by subtraction; a
 * descendant that is small enough becomes a cluster of its own, with lists.
 *
 * 1. Number the rows of each node that carry a gradient, and tell siblings which of their parent's
 *    rows went where.
 * 2. Prepare: make clusters; sum up nodes.
 * 3. Work, one task per node (or two siblings) and group of feature blocks: make or part the lists,
 *    or fill the histograms; score all splits approximately (`cluster_scan.h`); keep those that the
 *    error of the scores leaves in the running.
 * 4. Decide between these in double precision (`split_candidate.h`).
 *
 * Sums from which siblings' sums can follow are kept up to a limit on memory; beyond it they are
 * added up again.
 *
 * Rows may be shared out: among the pages of external memory, among workers, or both. Then all
 * nodes have histograms. Those of a group of tasks are filled page by page. Workers add them up as
 * integers, each those of its share of the features (`worker_shares.h`), on which it searches; the
 * exact sums of candidates are added up over all rows. So all find what one process would. A node
 * with few of its cluster's rows becomes a cluster of its own, whose integers are finer.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_
#define XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_

#include <algorithm>   // for copy_n, fill_n, max, min
#include <array>       // for array
#include <atomic>      // for atomic
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t, int64_t, uint8_t, uint32_t
#include <functional>  // for function
#include <limits>      // for numeric_limits
#include <memory>      // for make_shared, shared_ptr
#include <mutex>       // for lock_guard, mutex
#include <numeric>     // for accumulate, iota
#include <utility>     // for move
#include <vector>      // for vector

#include "../../../../src/collective/aggregator.h"        // for GlobalSum, SafeColl
#include "../../../../src/collective/allreduce.h"         // for Allreduce, Op
#include "../../../../src/collective/communicator-inl.h"  // for GetWorldSize
#include "../../../../src/common/categorical.h"           // for IsCat
#include "../../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../threads/workers.h"                        // for UsefulThreads
#include "../data/aligned_array.h"                        // for AlignedArray, MemoryPool
#include "../data/gradient_matrix.h"                      // for GradientMatrix
#include "cluster_categories.h"  // for NumberCategories, SumCategories, SumCategorySiblings
#include "cluster_node.h"        // for ClusterNode, ClusterParam, RootLists
#include "cluster_scan.h"        // for MakeListRanges, MakeBinRanges, ScoreSplits
#include "cluster_units.h"       // for ClusterUnits, SizesOf
#include "evaluator.h"           // for NodeStats, Split
#include "integer_histogram.h"   // for BinSortBuffer, IntegerHistogram
#include "row_cluster.h"         // for RowCluster
#include "row_lists.h"           // for MakeLists, PartLists
#include "split_candidate.h"     // for CandidateContext, Decide, RunningBest, ThreadScanners
#include "worker_shares.h"       // for ShareCandidates, SumOfOthers, WorkerShares
#include "xgboost/base.h"        // for bst_idx_t, bst_node_t
#include "xgboost/context.h"     // for Context
#include "xgboost/logging.h"     // for CHECK_EQ
#include "xgboost/span.h"        // for Span
#include "xgboost/tree_model.h"  // for RegTree

namespace xgboost::multilabel {
/** @brief Calls a function with the bins of each page, one after the other. */
using PageVisitor = std::function<void(std::function<void(BinIndex const&)> const&)>;

class ClusterEvaluator {
 public:
  /** @brief Row numbers of lists have 16 bits. */
  static constexpr std::size_t kMaxListRows = std::size_t{1} << kBinShift;

  /** @brief A node to evaluate. */
  struct Request {
    bst_node_t nid;
    /** @brief `RegTree::kInvalidNodeId` for the root. */
    bst_node_t parent;
    /** @brief Global indices of the node's rows, by page. */
    std::vector<common::Span<bst_idx_t const>> rows;
    /** @brief By feature: whether the node may be split on it; null: on all. */
    std::uint8_t const* allowed;
    NodeStats* stats;
    Split* split;
  };

  /** @brief What a tree grows on. */
  struct Shape {
    std::vector<FeatureBlock> const& blocks;
    std::size_t n_labels;
    /** @brief On this worker. */
    bst_idx_t n_rows;
    /** @brief Whether there are several pages or workers. */
    bool is_shared;
  };

  /** @brief Begin a tree. */
  void Reset(Context const* ctx, ClusterParam const& param, Shape const& shape) {
    ctx_ = ctx;
    n_threads_ = xdcc::UsefulThreads(ctx->Threads());
    param_ = param;
    n_labels_ = shape.n_labels;
    is_shared_ = shape.is_shared;
    shares_ = is_shared_ ? WorkerShares{shape.blocks} : WorkerShares{};
    for (auto& node : nodes_) {
      if (node.cluster && node.cluster.use_count() == 1) {
        cluster_memory_.GiveBack(node.cluster->rows.Release());
      }
      if (node.entries && node.entries != root_children_ && node.entries.use_count() == 1) {
        spare_entries_.push_back(std::move(node.entries));
      }
      this->DropSums(&node);
      node = {};
    }
    nodes_.clear();
    CHECK_EQ(kept_bytes_.load(), 0);
    local_rows_.resize(shape.n_rows);
    numbers_.resize(shape.n_rows);
    std::iota(numbers_.begin(), numbers_.end(), 0);
    buffers_.resize(std::max<std::size_t>(buffers_.size(), n_threads_));
    if (!root_children_ || root_children_->size() != shape.blocks.size()) {
      root_children_ = std::make_shared<BlockEntries>(shape.blocks.size());
    }
  }

  /**
   * @brief Find the best split of each node.
   *
   * @param pages    Visits the bins of each page; not used unless rows are shared out.
   * @param requests The root, or pairs of siblings, the left one first.
   * @param root     Lists of a root's rows; they serve the next tree if that has the same rows.
   */
  void Evaluate(CandidateContext const& context, PageVisitor const& pages,
                std::vector<Request> const& requests, std::vector<ThreadScanners>* scanners,
                RootLists* root) {
    for (auto const& request : requests) {
      nodes_.resize(std::max(nodes_.size(), static_cast<std::size_t>(request.nid) + 1));
    }
    this->NumberRows(context.gradients, requests);
    auto& rows = node_rows_;
    auto jobs = this->MakeJobs(requests);
    this->Prepare(context, requests, *root, jobs, &rows);
    auto const tasks = this->MakeTasks(jobs, requests, context.blocks.size());
    std::vector<std::array<RunningBest, 2>> running(tasks.size());
    if (is_shared_) {
      this->WorkOnPages(context, pages, {jobs, tasks, requests, rows}, &running);
    } else {
      common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
        this->Work(context, jobs[tasks[i].job], tasks[i], requests, rows, *root, &running[i]);
      });
    }
    if (requests.front().parent == RegTree::kInvalidNodeId) {
      this->KeepRoot(nodes_[requests.front().nid], root);
    }

    std::vector<RunningBest> best(requests.size());
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      auto const& job = jobs[tasks[t].job];
      for (std::size_t k = 0; k < job.n_nodes; ++k) {
        best[job.begin + k].Merge(running[t][k]);
      }
    }
    auto keep_likely = [&] {
      common::ParallelFor(requests.size(), n_threads_, common::Sched::Dyn(1),
                          [&](auto i) { KeepLikely(nodes_[requests[i].nid].error, &best[i]); });
    };
    keep_likely();
    if (collective::GetWorldSize() > 1) {
      ShareCandidates(ctx_, &best);
      keep_likely();
    }
    auto decide = [&](std::size_t i, double const* sums) {
      auto const& node = nodes_[requests[i].nid];
      Decide(context, node.cluster->rows, this->RowsOf(node, rows[i]), best[i].candidates, sums,
             &(*scanners)[omp_get_thread_num()], requests[i].stats, requests[i].split);
    };
    if (is_shared_) {
      this->DecideOnPages(context, pages, requests, rows, best, decide);
    } else {
      common::ParallelFor(requests.size(), n_threads_, common::Sched::Dyn(1),
                          [&](auto i) { decide(i, nullptr); });
    }
    for (auto const& request : requests) {
      if (request.parent != RegTree::kInvalidNodeId) {
        auto& parent = nodes_[request.parent];
        this->DropSums(&parent);
        if (parent.cluster && parent.cluster.use_count() == 1) {
          cluster_memory_.GiveBack(parent.cluster->rows.Release());
        }
        parent = {};
      }
    }
  }

 private:
  /** @brief Two cache lines, which some processors fetch together. */
  static constexpr std::size_t kCacheLines = 128;

  enum class JobKind : std::uint8_t { kNewLists, kNewHistogram, kListSiblings, kHistogramSiblings };
  /** @brief One node that becomes a cluster, or two siblings in the cluster of their parent. */
  struct Job {
    JobKind kind;
    std::size_t begin;    // among the requests
    std::size_t n_nodes;  // that it evaluates
    /** @brief Of histogram siblings: whether they stay in the cluster. */
    std::array<bool, 2> stays{};

    [[nodiscard]] bool IsNew() const {
      return kind == JobKind::kNewLists || kind == JobKind::kNewHistogram;
    }
    [[nodiscard]] bool HasLists() const {
      return kind == JobKind::kNewLists || kind == JobKind::kListSiblings;
    }
  };
  /** @brief Rows of a node that carry a gradient, ascending. */
  struct NodeRows {
    std::vector<bst_idx_t> global;
    /** @brief Numbers in the parent's cluster. */
    std::vector<std::uint32_t> local;
  };
  struct Task {
    std::size_t job, block_begin, block_end;
  };
  /** @brief The new histograms of a job's nodes in a block; empty where they follow from others. */
  using Parts = std::array<NodeHistogram, 2>;
  /** @brief All that is to be done. */
  struct Plan {
    std::vector<Job> const& jobs;
    std::vector<Task> const& tasks;
    std::vector<Request> const& requests;
    std::vector<NodeRows> const& rows;
  };
  /** @brief Working memory of a thread, in cache lines of its own. */
  struct alignas(kCacheLines) Buffer {
    ListBuffer lists;
    BinSortBuffer bins;
    ScanBuffer scan;
  };

  /** @brief Say what is to be done; forget sums of parents from which nothing follows. */
  [[nodiscard]] std::vector<Job> MakeJobs(std::vector<Request> const& requests) {
    std::vector<Job> jobs;
    auto is_large = [&](std::size_t i) {
      return is_shared_ || requests[i].stats->n_active > param_.max_list_rows;
    };
    // Whether the parent's integers are fine enough.
    auto stays = [&](std::size_t i) {
      auto const n_all = nodes_[requests[i].parent].cluster->n_all_rows;
      return is_large(i) && requests[i].stats->n_active * kMaxShrinkage >= n_all;
    };
    auto push_new = [&](std::size_t i) {
      jobs.push_back({is_large(i) ? JobKind::kNewHistogram : JobKind::kNewLists, i, 1});
    };
    for (std::size_t i = 0; i < requests.size();) {
      if (requests[i].parent == RegTree::kInvalidNodeId) {
        push_new(i++);
        continue;
      }
      if (nodes_[requests[i].parent].cluster->has_lists) {
        jobs.push_back({JobKind::kListSiblings, i, 2});
      } else {
        std::array<bool, 2> const stay{stays(i), stays(i + 1)};
        if (stay[0] || stay[1]) {
          jobs.push_back({JobKind::kHistogramSiblings, i, 2});
          jobs.back().stays = stay;
        } else {
          auto& parent = nodes_[requests[i].parent];
          this->DropSums(&parent);
          parent.cluster.reset();  // before its rows are in other clusters as well
        }
        for (std::size_t k = 0; k < 2; ++k) {
          if (!stay[k]) {
            push_new(i + k);
          }
        }
      }
      i += 2;
    }
    return jobs;
  }

  [[nodiscard]] std::vector<Task> MakeTasks(std::vector<Job> const& jobs,
                                            std::vector<Request> const& requests,
                                            std::size_t n_blocks) const {
    std::vector<std::size_t> n_rows(jobs.size(), 0);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (std::size_t k = 0; k < jobs[j].n_nodes; ++k) {
        n_rows[j] += requests[jobs[j].begin + k].stats->n_active;
      }
    }
    auto const n_all = std::accumulate(n_rows.cbegin(), n_rows.cend(), std::size_t{1});
    std::vector<Task> tasks;
    std::size_t const n_threads = n_threads_;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      // Lists: tasks of about the same size, some for each thread.
      auto const n_even = n_threads == 1 ? 1 : 1 + kTasksPerThread * n_threads * n_rows[j] / n_all;
      auto const n_groups = jobs[j].HasLists() ? std::min(n_blocks, n_even) : n_blocks;
      for (std::size_t g = 0; g < n_groups; ++g) {
        tasks.push_back({j, n_blocks * g / n_groups, n_blocks * (g + 1) / n_groups});
      }
    }
    return tasks;
  }

  /** @brief Collect the rows of each node that carry a gradient; mark those of right children. */
  void NumberRows(GradientMatrix const& gradients, std::vector<Request> const& requests) {
    constexpr std::size_t kRun = 2048;
    struct Run {
      std::size_t request;
      common::Span<bst_idx_t const> rows;
      std::size_t begin, n;
    };
    auto& rows = node_rows_;
    rows.resize(std::max(rows.size(), requests.size()));
    std::vector<Run> runs;
    // Small nodes share a task: siblings' marks lie in the same cache lines.
    std::vector<std::size_t> tasks{0};
    std::size_t n_task_rows{0};
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::size_t n_rows{0};
      for (auto const& of_page : requests[i].rows) {
        for (std::size_t begin = 0; begin < of_page.size(); begin += kRun) {
          if (n_task_rows >= kRun) {
            tasks.push_back(runs.size());
            n_task_rows = 0;
          }
          auto const n = std::min(kRun, of_page.size() - begin);
          runs.push_back({i, of_page.subspan(begin, n), n_rows, 0});
          n_task_rows += n;
          n_rows += n;
        }
      }
      rows[i].global.resize(n_rows);
      rows[i].local.resize(n_rows);
    }
    tasks.push_back(runs.size());
    // Each run fills the front of its stretch.
    auto number = [&](Run* run) {
      auto const& request = requests[run->request];
      auto* global = rows[run->request].global.data() + run->begin;
      auto const* from = run->rows.data();
      for (std::size_t i = 0; i < run->rows.size(); ++i) {
        global[run->n] = from[i];
        run->n += gradients.Active(from[i]);
      }
      if (request.parent == RegTree::kInvalidNodeId) {
        return;
      }
      auto* local = rows[run->request].local.data() + run->begin;
      auto* is_right = nodes_[request.parent].cluster->is_right.data();
      for (std::size_t i = 0; i < run->n; ++i) {
        local[i] = local_rows_[global[i]];
        is_right[local[i]] = run->request % 2;
      }
    };
    common::ParallelFor(tasks.size() - 1, n_threads_, common::Sched::Dyn(1), [&](auto t) {
      for (auto r = tasks[t]; r < tasks[t + 1]; ++r) {
        number(&runs[r]);
      }
    });
    std::vector<std::size_t> end(requests.size(), 0);
    for (auto const& run : runs) {
      auto& to = end[run.request];
      if (to != run.begin) {
        auto move_up = [&](auto* values) {
          std::copy_n(values->begin() + run.begin, run.n, values->begin() + to);
        };
        move_up(&rows[run.request].global);
        move_up(&rows[run.request].local);
      }
      to += run.n;
    }
    std::vector<double> n_active(end.cbegin(), end.cend());
    if (is_shared_) {
      this->SumOverWorkers(&n_active);
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      rows[i].global.resize(end[i]);
      rows[i].local.resize(end[i]);
      requests[i].stats->n_active = static_cast<bst_idx_t>(n_active[i]);
    }
  }

  /**
   * @brief Make clusters and sum up nodes.
   *
   * @param rows Of all requests; taken from where a job keeps them.
   */
  void Prepare(CandidateContext const& context, std::vector<Request> const& requests,
               RootLists const& root, std::vector<Job> const& jobs, std::vector<NodeRows>* rows) {
    std::vector<AlignedArray<std::int32_t>> totals(jobs.size());
    auto sum_up = [&](std::size_t j, std::int32_t n_threads) {
      totals[j] = this->SumUp(context.gradients, requests, jobs[j], n_threads, rows);
    };
    if (jobs.size() == 1 || is_shared_) {  // threads are of more use inside
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        sum_up(j, n_threads_);
      }
    } else {
      common::ParallelFor(jobs.size(), n_threads_, common::Sched::Dyn(1),
                          [&](auto j) { sum_up(j, 1); });
    }
    if (is_shared_) {
      std::vector<std::int32_t> message;
      for (auto const& of_job : totals) {
        message.insert(message.end(), of_job.Data(), of_job.Data() + of_job.Size());
      }
      this->SumOverWorkers(&message);
      auto const* in = message.data();
      for (auto& of_job : totals) {
        std::copy_n(in, of_job.Size(), of_job.Data());
        in += of_job.Size();
      }
    }
    common::ParallelFor(jobs.size(), n_threads_, common::Sched::Dyn(1), [&](auto j) {
      this->SetNodes(context, requests, root, jobs[j], std::move(totals[j]));
    });
  }

  /** @brief Sums over the rows of a new cluster, or of the smaller one of two siblings. */
  [[nodiscard]] AlignedArray<std::int32_t> SumUp(GradientMatrix const& gradients,
                                                 std::vector<Request> const& requests,
                                                 Job const& job, std::int32_t n_threads,
                                                 std::vector<NodeRows>* all_rows) {
    auto const* request = requests.data() + job.begin;
    auto* rows = all_rows->data() + job.begin;
    if (job.IsNew()) {
      auto& cluster = nodes_[request->nid].cluster;
      cluster = this->MakeCluster(gradients, *request, std::move(rows->global), job.HasLists(),
                                  n_threads);
      return SumTotals(n_threads, cluster->rows, this->AllOf(*cluster));
    }
    return SumTotals(n_threads, nodes_[request->parent].cluster->rows,
                     common::Span{rows[SmallSibling(request)].local});
  }

  /** @param totals Of the new cluster, or of the smaller sibling. */
  void SetNodes(CandidateContext const& context, std::vector<Request> const& requests,
                RootLists const& root, Job const& job, AlignedArray<std::int32_t> totals) {
    auto const n_blocks = context.blocks.size();
    auto const* request = requests.data() + job.begin;
    if (job.IsNew()) {
      auto& node = nodes_[request->nid];
      node.n_rows = request->stats->n_active;
      node.totals = std::move(totals);
      SetConstants(param_, n_labels_, *request->stats, &node);
      if (!job.HasLists()) {
        node.histograms.resize(n_blocks);
        return;
      }
      node.sums.resize(n_blocks);
      node.categories.resize(param_.adds_categories ? n_blocks : 0);
      if (root.entries && node.cluster->rows.GlobalRows() == root.rows) {
        node.entries = root.entries;
        node.lists = root.lists;
      } else {
        node.entries = this->TakeEntries(n_blocks);
        node.lists.resize(n_blocks);
      }
      return;
    }
    auto& parent = nodes_[request->parent];
    auto const small = SmallSibling(request);
    auto rest = parent.totals;
    XDCC_BEST_CLONE(SubtractIntegers)(totals.Data(), 2 * parent.cluster->rows.PaddedLabels(),
                                      rest.Data());
    for (std::size_t k = 0; k < 2; ++k) {
      if (!job.HasLists() && !job.stays[k]) {
        continue;  // a cluster of its own
      }
      auto& node = nodes_[request[k].nid];
      node.cluster = parent.cluster;
      node.n_rows = request[k].stats->n_active;
      node.totals = std::move(k == small ? totals : rest);
      SetConstants(param_, n_labels_, *request[k].stats, &node);
      if (!job.HasLists()) {
        node.histograms.resize(n_blocks);
        continue;
      }
      // The lists of the root are kept: the first partition puts the children elsewhere.
      node.entries = parent.entries == root.entries ? root_children_ : parent.entries;
      node.lists.resize(n_blocks);
      node.sums.resize(n_blocks);
      node.categories.resize(param_.adds_categories ? n_blocks : 0);
    }
  }

  /** @brief Which of two siblings has fewer rows. */
  [[nodiscard]] static std::size_t SmallSibling(Request const* request) {
    return request[0].stats->n_active <= request[1].stats->n_active ? 0 : 1;
  }

  std::shared_ptr<Cluster> MakeCluster(GradientMatrix const& gradients, Request const& request,
                                       std::vector<bst_idx_t> global_rows, bool has_lists,
                                       std::int32_t n_threads) {
    auto sizes = SizesOf(n_threads, gradients, global_rows);
    if (is_shared_) {
      this->SumOverWorkers(&sizes.sums);
      collective::SafeColl(collective::Allreduce(
          ctx_, linalg::MakeVec(sizes.largest.data(), sizes.largest.size()), collective::Op::kMax));
    }
    bool const has_many = ClusterUnits::HasMany(request.stats->n_active, gradients.NumLabels());
    bool const may_pack =
        has_many && param_.reg.lambda > 0.0 && !param_.sorts_categories && !param_.is_monotone;
    ClusterUnits const units{sizes, may_pack};
    auto const n_integers = (units.is_packed ? 1 : 2) * gradients.NumLabels() * global_rows.size();
    auto memory = cluster_memory_.Take(n_integers);
    auto cluster =
        std::make_shared<Cluster>(Cluster{RowCluster{n_threads, gradients, std::move(global_rows),
                                                     units, !has_lists, std::move(memory)},
                                          request.stats->n_active,
                                          has_lists,
                                          {},
                                          {},
                                          {}});
    auto const& rows = cluster->rows.GlobalRows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      local_rows_[rows[i]] = static_cast<std::uint32_t>(i);
    }
    cluster->is_right.resize(rows.size());
    auto const n_padded = cluster->rows.PaddedLabels();
    cluster->lambda.Assign(n_padded, 1.0f);
    cluster->padding.Assign(n_padded, -std::numeric_limits<float>::infinity());
    for (auto const& chunk : cluster->rows.Chunks()) {
      std::fill_n(cluster->lambda.Data() + chunk.padded_begin, chunk.n_labels,
                  static_cast<float>(param_.reg.lambda));
      std::fill_n(cluster->padding.Data() + chunk.padded_begin, chunk.n_labels, 0.0f);
    }
    return cluster;
  }

  [[nodiscard]] std::shared_ptr<BlockEntries> TakeEntries(std::size_t n_blocks) {
    std::lock_guard<std::mutex> guard{entries_lock_};
    std::shared_ptr<BlockEntries> entries;
    if (!spare_entries_.empty()) {
      entries = std::move(spare_entries_.back());
      spare_entries_.pop_back();
    }
    if (!entries || entries->size() != n_blocks) {
      entries = std::make_shared<BlockEntries>(n_blocks);
    }
    return entries;
  }

  /** @brief Whether there is room for so many bytes of sums beside those that are kept. */
  [[nodiscard]] bool Reserve(std::size_t bytes) {
    if (kept_bytes_.fetch_add(bytes) + bytes > param_.max_bytes) {
      kept_bytes_ -= bytes;
      return false;
    }
    return true;
  }

  /** @brief Add up numbers of all workers. */
  template <typename T>
  void SumOverWorkers(std::vector<T>* values) const {
    collective::SafeColl(
        collective::GlobalSum(ctx_, linalg::MakeVec(values->data(), values->size())));
  }

  /** @brief Sum up and score one node, or two siblings, in a group of blocks. */
  void Work(CandidateContext const& context, Job const& job, Task const& task,
            std::vector<Request> const& requests, std::vector<NodeRows> const& all_rows,
            RootLists const& root, std::array<RunningBest, 2>* running) {
    auto* buffer = &buffers_[omp_get_thread_num()];
    auto const* request = requests.data() + job.begin;
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (job.HasLists()) {
        this->FillLists(context, b, job.kind == JobKind::kNewLists, request, root, &buffer->lists);
      } else {
        auto parts = this->BeginParts(context, b, job, request);
        this->AddPage(context, context.index, b, job, request, all_rows.data() + job.begin, &parts);
        this->TakeParts(b, job, request, &parts);
      }
    }
    if (job.HasLists()) {
      this->FillSums(task, job.n_nodes, request);
      if (!nodes_[request->nid].categories.empty()) {
        this->FillCategories(context, task, job.n_nodes, request);
      }
    }
    this->Score(context, job, task, request, running);
  }

  /** @brief The same for all tasks, where rows are shared out. */
  void WorkOnPages(CandidateContext const& context, PageVisitor const& pages, Plan const& plan,
                   std::vector<std::array<RunningBest, 2>>* running) {
    auto const limit = std::min(kPassBytes, param_.max_bytes);
    auto const job = [&](std::size_t t) -> Job const& { return plan.jobs[plan.tasks[t].job]; };
    auto const request = [&](std::size_t t) { return plan.requests.data() + job(t).begin; };
    for (std::size_t begin = 0, end = 0; begin < plan.tasks.size(); begin = end) {
      std::vector<Parts> parts;
      for (std::size_t bytes = 0; end < plan.tasks.size() && bytes < limit; ++end) {
        auto const b = plan.tasks[end].block_begin;
        parts.push_back(this->BeginParts(context, b, job(end), request(end)));
        for (auto const& part : parts.back()) {
          bytes += part.sums.NumBytes();
        }
      }
      pages([&](BinIndex const& index) {
        common::ParallelFor(parts.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
          auto const t = begin + i;
          this->AddPage(context, index, plan.tasks[t].block_begin, job(t), request(t),
                        plan.rows.data() + job(t).begin, &parts[i]);
        });
      });
      this->SendParts(plan.tasks.data() + begin, &parts);
      common::ParallelFor(parts.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
        auto const t = begin + i;
        this->TakeParts(plan.tasks[t].block_begin, job(t), request(t), &parts[i]);
        if (shares_.IsMine(plan.tasks[t].block_begin)) {
          this->Score(context, job(t), plan.tasks[t], request(t), &(*running)[t]);
        }
      });
    }
  }

  /** @brief Score one node, or two siblings, in a group of blocks. */
  void Score(CandidateContext const& context, Job const& job, Task const& task,
             Request const* request, std::array<RunningBest, 2>* running) {
    auto* buffer = &buffers_[omp_get_thread_num()];
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      auto& node = nodes_[request[k].nid];
      if (job.HasLists()) {
        MakeListRanges(context, param_, task.block_begin, task.block_end, request[k].allowed, node,
                       *request[k].stats, &buffer->scan, &(*running)[k]);
      } else if (job.IsNew() || job.stays[k]) {
        MakeBinRanges(context, task.block_begin, request[k].allowed, node, &buffer->scan,
                      &(*running)[k]);
      } else {
        continue;
      }
      if (buffer->scan.n_scores > 0) {
        ScoreSplits(param_, n_labels_, node, &buffer->scan, &(*running)[k]);
      }
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        if (!job.HasLists() && node.histograms[b].kept_bytes == 0) {
          histogram_memory_.GiveBack(node.histograms[b].sums.Release());
          continue;
        }
        if (job.HasLists() && node.sums[b].kept_bytes == 0) {
          node.sums[b] = {};
        }
        if (!node.categories.empty() && node.categories[b].kept_bytes == 0) {
          node.categories[b] = {};
        }
      }
    }
  }

  /** @brief Numbers of all rows of a cluster. */
  [[nodiscard]] common::Span<std::uint32_t const> AllOf(Cluster const& cluster) const {
    return {numbers_.data(), cluster.rows.NumRows()};
  }
  /** @brief Numbers of a node's rows in its cluster. */
  [[nodiscard]] common::Span<std::uint32_t const> RowsOf(ClusterNode const& node,
                                                         NodeRows const& rows) const {
    bool const is_whole = node.n_rows == node.cluster->n_all_rows;
    return is_whole ? this->AllOf(*node.cluster) : common::Span{rows.local};
  }
  [[nodiscard]] Cluster const& ClusterOf(Job const& job, Request const* request) const {
    return *nodes_[job.IsNew() ? request->nid : request->parent].cluster;
  }

  /** @brief Make room for the histograms of a job that have to be filled in a block. */
  [[nodiscard]] Parts BeginParts(CandidateContext const& context, std::size_t b, Job const& job,
                                 Request const* request) {
    auto const n_bins = context.blocks[b].n_bins;
    auto const n_padded = this->ClusterOf(job, request).rows.PaddedLabels();
    Parts parts;
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      // The larger sibling's is what the parent has left, if that was kept (on any worker).
      bool const follows = !job.IsNew() && k != SmallSibling(request) &&
                           nodes_[request->parent].histograms[b].kept_bytes > 0;
      if (follows) {
        continue;
      }
      parts[k].sums =
          IntegerHistogram{n_bins, n_padded, histogram_memory_.Take(2 * n_padded * n_bins)};
      if (job.IsNew() || job.stays[k]) {
        auto const bytes = parts[k].sums.NumBytes();
        parts[k].kept_bytes = this->Reserve(bytes) ? bytes : 0;
      }
    }
    return parts;
  }

  /** @brief Add the rows of a page. */
  void AddPage(CandidateContext const& context, BinIndex const& index, std::size_t b,
               Job const& job, Request const* request, NodeRows const* rows, Parts* parts) {
    auto const& cluster = this->ClusterOf(job, request);
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      if (auto& sums = (*parts)[k].sums; !sums.Empty()) {
        auto const of_node = job.IsNew() ? this->AllOf(cluster) : common::Span{rows[k].local};
        sums.Add(cluster.rows, index, b, context.blocks[b],
                 RowsOfPage(cluster.rows, index, of_node), &buffers_[omp_get_thread_num()].bins);
      }
    }
  }

  /**
   * @brief Send histograms to the workers whose blocks they are of, and add up this worker's.
   *
   * @param tasks Of the parts.
   */
  void SendParts(Task const* tasks, std::vector<Parts>* parts) {
    if (collective::GetWorldSize() == 1) {
      return;
    }
    // Messages are neither small nor huge.
    constexpr std::size_t kMessage = std::size_t{1} << 20;
    std::vector<std::vector<std::int32_t>> to(collective::GetWorldSize());
    std::vector<IntegerHistogram*> mine;
    std::size_t n{0}, n_mine{0};
    auto send = [&] {
      auto const sums = SumOfOthers(ctx_, &to, n_mine);
      auto const* in = sums.data();
      for (auto* histogram : mine) {
        in = histogram->Add(in);
      }
      for (auto& message : to) {
        message.clear();
      }
      mine.clear();
      n = n_mine = 0;
    };
    for (std::size_t i = 0; i < parts->size(); ++i) {
      auto const b = tasks[i].block_begin;
      for (auto& [sums, kept_bytes] : (*parts)[i]) {
        if (sums.Empty()) {
          continue;
        }
        n += sums.NumIntegers();
        if (shares_.IsMine(b)) {
          n_mine += sums.NumIntegers();
          mine.push_back(&sums);
        } else {
          sums.Write(&to[shares_.OwnerOf(b)]);
          histogram_memory_.GiveBack(sums.Release());
        }
      }
      if (n >= kMessage) {
        send();
      }
    }
    if (n > 0) {
      send();
    }
  }

  /**
   * @brief Give nodes their histograms.
   *
   * Those of other workers' blocks are empty here, and `kept_bytes` says what is kept there.
   */
  void TakeParts(std::size_t b, Job const& job, Request const* request, Parts* parts) {
    if (job.IsNew()) {
      nodes_[request->nid].histograms[b] = std::move(parts->front());
      return;
    }
    auto& parent = nodes_[request->parent];
    auto const small = SmallSibling(request);
    if (parent.histograms[b].kept_bytes > 0) {
      auto& large = (*parts)[1 - small];
      large = std::move(parent.histograms[b]);
      parent.histograms[b] = {};
      large.sums.Subtract((*parts)[small].sums, parent.cluster->rows.PaddedLabels());
    }
    for (std::size_t k = 0; k < 2; ++k) {
      if (job.stays[k]) {
        nodes_[request[k].nid].histograms[b] = std::move((*parts)[k]);
      } else if (!(*parts)[k].sums.Empty()) {
        histogram_memory_.GiveBack((*parts)[k].sums.Release());
      }
    }
  }

  /**
   * @brief Decide where rows are shared out: first add up what the candidates need.
   *
   * @param decide Called with the position of a request and the sums of its candidates.
   */
  template <typename Fn>
  void DecideOnPages(CandidateContext const& context, PageVisitor const& pages,
                     std::vector<Request> const& requests, std::vector<NodeRows> const& rows,
                     std::vector<RunningBest> const& best, Fn&& decide) {
    auto const width = context.gradients.Width();
    auto const limit = std::min(kPassBytes, param_.max_bytes) / sizeof(double);
    for (std::size_t begin = 0, end = 0; begin < requests.size(); begin = end) {
      std::vector<std::size_t> offsets{0};
      for (; end < requests.size() && offsets.back() < limit; ++end) {
        offsets.push_back(offsets.back() + width * NumSums(context, best[end].candidates));
      }
      std::vector<double> sums(offsets.back(), 0.0);
      this->CheckAgreement(sums.size());
      if (!sums.empty()) {
        pages([&](BinIndex const& index) {
          common::ParallelFor(end - begin, n_threads_, common::Sched::Dyn(1), [&](auto k) {
            auto const i = begin + k;
            auto const& node = nodes_[requests[i].nid];
            auto const& cluster = node.cluster->rows;
            AddCandidates(context, index, cluster,
                          RowsOfPage(cluster, index, this->RowsOf(node, rows[i])),
                          best[i].candidates, sums.data() + offsets[k]);
          });
        });
        this->SumOverWorkers(&sums);
      }
      common::ParallelFor(end - begin, n_threads_, common::Sched::Dyn(1),
                          [&](auto k) { decide(begin + k, sums.data() + offsets[k]); });
    }
  }

  /** @brief Check that all workers have so many sums; they do if they compute alike. */
  void CheckAgreement(std::size_t n_sums) const {
    auto const n = static_cast<std::int64_t>(n_sums);
    std::array<std::int64_t, 2> bounds{n, -n};
    collective::SafeColl(collective::Allreduce(ctx_, linalg::MakeVec(bounds.data(), bounds.size()),
                                               collective::Op::kMax));
    CHECK_EQ(bounds[0], -bounds[1])
        << "The workers disagree on splits. Do all of them have the same kind of processor?";
  }

  /** @brief Forget the sums of a node. */
  void DropSums(ClusterNode* node) {
    for (auto& sums : node->sums) {
      kept_bytes_ -= sums.kept_bytes;
      sums = {};
    }
    for (auto& slots : node->categories) {
      kept_bytes_ -= slots.kept_bytes;
      slots = {};
    }
    for (auto& histogram : node->histograms) {
      kept_bytes_ -= histogram.kept_bytes;
      if (!histogram.sums.Empty()) {
        histogram_memory_.GiveBack(histogram.sums.Release());
      }
      histogram.kept_bytes = 0;
    }
  }

  /** @brief Fill the lists of one block for a new cluster or two siblings. */
  void FillLists(CandidateContext const& context, std::size_t b, bool is_new,
                 Request const* request, RootLists const& root, ListBuffer* buffer) {
    auto& node = nodes_[request->nid];
    if (is_new) {
      if (node.entries != root.entries) {
        MakeLists(node.cluster->rows, context.index, b, context.blocks[b], context.cuts, buffer,
                  &(*node.entries)[b], &node.lists[b]);
      }
      this->NumberSums(b, &node);
      return;
    }
    auto& sibling = nodes_[request[1].nid];
    auto const& parent = nodes_[request->parent];
    auto& to = (*node.entries)[b];
    auto const& from = (*parent.entries)[b];
    to.resize(from.size());
    auto siblings = PartLists(parent.lists[b], from.data(), to.data(),
                              node.cluster->is_right.data(), node.n_rows, sibling.n_rows, buffer);
    node.lists[b] = std::move(siblings.left);
    sibling.lists[b] = std::move(siblings.right);
    this->NumberSums(b, &node);
    this->NumberSums(b, &sibling);
  }

  /** @brief Fill the sums of a group of blocks, a chunk of labels at a time: it stays in cache. */
  void FillSums(Task const& task, std::size_t n_nodes, Request const* request) {
    auto& node = nodes_[request->nid];
    for (auto const& chunk : node.cluster->rows.Chunks()) {
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        if (n_nodes == 2) {
          SumSiblings(b, chunk, nodes_[request->parent], &node, &nodes_[request[1].nid]);
          continue;
        }
        for (std::uint32_t i = 0; i < node.lists[b].size(); ++i) {
          if (node.sums[b].Has(i)) {
            SumOfList(node, b, i, chunk, &node.sums[b]);
          }
        }
      }
    }
  }

  /** @brief Fill the sums over categories of a group of blocks. */
  void FillCategories(CandidateContext const& context, Task const& task, std::size_t n_nodes,
                      Request const* request) {
    auto takes = [&](std::size_t k, RowList const& list) {
      auto const* allowed = request[k].allowed;
      return common::IsCat(context.types, list.feature) && (!allowed || allowed[list.feature]);
    };
    auto has_rest = [&](std::size_t k, RowList const& list) {
      return context.index.DefaultBin(list.feature) != BinIndex::kNoBin &&
             list.end - list.begin < nodes_[request[k].nid].n_rows;
    };
    auto& node = nodes_[request->nid];
    auto* sibling = n_nodes == 2 ? &nodes_[request[1].nid] : nullptr;
    auto const* parent = n_nodes == 2 ? &nodes_[request->parent] : nullptr;
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      NumberCategories(b, parent, &node, sibling, takes, has_rest);
      for (auto* of : {&node, sibling}) {
        if (of) {
          auto& slots = of->categories[b];
          auto const n_values = 2 * of->cluster->rows.PaddedLabels() * slots.codes.size();
          slots.values.Resize(n_values);
          auto const bytes = n_values * sizeof(std::int32_t);
          slots.kept_bytes = this->Reserve(bytes) ? bytes : 0;
        }
      }
    }
    for (auto const& chunk : node.cluster->rows.Chunks()) {
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        if (sibling) {
          SumCategorySiblings(b, chunk, *parent, &node, sibling);
          SumRest(b, chunk, sibling);
        } else {
          for (std::uint32_t i = 0; i < node.lists[b].size(); ++i) {
            if (node.categories[b].Has(i)) {
              SumCategories(b, i, chunk, &node);
            }
          }
        }
        SumRest(b, chunk, &node);
      }
    }
  }

  /** @brief Give a place to the sums of each list with one bin. */
  void NumberSums(std::size_t b, ClusterNode* node) {
    auto const* entries = (*node->entries)[b].data();
    auto const& lists = node->lists[b];
    auto& sums = node->sums[b];
    sums.position.assign(lists.size(), FeatureSums::kNone);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (HasOneBin(entries, lists[i])) {
        sums.position[i] = static_cast<std::uint32_t>(sums.n++);
      }
    }
    auto const n_values = 2 * node->cluster->rows.PaddedLabels() * sums.n;
    sums.values.Resize(n_values);
    sums.kept_bytes =
        this->Reserve(n_values * sizeof(std::int32_t)) ? n_values * sizeof(std::int32_t) : 0;
  }

  /** @brief Keep the root's lists for the trees that follow. */
  void KeepRoot(ClusterNode const& node, RootLists* root) {
    if (!node.cluster->has_lists || node.entries == root->entries) {
      return;
    }
    if (root->entries && root->entries.use_count() == 1) {
      spare_entries_.push_back(std::move(root->entries));
    }
    *root = {node.cluster->rows.GlobalRows(), node.entries, node.lists};
  }

  /** @brief Nodes with a smaller part of their cluster's rows become clusters of their own. */
  static constexpr std::size_t kMaxShrinkage = 256;
  /** @brief Where rows are shared out: size of the histograms that one pass over the pages fills.
   */
  static constexpr std::size_t kPassBytes = std::size_t{1} << 28;
  /** @brief With lists: number of tasks for each thread. */
  static constexpr std::size_t kTasksPerThread = 4;

  Context const* ctx_{nullptr};
  std::int32_t n_threads_{1};
  bool is_shared_{false};
  WorkerShares shares_;
  ClusterParam param_;
  std::size_t n_labels_{0};
  std::vector<ClusterNode> nodes_;         // by node index
  std::vector<NodeRows> node_rows_;        // by request; more are of earlier ones: memory is kept
  std::vector<std::uint32_t> local_rows_;  // by global row: its number in its cluster
  std::vector<std::uint32_t> numbers_;     // 0, 1, ...
  std::shared_ptr<BlockEntries> root_children_;
  MemoryPool cluster_memory_, histogram_memory_;
  std::vector<std::shared_ptr<BlockEntries>> spare_entries_;
  std::mutex entries_lock_;
  std::vector<Buffer> buffers_;  // one per thread
  alignas(kCacheLines) std::atomic<std::size_t> kept_bytes_{0};
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_
