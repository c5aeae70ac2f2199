"""Metrics of multi-label predictions, with explicit conventions.

Each metric compares ``Y_true``, ``(n_samples, n_labels)`` with entries 0 and 1, with predictions of
the same shape and returns a float. Label metrics take ``Y_pred`` with entries 0 and 1 and are
between 0 and 1. Ranking metrics take ``Y_score``, finite numbers that are higher for more likely
labels: probabilities or other scores; ROC AUC and average precision take them, too. Log-loss and
Brier score take probabilities, ``Y_proba``. All inputs are array-likes, DataFrames or scipy.sparse
matrices.

- *Label names*: If both are DataFrames, columns are matched by name.
- *Unknown labels*: NaN in ``Y_true`` is an unknown label. It is ignored, and so is its prediction;
  a sample (for macro averages: a label) without known entries is not part of the mean.
- *Zero division*: F1, precision, recall and Jaccard are ratios of counts. ``zero_division`` (0 or
  1) is the value of 0/0. The defaults follow the papers on multi-label boosting and chains: 1 for
  means over samples, since predicting no label for a sample without labels is perfect; 0 for micro
  and macro averages.
- *Ties*: Labels with equal scores share the worst of their ranks, as in scikit-learn, so equal
  scores for all labels are never a good ranking. In metrics of the first k labels and ROC
  AUC they share the mean over all orders, and in average precision they have one precision, again
  as in scikit-learn.
- *Weights*: ``sample_weight`` ``(n_samples,)``, finite and not negative, counts a sample as that
  many samples. A matrix ``(n_samples, n_labels)`` counts entries; 0 makes one unknown. In a mean
  over samples the weight of a sample is then the largest of its known entries, and counts within
  it are sums of weights. Ranking metrics, which compare the labels of a sample, refuse it; ROC AUC
  and average precision do not.
- *Errors*: ``ValueError`` for inputs that are not two-dimensional, not numeric, empty, or of
  different shapes or names; for entries other than 0, 1 (and NaN in ``Y_true``), scores that are
  not finite and probabilities that are not from 0 to 1; if no entry is known; and for invalid
  weights or a ``zero_division`` other than 0 and 1.

To add a metric, write its function with its record (``record.py``) in one of the files below,
export it here, and test it: scorers, decision rules, the experiments and more follow.

Implementation: `known_blocks` and `known_score_blocks` check the input and yield the known entries
in blocks of rows, so sparse matrices never become dense as a whole, except for areas under curves
(``curves.py``): ROC AUC and average precision. Label metrics (``labels.py``) are ratios of sums, or
means of ratios (``counted.py``), over the blocks: counts are summed per sample, per label, or over
all entries, before they are divided. Ranking metrics (``ranking.py``) are means over samples,
log-loss and Brier score (``probabilities.py``) means over entries. `report` (``label_report.py``)
is a table of the metrics of each label.
"""

from xdcc.metrics.curves import (
    macro_average_precision,
    macro_roc_auc,
    micro_average_precision,
    micro_roc_auc,
)
from xdcc.metrics.label_report import report
from xdcc.metrics.labels import (
    evaluate,
    example_f1,
    example_precision,
    example_recall,
    hamming_accuracy,
    hamming_loss,
    jaccard,
    macro_f1,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_precision,
    micro_recall,
    subset_accuracy,
    subset_loss,
)
from xdcc.metrics.probabilities import (
    brier_score,
    log_loss,
)
from xdcc.metrics.ranking import (
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
    ndcg_at_k,
    one_error,
    precision_at_k,
)

__all__ = [
    "brier_score",
    "coverage_error",
    "evaluate",
    "example_f1",
    "example_precision",
    "example_recall",
    "hamming_accuracy",
    "hamming_loss",
    "jaccard",
    "label_ranking_average_precision_score",
    "label_ranking_loss",
    "log_loss",
    "macro_average_precision",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "macro_roc_auc",
    "micro_average_precision",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "micro_roc_auc",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "report",
    "subset_accuracy",
    "subset_loss",
]
