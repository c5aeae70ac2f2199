/**
 * @brief Which splits on a categorical feature are tried, and what they are worth.
 *
 * Two sets of categories fit noise, too: the categories are sorted by gradients before the best
 * place in this order is chosen. If labels did not depend on them, a category c would add
 * H_c / (H_c + lambda) to the score of a dimension in expectation, times the noise
 *
 *   sum_i g_i^2 / sum_i h_i
 *
 * of the dimension, which is about 1 for the logistic loss and does not depend on the scale of
 * weights. The best split keeps about 2 / pi of the sum over c. `cat_penalty` is the share that a
 * split into two sets has to exceed:
 *
 *   worth = gain - cat_penalty * sum_d noise_d (sum_c share(H_cd) - share(H_d)),
 *   share(H) = H / (H + lambda)
 *
 * With a penalty, each category is also split from all others. The penalty is that of a feature
 * with these two categories, so where one category stands out, no set has to be justified. Features
 * with fewer than `max_cat_to_onehot` categories have no other splits, and no penalty.
 *
 * For the order of the categories, `cat_smoothing` is added to the Hessian of each, and the
 * corresponding share of the gradient of the node to its gradient. So the score of a category with
 * few rows or none is near that of the node, not near 0.
 */
#ifndef XDCC_MULTILABEL_CATEGORY_RULES_H_
#define XDCC_MULTILABEL_CATEGORY_RULES_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for uint32_t
#include <vector>   // for vector

#include "../../../../src/tree/param.h"  // for TrainParam
#include "../../param/param.h"           // for MultiLabelTrainParam
#include "../../reductions.h"            // for Add, ForEachRun, NumRuns, SumOverWorkers
#include "xgboost/base.h"                // for GradientPair
#include "xgboost/context.h"             // for Context
#include "xgboost/linalg.h"              // for MatrixView

namespace xgboost::multilabel {
struct CategoryRules {
  std::uint32_t max_to_onehot{0};
  std::size_t max_threshold{0};
  double penalty{0.0};
  double smoothing{0.0};

  CategoryRules() = default;
  CategoryRules(tree::TrainParam const& param, MultiLabelTrainParam const& ml_param)
      : max_to_onehot{param.max_cat_to_onehot},
        max_threshold{static_cast<std::size_t>(param.max_cat_threshold)},
        penalty{ml_param.cat_penalty},
        smoothing{ml_param.cat_smoothing} {}

  /** @brief Whether categories are treated otherwise than by XGBoost's own updaters. */
  [[nodiscard]] bool Regularise() const { return penalty > 0.0 || smoothing > 0.0; }
};

/** @brief Expected contribution of noise in a sum of rows to a score, in units of the noise. */
inline double NoiseShare(double hess, double lambda) {
  return hess > 0.0 ? hess / (hess + lambda) : 0.0;
}

/** @brief The noise of each column of gradients, over all workers. [n_columns] */
inline std::vector<double> NoiseOf(Context const* ctx,
                                   linalg::MatrixView<GradientPair const> gpair) {
  constexpr std::size_t kRun = 1024;  // whatever the number of threads
  auto const n_rows = gpair.Shape(0), n = gpair.Shape(1);
  auto const* pairs = gpair.Values().data();
  std::vector<std::vector<double>> parts(NumRuns(n_rows, kRun));
  ForEachRun(n_rows, kRun, ctx->Threads(), [&](auto r, auto begin, auto end) {
    parts[r].assign(2 * n, 0.0);
    for (auto i = begin; i < end; ++i) {
      for (std::size_t d = 0; d < n; ++d) {
        double const grad = pairs[i * n + d].GetGrad();
        parts[r][d] += grad * grad;
        parts[r][n + d] += pairs[i * n + d].GetHess();
      }
    }
  });
  std::vector<double> sums(2 * n, 0.0);
  for (auto const& part : parts) {
    Add(part, &sums);
  }
  SumOverWorkers(ctx, &sums);
  std::vector<double> noise(n, 0.0);
  for (std::size_t d = 0; d < n; ++d) {
    noise[d] = sums[n + d] > 0.0 ? sums[d] / sums[n + d] : 0.0;
  }
  return noise;
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CATEGORY_RULES_H_
