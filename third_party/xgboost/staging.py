"""Stages the source tree: pinned sdist + patches + plugin + local version + NOTICE.

The sdist comes from the first available source: the environment variable ``XDCC_XGBOOST_SDIST`` (a
file; no network), the cache, or the package index. Its SHA-256 must match the pin in every case.
The index is queried through its simple API, because ``pip download`` would build the whole package
just to read its metadata.

The patch series is applied strictly: exact lines at exact line numbers. `patches/series` lists the
patches, one per line, in the order of application; ``#`` begins a comment. A patch is a unified
diff, as written by ``git diff`` or ``diff -u``, with text (the reason for the patch) before the
first file. It may change text files and add new ones; renames, deletions, mode changes and binary
files are rejected. `unidiff` parses the patch and rejects hunks whose length does not match their
header. There is no fuzz and no offset: if a hunk fits only elsewhere, upstream has changed and the
patch needs review.
"""

import hashlib
import io
import re
import shutil
import tarfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import cache
from pin import BuildError, Pin, read_pin
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

HERE = Path(__file__).resolve().parent
PIN = HERE / "upstream.toml"
PATCHES = HERE / "patches"
NOTICE = HERE / "NOTICE"
PLUGIN = HERE.parent.parent / "plugins" / "multilabel"

# CMake definitions that differ from upstream's defaults. They are written to the staged
# pyproject.toml, so config settings and CMAKE_ARGS override them. Hidden symbols, which the
# official wheels use too, avoid clashes with other C++ libraries in the process. The unity build
# compiles many files at once, because parsing the same headers takes much of the time
# (build_cost.py measures this). Performance-critical files are excluded from it
# (plugins/multilabel/CMakeLists.txt).
CMAKE_DEFAULTS = {
    "HIDE_CXX_SYMBOLS": "ON",
    "CMAKE_UNITY_BUILD": "ON",
    "CMAKE_UNITY_BUILD_BATCH_SIZE": "25",
}


def stage(work: Path, environ: Mapping[str, str]) -> Path:
    """Stage the source tree in the folder `work` and return its root.

    Raises
    ------
    BuildError
        If a part is missing or does not fit the others.
    """
    pin = read_pin(PIN)
    source = extract_sdist(pin, obtain_sdist(pin, work, environ), work)
    for patch in read_series(PATCHES):
        apply_patch(patch, source)
    if not PLUGIN.is_dir():
        raise BuildError(f"the folder {PLUGIN} is missing: build from a complete clone of xdcc")
    shutil.copytree(PLUGIN, source / "cpp_src" / "plugin" / PLUGIN.name)
    shutil.copyfile(NOTICE, source / NOTICE.name)
    _edit_project(source / "pyproject.toml", pin)
    return source


def _edit_project(file: Path, pin: Pin) -> None:
    text = file.read_text(encoding="utf-8")
    text = _replace(text, f'version = "{pin.version}"', f'version = "{pin.local_version}"')
    text = _replace(
        text, 'license-files = ["LICENSE"]', f'license-files = ["LICENSE", "{NOTICE.name}"]'
    )
    text += "\n[tool.scikit-build.cmake.define]\n"
    text += "".join(f'{name} = "{value}"\n' for name, value in CMAKE_DEFAULTS.items())
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BuildError(f"upstream's pyproject.toml cannot be extended: {error}") from error
    file.write_text(text, encoding="utf-8")


def _replace(text: str, old: str, new: str) -> str:
    """Replace the line `old`, which must occur exactly once."""
    text, count = re.subn(rf"^{re.escape(old)}$", lambda _: new, text, flags=re.MULTILINE)
    if count != 1:
        raise BuildError(f"upstream's pyproject.toml has {count} lines {old!r} instead of one")
    return text


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
        Folder for a download that is not in the cache.
    environ : mapping
        The environment variables.

    Raises
    ------
    BuildError
        If the given file does not exist, the sdist cannot be downloaded, or its hash is wrong.
    """
    if given := environ.get(GIVEN):
        path = Path(given).expanduser()
        if not path.is_file() or not path.is_absolute():  # frontends change the directory
            raise BuildError(
                f"{GIVEN}={given} is not the absolute path of a file; it must point to {pin.sdist}"
            )
        _check_hash(path, pin, f"{GIVEN} must point to an unmodified {pin.sdist}")
        return path

    cached = cache.download(pin.sdist, environ)
    if cached and cached.is_file():
        _check_hash(cached, pin, "delete that file to download it again")
        return cached

    path = folder / pin.sdist
    _fetch(pin, path, environ)
    _check_hash(path, pin, "the package index does not have the pinned file")
    if cached:
        cache.keep(path, cached)
    return path


def extract_sdist(pin: Pin, file: Path, folder: Path) -> Path:
    """Unpack the source distribution into `folder` and return the source tree's root.

    Raises
    ------
    BuildError
        If the archive is damaged, has an entry outside the folder, or lacks the root.
    """
    try:
        with tarfile.open(file) as archive:
            archive.extractall(folder, filter="data")
    except (tarfile.TarError, OSError) as error:
        raise BuildError(f"cannot unpack {file}: {error}") from error
    root = folder / pin.folder
    if not root.is_dir():
        raise BuildError(f"{file} does not contain the folder {pin.folder}")
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
            # _check_hash compares the digest with the pin, not with the index.
            index.download_package(wanted, path, verify=False, timeout=TIMEOUT)
    except (
        OSError,  # includes all errors of requests
        ValueError,
        pypi_simple.NoSuchProjectError,
        pypi_simple.UnsupportedRepoVersionError,
    ) as error:
        raise _unfetched(pin, endpoint, f"{type(error).__name__}: {error}") from error


def _unfetched(pin: Pin, endpoint: str, reason: str) -> BuildError:
    message = (
        f"cannot download {pin.sdist} (version {pin.version} of {pin.name}) from {endpoint}: "
        f"{reason}. Set {GIVEN}=<file> to build from a local copy of that file, or "
        f"{INDEX}=<address> to use another package index"
    )
    # The address may contain a user name and a password.
    return BuildError(re.sub(r"//[^/@\s]+@", "//", message))


def _check_hash(path: Path, pin: Pin, hint: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != pin.sha256:
        raise BuildError(f"wrong SHA-256 of {path}: expected {pin.sha256}, got {found}; {hint}")


NOTHING = "/dev/null"


def read_series(folder: Path) -> list[Path]:
    """Return the patches listed in `folder`/series, in order.

    Raises
    ------
    BuildError
        If the series file or a listed patch does not exist.
    """
    series = folder / "series"
    if not series.is_file():
        raise BuildError(f"{series} is missing: it must list the patches, one per line")
    patches = []
    for number, line in enumerate(series.read_text(encoding="utf-8").splitlines(), 1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        if not (folder / name).is_file():
            raise BuildError(
                f"{series}, line {number}, lists {name}, but {folder} has no such file"
            )
        patches.append(folder / name)
    return patches


def changed_lines(patch: Path) -> int:
    """Return the number of lines that a patch adds and removes, without file headers."""
    parsed = _parse(patch)
    return parsed.added + parsed.removed


def apply_patch(patch: Path, root: Path) -> None:
    """Apply one patch to the source tree under `root`, like ``patch -p1``.

    Raises
    ------
    BuildError
        If the patch is malformed, uses an unsupported feature, or does not apply exactly.
    """
    for change in _parse(patch):
        name = change.target_file.partition("/")[2]
        target = (root / name).resolve()
        if not target.is_relative_to(root.resolve()):
            raise BuildError(f"{patch.name} does not apply: {name} is outside the source tree")
        if change.source_file == NOTHING:
            if target.exists():
                raise BuildError(f"{patch.name} does not apply: it adds {name}, which exists")
            lines = []
        elif target.is_file():
            lines = _lines(target)
        else:
            raise BuildError(f"{patch.name} does not apply: the file {name} does not exist")
        lines = _changed(lines, change, f"{patch.name} does not apply to {name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes("".join(lines).encode())


def _lines(file: Path) -> list[str]:
    # Only "\n" ends a line, as in diff; str.splitlines would also split at form feeds.
    return list(io.StringIO(file.read_bytes().decode()))


def _parse(patch: Path) -> PatchSet:
    lines = _lines(patch)
    try:
        parsed = PatchSet(lines)
    except UnidiffParseError as error:
        raise BuildError(f"{patch.name} is not a well-formed patch: {error}") from error
    if not parsed:
        raise BuildError(f"{patch.name} changes nothing")
    for change in parsed:
        if why := _unsupported(change):
            raise BuildError(f"{patch.name} {why}; a patch may change text files and add new ones")
    _check_hunks_hold_all(patch, parsed, lines)
    return parsed


def _unsupported(change: PatchedFile) -> str | None:
    if change.is_binary_file:
        return f"changes the binary file {change.path}"
    if change.is_rename:
        return f"renames {change.path}"
    if change.target_file == NOTHING:
        return f"deletes {change.path}"
    if not change:
        return f"has no hunk for {change.path}"
    modes = (change.source_mode or "100644", change.target_mode or "100644")
    if modes[0] != modes[1]:
        return f"changes the mode of {change.path}"
    return None


def _check_hunks_hold_all(patch: Path, parsed: PatchSet, lines: Iterable[str]) -> None:
    # The parser treats lines after a complete hunk as comments. If such a line looks like part of a
    # hunk, the patch was edited by hand without updating the counts in the header.
    lines_of_hunks = (line for change in parsed for hunk in change for line in hunk)
    held = {line.diff_line_no for line in lines_of_hunks if line.diff_line_no is not None}
    first = min(held)
    for number, line in enumerate(lines, 1):
        if number < first or number in held or line.startswith(("--- ", "+++ ", "-- \n")):
            continue
        if line[0] in "+- ":
            raise BuildError(
                f"{patch.name} is not a well-formed patch: line {number}, {line.rstrip()!r}, is "
                "outside its hunk, whose header counts fewer lines"
            )


def _changed(lines: list[str], change: PatchedFile, refusal: str) -> list[str]:
    result: list[str] = []
    done = 0
    for hunk in change:
        old, new = _sides(hunk)
        where = (
            f"{refusal}: hunk @@ -{hunk.source_start},{hunk.source_length} "
            f"+{hunk.target_start},{hunk.target_length} @@"
        )
        # Without old lines (pure insertion), the header gives the line before the hunk.
        start = hunk.source_start - 1 if old else hunk.source_start
        if start < done:
            raise BuildError(f"{where} overlaps the previous hunk")
        result += lines[done:start]
        for number, expected in enumerate(old, start):
            if number >= len(lines):
                raise BuildError(f"{where} expects {expected!r} after the end of the file")
            if lines[number] != expected:
                raise BuildError(
                    f"{where} expects {expected!r} in line {number + 1} of the file, but found "
                    f"{lines[number]!r}"
                )
        if hunk.target_start != len(result) + (1 if new else 0):
            raise BuildError(
                f"{where} states that its result begins in line {hunk.target_start}, but it begins "
                f"in line {len(result) + (1 if new else 0)}"
            )
        result += new
        done = start + len(old)
    return result + lines[done:]


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """Return the lines of a hunk before and after the change."""
    old: list[str] = []
    new: list[str] = []
    sides_of = {" ": (old, new), "-": (old,), "+": (new,)}
    last: tuple[list[str], ...] = ()
    for line in hunk:
        if line.line_type in sides_of:
            last = sides_of[line.line_type]
            for side in last:
                side.append(line.value)
        elif line.line_type == "\\":  # "\ No newline at end of file" refers to the previous line
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
    return old, new
