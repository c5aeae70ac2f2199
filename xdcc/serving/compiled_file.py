"""The file of a compiled model: arrays that are used in place, in the mapped file.

A file is a line with the version of the format, the size of a header in eight bytes, the header in
JSON, the arrays, each at a multiple of 64 bytes from the end of the header, and the SHA-256 digest
of all bytes before. The header holds objects as ``estimator_state.py`` takes them apart, and of
each array type, shape and place. Boosters, which a decision rule may have, are the last arrays.

As in other model files, nothing is executed or trusted: sizes are compared with the file, objects
are of registered classes (:mod:`xdcc.base.stored`), and every index is checked once.
"""

import hashlib
import json
import math
import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from xdcc.base.domains import Threads, check_domain
from xdcc.base.stored_types import with_article
from xdcc.boosting.booster_file import ModelFileError
from xdcc.serving.archive import KINDS, check_values
from xdcc.serving.compiled import CompiledModel
from xdcc.serving.compiled_parts import CompiledParts
from xdcc.serving.estimator_state import State, put_together, take_apart
from xdcc.serving.file_parts import (
    BROKEN,
    cannot_be_read,
    listed,
    versions,
)

COMPILED = b"xdcc compiled model "
_FORMAT = COMPILED + b"2\n"
_ALIGNMENT, _DIGEST_LENGTH = 64, 32
_LARGEST_HEADER = 2**25
"""In bytes; parsed JSON takes about twenty times as many."""


def compiled_content(model: CompiledModel) -> bytes:
    """Write a compiled model; raise a TypeError if its parts cannot be stored."""
    state = take_apart(model._parts)
    pieces, described, end = [], [], 0
    for array in state.arrays:
        stored = np.ascontiguousarray(array)
        begin = -(-end // _ALIGNMENT) * _ALIGNMENT
        pieces += [b"\0" * (begin - end), stored.tobytes()]
        end = begin + stored.nbytes
        described.append([stored.dtype.str, list(stored.shape), begin])
    header = {
        "versions": versions(),
        "n_jobs": None if model.n_jobs is None else int(model.n_jobs),
        "arrays": described,
        "objects": state.objects,
    }
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(len(_FORMAT) + 8 + len(text)) % _ALIGNMENT)
    content = b"".join([_FORMAT, len(text).to_bytes(8, "little"), text, *pieces])
    return content + hashlib.sha256(content).digest()


def load_compiled(path: Path, max_bytes: int | None) -> CompiledModel | None:
    """Map a file of `compiled_content`; return None if it begins like a zip archive.

    Raises an OSError or a ModelFileError as `load_model` does.
    """
    with path.open("rb") as file:
        try:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:  # it is empty
            raise ModelFileError(f"{path} cannot be read: {error}") from error
    if max_bytes is not None and len(content) > max_bytes:
        raise ModelFileError(f"{path} has more than max_bytes={max_bytes} bytes.")
    if content[:2] == b"PK":
        return None
    format_ = content[: len(_FORMAT)]
    if not format_.startswith(COMPILED):
        raise ModelFileError(f"{path} is not a model file.")
    if format_ != _FORMAT:
        raise ModelFileError(
            f"{path} has a format of compiled models that this xdcc does not read: compile the "
            "model again."
        )
    body = memoryview(content)[:-_DIGEST_LENGTH]
    if hashlib.sha256(body).digest() != content[-_DIGEST_LENGTH:]:
        raise ModelFileError(f"{path} was altered or is truncated: its checksum is wrong.")
    written_by = "unknown versions"
    try:
        begin = len(_FORMAT) + 8
        size = int.from_bytes(body[begin - 8 : begin], "little")
        if size > min(len(body) - begin, _LARGEST_HEADER) or (begin + size) % _ALIGNMENT:
            raise ValueError(f"its header has {size} bytes")
        header = json.loads(bytes(body[begin : begin + size]))
        if not isinstance(header, dict) or not isinstance(header["versions"], dict):
            raise ValueError("its header or its versions are not a mapping")
        written_by = listed(header["versions"])
        return _restored(header, body[begin + size :])
    except BROKEN as error:
        raise cannot_be_read(path, written_by, error) from error


def _restored(header: dict[str, Any], data: memoryview) -> CompiledModel:
    if not isinstance(header["arrays"], list):
        raise ValueError("the arrays are not a list")
    arrays = [_mapped(described, data) for described in header["arrays"]]
    parts = put_together(State(header["objects"], arrays))
    if type(parts) is not CompiledParts:
        raise ValueError(f"it holds {with_article(type(parts).__name__)}")
    check_domain("n_jobs", header["n_jobs"], Threads())
    return CompiledModel._of_parts(parts, header["n_jobs"])


def _mapped(described: Any, data: memoryview) -> NDArray[Any]:
    """Make an array of a part of the file."""
    if not isinstance(described, list) or len(described) != 3:
        raise ValueError("an array is not described by type, shape and place")
    name, shape, begin = described
    numbers = [*shape, begin] if isinstance(shape, list) else [None]
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError("the shape or the place of an array is not whole numbers")
    dtype = np.dtype(name) if isinstance(name, str) else np.dtype(object)
    if dtype.kind not in KINDS or dtype.itemsize == 0 or not dtype.isnative:
        raise ValueError(f"an array has the type {dtype}")
    if begin % _ALIGNMENT or begin + math.prod(shape) * dtype.itemsize > len(data):
        raise ValueError(f"an array of shape {shape} and type {dtype} begins at {begin}")
    array: NDArray[Any] = np.ndarray(shape, dtype, data, begin)
    check_values(array)
    return array
