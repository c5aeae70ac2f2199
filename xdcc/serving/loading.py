"""``load_model``: what a service begins with.

A compiled model is mapped, and predicts from arrays and dicts, with NumPy as the only other package
that is imported.
"""

import numbers
import os
from collections.abc import Sequence
from typing import Any

from xdcc.base.whole_file import as_path
from xdcc.serving.compiled import CompiledModel
from xdcc.serving.compiled_file import load_compiled


def load_model(
    path: str | os.PathLike[str],
    *,
    compiled: bool = False,
    max_bytes: int | None = None,
    trusted: Sequence[str] | None = None,
) -> Any:
    """Read a trained estimator from a file of :func:`save_model`.

    Parameters
    ----------
    path : path-like
        The file; file objects are not supported.
    compiled : bool, default=False
        Whether to return a :class:`CompiledModel`. The file of one is mapped into memory, which
        takes milliseconds; an estimator is compiled.
    max_bytes : int, optional
        Limit on the size of the file, packed and unpacked; no more bytes are read. In any case a
        file unpacks to at most 100 times its size.
    trusted : sequence of str, optional
        Names of types that you trust in the steps of a pipeline, beside those that skops trusts by
        itself. Steps that skops makes are not checked as estimators of xdcc are, so None refuses
        pipelines.

    Returns
    -------
    estimator, CompiledModel or Pipeline
        An object of the same class, arguments and attributes. Its predictions are equal bit for
        bit.

    Raises
    ------
    ModelFileError
        If it is not a model file, is truncated, altered or too large, has another format, or holds
        something that the installed versions cannot read; or a compiled model without
        ``compiled=True``, or a pipeline with types that are not `trusted`.
    OSError
        If the file cannot be read; a FileNotFoundError if it does not exist.
    ImportError
        If it holds a pipeline and skops is not installed.
    TypeError
        If `path` is not path-like, or an estimator cannot be compiled, with ``compiled=True``.
    ValueError
        If `max_bytes` is not a positive whole number.
    PluginMissingError
        If the installed XGBoost has no multi-label plugin. :func:`xdcc.serving.to_stock` exports
        boosters for an XGBoost without it.

    Notes
    -----
    Do not write to the file of a compiled model while it is loaded, since its pages are read when
    they are needed: replace it, as :func:`save_model` does.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("model.xdcc").write_bytes(b"something else")
    >>> load_model("model.xdcc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    xdcc.boosting.booster_file.ModelFileError: ...
    """
    if max_bytes is not None and (not isinstance(max_bytes, numbers.Integral) or max_bytes < 1):
        raise ValueError(f"max_bytes={max_bytes!r} is not a positive whole number.")
    file = as_path(path)
    if compiled:
        found = load_compiled(file, max_bytes)
        if found is not None:
            return found
    from xdcc.serving.model_file import load_estimator  # imports all estimators

    model = load_estimator(file, max_bytes, trusted)
    return CompiledModel(model) if compiled else model
