"""`import xdcc`: fast import, lazy attributes, and annotations for type checkers."""

import ast
import inspect
import json
import re
import subprocess
import sys
from importlib import metadata
from importlib.metadata import files
from pathlib import Path
from pkgutil import iter_modules

import pytest
import sklearn.base

import xdcc
from xdcc import comparators
from xdcc.base.lazy_import import PUBLIC, SUBPACKAGES, import_package

HEAVY = {"numpy", "scipy", "pandas", "sklearn", "xgboost", "matplotlib", "dask"}


def in_new_interpreter(code):
    """Run code that prints JSON."""
    command = [sys.executable, "-P", "-c", f"import json, sys\n{code}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def test_import_is_lazy():
    loaded = in_new_interpreter("import xdcc\nprint(json.dumps(list(sys.modules)))")
    assert "xdcc" in loaded
    assert not HEAVY & set(loaded)
    own = {name for name in loaded if name.startswith("xdcc.")}
    assert own == {"xdcc.base", "xdcc.base.lazy_import"}


def test_version_and_names_are_lazy():
    loaded = in_new_interpreter(
        "import xdcc\nxdcc.__version__, dir(xdcc)\nprint(json.dumps(list(sys.modules)))"
    )
    assert not HEAVY & set(loaded)


def test_an_estimator_or_a_comparator_is_imported_when_it_is_used():
    one, two = in_new_interpreter(
        "import xdcc\nxdcc.comparators.ctbn\none = list(sys.modules)\n"
        "xdcc.RandomDecisionTreeClassifier\nprint(json.dumps([one, list(sys.modules)]))"
    )
    packages = {f"xdcc.comparators.{name}" for name in comparators.__all__}
    assert packages & set(one) == {"xdcc.comparators.ctbn"}
    assert packages & set(two) == {"xdcc.comparators.ctbn", "xdcc.comparators.rdt"}


def test_all_comparators_are_listed():
    found = [module.name for module in iter_modules(comparators.__path__)]
    assert comparators.__all__ == found
    message = r"^module .xdcc\.comparators. has no attribute .homer.$"
    with pytest.raises(AttributeError, match=message):
        _ = comparators.homer


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("meson.build", r"^  version: '(.*)',$"),
        ("CITATION.cff", r"^version: (.*)$"),
        ("CHANGELOG.md", r"^## (\d\S*) - \d{4}-\d\d-\d\d$"),
    ],
)
def test_files_of_a_release_name_the_installed_version(file, pattern):
    text = (Path(__file__).parents[1] / file).read_text("utf-8")
    assert re.findall(pattern, text, re.MULTILINE)[0] == metadata.version("xdcc")


def test_version_is_that_of_the_installed_package():
    assert xdcc.__version__ == metadata.version("xdcc")


def estimators(package):
    public = [getattr(package, name) for name in getattr(package, "__all__", ())]
    return {
        thing
        for thing in public
        if inspect.isclass(thing) and issubclass(thing, sklearn.base.BaseEstimator)
    }


def test_all_estimators_are_exported():
    """Those for Dask are not."""
    packages = {*SUBPACKAGES, *PUBLIC.values()} - {"dask"}
    assert estimators(xdcc) == set().union(*map(estimators, map(import_package, packages)))


def test_names_in_all_exist():
    namespace = {}
    exec("from xdcc import *", namespace)
    assert set(xdcc.__all__) <= set(namespace)
    assert issubclass(namespace["DynamicChainClassifier"], sklearn.base.BaseEstimator)


def test_dir_lists_everything():
    modules = {module.name for module in iter_modules(xdcc.__path__)}
    assert {"metrics", "boosting"} < modules
    assert set(xdcc.__all__) | modules <= set(dir(xdcc))


def test_modules_are_attributes():
    assert xdcc.metrics.example_f1([[1, 0]], [[1, 0]]) == 1


def test_the_stub_exports_all_packages_and_names_that_exist():
    stub = Path(xdcc.__file__).with_suffix(".pyi").read_text("utf-8")
    for node in ast.parse(stub).body:
        if isinstance(node, ast.ImportFrom):  # only names with "as" are exported
            assert all(alias.name == alias.asname for alias in node.names)
    assert set(SUBPACKAGES) == {module.name for module in iter_modules(xdcc.__path__)}
    for name, package in PUBLIC.items():
        assert getattr(xdcc, name).__module__.startswith(f"xdcc.{package}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("DynamicChainClasifier", " Did you mean 'DynamicChainClassifier'?"),
        ("metric", " Did you mean 'metrics'?"),
        ("qqqq", ""),
    ],
)
def test_unknown_name(name, meant):
    with pytest.raises(AttributeError) as error:
        getattr(xdcc, name)
    assert str(error.value) == f"module 'xdcc' has no attribute {name!r}.{meant}"


def test_unknown_name_cannot_be_imported():
    with pytest.raises(ImportError, match="cannot import name 'DynamicClassifierChain'"):
        exec("from xdcc import DynamicClassifierChain")


def test_marker_is_installed():
    (marker,) = [file for file in files("xdcc") if file.name == "py.typed"]
    assert marker.as_posix() == "xdcc/py.typed"
    assert marker.locate().is_file()
