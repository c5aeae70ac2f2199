/**
 * @brief The six split methods of the XDCC paper (Bohlender, Loza Mencía and Kulessa 2020, Table
 *        1): their names, and how users may write them.
 */
#ifndef XDCC_MULTILABEL_SPLIT_METHOD_H_
#define XDCC_MULTILABEL_SPLIT_METHOD_H_

#include <array>        // for array
#include <cstddef>      // for size_t
#include <string>       // for string
#include <type_traits>  // for integral_constant
#include <utility>      // for index_sequence, make_index_sequence

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

/** @brief The score of a label in a node; `split_score.h` has the formulas. */
enum class LabelTerm { kGain, kWeight, kAbsG };

/** @brief A method's name, spelled as in the paper, and what the score of a node is. */
struct SplitMethodInfo {
  char const* name;
  /** @brief Whether it is the sum of the labels' scores, not the largest. */
  bool is_sum;
  LabelTerm term;
};

/** @brief All methods, in the order of their numbers. */
inline constexpr std::array kSplitMethods{
    SplitMethodInfo{"maxGain", false, LabelTerm::kGain},
    SplitMethodInfo{"maxWeight", false, LabelTerm::kWeight},
    SplitMethodInfo{"sumGain", true, LabelTerm::kGain},
    SplitMethodInfo{"sumWeight", true, LabelTerm::kWeight},
    SplitMethodInfo{"maxAbsG", false, LabelTerm::kAbsG},
    SplitMethodInfo{"sumAbsG", true, LabelTerm::kAbsG},
};

constexpr SplitMethodInfo const& InfoOf(SplitMethod method) {
  return kSplitMethods[static_cast<std::size_t>(method) - 1];
}

/** @brief `VisitMethod` among the methods with these indices. */
template <typename Fn, std::size_t... kIndices>
auto VisitMethod(SplitMethod method, Fn&& fn, std::index_sequence<kIndices...>) {
  decltype(fn(std::integral_constant<SplitMethod, SplitMethod::kSumGain>{})) result{};
  auto visit = [&](auto constant) {
    if (method == constant) {
      result = fn(constant);
    }
  };
  (visit(std::integral_constant<SplitMethod, SplitMethod{kIndices + 1}>{}), ...);
  return result;
}

/** @brief Call `fn` with the method as a constant. */
template <typename Fn>
auto VisitMethod(SplitMethod method, Fn&& fn) {
  return VisitMethod(method, fn, std::make_index_sequence<kSplitMethods.size()>{});
}

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
