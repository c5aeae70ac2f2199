/**
 * @brief The objectives `multilabel:logistic`, `multilabel:logitraw` and their short forms.
 *
 * Logistic loss of each label (equations 6 and 7 of the XDCC paper): with margin z and p =
 * sigmoid(z), the gradient is (p - y) w and the Hessian p (1 - p) w. A label that is NaN is
 * unknown: its gradient and Hessian are 0. A label may have a weight, and its positives another one
 * (`LabelWeightParam`): w times the label's factor takes the place of w. The objective asks XGBoost
 * for trees with vector leaves and for our updaters, so that users only name the objective.
 */
#include "xgboost/objective.h"  // for ObjFunction

#include <algorithm>  // for clamp, copy_n, fill, max, min
#include <cmath>      // for isnan
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <cstring>    // for memcpy
#include <optional>   // for optional
#include <vector>     // for vector

#include "../../../src/common/math.h"                 // for Logit
#include "../../../src/common/optional_weight.h"      // for OptionalWeights
#include "../../../src/objective/init_estimation.h"   // for CheckInitInputs
#include "../../../src/objective/regression_param.h"  // for RegLossParam
#include "../param/param.h"                           // for LabelFeatureParam, LabelWeightParam
#include "../param/split_method.h"                    // for kObjectivePrefix, SplitMethodName
#include "../reductions.h"                            // for ForEachRun, SumOverWorkers
#include "../vectorised.h"                            // for XDCC_TARGET_CLONES, Float8, Int8
#include "logistic.h"                                 // for XDCC_LOGISTIC, kLogisticLanes
#include "logistic_loss.h"                            // for LogisticLoss, OffersLogisticLoss
#include "xgboost/base.h"                             // for Args, GradientPair, kRtEps
#include "xgboost/context.h"                          // for Context
#include "xgboost/data.h"                             // for MetaInfo
#include "xgboost/host_device_vector.h"               // for HostDeviceVector
#include "xgboost/json.h"                             // for Json
#include "xgboost/linalg.h"                           // for Matrix, Vector
#include "xgboost/logging.h"                          // for CHECK
#include "xgboost/task.h"                             // for ObjInfo

namespace xgboost::multilabel {
namespace {
/** @brief Turn margins into probabilities, in place. */
XDCC_TARGET_CLONES void ApplyLogistic(float* values, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLogisticLanes) {
    auto const n_here = std::min(kLogisticLanes, n - i);
    float rest[kLogisticLanes];
    auto* here = n_here == kLogisticLanes ? values + i : rest;
    if (here == rest) {
      std::copy_n(values + i, n_here, rest);
      std::fill(rest + n_here, rest + kLogisticLanes, 0.0f);
    }
    XDCC_LOGISTIC(here)
#define XDCC_STORE(k) std::memcpy(here + 8 * k, &p##k, sizeof(p##k));
    XDCC_FOUR(XDCC_STORE)
#undef XDCC_STORE
    if (here == rest) {
      std::copy_n(rest, n_here, values + i);
    }
  }
}

/** @brief Gradients of one weight's worth of signed probabilities. */
XDCC_TARGET_CLONES void ToGradients(float const* probabilities, std::size_t n, float weight,
                                    float positive_weight, GradientPair* out) {
  constexpr std::size_t kLanes = 8;
  auto* pairs = reinterpret_cast<float*>(out);
  for (std::size_t j = 0; j < n; j += kLanes) {
    auto const n_here = std::min(kLanes, n - j);
    Float8 p{};
    std::memcpy(&p, probabilities + j, n_here == kLanes ? sizeof(p) : n_here * sizeof(float));
    XDCC_GRADIENTS(p, is_positive, grad, hess)
    Float8 const w = is_positive ? Float8{} + positive_weight : Float8{} + weight;
    grad *= w;
    hess *= w;
    Float8 const mixed[2]{XDCC_SHUFFLE(grad, hess, 0, 8, 1, 9, 2, 10, 3, 11),
                          XDCC_SHUFFLE(grad, hess, 4, 12, 5, 13, 6, 14, 7, 15)};
    std::memcpy(pairs + 2 * j, mixed,
                n_here == kLanes ? sizeof(mixed) : 2 * n_here * sizeof(float));
  }
}

/** @brief Add a row's weights to sums of the positive and of the known labels. [n] */
XDCC_TARGET_CLONES void AddLabels(float const* labels, std::size_t n, float weight,
                                  float const* positive_weights, double* __restrict positive,
                                  double* __restrict known) {
#pragma omp simd
  for (std::size_t j = 0; j < n; ++j) {
    float const y = labels[j], w = weight * (y == 1.0f ? positive_weights[j] : 1.0f);
    bool const is_known = y == y;
    positive[j] += is_known ? y * w : 0.0f;
    known[j] += is_known ? w : 0.0f;
  }
}

class MultiLabelLogistic : public ObjFunction, public OffersLogisticLoss {
 public:
  /**
   * @param name Name under which the objective is registered.
   * @param raw  Predict margins instead of probabilities.
   */
  MultiLabelLogistic(char const* name, bool raw) : name_{name}, raw_{raw} {}

  void Configure(Args const& args) override {
    loss_param_.UpdateAllowUnknown(args);
    label_features_.UpdateAllowUnknown(args);
    for (auto const& [name, value] : args) {
      CHECK(name != "multi_strategy" || value != "one_output_per_tree")
          << "`" << name_
          << "` grows trees for all labels and does not support multi_strategy=" << value
          << ". Leave it out, or train a booster for each label.";
    }
    label_weights_.UpdateAllowUnknown(args);
  }

  [[nodiscard]] ObjInfo Task() const override {
    ObjInfo info{ObjInfo::kBinary};
    info.updater = "mask_known_labels,grow_multilabel_hist";
    info.name = name_;
    info.unknown_labels = true;
    return info;
  }

  [[nodiscard]] bst_target_t Targets(MetaInfo const& info) const override {
    return std::max(static_cast<std::size_t>(1), info.labels.Shape(1));
  }

  void GetGradient(HostDeviceVector<float> const& preds, MetaInfo const& info, std::int32_t,
                   linalg::Matrix<GradientPair>* out_gpair) override {
    auto const loss = this->MakeLoss(info);
    loss.CheckSize(preds.Size());
    auto const n_labels = loss.n_labels;
    out_gpair->SetDevice(DeviceOrd::CPU());
    out_gpair->Reshape(info.num_row_, n_labels);
    auto* gpair = out_gpair->Data()->HostPointer();
    auto const* margins = preds.ConstHostPointer();
    label_weights_.Check(n_labels);

    auto const n_together = std::max<std::size_t>(1, kRun / n_labels);
    ForEachRun(info.num_row_, n_together, ctx_->Threads(), [&](auto, auto begin, auto end) {
      std::vector<float> probabilities((end - begin) * n_labels);
      loss.Probabilities(margins, begin, end, probabilities.data());
      // Rows of different weights are done one by one, others together.
      std::size_t const run = loss.weights.Empty() ? end - begin : 1;
      for (auto i = begin; i < end; i += run) {
        XDCC_BEST_CLONE(ToGradients)(probabilities.data() + (i - begin) * n_labels, run * n_labels,
                                     loss.weights[i], loss.weights[i] * loss.positive_weight,
                                     gpair + i * n_labels);
      }
      for (auto i = label_weights_.Empty() ? end : begin; i < end; ++i) {
        for (std::size_t j = 0; j < n_labels; ++j) {
          auto const is_positive = loss.labels[i * n_labels + j] == 1.0f;
          gpair[i * n_labels + j] *=
              label_weights_.OfLabel(j) * (is_positive ? label_weights_.OfPositive(j) : 1.0f);
        }
      }
    });
  }

  LogisticLoss* LossOn(MetaInfo const& info) override {
    return label_weights_.Empty() ? &loss_.emplace(this->MakeLoss(info)) : nullptr;
  }

  [[nodiscard]] char const* DefaultEvalMetric() const override { return "logloss"; }

  void PredTransform(HostDeviceVector<float>* io_preds) const override {
    if (!raw_) {
      this->ToProbability(io_preds);
    }
  }
  /** @brief Metrics see probabilities whatever `predict` returns. */
  void EvalTransform(HostDeviceVector<float>* io_preds) override { this->ToProbability(io_preds); }

  void ProbToMargin(linalg::Vector<float>* base_score) const override {
    for (auto& v : base_score->Data()->HostVector()) {
      CHECK(v >= 0.0f && v <= 1.0f)
          << "base_score of `" << name_ << "` must be a probability in [0, 1]. Got: " << v;
      v = common::Logit(std::clamp(v, kRtEps, 1.0f - kRtEps));
    }
  }

  /**
   * @brief Start from each label's share of positives among its known entries.
   *
   * With label features the start is 0.5: the share would be taken over entries that are masked.
   */
  void InitEstimation(MetaInfo const& info, linalg::Vector<float>* base_score) const override {
    obj::CheckInitInputs(info);
    auto const n_labels = this->Targets(info);
    *base_score = linalg::Constant(ctx_, DefaultBaseScore(), n_labels);
    if (label_features_.HasLabelFeatures()) {
      return;
    }
    label_weights_.Check(n_labels);
    auto const labels = info.labels.HostView();
    CHECK(labels.CContiguous());
    common::OptionalWeights const weights{info.weights_.ConstHostSpan()};
    std::vector<float> positive_weights(n_labels);
    for (std::size_t j = 0; j < n_labels; ++j) {
      positive_weights[j] = loss_param_.scale_pos_weight * label_weights_.OfPositive(j);
    }
    std::vector<double> sums(2 * n_labels);  // weight of the positives, of the known
    auto *positive = sums.data(), *known = positive + n_labels;
    // A thread takes some labels of all rows, at least a line of memory.
    constexpr std::size_t kLine = 16, kMost = 512;
    auto const n_each = n_labels / ctx_->Threads();
    auto const n_together = std::clamp((n_each + kLine - 1) / kLine * kLine, kLine, kMost);
    ForEachRun(n_labels, n_together, ctx_->Threads(), [&](auto, auto begin, auto end) {
      std::size_t const n = end - begin;
      std::vector<double> here(2 * n);  // threads that write side by side would wait
      for (std::size_t i = 0; i < labels.Shape(0); ++i) {
        XDCC_BEST_CLONE(AddLabels)(labels.Values().data() + i * n_labels + begin, n, weights[i],
                                   positive_weights.data() + begin, here.data(), here.data() + n);
      }
      std::copy_n(here.data(), n, positive + begin);
      std::copy_n(here.data() + n, n, known + begin);
    });
    SumOverWorkers(ctx_, &sums);
    auto out = base_score->HostView();
    for (std::size_t j = 0; j < n_labels; ++j) {
      if (known[j] > 0.0) {
        out(j) = static_cast<float>(positive[j] / known[j]);
      }
    }
  }

  void SaveConfig(Json* p_out) const override {
    auto& out = *p_out;
    out["name"] = String{name_};
    out["reg_loss_param"] = ToJson(loss_param_);
    out["label_feature_param"] = ToJson(label_features_);
    if (!label_weights_.Empty()) {
      out["label_weight_param"] = ToJson(label_weights_);
    }
  }
  void LoadConfig(Json const& in) override {
    auto const& config = get<Object const>(in);
    FromJson(config.at("reg_loss_param"), &loss_param_);
    FromJson(config.at("label_feature_param"), &label_features_);
    if (auto weights = config.find("label_weight_param"); weights != config.cend()) {
      FromJson(weights->second, &label_weights_);
    }
  }

 private:
  /** @brief Number of entries that a thread takes at a time. */
  static constexpr std::size_t kRun = 4096;

  [[nodiscard]] LogisticLoss MakeLoss(MetaInfo const& info) const {
    obj::CheckInitInputs(info);
    return {name_,
            info.labels.Data()->ConstHostPointer(),
            common::OptionalWeights{info.weights_.ConstHostSpan()},
            loss_param_.scale_pos_weight,
            info.labels.Shape(0),
            this->Targets(info)};
  }

  void ToProbability(HostDeviceVector<float>* io_preds) const {
    auto& preds = io_preds->HostVector();
    ForEachRun(preds.size(), kRun, ctx_->Threads(), [&](auto, auto begin, auto end) {
      XDCC_BEST_CLONE(ApplyLogistic)(preds.data() + begin, end - begin);
    });
  }

  char const* name_;
  bool raw_;
  std::optional<LogisticLoss> loss_;  // that an updater has taken
  obj::RegLossParam loss_param_;
  LabelFeatureParam label_features_;
  LabelWeightParam label_weights_;
};
}  // namespace

#define XDCC_REGISTER_OBJECTIVE(UniqueId, Name, Raw)       \
  XGBOOST_REGISTER_OBJECTIVE(UniqueId, Name)               \
      .describe("Logistic loss of several labels at once") \
      .set_body([] { return new MultiLabelLogistic{Name, Raw}; })

XDCC_REGISTER_OBJECTIVE(MultiLabel, "multilabel", false);  // its name in the authors' code
XDCC_REGISTER_OBJECTIVE(MultiLabelLogistic, "multilabel:logistic", false);
XDCC_REGISTER_OBJECTIVE(MultiLabelLogitRaw, "multilabel:logitraw", true);
XDCC_REGISTER_OBJECTIVE(MultiLabelSumGain, "multilabel:sumGain", false);
XDCC_REGISTER_OBJECTIVE(MultiLabelMaxGain, "multilabel:maxGain", false);
XDCC_REGISTER_OBJECTIVE(MultiLabelSumWeight, "multilabel:sumWeight", false);
XDCC_REGISTER_OBJECTIVE(MultiLabelMaxWeight, "multilabel:maxWeight", false);
XDCC_REGISTER_OBJECTIVE(MultiLabelSumAbsG, "multilabel:sumAbsG", false);
XDCC_REGISTER_OBJECTIVE(MultiLabelMaxAbsG, "multilabel:maxAbsG", false);
}  // namespace xgboost::multilabel
