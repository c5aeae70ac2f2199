/**
 * @brief The system's load: its processors, and the threads that are ready to run.
 */
#ifndef XDCC_MULTILABEL_THREADS_SYSTEM_LOAD_H_
#define XDCC_MULTILABEL_THREADS_SYSTEM_LOAD_H_

namespace xdcc {
/**
 * @brief Number of threads that run or wait for a processor, of all processes.
 *
 * Takes some microseconds.
 *
 * @param loads The file /proc/loadavg.
 * @return -1 if it cannot be read.
 */
int RunnableThreads(char const* loads);

/** @brief Number of processors of the system, usable by this process or not; 0 if unknown. */
int NumProcessors();
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_SYSTEM_LOAD_H_
