"""In-tree PEP 517 backend: XGBoost with the multi-label plugin, built by upstream's own backend.

Each hook stages the source tree in a temporary folder (`staging.py`) and hands over to
scikit-build-core there, config settings and all. Only `build_wheel` compiles, and only if the cache
(`cache.py`) has no library for exactly these sources, settings and compilers; if it has, upstream's
own CMake option for a prebuilt library bundles it.

A frontend runs every hook in a process of its own, which is why a hook may set environment
variables. A failure ends the process with one line on stderr that begins with ``xdcc:``.
"""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

if sys.version_info < (3, 12):  # noqa: UP036 (no frontend has checked it when this file is loaded)
    raise SystemExit(
        f"xdcc: this version of XGBoost needs Python 3.12 or newer, not {sys.version.split()[0]}"
    )

import cache
import compiler
import progress
import staging
from errors import BuildError
from patching import read_series
from pin import read_pin
from scikit_build_core import build as upstream
from scikit_build_core.errors import ScikitBuildError

Settings = Mapping[str, str | list[str]]

PREBUILT = "XGBOOST_PREBUILT_LIB_DIR"
SYSTEM = "XGBOOST_USE_SYSTEM_LIBXGBOOST"
NO_OPENMP = (
    "the C++ compiler has no OpenMP, without which XGBoost runs on one thread: install it (gcc "
    "brings it; for clang on Debian, Ubuntu: apt install libomp-dev; on Fedora: dnf install "
    "libomp-devel; macOS: brew install libomp), or choose one thread with "
    "-Ccmake.define.USE_OPENMP=OFF"
)


class UnsupportedOperation(Exception):
    """Raised by `build_sdist`, as PEP 517 asks."""


@contextlib.contextmanager
def _one_message() -> Iterator[None]:
    try:
        yield
    except BuildError as error:
        raise SystemExit(f"xdcc: {error}") from None


def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    """Return nothing: pyproject.toml names all that is needed."""
    return []


@_one_message()
def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings | None = None
) -> str:
    """Write the wheel's metadata, without compiling, and return the name of their folder."""
    folder = os.path.abspath(metadata_directory)
    with _staged() as source:
        settings = dict(config_settings or {})
        return _delegate(upstream.prepare_metadata_for_build_wheel, source, folder, settings)


@_one_message()
def build_wheel(
    wheel_directory: str,
    config_settings: Settings | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Build the wheel and return its file name."""
    folder = os.path.abspath(wheel_directory)
    metadata = metadata_directory and os.path.abspath(metadata_directory)
    settings = dict(config_settings or {})
    with _staged() as source:
        folder_to_keep = (
            None if _mentioned((PREBUILT, SYSTEM), settings) else _choose_library(settings)
        )
        with progress.shown(source):
            name = _delegate(upstream.build_wheel, source, folder, settings, metadata)
        if folder_to_keep:
            with zipfile.ZipFile(Path(folder, name)) as wheel:
                library = wheel.extract(f"xgboost/lib/{cache.LIBRARY}", source)
            cache.keep_library(Path(library), folder_to_keep)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings | None = None) -> str:
    """Refuse: the sources are upstream's, and this folder alone is not enough to build from."""
    raise UnsupportedOperation(
        "xdcc: there is no source distribution of the patched XGBoost; build a wheel from a clone "
        "of the xdcc repository (pip wheel ./third_party/xgboost)"
    )


@contextlib.contextmanager
def _staged() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="xdcc-", ignore_cleanup_errors=True) as work:
        yield staging.stage(Path(work), os.environ)


def _delegate(hook: Callable[..., str], source: Path, *args: object) -> str:
    try:
        with contextlib.chdir(source):
            return hook(*args)
    except ScikitBuildError as error:  # no CMake or no Ninja, for example
        raise BuildError(f"scikit-build-core: {error}") from error
    except SystemExit as stop:  # scikit-build-core printed what CMake or the compiler said
        raise BuildError(_why_it_failed(source)) from stop


def _why_it_failed(source: Path) -> str:
    for configured in source.glob("build/*/CMakeCache.txt"):
        missing = re.search(
            r"^OpenMP_C(XX)?_FLAGS:STRING=NOTFOUND$", configured.read_text(), re.MULTILINE
        )
        # On macOS upstream looks twice, so NOTFOUND alone says little; but where CMake went on to
        # write the build file, it was content.
        if missing and not configured.with_name("build.ninja").exists():
            return NO_OPENMP
    return "the build failed; the first error in the output above says why"


def _choose_library(settings: dict[str, str | list[str]]) -> Path | None:
    """Point `settings` to the cached library if there is one, else prepare for compiling.

    Returns the folder where the library should be kept once it is compiled, if any.
    """
    identities = _fix_toolchain(settings)
    folder = cache.libraries(_key(settings, identities), os.environ) if identities else None
    if folder and (library := cache.whole_library(folder)):
        print(f"xdcc: reusing the compiled library {library}", file=sys.stderr)
        settings[f"cmake.define.{PREBUILT}"] = library.parent.as_posix()
        return None
    print(
        "xdcc: compiling XGBoost; this takes minutes (pip install -v shows how far it is)",
        file=sys.stderr,
        flush=True,
    )
    return folder


def _fix_toolchain(settings: Settings) -> list[str]:
    """Settle generator and compilers through the environment, and return the compilers' identities.

    The list is empty, which leaves the cache out, where CMake is told of a compiler in ways that
    only CMake understands in full, and on Windows.
    """
    if sys.platform != "win32":
        os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    if _mentioned(("CMAKE_CXX_COMPILER", "CMAKE_TOOLCHAIN_FILE"), settings):
        return []
    cxx = compiler.find_compiler(os.environ)
    if cxx is None:
        return []
    commands = [cxx]
    os.environ["CXX"] = cxx
    if cc := os.environ.get("CC") or compiler.first_on_path("CC", os.environ):
        os.environ["CC"] = cc
        commands.append(cc)
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc")
    if nvcc and _mentioned(("USE_CUDA",), settings):
        commands.append(nvcc)
    return [compiler.identify(command) for command in commands]


def _key(settings: Settings, identities: list[str]) -> str:
    defaults = {f"cmake.define.{name}": value for name, value in staging.CMAKE_DEFAULTS.items()}
    return cache.library_key(
        pin=read_pin(staging.PIN),
        patches=read_series(staging.PATCHES),
        plugin=staging.PLUGIN,
        settings={**defaults, **settings},
        compilers=identities,
        environ=os.environ,
    )


def _mentioned(names: tuple[str, ...], settings: Settings) -> bool:
    """Return whether the user speaks of a CMake variable, in whichever of the ways there are."""
    texts = [*settings, *(str(value) for value in settings.values())]
    texts += [
        f"{variable}={value}"
        for variable, value in os.environ.items()
        if variable.startswith(cache.PREFIXES)
    ]
    return any(re.search(rf"{name}(?![A-Z_])", text) for name in names for text in texts)
