/**
 * @brief The processors that a container's quota leaves to a process.
 */
#ifndef XDCC_MULTILABEL_THREADS_CPU_QUOTA_H_
#define XDCC_MULTILABEL_THREADS_CPU_QUOTA_H_

namespace xdcc {
/**
 * @brief Number of processors that the quotas of a process's control group and of the groups above
 *        it allow, in version 1 or 2; infinity where there is no quota.
 *
 * XGBoost and joblib look at the topmost group only. That is the right one within most containers,
 * but a service or a batch job has its quota in a group below.
 *
 * @param process The process's folder in /proc.
 */
double CpuQuota(char const* process);
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_CPU_QUOTA_H_
