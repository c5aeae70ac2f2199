"""Which room of the house knows which: read from the imports of the whole tree.

A room is a package or module of `xdcc`, or a folder beside it. Its rule names all rooms of the
project that it may know; itself it always knows. Imports inside functions and those for type
checkers count, and so does ``cimport`` in kernels.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

GROUND = {"base", "kernels"}
METHODS = {"baselines", "boomer", "boosting", "chain", "ctbn", "forest", "lacovac", "rdt"}
BELOW_METHODS = {*GROUND, "metrics", "decision"}
METHODS_AND_BELOW = {*METHODS, *BELOW_METHODS, "automatic", "scoring", "data"}

MAY_KNOW = {
    "base": {"kernels"},
    "kernels": set(),
    "data": {"base"},
    "metrics": {"base"},
    "scoring": {"base", "metrics"},
    "decision": {"base", "metrics"},
    **dict.fromkeys(METHODS, BELOW_METHODS),
    "chain": {*BELOW_METHODS, "boosting"},
    "automatic": {*BELOW_METHODS, "boosting", "chain"},
    "explain": METHODS_AND_BELOW,
    "serving": METHODS_AND_BELOW,
    "dask": METHODS_AND_BELOW,
}
"""Room of xdcc: the other rooms of xdcc that it may know. `xdcc` itself knows all of them."""

OUTSIDE = ("experiments", "tests", "third_party", "plugins")
"""Rooms beside xdcc. Nothing in xdcc knows them."""


def modules_of_python(code):
    """Full names of all that Python code imports, at any depth."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules_of_cython(code):
    """Full names of all that Cython code imports or cimports."""
    code = re.sub(r"#.*", "", code)
    code = re.sub(r"\(([^()]*)\)", lambda group: group[1].replace("\n", " "), code)
    for line in code.replace("\\\n", " ").splitlines():
        assert not re.match(r"\s*from\s+\.", line), "relative imports are not used here"
        if found := re.match(r"\s*from\s+([\w.]+)\s+c?import\s+(.+)", line):
            for name in found[2].split(","):
                yield f"{found[1]}.{name.split()[0]}" if name.strip() else found[1]
        elif found := re.match(r"\s*c?import\s+(.+)", line):
            yield from (name.split()[0] for name in found[1].split(","))


READERS = {
    ".py": modules_of_python,
    ".pyi": modules_of_python,
    ".pyx": modules_of_cython,
    ".pxd": modules_of_cython,
    ".pxi": modules_of_cython,
}


def room_of(path, root):
    """Room of a file of xdcc; "" for the package itself."""
    parts = path.relative_to(root / "xdcc").with_suffix("").parts
    return "" if parts == ("__init__",) else parts[0]


def broken_rules(root):
    """Say which files of a tree know a room that they should not, as `file knows room`."""
    found = set()
    for path in sorted(root.glob("xdcc/**/*")):
        if path.suffix not in READERS:
            continue
        room = room_of(path, root)
        for module in READERS[path.suffix](path.read_text("utf-8")):
            package, *rest = module.split(".")
            if package in OUTSIDE:
                found.add(f"{path.relative_to(root)} knows {package}")
            if package != "xdcc" or not room:
                continue
            other = rest[0] if rest else ""
            if other != room and other not in MAY_KNOW[room]:
                known = f"xdcc.{other}" if other else "xdcc"
                found.add(f"{path.relative_to(root)} knows {known}")
    return sorted(found)


def test_every_room_has_a_rule():
    rooms = {room_of(path, ROOT) for path in ROOT.glob("xdcc/**/*") if path.suffix in READERS}
    assert rooms - {""} == set(MAY_KNOW)


def test_no_room_knows_what_it_should_not():
    assert broken_rules(ROOT) == []


def test_rules_go_one_way():
    """No two rooms know each other, not even by way of others."""
    left = {room: set(known) - {room} for room, known in MAY_KNOW.items()}
    while left:
        ready = {room for room, known in left.items() if not known & set(left)}
        assert ready, f"each of {sorted(left)} needs another of them"
        left = {room: known for room, known in left.items() if room not in ready}


@pytest.mark.parametrize(
    ("file", "code", "known"),
    [
        ("base/labels.py", "from xdcc.metrics import example_f1", "xdcc.metrics"),
        ("base/labels.py", "import numpy, xdcc.rdt.forest as f", "xdcc.rdt"),
        ("base/labels.py", "from xdcc import decision", "xdcc.decision"),
        ("base/labels.py", "import xdcc", "xdcc"),
        ("metrics.py", "def f():\n    import xdcc.chain", "xdcc.chain"),
        ("rdt/forest.py", "if TYPE_CHECKING:\n    from xdcc.boomer import Rule", "xdcc.boomer"),
        ("rdt/_tree.pyi", "from xdcc.lacovac._splits import Splits", "xdcc.lacovac"),
        ("boosting/classifier.py", "from xdcc.chain.loop import run_chain", "xdcc.chain"),
        ("ctbn/mixture.py", "import experiments.plan", "experiments"),
        ("kernels/matrix.pxd", "from xdcc.base.features cimport X", "xdcc.base"),
        ("rdt/_tree.pyx", "cimport numpy, xdcc.boomer._rules", "xdcc.boomer"),
        ("rdt/_tree.pyx", "from xdcc.boomer._rules cimport (\n    a,  # b\n)", "xdcc.boomer"),
        ("rdt/_tree.pyx", "from xdcc cimport boomer", "xdcc.boomer"),
    ],
)
def test_a_broken_rule_is_found(tmp_path, file, code, known):
    path = tmp_path / "xdcc" / file
    path.parent.mkdir(parents=True)
    path.write_text(code)
    assert broken_rules(tmp_path) == [f"xdcc/{file} knows {known}"]


@pytest.mark.parametrize(
    ("file", "code"),
    [
        ("__init__.py", "from xdcc import chain as chain"),
        ("chain/loop.py", "from xdcc.boosting import X\nimport xdcc.chain.propagation, numpy"),
        ("rdt/_tree.pyx", "from xdcc.kernels.random cimport Random\n# cimport xdcc.boomer"),
        ("serving/model_file.py", "from xdcc import chain, rdt"),
        ("metrics.py", "import xdccish.chain, chain"),
    ],
)
def test_what_is_allowed_is_not_reported(tmp_path, file, code):
    path = tmp_path / "xdcc" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code)
    assert broken_rules(tmp_path) == []
