"""Builds the wheel incrementally: ``python third_party/xgboost/develop.py [folder]``.

Run it after changing the plugin. The folder (default: ``build/xgboost``) keeps the source tree and
its object files. Only changed files of the plugin are copied, so CMake recompiles only these and
the files that include them. If a patch or the pin changes, the tree is staged again. pip then
installs the result into the environment of this Python, which needs the packages listed in
pyproject.toml.

``--test`` also builds and runs the plugin's C++ tests, ``tests/plugins/cpp``.

``--sanitize address,undefined`` builds the plugin and xdcc's kernels with these sanitizers, in a
separate folder, and installs both; run them with ``sanitized.py``. ``--coverage`` builds the plugin
with coverage counters, also in a separate folder; ``covered.py`` reports them.
"""

import argparse
import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pin import BuildError
from staging import HERE, PATCHES, PIN, PLUGIN, stage

ROOT = HERE.parent.parent
FOLDER = ROOT / "build" / "xgboost"
TESTS = ROOT / "tests" / "plugins" / "cpp"


def update(folder: Path, environ: Mapping[str, str]) -> Path:
    """Make the source tree in `folder` equal to a staged one, and return its root.

    Unchanged files keep their modification times.
    """
    made_from = "".join(
        path.read_text(encoding="utf-8") for path in [PIN, *sorted(PATCHES.iterdir())]
    )
    stamp = folder / "made_from.txt"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != made_from:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        source = stage(folder, environ)
        (folder / "source.txt").write_text(source.name, encoding="utf-8")
        stamp.write_text(made_from, encoding="utf-8")
    source = folder / (folder / "source.txt").read_text(encoding="utf-8")
    mirror(PLUGIN, source / "cpp_src" / "plugin" / PLUGIN.name)
    return source


def mirror(original: Path, copy: Path) -> None:
    """Make the folder `copy` equal to `original`, writing only files that differ."""
    wanted = {path.relative_to(original) for path in original.rglob("*") if path.is_file()}
    for path in [path for path in copy.rglob("*") if path.is_file()]:
        if path.relative_to(copy) not in wanted:
            path.unlink()
    for name in wanted:
        target = copy / name
        if not target.is_file() or not filecmp.cmp(original / name, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original / name, target)


def install(
    project: Path,
    folder: Path,
    environ: Mapping[str, str],
    *settings: str,
    verbose: bool = False,
) -> None:
    """Build a project in a folder with pip and install it; exit with pip's status if it fails."""
    command = ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--force-reinstall"]
    chosen = [f"build-dir={folder}", *settings]
    options = [part for setting in chosen for part in ("-C", setting)]
    if verbose or not folder.exists():  # a full build takes minutes, so show pip's progress
        command.append("--verbose")
    result = subprocess.run([sys.executable, *command, *options, project], env=environ, check=False)
    if result.returncode:
        raise SystemExit(result.returncode)


def main(arguments: list[str]) -> None:
    """Update the source tree, compile the changes, and install the result."""
    parser = argparse.ArgumentParser(prog="develop.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="folder of the sources and object files")
    parser.add_argument("--test", action="store_true", help="also run the plugin's C++ tests")
    parser.add_argument("--sanitize", metavar="NAMES", help="build with sanitizers, xdcc too")
    parser.add_argument("--coverage", action="store_true", help="count executed plugin lines")
    chosen = parser.parse_args(arguments)
    name = "sanitized" if chosen.sanitize else "covered" if chosen.coverage else FOLDER.name
    folder = Path(chosen.folder or FOLDER.with_name(name)).resolve()
    environ = {"CMAKE_GENERATOR": "Ninja"} | os.environ
    try:
        source = update(folder, environ)
    except BuildError as error:
        raise SystemExit(f"xdcc: {error}") from None
    settings = [f"cmake.define.XDCC_TESTS={TESTS if chosen.test else ''}"]
    flags = f"-fsanitize={chosen.sanitize}" if chosen.sanitize else "--coverage"
    if chosen.sanitize or chosen.coverage:
        environ = environ | {"LDFLAGS": f"{environ.get('LDFLAGS', '')} {flags}"}
    if chosen.sanitize:
        settings.append(f"cmake.define.XDCC_SANITIZE={chosen.sanitize}")
    elif chosen.coverage:
        settings.append("cmake.define.XDCC_COVERAGE=ON")
    install(source, folder / "objects", environ, *settings, verbose=chosen.test)
    if not chosen.sanitize:
        return
    environ = environ | {
        "CXXFLAGS": f"{environ.get('CXXFLAGS', '')} {flags} -D_GLIBCXX_ASSERTIONS -O1 -g1"
    }
    install(ROOT, folder / "xdcc", environ, "setup-args=-Dbuildtype=debugoptimized")


if __name__ == "__main__":
    main(sys.argv[1:])
