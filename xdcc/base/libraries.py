"""Large libraries, each imported on its first use.

A service that predicts from a mapped model imports only NumPy. The modules that it imports may also
have functions for training: they take these libraries from here, and write annotations that name
one as text.
"""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import LazyModule

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw
    import pandas as pd
    import sklearn
    import threadpoolctl
    import xgboost as xgb
    from scipy import optimize, sparse, special, stats
    from sklearn.utils import multiclass, validation
    from xgboost import collective
else:
    collective = LazyModule("xgboost.collective")
    multiclass = LazyModule("sklearn.utils.multiclass")
    nw = LazyModule("narwhals.stable.v2")
    optimize = LazyModule("scipy.optimize")
    pd = LazyModule("pandas")
    sklearn = LazyModule("sklearn")
    sparse = LazyModule("scipy.sparse")
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")
    threadpoolctl = LazyModule("threadpoolctl")
    validation = LazyModule("sklearn.utils.validation")
    xgb = LazyModule("xgboost")

__all__ = [
    "collective",
    "multiclass",
    "nw",
    "optimize",
    "pd",
    "sklearn",
    "sparse",
    "special",
    "stats",
    "threadpoolctl",
    "validation",
    "xgb",
]
