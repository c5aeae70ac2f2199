"""An estimator as plain JSON: its arguments, what `fit` learned, and the boosters apart.

:func:`to_json` turns a value into what a JSON file can hold, :func:`from_json` turns it back.
Numbers, strings, truth values, None and lists stand for themselves; anything else becomes an
object with one key that names its kind:

===============  =================================================================
kind             holds
===============  =================================================================
``"float"``      ``"nan"``, ``"inf"`` or ``"-inf"``, which JSON does not have
``"array"``      a NumPy array: its type, its shape and its values in C order
``"dict"``       pairs of key and value: keys need not be strings
``"rule"``       the fields of a :class:`~xdcc.chain.propagation.PropagationRule`
``"booster"``    the position of a booster in a list that is kept beside the JSON
===============  =================================================================
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xgboost as xgb

from xdcc.chain.propagation import PropagationRule

_ARRAY_KINDS = "biufUO"


def to_json(value: Any, boosters: list[xgb.Booster], place: str) -> Any:
    """Turn a value into JSON.

    Parameters
    ----------
    value : object
        Of one of the kinds above, nested as you like. A tuple becomes a list, a NumPy scalar a
        Python one.
    boosters : list of xgboost.Booster
        Boosters in `value` are appended to it.
    place : str
        What the value is; for messages.

    Returns
    -------
    object
        For ``json.dumps(..., allow_nan=False)``.

    Raises
    ------
    TypeError
        If there is something else in `value`.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [to_json(entry, boosters, place) for entry in value]
    if isinstance(value, dict):
        pairs = [
            [to_json(key, boosters, place), to_json(entry, boosters, place)]
            for key, entry in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, np.ndarray) and value.dtype.kind in _ARRAY_KINDS:
        return {
            "array": {
                "dtype": value.dtype.str,
                "shape": list(value.shape),
                "values": to_json(value.ravel().tolist(), boosters, place),
            }
        }
    if isinstance(value, PropagationRule):
        return {"rule": dataclasses.asdict(value)}
    if isinstance(value, xgb.Booster):
        boosters.append(value)
        return {"booster": len(boosters) - 1}
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise TypeError(
        f"{place} holds {kind}, which a model file has no form for. It can hold numbers, strings, "
        "None, boosters, and lists, dictionaries and NumPy arrays of them."
    )


def from_json(value: Any, boosters: Sequence[xgb.Booster]) -> Any:
    """Turn the result of :func:`to_json` back into a value.

    Parameters
    ----------
    value : object
        What ``json.loads`` returned.
    boosters : sequence of xgboost.Booster
        The boosters, in their order.

    Returns
    -------
    object
        The value.

    Raises
    ------
    ValueError
        If an object names no known kind.
    """
    if isinstance(value, list):
        return [from_json(entry, boosters) for entry in value]
    if not isinstance(value, dict):
        return value
    [(kind, content)] = value.items()
    match kind:
        case "float":
            return float(content)
        case "dict":
            return {from_json(key, boosters): from_json(entry, boosters) for key, entry in content}
        case "array":
            array = np.empty(math.prod(content["shape"]), dtype=content["dtype"])
            array[:] = from_json(content["values"], boosters)
            return array.reshape(content["shape"])
        case "rule":
            return PropagationRule(**content)
        case "booster":
            return boosters[content]
    raise ValueError(f"no kind of value is called {kind!r}")
