/**
 * @brief The processors that a container's quota leaves to this process.
 */
#ifndef XDCC_MULTILABEL_THREADS_CPU_QUOTA_H_
#define XDCC_MULTILABEL_THREADS_CPU_QUOTA_H_

namespace xdcc {
/**
 * @brief Number of processors, rounded up, that the quotas of this process's control group and of
 *        the groups above it allow; a large number where there is no quota.
 *
 * XGBoost itself looks at the topmost group only, which is the right one within a container but not
 * for a service or a batch job with a quota.
 */
int QuotaCpus();
}  // namespace xdcc
#endif  // XDCC_MULTILABEL_THREADS_CPU_QUOTA_H_
