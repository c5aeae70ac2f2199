"""Builds the wheel again and again: ``python third_party/xgboost/develop.py [folder]``.

For who changes the plugin. The source tree stays in the folder (``build/xgboost`` unless named),
and so do its object files: of the plugin only files that changed are copied, so that CMake compiles
only these and what includes them. A changed patch or pin makes the tree anew. Then pip installs the
result into the environment of this Python, which needs the packages that pyproject.toml lists.

``--test`` also builds and runs the plugin's C++ tests, ``tests/plugins/cpp``.

``--sanitize address,undefined`` compiles the checks of these sanitizers into the plugin and into
xdcc's kernels, in a folder of its own, and installs both; ``sanitized.py`` runs them.
``--coverage`` compiles counters into the plugin, in a folder of its own, too; ``covered.py`` reads
what they have counted.
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
    """Make the source tree in `folder` what a build would stage, and return its root.

    Files that are right already are left alone, times of change included.
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
    """Make the folder `copy` equal to `original`, touching only what differs."""
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
    """Let pip build a project in a folder and install it, or end with pip's exit status."""
    command = ["-m", "pip", "install", "--no-build-isolation", "--no-deps", "--force-reinstall"]
    chosen = [f"build-dir={folder}", *settings]
    options = [part for setting in chosen for part in ("-C", setting)]
    if verbose or not folder.exists():  # from nothing it takes minutes: pip shows how far it is
        command.append("--verbose")
    result = subprocess.run([sys.executable, *command, *options, project], env=environ, check=False)
    if result.returncode:
        raise SystemExit(result.returncode)


def main(arguments: list[str]) -> None:
    """Update the source tree, compile what changed, and install."""
    parser = argparse.ArgumentParser(prog="develop.py", description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="where sources and object files stay")
    parser.add_argument("--test", action="store_true", help="run the plugin's C++ tests, too")
    parser.add_argument("--sanitize", metavar="NAMES", help="build with these sanitizers, and xdcc")
    parser.add_argument("--coverage", action="store_true", help="count the plugin's lines that run")
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
