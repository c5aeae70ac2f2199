/**
 * @brief The search by clusters: reads pages and gradients, and asks the evaluator.
 */
#include "cluster_search.h"

#include <algorithm>   // for max_element, min, transform
#include <cmath>       // for ceil
#include <cstddef>     // for size_t
#include <cstdint>     // for int32_t
#include <functional>  // for plus
#include <memory>      // for make_unique, shared_ptr, unique_ptr, weak_ptr
#include <vector>      // for vector

#include "../../../../src/collective/aggregator.h"        // for GlobalSum, SafeColl
#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../../src/common/categorical.h"           // for IsCat, UseOneHot
#include "../../../../src/data/gradient_index.h"          // for GHistIndexMatrix
#include "../../../../src/tree/sample_position.h"         // for SamplePosition
#include "../data/bin_index.h"        // for BinIndex, FeatureBlock, MakeFeatureBlocks
#include "../data/gradient_matrix.h"  // for GradientMatrix
#include "../data/page_rows.h"        // for PageRows
#include "cluster_evaluator.h"        // for ClusterEvaluator
#include "split_candidate.h"          // for ThreadScanners
#include "split_search.h"             // for TreeRules, TreeData, NodeRequest
#include "xgboost/data.h"             // for BatchParam, DMatrix
#include "xgboost/logging.h"          // for CHECK_LE

namespace xgboost::multilabel {
namespace {
class ClusterSearch : public SplitSearch {
 public:
  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override {
    auto const page = this->Read(ctx, rules, data);
    CheckBins(page->cut);
    this->MakeBlocks(page->cut, 2 * RowCluster::kNarrow * sizeof(std::int32_t));
    if (rows_.NumPages() > 1) {
      this->ForgetIndex();
    } else if (this->UpdateIndex(page, true)) {
      root_lists_ = {};
    }
    cuts_ = page->cut;
    auto const n_rows = data.gpair.Shape(0);
    auto const max_list_rows = rules.ml_param.MaxListRows(n_rows);
    types_ = data.p_fmat->Info().feature_types.ConstHostSpan();
    clusters_.Reset(
        ctx,
        {rules.reg, rules.ml_param.Method(), max_list_rows, max_bytes_,
         rules.param.max_cat_to_onehot, static_cast<std::uint32_t>(rules.param.max_cat_threshold),
         this->SortsCategories(rules.param.max_cat_to_onehot),
         // Without lambda the weights of small categories are not bounded.
         data.p_fmat->Info().HasCategorical() && rules.reg.lambda > 0.0, rules.is_monotone},
        {blocks_, gradients_.NumLabels(), n_rows, is_shared_});
    if (is_shared_ || n_rows > max_list_rows) {
      this->CheckMemory(this->MaxBlockBins() * gradients_.Width() * sizeof(std::int32_t));
    }
    kernels_ = rules.kernels;
    orders_ = {};
    if (rules.is_monotone) {
      orders_ = common::Span{rules.param.monotone_constraints};
    }
    auto const n_labels = gradients_.NumLabels();
    scanners_.assign(n_threads_, {SplitScanner{rules.reg, n_labels},
                                  CategoryScanner{rules.param, rules.reg, kernels_, n_labels}});
  }

  void Evaluate(std::vector<NodeRequest> const& nodes) override {
    std::vector<ClusterEvaluator::Request> requests;
    for (auto const& node : nodes) {
      requests.push_back(
          {node.nid, node.parent, rows_.Of(node.nid), node.Allowed(), node.stats, node.split});
    }
    auto visit = [&](auto const& fn) {
      if (rows_.NumPages() == 1) {
        fn(*index_);
        return;
      }
      for (auto const& page : this->Pages()) {
        fn(BinIndex{ctx_, page, blocks_, default_bins_, true});
      }
    };
    clusters_.Evaluate({*index_, cuts_, blocks_, gradients_, kernels_, types_, orders_}, visit,
                       requests, &scanners_, &root_lists_);
  }

  [[nodiscard]] std::vector<double> RootSums() override { return gradients_.Sum(ctx_); }

  void Partition(RegTree const& tree, std::vector<AppliedSplit> const& applied) override {
    std::size_t page_id{0};
    for (auto const& page : this->Pages()) {
      rows_.Partition(ctx_, page_id++, page, tree, applied);
    }
  }

  void End(common::Span<bst_node_t> out) override {
    p_fmat_ = nullptr;
    // As `CommonRowPartitioner::LeafPartition`, which asks every label of every row again.
    for (auto nid : rows_.Leaves()) {
      for (auto const& of_page : rows_.Of(nid)) {
        for (auto row : of_page) {
          out[row] = tree::SamplePosition::Encode(nid, gradients_.Active(row));
        }
      }
    }
  }

  [[nodiscard]] LeafSums SumOverLeaves(LabelGradients const& gradients) const override {
    LeafSums out;
    out.leaves = rows_.Leaves();
    std::vector<std::vector<common::Span<bst_idx_t const>>> rows;
    for (auto nid : out.leaves) {
      rows.push_back(rows_.Of(nid));
    }
    out.sums = SumLeaves(ctx_, gradients, rows);
    return out;
  }

 private:
  /** @brief Check that the bins of every feature have numbers of 16 bits. */
  static void CheckBins(common::HistogramCuts const& cuts) {
    auto const& ptrs = cuts.Ptrs();
    for (bst_feature_t f = 0; f < cuts.NumFeatures(); ++f) {
      CHECK_LT(ptrs[f + 1] - ptrs[f], ClusterEvaluator::kMaxListRows)
          << "Feature " << f << " has too many bins. Lower max_bin, or give it fewer categories.";
    }
  }

  /** @brief Whether a feature has so many categories that they are sorted. */
  [[nodiscard]] bool SortsCategories(std::uint32_t max_to_onehot) const {
    auto const& ptrs = cuts_.Ptrs();
    for (bst_feature_t f = 0; f < cuts_.NumFeatures(); ++f) {
      if (common::IsCat(types_, f) && !common::UseOneHot(ptrs[f + 1] - ptrs[f], max_to_onehot)) {
        return true;
      }
    }
    return false;
  }

  /** @brief Size of a task's histogram; it shares a core's second-level cache with gradients. */
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 18;

  /** @brief Read the gradients, the pages and what the matrix is like. Returns the first page. */
  std::shared_ptr<GHistIndexMatrix const> Read(Context const* ctx, TreeRules const& rules,
                                               TreeData const& data) {
    ctx_ = ctx;
    n_threads_ = ctx->Threads();
    p_fmat_ = data.p_fmat;
    batch_ = rules.Batch();
    max_bytes_ = rules.MaxBytes();
    gradients_.Assign(ctx_, data.gpair);
    rows_.Clear();
    std::shared_ptr<GHistIndexMatrix const> first;
    std::vector<double> counts;  // by bin, then of rows
    auto pages = this->Pages();
    for (auto it = pages.begin(); !it.AtEnd(); ++it) {
      auto const& page = *it;
      rows_.AddPage(ctx_, page);
      if (!first) {
        first = it.Page();
        counts.resize(page.hit_count.size() + 1);
      }
      std::transform(page.hit_count.cbegin(), page.hit_count.cend(), counts.cbegin(),
                     counts.begin(), std::plus<>{});
      counts.back() += static_cast<double>(page.Size());
    }
    collective::SafeColl(
        collective::GlobalSum(ctx_, linalg::MakeVec(counts.data(), counts.size())));
    CHECK_LT(counts.back(), 0x1p30) << "There are too many rows.";
    default_bins_ = FindDefaultBins(first->cut, counts, counts.back());
    is_shared_ = rows_.NumPages() > 1 || collective::IsDistributed();
    return first;
  }

  /**
   * @brief Cut the features into blocks, smaller ones where there are too few for all threads.
   *
   * Workers have the same blocks, whatever number of threads they have, and one each at least.
   */
  void MakeBlocks(common::HistogramCuts const& cuts, std::size_t bin_bytes) {
    std::size_t const n_blocks =
        collective::IsDistributed() ? collective::GetWorldSize() : n_threads_;
    auto const n_bins = (cuts.TotalBins() + n_blocks - 1) / n_blocks;
    blocks_ = MakeFeatureBlocks(cuts, bin_bytes, std::min(kBlockBytes, n_bins * bin_bytes));
  }

  /**
   * @brief Lay out the only page, unless that was done for the tree before.
   *
   * @return Whether the page is another one.
   */
  bool UpdateIndex(std::shared_ptr<GHistIndexMatrix const> const& page, bool columns) {
    if (index_ && indexed_page_.lock() == page && indexed_blocks_ == blocks_ &&
        indexed_default_bins_ == default_bins_) {
      return false;
    }
    index_ = std::make_unique<BinIndex>(ctx_, *page, blocks_, default_bins_, columns);
    indexed_page_ = page;
    indexed_blocks_ = blocks_;
    indexed_default_bins_ = default_bins_;
    return true;
  }

  /** @brief With several pages: the index only says what the default bins are. */
  void ForgetIndex() {
    index_ = std::make_unique<BinIndex>(default_bins_);
    indexed_page_.reset();
  }

  [[nodiscard]] BatchSet<GHistIndexMatrix> Pages() const {
    return p_fmat_->GetBatches<GHistIndexMatrix>(ctx_, batch_);
  }

  /** @brief The largest number of bins of a block. */
  [[nodiscard]] std::size_t MaxBlockBins() const {
    return std::max_element(blocks_.cbegin(), blocks_.cend(),
                            [](auto const& l, auto const& r) { return l.n_bins < r.n_bins; })
        ->n_bins;
  }
  /**
   * @brief Check that every thread can have the histogram of a block of features.
   *
   * @param bytes Size of the largest one.
   */
  void CheckMemory(std::size_t bytes) const {
    constexpr double kMiB = 1 << 20;
    auto const needed = static_cast<std::size_t>(std::ceil(bytes * n_threads_ / kMiB));
    CHECK_LE(needed << 20, max_bytes_)
        << "max_histogram_mib=" << (max_bytes_ >> 20) << " is too little: a block of features with "
        << this->MaxBlockBins() << " bins and " << gradients_.NumLabels() << " labels takes "
        << bytes / kMiB << " MiB for each of " << n_threads_ << " threads. Raise it to " << needed
        << ", or lower max_bin or nthread.";
  }

  Context const* ctx_{nullptr};
  std::int32_t n_threads_{1};  // asking the context is a system call
  DMatrix* p_fmat_{nullptr};   // while a tree grows
  BatchParam batch_;
  std::size_t max_bytes_{0};
  GradientMatrix gradients_;
  PageRows rows_;
  /** @brief Whether rows are shared out among pages or workers. */
  bool is_shared_{false};
  std::vector<bst_bin_t> default_bins_;  // by feature
  std::vector<FeatureBlock> blocks_;
  std::unique_ptr<BinIndex> index_;  // of the only page
  std::weak_ptr<GHistIndexMatrix const> indexed_page_;
  std::vector<FeatureBlock> indexed_blocks_;
  std::vector<bst_bin_t> indexed_default_bins_;
  ClusterEvaluator clusters_;
  common::HistogramCuts cuts_{0};
  RootLists root_lists_;
  SplitScanner::Kernels kernels_{};
  common::Span<FeatureType const> types_;
  common::Span<int const> orders_;        // monotone constraints
  std::vector<ThreadScanners> scanners_;  // one per thread
};
}  // namespace

std::unique_ptr<SplitSearch> MakeClusterSearch() { return std::make_unique<ClusterSearch>(); }
}  // namespace xgboost::multilabel
