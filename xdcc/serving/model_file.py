"""Model files: a trained estimator in one file, without pickle.

The file is a zip archive with ``manifest.json`` (versions, class, arguments, what `fit` learned;
see ``estimator_state.py``) and each booster as UBJSON, XGBoost's own format. Its last bytes, the
archive's comment, are the SHA-256 digest of all bytes before. So a file that is cut off or differs
in a single bit is refused before anything in it is read. The digest tells accidents; it is no
signature, and proves nothing about who wrote the file.

Nothing in a file is executed. The same model gives the same bytes.
"""

import hashlib
import io
import json
import os
import uuid
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import xgboost as xgb
from sklearn.utils.validation import check_is_fitted

from xdcc.base.plugin import plugin_version, require_plugin
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.serving.estimator_state import from_json, to_json

type Model = DynamicChainClassifier | MultiLabelXGBClassifier

FORMAT_VERSION = 1
"""Version of the file format: raised when an older :func:`load_model` would misread a file."""

_CLASSES: dict[str, type[Any]] = {
    cls.__name__: cls for cls in (DynamicChainClassifier, MultiLabelXGBClassifier)
}
_MANIFEST = "manifest.json"
_MARK = b"xdcc model sha256:"
_DIGEST_LENGTH = 64


class ModelFileError(ValueError):
    """A model file cannot be written or read: the message says which, and why."""


def save_model(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a trained estimator to one file.

    The file is written beside its place first and moved there when it is complete. An older file
    of that name is replaced; when something fails, it stays.

    Parameters
    ----------
    model : DynamicChainClassifier or MultiLabelXGBClassifier
        A fitted one. It is not changed.
    path : path-like
        Where to.

    Raises
    ------
    TypeError
        If `model` is something else, or has an argument or attribute that a file has no form for.
    NotFittedError
        Before `fit`.
    ModelFileError
        If the file cannot be written there.

    Notes
    -----
    A `random_state` that is a generator is stored as None: its state would not tell how the model
    was made, since `fit` has drawn from it. Tuples among the arguments come back as lists, NumPy
    scalars as Python's.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> save_model(model, "model.xdcc")
    >>> np.array_equal(load_model("model.xdcc").predict(data.X), model.predict(data.X))
    True
    """
    content = _archive(model)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ModelFileError(f"{target} cannot be written: {error}") from error


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a trained estimator from a file of :func:`save_model`.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    DynamicChainClassifier or MultiLabelXGBClassifier
        With the arguments and attributes of the one that was saved. It predicts the same, bit
        for bit.

    Raises
    ------
    ModelFileError
        If there is no such file, it is no model file, is truncated or altered, has a newer
        format, or was written with versions that the installed ones cannot read.
    PluginMissingError
        If the installed XGBoost has no multi-label plugin. :func:`xdcc.serving.to_stock` exports
        a model for an XGBoost without it.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("model.xdcc").write_bytes(b"something else")
    >>> load_model("model.xdcc")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    xdcc.serving.model_file.ModelFileError: ...
    """
    content = _checked_content(Path(path))
    require_plugin("load_model")
    written_by = "unknown versions"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            manifest = json.loads(archive.read(_MANIFEST))
            written_by = _listed(manifest["versions"])
            if manifest["format_version"] > FORMAT_VERSION:
                raise ModelFileError(
                    f"{path} has format {manifest['format_version']}, this xdcc reads formats up "
                    f"to {FORMAT_VERSION}. The file was written by {written_by}: install that "
                    "xdcc or a newer one."
                )
            return _restored(manifest, archive)
    except ModelFileError:
        raise
    except (zipfile.BadZipFile, KeyError, IndexError, TypeError, ValueError) as error:
        # The checksum is right, so this is what was written: by other versions, or other code.
        raise ModelFileError(
            f"{path} was written by {written_by} and cannot be read by {_listed(_versions())}: "
            f"{type(error).__name__}: {error}"
        ) from error


def _archive(model: Model) -> bytes:
    if type(model) not in _CLASSES.values():
        raise TypeError(
            f"save_model takes a fitted {' or '.join(_CLASSES)}, not {type(model).__module__}."
            f"{type(model).__name__}. A chain trained on Dask has to_local()."
        )
    check_is_fitted(model)
    params = {
        name: None if isinstance(value, np.random.RandomState) else value
        for name, value in model.get_params(deep=False).items()
    }
    fitted = {
        name: value
        for name, value in vars(model).items()
        if name not in params and name != "booster_params"
    }
    boosters: list[xgb.Booster] = []
    manifest: dict[str, Any] = {
        "format_version": FORMAT_VERSION,
        "versions": _versions(),
        "class": type(model).__name__,
        "params": {name: to_json(value, [], name) for name, value in params.items()},
        "fitted": {name: to_json(value, boosters, name) for name, value in fitted.items()},
    }
    manifest["boosters"] = [f"boosters/{number:04}.ubj" for number in range(len(boosters))]

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, _MANIFEST, json.dumps(manifest, allow_nan=False, indent=1).encode())
        for name, booster in zip(manifest["boosters"], boosters, strict=True):
            _add(archive, name, booster.save_raw("ubj"))
        archive.comment = _MARK + b"0" * _DIGEST_LENGTH
    content = buffer.getvalue()[:-_DIGEST_LENGTH]
    return content + _digest(content)


def _add(archive: zipfile.ZipFile, name: str, content: bytes | bytearray) -> None:
    # Made by hand, an entry has a fixed date.
    archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)


def _checked_content(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error}") from error
    body, digest = content[:-_DIGEST_LENGTH], content[-_DIGEST_LENGTH:]
    if not body.startswith(b"PK"):
        raise ModelFileError(f"{path} is no model file: it does not begin as a zip archive does.")
    if not body.endswith(_MARK):
        raise ModelFileError(
            f"{path} has no checksum at its end: it is truncated, or save_model did not write it."
        )
    if digest != _digest(body):
        raise ModelFileError(
            f"{path} was altered: its checksum is {_digest(body).decode()}, but "
            f"{digest.decode(errors='replace')} is written at its end."
        )
    return content


def _restored(manifest: dict[str, Any], archive: zipfile.ZipFile) -> Model:
    if manifest["class"] not in _CLASSES:
        raise ValueError(f"no estimator is called {manifest['class']!r}")
    params = {name: from_json(value, ()) for name, value in manifest["params"].items()}
    model = _CLASSES[manifest["class"]](**params)
    # A booster does not save its number of threads. None is all of them, as it is by default.
    n_threads = model._native_booster_params().get("nthread", 0)
    boosters = []
    for name in manifest["boosters"]:
        booster = xgb.Booster({"nthread": n_threads})
        booster.load_model(bytearray(archive.read(name)))
        boosters.append(booster)
    for name, value in manifest["fitted"].items():
        setattr(model, name, from_json(value, boosters))
    return model


def _versions() -> dict[str, str | None]:
    return {"xdcc": version("xdcc"), "xgboost": xgb.__version__, "plugin": plugin_version()}


def _listed(versions: dict[str, str | None]) -> str:
    return ", ".join(f"{name} {number}" for name, number in versions.items())


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
