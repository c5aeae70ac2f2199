"""Caches downloads and compiled libraries in the user's cache directory.

    <user cache>/xdcc/downloads/<sdist>
    <user cache>/xdcc/libraries/<key>/<SHA-256 of the library>/libxgboost.so

The key is a hash of all inputs of the library, so an entry never goes stale. You can delete the
directory at any time. A library is used only if its digest still matches; otherwise it is rebuilt,
with a message. The digest detects accidental corruption, not malicious changes: anyone who can
write here can also change the digest. Entries are written to a temporary file and renamed, so
concurrent or interrupted builds cannot leave incomplete entries. ``XDCC_BUILD_CACHE=0`` disables
the cache.
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
    """Return the path of the cached download `name`, or None if the cache is off."""
    folder = _folder(environ)
    return folder and folder / "downloads" / name


def libraries(key: str, environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the cached libraries with this key, or None if the cache is off."""
    folder = _folder(environ)
    return folder and folder / "libraries" / key


def whole_library(folder: Path) -> Path | None:
    """Return the intact library in a folder of :func:`libraries`, or None if there is none.

    Damaged libraries are removed with a message.
    """
    for entry in sorted(folder.glob(f"*/{LIBRARY}")):
        try:
            if _digest(entry) == entry.parent.name:
                return entry
            entry.unlink()
        except OSError as error:
            print(f"xdcc: {entry} is ignored ({error})", file=sys.stderr)
        else:
            print(f"xdcc: {entry} was damaged and will be rebuilt", file=sys.stderr)
    return None


def keep_library(source: Path, folder: Path) -> None:
    """Copy a library into a folder of :func:`libraries` with :func:`keep`."""
    keep(source, folder / _digest(source) / LIBRARY)


def keep(source: Path, entry: Path) -> None:
    """Copy a file into the cache; if this fails, print the reason and continue."""
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
        print(f"xdcc: not cached ({error}); {SWITCH}=0 disables the cache", file=sys.stderr)


def library_key(
    *,
    pin: Pin,
    patches: Iterable[Path],
    plugin: Path,
    settings: Mapping[str, str | list[str]],
    compilers: Iterable[str],
    environ: Mapping[str, str],
) -> str:
    """Return a hash of all inputs of the compiled library.

    Parameters
    ----------
    pin : Pin
        The upstream release. Only its SHA-256 counts; the local version is not in the library.
    patches : iterable of Path
        The patches in order.
    plugin : Path
        The folder of the plugin. Every file in it counts, with its path.
    settings : mapping
        The config settings, including the backend's defaults.
    compilers : iterable of str
        The identity of each compiler, from `backend.identify`.
    environ : mapping
        The environment variables. Only those that a compiler or CMake reads count.
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
        # A library linked against a newer C library does not load with an older one.
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
