"""A student as one more member of the mixture that it learns from.

On the folds of a fitted `MultiLabelClassifier`, one booster for each fold learns as
`DistilledClassifier` does, from the rows that the fold does not test, with half the label and half
the mixture's probability out of fold as the target, and from generated rows, labelled by a mixture
that is trained on the same rows. Its log-odds out of fold are calibrated as those of any member,
and get the share that a second level would get. A row's own label takes part in its prediction only
by way of the mixture's probabilities of rows of other folds. With `of_labels` it does not: the
targets of training rows are then their labels.

The rules are four predictions of one training, each with the mixture's decision rule: that of the
mixture; with the student if the log-loss out of fold falls by more than chance; with it in any
case; and that of the student alone.
"""

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator

from experiments.engine.registry import Labels, Method, Split
from experiments.method_parts import log_loss_of
from xdcc import DistilledClassifier, MultiLabelClassifier
from xdcc.automatic.mixture import RowLosses, greedy_shares, is_gain
from xdcc.base.fit_data import FitData
from xdcc.base.margins import margins_of
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.data import MultiLabelDataset
from xdcc.decision.calibration import calibrate_labels
from xdcc.decision.cuts import Floats
from xdcc.distillation.lessons import Generation, prepare_lessons, with_test_rows
from xdcc.distillation.teacher import Teacher

_PATIENCE = 100  # of `DistilledClassifier`


class _Lessons(NamedTuple):
    """What the students of all folds have in common."""

    teacher: Teacher
    data: FitData
    proba: Floats  # targets of the training rows, mixed half and half with their labels
    generation: Generation
    booster: MultiLabelXGBClassifier

    def out_of_fold(self, tested: NDArray[np.bool_]) -> tuple[NDArray[np.floating], int]:
        """Train without the tested rows; return their log-odds and the number of rounds."""
        part, others = self.data.take(~tested), self.data.take(tested)
        mixture = self.teacher.trained_on(part)
        lessons = prepare_lessons(mixture, part, self.proba[~tested], None, self.generation)
        proba = mixture.proba(others.X, self.data.Y.shape[1])
        found = self.booster._out_of_fold(
            *with_test_rows(lessons, others, proba), patience=_PATIENCE
        )
        return found.margins[-len(proba) :], found.unfitted.n_estimators

    def of_all_rows(self, n_rounds: int, seed: int) -> MultiLabelXGBClassifier:
        """Train on all rows."""
        lessons = prepare_lessons(self.teacher, self.data, self.proba, None, self.generation)
        booster = self.booster.set_params(n_estimators=n_rounds)
        return booster._fit_with_seeds(lessons, [seed])[0]


class MixtureWithStudent(BaseEstimator):
    """`MultiLabelClassifier` and a student of it, mixed by their log-odds."""

    def __init__(
        self, n_estimators: int, copies: float, of_labels: bool, random_state: int = 0
    ) -> None:
        self.n_estimators = n_estimators
        self.copies = copies
        self.of_labels = of_labels
        self.random_state = random_state

    def fit(self, X: Any, Y: Any) -> Self:
        """Train the mixture, its students on folds, and the student."""
        seed = self.random_state
        self.mixture_ = MultiLabelClassifier(random_state=seed, n_jobs=1).fit(X, Y)
        lessons, folds = self._lessons(X, Y), self.mixture_.folds_
        data = lessons.data
        margins, rounds = np.zeros(data.Y.shape), []
        for fold in range(folds.max() + 1):
            margins[folds == fold], n_rounds = lessons.out_of_fold(folds == fold)
            rounds.append(n_rounds)
        calibrated = calibrate_labels(data._replace(X=margins), folds)
        self.calibration_ = calibrated.scaling
        self._mix(data, calibrated.margins)
        self.student_ = lessons.of_all_rows(round(np.mean(rounds)), seed)
        return self

    def _lessons(self, X: Any, Y: Any) -> _Lessons:
        """Prepare the students of a mixture that is fitted."""
        teacher = Teacher(self.mixture_)
        data = teacher.data(X, Y, None)
        form = DistilledClassifier(n_estimators=self.n_estimators, n_jobs=1)
        n_copies, seed = self.copies * form._copies(data.X), self.random_state
        return _Lessons(
            teacher,
            data,
            data.Y.astype(float) if self.of_labels else self.mixture_.oof_proba_,
            Generation(n_copies, form.exchange, form.generated_weight, seed),
            form._booster("missing", self.n_estimators, seed),
        )

    def _mix(self, data: FitData, of_student: Floats) -> None:
        """Find the student's share, and whether it lowers the log-loss by more than chance."""
        losses = RowLosses(data)
        mixed = margins_of(self.mixture_.oof_proba_).astype(np.float32)
        shares, of_rows = greedy_shares([mixed, of_student.astype(np.float32)], losses)
        self.share_ = float(shares[1])
        self.gains_ = is_gain(losses.of(mixed), of_rows)

    def proba_of(self, rule: str, X: Any) -> Floats:
        """Return the probabilities of one of the four predictions."""
        share = {
            "mixture": 0.0,
            "if it gains": self.share_ * self.gains_,
            "always": self.share_,
            "student": 1.0,
        }[rule]
        mixed = margins_of(self.mixture_.predict_proba(X))
        own = self.calibration_.margins(margins_of(self.student_.predict_proba(X)))
        return expit((1 - share) * mixed + share * own)


def _build(train: MultiLabelDataset, seed: int, **params: Any) -> MixtureWithStudent:
    return MixtureWithStudent(random_state=seed, **params)


def _labels(model: MixtureWithStudent, split: Split, rule: str) -> Labels:
    return model.mixture_.rule_.predict(model.proba_of(rule, split.X))


def _log_loss(model: MixtureWithStudent, split: Split, Y: Any, rule: str) -> float:
    return log_loss_of(model.proba_of(rule, split.X), Y)


_RULES = ("mixture", "if it gains", "always", "student")

METHODS = {
    "student_as_member": Method(
        title="a mixture and one booster that has learned its probabilities",
        reference="this project: xdcc.distillation",
        build=_build,
        params={"n_estimators": 500, "copies": 1.0, "of_labels": False},
        rules={rule: partial(_labels, rule=rule) for rule in _RULES},
        scores={f"log_loss@{rule}": partial(_log_loss, rule=rule) for rule in _RULES},
    ),
}
