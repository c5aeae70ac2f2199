/**
 * @brief See `caller_settings.h`.
 */
#include "caller_settings.h"

#include <algorithm>  // for max
#include <thread>     // for thread

#if defined(__linux__)
#include <sched.h>         // for cpu_set_t, sched_getaffinity
#include <sys/resource.h>  // for getpriority

#include <cstddef>  // for size_t
#endif

namespace xdcc {
CallerSettings ReadCallerSettings() {
  CallerSettings settings{{}, 0, 0};
#if defined(__linux__)
  settings.nice = getpriority(PRIO_PROCESS, 0);  // on Linux, of the thread
  constexpr std::size_t kMostProcessors = 1 << 16;
  for (std::size_t n = CPU_SETSIZE; n <= kMostProcessors && settings.processors.empty(); n *= 2) {
    auto* mask = CPU_ALLOC(n);
    auto const bytes = CPU_ALLOC_SIZE(n);
    if (sched_getaffinity(0, bytes, mask) == 0) {
      auto const* begin = reinterpret_cast<unsigned char const*>(mask);
      settings.processors.assign(begin, begin + bytes);
      settings.n_processors = CPU_COUNT_S(bytes, mask);
    }
    CPU_FREE(mask);
  }
#endif
  if (settings.n_processors == 0) {
    settings.n_processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  return settings;
}
}  // namespace xdcc
