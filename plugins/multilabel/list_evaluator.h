/**
 * @brief Finds the best splits of small nodes from sorted row lists.
 *
 * 1. Prepare: a node without list-keeping parent becomes a cluster (`row_cluster.h`); siblings
 *    learn which of their parent's rows went where.
 * 2. Scan, one task per node (or pair of siblings) and group of feature blocks: make or part the
 *    lists (`row_lists.h`), score all candidates approximately (`list_scan.h`), and keep those that
 *    the error of the scores leaves in the running.
 * 3. Decide: score these in double precision and take the best, by the order of preference that
 *    `evaluator.h` describes.
 *
 * Which candidates step 3 sees depends on the node alone, not on how step 2 was cut into tasks, so
 * the number of threads does not change the model.
 */
#ifndef XDCC_MULTILABEL_LIST_EVALUATOR_H_
#define XDCC_MULTILABEL_LIST_EVALUATOR_H_

#include <algorithm>  // for max, min, partition_point, sort
#include <array>      // for array
#include <cmath>      // for abs, ldexp
#include <cstddef>    // for size_t
#include <cstdint>    // for uint8_t, uint16_t, uint32_t
#include <limits>     // for numeric_limits
#include <memory>     // for make_shared, shared_ptr
#include <mutex>      // for lock_guard, mutex
#include <tuple>      // for make_tuple
#include <utility>    // for move
#include <vector>     // for vector

#include "../../src/common/hist_util.h"        // for HistogramCuts
#include "../../src/common/threading_utils.h"  // for ParallelFor, Sched
#include "bin_index.h"                         // for BinIndex, FeatureBlock
#include "evaluator.h"                         // for NodeStats, Split, SplitScanner
#include "gradient_matrix.h"                   // for GradientMatrix
#include "list_scan.h"                         // for ScanList
#include "row_cluster.h"                       // for RowCluster
#include "row_lists.h"                         // for MakeLists, PartLists
#include "split_score.h"                       // for Regularisation, MethodTraits
#include "xgboost/base.h"                      // for bst_feature_t, bst_idx_t, bst_node_t
#include "xgboost/context.h"                   // for Context
#include "xgboost/span.h"                      // for Span

namespace xgboost::multilabel {
/** @brief Add rows in double precision, exactly. [n_rows, width] -> [width] */
XDCC_TARGET_CLONES static void AddListedRows(GradientView gradients, bst_idx_t const* rows,
                                             ListEntry const* entries, std::ptrdiff_t step,
                                             std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i, entries += step) {
    float const* row = gradients.values + rows[*entries & kRowMask] * gradients.width;
    for (std::size_t k = 0; k < gradients.width; ++k) {
      out[k] += row[k];
    }
  }
}

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

class ListEvaluator {
 public:
  /** @brief A node to evaluate. */
  struct Request {
    bst_node_t nid;
    /** @brief Its parent, or `RegTree::kInvalidNodeId` where the node becomes a cluster. */
    bst_node_t parent;
    /** @brief Global indices of the node's rows. */
    common::Span<bst_idx_t const> rows;
    /** @brief By feature: whether the node may be split on it; null: on all. */
    std::uint8_t const* allowed;
    NodeStats* stats;
    Split* split;
  };

  /** @brief Begin a tree. */
  void Reset(Context const* ctx, Regularisation const& reg, SplitMethod method,
             std::size_t n_blocks, bst_idx_t n_rows, std::size_t n_labels) {
    ctx_ = ctx;
    reg_ = reg;
    method_ = method;
    n_labels_ = n_labels;
    spare_.clear();
    for (auto& node : nodes_) {
      if (node.cluster && node.cluster.use_count() == 1) {
        spare_.push_back(node.cluster->rows.Release());
      }
      node = {};
    }
    nodes_.clear();
    local_rows_.resize(n_rows);
    if (!root_children_ || root_children_->size() != n_blocks) {
      root_children_ = std::make_shared<BlockEntries>(n_blocks);
    }
  }
  /** @brief Whether a node has lists. */
  [[nodiscard]] bool Holds(bst_node_t nid) const {
    return static_cast<std::size_t>(nid) < nodes_.size() && nodes_[nid].cluster;
  }
  /**
   * @brief Find the best split of each node.
   *
   * @param requests Siblings stand together, the left one first.
   * @param root     Lists of all rows; filled by the first tree that has use for them.
   */
  void Evaluate(BinIndex const& index, common::HistogramCuts const& cuts,
                std::vector<FeatureBlock> const& blocks, GradientMatrix const& gradients,
                std::vector<Request> const& requests, std::vector<SplitScanner>* scanners,
                SplitScanner::Kernels const& kernels, RootLists* root) {
    if (requests.empty()) {
      return;
    }
    auto const n_threads = ctx_->Threads();
    buffers_.resize(n_threads);
    std::vector<Job> jobs;
    for (auto const& request : requests) {
      nodes_.resize(std::max(nodes_.size(), static_cast<std::size_t>(request.nid) + 1));
    }
    for (std::size_t i = 0; i < requests.size(); i += jobs.back().n_nodes) {
      jobs.push_back({i, requests[i].parent == RegTree::kInvalidNodeId ? 1u : 2u});
    }
    common::ParallelFor(jobs.size(), n_threads, common::Sched::Dyn(1), [&](auto i) {
      this->Prepare(gradients, blocks.size(), requests.data() + jobs[i].begin, jobs[i].n_nodes, *root);
    });

    std::vector<Task> tasks;
    auto const n_groups = std::min<std::size_t>(blocks.size(), n_threads == 1 ? 1 : 4 * n_threads);
    for (auto const& job : jobs) {
      for (std::size_t g = 0; g < n_groups; ++g) {
        tasks.push_back({job, blocks.size() * g / n_groups, blocks.size() * (g + 1) / n_groups});
      }
    }
    std::vector<std::array<Running, 2>> running(tasks.size());
    common::ParallelFor(tasks.size(), n_threads, common::Sched::Dyn(1), [&](auto i) {
      auto const& task = tasks[i];
      auto* buffer = &buffers_[omp_get_thread_num()];
      auto const* request = requests.data() + task.job.begin;
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        this->FillLists(index, cuts, blocks[b], b, request, &buffer->lists);
      }
      this->FillSums(task, request);
      for (std::size_t k = 0; k < task.job.n_nodes; ++k) {
        this->Scan(index, blocks, task, request[k], buffer, &running[i][k]);
      }
    });
    this->KeepRoot(requests.front(), root);

    common::ParallelFor(requests.size(), n_threads, common::Sched::Dyn(1), [&](auto i) {
      std::size_t const job = std::find_if(jobs.cbegin(), jobs.cend(),
                                           [&](Job const& j) { return j.begin + j.n_nodes > i; }) -
                              jobs.cbegin();
      Running all;
      for (std::size_t g = 0; g < n_groups; ++g) {
        auto const& part = running[job * n_groups + g][i - jobs[job].begin];
        all.best = std::max(all.best, part.best);
        all.candidates.insert(all.candidates.end(), part.candidates.cbegin(),
                              part.candidates.cend());
      }
      this->Decide(cuts, blocks, index, gradients, &all, requests[i],
                   &(*scanners)[omp_get_thread_num()], kernels);
    });
    for (auto const& job : jobs) {
      if (job.n_nodes == 2) {
        nodes_[requests[job.begin].parent] = {};
      }
    }
  }

 private:
  /** @brief One node that becomes a cluster, or two siblings. */
  struct Job {
    std::size_t begin;
    std::size_t n_nodes;
  };
  struct Task {
    Job job;
    std::size_t block_begin, block_end;
  };
  /** @brief How a range is read, in the order of preference. */
  enum Direction : std::uint8_t {
    kUp,           // upwards, the other rows on the right
    kDown,         // downwards to the default bin, which is on the left
    kDownMissing,  // downwards, missing values on the left
  };
  struct Range {
    ListRange list;
    Direction direction;
    bst_feature_t feature;
    std::size_t block;
    std::size_t offset;  // of its scores
  };
  struct Candidate {
    Range range;
    /** @brief Number of entries passed. */
    std::uint32_t n;
    float score;
  };
  /** @brief The best score so far and what is not clearly worse. */
  struct Running {
    float best{-std::numeric_limits<float>::infinity()};
    std::vector<Candidate> candidates;
  };

  struct Cluster {
    RowCluster rows;
    std::vector<std::uint8_t> is_right;  // of the last partition, by row
    AlignedArray<float> lambda, padding;  // by padded label
  };
  /** @brief Sums over the lists with one bin: the only split that such a feature offers. */
  struct FeatureSums {
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    std::size_t n{0};
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
  struct Node {
    std::shared_ptr<Cluster> cluster;
    std::size_t n_rows{0};
    std::shared_ptr<BlockEntries> entries;    // of the cluster
    std::vector<std::vector<RowList>> lists;  // by block
    std::vector<FeatureSums> sums;            // by block
    AlignedArray<std::int32_t> totals;        // [2 * padded], chunk by chunk
    AlignedArray<float> mean, total;          // by padded label
    float tolerance{0.0f};                    // of a score, relative to itself and ...
    float tolerated{0.0f};                    // ... in itself
    double rest{0.0};                         // gain - score
  };
  /** @brief Splits on features with one bin, scored from their sums: [begin, end) of the buffer. */
  struct BlockSplits {
    std::size_t block, begin, end;
  };
  struct Buffer {
    ListBuffer lists;
    std::vector<BlockSplits> single_blocks;
    std::vector<ListEntry> single_sums;  // positions of the sums
    std::vector<Range> singles;          // the lists of these splits
    std::vector<Range> ranges;
    std::vector<float> passed, rest;     // scores of the singles, then of the ranges
  };

  void Prepare(GradientMatrix const& gradients, std::size_t n_blocks, Request const* requests,
               std::size_t n_nodes, RootLists const& root) {
    if (n_nodes == 1) {
      auto& node = nodes_[requests->nid];
      node.cluster = this->MakeCluster(gradients, requests->rows);
      node.sums.resize(n_blocks);
      if (node.cluster->rows.NumRows() == local_rows_.size() && root.entries) {
        node.entries = root.entries;
        node.lists = root.lists;
      } else {
        node.entries = std::make_shared<BlockEntries>(n_blocks);
        node.lists.resize(n_blocks);
      }
    } else {
      auto& parent = nodes_[requests->parent];
      // The lists of the root are kept: the first partition puts the children elsewhere.
      auto const entries = parent.entries == root.entries ? root_children_ : parent.entries;
      for (std::size_t k = 0; k < n_nodes; ++k) {
        auto& node = nodes_[requests[k].nid];
        node.cluster = parent.cluster;
        node.entries = entries;
        node.lists.resize(n_blocks);
        node.sums.resize(n_blocks);
        for (auto row : requests[k].rows) {
          if (gradients.Active(row)) {
            parent.cluster->is_right[local_rows_[row]] = static_cast<std::uint8_t>(k);
          }
        }
      }
    }
    for (std::size_t k = 0; k < n_nodes; ++k) {
      this->SetConstants(gradients, requests[k], &nodes_[requests[k].nid]);
    }
  }

  std::shared_ptr<Cluster> MakeCluster(GradientMatrix const& gradients,
                                       common::Span<bst_idx_t const> all_rows) {
    AlignedArray<std::int32_t> memory;
    {
      std::lock_guard<std::mutex> guard{spare_lock_};
      if (!spare_.empty()) {
        memory = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    auto cluster = std::make_shared<Cluster>(
        Cluster{RowCluster{gradients, all_rows, std::move(memory)}, {}, {}, {}});
    auto const& rows = cluster->rows.GlobalRows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      local_rows_[rows[i]] = static_cast<std::uint16_t>(i);
    }
    cluster->is_right.resize(rows.size());
    auto const n_padded = cluster->rows.PaddedLabels();
    cluster->lambda.Assign(n_padded, 1.0f);
    cluster->padding.Assign(n_padded, -std::numeric_limits<float>::infinity());
    for (auto const& chunk : cluster->rows.Chunks()) {
      std::fill_n(cluster->lambda.Data() + chunk.padded_begin, chunk.n_labels,
                  static_cast<float>(reg_.lambda));
      std::fill_n(cluster->padding.Data() + chunk.padded_begin, chunk.n_labels, 0.0f);
    }
    return cluster;
  }

  void SetConstants(GradientMatrix const& gradients, Request const& request, Node* node) const {
    auto const& rows = node->cluster->rows;
    auto const n_padded = rows.PaddedLabels();
    node->totals.Assign(2 * n_padded, 0);
    node->n_rows = 0;
    for (auto row : request.rows) {
      node->n_rows += gradients.Active(row);
    }
    for (auto const& chunk : rows.Chunks()) {
      auto* total = node->totals.Data() + 2 * chunk.padded_begin;
      for (auto row : request.rows) {
        if (gradients.Active(row)) {
          auto const* values = rows.Values(chunk) + local_rows_[row] * 2 * chunk.width;
          for (std::size_t k = 0; k < 2 * chunk.width; ++k) {
            total[k] += values[k];
          }
        }
      }
    }

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
        double const total = hess + 2.0 * reg_.lambda;
        if (auto const scale = rows.GradScale()[at]; scale > 0.0f) {
          node->mean.Data()[at] = static_cast<float>(grad / total / scale);
        }
        node->total.Data()[at] = static_cast<float>(total);
        sum_total += grad * grad / total;
        sum_absolute += std::abs(grad) / (hess + reg_.lambda);
      }
    }
    // The errors of single precision, and of integers that are sums of n rounded ones.
    auto const n = static_cast<float>(node->n_rows);
    if (method_ == SplitMethod::kSumGain) {
      node->rest = sum_total - stats.score;
      node->tolerance = 1e-5f + std::ldexp(n, -22);
    } else {
      node->rest = -stats.score;
      node->tolerance = 2e-6f + std::ldexp(n, -28);
      auto const of_scores = method_ == SplitMethod::kMaxGain ? std::abs(stats.score)
                                                              : 4.0 * sum_absolute;
      node->tolerated = node->tolerance * static_cast<float>(of_scores);
    }
  }

  /** @brief Fill the lists of one block for a new cluster or two siblings. */
  void FillLists(BinIndex const& index, common::HistogramCuts const& cuts,
                 FeatureBlock const& block, std::size_t b, Request const* request,
                 ListBuffer* buffer) {
    auto& node = nodes_[request->nid];
    if (request->parent == RegTree::kInvalidNodeId) {
      if (node.lists[b].empty() && (*node.entries)[b].empty()) {
        MakeLists(node.cluster->rows, index.Rows(b), block, cuts, buffer, &(*node.entries)[b],
                  &node.lists[b]);
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
  void FillSums(Task const& task, Request const* request) {
    auto& node = nodes_[request->nid];
    for (auto const& chunk : node.cluster->rows.Chunks()) {
      for (auto b = task.block_begin; b < task.block_end; ++b) {
        if (task.job.n_nodes == 2) {
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
  static void NumberSums(std::size_t b, Node* node) {
    auto const* entries = (*node->entries)[b].data();
    auto const& lists = node->lists[b];
    auto& sums = node->sums[b];
    sums.position.assign(lists.size(), FeatureSums::kNone);
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (HasOneBin(entries, lists[i])) {
        sums.position[i] = static_cast<std::uint32_t>(sums.n++);
      }
    }
    sums.values.Resize(2 * node->cluster->rows.PaddedLabels() * sums.n);
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
      auto const origin =
          std::min(l < of_left.size() ? of_left[l].origin : FeatureSums::kNone,
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

  /** @brief Score the candidates of one node in a group of blocks. */
  void Scan(BinIndex const& index, std::vector<FeatureBlock> const& blocks, Task const& task, Request const& request,
            Buffer* buffer, Running* running) const {
    auto const& node = nodes_[request.nid];
    auto const n_scores = this->MakeRanges(index, blocks, task, request, buffer);
    auto const& ranges = buffer->ranges;
    bool const is_sum = IsSum(method_);
    auto const& rows = node.cluster->rows;
    auto const n_all = n_scores * rows.Chunks().size();
    buffer->passed.resize(std::max(buffer->passed.size(), n_all));
    buffer->rest.resize(buffer->passed.size());
    std::vector<std::uint32_t> n_candidates(ranges.size());
    for (std::size_t c = 0; c < rows.Chunks().size(); ++c) {
      auto const& chunk = rows.Chunks()[c];
      auto const scan = ChooseListScan(method_, chunk.width);
      auto const at = chunk.padded_begin;
      ChunkView const view{rows.Values(chunk),
                           node.totals.Data() + 2 * at,
                           rows.GradScale() + at,
                           rows.HessScale() + at,
                           node.cluster->lambda.Data() + at,
                           node.mean.Data() + at,
                           node.total.Data() + at,
                           node.cluster->padding.Data() + at};
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
    float const floor = rows.Labels().size() < n_labels_
                            ? 0.0f
                            : -std::numeric_limits<float>::infinity();
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
      running->best = std::max(running->best, best);
      return best;
    };
    auto const n_singles = buffer->singles.size();
    if (auto const best = combine(0, n_singles);
        best >= Threshold(node, running->best) && n_singles > 0) {
      for (std::size_t k = 0; k < n_singles; ++k) {
        if (buffer->passed[k] >= Threshold(node, running->best)) {
          auto const& range = buffer->singles[k];
          running->candidates.push_back({range, range.list.n, buffer->passed[k]});
        }
      }
    }
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      auto const best = combine(ranges[r].offset, n_candidates[r]);
      if (auto const threshold = Threshold(node, running->best); best >= threshold) {
        Collect(ranges[r], buffer->passed.data() + ranges[r].offset, threshold,
                &running->candidates);
      }
    }
  }

  /** @brief List the splits of a node in a group of blocks; returns the number of scores. */
  std::size_t MakeRanges(BinIndex const& index, std::vector<FeatureBlock> const& blocks,
                         Task const& task, Request const& request, Buffer* buffer) const {
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
        auto const default_bin = index.DefaultBin(feature);
        auto upwards = [&](ListEntry const* to, bool with_last) {
          return Range{{begin, 1, static_cast<std::uint32_t>(to - begin), with_last, false},
                       kUp, feature, b, 0};
        };
        auto downwards = [&](ListEntry const* to, Direction direction) {
          return Range{{end - 1, -1, static_cast<std::uint32_t>(end - to), true, false},
                       direction, feature, b, 0};
        };
        bool const others = list.end - list.begin != node.n_rows;
        bool const has_default = others && default_bin != BinIndex::kNoBin;
        auto const* middle = begin;  // the first entry above the default bin
        if (has_default) {
          auto const bin = static_cast<std::uint32_t>(default_bin) - blocks[b].first_bin;
          middle = std::partition_point(
              begin, end, [&](ListEntry e) { return (e >> kBinShift) < bin; });
        }
        if (node.sums[b].Has(i)) {
          buffer->single_sums.push_back(node.sums[b].position[i]);
          buffer->singles.push_back(has_default && middle == begin ? downwards(begin, kDown)
                                                                   : upwards(end, true));
        } else if (has_default) {
          if (middle != begin) {
            buffer->ranges.push_back(upwards(middle, true));
          }
          if (middle != end) {
            buffer->ranges.push_back(downwards(middle, kDown));
          }
        } else {
          buffer->ranges.push_back(upwards(end, others));
          if (others) {
            buffer->ranges.push_back(downwards(begin, kDownMissing));
          }
        }
      }
      if (buffer->singles.size() > n_singles) {
        buffer->single_blocks.push_back({b, n_singles, buffer->singles.size()});
      }
    }
    auto n_scores = buffer->singles.size();
    for (auto& range : buffer->ranges) {
      range.offset = n_scores;
      n_scores += range.list.n;
    }
    return n_scores;
  }

  /** @brief Scores below it cannot be the best, `best` being one. */
  static float Threshold(Node const& node, float best) {
    return best - node.tolerance * std::abs(best) - node.tolerated;
  }

  static void Collect(Range const& range, float const* scores, float threshold,
                      std::vector<Candidate>* out) {
    auto const* entry = range.list.first;
    std::size_t k{0};
    for (std::uint32_t i = 1; i <= range.list.n; ++i, entry += range.list.step) {
      bool const changes = i == range.list.n
                               ? range.list.with_last
                               : (entry[range.list.step] ^ *entry) >> kBinShift != 0;
      if (changes) {
        if (scores[k] >= threshold) {
          out->push_back({range, i, scores[k]});
        }
        ++k;
      }
    }
  }

  /** @brief Score the candidates in double precision and take the best. */
  void Decide(common::HistogramCuts const& cuts, std::vector<FeatureBlock> const& blocks,
              BinIndex const& index, GradientMatrix const& gradients, Running* running,
              Request const& request, SplitScanner* scanner,
              SplitScanner::Kernels const& kernels) const {
    auto const& node = nodes_[request.nid];
    auto const threshold = Threshold(node, running->best);
    if (running->candidates.empty() ||
        running->best + (running->best - threshold) + node.rest <= 0.0) {
      return;
    }
    auto& candidates = running->candidates;
    candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                    [&](auto const& c) { return c.score < threshold; }),
                     candidates.end());
    std::sort(candidates.begin(), candidates.end(), [](auto const& l, auto const& r) {
      auto key = [](Candidate const& c) {
        return std::make_tuple(c.range.feature, c.range.direction, c.n);
      };
      return key(l) < key(r);
    });

    std::vector<double> passed(gradients.Width()), best_passed;
    Candidate const* best{nullptr};
    float best_gain{0.0f};
    ListEntry const* first{nullptr};
    std::uint32_t n{0};
    for (auto const& c : candidates) {
      auto const& list = c.range.list;
      if (first != list.first) {
        first = list.first;
        n = 0;
        std::fill(passed.begin(), passed.end(), 0.0);
      }
      AddListedRows(gradients.View(), node.cluster->rows.GlobalRows().data(),
                    list.first + list.step * static_cast<std::ptrdiff_t>(n), list.step, c.n - n,
                    passed.data());
      n = c.n;
      auto const gain = (scanner->*kernels.gain)(passed, *request.stats);
      // At equal gains the first candidate wins, but on the way down to a default bin the last.
      bool const later = best && c.range.direction == kDown &&
                         best->range.direction == kDown && best->range.feature == c.range.feature;
      if (gain > best_gain || (later && gain == best_gain)) {
        best = &c;
        best_gain = gain;
        best_passed = passed;
      }
    }
    if (!best) {
      return;
    }
    auto const& range = best->range;
    auto const first_bin = blocks[range.block].first_bin;
    auto const* last = range.list.first + range.list.step * std::ptrdiff_t(best->n - 1);
    auto const bin = static_cast<bst_bin_t>(first_bin + (*last >> kBinShift));
    auto const& values = cuts.Values();
    auto& split = *request.split;
    split = {best_gain, range.feature, 0.0f, range.direction == kDownMissing};
    auto& left = request.stats->left_sums;
    left = std::move(best_passed);
    if (range.direction == kUp) {
      split.split_value = values[bin];
      return;
    }
    if (range.direction == kDown) {
      split.split_value = values[best->n < range.list.n ? first_bin + (last[-1] >> kBinShift)
                                                        : index.DefaultBin(range.feature)];
    } else {
      split.split_value =
          common::HistogramCuts::NumericBinLowerBound(cuts.Ptrs(), values, range.feature, bin);
    }
    std::transform(request.stats->sums.cbegin(), request.stats->sums.cend(), left.cbegin(),
                   left.begin(), std::minus<>{});
  }

  /** @brief Keep the lists of a cluster of all rows for the trees that follow. */
  void KeepRoot(Request const& request, RootLists* root) const {
    auto const& node = nodes_[request.nid];
    if (request.parent == RegTree::kInvalidNodeId && !root->entries &&
        node.cluster->rows.NumRows() == local_rows_.size()) {
      root->entries = node.entries;
      root->lists = node.lists;
    }
  }

  static bool IsSum(SplitMethod method) {
    return method == SplitMethod::kSumGain || method == SplitMethod::kSumWeight ||
           method == SplitMethod::kSumAbsG;
  }

  Context const* ctx_{nullptr};
  Regularisation reg_;
  SplitMethod method_{SplitMethod::kSumGain};
  std::size_t n_labels_{0};
  std::vector<Node> nodes_;                // by node index
  std::vector<std::uint16_t> local_rows_;  // by global row: its number in its cluster
  std::shared_ptr<BlockEntries> root_children_;
  std::vector<AlignedArray<std::int32_t>> spare_;  // memory of the last tree's clusters
  std::mutex spare_lock_;
  std::vector<Buffer> buffers_;  // one per thread
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LIST_EVALUATOR_H_
