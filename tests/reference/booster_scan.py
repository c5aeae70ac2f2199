"""The reference implementation of ``xdcc/boosting/_booster_scan.pyx``, in plain Python.

It reads a model as a whole, and then walks through each tree from its root. Models must be small
and not nested too deeply.
"""

import json
import math
import re
import struct
from typing import Any

INTEGERS = {
    "default_left": "U",
    "left_children": "l",
    "parents": "l",
    "right_children": "l",
    "split_indices": "lL",
    "split_type": "U",
    "categories": "l",
    "categories_nodes": "l",
    "categories_segments": "L",
    "categories_sizes": "L",
}
"""Lists of whole numbers of a tree, and their types in UBJSON."""

REALS = ("base_weights", "leaf_weights", "loss_changes", "split_conditions", "sum_hessian")
FINITE = ("base_weights", "leaf_weights", "split_conditions")
DELETED = 2**31 - 1
_SIZES = {"i": "b", "U": "B", "I": "h", "l": "i", "L": "q", "d": "f", "D": "d"}


class _TypedList(list[Any]):
    """A list of UBJSON whose entries have one type."""

    kind: str


def scan(content: bytes | bytearray, *, deepest: int) -> list[dict[str, Any]]:
    """Read a model and check its trees, as ``_booster_scan.scan``; return the trees."""
    content = bytes(content)
    is_binary = content[1:2] == b"L"
    if is_binary:
        model = _Binary(content).model()
    else:
        model = json.loads(
            content.decode(), object_pairs_hook=_once, parse_int=_of_64_bits, parse_float=_real
        )
        strings = re.finditer(rb'"((?:[^"\\]|\\.)*)"\s*(:?)', content)
        _require(not any(string[2] and b"\\" in string[1] for string in strings))
    _require(isinstance(model, dict))
    return _trees_below(model, 0, deepest, is_binary)


def _trees_below(value: Any, depth: int, deepest: int, is_binary: bool) -> list[dict[str, Any]]:
    """Check all that is called ``trees``, at any place."""
    _require(depth <= deepest)
    if isinstance(value, _TypedList) or not isinstance(value, dict | list):
        return []
    if isinstance(value, list):
        for entry in value:
            _trees_below(entry, depth + 1, deepest, is_binary)
        return []
    found: list[dict[str, Any]] = []
    for name, entry in value.items():
        if name == "trees" and isinstance(entry, list):
            _require(depth + 3 <= deepest and not isinstance(entry, _TypedList))
            words = 0
            for number, tree in enumerate(entry):
                words += _check_tree(tree, number, is_binary)
                _require(words <= 2**26)
            found = entry
        else:
            found = _trees_below(entry, depth + 1, deepest, is_binary) or found
    return found


def _check_tree(tree: Any, number: int, is_binary: bool) -> int:
    _require(isinstance(tree, dict))
    _require(set(tree) <= {*INTEGERS, *REALS, "id", "tree_param"})
    _require(set(tree) >= {*INTEGERS, *REALS, "id", "tree_param"} - {"leaf_weights"})
    _require(type(tree["id"]) is int and tree["id"] == number)
    for name, kinds in INTEGERS.items():
        if is_binary:
            _require(isinstance(tree[name], _TypedList) and tree[name].kind in kinds)
        else:
            _require(isinstance(tree[name], list))
            _require(all(type(n) is int and -(2**31) <= n < 2**31 for n in tree[name]))
    for name in REALS:
        if name not in tree:
            continue
        numbers = tree[name]
        _require(isinstance(numbers, _TypedList if is_binary else list))
        _require(not is_binary or numbers.kind == "d")
        _require(all(type(number) is float for number in numbers))
        _require(
            name not in FINITE
            or all(
                _is_small(number) or (name == "split_conditions" and number == -math.inf)
                for number in numbers
            )
        )
    sizes = tree["tree_param"]
    _require(isinstance(sizes, dict))
    for name in ("num_nodes", "num_feature", "num_deleted", "size_leaf_vector"):
        text = sizes.get(name)
        _require(isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 10)
    _check_nodes(tree, max(int(sizes["size_leaf_vector"]), 1))
    return _check_categories(tree)


def _is_small(number: float) -> bool:
    return math.isfinite(number) and abs(number) < 1e38


def _check_nodes(tree: dict[str, Any], width: int) -> None:
    left, right, parents = tree["left_children"], tree["right_children"], tree["parents"]
    nodes = range(len(left))
    _require(len(nodes) > 0 and int(tree["tree_param"]["num_nodes"]) == len(nodes))
    for name in ("right_children", "parents", "split_indices", "default_left", "split_type"):
        _require(len(tree[name]) == len(nodes))
    for name in ("loss_changes", "split_conditions", "sum_hessian"):
        _require(len(tree[name]) == len(nodes))
    _require(set(tree["default_left"]) <= {0, 1})
    gone = {
        i
        for i in nodes
        if width == 1 and tree["split_indices"][i] == DELETED and tree["default_left"][i] == 1
    }
    _require(int(tree["tree_param"]["num_deleted"]) == len(gone) and 0 not in gone)
    _require(all(0 <= tree["split_indices"][i] != DELETED for i in nodes if i not in gone))
    _require(parents[0] in (-1, DELETED) and all(parents[i] in nodes for i in nodes[1:]))

    n_base, leaf_weights = len(tree["base_weights"]), tree.get("leaf_weights", [])
    met: list[tuple[int, int]] = [(0, 0)]
    leaves = []
    for i, depth in met:  # grows on the way
        if left[i] == -1:
            leaves.append(right[i])
            continue
        _require(depth < 1024 and left[i] != right[i])
        for child in (left[i], right[i]):
            _require(child in nodes[1:] and child not in gone and parents[child] == i)
            met.append((child, depth + 1))
    _require(sorted(i for i, _ in met) == [i for i in nodes if i not in gone])
    if width == 1:
        _require(set(leaves) == {-1} and n_base == len(nodes))
        of_leaves = [tree["split_conditions"][i] for i in nodes if left[i] == -1]
        _require(all(math.isfinite(value) for value in of_leaves))
    else:
        _require(sorted(leaves) == list(range(len(leaves))))
        _require(len(leaf_weights) == len(leaves) * width)
        _require(n_base % len(nodes) == 0 and 1 <= n_base // len(nodes) <= width)


def _check_categories(tree: dict[str, Any]) -> int:
    """Check splits by categories; return how many words of 32 bits XGBoost makes of them."""
    kinds, categories = tree["split_type"], tree["categories"]
    starts, sizes = tree["categories_segments"], tree["categories_sizes"]
    _require(set(kinds) <= {0, 1})
    _require(tree["categories_nodes"] == [i for i, kind in enumerate(kinds) if kind == 1])
    _require(len(starts) == len(sizes) == sum(kinds))
    _require(all(size >= 1 for size in sizes) and sum(sizes) == len(categories))
    _require(starts == [sum(sizes[:k]) for k in range(len(sizes))])
    _require(all(0 <= category < 2**24 for category in categories))
    return sum(
        max(categories[start : start + size]) // 32 + 1
        for start, size in zip(starts, sizes, strict=True)
    )


def _require(fits: bool) -> None:
    if not fits:
        raise ValueError("it is not what XGBoost writes")


def _of_64_bits(digits: str) -> int:
    _require(len(digits) <= 20 and -(2**63) <= int(digits) < 2**63)
    return int(digits)


def _real(digits: str) -> float:
    exponent = digits.lower().partition("e")[2]
    _require(len(exponent.lstrip("+-")) <= 3)
    return float(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    _require(len(found) == len(pairs))
    return found


class _Binary:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def model(self) -> Any:
        _require(self._content[:1] == b"{")
        value = self._value()
        _require(self._at == len(self._content))
        return value

    def _take(self, n: int) -> bytes:
        _require(0 <= n <= len(self._content) - self._at)
        self._at += n
        return self._content[self._at - n : self._at]

    def _letter(self) -> str:
        return self._take(1).decode("latin-1")

    def _number(self, kind: str) -> Any:
        form = f">{_SIZES[kind]}"
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _length(self) -> int:
        _require(self._letter() == "L")
        n: int = self._number("L")
        _require(0 <= n <= len(self._content) - self._at)
        return n

    def _text(self) -> str:
        return self._take(self._length()).decode()

    def _value(self) -> Any:
        kind = self._letter()
        if kind == "{":
            pairs = []
            while self._content[self._at : self._at + 1] != b"}":
                pairs.append((self._text(), self._value()))
            self._at += 1
            return _once(pairs)
        if kind == "[":
            return self._list()
        if kind == "S":
            return self._text()
        if kind in "ZTF":
            return {"Z": None, "T": True, "F": False}[kind]
        _require(kind in "iUIlLd")
        return self._number(kind)

    def _list(self) -> list[Any]:
        mark = self._letter()
        if mark == "#":
            return [self._value() for _ in range(self._length())]
        _require(mark == "$")
        kind = self._letter()
        _require(kind in _SIZES and self._letter() == "#")
        n = self._length()
        found = _TypedList(
            struct.unpack(f">{n}{_SIZES[kind]}", self._take(n * struct.calcsize(_SIZES[kind])))
        )
        found.kind = kind
        return found
