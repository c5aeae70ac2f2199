"""A NumPy array as the bytes of a ``.npy`` file, without pickle, and back.

What is read is not trusted: the size that a header declares is compared with the bytes that are
there before memory is taken, and only plain kinds of numbers and text are let in.
"""

import io
import math
import sys
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

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
