"""``**booster_params`` for an estimator, in a way that scikit-learn understands.

An estimator names its most used booster parameters in its signature and takes the others as
keyword arguments. :class:`BoosterEstimator` keeps these, makes ``get_params``,
``set_params`` and ``clone`` include them, documents them, and hands everything to
:func:`xdcc.base.booster_parameters.to_native` when ``fit`` asks. :class:`TreeBoosterEstimator`
declares the parameters that all estimators have whose trees are grown for all labels at once.
"""

import inspect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Self

import numpy as np

from xdcc.base.booster_parameters import BOOSTER_PARAMS, PARAM_BY_NAME, to_native
from xdcc.base.documentation import documented
from xdcc.base.domains import Choice, Number, Verbosity
from xdcc.base.estimator import CheckedEstimator
from xdcc.base.features import SPARSE_ZEROS, SparseZeros
from xdcc.base.input_form import UnknownCategories
from xdcc.base.stored_types import OPTIONAL


class BoosterEstimator(CheckedEstimator):
    """An estimator on XGBoost, with keyword arguments beyond its signature as booster parameters.

    A subclass declares its parameters as fields, attributes with a type and a default, and gets a
    constructor that takes them and ``**booster_params``. A constructor of its own hands these to
    :meth:`_keep_booster_params`. They then take part in ``get_params``, ``set_params`` and
    ``clone``. Nothing is checked before ``fit`` calls :meth:`_native_booster_params`.

    Examples
    --------
    >>> class Boosters(BoosterEstimator):
    ...     max_depth: int = 6
    >>> boosters = Boosters(eta=0.1)
    >>> boosters.get_params()
    {'max_depth': 6, 'eta': 0.1}
    >>> boosters._native_booster_params()
    {'max_depth': 6, 'eta': 0.1}
    """

    _uses_plugin = True
    _lacks: frozenset[str] = frozenset()
    """Booster parameters that the estimator does not have."""
    _domains = MappingProxyType({"sparse_zeros": Choice(SPARSE_ZEROS)})
    sparse_zeros: SparseZeros
    booster_params: Annotated[Mapping[str, Any], OPTIONAL] = MappingProxyType({})

    def __init__(self, **params: Any) -> None:
        """Store the parameters; those that are not declared are booster parameters."""
        for name, field in _declared(type(self)).items():
            setattr(self, name, params.pop(name, field.default))
        self._keep_booster_params(params)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Make the constructor, and write the list of booster parameters into the documentation."""
        super().__init_subclass__(**kwargs)
        if "__init__" not in vars(cls):
            _give_constructor(cls)
        named = inspect.signature(cls.__init__).parameters
        listed = _described(
            param.name
            for param in BOOSTER_PARAMS
            if not {param.name, *param.other_names} & named.keys() | cls._lacks & {param.name}
            and param.is_known(cls._uses_plugin)
        )
        documented(cls, {"booster_params": listed})

    def _keep_booster_params(self, booster_params: Mapping[str, Any]) -> None:
        # Only if there are any: scikit-learn allows no attributes on a new estimator beyond the
        # arguments in its signature.
        if booster_params:
            self.booster_params = dict(booster_params)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the estimator, further booster parameters included.

        Parameters
        ----------
        deep : bool, default=True
            As in scikit-learn.

        Returns
        -------
        dict
            Value by name.
        """
        return {**super().get_params(deep=deep), **self.booster_params}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, further booster parameters included.

        Parameters
        ----------
        **params
            Value by name.

        Returns
        -------
        self : object
            The estimator.

        Raises
        ------
        ValueError
            For a name that is neither an argument nor a booster parameter.
        """
        named = set(self._get_param_names())
        further = {
            name: value
            for name, value in params.items()
            if name not in named and (name in PARAM_BY_NAME or name in self.booster_params)
        }
        if further:
            self.booster_params = {**self.booster_params, **further}
        super().set_params(**{n: v for n, v in params.items() if n not in further})
        return self

    def _sparse_zeros(self) -> SparseZeros | None:
        return self.sparse_zeros

    def _check_state(self) -> None:
        super()._check_state()
        self._native_booster_params()

    def _native_booster_params(self) -> dict[str, Any]:
        """Check all booster parameters and return them by XGBoost's names.

        With the data :func:`~xdcc.base.booster_parameters.settle_on_data` makes them what
        `xgboost.train` takes.
        """
        signature = inspect.signature(type(self).__init__).parameters
        defaults = {n: p.default for n, p in signature.items() if n in PARAM_BY_NAME}
        return to_native(
            {name: getattr(self, name) for name in defaults},
            self.booster_params,
            defaults=defaults,
            plugin=self._uses_plugin,
            lacks=self._lacks,
        )


def _declared(cls: type) -> dict[str, inspect.Parameter]:
    """Collect the fields of a class and of its bases as keyword arguments."""
    return {
        name: inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=vars(owner)[name], annotation=annotation
        )
        for owner in reversed(cls.__mro__)
        if owner is not BoosterEstimator and issubclass(owner, BoosterEstimator)
        for name, annotation in inspect.get_annotations(owner).items()
        if name in vars(owner) and not name.startswith("_")
    }


def _give_constructor(cls: type) -> None:
    """Give a class a constructor whose signature names its fields, unless it inherits one."""
    fields = _declared(cls)
    if not fields:
        return

    def __init__(self: Any, **params: Any) -> None:
        BoosterEstimator.__init__(self, **params)

    self_ = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    further = inspect.Parameter("booster_params", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [self_, *fields.values(), further]
    )
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__  # type: ignore[misc]


def _described(names: Iterable[str]) -> str:
    """Document parameters: a line for each, with its names, domain and meaning."""
    lines = []
    for name in names:
        param = PARAM_BY_NAME[name]
        spellings = dict.fromkeys((param.name, *param.other_names))
        in_code = ", ".join(f"`{spelling}`" for spelling in spellings)
        lines.append(f"* {in_code} ({param.domain}): {param.meaning}")
    return "\n".join(lines)


class TreeBoosterEstimator(BoosterEstimator):
    """An estimator on boosters whose trees are grown for all labels at once.

    Examples
    --------
    >>> class Boosters(TreeBoosterEstimator):
    ...     max_depth: int = 3
    >>> Boosters(n_estimators=10, subsample=0.5)
    Boosters(n_estimators=10, subsample=0.5)
    """

    _domains = MappingProxyType(
        {
            **BoosterEstimator._domains,
            "n_estimators": Number(low=1, whole=True),
            "verbose": Verbosity(),
        }
    )

    n_estimators: int = 100
    max_depth: int = 6
    learning_rate: float = 0.3
    split_method: str | int = "sumGain"
    reg_lambda: float = 1.0
    max_bin: int = 256
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    sparse_zeros: SparseZeros = "missing"
    unknown_categories: UnknownCategories = "separate"
    verbose: int = 0
