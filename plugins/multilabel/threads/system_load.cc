/**
 * @brief See `system_load.h`.
 */
#include "system_load.h"

#include <algorithm>  // for max
#include <cstdio>     // for sscanf

#if defined(__linux__)
#include <fcntl.h>   // for open
#include <unistd.h>  // for close, read, sysconf
#endif

namespace xdcc {
int RunnableThreads(char const* loads) {
  int n_runnable{-1};
#if defined(__linux__)
  int const file = open(loads, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return -1;
  }
  char text[128];
  auto const n = read(file, text, sizeof(text) - 1);
  close(file);
  text[std::max<decltype(n)>(n, 0)] = '\0';
  // 0.42 1.75 2.09 1/78 10882: means over time, then runnable of all threads, then a process
  if (std::sscanf(text, "%*f %*f %*f %d/", &n_runnable) != 1) {
    return -1;
  }
#else
  (void)loads;
#endif
  return n_runnable;
}

int NumProcessors() {
#if defined(__linux__)
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
#else
  return 0;
#endif
}
}  // namespace xdcc
