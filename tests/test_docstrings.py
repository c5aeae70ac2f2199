"""Examples in docstrings: all of them run, and everything public has one.

Public is what a package names in its `__all__`; in `xdcc.base`, which names nothing, and in single
modules as `xdcc.metrics` it is every class and function without an underscore. A class is shown at
work in its own docstring, so methods need no example; nor do exceptions, which are shown where they
are raised.

An example stands in its module, whose names are there, and so are `np` and `pd`, as in the
documentation of NumPy and pandas. It may write files: it runs in an empty folder.
"""

import doctest
import inspect
from importlib import import_module
from pkgutil import walk_packages

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import xdcc
from tests import reference

matplotlib.use("Agg")

MODULES = ["xdcc", *(module.name for module in walk_packages(xdcc.__path__, "xdcc."))]
REFERENCES = [module.name for module in walk_packages(reference.__path__, "tests.reference.")]
NEEDED = {"xdcc.serving.onnx_export": "onnxruntime"}
"""Packages of the extra `test` that examples of a module need; without them they are skipped."""


def names_in_all(module):
    """The names in a package's `__all__`; none for `xdcc`, which only repeats others' names."""
    return [] if module is xdcc else getattr(module, "__all__", [])


def is_public_by_itself(name):
    """Whether a module stands for itself, and is not one of a package that has an `__all__`."""
    package = name.rpartition(".")[0]
    return package in ("xdcc", "xdcc.base") and name.rpartition(".")[2][0] != "_"


def public_objects(name):
    """Public classes and functions of a module."""
    module = import_module(name)
    names = names_in_all(module)
    if not names and is_public_by_itself(name):
        names = [
            own
            for own, thing in vars(module).items()
            if own[0] != "_" and getattr(thing, "__module__", None) == name
        ]
    for own in names:
        thing = getattr(module, own)
        is_error = inspect.isclass(thing) and issubclass(thing, BaseException)
        if inspect.isroutine(thing) or (inspect.isclass(thing) and not is_error):
            yield own, thing


def without_example(name):
    """Public classes and functions of a module that no example shows."""
    return [
        own
        for own, thing in public_objects(name)
        if "\nExamples\n--------\n" not in inspect.getdoc(thing)
        or ">>> " not in inspect.getdoc(thing).partition("\nExamples\n--------\n")[2]
    ]


@pytest.mark.parametrize("name", [*MODULES, *REFERENCES])
def test_examples_run(name, tmp_path, monkeypatch):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    monkeypatch.chdir(tmp_path)
    module = import_module(name)
    names = {**vars(module), "np": np, "pd": pd}
    report = []
    runner = doctest.DocTestRunner(verbose=False)
    try:
        for example in doctest.DocTestFinder().find(module, name, globs=names):
            runner.run(example, out=report.append)
    finally:
        plt.close("all")
    assert not runner.failures, "".join(report)


def test_everything_public_has_an_example():
    missing = {name: without_example(name) for name in MODULES}
    assert {name: objects for name, objects in missing.items() if objects} == {}


def test_what_is_public():
    found = {own for name in MODULES for own, _ in public_objects(name)}
    assert {"example_f1", "check_labels", "DynamicChainClassifier", "load_arff"} <= found
    assert not {"ArffError", "run_chain"} & found


def test_a_missing_example_is_found(monkeypatch):
    monkeypatch.setattr(xdcc.metrics.example_f1, "__doc__", "Examples of rows.")
    monkeypatch.setattr(xdcc.metrics.jaccard, "__doc__", "Share.\n\nExamples\n--------\nNone.")
    assert without_example("xdcc.metrics") == ["example_f1", "jaccard"]
