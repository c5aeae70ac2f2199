/**
 * @brief Registration of the plugin's parameters, and the readings of a split method.
 */
#include "param.h"

#include <algorithm>  // for find_if
#include <array>      // for array
#include <cmath>      // for isfinite
#include <sstream>    // for ostringstream
#include <string>     // for string, to_string

#include "split_method.h"
#include "xgboost/logging.h"  // for LOG

namespace xgboost::multilabel {
DMLC_REGISTER_PARAMETER(MultiLabelTrainParam);
DMLC_REGISTER_PARAMETER(LabelFeatureParam);
DMLC_REGISTER_PARAMETER(LabelWeightParam);

namespace {
constexpr std::array<SplitMethod, 6> kMethods{SplitMethod::kMaxGain, SplitMethod::kMaxWeight,
                                              SplitMethod::kSumGain, SplitMethod::kSumWeight,
                                              SplitMethod::kMaxAbsG, SplitMethod::kSumAbsG};

bool FindByName(std::string const& name, SplitMethod* out) {
  auto it = std::find_if(kMethods.cbegin(), kMethods.cend(),
                         [&](SplitMethod m) { return name == SplitMethodName(m); });
  if (it != kMethods.cend()) {
    *out = *it;
  }
  return it != kMethods.cend();
}

std::string const* FindArg(Args const& args, std::string const& key) {
  auto it =
      std::find_if(args.cbegin(), args.cend(), [&](auto const& kv) { return kv.first == key; });
  return it == args.cend() ? nullptr : &it->second;
}
}  // namespace

char const* SplitMethodName(SplitMethod method) {
  switch (method) {
    case SplitMethod::kMaxGain:
      return "maxGain";
    case SplitMethod::kMaxWeight:
      return "maxWeight";
    case SplitMethod::kSumGain:
      return "sumGain";
    case SplitMethod::kSumWeight:
      return "sumWeight";
    case SplitMethod::kMaxAbsG:
      return "maxAbsG";
    case SplitMethod::kSumAbsG:
      return "sumAbsG";
  }
  LOG(FATAL) << "Unreachable";
  return "";
}

SplitMethod ParseSplitMethod(std::string const& text) {
  SplitMethod method;
  if (FindByName(text, &method)) {
    return method;
  }
  std::ostringstream allowed;
  for (auto m : kMethods) {
    auto number = static_cast<int>(m);
    if (text == std::to_string(number)) {
      return m;
    }
    allowed << (number == 1 ? "" : ", ") << "`" << SplitMethodName(m) << "` (" << number << ")";
  }
  LOG(FATAL) << "Unknown split_method: `" << text << "`. Use one of " << allowed.str() << ".";
  return method;
}

bool SplitMethodOfObjective(std::string const& objective, SplitMethod* out) {
  std::string const prefix{kObjectivePrefix};
  return objective.compare(0, prefix.size(), prefix) == 0 &&
         FindByName(objective.substr(prefix.size()), out);
}

void MultiLabelTrainParam::Configure(Args const& args) {
  this->UpdateAllowUnknown(args);
  auto const* objective = FindArg(args, "objective");
  SplitMethod short_form;
  if (objective && SplitMethodOfObjective(*objective, &short_form)) {
    CHECK(!FindArg(args, "split_method") || this->Method() == short_form)
        << "The objective `" << *objective << "` conflicts with split_method=`" << split_method
        << "`. Set one of the two.";
    split_method = SplitMethodName(short_form);
  }
  split_method = SplitMethodName(this->Method());
  // A dimension is not a label, and a sampled label stands for others: their largest score and the
  // signs of their weights say nothing about the labels.
  CHECK(sketch_size == 0 || sketch_method == kTop || this->Method() == SplitMethod::kSumGain)
      << "split_method=`" << split_method << "` does not work with sketch_size=" << sketch_size
      << ": the dimensions of a sketch do not stand for single labels. Use split_method=`sumGain`, "
      << "or sketch_method=`top`, which searches on labels.";
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
