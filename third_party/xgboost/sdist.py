"""Obtains the source distribution of the pinned release, and unpacks it.

The file comes from the first of: the environment variable ``XDCC_XGBOOST_SDIST`` (a file; no
network), the cache, the package index. Its SHA-256 is compared with the pin wherever it comes from.
The index is asked through its simple API, because ``pip download`` would build the whole package
only to learn its metadata.
"""

import hashlib
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

import cache
from errors import BuildError
from pin import Pin

GIVEN = "XDCC_XGBOOST_SDIST"
INDEX = "PIP_INDEX_URL"
TIMEOUT = 60.0  # seconds without an answer from the index


def obtain_sdist(pin: Pin, folder: Path, environ: Mapping[str, str]) -> Path:
    """Return the path of the checked source distribution.

    Parameters
    ----------
    pin : Pin
        The release.
    folder : Path
        Where a download is put if it is not in the cache.
    environ : mapping
        The environment variables.

    Raises
    ------
    BuildError
        If the given file does not exist, if the sdist cannot be fetched, or if its hash is wrong.
    """
    if given := environ.get(GIVEN):
        path = Path(given).expanduser()
        if not path.is_file() or not path.is_absolute():  # the frontend chose the current directory
            raise BuildError(
                f"{GIVEN}={given} is not the absolute path of a file; it must name {pin.sdist}"
            )
        _check_hash(path, pin, f"{GIVEN} must name an unchanged {pin.sdist}")
        return path

    cached = cache.download(pin.sdist, environ)
    if cached and cached.is_file():
        _check_hash(cached, pin, "delete that file to fetch it again")
        return cached

    path = folder / pin.sdist
    _fetch(pin, path, environ)
    _check_hash(path, pin, "the package index serves another file than the pinned one")
    if cached:
        cache.keep(path, cached)
    return path


def extract_sdist(pin: Pin, file: Path, folder: Path) -> Path:
    """Unpack the source distribution into `folder` and return the source tree's root.

    Raises
    ------
    BuildError
        If the archive is damaged, has an entry that points out of the folder, or lacks the root.
    """
    try:
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise BuildError(f"cannot unpack {file}: {error}") from error
    root = folder / pin.folder
    if not root.is_dir():
        raise BuildError(f"{file} holds no folder {pin.folder}")
    return root


def _fetch(pin: Pin, path: Path, environ: Mapping[str, str]) -> None:
    import pypi_simple

    endpoint = environ.get(INDEX) or pypi_simple.PYPI_SIMPLE_ENDPOINT
    try:
        with pypi_simple.PyPISimple(endpoint) as index:
            files = index.get_project_page(pin.name, timeout=TIMEOUT).packages
            wanted = next((file for file in files if file.filename == pin.sdist), None)
            if wanted is None:
                raise _unfetched(pin, endpoint, "the index has the project but not this file")
            # The digest that counts is the pin's, not the index's own.
            index.download_package(wanted, path, verify=False, timeout=TIMEOUT)
    except (
        OSError,  # includes every error of requests
        ValueError,
        pypi_simple.NoSuchProjectError,
        pypi_simple.UnsupportedRepoVersionError,
    ) as error:
        raise _unfetched(pin, endpoint, f"{type(error).__name__}: {error}") from error


def _unfetched(pin: Pin, endpoint: str, reason: str) -> BuildError:
    message = (
        f"cannot fetch {pin.sdist} (version {pin.version} of {pin.name}) from {endpoint}: "
        f"{reason}. {GIVEN}=<file> builds from a copy of that file without a network; "
        f"{INDEX}=<address> names another package index"
    )
    # An index address may carry a user name and a password.
    return BuildError(re.sub(r"//[^/@\s]+@", "//", message))


def _check_hash(path: Path, pin: Pin, hint: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != pin.sha256:
        raise BuildError(f"wrong SHA-256 of {path}: expected {pin.sha256}, got {found}; {hint}")
