/**
 * @brief The loss of `multilabel:logistic`, for the objective and for updaters that derive
 * gradients.
 *
 * Instead of a gradient and a Hessian it computes a *signed probability* of each entry: p, or -p if
 * the label is 1, or 0 if it is unknown. Both follow from it. An updater that searches a tree on a
 * sketch needs a row's gradients twice, to project them and to add them up over leaves: it computes
 * the probabilities of a run of rows, projects the gradients while they are in cache, and reads the
 * probabilities again for the leaves.
 *
 * Labels between 0 and 1, and labels or entries with weights of their own, have no signed
 * probability. There the updater keeps the gradients and Hessians of a run.
 */
#ifndef XDCC_MULTILABEL_LOGISTIC_LOSS_H_
#define XDCC_MULTILABEL_LOGISTIC_LOSS_H_

#include <cstddef>  // for size_t

#include "../../../src/common/optional_weight.h"  // for OptionalWeights
#include "../param/param.h"                       // for LabelWeightParam
#include "../vectorised.h"                        // for Float8, Int8
#include "xgboost/base.h"                         // for GradientPair
#include "xgboost/data.h"                         // for MetaInfo
#include "xgboost/gradient.h"                     // for GradientContainer
#include "xgboost/logging.h"                      // for CHECK_EQ

namespace xgboost::multilabel {
/** @brief A known entry's Hessian is no smaller, as in XGBoost. */
inline constexpr float kMinHessian = 1e-16f;

/**
 * @brief Declare `grad` and `hess`, of weight 1, and `is_positive`, of signed probabilities.
 *
 * A macro, since a function would be compiled without the wide vectors.
 */
#define XDCC_GRADIENTS(signed_p, is_positive, grad, hess)         \
  Int8 const is_positive = Int8(signed_p) >> 31;                  \
  Float8 const p_ = Float8(Int8(signed_p) & 0x7fffffff);          \
  Float8 grad = p_ - Float8(is_positive & Int8(Float8{} + 1.0f)); \
  Float8 hess = p_ * (1.0f - p_);                                 \
  hess = hess < kMinHessian ? Float8{} + kMinHessian : hess;      \
  hess = Float8(Int8(hess) & (p_ != 0.0f));

struct LogisticLoss {
  char const* objective;            // its name, for messages
  float const* labels;              // 0, 1, or NaN. [n_rows, n_labels]
  common::OptionalWeights weights;  // of rows
  float const* entry_weights;       // factors of those of rows, or null. [n_rows, n_labels]
  float positive_weight;            // factor of positives' weights
  std::size_t n_rows, n_labels;
  bool is_soft;                       // whether labels may be probabilities
  LabelWeightParam const* of_labels;  // weights of labels, for all rows

  /** @brief Whether gradients follow from signed probabilities and weights of rows. */
  [[nodiscard]] bool HasSignedProbabilities() const {
    return !is_soft && !entry_weights && of_labels->Empty();
  }

  /** @brief Stop unless there is a margin for each label. */
  void CheckSize(std::size_t n_margins) const {
    CHECK_EQ(n_rows * n_labels, n_margins)
        << "The labels have shape " << n_rows << " x " << n_labels
        << ", which does not match the number of predictions.";
  }
  /**
   * @brief Signed probabilities of some rows.
   *
   * @param margins Margins of all rows. [n_rows, n_labels]
   * @param out     Signed probabilities of rows [begin, end).
   */
  void Probabilities(float const* margins, std::size_t begin, std::size_t end, float* out) const;
  /**
   * @brief Gradients and Hessians of some rows.
   *
   * A label y between 0 and 1 is a positive of weight y and a negative of weight 1 - y.
   *
   * @param margins Margins of all rows. [n_rows, n_labels]
   * @param out     Results for rows [begin, end).
   */
  void Gradients(float const* margins, std::size_t begin, std::size_t end, GradientPair* out) const;
  /** @brief Stop with an error that says where the first invalid label is. */
  void RejectLabels() const;
};

/** @brief Turn margins into probabilities, in place. */
void ApplyLogistic(float* values, std::size_t n);

/** @brief An objective whose gradients an updater may derive. */
class OffersLogisticLoss {
 public:
  virtual ~OffersLogisticLoss() = default;
  /** @brief Its loss on some data, until the next call. */
  virtual LogisticLoss* LossOn(MetaInfo const& info) = 0;
};

/** @brief The loss that an updater has to derive gradients of; null: the gradients are there. */
inline LogisticLoss* LossOf(GradientContainer const& gpair) {
  return static_cast<LogisticLoss*>(gpair.loss);
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_LOGISTIC_LOSS_H_
