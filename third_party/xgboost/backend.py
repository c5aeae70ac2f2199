"""In-tree PEP 517 backend: builds XGBoost with the multi-label plugin by upstream's own backend.

Each hook stages the source tree in a temporary folder (`staging.py`) and calls scikit-build-core
there with the user's config settings. Only `build_wheel` compiles, and only if the cache
(`cache.py`) has no library for exactly these sources, settings and compilers. Otherwise, upstream's
CMake option for a prebuilt library bundles the cached one. During compilation, a line every 20
seconds reports the progress. pip shows these lines with ``--verbose``; without it, they keep its
spinner moving.

By default, scikit-build-core uses the compiler that Python was built with, which may not exist on
this machine. This backend follows CMake's rule instead: ``CXX`` (and ``CC``) if set, else the first
usual name on the PATH. Determining the compiler first gives a clear message if it is missing or
cannot compile the plugin, and makes the compiler part of the cache key.

A frontend runs every hook in its own process, so a hook may set environment variables. A failure
ends the process with one line on stderr that begins with ``xdcc:``.
"""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import supported

if problem := supported.find_problem():  # before the imports, which need Python 3.12
    raise SystemExit(f"xdcc: {problem}")

import cache
import staging
from pin import BuildError, read_pin
from scikit_build_core import build as upstream
from scikit_build_core.errors import ScikitBuildError
from staging import read_series

Settings = Mapping[str, str | list[str]]

PREBUILT = "XGBOOST_PREBUILT_LIB_DIR"
SYSTEM = "XGBOOST_USE_SYSTEM_LIBXGBOOST"
NO_OPENMP = (
    "the C++ compiler has no OpenMP; install it (gcc includes it; for clang on Debian, Ubuntu: apt "
    "install libomp-dev; on Fedora: dnf install libomp-devel; macOS: brew install libomp), or "
    "build for a single thread with -Ccmake.define.USE_OPENMP=OFF"
)
OLDEST = {"GCC": 10, "clang": 14}  # clang and Apple clang are numbered differently; 14 suits both
OPENMP_PROGRAM = "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n"

CANDIDATES = {"CXX": ("c++", "g++", "clang++"), "CC": ("cc", "gcc", "clang")}
ADVICE = (
    "install GCC 10 or clang 14 or newer (Debian, Ubuntu: apt install g++; Fedora: dnf install "
    "gcc-c++; macOS: xcode-select --install; conda: conda install cxx-compiler), or set CXX"
)
INTERVAL = 20.0  # seconds


class UnsupportedOperation(Exception):
    """Raised by `build_sdist`, as PEP 517 asks."""


@contextlib.contextmanager
def _one_message() -> Iterator[None]:
    try:
        yield
    except BuildError as error:
        raise SystemExit(f"xdcc: {error}") from None


@_one_message()
def get_requires_for_build_wheel(config_settings: Settings | None = None) -> list[str]:
    """Check the compiler, and return no requirements: pyproject.toml lists all of them.

    This is the first hook that a frontend calls, before it prepares or builds any other project.
    """
    settings = dict(config_settings or {})
    if not _mentioned((PREBUILT, SYSTEM), settings):
        _fix_toolchain(settings)
    return []


@_one_message()
def prepare_metadata_for_build_wheel(
    metadata_directory: str, config_settings: Settings | None = None
) -> str:
    """Write the wheel's metadata without compiling, and return the name of their folder."""
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
    is_given = _mentioned((PREBUILT, SYSTEM), settings)
    identities = [] if is_given else _fix_toolchain(settings)
    with _staged() as source:
        folder_to_keep = None if is_given else _choose_library(settings, identities)
        with progress_shown(source):
            name = _delegate(upstream.build_wheel, source, folder, settings, metadata)
        if folder_to_keep:
            with zipfile.ZipFile(Path(folder, name)) as wheel:
                library = wheel.extract(f"xgboost/lib/{cache.LIBRARY}", source)
            cache.keep_library(Path(library), folder_to_keep)
    return name


def build_sdist(sdist_directory: str, config_settings: Settings | None = None) -> str:
    """Raise an error: a source distribution would lack the plugin and upstream's sources."""
    raise UnsupportedOperation(
        "xdcc: there is no source distribution of the patched XGBoost; build a wheel from a clone "
        "of the xdcc repository: pip wheel ./third_party/xgboost"
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
    except SystemExit as stop:  # scikit-build-core has printed the output of CMake or the compiler
        raise BuildError(_why_it_failed(source)) from stop


def _why_it_failed(source: Path) -> str:
    for configured in source.glob("build/*/CMakeCache.txt"):
        missing = re.search(
            r"^OpenMP_C(XX)?_FLAGS:STRING=NOTFOUND$", configured.read_text(), re.MULTILINE
        )
        # On macOS, upstream searches twice, so NOTFOUND alone is not an error. If CMake wrote the
        # build file, the second search succeeded.
        if missing and not configured.with_name("build.ninja").exists():
            return f"{NO_OPENMP}. {supported.wheels()}"
    return "the build failed; see the first error in the output above"


def _choose_library(settings: dict[str, str | list[str]], identities: list[str]) -> Path | None:
    """Point `settings` to the cached library, or return the cache folder for a new one."""
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
    """Set generator and compilers in the environment, and return the identities of the compilers.

    If the user selects the compiler by CMake variables, which only CMake can interpret, the list is
    empty and the cache is not used.
    """
    os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    if _mentioned(("CMAKE_CXX_COMPILER", "CMAKE_TOOLCHAIN_FILE"), settings):
        return []
    cxx = find_compiler(os.environ)
    check_version(cxx)
    # On macOS, CMake finds OpenMP in places where the compiler does not search.
    if sys.platform != "darwin" and not _mentioned(("USE_OPENMP",), settings):
        check_openmp(cxx, os.environ)
    commands = [cxx]
    os.environ["CXX"] = cxx
    if cc := os.environ.get("CC") or first_on_path("CC", os.environ):
        os.environ["CC"] = cc
        commands.append(cc)
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc")
    if nvcc and _mentioned(("USE_CUDA",), settings):
        commands.append(nvcc)
    return [identify(command) for command in commands]


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
    """Return whether a config setting or environment variable mentions one of these variables."""
    texts = [*settings, *(str(value) for value in settings.values())]
    texts += [
        f"{variable}={value}"
        for variable, value in os.environ.items()
        if variable.startswith(cache.PREFIXES)
    ]
    return any(re.search(rf"{name}(?![A-Z_])", text) for name in names for text in texts)


def find_compiler(environ: Mapping[str, str]) -> str:
    """Return the command of the C++ compiler.

    Raises
    ------
    BuildError
        If no C++ compiler is found.
    """
    if given := environ.get("CXX"):
        if shutil.which(shlex.split(given)[0], path=environ.get("PATH")) is None:
            raise _unsuitable(f"no C++ compiler: CXX={given} is not an executable on the PATH")
        return given
    if found := first_on_path("CXX", environ):
        return found
    raise _unsuitable(f"no C++ compiler ({', '.join(CANDIDATES['CXX'])}) on the PATH")


def first_on_path(variable: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of the first usual compiler for ``CXX`` or ``CC``, or None."""
    found = (shutil.which(name, path=environ.get("PATH")) for name in CANDIDATES[variable])
    return next(filter(None, found), None)


def identify(command: str) -> str:
    """Return a text that identifies the compiler: its path and the output of ``--version``.

    Raises
    ------
    BuildError
        If the compiler does not run, such as the macOS stub without the developer tools.
    """
    words = shlex.split(command)
    return f"{shutil.which(words[0])} {' '.join(words[1:])}\n{_answer(command, '--version')}"


def check_version(command: str) -> None:
    """Check that the compiler can compile the plugin.

    Raises
    ------
    BuildError
        If the compiler is neither GCC nor clang, is too old, or does not run.
    """
    defined = _answer(command, "-dM", "-E", "-x", "c++", os.devnull)
    macros = dict(re.findall(r"^#define (\w+) (\d+)$", defined, re.MULTILINE))
    name = "clang" if "__clang_major__" in macros else "GCC"  # clang defines __GNUC__ too
    version = macros.get("__clang_major__" if name == "clang" else "__GNUC__")
    if version is None:
        raise _unsuitable(f"the C++ compiler {command} is neither GCC nor clang")
    if int(version) < OLDEST[name]:
        found = f"{name} {version}"
        raise _unsuitable(f"the C++ compiler {command} is {found}, which is too old")


def check_openmp(command: str, environ: Mapping[str, str]) -> None:
    """Compile and link a small OpenMP program.

    Raises
    ------
    BuildError
        If the compiler has no OpenMP.
    """
    flags = [*shlex.split(environ.get("CXXFLAGS", "")), *shlex.split(environ.get("LDFLAGS", ""))]
    with tempfile.TemporaryDirectory(prefix="xdcc-") as work:
        program = Path(work, "openmp.cpp")
        program.write_text(OPENMP_PROGRAM, encoding="utf-8")
        done = subprocess.run(
            [*shlex.split(command), "-fopenmp", program, "-o", program.with_suffix(""), *flags],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode != 0:
        first = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
        raise BuildError(f"{NO_OPENMP} ({first.strip()}). {supported.wheels()}")


def _unsuitable(problem: str) -> BuildError:
    return BuildError(f"{problem}: {ADVICE}. {supported.wheels()}")


def _answer(command: str, *arguments: str) -> str:
    try:
        return subprocess.run(
            [*shlex.split(command), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        reason = str(getattr(error, "stderr", None) or error).strip().replace("\n", " ")
        raise _unsuitable(f"the compiler {command} does not run ({reason})") from error


@contextlib.contextmanager
def progress_shown(source: Path) -> Iterator[None]:
    """Print the progress to stderr while scikit-build-core builds the tree `source`."""
    ended = threading.Event()

    def tell() -> None:
        begin = time.monotonic()
        while not ended.wait(INTERVAL):
            line = f"xdcc: {compiled_so_far(source)} after {time.monotonic() - begin:.0f} seconds"
            print(line, file=sys.stderr, flush=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def compiled_so_far(source: Path) -> str:
    """Return the progress in words, from Ninja's build file and its log if they exist."""
    for plan in source.glob("build/*/build.ninja"):
        files = re.findall(r"^build (\S+): C\w*_COMPILER__", plan.read_text(), re.MULTILINE)
        log = plan.with_name(".ninja_log")
        done = log.read_text().split("\t") if log.is_file() else []
        return f"compiled {len({*files} & {*done})} of {len(files)} files"
    return "building"
