"""Files made to cost time, memory or another error than `ArffError`."""

import time
import tracemalloc

import numpy as np
import pytest

from xdcc.data import ArffError, load_arff

HEADER = "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute a numeric\n@data\n"
BLANKS = " " * 60_000
CPU_SECONDS = 10
"""Linear time is at most two, beside other work; quadratic time was more than 20 seconds."""


@pytest.fixture
def load(tmp_path):
    """Load an ARFF text and an optional XML; fail if it takes long."""

    def load(text, xml=None, **options):
        path = tmp_path / "hostile.arff"
        path.write_text(text)
        if xml is not None:
            options["xml"] = tmp_path / "hostile.xml"
            options["xml"].write_bytes(xml)
        begin = time.process_time()
        try:
            return load_arff(path, **options)
        finally:
            assert time.process_time() - begin < CPU_SECONDS

    return load


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("0,1,{" + " " * 4000 + "x}y", "its weight {w}"),
        ("0,1,{x" + BLANKS + "y}", "its weight {w}"),
        ("0,x" + BLANKS + "y", "is not a finite number"),
        ("0,x" + BLANKS + "'", "is not a finite number"),
        ("0," + BLANKS + "'x'y", "expected , behind the closing quote"),
        ("0," + "\\'" * 60_000 + "%", "is not a finite number"),
        ("0," + "'\\\"" * 60_000 + " %", "expected , behind the closing quote"),
        ("0,'" + "\\\\" * 60_000 + "%", "the quote ' is not closed"),
        ("0," + "1" * 60_000 + "x", "is not a finite number"),
        ("0," + "1" * 60_000, "is not a finite number"),
        ("{0 1,1 x" + BLANKS + "y}", "is not a category"),
    ],
)
def test_dense_rows_of_long_words(load, row, problem):
    with pytest.raises(ArffError) as caught:
        load(f"{HEADER}0,1\n{row}\n")
    assert problem in caught.value.problem
    assert len(caught.value.problem) < 700


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{0 1,1 x" + BLANKS + "y}", "is not a finite number"),
        ("{0 1,1 x" + BLANKS + "y", "the sparse row is not closed"),
        ("{0 1,1 'x'" + BLANKS + "y}", "expected , or } behind the closing quote"),
        ("{0 1,1 '" + "x\\'" * 30_000, "the quote ' is not closed"),
        ("{0 1} {x" + BLANKS + "y}", "its weight {w}"),
        ("{" + "1" * 5_000 + " 1}", "expected an entry of the form 'index value'"),
        ("{" + "-" + "1" * 5_000 + " 1}", "expected an entry of the form 'index value'"),
        ("{0 1," + "1" * 60_000 + "}", "expected an entry of the form 'index value'"),
        ("{" + "1 '1'," * 30_000 + "}", "the index 1 stands behind 1"),
    ],
)
def test_sparse_rows_of_long_words(load, row, problem):
    with pytest.raises(ArffError) as caught:
        load(f"{HEADER}{{}}\n{row}\n")
    assert problem in caught.value.problem


def test_a_sparse_row_of_many_quoted_entries(load):
    n = 10_000
    header = "".join(f"@attribute a{i} {{0,1}}\n" for i in range(n))
    row = ",".join(f"{i} '1'{' ' * 100}" for i in range(n))
    dataset = load(f"@relation 'r: -C 1'\n{header}@data\n{{{row}}}\n")
    assert dataset.X.nnz == n - 1


def test_a_long_category(load):
    text = HEADER.replace("numeric", "{x" + BLANKS + "y, z}")
    dataset = load(f"{text}0,z\n1,x{BLANKS}y\n")
    assert dataset.X.tolist() == [[1], [0]]


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("digits", ["1" * 5_000, "0" * 5_000 + "1" * 10])
def test_mekas_option_of_many_digits(load, sign, digits):
    with pytest.raises(ArffError, match="the number of labels is 111111111; expected 1 to 2"):
        load(HEADER.replace("-C 1", f"-C {sign}{digits}") + "0,1\n")


def test_mekas_option_with_leading_zeros(load):
    assert load(HEADER.replace("-C 1", "-C " + "0" * 5_000 + "1") + "0,1\n").n_labels == 1


@pytest.mark.parametrize(
    "encoding",
    [
        "big5",
        "utf-7",
        "utf-32",
        "x-none",
        "hex",
        "idna",
        "undefined",
        "punycode",
        "cp037",
        "mbcs",
        "unicode_escape",
    ],
)
def test_encodings_of_the_xml(load, tmp_path, encoding):
    declared = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    with pytest.raises(ArffError, match="encoding") as caught:
        load(f"{HEADER}0,1\n", f"{declared}<labels><label name='l'/></labels>".encode())
    assert caught.value.path == tmp_path / "hostile.xml"
    assert caught.value.line == 1


def test_an_unknown_label_beside_many_long_attributes(load):
    n = 10_000
    names = "".join(f"@attribute {'ab' * 90}{i} {{0,1}}\n" for i in range(n))
    with pytest.raises(ArffError, match="is no attribute"):
        load(
            f"@relation r\n{names}@data\n{{}}\n",
            f"<labels><label name='{'ba' * 92}'/></labels>".encode(),
        )


N_LABELS, N_ROWS = 2_000, 20_000
MANY_LABELS = (
    f"@relation 'r: -C {N_LABELS}'\n"
    + "".join(f"@attribute l{i} {{0,1}}\n" for i in range(N_LABELS))
    + "@attribute a numeric\n@data\n{0 1}\n"
    + "{}\n" * (N_ROWS - 1)
)


def test_labels_take_a_byte_each(load):
    tracemalloc.start()
    try:
        dataset = load(MANY_LABELS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert dataset.Y.shape == (N_ROWS, N_LABELS)
    assert np.argwhere(dataset.Y).tolist() == [[0, 0]]
    assert peak < 2 * N_ROWS * N_LABELS


@pytest.mark.parametrize(("value", "size"), [("1", 1), ("?", 8)])
def test_the_limit_of_the_labels_memory(load, value, size):
    text = f"{HEADER}{{0 {value}}}\n{{}}\n{{}}\n"
    assert load(text, max_label_bytes=3 * size).n_samples == 3
    problem = (
        rf"Y would take {3 * size} bytes, 3 rows of 1 labels; max_label_bytes is {3 * size - 1}"
    )
    with pytest.raises(ArffError, match=problem):
        load(text, max_label_bytes=3 * size - 1)


def test_labels_are_refused_before_they_are_made(load):
    tracemalloc.start()
    try:
        with pytest.raises(ArffError, match="Y would take 40000000 bytes"):
            load(MANY_LABELS, max_label_bytes=N_ROWS * N_LABELS - 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < N_ROWS * N_LABELS
