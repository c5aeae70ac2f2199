"""`pack` and `Archive`: members come back, and archives that lie about themselves."""

import io
import tracemalloc
import zipfile
import zlib

import pytest

from xdcc.serving.archive import MOST_EXPANSION, Archive, pack


def test_members_come_back():
    members = {"a": b"", "b/c": b"xyz" * 1000}
    content = pack(members, b"the end")
    assert content.endswith(b"the end")
    archive = Archive(content)
    assert archive.names == set(members)
    assert {name: archive.read(name) for name in members} == members
    assert archive.size("b/c") == 3000
    assert content == pack(members, b"the end")


def test_what_shrinks_too_far_is_not_compressed():
    zeros = bytes(2**20)
    content = pack({"zeros": zeros}, b"")
    assert len(content) > len(zeros) / MOST_EXPANSION
    assert Archive(content).read("zeros") == zeros


def test_a_bomb_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("blanks", b" " * 2**24)
    with pytest.raises(ValueError, match="more than 100 times its own"):
        Archive(buffer.getvalue())


def test_a_bomb_that_lies_about_its_size_is_not_unpacked():
    n = 2**26
    content = bytearray(pack({"a": bytes(100)}, b""))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(n))
    content = buffer.getvalue().replace(n.to_bytes(4, "little"), (50).to_bytes(4, "little"))
    tracemalloc.start()
    try:
        with pytest.raises(zipfile.BadZipFile):
            Archive(content).read("a")
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("where", [6, 8])
def test_encrypted_members_and_other_methods_are_refused(where):
    content = bytearray(pack({"a": b"abc"}, b""))
    central = content.index(b"PK\x01\x02")
    content[central + where + 2] = 1  # a flag or a method
    with pytest.raises(ValueError, match="a is encrypted or compressed in an unknown way"):
        Archive(bytes(content))


def test_broken_members_are_refused():
    content = bytearray(pack({"a": bytes(range(256)) * 4}, b""))
    content[40] ^= 255
    with pytest.raises((zipfile.BadZipFile, zlib.error, EOFError)):
        Archive(bytes(content)).read("a")


def test_two_members_of_one_name_are_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a", b"1")
        archive.writestr("b", b"2")
    with pytest.raises(ValueError, match="two members have the same name"):
        Archive(buffer.getvalue().replace(b"b", b"a"))


def test_no_archive_and_no_member():
    with pytest.raises(zipfile.BadZipFile):
        Archive(b"PK")
    with pytest.raises(KeyError):
        Archive(pack({}, b"")).read("a")
