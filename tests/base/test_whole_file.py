"""Files that are replaced as a whole: links, modes, what is not a file, and killed processes."""

import errno
import fcntl
import io
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from xdcc.base.whole_file import whole_file

LEFTOVER = f".model.{'0' * 32}.part"


def write(path: Any, content: Any = b"new") -> None:
    with whole_file(path) as file:
        file.write(content)


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o027, 0o077])
def test_a_new_file_has_the_mode_of_the_umask(mask, umask, tmp_path):
    umask(mask)
    write(tmp_path / "model")
    assert (tmp_path / "model").stat().st_mode & 0o7777 == 0o666 & ~mask


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_the_mode_of_an_older_file_is_kept(mode, umask, tmp_path):
    (tmp_path / "model").write_bytes(b"old")
    (tmp_path / "model").chmod(mode)
    umask(0o077)
    with whole_file(tmp_path / "model") as file:
        file.write(b"new")
        assert os.fstat(file.fileno()).st_mode & 0o7777 == 0o600  # nobody else reads a part of it
    assert (tmp_path / "model").stat().st_mode & 0o7777 == mode
    assert (tmp_path / "model").read_bytes() == b"new"


@pytest.mark.parametrize("old", [b"old", None])
def test_links_are_followed(old, tmp_path):
    (tmp_path / "models").mkdir()
    target = tmp_path / "models" / "model"
    if old is not None:
        target.write_bytes(old)
    (tmp_path / "models" / "latest").symlink_to("model")
    (tmp_path / "current").symlink_to(Path("models") / "latest")
    write(tmp_path / "current")
    assert target.read_bytes() == b"new"
    assert os.readlink(tmp_path / "current") == "models/latest"
    assert os.readlink(tmp_path / "models" / "latest") == "model"
    assert not target.is_symlink()


def refused(path: Any, kind: type[OSError], message: str) -> None:
    """Check that the block is not run."""
    with pytest.raises(kind, match=message) as raised, whole_file(path):
        pytest.fail("the block was run")
    assert str(raised.value.filename) in str(raised.value)


def test_only_regular_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    main, other = pty.openpty()
    device = os.ttyname(other)
    (tmp_path / "link").symlink_to(device)
    for path in (tmp_path / "fifo", tmp_path / "socket", device, tmp_path / "link"):
        before = os.stat(path)
        refused(path, OSError, "A device, pipe or socket is not replaced")
        assert os.path.samestat(os.stat(path), before)
    os.close(main)
    os.close(other)
    refused(tmp_path, IsADirectoryError, "A folder is not replaced by a file")


def test_the_folder_has_to_exist(tmp_path):
    refused(tmp_path / "missing" / "model", FileNotFoundError, r"folder does not exist: .*missing'")
    (tmp_path / "file").write_bytes(b"")
    refused(tmp_path / "file" / "model", NotADirectoryError, "Not a directory")
    (tmp_path / "loop").symlink_to("loop")
    refused(tmp_path / "loop", OSError, "symbolic links")


@pytest.mark.parametrize("path", [io.BytesIO(), 3, None, b"model"])
def test_anything_else_is_not_a_path(path):
    with pytest.raises(TypeError, match=f"name of a file, not a {type(path).__name__}: file obj"):
        write(path)


def test_an_error_leaves_the_older_file(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with pytest.raises(TypeError, match="bytes-like"):
        write(path, "text")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


KILLED = """
import os, signal, sys
from xdcc.base.whole_file import whole_file
with whole_file(sys.argv[1]) as file:
    file.write(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_files_of_killed_processes_are_deleted(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    others = {".model.json.part", ".model2." + "0" * 32 + ".part", ".model." + "x" * 32 + ".part"}
    for name in others:
        (tmp_path / name).write_bytes(b"")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-P", "-c", KILLED, path], check=False)
        assert done.returncode == -signal.SIGKILL
        assert path.read_bytes() == b"old"
        assert len(os.listdir(tmp_path)) == 2 + len(others)  # that of the first is deleted
    with whole_file(path) as running:  # the files of processes at work are not
        running.write(b"earlier")
        write(path)
        assert path.read_bytes() == b"new"
    assert path.read_bytes() == b"earlier"
    assert set(os.listdir(tmp_path)) == {"model", *others}


def test_a_leftover_that_is_not_a_file_is_harmless(tmp_path):
    os.mkfifo(tmp_path / LEFTOVER)
    write(tmp_path / "model")  # does not wait for a writer
    (tmp_path / LEFTOVER).unlink(missing_ok=True)
    (tmp_path / LEFTOVER).symlink_to(tmp_path / "model")
    write(tmp_path / "model")
    assert (tmp_path / LEFTOVER).is_symlink()


def test_without_locks_leftovers_stay(tmp_path, monkeypatch):
    def no_locks(*args):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    (tmp_path / LEFTOVER).write_bytes(b"")
    write(tmp_path / "model")
    assert set(os.listdir(tmp_path)) == {"model", LEFTOVER}


def test_a_new_file_that_is_deleted_before_it_is_locked(tmp_path, monkeypatch):
    lock, calls = fcntl.flock, []

    def deleted(*args):
        calls.append(args)
        if len(calls) == 1:
            (new,) = tmp_path.iterdir()
            new.unlink()
        lock(*args)

    monkeypatch.setattr(fcntl, "flock", deleted)
    write(tmp_path / "model")
    assert len(calls) == 2
    assert os.listdir(tmp_path) == ["model"]


MANY = """
import sys
from xdcc.base.whole_file import whole_file
for _ in range(15):
    with whole_file(sys.argv[1]) as file:
        for _ in range(10):
            file.write(sys.argv[2].encode() * 9999)
            file.flush()
"""


def test_processes_that_write_one_file(tmp_path):
    path = tmp_path / "model"
    write(path)
    command = [sys.executable, "-P", "-c", MANY, path]
    writers = [subprocess.Popen([*command, letter]) for letter in "abc"]
    contents = {b"new", *(letter * 99990 for letter in (b"a", b"b", b"c"))}
    while any(writer.poll() is None for writer in writers):
        assert path.read_bytes() in contents
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["model"]
