/**
 * @brief Parameters of the plugin that the user may set beside XGBoost's own.
 */
#ifndef XDCC_MULTILABEL_PARAM_H_
#define XDCC_MULTILABEL_PARAM_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t
#include <string>   // for string

#include "../../../src/common/param_array.h"  // for ParamArray
#include "split_method.h"                     // for SplitMethod
#include "xgboost/base.h"                     // for Args, bst_target_t
#include "xgboost/parameter.h"                // for XGBoostParameter

namespace xgboost::multilabel {
/** @brief The Hessians that `min_child_weight` is compared with; see `split_score.h`. */
enum MinChildWeightScope : int {
  kScopeOfObjective = -1,
  kAnyLabel = 0,
  kAllLabels = 1,
  kMeanOfLabels = 2
};

/** @brief How the dimensions of a tree's sketch are chosen; see `sketch.h`. */
enum SketchMethod : int { kProjection = 0, kSampling = 1, kTop = 2 };

/** @brief Stop if a parameter that is a list of numbers is given without any text. */
void CheckLists(Args const& args);

/** @brief Parameters of the updater `grow_multilabel_hist`. */
struct MultiLabelTrainParam : public XGBoostParameter<MultiLabelTrainParam> {
  std::string split_method;
  // XGBoost's parameter of the same name, read a second time, for the objectives of this plugin:
  // its default of 1 would stop trees early if labels are rare, and TrainParam does not tell a
  // default from a given value.
  float min_child_weight;
  int min_child_weight_scope;
  int max_list_rows;
  int max_histogram_mib;
  int sketch_size;
  int sketch_method;
  int labels_per_tree;
  float cat_penalty;
  float cat_smoothing;
  common::ParamArray<float> target_scale{"target_scale"};

  DMLC_DECLARE_PARAMETER(MultiLabelTrainParam) {
    DMLC_DECLARE_FIELD(split_method)
        .set_default("sumGain")
        .describe("How the labels' gains are combined into the score of a split.");
    DMLC_DECLARE_FIELD(min_child_weight)
        .set_lower_bound(0.0f)
        .set_default(0.0f)
        .describe("Minimum sum of instance weight (Hessian) needed in a child.");
    DMLC_DECLARE_FIELD(min_child_weight_scope)
        .add_enum("auto", kScopeOfObjective)
        .add_enum("any", kAnyLabel)
        .add_enum("all", kAllLabels)
        .add_enum("mean", kMeanOfLabels)
        .set_default(kScopeOfObjective)
        .describe(
            "Whether any label, all labels or their mean must reach min_child_weight; auto: any "
            "label with objectives of this plugin, the mean with others.");
    DMLC_DECLARE_FIELD(max_list_rows)
        .set_range(-1, 1 << 16)
        .set_default(-1)
        .describe(
            "Nodes with at most this many rows use sorted row lists, larger ones histograms; -1: "
            "all "
            "nodes of data with at most 32768 rows, otherwise nodes with at most 4096.");
    DMLC_DECLARE_FIELD(max_histogram_mib)
        .set_lower_bound(1)
        .set_default(256)
        .describe("Limit on the memory of histograms in MiB (2^20 bytes).");
    DMLC_DECLARE_FIELD(sketch_size)
        .set_lower_bound(0)
        .set_default(0)
        .describe("Number of dimensions of the sketch that splits are searched on; 0: labels.");
    DMLC_DECLARE_FIELD(sketch_method)
        .add_enum("projection", kProjection)
        .add_enum("sampling", kSampling)
        .add_enum("top", kTop)
        .set_default(kProjection)
        .describe("How the dimensions of a sketch are chosen.");
    DMLC_DECLARE_FIELD(labels_per_tree)
        .set_lower_bound(0)
        .set_default(0)
        .describe("Largest number of labels per tree, drawn anew in each round; 0: all.");
    DMLC_DECLARE_FIELD(cat_penalty)
        .set_lower_bound(0.0f)
        .set_default(0.0f)
        .describe("Share of the gain that noise gives a division of categories, to be exceeded.");
    DMLC_DECLARE_FIELD(cat_smoothing)
        .set_lower_bound(0.0f)
        .set_default(0.0f)
        .describe("Hessian of its node that a category has besides its own when it is sorted.");
    DMLC_DECLARE_FIELD(target_scale)
        .set_default(common::ParamArray<float>{"target_scale"})
        .describe("Unit of each target, as a list: splits are searched as if all had the same.");
  }

  /** @brief Update from the user's arguments and the objective's name, which may be a short form.
   */
  void Configure(Args const& args, char const* objective = nullptr);
  [[nodiscard]] SplitMethod Method() const { return ParseSplitMethod(split_method); }
  /** @brief Stop unless there are no units, or a finite, positive one for each target. */
  void CheckTargetScale(std::size_t n_targets) const;
  /** @brief Number of trees among which a round shares out the labels. */
  [[nodiscard]] std::int32_t NumGroups(std::size_t n_labels) const {
    std::size_t const n = labels_per_tree;
    return n == 0 ? 1 : static_cast<std::int32_t>((n_labels + n - 1) / n);
  }
  /**
   * @brief `max_list_rows`, or what suits the data if it is -1.
   *
   * Lists of all rows are sorted once for all trees. With too many rows for that, sorting those of
   * a node pays off only far down in the tree.
   */
  [[nodiscard]] std::size_t MaxListRows(bst_idx_t n_rows) const {
    constexpr bst_idx_t kAll = 1 << 15, kAnew = 1 << 12;
    return max_list_rows >= 0 ? max_list_rows : n_rows <= kAll ? kAll : kAnew;
  }
};

/** @brief Where the label features of a classifier chain are among the columns of X. */
struct LabelFeatureParam : public XGBoostParameter<LabelFeatureParam> {
  int label_feature_begin;

  DMLC_DECLARE_PARAMETER(LabelFeatureParam) {
    DMLC_DECLARE_FIELD(label_feature_begin)
        .set_lower_bound(-1)
        .set_default(-1)
        .describe("Column of the first label feature; -1: X has none, and nothing is masked.");
  }

  [[nodiscard]] bool HasLabelFeatures() const { return label_feature_begin >= 0; }
};

/** @brief The values that labels can have. */
struct LabelValueParam : public XGBoostParameter<LabelValueParam> {
  bool soft_labels;

  DMLC_DECLARE_PARAMETER(LabelValueParam) {
    DMLC_DECLARE_FIELD(soft_labels)
        .set_default(false)
        .describe("Whether labels are probabilities, not only 0 and 1.");
  }
};

/** @brief Factors of the labels' losses; empty where all are 1. */
struct LabelWeightParam : public XGBoostParameter<LabelWeightParam> {
  common::ParamArray<float> label_weight{"label_weight"};
  common::ParamArray<float> scale_pos_weight_per_label{"scale_pos_weight_per_label"};

  DMLC_DECLARE_PARAMETER(LabelWeightParam) {
    DMLC_DECLARE_FIELD(label_weight)
        .set_default(common::ParamArray<float>{"label_weight"})
        .describe("Weight of each label's loss, as a list: [1, 2, 1].");
    DMLC_DECLARE_FIELD(scale_pos_weight_per_label)
        .set_default(common::ParamArray<float>{"scale_pos_weight_per_label"})
        .describe("scale_pos_weight of each label, as a list; a factor of scale_pos_weight.");
  }

  [[nodiscard]] bool Empty() const {
    return label_weight.empty() && scale_pos_weight_per_label.empty();
  }
  /** @brief Stop unless there are no weights, or a finite, nonnegative one for each label. */
  void Check(bst_target_t n_labels) const;
  /** @brief Weight of a label's loss. */
  [[nodiscard]] float OfLabel(bst_target_t label) const {
    return label_weight.empty() ? 1.0f : label_weight[label];
  }
  /** @brief Weight of a label's positives against its negatives. */
  [[nodiscard]] float OfPositive(bst_target_t label) const {
    return scale_pos_weight_per_label.empty() ? 1.0f : scale_pos_weight_per_label[label];
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_PARAM_H_
