"""Finds the C++ compiler that the build will use, before anything slow begins.

Left alone, scikit-build-core takes the compiler that Python itself was built with, which need not
be on this machine. Here the rule is CMake's own: ``CXX`` (and ``CC``) if set, else the first usual
name on the PATH. Knowing the compiler early gives a clear message when there is none, and lets the
cache tell the libraries of two compilers apart.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping

from errors import BuildError

CANDIDATES = {"CXX": ("c++", "g++", "clang++"), "CC": ("cc", "gcc", "clang")}
ADVICE = (
    "install one with C++17 (Debian, Ubuntu: apt install g++; Fedora: dnf install gcc-c++; macOS: "
    "xcode-select --install; conda: conda install cxx-compiler) or name it in CXX"
)


def find_compiler(environ: Mapping[str, str]) -> str | None:
    """Return the command of the C++ compiler, or None on Windows.

    On Windows, CMake finds Visual Studio, which is not on the PATH, by itself.

    Raises
    ------
    BuildError
        If there is no C++ compiler.
    """
    if sys.platform == "win32":
        return None
    if given := environ.get("CXX"):
        if shutil.which(shlex.split(given)[0], path=environ.get("PATH")) is None:
            raise BuildError(f"no C++ compiler: CXX={given} is not a program on this machine")
        return given
    if found := first_on_path("CXX", environ):
        return found
    raise BuildError(f"no C++ compiler ({', '.join(CANDIDATES['CXX'])}) on the PATH: {ADVICE}")


def first_on_path(variable: str, environ: Mapping[str, str]) -> str | None:
    """Return the path of the first usual compiler for ``CXX`` or ``CC``, or None."""
    found = (shutil.which(name, path=environ.get("PATH")) for name in CANDIDATES[variable])
    return next(filter(None, found), None)


def identify(command: str) -> str:
    """Return a text that tells this compiler from others: its path and what it says of itself.

    Raises
    ------
    BuildError
        If the compiler does not run, as macOS's stand-in without the developer tools.
    """
    words = shlex.split(command)
    try:
        said = subprocess.run(
            [*words, "--version"], capture_output=True, text=True, errors="replace", check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        reason = str(getattr(error, "stderr", None) or error).strip().replace("\n", " ")
        raise BuildError(f"the compiler {command} does not run ({reason}): {ADVICE}") from error
    return f"{shutil.which(words[0])} {' '.join(words[1:])}\n{said}"
