"""Model files, compiled models, and exports that need neither xdcc nor its XGBoost."""

from xdcc.boosting.booster_file import ModelFileError, check_booster, read_booster
from xdcc.serving.compiled import CompiledModel
from xdcc.serving.model_file import load_model, save_model
from xdcc.serving.one_forest import to_forest
from xdcc.serving.onnx_export import to_onnx
from xdcc.serving.stock_chain import StockChain
from xdcc.serving.stock_export import stock_booster, to_stock, to_treelite

__all__ = [
    "CompiledModel",
    "ModelFileError",
    "StockChain",
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
