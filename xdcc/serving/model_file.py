"""Model files: a trained estimator in one file, without pickle.

The file is a zip archive. ``manifest.json`` holds versions, and every object with its class and
attributes (``estimator_state.py``). Each array is a ``.npy`` file, each booster UBJSON, XGBoost's
own format. The last bytes, the comment of the archive, are the SHA-256 digest of all bytes before.
So a truncated file, or one that differs in a single bit, is refused before anything in it is read.
The digest detects accidental corruption. It is not a signature, and proves nothing about who wrote
the file.

Nothing in a file is executed, and only objects of registered classes are made
(:mod:`xdcc.base.stored`). A file with a correct digest is not trusted either: every size is
compared with the size of the file before memory is allocated, every index of a tree with the tree,
and boosters are checked before XGBoost reads them (:mod:`xdcc.boosting.booster_file`). The same
model gives the same bytes.

A pipeline is stored as its last step, an estimator of ours, and a member ``steps.skops`` that is
read only if the caller trusts it (``pipeline_file.py``).
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from xdcc.base.estimator import CheckedEstimator, MultiLabelEstimator
from xdcc.base.plugin import require_plugin
from xdcc.base.stored import stored_name
from xdcc.base.stored_types import with_article
from xdcc.base.whole_file import whole_file
from xdcc.boosting.booster_file import ModelFileError
from xdcc.serving.archive import Archive, from_npy, pack, to_npy
from xdcc.serving.compiled import CompiledModel
from xdcc.serving.compiled_file import COMPILED, compiled_content
from xdcc.serving.earlier_format import with_forms
from xdcc.serving.estimator_state import State, put_together, take_apart
from xdcc.serving.file_parts import (
    BROKEN,
    booster_threads,
    cannot_be_read,
    listed,
    stored_booster,
    versions,
)
from xdcc.serving.pipeline_file import other_steps, with_other_steps

FORMAT_VERSION = 3
"""Version of the file format, increased when an older `load_model` would misread a file."""

OLDEST_FORMAT = FORMAT_VERSION - 1
"""The oldest format that is read, the one before (``earlier_format.py``)."""

_MANIFEST = "manifest.json"
_LARGEST_MANIFEST = 2**25
"""In bytes; parsed JSON takes about twenty times as many."""

_ARRAY, _BOOSTER = "arrays/{:04}.npy", "boosters/{:04}.ubj"
_STEPS = "steps.skops"
_MARK = b"xdcc model sha256:"
_DIGEST_LENGTH = 64


def save_model(
    model: MultiLabelEstimator | CompiledModel | Pipeline, path: str | os.PathLike[str]
) -> None:
    """Write a trained estimator to one file.

    The file is written under a temporary name and renamed when it is complete. It replaces an older
    file of that name and keeps its mode; symbolic links are followed. If something fails, the older
    file stays. If the process is killed, the temporary file, ``.<name>.<number>.part``, stays until
    the next `save_model` of that name.

    Parameters
    ----------
    model : estimator, CompiledModel or Pipeline
        Any fitted estimator of the package, or what it was compiled to; it is not changed. Or a
        scikit-learn pipeline whose last step is such an estimator: skops stores the other steps.
        Classifiers that it is built on (by `ThresholdClassifier` and most baselines) have to be
        estimators of the package, too, or ``xgboost.XGBClassifier``.
    path : path-like
        Name of the file; file objects are not supported.

    Raises
    ------
    TypeError
        If `model` is something else, is built on a classifier of scikit-learn, or has an argument
        or attribute that a file cannot store; or if `path` is not path-like.
    ValueError
        If an argument was set to an invalid value after `fit`.
    NotFittedError
        Before `fit`.
    OSError
        If the folder does not exist or cannot be written to, `path` is a folder, device, pipe or
        socket, or the disk is full. All but the last is found before the model is serialised.
    ImportError
        If a pipeline has other steps and skops is not installed.

    Notes
    -----
    A `random_state` that is a generator is stored as None: `fit` has drawn from it, so its state
    would not reproduce the model. A `cv` that is a splitter is stored as None, too; `folds_` are
    its folds. Requests of scikit-learn's metadata routing are not stored. NumPy
    scalars among the arguments come back as Python numbers. The `memory` of a pipeline is not
    stored.

    Examples
    --------
    >>> import xdcc
    >>> data = xdcc.data.make_multilabel(100, n_labels=3, random_state=0)
    >>> model = xdcc.MultiLabelXGBClassifier(n_estimators=5).fit(data.X, data.Y)
    >>> save_model(model, "model.xdcc")
    >>> from xdcc.serving import load_model
    >>> bool((load_model("model.xdcc").predict(data.X) == model.predict(data.X)).all())
    True
    """
    with whole_file(path) as file:
        file.write(compiled_content(model) if isinstance(model, CompiledModel) else _archive(model))


def load_estimator(path: Path, max_bytes: int | None, trusted: Sequence[str] | None) -> Any:
    """Read a trained estimator, or a pipeline, as :func:`~xdcc.serving.load_model` does."""
    content = _checked_content(path, max_bytes)
    require_plugin("load_model")
    written_by = "unknown versions"
    try:
        archive = Archive(content, max_bytes)
        manifest = _manifest(archive)
        written_by = listed(manifest["versions"])
        _check_format(manifest["format_version"], path, written_by)
        model = _restored(manifest, archive)
        if _STEPS in archive.names:
            if trusted is None:
                raise ModelFileError(
                    f"{path} holds a pipeline, whose other steps skops makes without the checks of "
                    "xdcc: give trusted=[] if you trust the file."
                )
            last = str(manifest["last_step"]), model
            model = with_other_steps(archive.read(_STEPS), last, trusted, max_bytes)
    except ModelFileError:
        raise
    except BROKEN as error:
        # The checksum is correct, so other versions or other code wrote this.
        raise cannot_be_read(path, written_by, error) from error
    return model


def _archive(whole: Any) -> bytes:
    model = whole[-1] if type(whole) is Pipeline else whole
    if not _is_model(model):
        raise TypeError(
            f"save_model takes a fitted estimator of xdcc, not {type(model).__module__}."
            f"{type(model).__name__}, alone or as the last step of a pipeline. A chain trained on "
            "Dask has to_local()."
        )
    check_is_fitted(model)
    state = take_apart(model)
    put_together(state)  # raises an error if the file could not be read again
    manifest = {
        "format_version": FORMAT_VERSION,
        "versions": versions(),
        "n_arrays": len(state.arrays),
        "threads": [booster_threads(booster) for booster in state.boosters],
        "objects": state.objects,
    }
    steps = {}
    if whole is not model:
        manifest["last_step"] = whole.steps[-1][0]
        steps[_STEPS] = other_steps(whole)
    described = json.dumps(manifest, allow_nan=False, indent=1).encode()
    if len(described) > _LARGEST_MANIFEST:
        raise ValueError(
            f"The names, categories and parameters of the model take {len(described)} bytes as "
            f"text, more than the {_LARGEST_MANIFEST} that a model file may hold."
        )
    members = {_MANIFEST: described, **steps}
    for number, array in enumerate(state.arrays):
        members[_ARRAY.format(number)] = to_npy(array)
    for number, booster in enumerate(state.boosters):
        members[_BOOSTER.format(number)] = bytes(booster.save_raw("ubj"))
    content = pack(members, _MARK + b"0" * _DIGEST_LENGTH)[:-_DIGEST_LENGTH]
    return content + _digest(content)


def _is_model(value: Any) -> bool:
    """Whether it is an estimator that a file can hold as a whole."""
    return isinstance(value, CheckedEstimator) and stored_name(type(value)) is not None


def _checked_content(path: Path, max_bytes: int | None) -> bytes:
    with path.open("rb") as file:
        content = file.read() if max_bytes is None else file.read(max_bytes + 1)
    if max_bytes is not None and len(content) > max_bytes:
        raise ModelFileError(f"{path} has more than max_bytes={max_bytes} bytes.")
    body, digest = content[:-_DIGEST_LENGTH], content[-_DIGEST_LENGTH:]
    if body.startswith(COMPILED):
        raise ModelFileError(f"{path} holds a compiled model: load it with compiled=True.")
    if not body.startswith(b"PK"):
        raise ModelFileError(f"{path} is not a model file: it does not begin like a zip archive.")
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


def _manifest(archive: Archive) -> dict[str, Any]:
    if archive.size(_MANIFEST) > _LARGEST_MANIFEST:
        raise ValueError(f"{_MANIFEST} has {archive.size(_MANIFEST)} bytes")
    manifest = json.loads(archive.read(_MANIFEST))
    if not isinstance(manifest, dict) or not isinstance(manifest["versions"], dict):
        raise ValueError(f"{_MANIFEST} or its versions are not a mapping")
    return manifest


def _check_format(number: Any, path: Path, written_by: str) -> None:
    if type(number) is not int:
        raise ValueError(f"the format {number!r} is not a whole number")
    if not OLDEST_FORMAT <= number <= FORMAT_VERSION:
        read = " and ".join(map(str, range(OLDEST_FORMAT, FORMAT_VERSION + 1)))
        raise ModelFileError(
            f"{path} has format {number}, but xdcc {versions()['xdcc']} reads formats {read}. The "
            f"file was written by {written_by}: "
            + ("update xdcc." if number > FORMAT_VERSION else "use these, or fit the model again.")
        )


def _restored(manifest: dict[str, Any], archive: Archive) -> Any:
    arrays = _names(_ARRAY, manifest["n_arrays"], archive)
    threads = manifest["threads"]
    if not isinstance(threads, list) or not all(type(number) is int for number in threads):
        raise ValueError("the boosters' numbers of threads are not a list of whole numbers")
    boosters = _names(_BOOSTER, len(threads), archive)
    steps = {_STEPS} if "last_step" in manifest else set()
    if archive.names != {_MANIFEST, *steps, *arrays, *boosters}:
        raise ValueError("the members of the archive differ from its manifest")
    model = put_together(
        State(
            manifest["objects"],
            [from_npy(archive.read(name)) for name in arrays],
            [
                stored_booster(archive.read(name), n)
                for name, n in zip(boosters, threads, strict=True)
            ],
        ),
        *([with_forms] if manifest["format_version"] < FORMAT_VERSION else []),
    )
    if not _is_model(model):
        raise ValueError(
            f"it holds {with_article(type(model).__name__)}, which is not an estimator of xdcc"
        )
    check_is_fitted(model)
    return model


def _names(form: str, number: Any, archive: Archive) -> list[str]:
    if type(number) is not int or not 0 <= number < len(archive.names):
        raise ValueError(f"the number of {form.partition('/')[0]} is {number!r}")
    return [form.format(k) for k in range(number)]


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
