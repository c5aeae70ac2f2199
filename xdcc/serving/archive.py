"""The bytes of a model file: a zip archive and its arrays, read without trust.

A kilobyte of a zip archive can unpack to a megabyte. So the members of an archive together are at
most `MOST_EXPANSION` times as large as the archive; where compression would do better, :func:`pack`
leaves them uncompressed. The same members give the same bytes.

An array is stored as the bytes of a ``.npy`` file, without pickle. The size in a header is compared
with the number of bytes before memory is allocated, and only plain types of numbers and text are
accepted.
"""

import io
import math
import sys
import zipfile
from collections.abc import Mapping
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

MOST_EXPANSION = 100
"""Limit on the size of all members together, as a multiple of the size of the archive."""


def pack(members: Mapping[str, bytes], comment: bytes) -> bytes:
    """Make an archive of contents by name, with a comment as its last bytes."""
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in members.items():
                # A ZipInfo made here has a fixed date.
                archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
            archive.comment = comment
        if sum(map(len, members.values())) <= MOST_EXPANSION * len(buffer.getvalue()):
            break
    return buffer.getvalue()


class Archive:
    """An archive that is read member by member.

    Parameters
    ----------
    content : bytes
        The archive.
    max_bytes : int, optional
        Further limit on the size of all members together.

    Attributes
    ----------
    names : set of str
        Its members.

    Raises
    ------
    ValueError
        If two members have the same name, one is encrypted or compressed in another way than
        :func:`pack` does, or they are too large.
    zipfile.BadZipFile
        If it is not an archive.
    """

    def __init__(self, content: bytes, max_bytes: int | None = None) -> None:
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        entries = self._archive.infolist()
        self.names = {entry.filename for entry in entries}
        if len(self.names) < len(entries):
            raise ValueError("two members have the same name")
        for entry in entries:
            known = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if entry.flag_bits & 1 or not known:
                raise ValueError(f"{entry.filename} is encrypted or compressed in an unknown way")
        total = sum(entry.file_size for entry in entries)
        if total > MOST_EXPANSION * len(content):
            raise ValueError(
                f"its members have {total} bytes, more than {MOST_EXPANSION} times its own "
                f"{len(content)}"
            )
        if max_bytes is not None and total > max_bytes:
            raise ValueError(f"its members have {total} bytes, more than max_bytes={max_bytes}")

    def size(self, name: str) -> int:
        """Return the size of a member in bytes; a KeyError if there is none."""
        return self._archive.getinfo(name).file_size

    def read(self, name: str) -> bytes:
        """Read a member.

        Raises a KeyError if there is none, and BadZipFile, zlib.error or EOFError if it is broken.
        """
        entry = self._archive.getinfo(name)
        with self._archive.open(entry) as member:
            # Without a number, zipfile unpacks everything before it cuts it to the stated size.
            content = member.read(entry.file_size)
        if len(content) != entry.file_size:
            raise zipfile.BadZipFile(f"{name} is shorter than the archive says")
        return content


KINDS = "biufUmM"
"""Kinds of NumPy types: truth values, whole and real numbers, text, time spans, dates."""

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def to_npy(array: NDArray[Any]) -> bytes:
    """Write an array of one of the `KINDS` as the bytes of a file.

    Its order in memory, C or Fortran, is kept: the last bit of matrix products depends on it.
    """
    buffer = io.BytesIO()
    npy.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_npy(content: bytes) -> NDArray[Any]:
    """Read what :func:`to_npy` wrote, in the byte order of the machine, writable.

    Raises a ValueError if the bytes are something else, or not as many as the header says.

    Examples
    --------
    >>> from_npy(to_npy(np.arange(3)))
    array([0, 1, 2])
    """
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"an array has the unknown format {version}")
        shape, fortran_order, dtype = _HEADERS[version](file)
    except (SyntaxError, TypeError, RecursionError, MemoryError, TokenError) as error:
        raise ValueError(f"the header of an array cannot be read: {error}") from error
    if dtype.kind not in KINDS or dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"an array has the type {dtype}")
    if any(length < 0 for length in shape):
        raise ValueError(f"an array has the shape {shape}")
    n_bytes = len(content) - file.tell()
    if math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"an array of shape {shape} and type {dtype} has {n_bytes} bytes")
    array: NDArray[Any] = np.ndarray(
        shape, dtype, content, file.tell(), order="F" if fortran_order else "C"
    )
    native = array.astype(dtype.newbyteorder("="), order="K", copy=True)
    check_values(native)
    return native


def check_values(array: NDArray[Any]) -> None:
    """Raise a ValueError if bytes of an array are not truth values or characters."""
    values = array.ravel(order="K")
    if array.dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise ValueError("an array of truth values has entries other than 0 and 1")
    if array.dtype.kind == "U" and (values.view(np.uint32) > sys.maxunicode).any():
        raise ValueError("an array of text has an invalid character")
