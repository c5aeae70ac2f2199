"""The parts of a compiled model: the forms of X and Y, and a predictor.

`CompiledParts` is what a file stores of a compiled model. All its parts are of known classes
(``known_classes.py``).
"""

from dataclasses import dataclass

from xdcc.base.input_form import InputForm
from xdcc.base.output_form import LabelForm
from xdcc.chain.flat_chain import ChainPredictor
from xdcc.chain.order_free_prediction import OrderFreePredictor
from xdcc.decision.decision_predictor import DecisionPredictor
from xdcc.prediction.predictors import BoosterPredictor
from xdcc.serving.compiled_estimator import EstimatorPredictor


@dataclass(frozen=True, eq=False)
class CompiledParts:
    """A compiled model, except for the number of threads.

    Attributes
    ----------
    input_form : InputForm
        The form of X.
    output_form : LabelForm
        The form of Y.
    predictor
        Computes outputs.
    """

    input_form: InputForm
    output_form: LabelForm
    predictor: (
        BoosterPredictor
        | DecisionPredictor
        | ChainPredictor
        | OrderFreePredictor
        | EstimatorPredictor
    )
