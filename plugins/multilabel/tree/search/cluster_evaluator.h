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
 */
#ifndef XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_
#define XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_

#include <algorithm>  // for copy_n, fill_n, max, min
#include <array>      // for array
#include <atomic>     // for atomic
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint8_t, uint32_t
#include <limits>     // for numeric_limits
#include <memory>     // for make_shared, shared_ptr
#include <mutex>      // for lock_guard, mutex
#include <numeric>    // for accumulate, iota
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "../data/aligned_array.h"                   // for AlignedArray, MemoryPool
#include "../data/gradient_matrix.h"                 // for GradientMatrix
#include "cluster_node.h"                            // for ClusterNode, ClusterParam, RootLists
#include "cluster_scan.h"        // for MakeListRanges, MakeBinRanges, ScoreSplits
#include "evaluator.h"           // for NodeStats, Split, SplitScanner
#include "integer_histogram.h"   // for BinSortBuffer, IntegerHistogram
#include "row_cluster.h"         // for RowCluster
#include "row_lists.h"           // for MakeLists, PartLists
#include "split_candidate.h"     // for CandidateContext, Decide, RunningBest
#include "xgboost/base.h"        // for bst_idx_t, bst_node_t
#include "xgboost/context.h"     // for Context
#include "xgboost/logging.h"     // for CHECK_EQ
#include "xgboost/span.h"        // for Span
#include "xgboost/tree_model.h"  // for RegTree

namespace xgboost::multilabel {
class ClusterEvaluator {
 public:
  /** @brief Row numbers of lists have 16 bits. */
  static constexpr std::size_t kMaxListRows = std::size_t{1} << kBinShift;

  /** @brief A node to evaluate. */
  struct Request {
    bst_node_t nid;
    /** @brief `RegTree::kInvalidNodeId` for the root. */
    bst_node_t parent;
    /** @brief Global indices of the node's rows. */
    common::Span<bst_idx_t const> rows;
    /** @brief By feature: whether the node may be split on it; null: on all. */
    std::uint8_t const* allowed;
    NodeStats* stats;
    Split* split;
  };

  /** @brief Begin a tree. */
  void Reset(Context const* ctx, ClusterParam const& param, std::size_t n_blocks, bst_idx_t n_rows,
             std::size_t n_labels) {
    n_threads_ = ctx->Threads();
    param_ = param;
    n_labels_ = n_labels;
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
    local_rows_.resize(n_rows);
    buffers_.resize(n_threads_);
    if (!root_children_ || root_children_->size() != n_blocks) {
      root_children_ = std::make_shared<BlockEntries>(n_blocks);
    }
  }

  /**
   * @brief Find the best split of each node.
   *
   * @param requests The root, or pairs of siblings, the left one first.
   * @param root     Lists of a root's rows; they serve the next tree if that has the same rows.
   */
  void Evaluate(CandidateContext const& context, std::vector<Request> const& requests,
                std::vector<SplitScanner>* scanners, RootLists* root) {
    for (auto const& request : requests) {
      nodes_.resize(std::max(nodes_.size(), static_cast<std::size_t>(request.nid) + 1));
    }
    auto rows = this->NumberRows(context.gradients, requests);
    auto jobs = this->MakeJobs(requests);
    if (jobs.size() == 1) {  // threads are of more use inside
      this->Prepare(context, requests, *root, n_threads_, jobs.front(), &rows);
    } else {
      common::ParallelFor(jobs.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
        this->Prepare(context, requests, *root, 1, jobs[i], &rows);
      });
    }
    auto const tasks = this->MakeTasks(jobs, requests, context.blocks.size());
    std::vector<std::array<RunningBest, 2>> running(tasks.size());
    common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
      this->Work(context, jobs[tasks[i].job], tasks[i], requests, rows, *root, &running[i]);
    });
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
    common::ParallelFor(requests.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
      auto const& node = nodes_[requests[i].nid];
      Decide(context, node.error, node.cluster->rows, rows[i].local, &best[i],
             &(*scanners)[omp_get_thread_num()], requests[i].stats, requests[i].split);
    });
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
    /** @brief Of histogram siblings: whether they go on with histograms. */
    std::array<bool, 2> is_large{};

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
    /** @brief Numbers in the parent's cluster; of the root in its own. */
    std::vector<std::uint32_t> local;
  };
  struct Task {
    std::size_t job, block_begin, block_end;
  };
  /** @brief Working memory of a thread, in cache lines of its own. */
  struct alignas(kCacheLines) Buffer {
    ListBuffer lists;
    BinSortBuffer bins;
    ScanBuffer scan;
  };

  [[nodiscard]] std::vector<Job> MakeJobs(std::vector<Request> const& requests) const {
    std::vector<Job> jobs;
    auto is_large = [&](std::size_t i) {
      return requests[i].stats->n_active > param_.max_list_rows;
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
        if (is_large(i) || is_large(i + 1)) {
          jobs.push_back({JobKind::kHistogramSiblings, i, 2});
          jobs.back().is_large = {is_large(i), is_large(i + 1)};
        }
        for (auto k : {i, i + 1}) {
          if (!is_large(k)) {
            push_new(k);
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
  [[nodiscard]] std::vector<NodeRows> NumberRows(GradientMatrix const& gradients,
                                                 std::vector<Request> const& requests) {
    constexpr std::size_t kRun = 2048;
    struct Run {
      std::size_t request, begin, n;
    };
    std::vector<NodeRows> rows(requests.size());
    std::vector<Run> runs;
    // Small nodes share a task: siblings' marks lie in the same cache lines.
    std::vector<std::size_t> tasks{0};
    std::size_t n_task_rows{0};
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto const n_rows = requests[i].rows.size();
      rows[i].global.resize(n_rows);
      rows[i].local.resize(n_rows);
      for (std::size_t begin = 0; begin < n_rows; begin += kRun) {
        if (n_task_rows >= kRun) {
          tasks.push_back(runs.size());
          n_task_rows = 0;
        }
        runs.push_back({i, begin, 0});
        n_task_rows += std::min(kRun, n_rows - begin);
      }
    }
    tasks.push_back(runs.size());
    // Each run fills the front of its stretch.
    auto number = [&](Run* run) {
      auto const& request = requests[run->request];
      auto* global = rows[run->request].global.data() + run->begin;
      for (auto i = run->begin; i < std::min(run->begin + kRun, request.rows.size()); ++i) {
        global[run->n] = request.rows[i];
        run->n += gradients.Active(request.rows[i]);
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
    for (std::size_t i = 0; i < requests.size(); ++i) {
      rows[i].global.resize(end[i]);
      rows[i].local.resize(end[i]);
      if (requests[i].parent == RegTree::kInvalidNodeId) {
        std::iota(rows[i].local.begin(), rows[i].local.end(), 0);
      }
      requests[i].stats->n_active = end[i];
    }
    return rows;
  }

  /** @param all_rows Of all requests; taken from where a job keeps them. */
  void Prepare(CandidateContext const& context, std::vector<Request> const& requests,
               RootLists const& root, std::int32_t n_threads, Job const& job,
               std::vector<NodeRows>* all_rows) {
    auto const& gradients = context.gradients;
    auto const n_blocks = context.blocks.size();
    auto const* request = requests.data() + job.begin;
    auto* rows = all_rows->data() + job.begin;
    auto& first = nodes_[request->nid];
    if (job.IsNew()) {
      first.cluster =
          this->MakeCluster(gradients, std::move(rows->global), job.HasLists(), n_threads);
      std::vector<std::uint32_t> all(first.cluster->rows.NumRows());
      std::iota(all.begin(), all.end(), 0);
      SumTotals(n_threads, all, &first);
      SetConstants(param_, n_labels_, *request->stats, &first);
      if (!job.HasLists()) {
        first.histograms.resize(n_blocks);
        return;
      }
      first.sums.resize(n_blocks);
      if (root.entries && first.cluster->rows.GlobalRows() == root.rows) {
        first.entries = root.entries;
        first.lists = root.lists;
      } else {
        first.entries = this->TakeEntries(n_blocks);
        first.lists.resize(n_blocks);
      }
      return;
    }
    auto& parent = nodes_[request->parent];
    auto const small = SmallSibling(request);
    ClusterNode temporary;  // of a sibling that becomes a cluster of its own
    ClusterNode* siblings[2];
    for (std::size_t k = 0; k < 2; ++k) {
      siblings[k] = job.HasLists() || job.is_large[k] ? &nodes_[request[k].nid] : &temporary;
      siblings[k]->cluster = parent.cluster;
    }
    SumTotals(n_threads, rows[small].local, siblings[small]);
    SubtractTotals(parent, *siblings[small], siblings[1 - small]);
    for (std::size_t k = 0; k < 2; ++k) {
      auto& node = *siblings[k];
      if (&node == &temporary) {
        continue;
      }
      SetConstants(param_, n_labels_, *request[k].stats, &node);
      if (!job.HasLists()) {
        node.histograms.resize(n_blocks);
        continue;
      }
      // The lists of the root are kept: the first partition puts the children elsewhere.
      node.entries = parent.entries == root.entries ? root_children_ : parent.entries;
      node.lists.resize(n_blocks);
      node.sums.resize(n_blocks);
    }
  }

  /** @brief Which of two siblings has fewer rows. */
  [[nodiscard]] static std::size_t SmallSibling(Request const* request) {
    return request[0].stats->n_active <= request[1].stats->n_active ? 0 : 1;
  }

  std::shared_ptr<Cluster> MakeCluster(GradientMatrix const& gradients,
                                       std::vector<bst_idx_t> global_rows, bool has_lists,
                                       std::int32_t n_threads) {
    auto memory = cluster_memory_.Take(2 * gradients.NumLabels() * global_rows.size());
    auto cluster = std::make_shared<Cluster>(Cluster{
        RowCluster{n_threads, gradients, std::move(global_rows), !has_lists, std::move(memory)},
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

  /** @brief Sum up and score one node, or two siblings, in a group of blocks. */
  void Work(CandidateContext const& context, Job const& job, Task const& task,
            std::vector<Request> const& requests, std::vector<NodeRows> const& all_rows,
            RootLists const& root, std::array<RunningBest, 2>* running) {
    auto* buffer = &buffers_[omp_get_thread_num()];
    auto const* request = requests.data() + job.begin;
    auto const* rows = all_rows.data() + job.begin;
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (job.kind == JobKind::kNewHistogram) {
        this->FillHistogram(context, b, rows->local, &buffer->bins, &nodes_[request->nid]);
      } else if (job.kind == JobKind::kHistogramSiblings) {
        this->FillSiblings(context, b, job, request, rows, &buffer->bins);
      } else {
        this->FillLists(context, b, job.kind == JobKind::kNewLists, request, root, &buffer->lists);
      }
    }
    if (job.HasLists()) {
      this->FillSums(task, job.n_nodes, request);
    }
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      auto& node = nodes_[request[k].nid];
      if (job.HasLists()) {
        MakeListRanges(context, task.block_begin, task.block_end, request[k].allowed, node,
                       &buffer->scan);
      } else if (job.IsNew() || job.is_large[k]) {
        MakeBinRanges(context, task.block_begin, request[k].allowed, node, &buffer->scan);
      } else {
        continue;
      }
      if (buffer->scan.n_scores > 0) {
        ScoreSplits(param_.method, n_labels_, node, &buffer->scan, &(*running)[k]);
      }
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        if (!job.HasLists() && node.histograms[b].kept_bytes == 0) {
          histogram_memory_.GiveBack(node.histograms[b].sums.Release());
        } else if (job.HasLists() && node.sums[b].kept_bytes == 0) {
          node.sums[b] = {};
        }
      }
    }
  }

  [[nodiscard]] IntegerHistogram MakeHistogram(CandidateContext const& context, std::size_t b,
                                               Cluster const& cluster,
                                               std::vector<std::uint32_t> const& rows,
                                               BinSortBuffer* buffer) {
    auto const n_bins = context.blocks[b].n_bins;
    auto const n_padded = cluster.rows.PaddedLabels();
    IntegerHistogram histogram{n_bins, n_padded, histogram_memory_.Take(2 * n_padded * n_bins)};
    histogram.Add(cluster.rows, context.index, b, context.blocks[b], rows, buffer);
    return histogram;
  }

  void FillHistogram(CandidateContext const& context, std::size_t b,
                     std::vector<std::uint32_t> const& rows, BinSortBuffer* buffer,
                     ClusterNode* node) {
    node->histograms[b].sums = this->MakeHistogram(context, b, *node->cluster, rows, buffer);
    this->KeepHistogram(context, b, &node->histograms[b], *node);
  }

  void KeepHistogram(CandidateContext const& context, std::size_t b, NodeHistogram* histogram,
                     ClusterNode const& node) {
    auto const bytes =
        IntegerHistogram::Bytes(context.blocks[b].n_bins, node.cluster->rows.PaddedLabels());
    histogram->kept_bytes = this->Reserve(bytes) ? bytes : 0;
  }

  /** @brief Fill the histogram of the smaller sibling; the other's is what the parent has left. */
  void FillSiblings(CandidateContext const& context, std::size_t b, Job const& job,
                    Request const* request, NodeRows const* rows, BinSortBuffer* buffer) {
    auto& parent = nodes_[request->parent];
    auto const small = SmallSibling(request);
    auto& of_parent = parent.histograms[b];
    auto part = this->MakeHistogram(context, b, *parent.cluster, rows[small].local, buffer);
    auto& large = nodes_[request[1 - small].nid];
    if (of_parent.sums.Empty()) {
      this->FillHistogram(context, b, rows[1 - small].local, buffer, &large);
    } else {
      large.histograms[b] = std::move(of_parent);
      of_parent = {};
      large.histograms[b].sums.Subtract(part, parent.cluster->rows.PaddedLabels());
    }
    if (job.is_large[small]) {
      auto& node = nodes_[request[small].nid];
      node.histograms[b].sums = std::move(part);
      this->KeepHistogram(context, b, &node.histograms[b], node);
    } else {
      histogram_memory_.GiveBack(part.Release());
    }
  }

  /** @brief Forget the sums of a node. */
  void DropSums(ClusterNode* node) {
    for (auto& sums : node->sums) {
      kept_bytes_ -= sums.kept_bytes;
      sums = {};
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

  /** @brief With lists: number of tasks for each thread. */
  static constexpr std::size_t kTasksPerThread = 4;

  std::int32_t n_threads_{1};
  ClusterParam param_;
  std::size_t n_labels_{0};
  std::vector<ClusterNode> nodes_;         // by node index
  std::vector<std::uint32_t> local_rows_;  // by global row: its number in its cluster
  std::shared_ptr<BlockEntries> root_children_;
  MemoryPool cluster_memory_, histogram_memory_;
  std::vector<std::shared_ptr<BlockEntries>> spare_entries_;
  std::mutex entries_lock_;
  std::vector<Buffer> buffers_;  // one per thread
  alignas(kCacheLines) std::atomic<std::size_t> kept_bytes_{0};
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_
