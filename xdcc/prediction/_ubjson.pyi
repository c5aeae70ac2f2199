from collections.abc import Collection
from typing import Any

def read_ubjson(content: bytes | bytearray, names: Collection[str]) -> Any:
    """Read a value from the UBJSON that XGBoost has just written: the content is not checked.

    Parameters
    ----------
    content : bytes or bytearray
        A value.
    names : collection of str
        The entries of dictionaries that are read; others are skipped.

    Returns
    -------
    object
        Dictionaries, lists, text, numbers, and arrays of numbers of one type.
    """
