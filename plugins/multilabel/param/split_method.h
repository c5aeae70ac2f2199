/**
 * @brief The six split methods of the XDCC paper (Bohlender, Loza Mencía and Kulessa 2020, Table
 *        1): their names, and how users may write them.
 */
#ifndef XDCC_MULTILABEL_SPLIT_METHOD_H_
#define XDCC_MULTILABEL_SPLIT_METHOD_H_

#include <string>       // for string
#include <type_traits>  // for integral_constant

namespace xgboost::multilabel {
/** @brief The numbers are those of the authors' code (`split_method=1`, ...). */
enum class SplitMethod : int {
  kMaxGain = 1,
  kMaxWeight = 2,
  kSumGain = 3,
  kSumWeight = 4,
  kMaxAbsG = 5,
  kSumAbsG = 6,
};

/** @brief Call `fn` with the method as a constant. */
template <typename Fn>
auto VisitMethod(SplitMethod method, Fn&& fn) {
  switch (method) {
    case SplitMethod::kMaxGain:
      return fn(std::integral_constant<SplitMethod, SplitMethod::kMaxGain>{});
    case SplitMethod::kMaxWeight:
      return fn(std::integral_constant<SplitMethod, SplitMethod::kMaxWeight>{});
    case SplitMethod::kSumWeight:
      return fn(std::integral_constant<SplitMethod, SplitMethod::kSumWeight>{});
    case SplitMethod::kMaxAbsG:
      return fn(std::integral_constant<SplitMethod, SplitMethod::kMaxAbsG>{});
    case SplitMethod::kSumAbsG:
      return fn(std::integral_constant<SplitMethod, SplitMethod::kSumAbsG>{});
    default:
      return fn(std::integral_constant<SplitMethod, SplitMethod::kSumGain>{});
  }
}

/** @brief Name of a method, spelled as in the paper. */
char const* SplitMethodName(SplitMethod method);

/**
 * @brief Read a method from its name or from its number in the authors' code.
 *
 * Any other text is a fatal error that lists what is allowed.
 */
SplitMethod ParseSplitMethod(std::string const& text);

/** @brief Prefix of the names of our objectives, `multilabel:logistic` for one. */
inline constexpr char kObjectivePrefix[] = "multilabel:";

/**
 * @brief Whether an objective is a short form, `multilabel:<split method>`.
 *
 * @param objective Name of the objective.
 * @param out       Set to the method if it is one.
 */
bool SplitMethodOfObjective(std::string const& objective, SplitMethod* out);
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_SPLIT_METHOD_H_
