"""The bytes of a model file: a zip archive and its arrays, read without trust, and written whole.

A kilobyte of a zip archive can unpack to a megabyte. So all members of an archive together are at
most `MOST_EXPANSION` times as large as the archive; :func:`pack` leaves one uncompressed that would
shrink further. The same members give the same bytes.

A NumPy array is a member as the bytes of a ``.npy`` file, without pickle. What is read is not
trusted: the size that a header declares is compared with the bytes that are there before memory is
taken, and only plain kinds of numbers and text are let in.

Files are whole or not there: what :func:`write_synced` writes has reached the disk when the file
gets its name.
"""

import io
import math
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

MOST_EXPANSION = 100
"""How much larger than the archive its members may be, all together."""


def pack(members: Mapping[str, bytes], comment: bytes) -> bytes:
    """Make an archive.

    Parameters
    ----------
    members : mapping of str to bytes
        Contents by name.
    comment : bytes
        The archive's last bytes.

    Returns
    -------
    bytes
        The archive.
    """
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in members.items():
                # Made by hand, an entry has a fixed date.
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
        How large its members may be all together, if that is less.

    Attributes
    ----------
    names : set of str
        Its members.

    Raises
    ------
    ValueError
        If two members have the same name, one is encrypted or compressed in another way than
        :func:`pack` does, or they are too large together.
    zipfile.BadZipFile
        If it is no archive.
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
        """Tell the size of a member in bytes, a KeyError if there is none."""
        return self._archive.getinfo(name).file_size

    def read(self, name: str) -> bytes:
        """Read a member.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        bytes
            Its content.

        Raises
        ------
        KeyError
            If there is none.
        zipfile.BadZipFile, zlib.error, EOFError
            If it is broken.
        """
        entry = self._archive.getinfo(name)
        with self._archive.open(entry) as member:
            # Not more than declared: without a number, everything is unpacked before it is cut.
            content = member.read(entry.file_size)
        if len(content) != entry.file_size:
            raise zipfile.BadZipFile(f"{name} is shorter than the archive says")
        return content


KINDS = "biufUmM"
"""Truth values, whole and real numbers, text, spans of time, dates, as NumPy abbreviates them."""

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def to_npy(array: NDArray[Any]) -> bytes:
    """Write an array.

    Parameters
    ----------
    array : array
        Of one of the `KINDS`, of any shape.

    Returns
    -------
    bytes
        In the order of `array` in memory, C or Fortran: products of matrices depend on it in the
        last bit.
    """
    buffer = io.BytesIO()
    npy.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def from_npy(content: bytes) -> NDArray[Any]:
    """Read an array.

    Parameters
    ----------
    content : bytes
        What :func:`to_npy` wrote.

    Returns
    -------
    array
        In the machine's byte order, writable.

    Raises
    ------
    ValueError
        If the bytes are something else, or not as many as the header says.

    Examples
    --------
    >>> from_npy(to_npy(np.arange(3)))
    array([0, 1, 2])
    """
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            raise ValueError(f"an array has the format {version}")
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
    values = native.ravel(order="K")
    if dtype.kind == "b" and (values.view(np.uint8) > 1).any():
        raise ValueError("an array of truth values holds something else than 0 and 1")
    if dtype.kind == "U" and (values.view(np.uint32) > sys.maxunicode).any():
        raise ValueError("an array of text holds a character that does not exist")
    return native


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until the disk has it.

    Parameters
    ----------
    path : Path
        Where to; there must be nothing yet.
    content : bytes
        What to write.

    Raises
    ------
    OSError
        If it cannot be written: a full disk is told here, not when the file is closed.
    """
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
