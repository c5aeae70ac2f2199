/**
 * @brief Runs the tests of the parts that are named, else all.
 */
#include <algorithm>  // for find
#include <exception>  // for exception
#include <iostream>   // for cerr, cout

#include "testing.h"  // for AllTests

int main(int argc, char const* argv[]) {
  int n_run{0}, n_failed{0};
  for (auto const& test : xgboost::multilabel::testing::AllTests()) {
    if (argc > 1 && std::find(argv + 1, argv + argc, test.part) == argv + argc) {
      continue;
    }
    ++n_run;
    try {
      test.run();
    } catch (std::exception const& error) {
      ++n_failed;
      std::cerr << test.part << ", " << test.name << ": " << error.what() << "\n";
    }
  }
  std::cout << n_run - n_failed << " of " << n_run << " tests passed\n";
  return n_run == 0 || n_failed > 0 ? 1 : 0;
}
