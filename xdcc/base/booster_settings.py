"""The booster's parameters that depend on the data: a number per label, constraints by name.

An estimator checks them in two steps. Before it looks at any data,
:func:`xdcc.base.booster_parameters.to_native` checks everything that can be checked then; when the
data are known, :func:`settle_on_data` compares lengths with the number of labels and turns the
features' names into positions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_PER_LABEL = ("base_score", "scale_pos_weight", "label_weight")
_DIRECTIONS = (-1, 0, 1)


def settle_on_data(
    native: Mapping[str, Any], estimator: Any, *, n_further: int = 0
) -> dict[str, Any]:
    """Check and translate what could not be without the data.

    Parameters
    ----------
    native : mapping
        What :func:`~xdcc.base.booster_parameters.to_native` returned.
    estimator : MultiLabelEstimator
        One that has seen X and Y: it has `n_features_in_`, `n_labels_` and maybe
        `feature_names_in_`.
    n_further : int, default=0
        Number of columns that boosters see after those of X: the label features of a chain. They
        are in every group of interacting features, for a label may depend on any.

    Returns
    -------
    dict
        Value by native name, for `xgboost.train`.

    Raises
    ------
    ValueError
        If a list has another length than there are labels, a feature is not known, or constraints
        have another form.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> seen = SimpleNamespace(n_features_in_=3, n_labels_=2, feature_names_in_=["a", "b", "c"])
    >>> settle_on_data({"interaction_constraints": [["c", "a"], ["b"]]}, seen)
    {'interaction_constraints': '[[0, 2], [1]]'}
    >>> settle_on_data({"base_score": [0.5, 0.5, 0.5]}, seen)
    Traceback (most recent call last):
    ValueError: base_score has 3 entries for 2 labels; give one number, or one per label.
    """
    settled = dict(native)
    for name in _PER_LABEL:
        _check_length(name, settled.get(name), estimator.n_labels_)
    if isinstance(settled.get("scale_pos_weight"), list):
        # XGBoost's own parameter is one number.
        settled["scale_pos_weight_per_label"] = settled.pop("scale_pos_weight")
    if "label_weight" in settled and not isinstance(settled["label_weight"], list):
        settled["label_weight"] = [settled["label_weight"]] * estimator.n_labels_
    features = _Features(estimator)
    if "interaction_constraints" in settled:
        groups = _groups(settled["interaction_constraints"], features)
        further = list(range(features.count, features.count + n_further))
        settled["interaction_constraints"] = str([group + further for group in groups])
    if "monotone_constraints" in settled:
        directions = _directions(settled["monotone_constraints"], features)
        settled["monotone_constraints"] = str(tuple(directions))
    return settled


class _Features:
    """The columns of X, found by name or position."""

    def __init__(self, estimator: Any) -> None:
        self.count: int = estimator.n_features_in_
        names = getattr(estimator, "feature_names_in_", ())
        self._position = {name: position for position, name in enumerate(names)}

    def position(self, feature: Any, parameter: str) -> int:
        if isinstance(feature, str):
            if feature in self._position:
                return self._position[feature]
            known = "no column has a name" if not self._position else "no column is called so"
            raise ValueError(f"{parameter} names the feature {feature!r}, but {known} in X.")
        is_number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if is_number and 0 <= feature < self.count:
            return int(feature)
        raise ValueError(
            f"{parameter} names the feature {feature!r}; a feature is a column's name or a "
            f"position from 0 to {self.count - 1}."
        )


def _check_length(name: str, value: Any, n_labels: int) -> None:
    if isinstance(value, list) and len(value) != n_labels:
        raise ValueError(
            f"{name} has {len(value)} entries for {n_labels} labels; give one number, or one per "
            "label."
        )


def _is_listed(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _groups(constraints: Any, features: _Features) -> list[list[int]]:
    name = "interaction_constraints"
    if not (_is_listed(constraints) and all(_is_listed(group) for group in constraints)):
        raise ValueError(
            f"{name}={constraints!r}: it has to be a sequence of groups, each a sequence of names "
            "or positions of features, for example [['age', 'income'], ['height', 'weight']]."
        )
    return [sorted({features.position(f, name) for f in group}) for group in constraints]


def _directions(constraints: Any, features: _Features) -> Sequence[int]:
    name = "monotone_constraints"
    if isinstance(constraints, Mapping):
        directions = [0] * features.count
        for feature, direction in constraints.items():
            directions[features.position(feature, name)] = direction
    elif _is_listed(constraints):
        directions = list(constraints)
    else:
        directions = []
    if len(directions) != features.count or any(d not in _DIRECTIONS for d in directions):
        raise ValueError(
            f"{name}={constraints!r}: it has to be a dict from features to 1, -1 or 0, or a "
            f"sequence of one of these for each of the {features.count} features."
        )
    return [int(direction) for direction in directions]
