/**
 * @brief Search by histograms in double precision, for what clusters do not know.
 *
 * Categorical features, parameters that look at single labels' Hessians or clip weights, external
 * memory and several workers. A task is one node and one block of neighbouring features: it fills
 * its histogram, scans it and forgets it. With external memory a group of tasks shares one pass
 * over the pages; with several workers it shares one reduction.
 */
#ifndef XDCC_MULTILABEL_HISTOGRAM_SEARCH_H_
#define XDCC_MULTILABEL_HISTOGRAM_SEARCH_H_

#include <algorithm>  // for any_of, fill, max, min
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uint8_t
#include <utility>    // for move
#include <vector>     // for vector

#include "../../../../src/collective/aggregator.h"        // for GlobalSum, SafeColl
#include "../../../../src/collective/communicator-inl.h"  // for IsDistributed
#include "../../../../src/common/categorical.h"           // for IsCat
#include "../../../../src/common/threading_utils.h"       // for ParallelFor, Sched
#include "category_scan.h"                                // for CategoryScanner
#include "histogram.h"                                    // for BlockHistogram
#include "paged_search.h"                                 // for PagedSearch
#include "split_search.h"                                 // for TreeRules, TreeData, NodeRequest

namespace xgboost::multilabel {
class HistogramSearch : public PagedSearch {
 public:
  void Begin(Context const* ctx, TreeRules const& rules, TreeData const& data) override {
    auto const page = this->Read(ctx, rules, data);
    this->MakeBlocks(page->cut, gradients_.Width() * sizeof(double));
    in_memory_ = rows_.NumPages() == 1 && !collective::IsDistributed();
    if (in_memory_) {
      this->UpdateIndex(page, false);
    }
    this->CheckMemory(this->BlockBytes());
    kernels_ = rules.kernels;
    types_ = data.p_fmat->Info().feature_types.ConstHostSpan();
    auto const n_labels = gradients_.NumLabels();
    scanners_.assign(n_threads_, SplitScanner{rules.reg, n_labels});
    category_scanners_.assign(n_threads_,
                              CategoryScanner{rules.param, rules.reg, kernels_, n_labels});
    wanted_.resize(n_threads_);
  }

  void Evaluate(std::vector<NodeRequest> const& nodes) override {
    this->CountActive(nodes);
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        auto const* allowed = nodes[i].Allowed();
        if (!allowed || std::any_of(allowed + blocks_[b].begin, allowed + blocks_[b].end,
                                    [](auto is_allowed) { return is_allowed; })) {
          tasks.push_back({i, b});
        }
      }
    }
    std::vector<BestSplit> best(nodes.size() * n_threads_);
    auto fill = [&](BinIndex const& index, common::HistogramCuts const& cuts, std::size_t page_id,
                    Task const& task, BlockHistogram* hist) {
      auto const& block = blocks_[task.block];
      auto* wanted = &wanted_[omp_get_thread_num()];
      MarkWanted(cuts, block, nodes[task.node].Allowed(), wanted);
      hist->Resize(block.n_bins, gradients_.Width());
      hist->Add(index, task.block, rows_.Of(page_id, nodes[task.node].nid), gradients_, *wanted);
    };
    auto scan = [&](BinIndex const& index, common::HistogramCuts const& cuts, Task const& task,
                    BlockHistogram* hist) {
      auto const tid = omp_get_thread_num();
      auto const& block = blocks_[task.block];
      auto const& ptrs = cuts.Ptrs();
      auto const& node = nodes[task.node];
      auto* of_thread = &best[task.node * n_threads_ + tid];
      for (auto f = block.begin; f < block.end; ++f) {
        if (node.Allowed() && !node.Allowed()[f]) {
          continue;
        }
        FeatureHistogram const of_feature{
            *hist, cuts, f, block.first_bin, ptrs[f], ptrs[f + 1], index.DefaultBin(f)};
        if (common::IsCat(types_, f)) {
          category_scanners_[tid].Scan(of_feature, *node.stats, of_thread);
        } else {
          (scanners_[tid].*kernels_.scan)(of_feature, *node.stats, of_thread);
        }
      }
      hist->Clear();
    };

    if (in_memory_) {
      histograms_.resize(n_threads_);
      for (auto const& page : this->Pages()) {
        common::ParallelFor(tasks.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
          auto* hist = &histograms_[omp_get_thread_num()];
          fill(*index_, page.cut, 0, tasks[i], hist);
          scan(*index_, page.cut, tasks[i], hist);
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
        for (auto const& page : this->Pages()) {
          BinIndex const index{ctx_, page, blocks_, false, false};
          common::ParallelFor(n, n_threads_, common::Sched::Dyn(1), [&](auto i) {
            fill(index, page.cut, page_id, tasks[begin + i], &histograms_[i]);
          });
          if (++page_id == rows_.NumPages()) {
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
        if (candidate.split.Beats(*nodes[i].split)) {
          *nodes[i].split = candidate.split;
          nodes[i].stats->left_sums = std::move(candidate.left_sums);
        }
      }
    }
  }

 private:
  /** @brief With external memory: size of the histograms that one pass over the pages fills. */
  static constexpr std::size_t kPassBytes = std::size_t{1} << 28;

  /** @brief One node and one block of features. */
  struct Task {
    std::size_t node;   // position among the nodes that are evaluated together
    std::size_t block;  // position among the feature blocks
  };

  /** @brief Size of the largest histogram. */
  [[nodiscard]] std::size_t BlockBytes() const {
    return this->MaxBlockBins() * gradients_.Width() * sizeof(double);
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

  /** @brief Mark the bins of a block's features; leave `out` empty if all features are wanted. */
  static void MarkWanted(common::HistogramCuts const& cuts, FeatureBlock const& block,
                         std::uint8_t const* allowed, std::vector<std::uint8_t>* out) {
    out->clear();
    if (!allowed) {
      return;
    }
    out->resize(block.n_bins);
    auto const& ptrs = cuts.Ptrs();
    for (auto f = block.begin; f < block.end; ++f) {
      std::fill(out->begin() + (ptrs[f] - block.first_bin),
                out->begin() + (ptrs[f + 1] - block.first_bin), allowed[f]);
    }
  }

  /** @brief Count the rows of each node, on all workers, that carry a gradient. */
  void CountActive(std::vector<NodeRequest> const& nodes) {
    std::vector<double> n_active(nodes.size(), 0.0);
    common::ParallelFor(nodes.size(), n_threads_, common::Sched::Dyn(1), [&](auto i) {
      for (auto const& of_page : rows_.Of(nodes[i].nid)) {
        for (auto ridx : of_page) {
          n_active[i] += gradients_.Active(ridx);
        }
      }
    });
    collective::SafeColl(
        collective::GlobalSum(ctx_, linalg::MakeVec(n_active.data(), n_active.size())));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].stats->n_active = static_cast<bst_idx_t>(n_active[i]);
    }
  }

  /** @brief Whether all rows are here, in one page. */
  bool in_memory_{false};
  SplitScanner::Kernels kernels_{};
  common::Span<FeatureType const> types_;
  std::vector<BlockHistogram> histograms_;          // one per thread, or per task of a group
  std::vector<SplitScanner> scanners_;              // one per thread
  std::vector<CategoryScanner> category_scanners_;  // one per thread
  std::vector<std::vector<std::uint8_t>> wanted_;   // one per thread
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_HISTOGRAM_SEARCH_H_
