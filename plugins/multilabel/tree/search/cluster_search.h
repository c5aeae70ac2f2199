/**
 * @brief Search for any number of labels, by clusters: see `cluster_evaluator.h`.
 */
#ifndef XDCC_MULTILABEL_CLUSTER_SEARCH_H_
#define XDCC_MULTILABEL_CLUSTER_SEARCH_H_

#include <memory>  // for unique_ptr

#include "split_search.h"  // for SplitSearch

namespace xgboost::multilabel {
std::unique_ptr<SplitSearch> MakeClusterSearch();
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_CLUSTER_SEARCH_H_
