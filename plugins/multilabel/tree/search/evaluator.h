/**
 * @brief Finds the best split of a node on one numeric feature, from the feature's histogram.
 *
 * The bins that hold rows are scanned upwards, with missing values on the right; where the node has
 * missing values of the feature they are scanned downwards as well, with missing values on the
 * left. A bin without rows would repeat the split before it. A feature with a default bin has no
 * missing values; its bins are scanned upwards to the default bin and downwards to it, so that the
 * default bin's own sums are never needed. The split value is the upper bound of the last bin on
 * the left, as in XGBoost's own updaters, and so is the order of preference among equal gains: the
 * feature with the lower index, missing values on the right, then the lower value (the higher one
 * with missing values on the left).
 */
#ifndef XDCC_MULTILABEL_EVALUATOR_H_
#define XDCC_MULTILABEL_EVALUATOR_H_

#include <algorithm>   // for fill, lower_bound, max, transform
#include <cstddef>     // for size_t
#include <cstdint>     // for uint32_t
#include <functional>  // for minus
#include <limits>      // for numeric_limits
#include <vector>      // for vector

#include "../../../../src/common/hist_util.h"  // for HistogramCuts
#include "../data/bin_index.h"                 // for BinIndex
#include "../split_score.h"                    // for ScoreNode, Regularisation
#include "histogram.h"                         // for BlockHistogram
#include "xgboost/base.h"                      // for bst_feature_t, bst_bin_t, bst_idx_t
#include "xgboost/logging.h"                   // for LOG

namespace xgboost::multilabel {
/** @brief A split on a number or on a category. */
struct Split {
  float gain{0.0f};
  bst_feature_t feature{0};
  /** @brief Rows below it go left, if the feature is numeric. */
  float split_value{0.0f};
  bool default_left{false};
  /** @brief Rows of these categories go right, a bit for each; empty if the feature is numeric. */
  std::vector<std::uint32_t> right_categories;

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

/** @brief A feature's histogram, with what is needed to read it. */
struct FeatureHistogram {
  BlockHistogram const& block;
  common::HistogramCuts const& cuts;
  bst_feature_t feature;
  /** @brief First bin of the block, and of the feature, and one past its last. */
  std::uint32_t origin, begin, end;
  /** @brief The bin that is not in the histogram, `BinIndex::kNoBin` if all are. */
  bst_bin_t default_bin;
};

/** @brief Working memory of one thread. */
class SplitScanner {
  Regularisation reg_;
  std::size_t n_labels_;
  std::vector<double> scanned_;      // sums of the bins passed so far
  std::vector<double> rest_;         // sums of the node's other rows
  std::vector<std::uint32_t> bins_;  // bins of the feature that hold rows, ascending
  BestSplit from_above_;             // best split above the default bin

  template <SplitMethod kMethod, LabelRule kRule>
  void ScanImpl(FeatureHistogram const& hist, NodeStats const& node, BestSplit* best) {
    auto const& ptrs = hist.cuts.Ptrs();
    auto const& values = hist.cuts.Values();
    hist.block.Touched(hist.begin - hist.origin, hist.end - hist.origin, &bins_);
    bst_idx_t n_stored{0};
    for (auto bin : bins_) {
      n_stored += hist.block.Count(bin);
    }
    bool const others = n_stored != node.n_active;  // missing, or in the default bin
    bool const has_default = others && hist.default_bin != BinIndex::kNoBin;
    std::size_t n_below{bins_.size()};
    if (has_default) {
      auto const it = std::lower_bound(bins_.cbegin(), bins_.cend(),
                                       static_cast<std::uint32_t>(hist.default_bin) - hist.origin);
      n_below = it - bins_.cbegin();
    } else if (!others && n_below > 0) {
      --n_below;  // nothing would be left for the other child
    }

    this->Restart();
    for (std::size_t k = 0; k < n_below; ++k) {
      auto const gain = this->Pass<kMethod, kRule>(hist.block.Sums(bins_[k]), node);
      Split const split{gain, hist.feature, values[hist.origin + bins_[k]], false};
      if (split.Beats(best->split) && this->Allowed(node)) {
        *best = {split, scanned_};
      }
    }
    if (has_default) {
      this->Restart();
      from_above_.split = {};
      for (std::size_t k = bins_.size(); k-- > n_below;) {
        auto const gain = this->Pass<kMethod, kRule>(hist.block.Sums(bins_[k]), node);
        auto const below = k == n_below ? hist.default_bin : bst_bin_t(hist.origin + bins_[k - 1]);
        // At equal gains the lower value, which comes later here.
        if (gain > 0.0f && gain >= from_above_.split.gain && this->Allowed(node)) {
          from_above_ = {{gain, hist.feature, values[below], false}, rest_};
        }
      }
      if (from_above_.split.Beats(best->split)) {
        *best = from_above_;
      }
    } else if (others) {
      this->Restart();
      for (std::size_t k = bins_.size(); k-- > 0;) {
        auto const gain = this->Pass<kMethod, kRule>(hist.block.Sums(bins_[k]), node);
        auto const value = common::HistogramCuts::NumericBinLowerBound(
            ptrs, values, hist.feature, static_cast<bst_bin_t>(hist.origin + bins_[k]));
        Split const split{gain, hist.feature, value, true};
        if (split.Beats(best->split) && this->Allowed(node)) {
          *best = {split, rest_};
        }
      }
    }
  }

  /** @brief The gain of a split with these sums on one side, 0 if it is not allowed. */
  template <SplitMethod kMethod, LabelRule kRule>
  float GainImpl(std::vector<double> const& passed, NodeStats const& node) {
    this->Restart();
    auto const gain = this->Pass<kMethod, kRule>(passed.data(), node);
    return this->Allowed(node) ? gain : 0.0f;
  }

  void Restart() { std::fill(scanned_.begin(), scanned_.end(), 0.0); }

  /** @brief Pass a bin, and return what the node gains if it is split there. */
  template <SplitMethod kMethod, LabelRule kRule>
  [[nodiscard]] float Pass(double const* bin, NodeStats const& node) {
    auto const n = n_labels_;
    double* scanned = scanned_.data();
    double const* total = node.sums.data();
    if constexpr (kRule == LabelRule::kClipped) {
      for (std::size_t k = 0; k < 2 * n; ++k) {
        scanned[k] += bin[k];
        rest_[k] = total[k] - scanned[k];
      }
      return static_cast<float>(ScoreNode<kMethod, kRule>(reg_, scanned, n) +
                                ScoreNode<kMethod, kRule>(reg_, rest_.data(), n) - node.score);
    }
    using Traits = MethodTraits<kMethod>;
    constexpr double kInf = std::numeric_limits<double>::infinity();
    double const lambda = reg_.lambda, floor = reg_.LabelFloor();
    double sum = 0.0, largest = -kInf, largest_rest = -kInf;
#pragma omp simd reduction(+ : sum) reduction(max : largest, largest_rest)
    for (std::size_t j = 0; j < n; ++j) {
      double const grad = scanned[j] += bin[j];
      double const hess = scanned[n + j] += bin[n + j];
      auto const f = LabelFraction<kMethod, kRule>(lambda, floor, grad, hess);
      auto const r =
          LabelFraction<kMethod, kRule>(lambda, floor, total[j] - grad, total[n + j] - hess);
      if constexpr (Traits::kSum) {  // both fractions with one division
        sum += (f.numerator * r.denominator + r.numerator * f.denominator) /
               (f.denominator * r.denominator);
      } else {
        largest = std::max(largest, f.numerator / f.denominator);
        largest_rest = std::max(largest_rest, r.numerator / r.denominator);
      }
    }
    return static_cast<float>((Traits::kSum ? sum : largest + largest_rest) - node.score);
  }

  /** @brief Whether both children have enough Hessian; sets `rest_`. */
  [[nodiscard]] bool Allowed(NodeStats const& node) {
    std::transform(node.sums.cbegin(), node.sums.cend(), scanned_.cbegin(), rest_.begin(),
                   std::minus<>{});
    return EnoughHessian(reg_, scanned_.data(), n_labels_) &&
           EnoughHessian(reg_, rest_.data(), n_labels_);
  }

 public:
  SplitScanner(Regularisation const& reg, std::size_t n_labels)
      : reg_{reg}, n_labels_{n_labels}, scanned_(2 * n_labels), rest_(2 * n_labels) {}

  /** @brief Update the best split of a node with those of one feature. */
  using ScanFn = void (SplitScanner::*)(FeatureHistogram const& hist, NodeStats const& node,
                                        BestSplit* best);
  /** @brief The gain of one split. */
  using GainFn = float (SplitScanner::*)(std::vector<double> const& passed, NodeStats const& node);
  using ScoreFn = double (*)(Regularisation const& r, double const* sums, std::size_t n_labels);

  /** @brief The loops of one split method. */
  struct Kernels {
    ScanFn scan;
    GainFn gain;
    ScoreFn score;
  };

  /** @brief Choose the loops once, outside of them. */
  static Kernels Choose(SplitMethod method, LabelRule rule) {
    switch (method) {
      case SplitMethod::kSumGain:
        return MakeKernels<SplitMethod::kSumGain>(rule);
      case SplitMethod::kMaxGain:
        return MakeKernels<SplitMethod::kMaxGain>(rule);
      case SplitMethod::kSumWeight:
        return MakeKernels<SplitMethod::kSumWeight>(rule);
      case SplitMethod::kMaxWeight:
        return MakeKernels<SplitMethod::kMaxWeight>(rule);
      case SplitMethod::kSumAbsG:
        return MakeKernels<SplitMethod::kSumAbsG>(rule);
      case SplitMethod::kMaxAbsG:
        return MakeKernels<SplitMethod::kMaxAbsG>(rule);
    }
    LOG(FATAL) << "Unreachable";
    return {};
  }

 private:
  template <SplitMethod kMethod>
  static Kernels MakeKernels(LabelRule rule) {
    switch (rule) {
      case LabelRule::kPlain:
        return MakeKernels<kMethod, LabelRule::kPlain>();
      case LabelRule::kFloored:
        return MakeKernels<kMethod, LabelRule::kFloored>();
      case LabelRule::kClipped:
        return MakeKernels<kMethod, LabelRule::kClipped>();
    }
    LOG(FATAL) << "Unreachable";
    return {};
  }
  template <SplitMethod kMethod, LabelRule kRule>
  static Kernels MakeKernels() {
    return {&SplitScanner::ScanImpl<kMethod, kRule>, &SplitScanner::GainImpl<kMethod, kRule>,
            &ScoreNode<kMethod, kRule>};
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_EVALUATOR_H_
