/**
 * @brief Settings that a thread shares with the workers that help it: the processors that it may
 *        use, and its priority. Threads inherit both when they are started.
 */
#ifndef XDCC_MULTILABEL_THREADS_CALLER_SETTINGS_H_
#define XDCC_MULTILABEL_THREADS_CALLER_SETTINGS_H_

#include <vector>  // for vector

namespace xdcc {
/** @brief Processors and priority of a thread. */
struct CallerSettings {
  std::vector<unsigned char> processors;  // a bit mask; empty where the system has none
  int nice;
  int n_processors;  // number of bits, or of processors that the system has

  friend bool operator==(CallerSettings const& l, CallerSettings const& r) {
    return l.processors == r.processors && l.nice == r.nice;
  }
};

/** @brief Read those of the calling thread. */
CallerSettings ReadCallerSettings();
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_CALLER_SETTINGS_H_
