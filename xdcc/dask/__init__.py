"""Chains and mixtures of models trained on Dask: several workers, each with its own rows.

Needs the extra ``dask``.
"""

try:
    import dask.dataframe  # noqa: F401
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "xdcc.dask needs Dask with its DataFrames and the distributed scheduler, but "
        f"{error.name} is not installed: pip install 'xdcc[dask]'"
    ) from error

from xdcc.dask.automatic import DaskMultiLabelClassifier
from xdcc.dask.classifier import DaskDynamicChainClassifier
from xdcc.dask.communicator import WorkerLostError

__all__ = ["DaskDynamicChainClassifier", "DaskMultiLabelClassifier", "WorkerLostError"]
