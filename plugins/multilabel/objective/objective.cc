/**
 * @brief The objectives `multilabel:logistic`, `multilabel:logitraw` and their short forms.
 *
 * Logistic loss of each label (equations 6 and 7 of the XDCC paper): with margin z and p =
 * sigmoid(z), the gradient is (p - y) w and the Hessian p (1 - p) w. A label that is NaN is
 * unknown: its gradient and Hessian are 0. With `soft_labels` y may be a probability. The weight w
 * is that of the row or of the entry (`entry_weights.h`). A label may have a weight, and its
 * positives another one (`LabelWeightParam`): w times the label's factor takes the place of w. The
 * objective asks XGBoost for trees with vector leaves and for our updaters, so that users only name
 * the objective.
 */
#include "xgboost/objective.h"  // for ObjFunction

#include <algorithm>  // for clamp, copy_n, max
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t
#include <optional>   // for optional
#include <string>     // for string
#include <vector>     // for vector

#include "../../../src/common/math.h"                 // for Logit
#include "../../../src/common/optional_weight.h"      // for OptionalWeights
#include "../../../src/objective/init_estimation.h"   // for CheckInitInputs
#include "../../../src/objective/regression_param.h"  // for RegLossParam
#include "../param/param.h"              // for CheckLists, LabelFeatureParam, LabelValueParam, ...
#include "../param/split_method.h"       // for kObjectivePrefix, kSplitMethods
#include "../reductions.h"               // for ForEachRun, SumOverWorkers
#include "../vectorised.h"               // for XDCC_TARGET_CLONES
#include "entry_weights.h"               // for Of
#include "logistic_loss.h"               // for ApplyLogistic, LogisticLoss, OffersLogisticLoss
#include "xgboost/base.h"                // for Args, GradientPair, kRtEps
#include "xgboost/context.h"             // for Context
#include "xgboost/data.h"                // for MetaInfo
#include "xgboost/host_device_vector.h"  // for HostDeviceVector
#include "xgboost/json.h"                // for Json
#include "xgboost/linalg.h"              // for Matrix, Vector
#include "xgboost/logging.h"             // for CHECK
#include "xgboost/task.h"                // for ObjInfo

namespace xgboost::multilabel {
namespace {
/**
 * @brief Add a row's weights to sums of the positive and of the known labels. [n]
 *
 * @return Whether all of its labels are in [0, 1] or NaN.
 */
XDCC_TARGET_CLONES bool AddLabels(float const* labels, std::size_t n, float row_weight,
                                  float const* entry_weights, float const* positive_weights,
                                  double* __restrict positive, double* __restrict known) {
  std::int32_t n_bad{0};
#pragma omp simd reduction(+ : n_bad)
  for (std::size_t j = 0; j < n; ++j) {
    float const weight = row_weight * entry_weights[j];
    float const y = labels[j], of_positive = y * (weight * positive_weights[j]);
    bool const is_known = y == y;
    positive[j] += is_known ? of_positive : 0.0f;
    known[j] += is_known ? (1.0f - y) * weight + of_positive : 0.0f;
    n_bad += (y < 0.0f) | (y > 1.0f);
  }
  return n_bad == 0;
}

class MultiLabelLogistic : public ObjFunction, public OffersLogisticLoss {
 public:
  /**
   * @param name Name under which the objective is registered.
   * @param raw  Predict margins instead of probabilities.
   */
  MultiLabelLogistic(char const* name, bool raw) : name_{name}, raw_{raw} {}

  void Configure(Args const& args) override {
    CheckLists(args);
    loss_param_.UpdateAllowUnknown(args);
    label_features_.UpdateAllowUnknown(args);
    for (auto const& [name, value] : args) {
      CHECK(name != "multi_strategy" || value != "one_output_per_tree")
          << "`" << name_
          << "` grows trees for all labels and does not support multi_strategy=" << value
          << ". Leave it out, or train a booster for each label.";
    }
    label_weights_.UpdateAllowUnknown(args);
    label_values_.UpdateAllowUnknown(args);
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

    auto const n_together = std::max<std::size_t>(1, kRun / n_labels);
    ForEachRun(info.num_row_, n_together, ctx_->Threads(), [&](auto, auto begin, auto end) {
      loss.Gradients(margins, begin, end, gpair + begin * n_labels);
    });
  }

  LogisticLoss* LossOn(MetaInfo const& info) override {
    return &loss_.emplace(this->MakeLoss(info));
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
    auto const loss = this->MakeLoss(info);
    auto const n_labels = loss.n_labels;
    *base_score = linalg::Constant(ctx_, DefaultBaseScore(), n_labels);
    if (label_features_.HasLabelFeatures()) {
      return;
    }
    std::vector<float> const ones(n_labels, 1.0f);
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
      for (std::size_t i = 0; i < loss.n_rows; ++i) {
        auto const at = i * n_labels + begin;
        auto const* of_entries = loss.entry_weights ? loss.entry_weights + at : ones.data();
        if (!XDCC_BEST_CLONE(AddLabels)(loss.labels + at, n, loss.weights[i], of_entries,
                                        positive_weights.data() + begin, here.data(),
                                        here.data() + n)) {
          loss.RejectLabels();
        }
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
    if (label_values_.soft_labels) {
      out["label_value_param"] = ToJson(label_values_);
    }
  }
  void LoadConfig(Json const& in) override {
    auto const& config = get<Object const>(in);
    FromJson(config.at("reg_loss_param"), &loss_param_);
    FromJson(config.at("label_feature_param"), &label_features_);
    if (auto weights = config.find("label_weight_param"); weights != config.cend()) {
      FromJson(weights->second, &label_weights_);
    }
    if (auto values = config.find("label_value_param"); values != config.cend()) {
      FromJson(values->second, &label_values_);
    }
  }

 private:
  /** @brief Number of entries that a thread takes at a time. */
  static constexpr std::size_t kRun = 4096;

  [[nodiscard]] LogisticLoss MakeLoss(MetaInfo const& info) const {
    obj::CheckInitInputs(info);
    CHECK(info.num_row_ == 0 || info.labels.Shape(1) > 0)
        << "`" << name_ << "` needs a column of labels; there are " << info.labels.Shape(0)
        << " rows and no columns.";
    label_weights_.Check(this->Targets(info));
    auto const of_entries = entry_weights::Of(ctx_, info);
    auto const of_rows = info.weights_.ConstHostSpan();
    return {name_,
            info.labels.Data()->ConstHostPointer(),
            common::OptionalWeights{of_entries.empty() ? of_rows : of_rows.first(0)},
            of_entries.empty() ? nullptr : of_entries.data(),
            loss_param_.scale_pos_weight,
            info.labels.Shape(0),
            this->Targets(info),
            label_values_.soft_labels,
            &label_weights_};
  }

  void ToProbability(HostDeviceVector<float>* io_preds) const {
    auto& preds = io_preds->HostVector();
    ForEachRun(preds.size(), kRun, ctx_->Threads(), [&](auto, auto begin, auto end) {
      ApplyLogistic(preds.data() + begin, end - begin);
    });
  }

  char const* name_;
  bool raw_;
  std::optional<LogisticLoss> loss_;  // that an updater has taken
  obj::RegLossParam loss_param_;
  LabelFeatureParam label_features_;
  LabelWeightParam label_weights_;
  LabelValueParam label_values_;
};

void Register(std::string const& name, bool raw) {
  auto& entry = dmlc::Registry<ObjFunctionReg>::Get()->__REGISTER__(name);
  entry.describe("Logistic loss of several labels at once").set_body([&entry, raw] {
    return new MultiLabelLogistic{entry.name.c_str(), raw};
  });
}

[[maybe_unused]] bool const kIsRegistered = [] {
  std::string const prefix{kObjectivePrefix};
  Register("multilabel", false);  // its name in the authors' code
  Register(prefix + "logistic", false);
  Register(prefix + "logitraw", true);
  for (auto const& method : kSplitMethods) {
    Register(prefix + method.name, false);
  }
  return true;
}();
}  // namespace
}  // namespace xgboost::multilabel
