"""Makes the source tree that is built: pinned sdist + patches + plugin + local version + NOTICE."""

import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

from errors import BuildError
from patching import apply_patch, read_series
from pin import Pin, read_pin
from sdist import extract_sdist, obtain_sdist

HERE = Path(__file__).resolve().parent
PIN = HERE / "upstream.toml"
PATCHES = HERE / "patches"
NOTICE = HERE / "NOTICE"
PLUGIN = HERE.parent.parent / "plugins" / "multilabel"

# CMake definitions that differ from upstream's CMake defaults. They are written into the staged
# pyproject.toml, so a config setting or CMAKE_ARGS of the user's still overrides them. Hidden
# symbols keep the C++ of this library apart from that of other libraries in the same process; the
# official wheels are built so. The unity build compiles many files at once, since much of the time
# goes into reading the same headers (build_cost.py measures what it saves).
CMAKE_DEFAULTS = {
    "HIDE_CXX_SYMBOLS": "ON",
    "CMAKE_UNITY_BUILD": "ON",
    "CMAKE_UNITY_BUILD_BATCH_SIZE": "25",
}


def stage(work: Path, environ: Mapping[str, str]) -> Path:
    """Make the source tree in the folder `work` and return its root.

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
        raise BuildError(f"there is no folder {PLUGIN}: build from a complete clone of xdcc")
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
    """Replace the one line `old`; a local change of upstream's files must not go astray."""
    text, count = re.subn(rf"^{re.escape(old)}$", lambda _: new, text, flags=re.MULTILINE)
    if count != 1:
        raise BuildError(f"upstream's pyproject.toml has {count} lines {old!r} instead of one")
    return text
