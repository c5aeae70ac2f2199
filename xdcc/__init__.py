"""Multi-label classification with boosted trees and dynamic chains.

All estimators can be imported from here; subpackages are attributes. They are imported on first
use, so ``import xdcc`` itself is fast.

Examples
--------
>>> import xdcc
>>> digits = xdcc.data.load_digits_properties()
>>> classifier = xdcc.BinaryRelevance(n_estimators=5, max_depth=3).fit(digits.X, digits.Y)
>>> classifier.predict(digits.X[:2])
array([[1, 0, 0, 1, 1, 1, 0],
       [0, 0, 0, 0, 1, 0, 1]])
"""

from typing import TYPE_CHECKING, Any

from xdcc.base import booster_reader as _booster_reader
from xdcc.base.lazy_import import import_package as _module

if TYPE_CHECKING:  # the names that `_import` finds, for type checkers and editors
    from xdcc import automatic as automatic
    from xdcc import base as base
    from xdcc import boosting as boosting
    from xdcc import chain as chain
    from xdcc import comparators as comparators
    from xdcc import dask as dask
    from xdcc import data as data
    from xdcc import decision as decision
    from xdcc import distillation as distillation
    from xdcc import explain as explain
    from xdcc import forest as forest
    from xdcc import kernels as kernels
    from xdcc import linear as linear
    from xdcc import metrics as metrics
    from xdcc import model_selection as model_selection
    from xdcc import prediction as prediction
    from xdcc import scoring as scoring
    from xdcc import serving as serving
    from xdcc.automatic import MultiLabelClassifier as MultiLabelClassifier
    from xdcc.boosting import MultiLabelXGBClassifier as MultiLabelXGBClassifier
    from xdcc.chain import DynamicChainClassifier as DynamicChainClassifier
    from xdcc.chain import OrderFreeChainClassifier as OrderFreeChainClassifier
    from xdcc.comparators.baselines import HOMER as HOMER
    from xdcc.comparators.baselines import LPBR as LPBR
    from xdcc.comparators.baselines import BinaryRelevance as BinaryRelevance
    from xdcc.comparators.baselines import ClassifierChain as ClassifierChain
    from xdcc.comparators.baselines import EnsembleOfChains as EnsembleOfChains
    from xdcc.comparators.baselines import LabelPowerset as LabelPowerset
    from xdcc.comparators.baselines import (
        ProbabilisticClassifierChain as ProbabilisticClassifierChain,
    )
    from xdcc.comparators.baselines import (
        ProbabilisticEnsembleOfChains as ProbabilisticEnsembleOfChains,
    )
    from xdcc.comparators.boomer import BoomerClassifier as BoomerClassifier
    from xdcc.comparators.ctbn import CTBNClassifier as CTBNClassifier
    from xdcc.comparators.ctbn import CTBNMixtureClassifier as CTBNMixtureClassifier
    from xdcc.comparators.lacovac import LaCovaCClassifier as LaCovaCClassifier
    from xdcc.comparators.lacovac import LaCovaCForestClassifier as LaCovaCForestClassifier
    from xdcc.comparators.rdt import RandomDecisionTreeClassifier as RandomDecisionTreeClassifier
    from xdcc.decision import KnownLabelsets as KnownLabelsets
    from xdcc.decision import ThresholdClassifier as ThresholdClassifier
    from xdcc.decision import TunedDecisionClassifierCV as TunedDecisionClassifierCV
    from xdcc.distillation import DistilledClassifier as DistilledClassifier
    from xdcc.distillation import distil as distil
    from xdcc.forest import SketchedExtraTreesClassifier as SketchedExtraTreesClassifier
    from xdcc.linear import LogisticLabels as LogisticLabels

__version__: str

_PACKAGES = {
    "MultiLabelClassifier": "automatic",
    "HOMER": "comparators.baselines",
    "LPBR": "comparators.baselines",
    "BinaryRelevance": "comparators.baselines",
    "ClassifierChain": "comparators.baselines",
    "EnsembleOfChains": "comparators.baselines",
    "LabelPowerset": "comparators.baselines",
    "ProbabilisticClassifierChain": "comparators.baselines",
    "ProbabilisticEnsembleOfChains": "comparators.baselines",
    "BoomerClassifier": "comparators.boomer",
    "MultiLabelXGBClassifier": "boosting",
    "DynamicChainClassifier": "chain",
    "OrderFreeChainClassifier": "chain",
    "CTBNClassifier": "comparators.ctbn",
    "CTBNMixtureClassifier": "comparators.ctbn",
    "KnownLabelsets": "decision",
    "ThresholdClassifier": "decision",
    "TunedDecisionClassifierCV": "decision",
    "DistilledClassifier": "distillation",
    "distil": "distillation",
    "SketchedExtraTreesClassifier": "forest",
    "LaCovaCClassifier": "comparators.lacovac",
    "LaCovaCForestClassifier": "comparators.lacovac",
    "LogisticLabels": "linear",
    "RandomDecisionTreeClassifier": "comparators.rdt",
}
"""The package of each estimator, and of the function that makes one of another."""

__all__ = ["__version__", *_PACKAGES]


def _import(name: str) -> Any:
    value: Any
    if name in _PACKAGES:
        value = getattr(_module(_PACKAGES[name]), name)
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    elif name in _modules():
        value = _module(name)
    else:
        raise AttributeError(_unknown_name_message(name))
    globals()[name] = value  # later accesses do not call this function
    return value


def _read_booster(file: Any) -> Any:
    """Read a booster file for a method, which cannot import `xdcc.serving`."""
    return _module("serving").read_booster(file)


_booster_reader.read_booster = _read_booster

if not TYPE_CHECKING:  # otherwise, type checkers would accept any attribute
    __getattr__ = _import


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_modules()})


def _modules() -> list[str]:
    from pkgutil import iter_modules

    return [module.name for module in iter_modules(__path__)]


def _unknown_name_message(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [*__all__, *_modules()], n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"module {__name__!r} has no attribute {name!r}.{hint}"
