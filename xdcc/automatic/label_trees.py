"""Whether labels need their own trees: a comparison of a few boosting rounds on a sample.

Where the same features matter for all labels, a tree for all of them is nearly as good for each as
one of its own. Where labels are unrelated, it serves few of them. Rounds of single-label trees cost
more the more labels there are, so they are compared with more rounds of trees for all labels.
"""

import numpy as np
from sklearn.base import clone

from xdcc.base.bins import SharedBins
from xdcc.base.fit_data import FitData
from xdcc.base.folds import Folds
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.boosting.out_of_fold import LogLoss
from xdcc.decision.out_of_fold import out_of_fold

N_ROWS = 12_000
"""Rows of the sample, drawn at random; a quarter of them is held out."""

_ONE_OF = 4

N_SINGLE, N_COMMON = 8, 24
"""Boosting rounds of single-label trees, and those of trees for all labels."""

_RATE = 0.4

_LEAST_RATIO = 1.25
"""How many times as much single-label trees must lower the held-out log-loss. On generated tables
of 20 labels it was .7 to .9 times where labels are related, and twice where they are not."""


def need_own_trees(data: FitData, model: MultiLabelXGBClassifier) -> bool:
    """Return whether single-label trees lower the log-loss of held-out rows much more.

    The trees have the depth, bins and regularisation of the model, which is not fitted. The result
    is the same for any number of threads.

    Examples
    --------
    >>> from xdcc.base.input_form import InputForm
    >>> X = np.random.default_rng(0).standard_normal((4_000, 40), np.float32)
    >>> form = InputForm(40, sparse_zeros="missing", is_sparse=False)
    >>> own = FitData(X, (X > 0).astype(np.float32), None, form)
    >>> same = own._replace(Y=np.repeat(own.Y[:, :1], 40, axis=1))
    >>> model = MultiLabelXGBClassifier(max_depth=2, sketch_size=1, n_jobs=1)
    >>> need_own_trees(own, model), need_own_trees(same, model)
    (True, False)
    """
    rows = np.random.default_rng(0).permutation(len(data.Y))[:N_ROWS]
    sample = data.part(rows)._replace(bins=SharedBins())
    held_out = np.arange(len(rows)) % _ONE_OF == 0
    folds = Folds(np.where(held_out, 0, -1))
    of_held_out = sample.take(held_out)
    loss = LogLoss(of_held_out.Y, of_held_out.sample_weight)
    weight = sample.entry_weight[~held_out]
    n_present = (weight * sample.truth[~held_out]).sum(axis=0)
    rate = (n_present + 1) / (weight.sum(axis=0) + 2)
    without = loss(np.broadcast_to(np.log(rate / (1 - rate)), of_held_out.Y.shape))

    def fall(group: int, n_rounds: int) -> float:
        estimator = clone(model).set_params(
            labels_per_tree=group, n_estimators=n_rounds, learning_rate=_RATE, random_state=0
        )
        return without - loss(out_of_fold(estimator, sample, folds).margins[held_out])

    return bool(fall(1, N_SINGLE) > _LEAST_RATIO * max(fall(0, N_COMMON), 0.0))
