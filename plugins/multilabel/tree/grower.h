/**
 * @brief Grows one tree for all labels on bins, for the updater `grow_multilabel_hist`.
 *
 * XGBoost's own parts do what is the same for every hist updater: the order in which nodes are
 * expanded (`Driver`), the rows of a node (`CommonRowPartitioner`), row and column sampling, and
 * interaction constraints. Ours are the layout of gradients and bins (`gradient_matrix.h`,
 * `bin_index.h`) and the search for splits, which takes one of three ways:
 *
 * - Usually by clusters (`cluster_evaluator.h`): sorted lists of rows or integer histograms, scored
 *   fast and decided exactly.
 * - With external memory and with several workers, by histograms in double precision
 *   (`histogram.h`, `evaluator.h`, `category_scan.h`), in tasks of one node and one block of
 *   neighbouring features. A task fills its histogram, scans it and forgets it. With external
 *   memory a group of tasks shares one pass over the pages; with several workers it shares one
 *   reduction.
 * - On one to four numbers per row, a sketch of the labels (`sketch.h`) or a small group of them,
 *   by a search of its own (`direction_search.h`), where clusters would do.
 *
 * The first two grow the same trees; the third one's differ by rounding, and only a sketch uses it.
 * With a sketch, splits are searched on it, and leaf values come from all of the tree's labels
 * (`leaf_values.h`).
 */
#ifndef XDCC_MULTILABEL_GROWER_H_
#define XDCC_MULTILABEL_GROWER_H_

#include <algorithm>  // for fill, max, max_element, min
#include <cmath>      // for ceil
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint32_t, uint8_t
#include <memory>     // for make_unique, shared_ptr, unique_ptr, weak_ptr
#include <numeric>    // for accumulate
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../src/collective/aggregator.h"        // for GlobalSum, SafeColl
#include "../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../src/common/categorical.h"           // for IsCat
#include "../../../src/common/random.h"                // for ColumnSampler
#include "../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "../../../src/data/gradient_index.h"          // for GHistIndexMatrix
#include "../../../src/tree/common_row_partitioner.h"  // for CommonRowPartitioner
#include "../../../src/tree/constraints.h"             // for FeatureInteractionConstraintHost
#include "../../../src/tree/driver.h"                  // for Driver
#include "../../../src/tree/param.h"                   // for TrainParam
#include "../../../src/tree/sample_position.h"         // for SamplePosition
#include "../param/param.h"                            // for MultiLabelTrainParam
#include "data/bin_index.h"                            // for BinIndex, MakeFeatureBlocks
#include "data/direction_index.h"                      // for DirectionIndex
#include "data/gradient_matrix.h"                      // for GradientMatrix
#include "leaf_values.h"                               // for SumLeaves
#include "node_features.h"                             // for NodeFeatures
#include "search/category_scan.h"                      // for CategoryScanner
#include "search/cluster_evaluator.h"                  // for ClusterEvaluator
#include "search/direction_search.h"                   // for DirectionSearch
#include "search/evaluator.h"                          // for SplitScanner, Split, BestSplit
#include "search/histogram.h"                          // for BlockHistogram
#include "split_score.h"                               // for LabelWeight, Regularisation
#include "xgboost/base.h"                              // for GradientPair, bst_node_t
#include "xgboost/context.h"                           // for Context
#include "xgboost/data.h"                              // for DMatrix, BatchParam
#include "xgboost/linalg.h"                            // for Matrix, MatrixView
#include "xgboost/logging.h"                           // for CHECK_LE
#include "xgboost/multi_target_tree_model.h"           // for ExpandBatch
#include "xgboost/tree_model.h"                        // for RegTree
#include "xgboost/tree_updater.h"                      // for TreeUpdater

namespace xgboost::multilabel {
using tree::TrainParam;

/** @brief Size of a task's histogram; it shares a core's second-level cache with gradients. */
constexpr std::size_t kBlockBytes = std::size_t{1} << 18;
/** @brief With several threads: number of blocks for each. */
constexpr std::size_t kBlocksPerThread = 4;
/** @brief With external memory: size of the histograms that one pass over the pages fills. */
constexpr std::size_t kPassBytes = std::size_t{1} << 28;

/** @brief A node that may be split, as `Driver` and `CommonRowPartitioner` want it. */
struct ExpandEntry {
  bst_node_t nid{RegTree::kRoot};
  bst_node_t depth{0};
  bst_node_t parent{RegTree::kInvalidNodeId};
  Split split;

  ExpandEntry() = default;
  ExpandEntry(bst_node_t nid, bst_node_t depth, bst_node_t parent)
      : nid{nid}, depth{depth}, parent{parent} {}

  [[nodiscard]] float GetLossChange() const { return split.gain; }
  [[nodiscard]] bst_node_t GetNodeId() const { return nid; }
};

/** @brief One node and one block of features. */
struct Task {
  std::size_t node;   // position among the nodes that are evaluated together
  std::size_t block;  // position among the feature blocks
};

/** @brief The index of the matrix that was trained on last, if that was in memory. */
struct IndexCache {
  std::weak_ptr<GHistIndexMatrix const> page;
  std::vector<FeatureBlock> blocks;
  bool columns{false};
  std::unique_ptr<BinIndex> index;
  RootLists root_lists;

  void Update(Context const* ctx, std::shared_ptr<GHistIndexMatrix const> const& new_page,
              std::vector<FeatureBlock> const& new_blocks, bool new_columns) {
    if (!index || page.lock() != new_page || blocks != new_blocks || columns != new_columns) {
      index = std::make_unique<BinIndex>(ctx, *new_page, new_blocks, true, new_columns);
      root_lists = {};
      page = new_page;
      blocks = new_blocks;
      columns = new_columns;
    }
  }
};

/** @brief The same for searches on directions. */
struct DirectionCache {
  std::weak_ptr<GHistIndexMatrix const> page;
  std::unique_ptr<DirectionIndex> index;

  void Update(Context const* ctx, std::shared_ptr<GHistIndexMatrix const> const& new_page) {
    if (!index || page.lock() != new_page) {
      index = std::make_unique<DirectionIndex>(ctx, *new_page);
      page = new_page;
    }
  }
};

/** @brief What trees leave to the next one: memory, and what depends on the matrix alone. */
struct Workspace {
  IndexCache index;
  DirectionCache direction_index;
  DirectionSearch directions;
  ClusterEvaluator clusters;
  GradientMatrix gradients;
  linalg::Matrix<GradientPair> sampled, combined, of_leaves;
  std::vector<tree::CommonRowPartitioner> partitioners;  // one per page
  std::vector<BlockHistogram> histograms;                // one per thread, or per task of a group
};

class TreeGrower {
 public:
  TreeGrower(Context const* ctx, TrainParam const* param, MultiLabelTrainParam const& ml_param,
             std::shared_ptr<common::ColumnSampler> column_sampler, Workspace* workspace)
      : ctx_{ctx},
        n_threads_{ctx->Threads()},
        param_{param},
        batch_{param->max_bin, param->sparse_threshold},
        reg_{*param, ml_param},
        kernels_{SplitScanner::Choose(ml_param.Method(), reg_.Rule())},
        column_sampler_{std::move(column_sampler)},
        ml_param_{ml_param},
        max_bytes_{static_cast<std::size_t>(ml_param.max_histogram_mib) << 20},
        cache_{&workspace->index},
        direction_cache_{&workspace->direction_index},
        directions_{&workspace->directions},
        clusters_{&workspace->clusters},
        gradients_{workspace->gradients},
        partitioners_{workspace->partitioners},
        histograms_{workspace->histograms} {}

  /**
   * @brief Grow one tree.
   *
   * @param gpair        What splits are searched on, after masks and sampling. [n_rows, n_targets]
   * @param is_sketch    Whether that is a sketch of the labels' gradients.
   * @param out_position Leaf of each row, as `TreeUpdater::Update` wants it.
   * @param p_tree       A tree of a single leaf.
   */
  void Grow(linalg::MatrixView<GradientPair const> gpair, bool is_sketch, DMatrix* p_fmat,
            HostDeviceVector<bst_node_t>* out_position, RegTree* p_tree) {
    this->Init(gpair, is_sketch, p_fmat);
    tree::Driver<ExpandEntry> driver{*param_};
    driver.Push(this->InitRoot(p_fmat, p_tree));

    for (auto to_apply = driver.Pop(); !to_apply.empty(); to_apply = driver.Pop()) {
      std::vector<ExpandEntry> children;
      for (auto const& entry : to_apply) {
        this->ApplySplit(entry, p_tree);
        if (driver.IsChildValid(entry)) {
          children.emplace_back(p_tree->LeftChild(entry.nid), entry.depth + 1, entry.nid);
          children.emplace_back(p_tree->RightChild(entry.nid), entry.depth + 1, entry.nid);
        }
      }
      this->UpdatePosition(p_fmat, *p_tree, to_apply);
      this->Evaluate(p_fmat, &children);
      driver.Push(children);
    }

    auto& position = out_position->HostVector();
    position.resize(gpair.Shape(0));
    if (use_directions_) {
      directions_->ForEachRow([&](bst_node_t leaf, auto row, bool active) {
        position[row] = tree::SamplePosition::Encode(leaf, active);
      });
      page_.reset();
      return;
    }
    // As `CommonRowPartitioner::LeafPartition`, which asks every label of every row again.
    for (auto const& part : partitioners_) {
      for (auto const& node : part.Partitions()) {
        if (node.node_id != RegTree::kInvalidNodeId) {
          for (auto row : node) {
            position[row] = tree::SamplePosition::Encode(node.node_id, gradients_.Active(row));
          }
        }
      }
    }
  }

  /**
   * @brief Give the leaves of the tree that was grown last values for some labels.
   *
   * @param gpair  Gradients of these labels, with these bounds. [n_rows, n_labels]
   * @param labels Other labels have the value 0.
   */
  void SetLeafValues(linalg::MatrixView<GradientPair const> gpair, GradientBounds const& bounds,
                     std::vector<std::uint32_t> const& labels, RegTree* p_tree) const {
    std::vector<bst_node_t> leaves;
    std::vector<double> sums;  // [n_leaves, 2 * n_labels]
    if (use_directions_) {
      std::vector<std::vector<common::Span<std::uint32_t const>>> rows;
      for (bst_node_t nid = 0; nid < directions_->NumNodes(); ++nid) {
        if (directions_->IsLeaf(nid)) {
          leaves.push_back(nid);
          rows.push_back({directions_->Rows(nid)});
        }
      }
      sums = SumLeaves(ctx_, gpair, bounds, rows);
    } else {
      std::vector<std::vector<common::Span<bst_idx_t const>>> rows;
      for (auto const& node : partitioners_.front().Partitions()) {
        if (node.node_id != RegTree::kInvalidNodeId) {
          leaves.push_back(node.node_id);
          auto& of_leaf = rows.emplace_back();
          for (std::size_t page_id = 0; page_id < partitioners_.size(); ++page_id) {
            of_leaf.push_back(this->Rows(page_id, node.node_id));
          }
        }
      }
      sums = SumLeaves(ctx_, gpair, bounds, rows);
    }
    std::size_t const n_all_labels = p_tree->NumTargets();
    std::vector<float> weights(leaves.size() * n_all_labels, 0.0f);
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      for (std::size_t j = 0; j < labels.size(); ++j) {
        auto const* sum = sums.data() + 2 * (l * labels.size() + j);
        weights[l * n_all_labels + labels[j]] =
            static_cast<float>(LabelWeight(reg_, sum[0], sum[1])) * param_->learning_rate;
      }
    }
    p_tree->SetLeaves(std::move(leaves), common::Span<float const>{weights});
  }

 private:
  /** @brief Call a function with the view that fits the tree: one label makes a scalar tree. */
  template <typename Fn>
  static void VisitTree(RegTree const& tree, Fn&& fn) {
    if (tree.IsMultiTarget()) {
      fn(tree.HostMtView());
    } else {
      fn(tree.HostScView());
    }
  }

  [[nodiscard]] auto Pages(DMatrix* p_fmat) const {
    return p_fmat->GetBatches<GHistIndexMatrix>(ctx_, batch_);
  }

  void Init(linalg::MatrixView<GradientPair const> gpair, bool is_sketch, DMatrix* p_fmat) {
    n_targets_ = gpair.Shape(1);
    stats_.clear();
    auto const& info = p_fmat->Info();
    interactions_.Reset();
    interactions_.Configure(*param_, info.num_col_);
    column_sampler_->Init(ctx_, info.num_col_, info.feature_weights, param_->colsample_bynode,
                          param_->colsample_bylevel, param_->colsample_bytree);
    use_directions_ = is_sketch && this->InitDirections(gpair, p_fmat);
    if (use_directions_) {
      return;
    }
    gradients_.Assign(ctx_, gpair);
    // Clusters know neither pages nor workers.
    use_clusters_ = !collective::IsDistributed();
    std::size_t page_id{0};
    std::shared_ptr<GHistIndexMatrix const> only_page;
    auto pages = this->Pages(p_fmat);
    for (auto it = pages.begin(); !it.AtEnd(); ++it) {
      auto const& page = *it;
      if (page_id == partitioners_.size()) {
        partitioners_.emplace_back();
      }
      partitioners_[page_id++].Reset(ctx_, page.Size(), page.base_rowid);
      if (!only_page) {
        only_page = it.Page();
      }
    }
    partitioners_.resize(page_id);
    auto const& ptrs = only_page->cut.Ptrs();
    auto const has_room = [&](bst_feature_t f) {
      return ptrs[f + 1] - ptrs[f] < ClusterEvaluator::kMaxListRows;
    };
    for (bst_feature_t f = 0; f < only_page->cut.NumFeatures(); ++f) {
      use_clusters_ = use_clusters_ && has_room(f);
    }
    use_clusters_ = use_clusters_ && page_id == 1;
    auto const bin_bytes = use_clusters_ ? 2 * RowCluster::kNarrow * sizeof(std::int32_t)
                                         : gradients_.Width() * sizeof(double);
    // Smaller blocks where there would be too few for all threads.
    auto const share = only_page->cut.TotalBins() * bin_bytes / (kBlocksPerThread * n_threads_);
    blocks_ = MakeFeatureBlocks(only_page->cut, bin_bytes,
                                n_threads_ == 1 ? kBlockBytes : std::min(kBlockBytes, share));
    in_memory_ = page_id == 1 && !collective::IsDistributed();
    if (in_memory_) {
      cache_->Update(ctx_, only_page, blocks_, use_clusters_);
    }
    auto const max_list_rows = ml_param_.MaxListRows(gpair.Shape(0));
    if (use_clusters_) {
      clusters_->Reset(ctx_, {reg_, ml_param_.Method(), max_list_rows, max_bytes_}, blocks_.size(),
                       gpair.Shape(0), gradients_.NumLabels());
    }

    if (!use_clusters_ || gpair.Shape(0) > max_list_rows) {
      this->CheckMemory();
    }

    scanners_.assign(n_threads_,
                     {SplitScanner{reg_, gradients_.NumLabels()},
                      CategoryScanner{*param_, reg_, kernels_, gradients_.NumLabels()}});
  }

  /** @brief Begin a search on directions, if that can do what is asked for. */
  [[nodiscard]] bool InitDirections(linalg::MatrixView<GradientPair const> gpair, DMatrix* p_fmat) {
    if (collective::IsDistributed() || reg_.Rule() != LabelRule::kPlain ||
        reg_.min_child_weight != 0.0 || ml_param_.Method() != SplitMethod::kSumGain ||
        gpair.Shape(1) > DirectionSearch::kMaxDirections || !p_fmat->SingleColBlock()) {
      return false;
    }
    auto pages = this->Pages(p_fmat);
    auto it = pages.begin();
    page_ = it.Page();
    if (page_->cut.HasCategorical()) {
      page_.reset();
      return false;
    }
    direction_cache_->Update(ctx_, page_);
    directions_->Reset(ctx_, direction_cache_->index.get(), gpair, reg_.lambda, max_bytes_);
    return true;
  }

  /** @brief The block with most bins. */
  [[nodiscard]] FeatureBlock const& LargestBlock() const {
    return *std::max_element(
        blocks_.cbegin(), blocks_.cend(),
        [](FeatureBlock const& l, FeatureBlock const& r) { return l.n_bins < r.n_bins; });
  }
  /** @brief Size of its histogram. */
  [[nodiscard]] std::size_t BlockBytes() const {
    return this->LargestBlock().n_bins * gradients_.Width() *
           (use_clusters_ ? sizeof(std::int32_t) : sizeof(double));
  }
  /** @brief Whether every thread can have the histogram of a block of features. */
  void CheckMemory() const {
    constexpr double kMiB = 1 << 20;
    auto const bytes = this->BlockBytes();
    auto const needed = static_cast<std::size_t>(std::ceil(bytes * n_threads_ / kMiB));
    CHECK_LE(needed << 20, max_bytes_)
        << "max_histogram_mib=" << (max_bytes_ >> 20) << " is too little: a block of features with "
        << this->LargestBlock().n_bins << " bins and " << gradients_.NumLabels() << " labels takes "
        << bytes / kMiB << " MiB for each of " << n_threads_ << " threads. Raise it to " << needed
        << ", or lower max_bin or nthread.";
  }

  ExpandEntry InitRoot(DMatrix* p_fmat, RegTree* p_tree) {
    this->AddNode(RegTree::kRoot,
                  use_directions_ ? directions_->Sums(RegTree::kRoot) : gradients_.Sum(ctx_));
    auto weight = this->Weights(stats_[RegTree::kRoot].sums);
    auto sum_hess = this->SumHess(stats_[RegTree::kRoot].sums);
    if (p_tree->IsMultiTarget()) {
      for (auto& w : weight) {
        w *= param_->learning_rate;
      }
      p_tree->SetRoot(linalg::MakeVec(weight.data(), weight.size()), sum_hess);
    } else {
      p_tree->Stat(RegTree::kRoot).sum_hess = sum_hess;
      p_tree->Stat(RegTree::kRoot).base_weight = weight.front();
      (*p_tree)[RegTree::kRoot].SetLeaf(param_->learning_rate * weight.front());
    }
    std::vector<ExpandEntry> root(1);
    this->Evaluate(p_fmat, &root);
    return root.front();
  }

  void AddNode(bst_node_t nidx, std::vector<double> sums) {
    stats_.resize(std::max(stats_.size(), static_cast<std::size_t>(nidx) + 1));
    stats_[nidx].score = kernels_.score(reg_, sums.data(), n_targets_);
    stats_[nidx].sums = std::move(sums);
  }

  /** @brief Weights of a node without the learning rate. [n_targets] */
  [[nodiscard]] std::vector<float> Weights(std::vector<double> const& sums) const {
    std::vector<float> weights(n_targets_);
    for (std::size_t j = 0; j < n_targets_; ++j) {
      weights[j] = static_cast<float>(LabelWeight(reg_, sums[j], sums[n_targets_ + j]));
    }
    return weights;
  }

  /** @brief Hessian of a node over all labels: its `cover`. */
  [[nodiscard]] double SumHess(std::vector<double> const& sums) const {
    return std::accumulate(sums.cbegin() + n_targets_, sums.cend(), 0.0);
  }

  void ApplySplit(ExpandEntry const& entry, RegTree* p_tree) {
    auto const& split = entry.split;
    auto const left_sums = std::move(stats_[entry.nid].left_sums);
    auto const& parent_sums = stats_[entry.nid].sums;
    std::vector<double> right_sums(left_sums.size());
    std::transform(parent_sums.cbegin(), parent_sums.cend(), left_sums.cbegin(), right_sums.begin(),
                   [](double parent, double left) { return parent - left; });

    auto const base_weight = this->Weights(parent_sums);
    auto const left_weight = this->Weights(left_sums);
    auto const right_weight = this->Weights(right_sums);
    auto const left_hess = this->SumHess(left_sums);
    auto const right_hess = this->SumHess(right_sums);
    auto const eta = param_->learning_rate;
    if (p_tree->IsMultiTarget()) {
      tree::ExpandBatch batch{eta};
      batch.Push(entry.nid, split.feature, split.split_value, split.default_left,
                 common::Span{base_weight}, common::Span{left_weight}, common::Span{right_weight},
                 split.gain, left_hess, right_hess, common::Span{split.right_categories});
      p_tree->Expand(ctx_, batch);
    } else if (!split.right_categories.empty()) {
      p_tree->ExpandCategorical(entry.nid, split.feature, common::Span{split.right_categories},
                                split.default_left, base_weight.front(), eta * left_weight.front(),
                                eta * right_weight.front(), split.gain, left_hess + right_hess,
                                left_hess, right_hess);
    } else {
      p_tree->ExpandNode(entry.nid, split.feature, split.split_value, split.default_left,
                         base_weight.front(), eta * left_weight.front(), eta * right_weight.front(),
                         split.gain, left_hess + right_hess, left_hess, right_hess);
    }
    auto const left = p_tree->LeftChild(entry.nid);
    auto const right = p_tree->RightChild(entry.nid);
    interactions_.Split(entry.nid, split.feature, left, right);
    this->AddNode(left, left_sums);
    this->AddNode(right, std::move(right_sums));
  }

  void UpdatePosition(DMatrix* p_fmat, RegTree const& tree,
                      std::vector<ExpandEntry> const& applied) {
    if (use_directions_) {
      std::vector<DirectionSearch::Applied> nodes;
      for (auto const& entry : applied) {
        nodes.push_back({entry.nid, tree.LeftChild(entry.nid), tree.RightChild(entry.nid)});
      }
      directions_->Partition(nodes);
      return;
    }
    std::size_t page_id{0};
    for (auto const& page : this->Pages(p_fmat)) {
      VisitTree(tree, [&](auto const& view) {
        partitioners_[page_id].UpdatePosition(ctx_, page, applied, view);
      });
      ++page_id;
    }
  }

  [[nodiscard]] common::Span<bst_idx_t const> Rows(std::size_t page_id, bst_node_t nidx) const {
    auto const& rows = partitioners_[page_id][nidx];
    return {rows.begin(), rows.Size()};
  }

  /** @brief Find the best split of each node. */
  void Evaluate(DMatrix* p_fmat, std::vector<ExpandEntry>* p_nodes) {
    auto& nodes = *p_nodes;
    auto const features = this->SampleFeatures(nodes);
    if (use_directions_) {
      this->EvaluateDirections(features, &nodes);
      return;
    }
    if (use_clusters_) {
      this->EvaluateClusters(p_fmat, features, &nodes);
      return;
    }
    this->CountActive(nodes);

    std::vector<Task> tasks;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        if (!features[i].Of(blocks_[b]).empty()) {
          tasks.push_back({i, b});
        }
      }
    }
    std::vector<BestSplit> best(nodes.size() * n_threads_);
    auto const types = p_fmat->Info().feature_types.ConstHostSpan();
    wanted_.resize(n_threads_);
    auto fill = [&](BinIndex const& index, common::HistogramCuts const& cuts, std::size_t page_id,
                    Task const& task, BlockHistogram* hist) {
      auto const& block = blocks_[task.block];
      auto* wanted = &wanted_[omp_get_thread_num()];
      MarkWanted(cuts, block, features[task.node].Of(block), wanted);
      hist->Resize(block.n_bins, gradients_.Width());
      hist->Add(index, task.block, this->Rows(page_id, nodes[task.node].nid), gradients_, *wanted);
    };
    auto scan = [&](BinIndex const& index, common::HistogramCuts const& cuts, Task const& task,
                    BlockHistogram* hist) {
      auto const tid = omp_get_thread_num();
      auto const& block = blocks_[task.block];
      auto const& ptrs = cuts.Ptrs();
      auto const& stats = stats_[nodes[task.node].nid];
      auto* of_thread = &best[task.node * n_threads_ + tid];
      for (auto f : features[task.node].Of(block)) {
        FeatureHistogram const of_feature{
            *hist, cuts, f, block.first_bin, ptrs[f], ptrs[f + 1], index.DefaultBin(f)};
        if (common::IsCat(types, f)) {
          scanners_[tid].categories.Scan(of_feature.ByCategory(), stats, of_thread);
        } else {
          (scanners_[tid].numbers.*kernels_.scan)(of_feature, stats, of_thread);
        }
      }
      hist->Clear();
    };

    if (in_memory_) {
      histograms_.resize(n_threads_);
      for (auto const& page : this->Pages(p_fmat)) {
        common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
          auto* hist = &histograms_[omp_get_thread_num()];
          fill(*cache_->index, page.cut, 0, tasks[i], hist);
          scan(*cache_->index, page.cut, tasks[i], hist);
        });
      }
    } else {
      // One histogram per task of a group, filled page by page, and summed over the workers.
      std::size_t const group_size =
          std::max<std::size_t>(1, std::min(kPassBytes, max_bytes_) / this->BlockBytes());
      histograms_.resize(std::min(group_size, tasks.size()));
      for (std::size_t begin = 0; begin < tasks.size(); begin += group_size) {
        auto const n = std::min(group_size, tasks.size() - begin);
        std::size_t page_id{0};
        for (auto const& page : this->Pages(p_fmat)) {
          BinIndex const index{ctx_, page, blocks_, false, false};
          common::ParallelFor(n, n_threads_, common::Sched::Dyn(1), [&](auto i) {
            fill(index, page.cut, page_id, tasks[begin + i], &histograms_[i]);
          });
          if (++page_id == partitioners_.size()) {
            this->SumOverWorkers(common::Span{tasks}.subspan(begin, n));
            common::ParallelFor(n, n_threads_, common::Sched::Dyn(1), [&](auto i) {
              scan(index, page.cut, tasks[begin + i], &histograms_[i]);
            });
          }
        }
      }
    }

    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::int32_t tid = 0; tid < n_threads_; ++tid) {
        auto& candidate = best[i * n_threads_ + tid];
        if (candidate.split.Beats(nodes[i].split)) {
          nodes[i].split = candidate.split;
          stats_[nodes[i].nid].left_sums = std::move(candidate.left_sums);
        }
      }
    }
  }

  /** @brief Replace the histograms of a group of tasks by their sums over all workers. */
  void SumOverWorkers(common::Span<Task const> tasks) {
    if (!collective::IsDistributed()) {
      return;
    }
    std::vector<std::size_t> begin{0};
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      begin.push_back(begin.back() + histograms_[i].Size(blocks_[tasks[i].block].n_bins));
    }
    std::vector<double> sums(begin.back());
    common::ParallelFor(tasks.size(), n_threads_, [&](auto i) {
      histograms_[i].Write(blocks_[tasks[i].block].n_bins, sums.data() + begin[i]);
    });
    collective::SafeColl(collective::GlobalSum(ctx_, linalg::MakeVec(sums.data(), sums.size())));
    common::ParallelFor(tasks.size(), n_threads_, [&](auto i) {
      histograms_[i].Read(blocks_[tasks[i].block].n_bins, sums.data() + begin[i]);
    });
  }

  /** @brief By node: whether it may be split on each feature; empty: on all. */
  [[nodiscard]] static std::vector<std::vector<std::uint8_t>> MarkAllowed(
      std::vector<NodeFeatures> const& features, std::size_t n_features) {
    std::vector<std::vector<std::uint8_t>> allowed(features.size());
    for (std::size_t i = 0; i < features.size(); ++i) {
      if (auto const chosen = features[i].All(); chosen.size() < n_features) {
        allowed[i].resize(n_features, 0);
        for (auto f : chosen) {
          allowed[i][f] = 1;
        }
      }
    }
    return allowed;
  }

  void EvaluateDirections(std::vector<NodeFeatures> const& features,
                          std::vector<ExpandEntry>* p_nodes) {
    auto& nodes = *p_nodes;
    auto const allowed = MarkAllowed(features, page_->Features());
    std::vector<DirectionSearch::Request> requests;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      bool const goes_on = param_->max_depth == 0 || nodes[i].depth + 1 < param_->max_depth;
      requests.push_back({nodes[i].nid, nodes[i].parent,
                          allowed[i].empty() ? nullptr : allowed[i].data(), goes_on,
                          &nodes[i].split, &stats_[nodes[i].nid].left_sums});
    }
    directions_->Evaluate(page_->cut, requests);
  }

  void EvaluateClusters(DMatrix* p_fmat, std::vector<NodeFeatures> const& features,
                        std::vector<ExpandEntry>* p_nodes) {
    auto& nodes = *p_nodes;
    auto const allowed = MarkAllowed(features, blocks_.back().end);
    std::vector<ClusterEvaluator::Request> requests;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      auto const nid = nodes[i].nid;
      requests.push_back({nid, nodes[i].parent, this->Rows(0, nid),
                          allowed[i].empty() ? nullptr : allowed[i].data(), &stats_[nid],
                          &nodes[i].split});
    }
    if (requests.empty()) {
      return;
    }
    for (auto const& page : this->Pages(p_fmat)) {
      clusters_->Evaluate({*cache_->index, page.cut, blocks_, gradients_, kernels_,
                           p_fmat->Info().feature_types.ConstHostSpan()},
                          requests, &scanners_, &cache_->root_lists);
    }
  }

  [[nodiscard]] std::vector<NodeFeatures> SampleFeatures(std::vector<ExpandEntry> const& nodes) {
    bool const restricted = !param_->interaction_constraints.empty();
    std::vector<NodeFeatures> features;
    for (auto const& node : nodes) {
      features.emplace_back(column_sampler_->GetFeatureSet(ctx_, node.depth), interactions_,
                            restricted, node.nid);
    }
    return features;
  }

  /** @brief Mark the bins of a block's features; leave `out` empty if all features are wanted. */
  static void MarkWanted(common::HistogramCuts const& cuts, FeatureBlock const& block,
                         common::Span<bst_feature_t const> features,
                         std::vector<std::uint8_t>* out) {
    out->clear();
    if (features.size() == block.end - block.begin) {
      return;
    }
    out->resize(block.n_bins, 0);
    auto const& ptrs = cuts.Ptrs();
    for (auto f : features) {
      std::fill(out->begin() + (ptrs[f] - block.first_bin),
                out->begin() + (ptrs[f + 1] - block.first_bin), std::uint8_t{1});
    }
  }

  /** @brief Count the rows of each node, on all workers, that carry a gradient. */
  void CountActive(std::vector<ExpandEntry> const& nodes) {
    std::vector<double> n_active(nodes.size(), 0.0);
    common::ParallelFor(nodes.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
      for (std::size_t page_id = 0; page_id < partitioners_.size(); ++page_id) {
        for (auto ridx : this->Rows(page_id, nodes[i].nid)) {
          n_active[i] += gradients_.Active(ridx);
        }
      }
    });
    collective::SafeColl(
        collective::GlobalSum(ctx_, linalg::MakeVec(n_active.data(), n_active.size())));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      stats_[nodes[i].nid].n_active = static_cast<bst_idx_t>(n_active[i]);
    }
  }

  Context const* ctx_;
  std::int32_t n_threads_;  // asking the context is a system call
  TrainParam const* param_;
  BatchParam batch_;
  Regularisation reg_;
  SplitScanner::Kernels kernels_;
  std::shared_ptr<common::ColumnSampler> column_sampler_;
  FeatureInteractionConstraintHost interactions_;
  MultiLabelTrainParam const& ml_param_;
  std::size_t max_bytes_;
  /** @brief Whether all rows are here, in one page. */
  bool in_memory_{false};
  bool use_clusters_{false};
  bool use_directions_{false};
  /** @brief Number of columns of what is searched on: labels, or directions. */
  std::size_t n_targets_{0};
  /** @brief While a tree grows on directions. */
  std::shared_ptr<GHistIndexMatrix const> page_;

  IndexCache* cache_;
  DirectionCache* direction_cache_;
  DirectionSearch* directions_;
  ClusterEvaluator* clusters_;
  GradientMatrix& gradients_;
  std::vector<tree::CommonRowPartitioner>& partitioners_;
  std::vector<BlockHistogram>& histograms_;
  std::vector<FeatureBlock> blocks_;
  std::vector<NodeStats> stats_;                   // by node index
  std::vector<ThreadScanners> scanners_;           // one per thread
  std::vector<std::vector<std::uint8_t>> wanted_;  // one per thread
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_GROWER_H_
