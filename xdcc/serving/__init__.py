"""Model files, compiled models, and exports that need neither xdcc nor its XGBoost.

Names are imported on first use: a service that maps a compiled model imports NumPy alone.
"""

from typing import TYPE_CHECKING

from xdcc.base.lazy_import import on_first_use
from xdcc.boosting.booster_file import ModelFileError, check_booster, read_booster

if TYPE_CHECKING:
    from xdcc.serving.booster_for_stock import stock_booster
    from xdcc.serving.compiled import CompiledModel
    from xdcc.serving.loading import load_model
    from xdcc.serving.model_file import save_model
    from xdcc.serving.one_forest import to_forest
    from xdcc.serving.onnx_export import to_onnx
    from xdcc.serving.stock_export import to_stock, to_treelite
else:
    __getattr__ = on_first_use(
        __name__,
        CompiledModel="compiled",
        load_model="loading",
        save_model="model_file",
        to_forest="one_forest",
        to_onnx="onnx_export",
        stock_booster="booster_for_stock",
        to_stock="stock_export",
        to_treelite="stock_export",
    )

__all__ = [
    "CompiledModel",
    "ModelFileError",
    "check_booster",
    "load_model",
    "read_booster",
    "save_model",
    "stock_booster",
    "to_forest",
    "to_onnx",
    "to_stock",
    "to_treelite",
]
