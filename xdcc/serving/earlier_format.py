"""Files of format 2, which store what ``fit`` has learned about X and Y as single attributes."""

from collections.abc import Mapping
from typing import Any

from xdcc.base.estimator import CheckedEstimator
from xdcc.base.input_form import InputForm
from xdcc.base.output_form import ClassForm, LabelForm, TargetForm
from xdcc.base.stored import stored_class, stored_classes
from xdcc.decision.deciders import Decider

_OF_LABELS = {"names": "label_names_", "classes": "classes_", "is_named": "_labels_are_named"}
_OF_TARGETS = {
    "names": "target_names_",
    "is_named": "_targets_are_named",
    "is_single": "_has_one_target",
}
_NUMBERS = ("n_labels_", "n_targets_")


def with_forms(name: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put the forms of X and Y together, from the attributes of an object.

    Parameters
    ----------
    name : str
        The class of the object in a file.
    attributes : mapping of str to object
        Its attributes, which are not trusted.

    Returns
    -------
    mapping of str to object
        The attributes as the class has them today; the same for any class but estimators.

    Raises
    ------
    ValueError, TypeError, KeyError
        If attributes are missing or do not fit together.
    """
    cls = stored_classes()[name]
    if not issubclass(cls, CheckedEstimator) or "n_features_in_" not in attributes:
        return attributes
    left = dict(attributes)
    x = {
        "n_features": left.pop("n_features_in_"),
        "names": left.pop("feature_names_in_", None),
        "categories": left.pop("categories_", None),
        "sparse_zeros": left.get("sparse_zeros") if left.get("estimator") is None else None,
        "is_sparse": left.pop("sparse_X_", None),
        "is_open": False,
    }
    if x["sparse_zeros"] is None:
        x["is_sparse"] = None
    if issubclass(cls, Decider):  # whose classifiers check X
        first = _first_classifier(left)
        if isinstance(first, CheckedEstimator):
            left["_input_form"] = first._input_form
        else:
            x["is_open"] = True
    if "_input_form" not in left:
        left["_input_form"] = stored_class(InputForm).make(x)
    n_outputs = [left.pop(number) for number in _NUMBERS if number in left]
    for form, parts in ((LabelForm, _OF_LABELS), (TargetForm, _OF_TARGETS)):
        if parts["names"] in left:
            y = {part: left.pop(earlier) for part, earlier in parts.items()}
            left["_output_form"] = stored_class(form).make(y)
            if n_outputs != [len(y["names"])]:
                raise ValueError("the number of labels does not fit")
    if "_output_form" not in left:
        left["_output_form"] = stored_class(ClassForm).make({"classes": left.pop("classes_")})
    return left


def _first_classifier(attributes: Mapping[str, Any]) -> Any:
    """Find the classifier that checks X for others."""
    if "members_" in attributes:
        return attributes["members_"][0].estimators[0]
    if "estimators_" in attributes:
        return attributes["estimators_"][0]
    return attributes["estimator_"]
