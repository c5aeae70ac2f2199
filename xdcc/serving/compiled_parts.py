"""The parts of a compiled model: the forms of X and Y, a predictor, and steps before it.

`CompiledParts` is what a file stores of a compiled model.
"""

from dataclasses import dataclass

from xdcc.base.input_form import InputForm
from xdcc.base.output_form import ClassForm, LabelForm, TargetForm
from xdcc.base.state_checks import require
from xdcc.base.stored import stored
from xdcc.boosting.output_predictors import ClassPredictor, TargetPredictor
from xdcc.chain.flat_chain import ChainPredictor
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.prediction.predictors import BoosterPredictor
from xdcc.serving.compiled_estimator import EstimatorPredictor
from xdcc.serving.compiled_pipeline import Steps

_FORMS = {TargetPredictor: (TargetForm, "n_targets"), ClassPredictor: (ClassForm, "n_classes")}
"""Forms of Y of other predictors than those of labels, and the attributes with their sizes."""


@stored
@dataclass(frozen=True, eq=False)
class CompiledParts:
    """A compiled model, except for the number of threads.

    Attributes
    ----------
    input_form : InputForm
        The form of X.
    output_form : LabelForm, TargetForm or ClassForm
        The form of Y.
    predictor
        Computes outputs.
    steps : Steps or None
        The steps of a pipeline, if it was one; the form of X is that of what they return.
    """

    input_form: InputForm
    output_form: LabelForm | TargetForm | ClassForm
    predictor: (
        BoosterPredictor
        | TargetPredictor
        | ClassPredictor
        | DecisionPredictor
        | ChainPredictor
        | OrderFreePredictor
        | EstimatorPredictor
    )
    steps: Steps | None = None

    def _check_state(self) -> None:
        of_labels = (LabelForm, "n_labels")
        kind, size = _FORMS.get(type(self.predictor), of_labels)
        require(isinstance(self.output_form, kind), "the form of Y")
        require(self.predictor.n_outputs == getattr(self.output_form, size), size)
        require(not self.input_form.is_open, "the form of X")
        require(self.predictor.n_given == self.input_form.n_features, "n_features")
        if self.steps is not None:
            require(self.steps.n_out == self.input_form.n_features, "steps")
            require(self.input_form.categories is None, "steps")
