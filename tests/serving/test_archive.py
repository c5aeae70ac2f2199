"""Archives and arrays: they are read as they were written, and invalid ones are refused."""

import io
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from xdcc.serving.archive import MOST_EXPANSION, Archive, from_npy, pack, to_npy


def test_members_come_back():
    members = {"a": b"", "b/c": b"xyz" * 1000}
    content = pack(members, b"the end")
    assert content.endswith(b"the end")
    archive = Archive(content)
    assert archive.names == set(members)
    assert {name: archive.read(name) for name in members} == members
    assert archive.size("b/c") == 3000
    assert content == pack(members, b"the end")


def test_highly_compressible_content_is_not_compressed():
    zeros = bytes(2**20)
    content = pack({"zeros": zeros}, b"")
    assert len(content) > len(zeros) / MOST_EXPANSION
    assert Archive(content).read("zeros") == zeros


def test_a_zip_bomb_is_refused():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("blanks", b" " * 2**24)
    with pytest.raises(ValueError, match="more than 100 times its own"):
        Archive(buffer.getvalue())


def test_a_zip_bomb_with_a_wrong_size_is_not_unpacked():
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


def test_invalid_archive_and_missing_member():
    with pytest.raises(zipfile.BadZipFile):
        Archive(b"PK")
    with pytest.raises(KeyError):
        Archive(pack({}, b"")).read("a")


def test_numpy_reads_it():
    array = np.arange(6.0).reshape(2, 3)
    read = np.load(io.BytesIO(to_npy(array)), allow_pickle=False)
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize("order", ["C", "F"])
def test_order_in_memory_is_kept(order):
    array = np.asarray(np.arange(6.0).reshape(2, 3), order=order)
    assert from_npy(to_npy(array)).flags[f"{order}_CONTIGUOUS"]


def test_it_can_be_written_to_and_has_the_machines_byte_order():
    array = from_npy(to_npy(np.arange(3, dtype=">i4")))
    array += 1
    assert array.dtype == np.int32
    np.testing.assert_array_equal(array, [1, 2, 3])


def test_objects_are_refused():
    with pytest.raises(ValueError, match="allow_pickle=False"):
        to_npy(np.array([{}], dtype=object))


def _npy(header, content=b"", version=(1, 0)):
    text = header.encode()
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(2, "little") + text + content


def _header(descr="'<f8'", shape="(1,)", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}}}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "magic"),
        (b"PK", "magic"),
        (_npy(_header(), bytes(8), (3, 0)), "format"),
        (_npy(_header(), bytes(8), (9, 9)), "version|format"),
        (_npy(_header(), bytes(7)), "has 7 bytes"),
        (_npy(_header(), bytes(9)), "has 9 bytes"),
        (_npy(_header(shape="(10**12,)"), bytes(8)), "malformed"),
        (_npy(_header(shape="(1000000000000,)"), bytes(8)), "has 8 bytes"),
        (_npy(_header(shape="(-1, -1)"), bytes(8)), "shape"),
        (_npy(_header(shape="1"), bytes(8)), "shape"),
        (_npy(_header("'|O'"), bytes(8)), "has the type object"),
        (_npy(_header("'<U0'", "(1000000000000,)")), "has the type <U0"),
        (_npy(_header("'|V8'"), bytes(8)), "has the type"),
        (_npy(_header("[('a', '<f8')]"), bytes(8)), "has the type"),
        (_npy(_header("'<c16'"), bytes(16)), "has the type complex128"),
        (_npy(_header("'|b1'"), b"\x02"), "entries other than 0 and 1"),
        (_npy(_header("'<U1'"), b"\xff\xff\xff\xff"), "an invalid character"),
        (_npy("{"), "header"),
        (_npy("(" * 5000), "header"),
        (_npy("[]"), "header|dict"),
        (_npy(_header("__import__('os')"), bytes(8)), "header|malformed"),
    ],
)
def test_what_is_refused_before_memory_is_taken(content, message):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            from_npy(content)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()
