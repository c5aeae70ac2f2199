/**
 * @brief Version of the plugin; `xgboost.build_info()["XDCC_MULTILABEL"]` reports it.
 */
#ifndef XDCC_MULTILABEL_VERSION_H_
#define XDCC_MULTILABEL_VERSION_H_

#define XDCC_MULTILABEL_VERSION "0.3.0"

#endif  // XDCC_MULTILABEL_VERSION_H_
