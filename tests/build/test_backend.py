"""The hooks of the backend, end to end on a tiny project: scikit-build-core builds real wheels.

CMake is not needed. Also tests the progress messages.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

pytest.importorskip("scikit_build_core", reason="the backend delegates to scikit-build-core")

PATH = os.environ.get("PATH", "")
REAL = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

posix = pytest.mark.skipif(sys.platform == "win32", reason="the fake compilers are shell scripts")


GCC = "#define __GNUC__ 10"
CLANG = "#define __GNUC__ 4\n#define __clang_major__ 14"


def says(version, macros=GCC):
    """Return the script of a fake C++ compiler that only reports its version and macros."""
    return f"echo '{version}\n{macros}'"


@pytest.fixture
def cxx(project):
    project.set_program("cc", "echo cc 1.0")
    return project.set_program("c++", says("c++ 1.0"))


@pytest.fixture
def backend(project):
    project.set_sdist(library=project.load("cache").LIBRARY)
    return project.load("backend")


@pytest.fixture
def build(backend, tmp_path, monkeypatch):
    """Build a wheel; return it and the settings passed to scikit-build-core."""
    seen = []
    real = backend.upstream.build_wheel

    def spy(folder, settings, metadata):
        seen.append(settings)
        return real(folder, settings, metadata)

    monkeypatch.setattr(backend.upstream, "build_wheel", spy)

    def build(**settings):
        defines = {f"cmake.define.{name}": value for name, value in settings.items()}
        name = backend.build_wheel(str(tmp_path / "dist"), defines)
        return tmp_path / "dist" / name, seen[-1]

    return build


def _kept(project):
    return sorted(file for file in project.cache.rglob("*") if file.is_file())


@posix
def test_wheel(project, cxx, build):
    project.set_series(
        one="diff --git a/xgboost/__init__.py b/xgboost/__init__.py\n--- a/xgboost/__init__.py\n"
        "+++ b/xgboost/__init__.py\n@@ -1 +1,2 @@\n version = 1\n+patched = True\n"
    )
    wheel, _ = build()
    assert wheel.name == f"xgboost-{project.version}+xdcc.3-py3-none-any.whl"
    info = f"xgboost-{project.version}+xdcc.3.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("xgboost/__init__.py") == b"version = 1\npatched = True\n"
        assert archive.read(f"{info}/licenses/LICENSE") == b"licence text\n"
        assert b"modified" in archive.read(f"{info}/licenses/NOTICE")


@posix
def test_second_build_reuses_the_library(project, cxx, build, capfd):
    _, settings = build(USE_CUDA="OFF")
    assert settings == {"cmake.define.USE_CUDA": "OFF"}
    assert "xdcc: compiling XGBoost; this takes minutes" in capfd.readouterr().err
    [library] = _kept(project)
    assert library.read_text() == "machine code\n"

    _, settings = build(USE_CUDA="OFF")
    assert settings == {
        "cmake.define.USE_CUDA": "OFF",
        "cmake.define.XGBOOST_PREBUILT_LIB_DIR": library.parent.as_posix(),
    }
    assert f"xdcc: reusing the compiled library {library}" in capfd.readouterr().err

    library.write_text("machine cope\n")
    _, settings = build(USE_CUDA="OFF")
    assert settings == {"cmake.define.USE_CUDA": "OFF"}
    assert f"xdcc: {library} was damaged and will be rebuilt" in capfd.readouterr().err
    assert library.read_text() == "machine code\n"

    (project.plugin / "param.h").write_text("// changed\n")
    _, settings = build(USE_CUDA="OFF")
    assert settings == {"cmake.define.USE_CUDA": "OFF"}
    assert len(_kept(project)) == 2


@posix
def test_the_compiler_is_part_of_the_cache_key(project, cxx, build, monkeypatch):
    build()
    project.set_program("c++", says("c++ 2.0"))
    build()
    monkeypatch.setenv("CXX", str(project.set_program("mine", says("mine 1.0"))))
    build()
    project.set_program("nvcc", "echo nvcc 1.0")
    build()  # does not look at nvcc
    assert len(_kept(project)) == 3
    build(USE_CUDA="ON")
    project.set_program("nvcc", "echo nvcc 2.0")
    build(USE_CUDA="ON")
    assert len(_kept(project)) == 5


@posix
def test_the_defaults_are_part_of_the_cache_key(project, cxx, build, monkeypatch):
    build()
    monkeypatch.setitem(project.load("staging").CMAKE_DEFAULTS, "HIDE_CXX_SYMBOLS", "OFF")
    build()
    assert len(_kept(project)) == 2


@posix
def test_cache_off(project, cxx, build, monkeypatch):
    monkeypatch.setenv("XDCC_BUILD_CACHE", "0")
    for _ in range(2):
        _, settings = build()
        assert settings == {}
    assert not project.cache.exists()


@posix
def test_library_given_by_the_user(project, build):
    # Nothing is compiled, so no compiler is needed.
    for name in ("XGBOOST_PREBUILT_LIB_DIR", "XGBOOST_USE_SYSTEM_LIBXGBOOST"):
        _, settings = build(**{name: "given"})
        assert settings == {f"cmake.define.{name}": "given"}
    assert not project.cache.exists()


@posix
def test_library_given_in_the_environment(project, build, monkeypatch):
    monkeypatch.setenv("CMAKE_ARGS", "-DXGBOOST_PREBUILT_LIB_DIR=given")
    build()
    assert not project.cache.exists()


@posix
@pytest.mark.parametrize("name", ["CMAKE_CXX_COMPILER", "CMAKE_TOOLCHAIN_FILE"])
def test_cache_is_not_used_if_cmake_selects_the_compiler(project, build, name):
    build(**{name: "special"})
    assert not project.cache.exists()
    assert "CXX" not in os.environ


@posix
def test_default_toolchain(project, cxx, build):
    build(CMAKE_CXX_COMPILER_LAUNCHER="ccache")  # which is not CMAKE_CXX_COMPILER
    assert os.environ["CMAKE_GENERATOR"] == "Ninja"
    assert os.environ["CXX"] == str(cxx)
    assert os.environ["CC"] == str(cxx.with_name("cc"))


@posix
def test_toolchain_of_the_user_is_kept(project, cxx, build, monkeypatch):
    mine = str(project.set_program("mine", says("mine")))
    chosen = {"CXX": f"{mine} --flag", "CC": mine, "CMAKE_GENERATOR": "Unix Makefiles"}
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    build()
    assert {name: os.environ[name] for name in chosen} == chosen


@posix
def test_no_compiler(build):
    with pytest.raises(SystemExit, match=r"^xdcc: no C\+\+ compiler \(c\+\+, g\+\+, clang\+\+\)"):
        build()


@posix
def test_compiler_is_missing(build, monkeypatch):
    monkeypatch.setenv("CXX", "nonesuch -m64")
    with pytest.raises(SystemExit, match=r"^xdcc: no C\+\+ compiler: CXX=nonesuch -m64 is not a"):
        build()


@posix
def test_compiler_does_not_run(project, build):
    project.set_program("c++", "echo 'no developer tools' >&2; exit 1")
    with pytest.raises(SystemExit, match=r"does not run \(no developer tools\): install GCC 10"):
        build()


@posix
@pytest.mark.parametrize(
    ("macros", "message"),
    [
        ("#define __GNUC__ 9", "is GCC 9, which is too old: install GCC 10 or clang 14 or newer"),
        ("#define __GNUC__ 4\n#define __clang_major__ 13", "is clang 13, which is too old"),
        ("#define __EDG__ 1", "is neither GCC nor clang: install GCC 10 or clang 14 or newer"),
    ],
)
def test_compiler_that_cannot_compile_the_plugin(project, build, macros, message):
    project.set_pin(sha256="0" * 64)  # the compiler is checked before any download
    project.set_program("c++", says("c++ 1.0", macros))
    with pytest.raises(SystemExit, match=rf"^xdcc: the C\+\+ compiler \S+ {message}"):
        build()


@posix
def test_clang(project, build):
    project.set_program("clang++", says("clang version 14", CLANG))
    build()
    assert len(_kept(project)) == 1


@posix
def test_compiler_without_openmp(project, build):
    error = "echo \"openmp.cpp:1:10: fatal error: 'omp.h' file not found\" >&2; exit 1"
    project.set_program("c++", f'case "$*" in *-fopenmp*) {error};; esac; {says("1.0", CLANG)}')
    with pytest.raises(SystemExit, match=r"^xdcc: the C\+\+ compiler has no OpenMP.*'omp.h' file"):
        build()
    build(USE_OPENMP="OFF")


@posix
def test_openmp_is_checked_with_the_flags_of_the_user(project, build, monkeypatch):
    # As in a conda environment, which has OpenMP in a separate folder.
    monkeypatch.setenv("CXXFLAGS", "-I/mine")
    monkeypatch.setenv("LDFLAGS", "-L/mine")
    script = 'case "$*" in *-fopenmp*-I/mine*-L/mine*);; *-fopenmp*) exit 1;; esac; '
    project.set_program("c++", script + says("c++ 1.0"))
    build()


@posix
@pytest.mark.skipif(REAL is None, reason="no compiler found")
def test_real_compiler(backend, monkeypatch):
    monkeypatch.setenv("PATH", PATH)
    backend.check_version(REAL)
    with pytest.raises(backend.BuildError, match=r"has no OpenMP.*nonesuch"):
        backend.check_openmp(REAL, {"CXXFLAGS": "-include nonesuch.h"})
    if sys.platform != "darwin":
        backend.check_openmp(REAL, {})


@posix
def test_the_compiler_is_checked_by_the_first_hook(project, backend):
    project.set_pin(sha256="0" * 64)
    with pytest.raises(
        SystemExit, match=r"^xdcc: no C\+\+ compiler .*Without a compiler: pip inst"
    ):
        backend.get_requires_for_build_wheel({})
    assert (
        backend.get_requires_for_build_wheel({"cmake.define.XGBOOST_PREBUILT_LIB_DIR": "given"})
        == []
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("version_info", (3, 11, 7), r"XGBoost needs Python 3\.12 or newer, not "),
        ("platform", "win32", r"Windows is not supported: .*\(MSVC\)"),
        ("maxsize", 2**31 - 1, "this is a Python with 32 bits"),
    ],
)
def test_python_or_platform_is_not_supported(project, monkeypatch, name, value, message):
    project.load("supported")
    monkeypatch.setattr(sys, name, value)
    advice = r"Supported: Linux and macOS with 64 bits, .*GCC 10 .* Without a compiler: pip install"
    with pytest.raises(SystemExit, match=rf"^xdcc: {message}[^\n]*\. {advice}"):
        project.load("backend")  # before it imports what older versions of Python lack
    assert not {"cache", "staging", "pin"} & {*sys.modules}


@pytest.mark.parametrize(
    ("origin", "address"),
    [
        ("https://github.com/some-body/xdcc.git", "https://some-body.github.io/xdcc/simple"),
        ("git@github.com:some-body/x.y", "https://some-body.github.io/x.y/simple"),
        ("https://example.org/some-body/xdcc", "<address>"),
        (None, "<address>"),
    ],
)
def test_address_of_the_wheels(project, monkeypatch, origin, address):
    supported = project.load("supported")
    monkeypatch.setenv("PATH", PATH)
    subprocess.run(["git", "init", "-q", supported.CLONE], check=True)
    if origin:
        command = ["git", "-C", supported.CLONE, "remote", "add", "origin", origin]
        subprocess.run(command, check=True)
    assert f"pip install --extra-index-url {address} xdcc (" in supported.wheels()
    monkeypatch.setenv("PATH", "")  # no git
    assert "--extra-index-url <address> xdcc" in supported.wheels()


@posix
def test_no_compiler_is_needed_for_metadata(project, backend, tmp_path):
    name = backend.prepare_metadata_for_build_wheel(str(tmp_path), {"cmake.define.USE_CUDA": "ON"})
    assert name == f"xgboost-{project.version}+xdcc.3.dist-info"
    metadata = message_from_string((tmp_path / name / "METADATA").read_text())
    assert metadata["Version"] == f"{project.version}+xdcc.3"
    assert metadata.get_all("License-File") == ["LICENSE", "NOTICE"]


@posix
def test_requirements_are_those_of_pyproject(cxx, backend):
    assert backend.get_requires_for_build_wheel({}) == []


def test_no_source_distribution(backend, tmp_path):
    with pytest.raises(backend.UnsupportedOperation, match="there is no source distribution of"):
        backend.build_sdist(str(tmp_path))


def test_failure_is_one_line(project, backend, tmp_path):
    project.set_pin(sha256="0" * 64)
    with pytest.raises(SystemExit, match=r"^xdcc: wrong SHA-256 of [^\n]+$"):
        backend.prepare_metadata_for_build_wheel(str(tmp_path))


@posix
@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"CMakeCache.txt": "OpenMP_CXX_FLAGS:STRING=NOTFOUND\n"}, "compiler has no OpenMP"),
        (
            {"CMakeCache.txt": "OpenMP_CXX_FLAGS:STRING=NOTFOUND\n", "build.ninja": ""},
            "the build failed; see the first error in the output above",
        ),
        ({"CMakeCache.txt": "OpenMP_CXX_FLAGS:STRING=-fopenmp\n"}, "the build failed"),
        ({}, "the build failed"),
    ],
)
def test_cmake_fails(cxx, backend, build, monkeypatch, written, message):
    def fail(*_):
        for name, text in written.items():
            Path("build/tag").mkdir(parents=True, exist_ok=True)
            Path("build/tag", name).write_text(text)
        raise SystemExit(1)

    monkeypatch.setattr(backend.upstream, "build_wheel", fail)
    before = Path.cwd()
    with pytest.raises(SystemExit, match=f"^xdcc: .*{message}"):
        build()
    assert Path.cwd() == before


@posix
def test_an_interrupted_build_leaves_no_cache_entry(project, cxx, backend, build, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(backend.upstream, "build_wheel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            backend.build_wheel(str(project.folder))
    assert _kept(project) == []
    build()
    assert len(_kept(project)) == 1


@posix
def test_scikit_build_core_finds_no_cmake(cxx, backend, build, monkeypatch):
    def fail(*_):
        raise backend.ScikitBuildError("no CMake")

    monkeypatch.setattr(backend.upstream, "build_wheel", fail)
    with pytest.raises(SystemExit, match=r"^xdcc: scikit-build-core: no CMake$"):
        build()


@pytest.fixture
def stage(project, tmp_path):
    def stage():
        (tmp_path / "work").mkdir()
        return project.load("staging").stage(tmp_path / "work", os.environ)

    return stage


def test_staged_tree(project, stage):
    source = stage()
    plugin = source / "cpp_src" / "plugin" / "multilabel"
    assert (plugin / "param.h").read_text() == "// plugin\n"
    text = (source / "pyproject.toml").read_text()
    assert f'\nversion = "{project.version}+xdcc.3"\n' in text
    _, defaults = text.split("\n[tool.scikit-build.cmake.define]\n")
    assert 'HIDE_CXX_SYMBOLS = "ON"\n' in defaults
    assert 'CMAKE_UNITY_BUILD = "ON"\n' in defaults


def test_user_overrides_the_defaults(stage):
    from scikit_build_core.settings.skbuild_read_settings import SettingsReader

    file = stage() / "pyproject.toml"
    for user, expected in [({}, "ON"), ({"cmake.define.HIDE_CXX_SYMBOLS": "OFF"}, "OFF")]:
        settings = SettingsReader.from_file(file, user).settings
        assert settings.cmake.define["HIDE_CXX_SYMBOLS"] == expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = ", "release = ", "has 0 lines 'version = .*' instead of one"),
        ("[tool", 'version = "9.8.7"\n[tool', "has 2 lines 'version = .*' instead of one"),
        ('["LICENSE"]', '["LICEN?E"]', "has 0 lines 'license-files = .*' instead of one"),
        ("[tool", "[tool.scikit-build.cmake.define]\n[tool", "toml cannot be extended: "),
    ],
)
def test_upstream_project_file_changed(project, stage, old, new, message):
    project.set_sdist(pyproject=project.pyproject.replace(old, new, 1))
    with pytest.raises(project.load("pin").BuildError, match=f"upstream's pyproject.*{message}"):
        stage()


def test_plugin_is_missing(project, stage):
    shutil.rmtree(project.plugin)
    message = f"the folder {re.escape(str(project.plugin))} is missing: build from a complete clone"
    with pytest.raises(project.load("pin").BuildError, match=message):
        stage()


PLAN = """\
rule CXX_COMPILER__objxgboost_unscanned_Release
build a/one.cc.o: CXX_COMPILER__objxgboost_unscanned_Release a/one.cc || order
build a/two.cc.o: CXX_COMPILER__objxgboost_unscanned_Release a/two.cc || order
build lib/libxgboost.so: CXX_SHARED_LIBRARY_LINKER__xgboost_Release a/one.cc.o a/two.cc.o
"""
LOG = """\
# ninja log v7
0\t90\t17\ta/one.cc.o\tabc
0\t90\t17\ta/one.cc.o\tabc
"""


@pytest.fixture
def progress(project):
    return project.load("backend")


def test_progress_from_the_files_of_ninja(progress, tmp_path):
    assert progress.compiled_so_far(tmp_path) == "building"
    (tmp_path / "build" / "tag").mkdir(parents=True)
    (tmp_path / "build" / "tag" / "build.ninja").write_text(PLAN)
    assert progress.compiled_so_far(tmp_path) == "compiled 0 of 2 files"
    (tmp_path / "build" / "tag" / ".ninja_log").write_text(LOG)
    assert progress.compiled_so_far(tmp_path) == "compiled 1 of 2 files"


def test_lines_are_printed_until_the_build_ends(progress, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(progress, "INTERVAL", 0.01)
    with progress.progress_shown(tmp_path):
        time.sleep(0.1)
    lines = capfd.readouterr().err.splitlines()
    assert lines
    assert set(lines) == {"xdcc: building after 0 seconds"}
    time.sleep(0.05)
    assert capfd.readouterr().err == ""


def test_progress_is_printed_at_least_every_30_seconds(progress):
    assert progress.INTERVAL <= 30
