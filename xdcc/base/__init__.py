"""The base of every estimator; nothing here knows a method.

====================  ===========================================================================
`estimator`           the estimators' base class, and their parameters as fields
`domains`             which values a parameter can have
`stored`              which classes model files can hold, and what they declare (`stored_types`);
                      `state_checks` has checks for what they cannot declare
`booster_parameters`  the parameters of XGBoost's booster, declared once, and those of them that
                      depend on the data; `booster_estimator` gives them to an estimator as keyword
                      arguments
`fit_data`            X, Y and weights, checked together; `features` and `labels` check X and Y,
                      `categories` the discrete columns of X
`label_rows`          a label matrix of any form, read in blocks, and the input of a metric
`folds`               folds stratified by labels, and what models without a fold say of it
`plugin`, `pyplot`    whether the patched XGBoost and Matplotlib are there
`libraries`           pandas, SciPy, XGBoost and others, imported on first use (`lazy_import`)
`seeds`               what `random_state` means
`threads`             how many threads there are: affinity, quotas of containers, OpenMP
`process`             what forks do to threads, interrupts to XGBoost, and exceptions to a fit
====================  ===========================================================================
"""
