"""The cache: what a key depends on, and that entries are never incomplete."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest


@pytest.fixture
def cache(project):
    return project.load("cache")


@pytest.fixture
def ingredients(project):
    """Return new copies of all inputs of a key."""
    project.set_series(a="patch a", b="patch b")
    (project.plugin / "tests").mkdir()
    (project.plugin / "tests" / "test.cc").write_text("// test\n")
    return {
        "pin": project.load("pin").read_pin(project.folder / "upstream.toml"),
        "patches": project.load("staging").read_series(project.patches),
        "plugin": project.plugin,
        "settings": {"cmake.define.USE_CUDA": "OFF", "cmake.args": ["-DA=1", "-DB=2"]},
        "compilers": ["/usr/bin/c++\nversion 1"],
        "environ": {"CXXFLAGS": "-O2"},
    }


def _edit(file):
    file.write_text(file.read_text() + "more\n")


CHANGES = {
    "sdist": lambda key: key | {"pin": dataclasses.replace(key["pin"], sha256="0" * 64)},
    "patch": lambda key: _edit(key["patches"][1]) or key,
    "order of patches": lambda key: key | {"patches": key["patches"][::-1]},
    "fewer patches": lambda key: key | {"patches": key["patches"][:1]},
    "name of a patch": lambda key: (
        key | {"patches": [key["patches"][0], key["patches"][1].rename(key["plugin"].parent / "c")]}
    ),
    "plugin file": lambda key: _edit(key["plugin"] / "param.h") or key,
    "plugin file in a folder": lambda key: _edit(key["plugin"] / "tests" / "test.cc") or key,
    "name of a plugin file": lambda key: (
        (key["plugin"] / "param.h").rename(key["plugin"] / "p.h") and key
    ),
    "new plugin file": lambda key: (key["plugin"] / "new.h").touch() or key,
    "setting": lambda key: key | {"settings": {**key["settings"], "cmake.define.USE_CUDA": "ON"}},
    "new setting": lambda key: key | {"settings": {**key["settings"], "ninja.version": "1"}},
    "repeated setting": lambda key: (
        key | {"settings": {**key["settings"], "cmake.args": ["-DB=2", "-DA=1"]}}
    ),
    "compiler version": lambda key: key | {"compilers": ["/usr/bin/c++\nversion 2"]},
    "compiler path": lambda key: key | {"compilers": ["/opt/c++\nversion 1"]},
    "flags": lambda key: key | {"environ": {"CXXFLAGS": "-O3"}},
    "no flags": lambda key: key | {"environ": {}},
    "CMAKE_ARGS": lambda key: key | {"environ": {**key["environ"], "CMAKE_ARGS": "-DA=1"}},
    "SKBUILD_": lambda key: key | {"environ": {**key["environ"], "SKBUILD_CMAKE_DEFINE": "A=1"}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_key_changes_with(cache, ingredients, change):
    before = cache.library_key(**ingredients)
    assert cache.library_key(**CHANGES[change](ingredients)) != before


def test_key_changes_with_the_platform(cache, ingredients, monkeypatch):
    before = cache.library_key(**ingredients)
    monkeypatch.setattr("platform.machine", lambda: "pdp11")
    other_machine = cache.library_key(**ingredients)
    monkeypatch.setattr("platform.libc_ver", lambda: ("glibc", "1.0"))
    assert len({before, other_machine, cache.library_key(**ingredients)}) == 3


def test_key_ignores_the_rest(cache, ingredients):
    before = cache.library_key(**ingredients)
    for file in [*ingredients["plugin"].rglob("*"), *ingredients["patches"]]:
        os.utime(file, (1, 1))
    assert before == cache.library_key(
        pin=dataclasses.replace(ingredients["pin"], local="xdcc.99"),
        patches=ingredients["patches"],
        plugin=ingredients["plugin"],
        settings=dict(reversed(ingredients["settings"].items())),
        compilers=ingredients["compilers"],
        environ={"PATH": "elsewhere", "CUDA_VISIBLE_DEVICES": "0", **ingredients["environ"]},
    )


def test_entries_are_in_the_cache_of_the_user(project, cache):
    assert cache.download("x.tar.gz", {}) == project.cache / "downloads" / "x.tar.gz"
    assert cache.libraries("k", {"XDCC_BUILD_CACHE": "1"}) == project.cache / "libraries" / "k"


def test_cache_is_disabled(cache):
    assert cache.download("x.tar.gz", {"XDCC_BUILD_CACHE": "0"}) is None
    assert cache.libraries("k", {"XDCC_BUILD_CACHE": "0"}) is None


def test_invalid_switch(project, cache):
    with pytest.raises(project.load("pin").BuildError, match="XDCC_BUILD_CACHE=no is neither 0"):
        cache.libraries("k", {"XDCC_BUILD_CACHE": "no"})


def test_keep_replaces_an_entry(cache, tmp_path):
    entry = tmp_path / "folder" / "entry"
    for content in ("old", "new"):
        (tmp_path / "source").write_text(content)
        cache.keep(tmp_path / "source", entry)
        assert entry.read_text() == content
    assert list(entry.parent.iterdir()) == [entry]


def test_interrupted_keep_leaves_no_entry(cache, tmp_path, monkeypatch, capsys):
    def fail(source, target):
        Path(target).write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr("shutil.copyfile", fail)
    cache.keep(tmp_path / "source", tmp_path / "folder" / "entry")
    assert list((tmp_path / "folder").iterdir()) == []
    assert capsys.readouterr().err.startswith("xdcc: not cached (disk full); XDCC_BUILD_CACHE=0")


def test_cache_folder_that_cannot_be_created(cache, tmp_path, capsys):
    (tmp_path / "file").touch()
    cache.keep(tmp_path / "file", tmp_path / "file" / "folder" / "entry")
    assert capsys.readouterr().err.startswith("xdcc: not cached (")


def test_library_has_the_name_that_xgboost_loads(cache):
    names = {"win32": "xgboost.dll", "darwin": "libxgboost.dylib", "linux": "libxgboost.so"}
    assert names[sys.platform] == cache.LIBRARY


@pytest.mark.parametrize("damage", [b"", b"machine cod", b"machine codf", b"machine code."])
def test_a_damaged_library_is_removed(cache, tmp_path, damage, capsys):
    (tmp_path / "source").write_bytes(b"machine code")
    folder = tmp_path / "libraries" / "k"
    assert cache.whole_library(folder) is None
    cache.keep_library(tmp_path / "source", folder)
    library = cache.whole_library(folder)
    assert library.read_bytes() == b"machine code"
    assert library.name == cache.LIBRARY
    assert capsys.readouterr().err == ""

    library.write_bytes(damage)
    assert cache.whole_library(folder) is None
    assert capsys.readouterr().err == f"xdcc: {library} was damaged and will be rebuilt\n"
    assert cache.whole_library(folder) is None
    assert capsys.readouterr().err == ""
    cache.keep_library(tmp_path / "source", folder)
    assert cache.whole_library(folder) == library


def test_another_library_with_the_same_key_is_found(cache, tmp_path):
    """Builds are not reproducible byte by byte, so concurrent builds may add two entries."""
    folder = tmp_path / "libraries" / "k"
    for content in (b"one", b"other"):
        (tmp_path / "source").write_bytes(content)
        cache.keep_library(tmp_path / "source", folder)
    first, second = sorted(folder.glob(f"*/{cache.LIBRARY}"))
    first.write_bytes(b"damaged")
    assert cache.whole_library(folder) == second


def test_an_unreadable_library_is_ignored(cache, tmp_path, capsys):
    entry = tmp_path / "libraries" / "k" / "digest" / cache.LIBRARY
    entry.mkdir(parents=True)
    assert cache.whole_library(entry.parents[1]) is None
    assert capsys.readouterr().err.startswith(f"xdcc: {entry} is ignored (")
