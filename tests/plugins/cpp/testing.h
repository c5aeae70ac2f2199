/**
 * @brief What the tests are made of: functions with names, and XGBoost's checks, which throw.
 */
#ifndef XDCC_TESTS_TESTING_H_
#define XDCC_TESTS_TESTING_H_

#include <cmath>    // for abs
#include <random>   // for mt19937, uniform_int_distribution, uniform_real_distribution
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "xgboost/logging.h"  // for CHECK

namespace xgboost::multilabel::testing {
struct Test {
  std::string part, name;
  void (*run)();
};

inline std::vector<Test>& AllTests() {
  static std::vector<Test> tests;
  return tests;
}

inline bool Register(Test test) {
  AllTests().push_back(std::move(test));
  return true;
}

/** @brief Define a test of a part. */
#define XDCC_TEST(part, name)                                                       \
  static void name();                                                               \
  static bool const registered_##name = testing::Register({#part, #name, &(name)}); \
  static void name()

/** @brief Whether some code ends with an error that has this text. */
template <typename Fn>
void ExpectError(std::string const& text, Fn&& fn) {
  std::string message{"no error"};
  try {
    fn();
  } catch (dmlc::Error const& error) {
    message = error.what();
  }
  CHECK_NE(message.find(text), std::string::npos) << message;
}

inline void ExpectNear(double value, double expected, double tolerance) {
  CHECK_LE(std::abs(value - expected), tolerance) << value << " instead of " << expected;
}

/** @brief Numbers that are the same in every run. */
class Random {
  std::mt19937 engine_;

 public:
  explicit Random(unsigned seed) : engine_{seed} {}
  /** @brief Uniform in [low, high]. */
  int Int(int low, int high) { return std::uniform_int_distribution<int>{low, high}(engine_); }
  float Float(float low, float high) {
    return std::uniform_real_distribution<float>{low, high}(engine_);
  }
};
}  // namespace xgboost::multilabel::testing
#endif  // XDCC_TESTS_TESTING_H_
