/**
 * @brief Sketches: random projections of the labels' gradients, on which splits are searched.
 *
 * Iosipoi and Vakhrushev ("SketchBoost: fast gradient boosted decision tree for multioutput
 * problems", NeurIPS 2022) search a tree's splits on k linear combinations of the gradients, the
 * *dimensions* of a sketch, and give its leaves values for all labels. A sketch is their matrix
 * C [n_labels, k], drawn anew for each tree:
 *
 *   projection  C_jd ~ N(0, 1/k)
 *   sampling    label j is column d with probability p_j in proportion to its sum of squared
 *               gradients, and C_jd = 1 / sqrt(k p_j)
 *   top         the k labels with the largest such sums, C_jd = 1
 *
 * so that, except for `top`, the expected square of the gradients' sum is that of all labels. Row i
 * has
 *
 *   g_id = sum_j C_jd g_ij,   h_id = sum_j C_jd^2 h_ij
 *
 * An unknown or masked entry has neither gradient nor Hessian and adds nothing to either. The paper
 * takes a constant Hessian; the one with squares is the second derivative of the loss when all
 * margins move along a dimension. Validation data have not shown which of them is better.
 *
 * With `labels_per_tree` the labels of a round are divided among groups, and C has the rows of one
 * group. A group that is searched without a sketch has its own labels as dimensions.
 */
#ifndef XDCC_MULTILABEL_SKETCH_H_
#define XDCC_MULTILABEL_SKETCH_H_

#include <cstddef>   // for size_t
#include <cstdint>   // for uint32_t, uint64_t
#include <optional>  // for optional
#include <vector>    // for vector

#include "../objective/logistic_loss.h"  // for LogisticLoss
#include "../param/param.h"              // for MultiLabelTrainParam
#include "data/aligned_array.h"          // for AlignedArray
#include "leaf_values.h"                 // for GradientBounds
#include "xgboost/base.h"                // for GradientPair
#include "xgboost/context.h"             // for Context
#include "xgboost/linalg.h"              // for Matrix, MatrixView
#include "xgboost/span.h"                // for Span

namespace xgboost::multilabel {
/** @brief Identifies a tree among those of a booster. */
struct TreeKey {
  std::uint64_t seed, round;
  /** @brief Among the parallel trees of the round. */
  std::uint64_t tree;
  /** @brief Among the label groups of the parallel tree. */
  std::uint64_t group;
};

class Sketch {
 public:
  using Labels = std::vector<std::uint32_t>;

  /** @brief The labels of each group of a round, ascending. */
  static std::vector<Labels> DrawGroups(TreeKey const& key, std::size_t n_labels,
                                        std::size_t n_groups);
  /** @brief Take the columns of groups. [n_rows, n_all_labels] -> by group [n_rows, n_labels] */
  static void GatherGroups(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                           std::vector<Labels> const& groups,
                           std::vector<linalg::Matrix<GradientPair>>* out);
  /**
   * @brief Draw the sketch of a tree.
   *
   * @param labels The tree's labels, ascending.
   * @param gpair  Their gradients after masks and row sampling; a projection takes none.
   *               [n_rows, n_labels]
   */
  Sketch(Context const* ctx, MultiLabelTrainParam const& param, TreeKey const& key,
         std::vector<std::uint32_t> labels,
         std::optional<linalg::MatrixView<GradientPair const>> gpair);

  /**
   * @brief Project gradients. [n_rows, n_labels] -> [n_rows, n_dims]
   *
   * @return The bounds of the labels' gradients, on all workers.
   */
  GradientBounds Project(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                         linalg::Matrix<GradientPair>* out) const;
  /**
   * @brief Project gradients that are derived from signed probabilities of the sketch's labels.
   *
   * @param probabilities [n_rows, n_labels], then padding; see `logistic_loss.h`.
   */
  GradientBounds Project(Context const* ctx, LogisticLoss const& loss,
                         AlignedArray<float>* probabilities,
                         linalg::Matrix<GradientPair>* out) const;
  /**
   * @brief The same, but compute the probabilities first, of all labels, a run of rows at a time.
   *
   * @param margins [n_rows, n_labels]
   */
  GradientBounds DeriveAndProject(Context const* ctx, LogisticLoss const& loss,
                                  linalg::MatrixView<float const> margins,
                                  AlignedArray<float>* probabilities,
                                  linalg::Matrix<GradientPair>* out) const;
  /** @brief The same with gradients, which are kept. [n_rows, n_labels] */
  GradientBounds DeriveAndProject(Context const* ctx, LogisticLoss const& loss,
                                  linalg::MatrixView<float const> margins,
                                  linalg::Matrix<GradientPair>* gpair,
                                  linalg::Matrix<GradientPair>* out) const;
  /** @brief Compute signed probabilities, group by group: [n_rows, n_labels], then padding. */
  static void DeriveGroups(Context const* ctx, LogisticLoss const& loss,
                           linalg::MatrixView<float const> margins,
                           std::vector<Labels> const& groups,
                           std::vector<AlignedArray<float>>* probabilities);

 private:
  /** @brief Lay out columns of C and of its squares as `Project` reads them. */
  void SetCoefficients(std::vector<double> const& coefficients);
  /** @param derive Computes the gradients of rows [begin, end) before they are read. */
  template <typename Derive>
  GradientBounds ProjectPairs(Context const* ctx, linalg::MatrixView<GradientPair const> gpair,
                              linalg::Matrix<GradientPair>* out, Derive&& derive) const;
  /** @param derive Computes the probabilities of rows [begin, end) before they are read. */
  template <typename Derive>
  GradientBounds ProjectDerived(Context const* ctx, LogisticLoss const& loss,
                                AlignedArray<float>* probabilities,
                                linalg::Matrix<GradientPair>* out, Derive&& derive) const;

  std::vector<std::uint32_t> labels_;
  std::size_t n_dims_;
  std::size_t n_padded_;  // labels, up to a multiple of the width of vectors
  /** @brief By dimension: C_jd and C_jd^2, alternating. [n_dims, 2 * n_padded] */
  std::vector<float> coefficients_;
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SKETCH_H_
