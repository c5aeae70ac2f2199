/**
 * @brief Finds the best split of a node on one feature, from the feature's histogram.
 *
 * The bins are scanned upwards, with missing values on the right; where the node has missing
 * values of the feature they are scanned downwards as well, with missing values on the left. Only
 * bins that hold rows are candidates: a bin without rows repeats the split before it. The split
 * value is the upper bound of the last bin on the left, as in XGBoost's own updaters, and so is
 * the order of preference among equal gains: the feature with the lower index, missing values on
 * the right, then the split that the scan meets first.
 */
#ifndef XDCC_MULTILABEL_EVALUATOR_H_
#define XDCC_MULTILABEL_EVALUATOR_H_

#include <algorithm>  // for fill
#include <cstddef>    // for size_t
#include <limits>     // for numeric_limits
#include <vector>     // for vector

#include "../../src/common/hist_util.h"  // for HistogramCuts
#include "histogram.h"                   // for BlockHistogram
#include "split_score.h"                 // for ScoreNode, Regularisation
#include "xgboost/base.h"                // for bst_feature_t, bst_bin_t, bst_idx_t
#include "xgboost/logging.h"             // for LOG

namespace xgboost::multilabel {
/** @brief A split on a number: left are the rows below `split_value`. */
struct Split {
  float gain{0.0f};
  bst_feature_t feature{0};
  float split_value{0.0f};
  bool default_left{false};

  /** @brief Whether this split is to be preferred to another. */
  [[nodiscard]] bool Beats(Split const& that) const {
    return gain > that.gain || (gain == that.gain && gain > 0.0f && feature < that.feature);
  }
};

/** @brief The best split so far of a node. */
struct BestSplit {
  Split split;
  /** @brief Sums of the left child, gradients then Hessians. */
  std::vector<double> left_sums;

  void Update(Split const& candidate, std::vector<double> const& candidate_left_sums) {
    if (candidate.Beats(split)) {
      split = candidate;
      left_sums = candidate_left_sums;
    }
  }
};

/** @brief What is known of a node. */
struct NodeStats {
  /** @brief Sums over the node's rows, gradients then Hessians. [2 * n_labels] */
  std::vector<double> sums;
  double score{0.0};
  /** @brief Number of rows that carry a gradient. */
  bst_idx_t n_active{0};
  /** @brief Sums of the left child of the node's best split. */
  std::vector<double> left_sums;
};

/** @brief Working memory of one thread. */
class SplitScanner {
  Regularisation reg_;
  std::size_t n_labels_;
  std::vector<double> scanned_;  // sums of the bins passed so far
  std::vector<double> rest_;     // sums of the node's other rows

  template <SplitMethod kMethod, bool kPlain>
  void ScanImpl(BlockHistogram const& hist, common::HistogramCuts const& cuts,
                bst_bin_t block_begin, bst_feature_t fidx, NodeStats const& node, BestSplit* best) {
    auto const& ptrs = cuts.Ptrs();
    auto const& values = cuts.Values();
    auto const begin = static_cast<bst_bin_t>(ptrs[fidx]);
    auto const end = static_cast<bst_bin_t>(ptrs[fidx + 1]);

    bst_idx_t n_present{0};
    this->Restart();
    for (auto bin = begin; bin != end; ++bin) {
      auto const count = hist.Count(bin - block_begin);
      if (count == 0) {
        continue;
      }
      n_present += count;
      if (n_present == node.n_active) {
        return;  // nothing is left for the other child, and nothing is missing
      }
      this->Pass(hist.Sums(bin - block_begin), node);
      auto gain = this->Gain<kMethod, kPlain>(node);
      best->Update({gain, fidx, values[bin], false}, scanned_);
    }
    if (n_present == 0) {
      return;
    }

    this->Restart();
    for (auto bin = end - 1; bin != begin - 1; --bin) {
      if (hist.Count(bin - block_begin) == 0) {
        continue;
      }
      this->Pass(hist.Sums(bin - block_begin), node);
      auto gain = this->Gain<kMethod, kPlain>(node);
      auto value = common::HistogramCuts::NumericBinLowerBound(ptrs, values, fidx, bin);
      best->Update({gain, fidx, value, true}, rest_);
    }
  }

  void Restart() { std::fill(scanned_.begin(), scanned_.end(), 0.0); }

  void Pass(double const* bin_sums, NodeStats const& node) {
    for (std::size_t k = 0; k < scanned_.size(); ++k) {
      scanned_[k] += bin_sums[k];
      rest_[k] = node.sums[k] - scanned_[k];
    }
  }

  template <SplitMethod kMethod, bool kPlain>
  [[nodiscard]] float Gain(NodeStats const& node) const {
    auto scanned = ScoreNode<kMethod, kPlain>(reg_, scanned_.data(), n_labels_);
    auto rest = ScoreNode<kMethod, kPlain>(reg_, rest_.data(), n_labels_);
    if (!scanned.allowed || !rest.allowed) {
      return -std::numeric_limits<float>::infinity();
    }
    return static_cast<float>(scanned.score + rest.score - node.score);
  }

 public:
  SplitScanner(Regularisation const& reg, std::size_t n_labels)
      : reg_{reg}, n_labels_{n_labels}, scanned_(2 * n_labels), rest_(2 * n_labels) {}

  /**
   * @brief Update the best split with those of one feature.
   *
   * @param hist        Histogram of the block that the feature belongs to.
   * @param block_begin First bin of the block.
   */
  using ScanFn = void (SplitScanner::*)(BlockHistogram const& hist,
                                        common::HistogramCuts const& cuts, bst_bin_t block_begin,
                                        bst_feature_t fidx, NodeStats const& node, BestSplit* best);
  using ScoreFn = NodeScore (*)(Regularisation const& r, double const* sums, std::size_t n_labels);

  /** @brief The loops of one split method. */
  struct Kernels {
    ScanFn scan;
    ScoreFn score;
  };

  /** @brief Choose the loops once, outside of them. */
  static Kernels Choose(SplitMethod method, bool plain) {
    switch (method) {
      case SplitMethod::kSumGain:
        return MakeKernels<SplitMethod::kSumGain>(plain);
      case SplitMethod::kMaxGain:
        return MakeKernels<SplitMethod::kMaxGain>(plain);
      case SplitMethod::kSumWeight:
        return MakeKernels<SplitMethod::kSumWeight>(plain);
      case SplitMethod::kMaxWeight:
        return MakeKernels<SplitMethod::kMaxWeight>(plain);
      case SplitMethod::kSumAbsG:
        return MakeKernels<SplitMethod::kSumAbsG>(plain);
      case SplitMethod::kMaxAbsG:
        return MakeKernels<SplitMethod::kMaxAbsG>(plain);
    }
    LOG(FATAL) << "Unreachable";
    return {};
  }

 private:
  template <SplitMethod kMethod>
  static Kernels MakeKernels(bool plain) {
    return plain ? Kernels{&SplitScanner::ScanImpl<kMethod, true>, &ScoreNode<kMethod, true>}
                 : Kernels{&SplitScanner::ScanImpl<kMethod, false>, &ScoreNode<kMethod, false>};
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_EVALUATOR_H_
