"""The names of the package, for type checkers and editors, and for `__init__.py`."""

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
from xdcc.boosting import MultiClassXGBClassifier as MultiClassXGBClassifier
from xdcc.boosting import MultiLabelXGBClassifier as MultiLabelXGBClassifier
from xdcc.boosting import MultiTargetXGBRegressor as MultiTargetXGBRegressor
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
