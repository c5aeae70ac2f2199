"""Records: named by their content, whole or missing; loose while a run goes on, then packed."""

import errno
import gzip
import hashlib
import json
import os
import tracemalloc

import numpy as np
import pytest

from experiments.engine import records, registry
from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.records import (
    RecordStore,
    StorageError,
    make_record,
    only_writer,
    read_pack,
    record_line,
    remove_leftovers,
)
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
    return make_record(task.key(), {"readings": {"labels": {"jaccard": value}}}, None, {})


def test_written_and_read(store, task, messages):
    assert store.read(task.name) is None
    record = made(task)
    record["result"]["x"] = np.arange(2)
    store.write(task.name, record, {"Y": np.eye(2, dtype=np.int8)})
    assert store.read(task.name)["result"]["x"] == [0, 1]
    assert [r["key"] for r in store.read_all()] == [task.key()]
    with np.load(store.arrays_path(task.name)) as arrays:
        assert (arrays["Y"] == np.eye(2)).all()
    assert messages == []
    assert store.read(task.name)["run"]["peak_memory"] > 1
    assert store.read(task.name)["run"]["versions"]["xdcc"]


def test_name_follows_from_the_content(store, task):
    store.write(task.name, made(task))
    assert store.path(task.name).parent.name == "digits-tiny"
    other = Task("digits-tiny", Evaluation(), 0, None, "br", {"max_depth": 3}, 0)
    assert other.name != task.name
    assert store.read(other.name) is None
    reordered = (
        Task("digits-tiny", Evaluation(), 0, None, "br", {"max_depth": 3, "a": 1}, 0),
        Task("digits-tiny", Evaluation(), 0, None, "br", {"a": 1, "max_depth": 3}, 0),
    )
    assert reordered[0].name == reordered[1].name


@pytest.mark.parametrize("content", ["", '{"key": {"format": 1', "[]", "{}", '{"key": 3}', "\x00"])
def test_truncated_record_is_named_and_missing(store, task, messages, content):
    store.write(task.name, made(task))
    store.path(task.name).write_text(content)
    assert store.read(task.name) is None
    assert len(messages) == 1
    assert str(store.path(task.name)) in messages[0]
    assert "not a whole record" in messages[0]
    store.write(task.name, made(task))
    assert store.read(task.name) is not None


def test_record_under_a_wrong_name(store, task, messages):
    store.write(task.name, made(task))
    record = json.loads(store.path(task.name).read_text())
    record["key"]["params"]["max_depth"] = 4
    store.path(task.name).write_bytes(record_line(record))
    assert store.read(task.name) is None
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
    store.write(task.name, record)
    store.path(task.name).write_bytes(forged)
    assert store.read(task.name) is None
    assert list(store.read_all()) == []
    assert "not a whole record" in messages[0]


@pytest.mark.parametrize("part", ["key", "result"])
@pytest.mark.parametrize("sealed", [False, True])
def test_deeply_nested_record_is_missing(store, task, messages, part, sealed):
    deep = b"[" * 200_000 + b"]" * 200_000
    line = record_line({"key": task.key(), part: None}).replace(b'"%s": null' % part.encode(), deep)
    store.write(task.name, made(task))
    store.path(task.name).write_bytes(_sealed_again(line) if sealed else line)
    assert store.read(task.name) is None
    assert messages


def _sealed_again(line):
    """Give a changed line a digest that fits it, like a forged record."""
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
    store.write(task.name, made(task, 1.0))

    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StorageError, match="No space left on device") as raised:
        store.write(task.name, made(task, 2.0))
    assert str(store.path(task.name)) in str(raised.value)
    monkeypatch.undo()
    assert store.read(task.name)["result"]["readings"]["labels"]["jaccard"] == 1.0
    loose = store.path(task.name)
    assert list(loose.parent.iterdir()) == [loose]


def test_records_have_the_mode_of_the_umask(store, task):
    before = os.umask(0o077)
    try:
        store.write(task.name, made(task, 1.0))
    finally:
        os.umask(before)
    assert store.path(task.name).stat().st_mode & 0o777 == 0o600


def test_folder_that_cannot_be_made(tmp_path, task):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"):
        RecordStore(tmp_path / "file").write(task, made(task))


def test_leftovers_of_killed_processes_are_removed(store, task):
    store.write(task.name, made(task))
    folder = store.path(task.name).parent
    (folder / ".abc.part").write_text("{")
    assert list(store.read_all()), "the record is read, the leftover is ignored"
    assert remove_leftovers(store.folder) == 1
    assert store.read(task.name) is not None


@pytest.fixture
def tasks():
    return [Task("digits-tiny", Evaluation(), 0, None, "br", {"max_depth": d}, 0) for d in range(6)]


def write(store, tasks, value=1.0):
    """Write a record for each task, which tells it from the others; return them."""
    for task in tasks:
        result = {"depth": task.params["max_depth"], "value": value / 3, "none": float("nan")}
        store.write(task.name, make_record(task.key(), result, None, {"warnings": ["ä\n\u2028"]}))
    return contents(store, tasks)


def contents(store, tasks):
    """Texts of the records that a newly opened store reads; as texts, NaNs are equal."""
    again = RecordStore(store.folder, store._report_broken)
    return [repr(again.read(task.name)) for task in tasks]


def names(*tasks):
    return {task.name for task in tasks}


def test_packed_equals_loose(store, tasks, messages):
    loose = write(store, tasks)
    everything = [repr(record) for record in store.read_all()]
    store.write(tasks[0].name, store.read(tasks[0].name), {"Y": []})
    file = store.pack_path("study")
    assert store.pack({"study": names(*tasks)}) == {file: len(tasks)}
    assert store.loose_names() == []
    assert contents(store, tasks) == loose
    assert [repr(store.read(task.name)) for task in tasks] == loose
    assert [repr(record) for record in store.read_all()] == everything
    assert store.arrays_path(tasks[0].name).exists(), "predictions are not packed"
    lines = gzip.decompress(file.read_bytes()).splitlines()
    assert len(lines) == len(tasks)
    assert messages == []


def test_the_same_records_give_the_same_bytes(store, tasks, tmp_path):
    write(store, tasks[:3])
    other = RecordStore(tmp_path / "elsewhere")
    for task in reversed(tasks[:3]):
        other.write(task.name, store.read(task.name))
    store.pack({"study": names(*tasks)})
    other.pack({"study": names(tasks[1])})
    other.pack({"study": names(*tasks)})
    packed = store.pack_path("study").read_bytes()
    assert packed == other.pack_path("study").read_bytes()
    assert packed[3:8] == bytes(5), "neither a file's name nor a time is in gzip's header"


def _written(path):
    """Return the inode and the time of the last change; reading changes neither."""
    return path.stat().st_ino, path.stat().st_mtime_ns


def test_nothing_new_leaves_the_file_alone(store, tasks):
    write(store, tasks)
    store.pack({"study": names(*tasks)})
    before = _written(store.pack_path("study"))
    assert store.pack({"study": names(*tasks), "empty": set()}) == {}
    assert store.pack({}) == {}, "what is packed stays, asked for or not"
    assert _written(store.pack_path("study")) == before
    assert not store.pack_path("empty").exists()


def test_loose_record_counts_and_takes_the_place_of_the_packed_one(store, tasks):
    write(store, tasks)
    store.pack({"one": names(*tasks[:3]), "two": names(*tasks[2:])})
    (new,) = write(store, [tasks[2]], value=2.0)
    assert contents(store, [tasks[2]]) == [new]
    store.pack({"one": names(*tasks)})
    assert store.loose_names() == []
    for study in ("one", "two"):
        assert repr(1 / 3) not in read_pack(store.pack_path(study)).lines[tasks[2].name].decode()
    assert contents(store, [tasks[2]]) == [new]


def test_each_file_is_all_that_its_study_needs(store, tasks):
    write(store, tasks)
    store.pack({"one": names(*tasks[:3])})
    store.pack({"one": names(*tasks[:3]), "two": names(*tasks[1:])})
    assert read_pack(store.pack_path("one")).lines.keys() == names(*tasks[:3])
    assert read_pack(store.pack_path("two")).lines.keys() == names(*tasks[1:])


def test_what_is_not_asked_for_or_broken_stays_loose(store, tasks, messages):
    write(store, tasks[:3])
    store.path(tasks[1].name).write_text("{")
    store.pack({"study": names(tasks[0], tasks[1])})
    assert set(store.loose_names()) == names(tasks[1], tasks[2])
    assert [str(store.path(tasks[1].name)) in message for message in messages] == [True]


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.9, 0.999])
def test_file_that_was_cut_off(store, tasks, messages, share):
    before = write(store, tasks)
    store.pack({"study": names(*tasks)})
    file = store.pack_path("study")
    whole = file.read_bytes()
    cut = whole[: int(share * len(whole))]
    file.write_bytes(cut)

    left = contents(store, tasks)
    found = [record for record in left if record != "None"]
    assert found == [record for record in before if record in found]
    (message,) = set(messages)
    assert message == (
        f"{file} is cut off after {len(found)} whole records; the rest counts as missing."
    )

    again = write(store, tasks, value=2.0)
    store.pack({"study": names(*tasks)})
    assert file.with_name(f"{file.name}.broken").read_bytes() == cut
    assert contents(store, tasks) == again
    assert store.loose_names() == []

    file.write_bytes(cut)
    write(store, tasks, value=3.0)
    with pytest.raises(StorageError, match=r"cannot keep .* as .*\.broken: File exists"):
        store.pack({"study": names(*tasks)})
    assert len(store.loose_names()) == len(tasks)


def test_cut_reaches_into_the_records(store, tasks, messages):
    """Half of a file that is longer than a buffer still has some of its records."""
    many = [Task("digits-tiny", Evaluation(), 0, None, "br", {"x": k}, 0) for k in range(300)]
    record = make_record(many[0].key(), None, None, {})
    for task in many:
        own = {"key": task.key(), "result": {"noise": os.urandom(200).hex()}}
        store.write(task.name, record | own)
    store.pack({"study": names(*many)})
    file = store.pack_path("study")
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    pack = read_pack(file)
    assert 100 < len(pack.lines) < 200
    assert f"after {len(pack.lines)} whole records" in pack.fault


@pytest.mark.parametrize("broken", [b"{\n", b"\n", b"[]\n", b'{"key": {"dataset"'])
def test_broken_line(store, tasks, messages, broken):
    before = write(store, tasks)
    store.pack({"study": names(*tasks)})
    file = store.pack_path("study")
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    file.write_bytes(gzip.compress(b"".join([*lines[:-1], broken])))
    left = contents(store, tasks)
    assert left.count("None") == 1
    assert all(record in (was, "None") for was, record in zip(before, left, strict=True))
    assert set(messages) == {
        f"{file} holds no whole record in line 6; what was there counts as missing."
    }


def test_record_of_another_format(store, tasks, messages):
    """The record counts as missing, and stays in the file's second copy."""
    before = write(store, tasks)
    store.pack({"study": names(*tasks)})
    file = store.pack_path("study")
    first, *rest = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    old = json.loads(first)
    old["key"]["format"] = 0
    del old["sha256"]
    kept = gzip.compress(b"".join([records.record_line(old), *rest]))
    file.write_bytes(kept)
    left = contents(store, tasks)
    assert left.count("None") == 1
    assert all(record in (was, "None") for was, record in zip(before, left, strict=True))
    assert set(messages) == {
        f"{file} holds records of another format than 1 (1); they count as missing."
    }
    again = write(store, tasks, value=2.0)
    store.pack({"study": names(*tasks)})
    assert contents(store, tasks) == again
    assert file.with_name(f"{file.name}.broken").read_bytes() == kept


def test_edited_line(store, tasks, messages):
    before = write(store, tasks)
    store.pack({"study": names(*tasks)})
    file = store.pack_path("study")
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"value": 0.33', b'"value": 0.44')
    file.write_bytes(gzip.compress(b"".join(lines)))
    left = contents(store, tasks)
    assert left.count("None") == 1
    assert sum(a == b for a, b in zip(left, before, strict=True)) == len(tasks) - 1
    assert "holds no whole record in line 3" in messages[0]


@pytest.mark.parametrize("dataset", ["../elsewhere", "..", "/tmp", "x" * 300, ""])
def test_names_that_lead_out_of_the_folder(dataset):
    record = {"key": {"dataset": dataset, "method": "br"}, "result": None}
    assert records.parse_record(records.record_line(record)) is None


def test_long_lines_are_not_taken_into_memory(store, tasks, messages, monkeypatch):
    monkeypatch.setattr(records, "_LONGEST_LINE", 2**16)
    write(store, tasks)
    store.pack({"study": names(*tasks)})
    file = store.pack_path("study")
    with file.open("ab") as end, gzip.open(end, "wb") as packed:
        packed.write(bytes(2**24))
    tracemalloc.start()
    try:
        assert "None" not in contents(store, tasks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**22
    assert "holds no whole record in line 7" in messages[0]


@pytest.mark.parametrize("place", [-8, 2, 200])
def test_damaged_file(store, tasks, messages, place):
    """If a file fails its checksum, none of its records counts: any number may be wrong."""
    write(store, tasks)
    store.pack({"study": names(*tasks)})
    file = store.pack_path("study")
    content = bytearray(file.read_bytes())
    content[place] ^= 0xFF
    file.write_bytes(content)
    assert contents(store, tasks) == ["None"] * len(tasks)
    (message,) = set(messages)
    assert message.startswith(f"{file} is damaged (")
    assert message.endswith("); all of its records count as missing.")


@pytest.mark.parametrize(("call", "nth"), [("fsync", 1), ("replace", 2), ("fsync", 3)])
def test_packing_that_fails_loses_nothing(store, tasks, monkeypatch, call, nth):
    """It is killed at the first file, at the second, or before loose records are deleted."""
    before = write(store, tasks)
    studies = {"one": names(*tasks[:3]), "two": names(*tasks[2:])}
    calls = []
    right = getattr(os, call)

    def fail(*args):
        calls.append(args)
        if len(calls) == nth:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return right(*args)

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(StorageError, match="No space left on device"):
        store.pack(studies)
    monkeypatch.undo()
    assert set(store.loose_names()) == names(*tasks)
    assert contents(store, tasks) == before
    store.pack(studies)
    assert store.loose_names() == []
    assert contents(store, tasks) == before


def test_open_store_sees_what_another_process_packs(store, tasks):
    before = write(store, tasks[:2])
    reader = RecordStore(store.folder)
    assert reader.read(tasks[2].name) is None
    store.pack({"study": names(*tasks)})
    assert [repr(reader.read(task.name)) for task in tasks[:2]] == before
    after = write(store, tasks[2:4])
    store.pack({"study": names(*tasks)})
    assert [repr(reader.read(task.name)) for task in tasks[2:4]] == after


def test_not_while_a_run_is_writing(store, tasks):
    write(store, tasks)
    with (
        only_writer(store.folder),
        pytest.raises(StorageError, match="another process is writing"),
    ):
        store.pack({"study": names(*tasks)})
    assert len(store.loose_names()) == len(tasks)
    store.pack({"study": names(*tasks)})
    assert store.loose_names() == []
