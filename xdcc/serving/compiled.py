"""``CompiledModel``: a fitted model that only predicts, from flat arrays in a kernel of its own."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from xdcc.base.documentation import documented
from xdcc.base.domains import Threads, check_domain
from xdcc.base.learned import Learned
from xdcc.base.output import Output, in_output_form, set_output
from xdcc.base.output_form import LabelForm
from xdcc.prediction.predictors import threads_for
from xdcc.serving.compiled_parts import CompiledParts


@documented
class CompiledModel:
    """A fitted model for services: the same predictions in microseconds.

    The model is copied into flat arrays that a kernel reads. A row of a NumPy array goes from
    there to its margins without Python.

    Parameters
    ----------
    model : estimator
        A fitted `MultiLabelXGBClassifier`, `MultiTargetXGBRegressor`, `MultiClassXGBClassifier`,
        `DynamicChainClassifier`, `MultiLabelClassifier`, `DistilledClassifier`,
        `RandomDecisionTreeClassifier`, `BoomerClassifier`, `LaCovaCClassifier`,
        `LaCovaCForestClassifier`, `TunedDecisionClassifierCV` or `OrderFreeChainClassifier`. The
        last two have to be built on `MultiLabelXGBClassifier`, `SketchedExtraTreesClassifier`,
        `LogisticLabels` or `DynamicChainClassifier`. Or a scikit-learn `Pipeline` of one, with the
        steps `OrdinalEncoder`, `OneHotEncoder`, `SimpleImputer`, `StandardScaler`, `MinMaxScaler`,
        `MaxAbsScaler`, `RobustScaler`, or `ColumnTransformer` and pipelines of these. The model is
        not changed, and later changes to it have no effect.
    n_jobs : int or None, default=None
        Number of threads for batches, as in scikit-learn; None is that of the model, -1 is all
        CPUs. It can be changed. 64 rows and fewer are predicted by one thread.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str of shape (n_features,)
        Names of the features, if X was a DataFrame with names.
    n_labels_ : int
        Number of labels, if the model predicts labels.
    label_names_ : array of str of shape (n_labels,)
        Names of the labels, or of the targets.
    classes_ : array of shape (n_labels, 2) or (n_classes,)
        As of the model; a `MultiTargetXGBRegressor` has none.

    Raises
    ------
    TypeError
        If the model has another type, or consists of others; of a pipeline, the message names the
        step.
    NotFittedError
        If it is not fitted.

    Notes
    -----
    Margins of boosters are added up in XGBoost's order, so they are equal bit for bit, and so are
    probabilities, chains, and mixtures of boosters only. Margins with forests or linear models
    differ by at most 1e-6. Decision rules are those of the model.

    X is checked as the model checks it. An array of float32 or float64, in any order, takes the
    fast path, and so does a CSR matrix of float32 whose rows are sorted; columns are taken as they
    are, without a warning if the model knows names of features. Objects can be pickled and used by
    several threads at the same time.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> compiled = CompiledModel(model)
    >>> np.array_equal(compiled.predict_proba(data.X), model.predict_proba(data.X))
    True
    """

    n_features_in_ = Learned[int]("_input_form", "n_features")
    feature_names_in_ = Learned[NDArray[np.object_]]("_input_form", "names")
    n_labels_ = Learned[int]("_output_form", "n_labels")
    label_names_ = Learned[NDArray[np.object_]]("_output_form", "names")
    classes_ = Learned[NDArray[Any]]("_output_form", "classes")

    def __init__(self, model: Any, *, n_jobs: int | None = None) -> None:
        from xdcc.serving.compiling import compile_model, n_jobs_of  # imports all estimators

        parts = compile_model(model)
        check_domain("n_jobs", n_jobs, Threads())
        self._begin(parts, n_jobs_of(model) if n_jobs is None else n_jobs)

    def _begin(self, parts: CompiledParts, n_jobs: int | None) -> None:
        self.n_jobs = n_jobs
        self._parts = parts
        self._predictor = parts.predictor
        self._input_form = (parts.steps or parts).input_form
        self._output_form: Any = parts.output_form

    @classmethod
    def _of_parts(cls, parts: CompiledParts, n_jobs: int | None) -> Self:
        """Make the model that a file stores."""
        model = cls.__new__(cls)
        model._begin(parts, n_jobs)
        return model

    def set_output(self, *, predict: Output | None = None) -> Self:
        """Set the form of what `predict` and `predict_proba` return, as that of the estimators.

        Parameters
        ----------
        predict : {{"default", "input", "pandas", "polars", "pyarrow"}}, optional
            "default": arrays. Else a DataFrame with a column for each label, or a Series where an
            array has one dimension; "input" is that of X. None changes nothing. Pickles keep it,
            files do not.

        Returns
        -------
        self : CompiledModel
            The model.

        Raises
        ------
        ValueError
            If it is none of these.
        """
        set_output(self, predict)
        return self

    def decision_function(self, X: Any) -> NDArray[np.floating]:
        """Log-odds of every label, or what `MultiClassXGBClassifier` and regressors add up.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        float array of shape (n_samples, n_labels), or (n_samples,) if Y had one dimension
            In single precision for a `MultiLabelXGBClassifier`. Of targets and classes the sums
            over the trees, `(n_samples, n_outputs)`. Of a chain, random decision trees
            and LaCovaC trees that of probabilities, clipped to 1e-6. Of a `BoomerClassifier` the
            scores.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        margins = self._predictor.margins(self._outputs(X))
        form = self._output_form
        is_one = isinstance(form, LabelForm) and form.classes.ndim == 1
        return margins[:, 0] if is_one else margins

    @in_output_form
    def predict_proba(self, X: Any) -> NDArray[np.floating]:
        """Probability of every label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        float array of shape (n_samples, n_labels) or (n_samples, n_classes)
            As from the model.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        TypeError
            If the model is a `MultiTargetXGBRegressor`.
        """
        proba = self._predictor.proba(self._outputs(X))  # which raises a TypeError for targets
        return self._output_form.proba(proba)

    @in_output_form
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels by the decision rule of the model, or targets, or classes.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
            As for the model.

        Returns
        -------
        int array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Zeros and ones; classes if Y had one dimension; targets for a regressor.

        Raises
        ------
        ValueError
            If X is not as described, or has other features than in `fit`.
        """
        labels = self._predictor.labels(self._outputs(X))
        return self._output_form.labels(labels)

    def _outputs(self, X: Any) -> NDArray[np.floating]:
        name = type(self).__name__
        form, steps = self._parts.input_form, self._parts.steps
        if steps is None:
            rows = form.read(X, name, warns_of_names=False)
        else:
            X = rows = steps.rows(X, name, lacks_zeros=form.lacks_zeros)
        if rows is not None:
            found = self._predictor.outputs(rows, threads_for(rows, self.n_jobs))
            if found is not None:
                return found
        checked = form.check(X, name)
        found = self._predictor.outputs(checked, threads_for(checked, self.n_jobs))
        assert found is not None
        return found
