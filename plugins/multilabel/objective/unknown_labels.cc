/**
 * @brief Whether labels are unknown (NaN), which only some objectives and metrics support, and the
 * gradients of those that do not know of it.
 *
 * Weights of entries count as unknown labels: who supports one supports the other.
 */
#include "unknown_labels.h"

#include <algorithm>  // for any_of, fill
#include <array>      // for array
#include <cmath>      // for isfinite, isnan
#include <cstddef>    // for size_t
#include <string>     // for string
#include <vector>     // for vector

#include "../reductions.h"    // for MaxOverWorkers
#include "entry_weights.h"    // for Any
#include "xgboost/data.h"     // for MetaInfo
#include "xgboost/json.h"     // for Json, Object, String
#include "xgboost/logging.h"  // for CHECK

namespace xgboost {
namespace unknown_labels {
namespace {
/** @brief Objectives of XGBoost whose losses are sums over targets, each of its own labels. */
constexpr std::array<char const*, 10> kSums{
    "binary:logistic",     "binary:logitraw", "count:poisson",        "reg:absoluteerror",
    "reg:gamma",           "reg:logistic",    "reg:pseudohubererror", "reg:squarederror",
    "reg:squaredlogerror", "reg:tweedie"};

bool IsSum(ObjFunction const& obj) {
  Json config{Object{}};
  obj.SaveConfig(&config);
  auto const objective = get<String const>(config["name"]);
  return std::any_of(kSums.cbegin(), kSums.cend(), [&](auto name) { return objective == name; });
}

/** @brief The rows in which a target is known. */
struct KnownRows {
  std::vector<std::size_t> rows;
  /** @brief Their labels and weights. */
  MetaInfo info;

  KnownRows(MetaInfo const& all, std::size_t target) {
    auto const labels = all.labels.HostView();
    auto const& weights = all.weights_.ConstHostVector();
    for (std::size_t i = 0; i < labels.Shape(0); ++i) {
      if (!std::isnan(labels(i, target))) {
        rows.push_back(i);
      }
    }
    info.num_row_ = rows.size();
    info.num_col_ = all.num_col_;
    info.labels.Reshape(rows.size(), 1);
    auto known = info.labels.HostView();
    for (std::size_t k = 0; k < rows.size(); ++k) {
      known(k, 0) = labels(rows[k], target);
      if (!weights.empty()) {
        info.weights_.HostVector().push_back(weights[rows[k]]);
      }
    }
  }
};

/** @brief Whether an objective can take labels as they are; workers agree. */
bool KnowsThem(Context const* ctx, ObjFunction const& obj, MetaInfo const& info) {
  if (obj.Task().unknown_labels) {
    return true;
  }
  std::array<float, 1> unknown{info.HasUnknownLabels() ? 1.0f : 0.0f};
  multilabel::MaxOverWorkers(ctx, &unknown);
  return unknown.front() == 0.0f;
}
}  // namespace

bool SupportsUnknown(ObjFunction const& obj, bool allowed) {
  return obj.Task().unknown_labels || (allowed && IsSum(obj));
}

void InitEstimation(Context const* ctx, ObjFunction const& obj, MetaInfo const& info,
                    linalg::Vector<float>* base_score) {
  if (KnowsThem(ctx, obj, info)) {
    obj.InitEstimation(info, base_score);
    return;
  }
  auto scores = base_score->HostView();
  linalg::Vector<float> of_target{{1}, base_score->Device()};
  for (std::size_t j = 0; j < scores.Size(); ++j) {
    KnownRows const known{info, j};
    obj.InitEstimation(known.info, &of_target);
    auto const score = of_target.HostView()(0);
    scores(j) = std::isfinite(score) ? score : ObjFunction::DefaultBaseScore();  // none is known
  }
}

void GetGradient(Context const* ctx, HostDeviceVector<float> const& preds, MetaInfo const& info,
                 std::int32_t iter, ObjFunction* obj, linalg::Matrix<GradientPair>* out) {
  if (KnowsThem(ctx, *obj, info)) {
    obj->GetGradient(preds, info, iter, out);
    return;
  }
  auto pairs = out->HostView();
  std::fill(pairs.Values().begin(), pairs.Values().end(), GradientPair{});
  auto const& margins = preds.ConstHostVector();
  HostDeviceVector<float> of_target;
  linalg::Matrix<GradientPair> gradients;
  for (std::size_t j = 0; j < pairs.Shape(1); ++j) {
    KnownRows const known{info, j};
    of_target.Resize(known.rows.size());
    auto& values = of_target.HostVector();
    for (std::size_t k = 0; k < known.rows.size(); ++k) {
      values[k] = margins[known.rows[k] * pairs.Shape(1) + j];
    }
    obj->GetGradient(of_target, known.info, iter, &gradients);
    auto const from = gradients.HostView();
    for (std::size_t k = 0; k < known.rows.size(); ++k) {
      pairs(known.rows[k], j) = from(k, 0);
    }
  }
}
}  // namespace unknown_labels

bool MetaInfo::HasUnknownLabels() const {
  if (has_unknown_labels_ < 0) {
    auto const& values = labels.Data()->ConstHostVector();
    has_unknown_labels_ =
        std::any_of(values.cbegin(), values.cend(), [](float y) { return std::isnan(y); });
  }
  return has_unknown_labels_ == 1 || entry_weights::Any(*this);
}

void MetaInfo::CheckLabelsKnown(bool supported, std::string const& objective) const {
  CHECK((supported && objective != "custom") || !entry_weights::Any(*this))
      << "`weight` is a matrix, but the objective `" << objective
      << "` takes a weight for each row. `multilabel:*` supports weights of entries.";
  CHECK(supported || !this->HasUnknownLabels())
      << "Label contains NaN, infinity or a value too large. The objective `" << objective
      << "` does not support unknown (NaN) labels. `multilabel:*` does; so does, "
         "with the parameter `allow_unknown_labels`, a custom one or a sum over targets, such as "
         "`reg:squarederror`.";
}
}  // namespace xgboost
