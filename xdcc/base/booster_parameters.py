"""The parameters of the booster, declared once: names, ranges, meaning.

Estimators check their values against :data:`BOOSTER_PARAMS` before they look at data, and quote it
in their documentation; a command line can use it, too. A parameter has the name that scikit-learn
users know (``reg_lambda``) and may have others (``lambda``). :func:`to_native` turns any mixture of
them into what ``xgboost.train`` takes.

:func:`settle_on_data` checks what depends on the data: it compares lists with the number of labels,
and turns the features that constraints name into positions.
"""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from xdcc.base.domains import (
    Anything,
    Choice,
    Domain,
    Either,
    Number,
    OneOrPerLabel,
    Seed,
    Threads,
    check_domain,
)
from xdcc.base.seeds import seed_from
from xdcc.base.threads import threads_for

SPLIT_METHODS = ("sumGain", "maxGain", "sumWeight", "maxWeight", "sumAbsG", "maxAbsG")
"""The split methods of Table 1 in the paper."""

SPLIT_METHOD_NUMBERS = MappingProxyType(
    {
        1: "maxGain",
        2: "maxWeight",
        3: "sumGain",
        4: "sumWeight",
        5: "maxAbsG",
        6: "sumAbsG",
    }
)
"""The numbers that stand for the same split methods in the code of the paper's authors."""


@dataclass(frozen=True)
class BoosterParam:
    """A parameter of the booster.

    Attributes
    ----------
    name : str
        The estimators' name for it.
    domain : Domain
        The values it can have. None is always accepted and means the booster's default.
    meaning : str
        A line of documentation.
    other_names : tuple of str
        Other names. The first is XGBoost's own.
    plugin_only : bool
        Whether stock XGBoost does not have it.

    Examples
    --------
    >>> BoosterParam("reg_lambda", Number(low=0), "L2 regularisation.", ("lambda",)).native
    'lambda'
    """

    name: str
    domain: Domain
    meaning: str
    other_names: tuple[str, ...] = ()
    plugin_only: bool = False

    def is_known(self, plugin: bool) -> bool:
        """Tell whether estimators on the multi-label plugin, or on stock XGBoost, have it."""
        return plugin or not self.plugin_only

    @property
    def native(self) -> str:
        """XGBoost's own name."""
        return self.other_names[0] if self.other_names else self.name


_AT_LEAST_0 = Number(low=0)
_SHARE = Number(low=0, high=1, low_open=True)
_PROBABILITY = Number(low=0, high=1, low_open=True, high_open=True)


def _whole(low: int) -> Number:
    """Return the domain of the whole numbers from `low` that fit into a C++ int."""
    return Number(low=low, high=2**31, high_open=True, whole=True)


_COUNT = _whole(0)
_COUNT_OR_AUTO = Either(_COUNT, Choice(("auto",)))

BOOSTER_PARAMS: tuple[BoosterParam, ...] = (
    BoosterParam("learning_rate", _AT_LEAST_0, "Factor that shrinks a tree's leaves.", ("eta",)),
    BoosterParam("max_depth", _COUNT, "Largest depth of a tree; 0 means no limit."),
    BoosterParam("max_leaves", _COUNT, "Largest number of leaves of a tree; 0 means no limit."),
    BoosterParam(
        "grow_policy",
        Choice(("depthwise", "lossguide")),
        "Split the nodes level by level, or the one with the largest gain first.",
    ),
    BoosterParam(
        "split_method",
        Choice(SPLIT_METHODS + tuple(SPLIT_METHOD_NUMBERS)),
        "How a split is scored over the labels; the numbers are those of the authors' code.",
        plugin_only=True,
    ),
    BoosterParam(
        "reg_lambda", _AT_LEAST_0, "L2 regularisation: added to a leaf's Hessian.", ("lambda",)
    ),
    BoosterParam(
        "reg_alpha",
        _AT_LEAST_0,
        "L1 regularisation: subtracted from a leaf's gradient.",
        ("alpha",),
    ),
    BoosterParam(
        "gamma", _AT_LEAST_0, "Gain that a split must exceed.", ("gamma", "min_split_loss")
    ),
    BoosterParam(
        "max_delta_step",
        _AT_LEAST_0,
        "Largest absolute value of a leaf before shrinking; 0 means no limit.",
    ),
    BoosterParam(
        "min_child_weight",
        _AT_LEAST_0,
        "Smallest sum of Hessians in a child; by default 0 with multi-label trees and 1 with "
        "XGBoost's own.",
    ),
    BoosterParam(
        "min_child_weight_scope",
        Choice(("any", "all", "mean")),
        "Whether some label of a child, every label or their mean has to reach min_child_weight.",
        plugin_only=True,
    ),
    BoosterParam("subsample", _SHARE, "Share of the rows drawn for a tree."),
    BoosterParam("colsample_bytree", _SHARE, "Share of the features drawn for a tree."),
    BoosterParam("colsample_bylevel", _SHARE, "Share of the tree's features drawn for a level."),
    BoosterParam("colsample_bynode", _SHARE, "Share of the level's features drawn for a node."),
    BoosterParam("max_bin", _whole(2), "Largest number of bins per feature."),
    BoosterParam(
        "max_cat_to_onehot",
        _whole(1),
        "Categorical features with fewer categories are split by one category against the others.",
    ),
    BoosterParam(
        "max_cat_threshold",
        _whole(1),
        "Largest number of categories on one side of other categorical splits.",
    ),
    BoosterParam(
        "cat_penalty",
        _AT_LEAST_0,
        "What a split into two sets of categories must gain: this share of what noise would gain. "
        "0 is what XGBoost does; 1.3 suits many tables.",
        plugin_only=True,
    ),
    BoosterParam(
        "cat_smoothing",
        _AT_LEAST_0,
        "Hessian of its node that a category has, besides its own, where categories are sorted.",
        plugin_only=True,
    ),
    BoosterParam(
        "max_list_rows",
        Number(low=-1, high=65536, whole=True),
        "Nodes with more rows use histograms, others sorted row lists; the trees are the same. "
        "With -1, the number of rows decides.",
        plugin_only=True,
    ),
    BoosterParam(
        "max_histogram_mib",
        _whole(1),
        "Limit on the memory of histograms in MiB.",
        plugin_only=True,
    ),
    BoosterParam(
        "sketch_size",
        _COUNT_OR_AUTO,
        "Number of sketch dimensions: random projections of the gradients on which a tree's splits "
        "are searched. Leaf values use all labels. 0, or at least the number of labels: no sketch. "
        "'auto' is 1, and labels_per_tree is then 'auto', too, unless it is given.",
        plugin_only=True,
    ),
    BoosterParam(
        "sketch_method",
        Choice(("projection", "sampling", "top")),
        "How to make the sketch: random projections of all gradients, randomly drawn labels, or "
        "the labels with the largest gradients.",
        plugin_only=True,
    ),
    BoosterParam(
        "labels_per_tree",
        _COUNT_OR_AUTO,
        "Largest number of labels of a tree; each boosting round divides the labels into new "
        "groups and grows a tree for each. 0 is all labels; 'auto' chooses what predicts held-out "
        "rows of the training data best.",
        ("labels_per_tree", "outputs_per_tree"),
        plugin_only=True,
    ),
    BoosterParam(
        "interaction_constraints",
        Anything(),
        "Groups of features, each a sequence of names or positions. All features on a path through "
        "a tree are from one group. A feature of no group is never combined with others.",
    ),
    BoosterParam(
        "monotone_constraints",
        Anything(),
        "Whether the probabilities of all labels may only rise (1) or fall (-1) with a feature: a "
        "dict from names or positions, or a sequence with 1, -1 or 0 for each feature. In a chain "
        "this holds as long as the propagated labels stay the same.",
    ),
    BoosterParam("num_parallel_tree", _whole(1), "Number of trees grown in each boosting round."),
    BoosterParam(
        "scale_pos_weight",
        OneOrPerLabel(_AT_LEAST_0),
        "Weight of a positive label against a negative one.",
    ),
    BoosterParam(
        "label_weight",
        OneOrPerLabel(_AT_LEAST_0),
        "Weight of a label's loss: how much the label counts in a split.",
        plugin_only=True,
    ),
    BoosterParam(
        "base_score",
        OneOrPerLabel(_PROBABILITY),
        "Probability that boosting starts from; by default estimated from the labels.",
    ),
    BoosterParam("random_state", Seed(), "Seed of the row and column samples.", ("seed",)),
    BoosterParam("n_jobs", Threads(), "Number of threads.", ("nthread",)),
    BoosterParam(
        "verbosity",
        Number(low=0, high=3, whole=True),
        "What XGBoost prints: nothing, warnings, information or everything.",
    ),
)
"""The parameters of the booster that estimators have, in the order of the documentation."""

PARAM_BY_NAME: Mapping[str, BoosterParam] = {
    name: param for param in BOOSTER_PARAMS for name in (param.name, *param.other_names)
}
"""The parameter behind each name."""

_NO_PARAMETER: Mapping[str, str] = {
    "device": "trees are grown on the CPU only",
    "multi_strategy": "the estimator decides whether a tree is for all labels or for one",
    "tree_method": "trees are grown from histograms, the only method with vectors in leaves",
}
"""Parameters of XGBoost that estimators do not have, and why."""


def to_native(
    arguments: Mapping[str, Any],
    booster_params: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any],
    plugin: bool,
    lacks: Collection[str] = (),
) -> dict[str, Any]:
    """Check values and return them by XGBoost's own names, for `xgboost.train`.

    `arguments` are the estimator's arguments that are booster parameters, by their names here, and
    `booster_params` further keyword arguments, by any of their names. One under another name
    (``eta`` for ``learning_rate``) replaces an argument that still has its default. Without
    `plugin`, parameters of the multi-label plugin are unknown, and so are those that it `lacks`.

    Values that are None are left out. `random_state` becomes the seed drawn from it, `split_method`
    its name. Without `n_jobs`, and with -1, there is no `nthread`: XGBoost then uses all processors
    of its machine. A ValueError says if a name is unknown, a parameter is given twice, or a value
    is out of range.

    Examples
    --------
    >>> to_native(
    ...     {"learning_rate": 0.3, "split_method": 1},
    ...     {"eta": 0.1, "reg_lambda": 2},
    ...     defaults={"learning_rate": 0.3, "split_method": "sumGain"},
    ...     plugin=True,
    ... )
    {'eta': 0.1, 'split_method': 'maxGain', 'lambda': 2}
    """
    values = dict(arguments)
    given: dict[str, str] = {}
    for name, value in booster_params.items():
        param = PARAM_BY_NAME.get(name)
        if name in _NO_PARAMETER:
            raise ValueError(f"{name}={value!r} cannot be set: {_NO_PARAMETER[name]}.")
        if param is None or (param.plugin_only and not plugin) or param.name in lacks:
            raise ValueError(_unknown_name_message(name, plugin, lacks))
        other = given.get(param.name)
        if param.name in arguments and not _same(arguments[param.name], defaults[param.name]):
            other = param.name
        if other is not None:
            raise ValueError(f"{other} and {name} are the same parameter: pass one of them.")
        given[param.name] = name
        values[param.name] = value

    native: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        spelled = given.get(name, name)
        check_domain(spelled, value, PARAM_BY_NAME[name].domain)
        if name == "random_state":
            value = seed_from(value)
        if name == "split_method":
            value = SPLIT_METHOD_NUMBERS.get(value, value)
        if name == "n_jobs":
            if value == -1:
                continue
            value = threads_for(value)
        native[PARAM_BY_NAME[name].native] = _plain(value)
    return native


def _unknown_name_message(name: str, plugin: bool, lacks: Collection[str]) -> str:
    known = [
        other
        for other, param in PARAM_BY_NAME.items()
        if param.is_known(plugin) and param.name not in lacks
    ]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Unknown booster parameter {name!r}.{hint} Known parameters: {', '.join(known)}."


def _same(value: object, default: object) -> bool:
    return value is default or bool(np.array_equal(value, default))  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """Turn NumPy values into Python's own: XGBoost gets them as text."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    return value


_PER_LABEL = ("base_score", "scale_pos_weight", "label_weight")
_DIRECTIONS = (-1, 0, 1)


def settle_on_data(
    native: Mapping[str, Any], estimator: Any, *, n_further: int = 0
) -> dict[str, Any]:
    """Check and translate the parameters that depend on the data.

    Parameters
    ----------
    native : mapping
        The result of :func:`~xdcc.base.booster_parameters.to_native`.
    estimator : MultiLabelEstimator
        Has seen X and Y: it has `n_features_in_`, `n_labels_` and maybe `feature_names_in_`.
    n_further : int, default=0
        Number of columns that boosters see after those of X: the label features of a chain. They
        belong to every group of interacting features, since a label may depend on any label.

    Returns
    -------
    dict
        Values by native name, for `xgboost.train`.

    Raises
    ------
    ValueError
        If a list does not have one entry per label, a feature is unknown, or constraints have
        another form.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> seen = SimpleNamespace(n_features_in_=3, n_labels_=2, feature_names_in_=["a", "b", "c"])
    >>> settle_on_data({"interaction_constraints": [["c", "a"], ["b"]]}, seen)
    {'interaction_constraints': '[[0, 2], [1]]'}
    >>> settle_on_data({"base_score": [0.5, 0.5, 0.5]}, seen)
    Traceback (most recent call last):
    ValueError: base_score has 3 entries for 2 labels; pass one number, or one per label.
    """
    settled = dict(native)
    for name in _PER_LABEL:
        if isinstance(settled.get(name), list):
            _check_length(name, settled[name], estimator.n_labels_)
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
            known = "has no column of that name" if self._position else "has no column names"
            raise ValueError(f"{parameter} names the feature {feature!r}, but X {known}.")
        is_number = isinstance(feature, int | np.integer) and not isinstance(feature, bool)
        if is_number and 0 <= feature < self.count:
            return int(feature)
        raise ValueError(
            f"{parameter} names the feature {feature!r}; a feature is a column's name or a "
            f"position from 0 to {self.count - 1}."
        )


def _check_length(name: str, value: list[Any], n_labels: int) -> None:
    if len(value) != n_labels:
        raise ValueError(
            f"{name} has {len(value)} entries for {n_labels} labels; pass one number, or one per "
            "label."
        )


def _is_listed(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _groups(constraints: Any, features: _Features) -> list[list[int]]:
    name = "interaction_constraints"
    if not (_is_listed(constraints) and all(_is_listed(group) for group in constraints)):
        raise ValueError(
            f"{name}={constraints!r}: it must be a sequence of groups, each a sequence of names "
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
            f"{name}={constraints!r}: it must be a dict from features to 1, -1 or 0, or a "
            f"sequence of one of these for each of the {features.count} features."
        )
    return [int(direction) for direction in directions]
