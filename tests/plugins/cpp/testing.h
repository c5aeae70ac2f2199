/**
 * @brief Tests are named functions that call XGBoost's checks, which throw.
 */
#ifndef XDCC_TESTS_TESTING_H_
#define XDCC_TESTS_TESTING_H_

#include <cmath>    // for abs
#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t
#include <limits>   // for numeric_limits
#include <memory>   // for shared_ptr
#include <random>   // for mt19937, uniform_int_distribution, uniform_real_distribution
#include <string>   // for string
#include <utility>  // for move
#include <vector>   // for vector

#include "src/data/adapter.h"     // for ArrayAdapter
#include "xgboost/base.h"         // for Args, GradientPair
#include "xgboost/context.h"      // for Context
#include "xgboost/data.h"         // for DMatrix
#include "xgboost/linalg.h"       // for ArrayInterfaceStr, MakeTensorView, Matrix
#include "xgboost/logging.h"      // for CHECK
#include "xgboost/string_view.h"  // for StringView

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

inline Context WithThreads(std::int32_t n_threads) {
  Context ctx;
  ctx.UpdateAllowUnknown(Args{{"nthread", std::to_string(n_threads)}});
  return ctx;
}

/** @brief A matrix of numbers, NaN where they are missing. */
inline std::shared_ptr<DMatrix> MakeMatrix(std::vector<float> const& values,
                                           std::size_t n_features) {
  Context ctx;
  auto const view = linalg::MakeTensorView(&ctx, common::Span<float const>{values},
                                           values.size() / n_features, n_features);
  auto const interface = linalg::ArrayInterfaceStr(view);
  data::ArrayAdapter adapter{StringView{interface}};
  auto const missing = std::numeric_limits<float>::quiet_NaN();
  return std::shared_ptr<DMatrix>{DMatrix::Create(&adapter, missing, 1)};
}

using Pairs = linalg::Matrix<GradientPair>;

/** @brief Random gradients; the rows 3, 20, 37 and so on have none. */
inline Pairs MakeGradients(std::size_t n_rows, std::size_t n_labels) {
  Random rng{6};
  Pairs gradients;
  gradients.Reshape(n_rows, n_labels);
  auto view = gradients.HostView();
  for (std::size_t i = 0; i < n_rows; ++i) {
    bool const has_none = i % 17 == 3;
    for (std::size_t j = 0; j < n_labels; ++j) {
      view(i, j) = has_none ? GradientPair{0.0f, 0.0f}
                            : GradientPair{rng.Float(-1.0f, 1.0f), rng.Float(0.0f, 0.25f)};
    }
  }
  return gradients;
}
}  // namespace xgboost::multilabel::testing
#endif  // XDCC_TESTS_TESTING_H_
