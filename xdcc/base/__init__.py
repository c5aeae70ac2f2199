"""What every estimator stands on; nothing here knows a method.

==========================  =====================================================================
`estimator`                 the estimators' base class
`domains`                   which values a parameter can have
`booster_parameters`        the parameters of XGBoost's booster, declared once;
                            `booster_settings`: those that depend on the data;
                            `booster_estimator` gives them to an estimator as keyword arguments
`fit_data`                  X, Y and weights, checked together; `features`, `labels`, `weights`,
                            `sparse_structure`, `sparse_zeros` and `categories` check each alone
`label_rows`                a label matrix of any form, read in blocks; `known_entries`: the input
                            of a measure; `label_scores`: what any classifier says of labels
`folds`, `label_frequency`  folds stratified by labels; how frequent labels are
`kernel_features`           X as the Cython kernels read it
`plugin`, `pyplot`          whether the patched XGBoost and Matplotlib are there
`forks`, `whole_fits`       what a fork does to threads, and an exception to a fit
==========================  =====================================================================
"""
