"""Keeps downloads and compiled libraries in the user's cache directory.

    <user cache>/xdcc/downloads/<sdist>
    <user cache>/xdcc/libraries/<key>/<SHA-256 of the library>/libxgboost.so

The key is a hash of everything that the library depends on, so an entry never goes stale, and the
directory may be deleted at any time. What was built is known by its digest, and is used only if it
still has it: a disk that forgot a bit, or a hand that edited the file, costs a build and a line.
(Who can write here can write a digest, too: the folder is the user's own.) Entries are written to a
temporary file and renamed: two builds at once, or one that is interrupted, cannot leave half an
entry. ``XDCC_BUILD_CACHE=0`` turns reading and writing off.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import platformdirs
from pin import BuildError, Pin

SWITCH = "XDCC_BUILD_CACHE"
LIBRARY = {"win32": "xgboost.dll", "darwin": "libxgboost.dylib"}.get(sys.platform, "libxgboost.so")

# Environment variables that CMake, the compilers or scikit-build-core read.
VARIABLES = frozenset(
    {
        "ARCHFLAGS",
        "CC",
        "CFLAGS",
        "CPATH",
        "CPLUS_INCLUDE_PATH",
        "CPPFLAGS",
        "CUDAARCHS",
        "CUDACXX",
        "CUDAFLAGS",
        "CUDAHOSTCXX",
        "CXX",
        "CXXFLAGS",
        "LDFLAGS",
        "LIBRARY_PATH",
        "MACOSX_DEPLOYMENT_TARGET",
        "SDKROOT",
    }
)
PREFIXES = ("CMAKE_", "SKBUILD_")


def download(name: str, environ: Mapping[str, str]) -> Path | None:
    """Return where the download `name` is kept, or None if the cache is off."""
    folder = _folder(environ)
    return folder and folder / "downloads" / name


def libraries(key: str, environ: Mapping[str, str]) -> Path | None:
    """Return the folder where libraries with this key are kept, or None if the cache is off."""
    folder = _folder(environ)
    return folder and folder / "libraries" / key


def whole_library(folder: Path) -> Path | None:
    """Return the library in a folder of :func:`libraries`, or None if there is none.

    One that is not what was built is removed, and this prints that it was.
    """
    for entry in sorted(folder.glob(f"*/{LIBRARY}")):
        try:
            if _digest(entry) == entry.parent.name:
                return entry
            entry.unlink()
        except OSError as error:
            print(f"xdcc: {entry} is left out ({error})", file=sys.stderr)
        else:
            print(f"xdcc: {entry} was damaged; it is built anew", file=sys.stderr)
    return None


def keep_library(source: Path, folder: Path) -> None:
    """Copy a library into a folder of :func:`libraries`, as :func:`keep` does."""
    keep(source, folder / _digest(source) / LIBRARY)


def keep(source: Path, entry: Path) -> None:
    """Copy a file into the cache.

    A cache that cannot be written costs time at the next build, no more: this prints why and
    leaves the present build alone.
    """
    temporary = None
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=entry.parent, prefix=".", suffix=".part")
        os.close(handle)
        shutil.copyfile(source, temporary)
        os.replace(temporary, entry)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        print(f"xdcc: not cached ({error}); {SWITCH}=0 turns the cache off", file=sys.stderr)


def library_key(
    *,
    pin: Pin,
    patches: Iterable[Path],
    plugin: Path,
    settings: Mapping[str, str | list[str]],
    compilers: Iterable[str],
    environ: Mapping[str, str],
) -> str:
    """Return the hash of everything that the compiled library depends on.

    Parameters
    ----------
    pin : Pin
        The upstream release (its SHA-256 counts; the local version does not reach the library).
    patches : iterable of Path
        The patches in their order.
    plugin : Path
        The folder of the plugin; every file below it counts, with its path.
    settings : mapping
        The config settings, the backend's own defaults among them.
    compilers : iterable of str
        What `backend.identify` says of each compiler.
    environ : mapping
        The environment variables, of which those that a compiler or CMake reads count.
    """
    ingredients = {
        "sdist": pin.sha256,
        "patches": [(patch.name, _digest(patch)) for patch in patches],
        "plugin": {
            file.relative_to(plugin).as_posix(): _digest(file)
            for file in plugin.rglob("*")
            if file.is_file()
        },
        "settings": dict(settings),
        "compilers": list(compilers),
        # A library linked against a newer C library does not load beside an older one.
        "platform": (sysconfig.get_platform(), platform.machine(), platform.libc_ver()),
        "environment": {
            name: value
            for name, value in environ.items()
            if name in VARIABLES or name.startswith(PREFIXES)
        },
    }
    return hashlib.sha256(json.dumps(ingredients, sort_keys=True).encode()).hexdigest()


def _folder(environ: Mapping[str, str]) -> Path | None:
    switch = environ.get(SWITCH, "1")
    if switch not in ("0", "1"):
        raise BuildError(f"{SWITCH}={switch} is neither 0 (off) nor 1 (on, the default)")
    return Path(platformdirs.user_cache_dir("xdcc", appauthor=False)) if switch == "1" else None


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
