/**
 * @brief Registration of the plugin's parameters, and parsing of split methods.
 */
#include "param.h"

#include <algorithm>  // for any_of, find_if
#include <cmath>      // for isfinite
#include <cstddef>    // for size_t
#include <sstream>    // for ostringstream
#include <string>     // for string, to_string

#include "split_method.h"
#include "xgboost/logging.h"  // for LOG

namespace xgboost::multilabel {
DMLC_REGISTER_PARAMETER(MultiLabelTrainParam);
DMLC_REGISTER_PARAMETER(LabelFeatureParam);
DMLC_REGISTER_PARAMETER(LabelValueParam);
DMLC_REGISTER_PARAMETER(LabelWeightParam);

namespace {
bool FindByName(std::string const& name, SplitMethod* out) {
  auto const* it = std::find_if(kSplitMethods.cbegin(), kSplitMethods.cend(),
                                [&](auto const& info) { return info.name == name; });
  if (it != kSplitMethods.cend()) {
    *out = static_cast<SplitMethod>(it - kSplitMethods.cbegin() + 1);
  }
  return it != kSplitMethods.cend();
}
}  // namespace

SplitMethod ParseSplitMethod(std::string const& text) {
  SplitMethod method;
  if (FindByName(text, &method)) {
    return method;
  }
  std::ostringstream allowed;
  for (std::size_t number = 1; number <= kSplitMethods.size(); ++number) {
    if (text == std::to_string(number)) {
      return static_cast<SplitMethod>(number);
    }
    allowed << (number == 1 ? "" : ", ") << "`" << kSplitMethods[number - 1].name << "` (" << number
            << ")";
  }
  LOG(FATAL) << "Unknown split_method: `" << text << "`. Use one of " << allowed.str() << ".";
  return method;
}

bool SplitMethodOfObjective(std::string const& objective, SplitMethod* out) {
  std::string const prefix{kObjectivePrefix};
  return objective.compare(0, prefix.size(), prefix) == 0 &&
         FindByName(objective.substr(prefix.size()), out);
}

void CheckLists(Args const& args) {
  for (auto const& [name, value] : args) {
    bool const is_list =
        name == "target_scale" || name == "label_weight" || name == "scale_pos_weight_per_label";
    // XGBoost's reader of lists looks for their brackets.
    CHECK(!is_list || value.find_first_not_of(" \t\n\r\f\v") != value.npos)
        << name << " is empty. Give a list of numbers, as in `(1, 2, 1)`, or leave it out.";
  }
}

void MultiLabelTrainParam::Configure(Args const& args, char const* objective) {
  CheckLists(args);
  this->UpdateAllowUnknown(args);
  SplitMethod short_form;
  if (objective && SplitMethodOfObjective(objective, &short_form)) {
    bool const is_given = std::any_of(args.cbegin(), args.cend(),
                                      [](auto const& arg) { return arg.first == "split_method"; });
    CHECK(!is_given || this->Method() == short_form)
        << "The objective `" << objective << "` conflicts with split_method=`" << split_method
        << "`. Set one of the two.";
    split_method = InfoOf(short_form).name;
  }
  split_method = InfoOf(this->Method()).name;
  // A dimension is not a label, and a sampled label stands for others: their largest score and the
  // signs of their weights say nothing about the labels.
  CHECK(sketch_size == 0 || sketch_method == kTop || this->Method() == SplitMethod::kSumGain)
      << "split_method=`" << split_method << "` does not work with sketch_size=" << sketch_size
      << ": the dimensions of a sketch do not stand for single labels. Use split_method=`sumGain`, "
      << "or sketch_method=`top`, which searches on labels.";
  CHECK(cat_penalty == 0.0f || this->Method() == SplitMethod::kSumGain)
      << "cat_penalty=" << cat_penalty << " does not work with split_method=`" << split_method
      << "`: it is a share of a gain. Use split_method=`sumGain`.";
}

void MultiLabelTrainParam::CheckTargetScale(std::size_t n_targets) const {
  CHECK(target_scale.size() == n_targets) << "target_scale has " << target_scale.size()
                                          << " entries for " << n_targets << " targets of a tree.";
  for (auto unit : target_scale.Get()) {
    CHECK(std::isfinite(unit) && unit > 0.0f)
        << "target_scale must be finite and positive. Got: " << unit;
  }
}

void LabelWeightParam::Check(bst_target_t n_labels) const {
  for (auto const* weights : {&label_weight, &scale_pos_weight_per_label}) {
    CHECK(weights->empty() || weights->size() == n_labels)
        << weights->Name() << " has " << weights->size() << " entries for " << n_labels
        << " labels.";
    for (auto weight : weights->Get()) {
      CHECK(std::isfinite(weight) && weight >= 0.0f)
          << weights->Name() << " must be finite and not negative. Got: " << weight;
    }
  }
}
}  // namespace xgboost::multilabel
