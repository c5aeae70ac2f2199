"""Records are whole or not there."""

import errno
import hashlib
import json
import os

import numpy as np
import pytest

from experiments.engine import registry
from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.records import RecordStore, make_record, record_line
from experiments.engine.storage import StorageError, remove_leftovers
from experiments.engine.task import Task, execute
from xdcc.data.published import content_digest


@pytest.fixture
def task():
    return Task("digits-tiny", Evaluation(), 0, Inner(3, 1), "br", {"max_depth": 3}, 0)


@pytest.fixture
def messages():
    return []


@pytest.fixture
def store(tmp_path, messages):
    return RecordStore(tmp_path / "records", messages.append)


def made(task, value=1.0):
    return make_record(task, {"readings": {"labels": {"jaccard": value}}}, None, {})


def test_written_and_read(store, task, messages):
    assert store.read(task) is None
    record = made(task)
    record["result"]["x"] = np.arange(2)
    store.write(task, record, {"Y": np.eye(2, dtype=np.int8)})
    assert store.read(task)["result"]["x"] == [0, 1]
    assert [r["key"] for r in store.read_all()] == [task.key()]
    with np.load(store.arrays_path(task)) as arrays:
        assert (arrays["Y"] == np.eye(2)).all()
    assert messages == []
    assert store.read(task)["run"]["peak_memory"] > 1
    assert store.read(task)["run"]["versions"]["xdcc"]


def test_name_follows_from_the_content(store, task):
    store.write(task, made(task))
    assert store.path(task).parent.name == "digits-tiny"
    other = Task("digits-tiny", Evaluation(), 0, None, "br", {"max_depth": 3}, 0)
    assert other.name != task.name
    assert store.read(other) is None
    reordered = (
        Task("digits-tiny", Evaluation(), 0, None, "br", {"max_depth": 3, "a": 1}, 0),
        Task("digits-tiny", Evaluation(), 0, None, "br", {"a": 1, "max_depth": 3}, 0),
    )
    assert reordered[0].name == reordered[1].name


@pytest.mark.parametrize("content", ["", '{"key": {"format": 1', "[]", "{}", '{"key": 3}', "\x00"])
def test_truncated_record_is_named_and_missing(store, task, messages, content):
    store.write(task, made(task))
    store.path(task).write_text(content)
    assert store.read(task) is None
    assert len(messages) == 1
    assert str(store.path(task)) in messages[0]
    assert "not a whole record" in messages[0]
    store.write(task, made(task))
    assert store.read(task) is not None


def test_record_under_a_wrong_name(store, task, messages):
    store.write(task, made(task))
    record = json.loads(store.path(task).read_text())
    record["key"]["params"]["max_depth"] = 4
    store.path(task).write_bytes(record_line(record))
    assert store.read(task) is None
    assert messages


def _forged(record, line):
    return json.dumps({"key": record["key"], "result": "forged"}).encode()


def _with_the_digest_of_another(record, line):
    return line.replace(b"1.0", b"0.5")


def _with_another_version(record, line):
    version = record["run"]["versions"]["numpy"].encode()
    return line.replace(version, b"1.0")


def _with_other_data(record, line):
    return line.replace(b"abc", b"abd")


def _spelled_otherwise(record, line):
    return json.dumps(json.loads(line), indent=1).encode()


def _cut(record, line):
    return line[:-1]


def _without_a_digest(record, line):
    return json.dumps(record).encode() + b"\n"


@pytest.mark.parametrize(
    "forge",
    [
        _forged,
        _with_the_digest_of_another,
        _with_another_version,
        _with_other_data,
        _spelled_otherwise,
        _cut,
        _without_a_digest,
    ],
)
def test_edited_record_is_named_and_missing(store, task, messages, forge):
    record = made(task)
    record["run"]["data"] = {"train": "abc"}
    line = record_line(record)
    forged = forge(record, line)
    assert forged != line
    store.write(task, record)
    store.path(task).write_bytes(forged)
    assert store.read(task) is None
    assert list(store.read_all()) == []
    assert "not a whole record" in messages[0]


@pytest.mark.parametrize("part", ["key", "result"])
@pytest.mark.parametrize("sealed", [False, True])
def test_deeply_nested_record_is_missing(store, task, messages, part, sealed):
    deep = b"[" * 200_000 + b"]" * 200_000
    line = record_line({"key": task.key(), part: None}).replace(b'"%s": null' % part.encode(), deep)
    store.write(task, made(task))
    store.path(task).write_bytes(_sealed_again(line) if sealed else line)
    assert store.read(task) is None
    assert messages


def _sealed_again(line):
    """Give a line the digest that fits it, as who forges a record could."""
    text = line.rpartition(b', "sha256": ')[0] + b"}"
    digest = hashlib.sha256(text).hexdigest()
    return text[:-1] + f', "sha256": "{digest}"}}\n'.encode()


def test_a_record_says_which_data_it_is_of(task):
    record, _ = execute(task)
    assert record["error"] is None
    train, test = task.inner.parts(task.evaluation.parts(registry.dataset(task.dataset), 0)[0])
    assert record["run"]["data"] == {"train": content_digest(train), "test": content_digest(test)}


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_full_disk_loses_nothing(store, task, monkeypatch, call):
    store.write(task, made(task, 1.0))

    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StorageError, match="No space left on device") as raised:
        store.write(task, made(task, 2.0))
    assert str(store.path(task)) in str(raised.value)
    monkeypatch.undo()
    assert store.read(task)["result"]["readings"]["labels"]["jaccard"] == 1.0
    assert [path.name for path in store.path(task).parent.iterdir()] == [store.path(task).name]


def test_folder_that_cannot_be_made(tmp_path, task):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        RecordStore(tmp_path / "file").write(task, made(task))


def test_leftovers_of_killed_processes_are_removed(store, task):
    store.write(task, made(task))
    folder = store.path(task).parent
    (folder / ".abc.part").write_text("{")
    assert list(store.read_all()), "a leftover is no record"
    assert remove_leftovers(store.folder) == 1
    assert store.read(task) is not None
