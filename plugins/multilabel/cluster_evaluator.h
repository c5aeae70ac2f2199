/**
 * @brief Finds the best splits of nodes, with integers and vectors: lists or histograms.
 *
 * A *cluster* (`row_cluster.h`) is the rows of a node, and of all its descendants, with gradients
 * as integers. A small node becomes a cluster with sorted row lists (`row_lists.h`), and so work
 * on it and on what lies below grows with rows alone, not with bins. A large node becomes a cluster
 * with histograms (`integer_histogram.h`), of which the larger sibling's follow by subtraction; a
 * descendant that is small enough becomes a cluster of its own, with lists.
 *
 * 1. Prepare: make clusters; tell siblings which of their parent's rows went where.
 * 2. Scan, one task per node (or two siblings) and group of feature blocks: make or part the lists,
 *    or fill the histograms; score all splits approximately (`list_scan.h`); keep those that the
 *    error of the scores leaves in the running.
 * 3. Decide between these in double precision (`split_candidate.h`).
 *
 * Sums from which siblings' sums can follow are kept up to a limit on memory; beyond it they are
 * added up again. More than 300 lines, so that these steps stand together.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_
#define XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_

#include <algorithm>  // for max, min, partition_point
#include <array>      // for array
#include <atomic>     // for atomic
#include <cmath>      // for abs, ldexp, sqrt
#include <cstddef>    // for size_t
#include <cstdint>    // for uint8_t, uint32_t
#include <limits>     // for numeric_limits
#include <memory>     // for make_shared, shared_ptr
#include <mutex>      // for lock_guard, mutex
#include <numeric>    // for iota
#include <utility>    // for move, swap
#include <vector>     // for vector

#include "../../src/common/hist_util.h"        // for HistogramCuts
#include "../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "bin_index.h"                         // for BinIndex, FeatureBlock
#include "evaluator.h"                         // for NodeStats, Split, SplitScanner
#include "gradient_matrix.h"                   // for GradientMatrix
#include "integer_histogram.h"                 // for IntegerHistogram
#include "list_scan.h"                         // for ScanList, SumList
#include "row_cluster.h"                       // for RowCluster
#include "row_lists.h"                         // for MakeLists, PartLists
#include "split_candidate.h"                   // for Candidate, Decide
#include "split_score.h"                       // for Regularisation
#include "xgboost/base.h"                      // for bst_feature_t, bst_idx_t, bst_node_t
#include "xgboost/context.h"                   // for Context
#include "xgboost/logging.h"                   // for LOG
#include "xgboost/span.h"                      // for Span
#include "xgboost/tree_model.h"                // for RegTree

namespace xgboost::multilabel {
/** @brief The sum over a list for a chunk of `width` labels. */
using ListSumFn = void (*)(ListEntry const* entries, std::size_t n, std::int32_t const* rows,
                           std::int32_t* out);

inline ListSumFn ListSumOfWidth(std::size_t width) {
  switch (width) {
    case 8:
      return &SumList<1>;
    case 16:
      return &SumList<2>;
    case 24:
      return &SumList<3>;
    case 32:
      return &SumList<4>;
    case 48:
      return &SumList<6>;
    case 64:
      return &SumList<8>;
    default:
      LOG(FATAL) << "Unreachable";
      return nullptr;
  }
}

/** @brief The scan of one split method for a chunk of `width` labels. */
using ListScanFn = std::uint32_t (*)(ListRange range, ChunkView chunk, ScanOutput out);

template <SplitMethod kMethod>
ListScanFn ListScanOfWidth(std::size_t width) {
  switch (width) {
    case 8:
      return &ScanList<kMethod, 8, 1>;
    case 16:
      return &ScanList<kMethod, 16, 1>;
    case 24:
      return &ScanList<kMethod, 8, 3>;
    case 32:
      return &ScanList<kMethod, 16, 2>;
    case 48:
      return &ScanList<kMethod, 16, 3>;
    case 64:
      return &ScanList<kMethod, 16, 4>;
    default:
      LOG(FATAL) << "Unreachable";
      return nullptr;
  }
}

inline ListScanFn ChooseListScan(SplitMethod method, std::size_t width) {
  switch (method) {
    case SplitMethod::kSumGain:
      return ListScanOfWidth<SplitMethod::kSumGain>(width);
    case SplitMethod::kMaxGain:
      return ListScanOfWidth<SplitMethod::kMaxGain>(width);
    case SplitMethod::kSumWeight:
      return ListScanOfWidth<SplitMethod::kSumWeight>(width);
    case SplitMethod::kMaxWeight:
      return ListScanOfWidth<SplitMethod::kMaxWeight>(width);
    case SplitMethod::kSumAbsG:
      return ListScanOfWidth<SplitMethod::kSumAbsG>(width);
    case SplitMethod::kMaxAbsG:
      return ListScanOfWidth<SplitMethod::kMaxAbsG>(width);
  }
  LOG(FATAL) << "Unreachable";
  return nullptr;
}

/** @brief The entries of a cluster, by block. */
using BlockEntries = std::vector<std::vector<ListEntry>>;

/** @brief The lists of a cluster of all rows, which are the same for every tree. */
struct RootLists {
  std::shared_ptr<BlockEntries> entries;
  std::vector<std::vector<RowList>> lists;
};

/** @brief Memory that was used before: new pages cost more than the sums that they hold. */
class MemoryPool {
  std::vector<AlignedArray<std::int32_t>> spare_;
  std::mutex lock_;

 public:
  /** @brief The smallest array with room for `n` numbers, else the largest one there is. */
  [[nodiscard]] AlignedArray<std::int32_t> Take(std::size_t n) {
    std::lock_guard<std::mutex> guard{lock_};
    auto const best =
        std::min_element(spare_.begin(), spare_.end(), [n](auto const& l, auto const& r) {
          bool const l_fits = l.Capacity() >= n, r_fits = r.Capacity() >= n;
          return l_fits != r_fits ? l_fits : (l.Capacity() < r.Capacity()) == l_fits;
        });
    AlignedArray<std::int32_t> memory;
    if (best != spare_.end()) {
      memory = std::move(*best);
      spare_.erase(best);
    }
    return memory;
  }
  void GiveBack(AlignedArray<std::int32_t> memory) {
    std::lock_guard<std::mutex> guard{lock_};
    spare_.push_back(std::move(memory));
  }
};

/** @brief Settings of a `ClusterEvaluator`. */
struct ClusterParam {
  Regularisation reg;
  SplitMethod method{SplitMethod::kSumGain};
  /** @brief Nodes with more rows use histograms. */
  std::size_t max_list_rows{0};
  /** @brief For sums that are kept for the sake of siblings. */
  std::size_t max_bytes{0};
};

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
   * @param root     Lists of all rows; filled by the first tree that has use for them.
   */
  void Evaluate(CandidateContext const& context, std::vector<Request> const& requests,
                std::vector<SplitScanner>* scanners, RootLists* root) {
    for (auto const& request : requests) {
      nodes_.resize(std::max(nodes_.size(), static_cast<std::size_t>(request.nid) + 1));
    }
    auto jobs = this->MakeJobs(requests);
    // Siblings read row numbers that new clusters then change.
    for (bool is_new : {false, true}) {
      if (jobs.size() == 1) {  // the root: threads are of more use inside
        if (jobs.front().IsNew() == is_new) {
          this->Prepare(context, requests, *root, n_threads_, &jobs.front());
        }
        continue;
      }
      common::ParallelFor(jobs.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
        if (jobs[i].IsNew() == is_new) {
          this->Prepare(context, requests, *root, 1, &jobs[i]);
        }
      });
    }
    auto const tasks = this->MakeTasks(jobs, context.blocks.size());
    std::vector<std::array<RunningBest, 2>> running(tasks.size());
    common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
      this->Work(context, jobs[tasks[i].job], tasks[i], requests, *root, &running[i]);
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
      Decide(context, node.error, node.cluster->rows, node.rows, &best[i],
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
  enum class JobKind : std::uint8_t { kNewLists, kNewHistogram, kListSiblings, kHistogramSiblings };
  /** @brief One node that becomes a cluster, or two siblings in the cluster of their parent. */
  struct Job {
    JobKind kind;
    std::size_t begin;    // among the requests
    std::size_t n_nodes;  // that it evaluates
    /** @brief Of histogram siblings: rows of both, and whether they go on with histograms. */
    std::array<std::vector<std::uint32_t>, 2> rows{};
    std::array<bool, 2> is_large{};

    [[nodiscard]] bool IsNew() const {
      return kind == JobKind::kNewLists || kind == JobKind::kNewHistogram;
    }
  };
  struct Task {
    std::size_t job, block_begin, block_end;
  };
  struct Range {
    ListRange list;
    Direction direction;
    bst_feature_t feature;
    std::size_t block;
    std::size_t offset;  // of its scores
  };
  struct Cluster {
    RowCluster rows;
    bool has_lists;
    std::vector<std::uint8_t> is_right;   // of the last partition, by row
    AlignedArray<float> lambda, padding;  // by padded label
  };
  /** @brief Sums over the lists with one bin: the only split that such a feature offers. */
  struct FeatureSums {
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    std::size_t n{0};
    std::size_t kept_bytes{0};
    std::vector<std::uint32_t> position;  // by list: position among the sums
    AlignedArray<std::int32_t> values;    // chunk by chunk: [n, 2 * width]

    [[nodiscard]] std::int32_t* Of(LabelChunk const& chunk) {
      return values.Data() + 2 * chunk.padded_begin * n;
    }
    [[nodiscard]] std::int32_t const* Of(LabelChunk const& chunk) const {
      return values.Data() + 2 * chunk.padded_begin * n;
    }
    [[nodiscard]] bool Has(std::uint32_t list) const {
      return list < position.size() && position[list] != kNone;
    }
  };
  struct NodeHistogram {
    IntegerHistogram sums;
    std::size_t kept_bytes{0};
  };
  struct Node {
    std::shared_ptr<Cluster> cluster;
    std::size_t n_rows{0};
    std::shared_ptr<BlockEntries> entries;    // of the cluster
    std::vector<std::vector<RowList>> lists;  // by block
    std::vector<FeatureSums> sums;            // by block
    std::vector<std::uint32_t> rows;          // of the cluster, where the node has histograms
    std::vector<NodeHistogram> histograms;    // by block
    AlignedArray<std::int32_t> totals;        // [2 * padded], chunk by chunk
    AlignedArray<float> mean, total;          // by padded label
    ScoreError error;
  };
  /** @brief Splits on features with one bin, scored from their sums: [begin, end) of the buffer. */
  struct BlockSplits {
    std::size_t block, begin, end;
  };
  struct Buffer {
    ListBuffer lists;
    std::vector<ListEntry> bins;  // that hold rows, of a block's histogram
    std::vector<BlockSplits> single_blocks;
    std::vector<ListEntry> single_sums;  // positions of the sums
    std::vector<Range> singles;          // the lists of these splits
    std::vector<Range> ranges;
    std::vector<float> passed, rest;  // scores of the singles, then of the ranges
    std::size_t n_scores{0};
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
                                            std::size_t n_blocks) const {
    std::vector<Task> tasks;
    std::size_t const n_threads = n_threads_;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      bool const has_lists =
          jobs[j].kind == JobKind::kNewLists || jobs[j].kind == JobKind::kListSiblings;
      auto const n_groups =
          has_lists ? std::min(n_blocks, n_threads == 1 ? 1 : 4 * n_threads) : n_blocks;
      for (std::size_t g = 0; g < n_groups; ++g) {
        tasks.push_back({j, n_blocks * g / n_groups, n_blocks * (g + 1) / n_groups});
      }
    }
    return tasks;
  }

  void Prepare(CandidateContext const& context, std::vector<Request> const& requests,
               RootLists const& root, std::int32_t n_threads, Job* job) {
    auto const& gradients = context.gradients;
    auto const n_blocks = context.blocks.size();
    auto const* request = requests.data() + job->begin;
    auto& first = nodes_[request->nid];
    if (job->kind == JobKind::kNewHistogram) {
      first.cluster = this->MakeCluster(gradients, request->rows, false, n_threads);
      first.histograms.resize(n_blocks);
      first.rows.resize(first.cluster->rows.NumRows());
      std::iota(first.rows.begin(), first.rows.end(), 0);
      SumTotals(n_threads, first.rows, &first);
      this->SetConstants(gradients, *request, &first);
      return;
    }
    if (job->kind == JobKind::kNewLists) {
      first.cluster = this->MakeCluster(gradients, request->rows, true, n_threads);
      first.sums.resize(n_blocks);
      if (first.cluster->rows.NumRows() == local_rows_.size() && root.entries) {
        first.entries = root.entries;
        first.lists = root.lists;
      } else {
        first.entries = this->TakeEntries(n_blocks);
        first.lists.resize(n_blocks);
      }
      std::vector<std::uint32_t> rows(first.cluster->rows.NumRows());
      std::iota(rows.begin(), rows.end(), 0);
      SumTotals(n_threads, rows, &first);
      this->SetConstants(gradients, *request, &first);
      return;
    }
    auto& parent = nodes_[request->parent];
    for (std::size_t k = 0; k < 2; ++k) {
      for (auto row : request[k].rows) {
        if (gradients.Active(row)) {
          job->rows[k].push_back(local_rows_[row]);
        }
      }
    }
    std::size_t const small = job->rows[0].size() <= job->rows[1].size() ? 0 : 1;
    Node temporary;  // of a sibling that becomes a cluster of its own
    Node* siblings[2];
    for (std::size_t k = 0; k < 2; ++k) {
      bool const goes_on = job->kind == JobKind::kListSiblings || job->is_large[k];
      siblings[k] = goes_on ? &nodes_[request[k].nid] : &temporary;
      siblings[k]->cluster = parent.cluster;
    }
    SumTotals(n_threads, job->rows[small], siblings[small]);
    SubtractTotals(parent, *siblings[small], siblings[1 - small]);
    for (std::size_t k = 0; k < 2; ++k) {
      auto& node = *siblings[k];
      if (&node == &temporary) {
        continue;
      }
      this->SetConstants(gradients, request[k], &node);
      if (job->kind == JobKind::kHistogramSiblings) {
        node.histograms.resize(n_blocks);
        node.rows = job->rows[k];
        continue;
      }
      // The lists of the root are kept: the first partition puts the children elsewhere.
      node.entries = parent.entries == root.entries ? root_children_ : parent.entries;
      node.lists.resize(n_blocks);
      node.sums.resize(n_blocks);
      for (auto row : job->rows[k]) {
        parent.cluster->is_right[row] = static_cast<std::uint8_t>(k);
      }
    }
  }

  std::shared_ptr<Cluster> MakeCluster(GradientMatrix const& gradients,
                                       common::Span<bst_idx_t const> all_rows, bool has_lists,
                                       std::int32_t n_threads) {
    auto cluster = std::make_shared<Cluster>(
        Cluster{RowCluster{n_threads, gradients, all_rows, !has_lists,
                           cluster_memory_.Take(2 * gradients.NumLabels() * all_rows.size())},
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
  /** @brief Sum up the rows of a node. */
  static void SumTotals(std::int32_t n_threads, std::vector<std::uint32_t> const& node_rows,
                        Node* node) {
    auto const& rows = node->cluster->rows;
    node->n_rows = node_rows.size();
    node->totals.Assign(2 * rows.PaddedLabels(), 0);
    constexpr std::size_t kRun = 1024;
    auto sum = [&](std::size_t run, AlignedArray<std::int32_t>* out) {
      for (auto const& chunk : rows.Chunks()) {
        SumClusterRows(rows.Values(chunk), chunk.width, node_rows.data() + run * kRun,
                       std::min(kRun, node_rows.size() - run * kRun),
                       out->Data() + 2 * chunk.padded_begin);
      }
    };
    auto const n_runs = (node_rows.size() + kRun - 1) / kRun;
    if (n_threads == 1) {
      for (std::size_t run = 0; run < n_runs; ++run) {
        sum(run, &node->totals);
      }
      return;
    }
    std::vector<AlignedArray<std::int32_t>> parts(n_threads, node->totals);
    common::ParallelFor(n_runs, n_threads,
                        [&](auto run) { sum(run, &parts[omp_get_thread_num()]); });
    for (auto const& part : parts) {
      for (std::size_t k = 0; k < 2 * rows.PaddedLabels(); ++k) {
        node->totals.Data()[k] += part.Data()[k];
      }
    }
  }
  /** @brief The same for the sibling of a node. */
  static void SubtractTotals(Node const& parent, Node const& part, Node* node) {
    node->n_rows = parent.n_rows - part.n_rows;
    node->totals = parent.totals;
    SubtractIntegers(part.totals.Data(), 2 * node->cluster->rows.PaddedLabels(),
                     node->totals.Data());
  }

  /** @brief Derive what the scores of a node need. */
  void SetConstants(GradientMatrix const& gradients, Request const& request, Node* node) const {
    auto const& rows = node->cluster->rows;
    auto const n_padded = rows.PaddedLabels();
    auto const& stats = *request.stats;
    node->mean.Assign(n_padded, 0.0f);
    node->total.Assign(n_padded, 2.0f);
    double sum_total{0.0}, sum_absolute{0.0};
    auto const n_labels = gradients.NumLabels();
    for (auto const& chunk : rows.Chunks()) {
      for (std::size_t k = 0; k < chunk.n_labels; ++k) {
        auto const j = rows.Labels()[chunk.begin + k];
        auto const at = chunk.padded_begin + k;
        double const grad = stats.sums[j], hess = stats.sums[n_labels + j];
        double const total = hess + 2.0 * param_.reg.lambda;
        if (auto const scale = rows.GradScale()[at]; scale > 0.0f) {
          node->mean.Data()[at] = static_cast<float>(grad / total / scale);
        }
        node->total.Data()[at] = static_cast<float>(total);
        sum_total += grad * grad / total;
        sum_absolute += std::abs(grad) / (hess + param_.reg.lambda);
      }
    }
    // The errors of single precision, and of integers that are sums of n rounded ones.
    auto const n = std::sqrt(static_cast<float>(node->n_rows));
    if (param_.method == SplitMethod::kSumGain) {
      node->error = {1e-5f + std::ldexp(n, -20), 0.0f, sum_total - stats.score};
    } else {
      auto const relative = 2e-6f + std::ldexp(n, -24);
      auto const size =
          param_.method == SplitMethod::kMaxGain ? std::abs(stats.score) : 4.0 * sum_absolute;
      node->error = {relative, relative * static_cast<float>(size), -stats.score};
    }
  }

  /** @brief Sum up and score one node, or two siblings, in a group of blocks. */
  void Work(CandidateContext const& context, Job const& job, Task const& task,
            std::vector<Request> const& requests, RootLists const& root,
            std::array<RunningBest, 2>* running) {
    auto* buffer = &buffers_[omp_get_thread_num()];
    auto const* request = requests.data() + job.begin;
    bool const has_histograms =
        job.kind == JobKind::kNewHistogram || job.kind == JobKind::kHistogramSiblings;
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      if (job.kind == JobKind::kNewHistogram) {
        this->FillHistogram(context, b, nodes_[request->nid].rows, &nodes_[request->nid]);
      } else if (job.kind == JobKind::kHistogramSiblings) {
        this->FillSiblings(context, b, job, request);
      } else {
        this->FillLists(context, b, job.kind == JobKind::kNewLists, request, root, &buffer->lists);
      }
    }
    if (!has_histograms) {
      this->FillSums(task, job.n_nodes, request);
    }
    for (std::size_t k = 0; k < job.n_nodes; ++k) {
      auto& node = nodes_[request[k].nid];
      if (!has_histograms) {
        this->MakeRanges(context, task, request[k], buffer);
      } else if (job.IsNew() || job.is_large[k]) {
        this->MakeBinRanges(context, task.block_begin, request[k], buffer);
      } else {
        continue;
      }
      if (buffer->n_scores > 0) {
        this->Score(node, buffer, &(*running)[k]);
      }
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        if (has_histograms && node.histograms[b].kept_bytes == 0) {
          histogram_memory_.GiveBack(node.histograms[b].sums.Release());
        } else if (!has_histograms && node.sums[b].kept_bytes == 0) {
          node.sums[b] = {};
        }
      }
    }
  }

  [[nodiscard]] IntegerHistogram MakeHistogram(CandidateContext const& context, std::size_t b,
                                               Cluster const& cluster,
                                               std::vector<std::uint32_t> const& rows) {
    auto const n_bins = context.blocks[b].n_bins;
    auto const n_padded = cluster.rows.PaddedLabels();
    IntegerHistogram histogram{n_bins, n_padded, histogram_memory_.Take(2 * n_padded * n_bins)};
    histogram.Add(cluster.rows, context.index, b, context.blocks[b], rows);
    return histogram;
  }

  void FillHistogram(CandidateContext const& context, std::size_t b,
                     std::vector<std::uint32_t> const& rows, Node* node) {
    node->histograms[b].sums = this->MakeHistogram(context, b, *node->cluster, rows);
    this->KeepHistogram(context, b, &node->histograms[b], *node);
  }

  void KeepHistogram(CandidateContext const& context, std::size_t b, NodeHistogram* histogram,
                     Node const& node) {
    auto const bytes =
        IntegerHistogram::Bytes(context.blocks[b].n_bins, node.cluster->rows.PaddedLabels());
    histogram->kept_bytes = this->Reserve(bytes) ? bytes : 0;
  }

  /** @brief Fill the histogram of the smaller sibling; the other's is what the parent has left. */
  void FillSiblings(CandidateContext const& context, std::size_t b, Job const& job,
                    Request const* request) {
    auto& parent = nodes_[request->parent];
    std::size_t const small = job.rows[0].size() <= job.rows[1].size() ? 0 : 1;
    auto& of_parent = parent.histograms[b];
    auto part = this->MakeHistogram(context, b, *parent.cluster, job.rows[small]);
    auto& large = nodes_[request[1 - small].nid];
    if (of_parent.sums.Empty()) {
      this->FillHistogram(context, b, job.rows[1 - small], &large);
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
  void DropSums(Node* node) {
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
            SumList(node, b, i, chunk, &node.sums[b]);
          }
        }
      }
    }
  }

  /** @brief Give a place to the sums of each list with one bin. */
  void NumberSums(std::size_t b, Node* node) {
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

  /** @brief Add up the rows of a list with one bin. */
  static void SumList(Node const& node, std::size_t b, std::uint32_t i, LabelChunk const& chunk,
                      FeatureSums* sums) {
    auto const& list = node.lists[b][i];
    ListSumOfWidth(chunk.width)((*node.entries)[b].data() + list.begin, list.end - list.begin,
                                node.cluster->rows.Values(chunk),
                                sums->Of(chunk) + sums->position[i] * 2 * chunk.width);
  }

  /** @brief Sum the shorter list of each feature; the longer one is what the parent has left. */
  static void SumSiblings(std::size_t b, LabelChunk const& chunk, Node const& parent, Node* left,
                          Node* right) {
    auto const &of_left = left->lists[b], &of_right = right->lists[b];
    auto const& from = parent.sums[b];
    std::uint32_t l{0}, r{0};
    while (l < of_left.size() || r < of_right.size()) {
      auto const origin = std::min(l < of_left.size() ? of_left[l].origin : FeatureSums::kNone,
                                   r < of_right.size() ? of_right[r].origin : FeatureSums::kNone);
      bool const in_left = l < of_left.size() && of_left[l].origin == origin;
      bool const in_right = r < of_right.size() && of_right[r].origin == origin;
      bool const sum_left = in_left && left->sums[b].Has(l);
      bool const sum_right = in_right && right->sums[b].Has(r);
      if (sum_left && sum_right && from.Has(origin)) {
        auto const length = [](RowList const& list) { return list.end - list.begin; };
        bool const left_is_short = length(of_left[l]) <= length(of_right[r]);
        auto* node = left_is_short ? left : right;
        auto* other = left_is_short ? right : left;
        auto const i = left_is_short ? l : r, other_i = left_is_short ? r : l;
        SumList(*node, b, i, chunk, &node->sums[b]);
        auto const size = 2 * chunk.width;
        auto const* all = from.Of(chunk) + from.position[origin] * size;
        auto const* part = node->sums[b].Of(chunk) + node->sums[b].position[i] * size;
        auto* rest = other->sums[b].Of(chunk) + other->sums[b].position[other_i] * size;
        for (std::size_t k = 0; k < size; ++k) {
          rest[k] = all[k] - part[k];
        }
      } else {
        if (sum_left) {
          SumList(*left, b, l, chunk, &left->sums[b]);
        }
        if (sum_right) {
          SumList(*right, b, r, chunk, &right->sums[b]);
        }
      }
      l += in_left;
      r += in_right;
    }
  }

  /** @brief Score the splits in the buffer and keep those that may be the best. */
  void Score(Node const& node, Buffer* buffer, RunningBest* running) const {
    auto const n_scores = buffer->n_scores;
    auto const& ranges = buffer->ranges;
    bool const is_sum = IsSum(param_.method);
    auto const& rows = node.cluster->rows;
    auto const n_all = n_scores * rows.Chunks().size();
    buffer->passed.resize(std::max(buffer->passed.size(), n_all));
    buffer->rest.resize(buffer->passed.size());
    std::vector<std::uint32_t> n_candidates(ranges.size());
    for (std::size_t c = 0; c < rows.Chunks().size(); ++c) {
      auto const& chunk = rows.Chunks()[c];
      auto const scan = ChooseListScan(param_.method, chunk.width);
      auto const at = chunk.padded_begin;
      ChunkView view{
          rows.Values(chunk),     node.totals.Data() + 2 * at,      rows.GradScale() + at,
          rows.HessScale() + at,  node.cluster->lambda.Data() + at, node.mean.Data() + at,
          node.total.Data() + at, node.cluster->padding.Data() + at};
      auto* passed = buffer->passed.data() + c * n_scores;
      auto* rest = buffer->rest.data() + c * n_scores;
      for (auto const& splits : buffer->single_blocks) {
        auto of_sums = view;
        of_sums.rows = node.sums[splits.block].Of(chunk);
        scan({buffer->single_sums.data() + splits.begin, 1,
              static_cast<std::uint32_t>(splits.end - splits.begin), true, true},
             of_sums, {passed + splits.begin, rest + splits.begin});
      }
      for (std::size_t r = 0; r < ranges.size(); ++r) {
        auto const offset = ranges[r].offset;
        if (!node.histograms.empty()) {
          view.rows = node.histograms[ranges[r].block].sums.Sums(chunk);
        }
        n_candidates[r] = scan(ranges[r].list, view, {passed + offset, rest + offset});
      }
      for (std::size_t k = 0; c > 0 && k < n_scores; ++k) {
        if (is_sum) {
          buffer->passed[k] += passed[k];
        } else {
          buffer->passed[k] = std::max(buffer->passed[k], passed[k]);
          buffer->rest[k] = std::max(buffer->rest[k], rest[k]);
        }
      }
    }

    // Labels that the cluster leaves out count 0, in a maximum too.
    float const floor =
        rows.Labels().size() < n_labels_ ? 0.0f : -std::numeric_limits<float>::infinity();
    auto combine = [&](std::size_t begin, std::size_t n) {
      auto* scores = buffer->passed.data() + begin;
      if (!is_sum) {
        auto const* other = buffer->rest.data() + begin;
        for (std::size_t k = 0; k < n; ++k) {
          scores[k] = std::max(scores[k], floor) + std::max(other[k], floor);
        }
      }
      float best = -std::numeric_limits<float>::infinity();
      for (std::size_t k = 0; k < n; ++k) {
        best = std::max(best, scores[k]);
      }
      running->score = std::max(running->score, best);
      return best;
    };
    auto const n_singles = buffer->singles.size();
    if (auto const best = combine(0, n_singles);
        best >= node.error.Threshold(running->score) && n_singles > 0) {
      for (std::size_t k = 0; k < n_singles; ++k) {
        if (buffer->passed[k] >= node.error.Threshold(running->score)) {
          auto const& range = buffer->singles[k];
          running->candidates.push_back({range.feature, range.block, range.direction, range.list.n,
                                         *range.list.first >> kBinShift, Candidate::kNoBin,
                                         range.list.first, buffer->passed[k]});
        }
      }
    }
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      auto const best = combine(ranges[r].offset, n_candidates[r]);
      if (auto const threshold = node.error.Threshold(running->score); best >= threshold) {
        Collect(ranges[r], node.histograms.empty(), buffer->passed.data() + ranges[r].offset,
                threshold, &running->candidates);
      }
    }
  }

  /** @brief List the splits of a node with lists, in a group of blocks. */
  void MakeRanges(CandidateContext const& context, Task const& task, Request const& request,
                  Buffer* buffer) const {
    auto const& node = nodes_[request.nid];
    buffer->single_blocks.clear();
    buffer->single_sums.clear();
    buffer->singles.clear();
    buffer->ranges.clear();
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      auto const* entries = (*node.entries)[b].data();
      auto const n_singles = buffer->singles.size();
      for (std::uint32_t i = 0; i < node.lists[b].size(); ++i) {
        auto const& list = node.lists[b][i];
        auto const feature = list.feature;
        if (request.allowed && !request.allowed[feature]) {
          continue;
        }
        auto const *begin = entries + list.begin, *end = entries + list.end;
        auto const default_bin = context.index.DefaultBin(feature);
        auto upwards = [&](ListEntry const* to, bool with_last) {
          return Range{{begin, 1, static_cast<std::uint32_t>(to - begin), with_last, false},
                       Direction::kUp,
                       feature,
                       b,
                       0};
        };
        auto downwards = [&](ListEntry const* to, Direction direction) {
          return Range{{end - 1, -1, static_cast<std::uint32_t>(end - to), true, false},
                       direction,
                       feature,
                       b,
                       0};
        };
        bool const others = list.end - list.begin != node.n_rows;
        bool const has_default = others && default_bin != BinIndex::kNoBin;
        auto const* middle = begin;  // the first entry above the default bin
        if (has_default) {
          auto const bin = static_cast<std::uint32_t>(default_bin) - context.blocks[b].first_bin;
          middle =
              std::partition_point(begin, end, [&](ListEntry e) { return (e >> kBinShift) < bin; });
        }
        if (node.sums[b].Has(i)) {
          buffer->single_sums.push_back(node.sums[b].position[i]);
          buffer->singles.push_back(has_default && middle == begin
                                        ? downwards(begin, Direction::kDown)
                                        : upwards(end, true));
        } else if (has_default) {
          if (middle != begin) {
            buffer->ranges.push_back(upwards(middle, true));
          }
          if (middle != end) {
            buffer->ranges.push_back(downwards(middle, Direction::kDown));
          }
        } else {
          buffer->ranges.push_back(upwards(end, others));
          if (others) {
            buffer->ranges.push_back(downwards(begin, Direction::kDownMissing));
          }
        }
      }
      if (buffer->singles.size() > n_singles) {
        buffer->single_blocks.push_back({b, n_singles, buffer->singles.size()});
      }
    }
    PlaceScores(buffer);
  }

  /** @brief Give the scores of each range a place, behind those of the singles. */
  static void PlaceScores(Buffer* buffer) {
    buffer->n_scores = buffer->singles.size();
    for (auto& range : buffer->ranges) {
      range.offset = buffer->n_scores;
      buffer->n_scores += range.list.n;
    }
  }

  /** @brief List the splits of a node with histograms: the bins of a feature make a list. */
  void MakeBinRanges(CandidateContext const& context, std::size_t b, Request const& request,
                     Buffer* buffer) const {
    auto const& node = nodes_[request.nid];
    auto const& histogram = node.histograms[b].sums;
    auto const& block = context.blocks[b];
    auto const& ptrs = context.cuts.Ptrs();
    buffer->single_blocks.clear();
    buffer->singles.clear();
    buffer->ranges.clear();
    buffer->bins.clear();
    buffer->bins.reserve(block.n_bins);  // ranges point into it
    for (auto f = block.begin; f < block.end; ++f) {
      if (request.allowed && !request.allowed[f]) {
        continue;
      }
      auto const begin = buffer->bins.size();
      std::size_t n_stored{0}, n_below{0};
      auto const default_bin = context.index.DefaultBin(f);
      for (auto bin = ptrs[f] - block.first_bin; bin < ptrs[f + 1] - block.first_bin; ++bin) {
        if (auto const count = histogram.Count(bin); count != 0) {
          n_stored += count;
          n_below += static_cast<bst_bin_t>(block.first_bin + bin) < default_bin;
          buffer->bins.push_back(bin | bin << kBinShift);
        }
      }
      auto const n = buffer->bins.size() - begin;
      auto const* first = buffer->bins.data() + begin;
      auto push = [&](bool up, std::size_t n_entries, bool with_last, Direction direction) {
        if (n_entries > 0) {
          buffer->ranges.push_back({{up ? first : first + n - 1, up ? 1 : -1,
                                     static_cast<std::uint32_t>(n_entries), with_last, false},
                                    direction,
                                    f,
                                    b,
                                    0});
        }
      };
      if (n_stored == node.n_rows) {
        push(true, n, false, Direction::kUp);
      } else if (default_bin != BinIndex::kNoBin) {
        push(true, n_below, true, Direction::kUp);
        push(false, n - n_below, true, Direction::kDown);
      } else {
        push(true, n, true, Direction::kUp);
        push(false, n, true, Direction::kDownMissing);
      }
    }
    PlaceScores(buffer);
  }

  static void Collect(Range const& range, bool has_lists, float const* scores, float threshold,
                      std::vector<Candidate>* out) {
    auto const* entry = range.list.first;
    std::size_t k{0};
    for (std::uint32_t i = 1; i <= range.list.n; ++i, entry += range.list.step) {
      bool const is_last = i == range.list.n;
      auto const next_bin = is_last ? Candidate::kNoBin : entry[range.list.step] >> kBinShift;
      auto const bin = *entry >> kBinShift;
      if (is_last ? range.list.with_last : next_bin != bin) {
        if (scores[k] >= threshold) {
          out->push_back({range.feature, range.block, range.direction, i, bin, next_bin,
                          has_lists ? range.list.first : nullptr, scores[k]});
        }
        ++k;
      }
    }
  }

  /** @brief Keep the lists of a cluster of all rows for the trees that follow. */
  void KeepRoot(Node const& node, RootLists* root) const {
    if (node.cluster->has_lists && !root->entries &&
        node.cluster->rows.NumRows() == local_rows_.size()) {
      root->entries = node.entries;
      root->lists = node.lists;
    }
  }

  static bool IsSum(SplitMethod method) {
    return method == SplitMethod::kSumGain || method == SplitMethod::kSumWeight ||
           method == SplitMethod::kSumAbsG;
  }

  std::int32_t n_threads_{1};
  ClusterParam param_;
  std::size_t n_labels_{0};
  std::vector<Node> nodes_;                // by node index
  std::vector<std::uint32_t> local_rows_;  // by global row: its number in its cluster
  std::shared_ptr<BlockEntries> root_children_;
  MemoryPool cluster_memory_, histogram_memory_;
  std::vector<std::shared_ptr<BlockEntries>> spare_entries_;
  std::mutex entries_lock_;
  std::atomic<std::size_t> kept_bytes_{0};
  std::vector<Buffer> buffers_;  // one per thread
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_EVALUATOR_H_
