"""Models of all kinds that are sums of margins, trained once, on the rows of ``conftest.py``.

The last label is always there in training.
"""

import copy
import functools

import numpy as np

from xdcc.automatic import MultiLabelClassifier
from xdcc.automatic.mixture import Member, second_level
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.forest import SketchedExtraTreesClassifier
from xdcc.linear import LogisticLabels


def booster(**params):
    return MultiLabelXGBClassifier(n_estimators=12, max_depth=4, n_jobs=1, **params)


def trees(**params):
    return SketchedExtraTreesClassifier(n_estimators=15, random_state=0, n_jobs=1, **params)


def tuned(estimator, **params):
    return TunedDecisionClassifierCV(estimator, cv=3, random_state=0, **params)


def with_constant(Y):
    """Append a label that is always there."""
    return np.column_stack((Y, np.ones(len(Y), int)))


def some_unknown(Y):
    Y = Y.astype(float)
    Y[::3, 1] = np.nan
    Y[2:, 2] = np.nan
    Y[:2, 2] = 0, 1
    return Y


def mixed(model, *others):
    """Give a mixture the folds of other models as members, with different shares."""
    model = copy.copy(model)
    shares = np.arange(1, len(others) + 1)
    model.members_ = [
        Member(f"model {share}", share / shares.sum(), other.estimators_, other.calibration_)
        for share, other in zip(shares, others, strict=True)
    ]
    model.stacked_ = []
    model._input_form = others[0]._input_form
    return model


def two_levels(model, X, Y):
    """Put folds of boosters on the margins of a mixture for these rows.

    Where rows of X are predicted, margins equal thresholds of the second level.
    """
    model = copy.copy(model)
    margins = [member.margins(X, Y.shape[1]) for member in model.members_]
    level = tuned(booster(max_bin=1000, colsample_bynode=0.3)).fit(second_level(margins), Y)
    model.stacked_ = [Member("second level", 0.4, level.estimators_, level.calibration_)]
    return model


def rows_for_two_levels():
    """Make rows whose third label is that one of the first two, which are linear, is there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10)).astype(np.float32)
    Y = (X @ rng.normal(size=(10, 2)) > 0).astype(int)
    return X, np.column_stack((Y, Y[:, 0] ^ Y[:, 1]))


class Models:
    """Fitted models by name."""

    def __init__(self, rows):
        self.X, self.X_new = rows.X, rows.X_new
        self._Y = rows.Y
        self._made = {
            "booster": lambda X, Y: booster().fit(X, Y),
            "booster of groups": lambda X, Y: booster(labels_per_tree=2).fit(X, Y),
            "booster of one label": lambda X, Y: booster().fit(X, Y[:, 0]),
            "booster without a split": lambda X, Y: booster(gamma=1e9).fit(X, Y),
            "folds": lambda X, Y: tuned(booster(), calibrate=False).fit(X, Y),
            "calibrated folds": lambda X, Y: tuned(booster()).fit(X, with_constant(Y)),
            "one on all rows": lambda X, Y: tuned(booster(), ensemble=False).fit(X, Y),
            "a fold of folds": lambda X, Y: tuned(tuned(booster())).fit(X, with_constant(Y)),
            "constant labels": lambda X, Y: tuned(booster()).fit(X, np.ones_like(Y)),
            "mixture of boosters": lambda X, Y: mixed(
                self["mixture"],
                self["calibrated folds"],
                tuned(booster(max_bin=8)).fit(X, with_constant(Y)),
            ),
            "trees": lambda X, Y: trees().fit(X, Y),
            "trees, labels unknown": lambda X, Y: trees().fit(X, some_unknown(Y)),
            "weighted trees": lambda X, Y: trees().fit(X, Y, np.linspace(0, 2, len(Y))),
            "folds of trees": lambda X, Y: tuned(trees()).fit(X, with_constant(Y)),
            "linear": lambda X, Y: LogisticLabels(n_jobs=1).fit(X, Y),
            "linear for text": lambda X, Y: LogisticLabels(text_like=True, n_jobs=1).fit(
                np.abs(X), Y
            ),
            "folds of linear": lambda X, Y: tuned(LogisticLabels(n_jobs=1)).fit(X, Y),
            "mixture": lambda X, Y: MultiLabelClassifier(n_jobs=1).fit(X, with_constant(Y)),
            "all members": lambda X, Y: mixed(
                self["mixture"],
                self["calibrated folds"],
                self["folds of trees"],
                tuned(LogisticLabels(n_jobs=1)).fit(X, with_constant(Y)),
            ),
            "two levels of boosters": lambda X, Y: two_levels(
                self["mixture of boosters"], X, with_constant(Y)
            ),
            "two levels": lambda X, Y: two_levels(self["all members"], X, with_constant(Y)),
        }
        self.names = tuple(self._made)

    @functools.cache  # noqa: B019
    def __getitem__(self, name):
        return self._made[name](self.X, self._Y)


OF_BOOSTERS = (
    "booster",
    "booster of groups",
    "booster of one label",
    "booster without a split",
    "folds",
    "calibrated folds",
    "one on all rows",
    "a fold of folds",
    "constant labels",
    "mixture of boosters",
)
OTHERS = (
    "trees",
    "trees, labels unknown",
    "weighted trees",
    "folds of trees",
    "linear",
    "linear for text",
    "folds of linear",
    "mixture",
    "all members",
)
TWO_LEVELS = ("two levels of boosters", "two levels")
