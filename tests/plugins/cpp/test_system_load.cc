/**
 * @brief What the file with the system's load says, or a file that is none.
 */
#include <cstdio>   // for remove
#include <fstream>  // for ofstream
#include <string>   // for string, to_string

#if defined(__linux__)
#include <unistd.h>  // for getpid
#endif

#include "testing.h"              // for XDCC_TEST
#include "threads/system_load.h"  // for NumProcessors, RunnableThreads

namespace xgboost::multilabel {
namespace {
#if defined(__linux__)
/** @brief The number of threads that a file of this text says. */
int NumRunnable(std::string const& text) {
  auto const name = "/tmp/xdcc-loads-" + std::to_string(getpid());
  std::ofstream{name} << text;
  auto const n = xdcc::RunnableThreads(name.c_str());
  std::remove(name.c_str());
  return n;
}

XDCC_TEST(system_load, ThreadsThatWantToRun) {
  CHECK_EQ(NumRunnable("0.42 1.75 2.09 3/78 10882\n"), 3);
  CHECK_EQ(NumRunnable("812.00 640.25 99.01 1024/20000 4194304\n"), 1024);
  CHECK_GE(xdcc::RunnableThreads("/proc/loadavg"), 1);  // this one
}

XDCC_TEST(system_load, OtherFilesSayNothing) {
  for (auto text : {"", "\n", "0.42 1.75 2.09", "0.42 1.75 2.09 many", "no numbers"}) {
    CHECK_EQ(NumRunnable(text), -1) << text;
  }
  CHECK_EQ(NumRunnable(std::string(4096, ' ')), -1);
  CHECK_EQ(xdcc::RunnableThreads("/nowhere/loadavg"), -1);
  CHECK_EQ(xdcc::RunnableThreads("/tmp"), -1);  // a folder
}

XDCC_TEST(system_load, ASystemHasAProcessor) { CHECK_GE(xdcc::NumProcessors(), 1); }
#endif
}  // namespace
}  // namespace xgboost::multilabel
