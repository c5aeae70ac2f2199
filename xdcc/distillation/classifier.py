"""``DistilledClassifier`` and :func:`distil`: the student that answers for a large model."""

from collections.abc import Sequence
from dataclasses import field
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from xdcc.base.contributions import Contributions
from xdcc.base.documentation import documented
from xdcc.base.domains import Choice, Classifier, Either, Number
from xdcc.base.estimator import declares_parameters
from xdcc.base.features import Features
from xdcc.base.fit_data import FitData
from xdcc.base.frames import as_pandas
from xdcc.base.groups import read_groups
from xdcc.base.importance import LabelImportances
from xdcc.base.plugin import require_plugin
from xdcc.base.seeds import seed_from
from xdcc.base.side_by_side import side_by_side
from xdcc.base.stored import learned, stored
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.decision.calibration import LabelCalibration
from xdcc.decision.deciders import RuleClassifier
from xdcc.decision.decision_predictor import mean_source
from xdcc.distillation.lessons import Generation, prepare_lessons, rows_to_hold_out, with_test_rows
from xdcc.distillation.report import compare, seconds_of, size_of
from xdcc.distillation.teacher import Teacher
from xdcc.prediction.predictors import MarginSource

_GENERATED, _LEAST_COPIES, _MOST_COPIES = 12_000, 8, 16
"""Number of generated rows, and how many they are for each training row at least and at most."""

_MOST_GENERATED, _MOST_ENTRIES = 50_000, 5e7
"""How many rows and entries are generated at most, unless that is less than one for each row."""

_SUBSAMPLE, _COLUMNS, _LAMBDA, _MAX_BIN, _MAX_DEPTH = 0.6, 0.5, 1.0, 64, 12
"""Shares of the rows and features for each tree, L2 regularisation, bins of a feature, and depth
of a tree."""

_MOST_TREES, _MOST_TREES_OF_FEW, _FEW_ROWS = 500, 300, 200
"""Default number of trees, and that for fewer training rows, which otherwise take longer than the
teacher. In inner trials with 86 rows of flags the log-loss with 300 trees was that with 500."""

_PATIENCE = 100
"""Boosting rounds without a lower loss on held-out rows after which training ends."""

_TRIAL_SHARE, _MORE_ROUNDS = 0.25, 3
"""The booster that finds the number of rounds learns from this share of the generated rows. With
all rows, this many times as many rounds are trained; in inner trials that raised no loss."""

_TIMED_ROWS = 1000
"""At most this many rows are predicted to measure the time."""


@stored
@declares_parameters
class DistilledClassifier(LabelImportances, RuleClassifier):
    """One booster that has learned the probabilities of a larger model (knowledge distillation).

    `fit` trains the larger model, the teacher, and then a `MultiLabelXGBClassifier`, the student,
    on its probabilities. The student learns from the training rows, each with half its label and
    half the teacher's probability out of fold, and from generated rows, which the teacher labels:
    training rows that take some features of other training rows
    (:mod:`xdcc.distillation.generated_rows`). The teacher's decision rule makes labels of the
    student's probabilities. The teacher is not kept. Use :func:`~xdcc.distil` if it is fitted
    already.

    Parameters
    ----------
    estimator : estimator or None, default=None
        The teacher, not fitted: a classifier with `predict_proba`. None: there is none to train, as
        in a student that :func:`~xdcc.distil` has made.
    n_estimators : int or "auto", default="auto"
        Largest number of trees. "auto": 500, but 300 with fewer than 200 training rows. There are
        fewer if the loss of rows that were held out has not fallen for 100 boosting rounds.
    max_leaves : int, default=32
        Largest number of leaves of a tree. The leaf whose split gains most is split next.
    learning_rate : float, default=0.1
        Factor of the leaves.
    n_generated : int or "auto", default="auto"
        Number of generated rows. "auto": 12,000, but from 8 to 16 for each training row; at most
        50,000 rows and 50 million entries of X, but at least one for each training row.
    exchange : float, default=0.5
        Share of the features of a generated row that come from a second training row.
    generated_weight : float, default=1.0
        Weight of a generated row, that of a training row being 1.
    random_state : int, RandomState instance or None, default=None
        Seed of generated rows and of the student; None is the seed 0. The teacher has a seed of its
        own.
    {n_jobs}

    Attributes
    ----------
    estimator_ : MultiLabelXGBClassifier
        The student's booster.
    rule_ : object
        The teacher's decision rule; `rule_.predict` makes labels of probabilities.
    report_ : dict of str to list
        Columns of a table, the first row for the teacher and the second for the student:
        "log_loss", "example_f1", "subset_accuracy" and "hamming_accuracy" on a fold of the training
        rows; there, "agreement", the share of the labels that are predicted as by the teacher, and
        "margin_difference", the mean distance of the log-odds; "bytes" of the model, and "seconds"
        for the prediction of 1000 rows, both compiled if :class:`~xdcc.serving.CompiledModel` takes
        the model. ``pandas.DataFrame(model.report_)`` shows it.
    calibration_ : LabelCalibration
        `constant.value` is that of a label that is the same in all rows, else NaN. Log-odds are not
        scaled.
    {fitted}

    Notes
    -----
    For the report and the number of rounds one fold is held out. The teacher is trained once more
    on the other rows, with the settings that it has found, and makes lessons for a student of its
    own, of a quarter of the generated rows; the two are compared. Its loss against this teacher, on
    the rows held out, says when boosting no longer pays. The final student is trained on all rows,
    for three times as many rounds (at most `n_estimators`), so the report is cautious.

    If the teacher does not keep `oof_proba_`, its probabilities of the training rows say too much
    about their labels: :class:`~xdcc.decision.TunedDecisionClassifierCV` makes better ones.

    A label that is unknown (NaN) in a training row has the teacher's probability as its target.

    References
    ----------
    Hinton, Vinyals, Dean: "Distilling the Knowledge in a Neural Network" (2015). Bucilă, Caruana,
    Niculescu-Mizil: "Model Compression" (KDD 2006), who generate rows in a similar way.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> forest = xdcc.SketchedExtraTreesClassifier(n_estimators=50)
    >>> teacher = xdcc.TunedDecisionClassifierCV(forest)
    >>> student = DistilledClassifier(teacher, n_estimators=50).fit(data.X, data.Y)
    >>> student.predict(data.X).shape, student.report_["model"]
    ((200, 3), ['teacher', 'student'])
    """

    _domains = MappingProxyType(
        {
            "estimator": Either(Classifier(), None),
            "n_estimators": Either(Choice(("auto",)), Number(low=1, whole=True)),
            "max_leaves": Number(low=2, whole=True),
            "learning_rate": Number(low=0, low_open=True, high=1),
            "n_generated": Either(Choice(("auto",)), Number(low=0, whole=True)),
            "exchange": Number(low=0, high=1),
            "generated_weight": Number(low=0, low_open=True),
        }
    )

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int | Literal["auto"] = "auto"
    max_leaves: int = 32
    learning_rate: float = 0.1
    n_generated: int | Literal["auto"] = "auto"
    exchange: float = 0.5
    generated_weight: float = 1.0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    estimator_: MultiLabelXGBClassifier = learned()
    report_: dict[str, list[Any]] = learned()

    def fit(
        self,
        X: Any,
        Y: Any,
        sample_weight: Any = None,
        *,
        X_unlabelled: Any = None,
        groups: Any = None,
    ) -> Self:
        """Train the teacher, and distil it.

        {takes_data}
        X_unlabelled : array-like, sparse matrix or DataFrame of shape (n_rows, n_features), \
optional
            Further rows, without labels, for the student. Rows as those that will be predicted are
            better than generated ones.
        groups : array-like of shape (n_samples,) or str, optional
            Group of each row, such as a patient, or the name of the column of X that has it: all
            rows of a group are held out, or none. The teacher's `fit` receives them if it takes
            them.

        Returns
        -------
        self : DistilledClassifier
            The fitted estimator.

        Raises
        ------
        ValueError
            If an argument is out of range, the data are not as described, or there is no
            `estimator`.
        PluginMissingError
            If the installed XGBoost has no multi-label plugin.
        """
        self._check_params()
        if self.estimator is None:
            raise ValueError(
                "estimator=None: fit needs the teacher to train. Use xdcc.distil for a fitted one."
            )
        teacher = clone(self.estimator)
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        if groups is not None:
            groups = read_groups(groups, X, np.shape(as_pandas(X))[0])
            if has_fit_parameter(teacher, "groups"):
                given["groups"] = groups
        asked = Teacher(teacher.fit(X, Y, **given))
        data = asked.data(X, Y, sample_weight)
        return self._learn_from_teacher(asked, data, X_unlabelled, groups)

    def _learn_from_teacher(
        self, teacher: Teacher, data: FitData, X_unlabelled: Any = None, groups: Any = None
    ) -> Self:
        """Train the student of a fitted teacher, on the checked rows that it was trained on."""
        require_plugin(type(self).__name__)
        seed, n_labels, form = seed_from(self.random_state), data.Y.shape[1], data.input_form
        assert form is not None
        n_estimators = self._most_trees(len(data.Y))
        booster = self._booster(form.sparse_zeros or "missing", n_estimators, seed)
        booster._learn_from(data)
        unlabelled = None
        if X_unlabelled is not None:
            unlabelled = form.check(X_unlabelled, type(self).__name__)
        proba = teacher.proba_of_training_rows(data.X, n_labels)
        held_out = rows_to_hold_out(teacher, data, proba, groups, seed)
        constant = teacher.constant(data)
        generation = Generation(self._copies(data.X), self.exchange, self.generated_weight, seed)
        with side_by_side(self.n_jobs):
            margins, of_tested = np.zeros((0, n_labels), np.float32), np.zeros((0, n_labels))
            if held_out.any():
                # A teacher that has not seen these rows makes the lessons.
                part = data.take(~held_out)
                assistant = teacher.trained_on(part) if part.known.any() else teacher
                fewer = generation._replace(copies=_TRIAL_SHARE * generation.copies)
                lessons = prepare_lessons(assistant, part, proba[~held_out], unlabelled, fewer)
                tested = data.take(held_out)
                of_tested = assistant.proba(tested.X, n_labels)
                lessons, folds = with_test_rows(lessons, tested, of_tested)
                found = booster._out_of_fold(lessons, folds, patience=_PATIENCE)
                n_rounds = min(_MORE_ROUNDS * found.unfitted.n_estimators, n_estimators)
                booster = found.unfitted.set_params(n_estimators=n_rounds)
                margins = found.margins[folds.tested]
            lessons = prepare_lessons(teacher, data, proba, unlabelled, generation)
            (self.estimator_,) = booster._fit_with_seeds(lessons, [seed])
        self._learn_from(data)
        self.calibration_ = LabelCalibration(np.ones(n_labels), np.zeros(n_labels), constant)
        self.rule_ = teacher.rule
        self.report_ = compare(
            data.Y[held_out],
            of_tested,
            margins,
            self.rule_,
            constant,
        )
        self._measure(teacher, data.X)
        return self

    def _measure(self, teacher: Teacher, X: Features) -> None:
        """Add sizes and times to the report."""
        some = X[: min(X.shape[0], _TIMED_ROWS)]
        seconds = [
            seconds_of(partial(teacher.proba, n_labels=self.n_labels_), some),
            seconds_of(self._proba, some),
        ]
        self.report_["bytes"] = [size_of(teacher.model), size_of(self)]
        self.report_["seconds"] = [_TIMED_ROWS * each / some.shape[0] for each in seconds]

    def _copies(self, X: Features) -> float:
        """Return how many rows to generate for each training row."""
        n_rows, n_features = X.shape
        if self.n_generated != "auto":
            return self.n_generated / n_rows
        n_entries = X.nnz / n_rows if isinstance(X, sparse.csr_matrix) else n_features
        usual = np.clip(_GENERATED / n_rows, _LEAST_COPIES, _MOST_COPIES)
        most = min(_MOST_GENERATED, _MOST_ENTRIES / max(n_entries, 1)) / n_rows
        return max(1.0, min(float(usual), most))

    def _most_trees(self, n_rows: int) -> int:
        """Return the largest number of trees."""
        if self.n_estimators != "auto":
            return self.n_estimators
        return _MOST_TREES if n_rows >= _FEW_ROWS else _MOST_TREES_OF_FEW

    def _booster(self, sparse_zeros: str, n_estimators: int, seed: int) -> MultiLabelXGBClassifier:
        """Make the student, not fitted."""
        return MultiLabelXGBClassifier(
            n_estimators=n_estimators,
            max_depth=_MAX_DEPTH,
            max_leaves=self.max_leaves,
            grow_policy="lossguide",
            learning_rate=self.learning_rate,
            sketch_size=1,
            soft_labels=True,
            subsample=_SUBSAMPLE,
            colsample_bytree=_COLUMNS,
            reg_lambda=_LAMBDA,
            max_bin=_MAX_BIN,
            sparse_zeros=sparse_zeros,
            random_state=seed,
            n_jobs=self.n_jobs,
        )

    @property
    def estimators_(self) -> list[MultiLabelXGBClassifier]:
        """The booster, in a list."""
        return [self.estimator_]

    def _label_gains(self) -> NDArray[np.float64]:
        return self.estimator_._label_gains()

    def _predictors(self) -> Sequence[Any]:
        return [self.estimator_]

    def _margin_source(self) -> MarginSource:
        return mean_source([self.estimator_], self.calibration_, self.n_features_in_)

    def _joint_contributions(self, X: Features) -> Contributions:
        return self.estimator_._contributions(X)


@documented
def distil(
    model: Any,
    X: Any,
    Y: Any = None,
    sample_weight: Any = None,
    *,
    X_unlabelled: Any = None,
    groups: Any = None,
    **params: Any,
) -> DistilledClassifier:
    """Train one booster that predicts as a fitted model does (knowledge distillation).

    Parameters
    ----------
    model : classifier
        The teacher: a fitted classifier with `predict_proba`, of this package or another.
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        The rows that it was trained on.
    Y : array-like, sparse matrix or DataFrame of shape (n_samples, n_labels), or (n_samples,), \
optional
        Their labels, in the form of those in its `fit`. Without them the student learns the
        teacher's probabilities alone, and is compared with the teacher alone. A teacher of another
        package needs them.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    X_unlabelled : array-like, sparse matrix or DataFrame of shape (n_rows, n_features), optional
        Further rows, without labels. Rows as those that will be predicted are better than
        generated ones.
    groups : array-like of shape (n_samples,) or str, optional
        Group of each row, such as a patient, or the name of the column of X that has it: all rows
        of a group are held out, or none. By default, the first fold of the teacher's is held out.
    **params
        Parameters of :class:`~xdcc.distillation.DistilledClassifier`, except `estimator`.

    Returns
    -------
    DistilledClassifier
        The fitted student. It does not hold the teacher.

    Raises
    ------
    ValueError
        If an argument is out of range, X has other features or other rows than in the teacher's
        `fit`, or Y other labels.
    TypeError
        If the teacher has no `predict_proba`, or there is no such parameter.
    NotFittedError
        If the teacher is not fitted.
    PluginMissingError
        If the installed XGBoost has no multi-label plugin.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(200, n_labels=3, random_state=0)
    >>> teacher = xdcc.MultiLabelClassifier().fit(data.X, data.Y)
    >>> student = xdcc.distil(teacher, data.X, data.Y)
    >>> type(student.estimator_).__name__, student.rule_ is teacher.rule_
    ('MultiLabelXGBClassifier', True)
    """
    if "estimator" in params:
        raise TypeError("distil: the teacher is the first argument; there is no estimator.")
    student = DistilledClassifier(**params)
    student._check_params()
    teacher = Teacher(model)
    data = teacher.data(X, Y, sample_weight)
    groups = read_groups(groups, X, len(data.Y))
    return student._learn_from_teacher(teacher, data, X_unlabelled, groups)
