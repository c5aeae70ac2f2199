"""Applies the patch series strictly: exact lines at exact line numbers, or not at all.

`patches/series` names the patches, one per line, in the order of application; ``#`` begins a
comment. A patch is a unified diff, as ``git diff`` or ``diff -u`` writes it, with text before the
first file (the reason for the patch). It may change text files and add new ones; renames,
deletions, modes and binary files are refused. `unidiff` reads the patch, and refuses hunks that are
shorter or longer than their headers say. There is no fuzz and no offset: a hunk that fits only
somewhere else means that upstream changed, and a person has to look.
"""

import io
from collections.abc import Iterable
from pathlib import Path

from errors import BuildError
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

NOTHING = "/dev/null"


def read_series(folder: Path) -> list[Path]:
    """Return the patches that `folder`/series lists, in order.

    Raises
    ------
    BuildError
        If there is no series file, or if it names a file that does not exist.
    """
    series = folder / "series"
    if not series.is_file():
        raise BuildError(f"{series} is missing: it must name the patches, one per line")
    patches = []
    for number, line in enumerate(series.read_text(encoding="utf-8").splitlines(), 1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        if not (folder / name).is_file():
            raise BuildError(
                f"{series}, line {number}, names {name}, but {folder} has no such file"
            )
        patches.append(folder / name)
    return patches


def changed_lines(patch: Path) -> int:
    """Return how many lines a patch adds and removes, file headers not counted."""
    parsed = _parse(patch)
    return parsed.added + parsed.removed


def apply_patch(patch: Path, root: Path) -> None:
    """Apply one patch to the source tree under `root`, with paths as ``patch -p1`` reads them.

    Raises
    ------
    BuildError
        If the patch is malformed, does something unsupported, or does not fit exactly.
    """
    for change in _parse(patch):
        name = change.target_file.partition("/")[2]
        target = (root / name).resolve()
        if not target.is_relative_to(root.resolve()):
            raise BuildError(f"{patch.name} does not apply: {name} is outside of the source tree")
        if change.source_file == NOTHING:
            if target.exists():
                raise BuildError(f"{patch.name} does not apply: it adds {name}, which exists")
            lines = []
        elif target.is_file():
            lines = _lines(target)
        else:
            raise BuildError(f"{patch.name} does not apply: there is no file {name}")
        lines = _changed(lines, change, f"{patch.name} does not apply to {name}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes("".join(lines).encode())


def _lines(file: Path) -> list[str]:
    # Only "\n" ends a line, as for diff; str.splitlines would also cut at form feeds.
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
        return f"has a binary change of {change.path}"
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
    # The parser takes what follows a complete hunk for a comment. A line there that looks like a
    # part of a hunk was lost from it by a hand edit that left the header's counts alone.
    lines_of_hunks = (line for change in parsed for hunk in change for line in hunk)
    held = {line.diff_line_no for line in lines_of_hunks if line.diff_line_no is not None}
    first = min(held)
    for number, line in enumerate(lines, 1):
        if number < first or number in held or line.startswith(("--- ", "+++ ", "-- \n")):
            continue
        if line[0] in "+- ":
            raise BuildError(
                f"{patch.name} is not a well-formed patch: line {number}, {line.rstrip()!r}, is "
                "outside of its hunk, whose header counts fewer lines"
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
        # With no old lines (pure insertion), the header names the line before the hunk.
        start = hunk.source_start - 1 if old else hunk.source_start
        if start < done:
            raise BuildError(f"{where} begins before the end of the hunk before it")
        result += lines[done:start]
        for number, expected in enumerate(old, start):
            if number >= len(lines):
                raise BuildError(f"{where} expects {expected!r} after the end of the file")
            if lines[number] != expected:
                raise BuildError(
                    f"{where} expects {expected!r} in line {number + 1} of the file, which is "
                    f"{lines[number]!r}"
                )
        if hunk.target_start != len(result) + (1 if new else 0):
            raise BuildError(
                f"{where} says that its result begins in line {hunk.target_start}, but it begins "
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
        elif line.line_type == "\\":  # "\ No newline at end of file" speaks of the line before it
            for side in last:
                side[-1] = side[-1].removesuffix("\n")
    return old, new
