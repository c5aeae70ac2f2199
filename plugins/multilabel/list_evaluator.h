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
  struct Node {
    std::shared_ptr<Cluster> cluster;
    std::size_t n_rows{0};
    std::shared_ptr<BlockEntries> entries;    // of the cluster
    std::vector<std::vector<RowList>> lists;  // by block
    AlignedArray<std::int32_t> totals;        // [2 * padded], chunk by chunk
    AlignedArray<float> mean, total;          // by padded label
    float tolerance{0.0f};                    // of a score, relative to itself and ...
    float tolerated{0.0f};                    // ... in itself
    double rest{0.0};                         // gain - score
  };
  struct Buffer {
    ListBuffer lists;
    std::vector<Range> ranges;
    std::vector<float> passed, rest;
  };

  void Prepare(GradientMatrix const& gradients, std::size_t n_blocks, Request const* requests,
               std::size_t n_nodes, RootLists const& root) {
    if (n_nodes == 1) {
      auto& node = nodes_[requests->nid];
      node.cluster = this->MakeCluster(gradients, requests->rows);
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
  }

  /** @brief Score the candidates of one node in a group of blocks. */
  void Scan(BinIndex const& index, std::vector<FeatureBlock> const& blocks, Task const& task, Request const& request,
            Buffer* buffer, Running* running) const {
    auto const& node = nodes_[request.nid];
    auto& ranges = buffer->ranges;
    ranges.clear();
    std::size_t n_scores{0};
    auto push = [&](ListEntry const* first, std::ptrdiff_t step, std::size_t n, bool with_last,
                    Direction direction, bst_feature_t feature, std::size_t block) {
      if (n > 0) {
        ListRange const list{first, step, static_cast<std::uint32_t>(n), with_last};
        ranges.push_back({list, direction, feature, block, n_scores});
        n_scores += n;
      }
    };
    for (auto b = task.block_begin; b < task.block_end; ++b) {
      auto const* entries = (*node.entries)[b].data();
      for (auto const& list : node.lists[b]) {
        if (request.allowed && !request.allowed[list.feature]) {
          continue;
        }
        auto const *begin = entries + list.begin, *end = entries + list.end;
        auto const n = list.end - list.begin;
        auto const default_bin = index.DefaultBin(list.feature);
        if (n == node.n_rows) {
          push(begin, 1, n, false, kUp, list.feature, b);
        } else if (default_bin != BinIndex::kNoBin) {
          auto const bin = static_cast<std::uint32_t>(default_bin) - blocks[b].first_bin;
          auto const* middle = std::partition_point(
              begin, end, [&](ListEntry e) { return (e >> kBinShift) < bin; });
          push(begin, 1, middle - begin, true, kUp, list.feature, b);
          push(end - 1, -1, end - middle, true, kDown, list.feature, b);
        } else {
          push(begin, 1, n, true, kUp, list.feature, b);
          push(end - 1, -1, n, true, kDownMissing, list.feature, b);
        }
      }
    }

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
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      auto* scores = buffer->passed.data() + ranges[r].offset;
      if (!is_sum) {
        auto const* rest = buffer->rest.data() + ranges[r].offset;
        for (std::uint32_t k = 0; k < n_candidates[r]; ++k) {
          scores[k] = std::max(scores[k], floor) + std::max(rest[k], floor);
        }
      }
      float best = -std::numeric_limits<float>::infinity();
      for (std::uint32_t k = 0; k < n_candidates[r]; ++k) {
        best = std::max(best, scores[k]);
      }
      running->best = std::max(running->best, best);
      if (auto const threshold = Threshold(node, running->best); best >= threshold) {
        Collect(ranges[r], scores, threshold, &running->candidates);
      }
    }
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
