"""Errors of the ARFF reader and their positions, and linear time on malicious files."""

import pickle
import time
import tracemalloc

import numpy as np
import pytest

from xdcc.data import ArffError, load_arff

HEADER = (
    "@relation r\n"
    "@attribute a numeric\n"
    "@attribute b {x,y}\n"
    "@attribute s string\n"
    "@attribute l {0,1}\n"
    "@data\n"
)
DENSE = HEADER + "1,x,s,1\n"
SPARSE = HEADER + "{0 1}\n"


@pytest.fixture
def fail(tmp_path):
    """Load an invalid ARFF text and return the error."""

    def fail(text, xml=None, n_labels=None):
        path = tmp_path / "bad.arff"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        xml_path = None
        if xml is not None:
            xml_path = tmp_path / "bad.xml"
            xml_path.write_text(xml, encoding="utf-8")
        with pytest.raises(ArffError) as caught:
            load_arff(path, xml_path, n_labels)
        assert caught.value.path == (path if xml is None or caught.value.path == path else xml_path)
        return caught.value

    return fail


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 1, 1, "the file is empty"),
        ("% only a comment\n\n", 1, 1, "the file is empty"),
        ("a,b\n1,2\n", 1, 1, "expected @relation, @attribute or @data"),
        ("@relation r\n  @atribute a numeric\n", 2, 3, "expected @relation, @attribute or @data"),
        ("@relation r\n@attribute a numeric\n", 2, 1, "the file ends before @data"),
        ("@attribute a numeric\n@data\n1\n", 2, 1, "@data without @relation"),
        ("@relation r\n@data\n1\n", 2, 1, "@data without @attribute"),
        ("@relation r\n@relation q\n", 2, 1, "a second @relation, after the one in line 1"),
        ("@relation\n", 1, 10, "@relation without a name"),
        ("@relation 'r\n", 1, 11, "the quote ' is not closed"),
        ("@relation 'r' q\n", 1, 14, "text after the quoted name"),
        ("@relation r\n@attribute\n", 2, 11, "@attribute without a name"),
        ("@relation r\n@attribute {a,b}\n", 2, 12, "@attribute without a name"),
        ("@relation r\n@attribute 'a numeric\n", 2, 12, "the quote ' is not closed"),
        ("@relation r\n@attribute a\n", 2, 13, "attribute 'a' has the type ''"),
        ("@relation r\n@attribute a float\n", 2, 14, "has the type 'float'; expected numeric"),
        ("@relation r\n@attribute a real 7\n", 2, 14, "has the type 'real 7'"),
        ("@relation r\n@attribute a relational\n", 2, 14, "has the type 'relational'"),
        ("@relation r\n@attribute a {x,y\n", 2, 14, "does not end with a }"),
        ("@relation r\n@attribute a {x,y} z\n", 2, 14, "does not end with a }"),
        ("@relation r\n@attribute a {x,,y}\n", 2, 17, "an empty category"),
        ("@relation r\n@attribute a {}\n", 2, 15, "an empty category"),
        ("@relation r\n@attribute a {x, x}\n", 2, 18, "the category 'x' is listed twice"),
        ("@relation r\n@attribute a {'x,y}\n", 2, 15, "the quote ' is not closed"),
        ("@relation r\n@attribute a {'x'y}\n", 2, 18, "expected , after the closing quote"),
        (
            "@relation r\n@attribute a numeric\n@attribute 'a' {0,1}\n@data\n",
            3,
            12,
            "attribute 'a' is already declared in line 2",
        ),
        ("@relation r\n@attribute a numeric\n@data 1\n", 3, 7, "must start on the next line"),
        (HEADER, 6, 1, "no rows after @data"),
    ],
)
def test_errors_in_the_header(fail, text, line, column, problem):
    error = fail(text, n_labels=1)
    assert (error.line, error.column) == (line, column)
    assert problem in error.problem


@pytest.mark.parametrize(
    ("row", "column", "problem"),
    [
        ("1,x,s", 6, "the row has 3 values, but the header declares 4 attributes"),
        ("1,x,s,1,0", 9, "the row has 5 values, but the header declares 4 attributes"),
        ("1,x,s,1,", 9, "the row has 5 values"),
        ("1,z,s,1", 3, "'z' is not a category of the attribute 'b', which has {x, y}"),
        ("1,X,s,1", 3, "'X' is not a category"),
        ("1,'x,s,1", 3, "the quote ' is not closed"),
        ('1,x,"s,1', 5, 'the quote " is not closed'),
        ("1,'x'y,s,1", 6, "expected , after the closing quote"),
        ("1, 'x'y,s,1", 7, "expected , after the closing quote"),
        ("1,x, 's,1", 6, "the quote ' is not closed"),
        (" one,x,s,1", 2, "'one' is not a finite number, but the attribute 'a' is numeric"),
        ("1_0,x,s,1", 1, "'1_0' is not a finite number"),
        ("nan,x,s,1", 1, "'nan' is not a finite number"),
        ("-Infinity,x,s,1", 1, "'-Infinity' is not a finite number"),
        ("1e999,x,s,1", 1, "'1e999' is not a finite number"),
        ("0x1,x,s,1", 1, "'0x1' is not a finite number"),
        ("1,,s,1", 3, "no value for the attribute 'b'"),
        (",x,s,1", 1, "no value for the attribute 'a'; use ? for a missing value"),
        ("1,x,s,2", 7, "'2' is not a category of the attribute 'l', which has {0, 1}"),
        ("1,x,s,1,{-2}", 9, "its weight {w}, a finite number of at least 0"),
        ("1,x,s,1,{two}", 9, "its weight {w}"),
        ("1,x,s,1,{1e999}", 9, "its weight {w}"),
        ("{0 1}", 1, "a sparse row, but the first row of the file is dense"),
    ],
)
def test_errors_in_dense_rows(fail, row, column, problem):
    error = fail(f"{DENSE}\n% comment\n{row}\n", n_labels=1)
    assert (error.line, error.column) == (10, column)
    assert problem in error.problem


@pytest.mark.parametrize(
    ("row", "column", "problem"),
    [
        ("{4 1}", 2, "the index 4 is out of range: the header declares 4 attributes"),
        ("{0 1,1 y, 1 y}", 11, "the index 1 follows 1"),
        ("{1 y,0 1}", 6, "the index 0 follows 1; indices must be strictly ascending"),
        ("{-1 1}", 2, "the index -1 is out of range"),
        ("{x 1}", 2, "expected an entry of the form 'index value'"),
        ("{0}", 2, "expected an entry of the form 'index value'"),
        ("{0 1,}", 6, "expected an entry of the form 'index value'"),
        ("{0 1,,3 1}", 6, "expected an entry of the form 'index value'"),
        ("{1_0 1}", 2, "expected an entry of the form 'index value'"),
        ("{0 1 3,3 1}", 4, "'1 3' is not a finite number"),
        ("{0 inf}", 4, "'inf' is not a finite number"),
        ("{0 1_0}", 4, "'1_0' is not a finite number"),
        ("{1 z}", 4, "'z' is not a category"),
        ("{1 'x}", 4, "the quote ' is not closed"),
        ("{1 'x'y}", 7, "expected , or } after the closing quote"),
        ("{1 'x' ", 8, "the sparse row does not end with }"),
        ("{1000000000 x}", 2, "expected an entry of the form 'index value'"),
        ("{3 2}", 4, "'2' is not a category of the attribute 'l'"),
        ("{0 1,3 1", 9, "the sparse row does not end with }"),
        ("{0 1,", 6, "the sparse row does not end with }"),
        ("{", 2, "the sparse row does not end with }"),
        ("{0 1} x", 7, "expected the end of the row or its weight"),
        ("{0 1},", 7, "expected the end of the row or its weight"),
        ("{0 1}, {x}", 8, "expected the end of the row or its weight"),
        ("1,x,s,1", 1, "a dense row, but the first row of the file is sparse"),
    ],
)
def test_errors_in_sparse_rows(fail, row, column, problem):
    error = fail(f"{SPARSE}\n% comment\n{row}\n", n_labels=1)
    assert (error.line, error.column) == (10, column)
    assert problem in error.problem


def test_a_long_list_of_categories_is_cut_in_the_message(fail):
    many = ",".join(map(str, range(30)))
    text = f"@relation r\n@attribute a {{{many}}}\n@attribute l {{0,1}}\n@data\nx,1\n"
    assert "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...}" in fail(text, n_labels=1).problem


@pytest.mark.parametrize(
    ("label_type", "value", "line", "column", "problem"),
    [
        ("{0,1,2}", "1", 3, 12, "the label 'l' has the category '2'; the categories of a label"),
        ("{no,maybe}", "no", 3, 12, "the label 'l' has the category 'maybe'"),
        ("string", "1", 3, 12, "the label 'l' is a string; expected the categories {0,1}"),
        ("date", "1", 3, 12, "the label 'l' is a date"),
        ("numeric", "2", 5, 3, "the label 'l' is 2; expected 0, 1 or ? (unknown)"),
        ("numeric", "0.5", 5, 3, "the label 'l' is 0.5; expected 0, 1 or ? (unknown)"),
    ],
)
def test_labels_other_than_0_and_1(fail, label_type, value, line, column, problem):
    text = f"@relation r\n@attribute a numeric\n@attribute l {label_type}\n@data\n5,{value}\n"
    error = fail(text, n_labels=1)
    assert (error.line, error.column) == (line, column)
    assert problem in error.problem


@pytest.mark.parametrize(
    ("relation", "n_labels", "problem"),
    [
        ("r", None, "cannot determine the labels"),
        ("'r: -C 0'", None, "the number of labels is 0; expected 1 to 2"),
        ("'r: -C 3'", None, "the number of labels is 3; expected 1 to 2"),
        ("'r: -C -3'", None, "the number of labels is 3; expected 1 to 2"),
        ("r", 3, "the number of labels is 3; expected 1 to 2"),
        ("r", 2, "there are no features"),
    ],
)
def test_no_or_too_many_labels(fail, relation, n_labels, problem):
    text = f"@relation {relation}\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@data\n0,1\n"
    error = fail(text, n_labels=n_labels)
    assert (error.line, error.column) == (1, 1)
    assert problem in error.problem


@pytest.mark.parametrize(
    ("xml", "line", "column", "problem"),
    [
        ("<labels>\n  <label name='m'/>\n</labels>", 2, 3, "the label 'm' is not an attribute of"),
        ("<labels>\n<label name='L'/>", 2, 18, "malformed XML: no element found"),
        ("<labels>\n<label name=l/></labels>", 2, 13, "malformed XML"),
        ("", 1, 1, "malformed XML"),
        ("<labels><label/></labels>", 1, 9, "a <label> has no attribute 'name'"),
        (
            "<labels><label name='l'/>\n<label name='l'/></labels>",
            2,
            1,
            "the label 'l' is already named in line 1",
        ),
        ("<labels></labels>", 1, 1, "the XML contains no <label>"),
        ("<html><label name='l'/></html>", 1, 1, "expected the root element <labels>"),
    ],
)
def test_errors_in_the_xml(fail, tmp_path, xml, line, column, problem):
    error = fail(DENSE, xml)
    assert error.path == tmp_path / "bad.xml"
    assert (error.line, error.column) == (line, column)
    assert problem in error.problem


def test_error_suggests_a_similar_attribute(fail):
    text = "@relation r\n@attribute a numeric\n@attribute amazed-suprised {0,1}\n@data\n1,1\n"
    error = fail(text, "<labels><label name='amazed.suprised'/></labels>")
    assert error.problem.endswith("bad.arff (which has 'amazed-suprised')")


def test_the_message_names_file_line_and_column(fail, tmp_path):
    error = fail(DENSE + "1,x\n", n_labels=1)
    assert str(error).startswith(f"{tmp_path / 'bad.arff'}, line 8, column 4: the row has 2 values")
    assert isinstance(error, ValueError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_invalid_arguments(tmp_path):
    with pytest.raises(ValueError, match="pass either xml or n_labels, not both"):
        load_arff(tmp_path / "r.arff", tmp_path / "r.xml", 3)
    with pytest.raises(ValueError, match="n_labels is 0; expected n for the last n attributes"):
        load_arff(tmp_path / "r.arff", n_labels=0)


@pytest.mark.parametrize("rows", ["1,x,s,1\n25,y,'s t',0\n", "{0 1,3 1}\n{0 25,1 y}\n"])
def test_truncated_files(fail, tmp_path, rows):
    path = tmp_path / "cut.arff"
    text = HEADER + rows
    # After the first row, before or after its newline, and before the last newline.
    after_first = text.index("\n", len(HEADER))
    whole_rows = {after_first: 1, after_first + 1: 1, len(text) - 1: 2}
    for length in range(len(text)):
        if length in whole_rows:
            path.write_text(text[:length])
            assert load_arff(path, n_labels=1).n_samples == whole_rows[length]
        else:
            assert 1 <= fail(text[:length], n_labels=1).line <= 8


SHORT_HEADER = "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute a numeric\n@data\n"
BLANKS = " " * 60_000
CPU_SECONDS = 10
"""Linear time takes at most two seconds on a busy machine; quadratic time took more than 20."""


@pytest.fixture
def load(tmp_path):
    """Load an ARFF text and an optional XML; fail if it takes too long."""

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
        ("0," + BLANKS + "'x'y", "expected , after the closing quote"),
        ("0," + "\\'" * 60_000 + "%", "is not a finite number"),
        ("0," + "'\\\"" * 60_000 + " %", "expected , after the closing quote"),
        ("0,'" + "\\\\" * 60_000 + "%", "the quote ' is not closed"),
        ("0," + "1" * 60_000 + "x", "is not a finite number"),
        ("0," + "1" * 60_000, "is not a finite number"),
        ("{0 1,1 x" + BLANKS + "y}", "is not a category"),
    ],
)
def test_dense_rows_of_long_words(load, row, problem):
    with pytest.raises(ArffError) as caught:
        load(f"{SHORT_HEADER}0,1\n{row}\n")
    assert problem in caught.value.problem
    assert len(caught.value.problem) < 700


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{0 1,1 x" + BLANKS + "y}", "is not a finite number"),
        ("{0 1,1 x" + BLANKS + "y", "the sparse row does not end with }"),
        ("{0 1,1 'x'" + BLANKS + "y}", "expected , or } after the closing quote"),
        ("{0 1,1 '" + "x\\'" * 30_000, "the quote ' is not closed"),
        ("{0 1} {x" + BLANKS + "y}", "its weight {w}"),
        ("{" + "1" * 5_000 + " 1}", "expected an entry of the form 'index value'"),
        ("{" + "-" + "1" * 5_000 + " 1}", "expected an entry of the form 'index value'"),
        ("{0 1," + "1" * 60_000 + "}", "expected an entry of the form 'index value'"),
        ("{" + "1 '1'," * 30_000 + "}", "the index 1 follows 1"),
    ],
)
def test_sparse_rows_of_long_words(load, row, problem):
    with pytest.raises(ArffError) as caught:
        load(f"{SHORT_HEADER}{{}}\n{row}\n")
    assert problem in caught.value.problem


def test_a_sparse_row_of_many_quoted_entries(load):
    n = 10_000
    header = "".join(f"@attribute a{i} {{0,1}}\n" for i in range(n))
    row = ",".join(f"{i} '1'{' ' * 100}" for i in range(n))
    dataset = load(f"@relation 'r: -C 1'\n{header}@data\n{{{row}}}\n")
    assert dataset.X.nnz == n - 1


def test_a_long_category(load):
    text = SHORT_HEADER.replace("numeric", "{x" + BLANKS + "y, z}")
    dataset = load(f"{text}0,z\n1,x{BLANKS}y\n")
    assert dataset.X.tolist() == [[1], [0]]


@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("digits", ["1" * 5_000, "0" * 5_000 + "1" * 10])
def test_mekas_option_of_many_digits(load, sign, digits):
    with pytest.raises(ArffError, match="the number of labels is 111111111; expected 1 to 2"):
        load(SHORT_HEADER.replace("-C 1", f"-C {sign}{digits}") + "0,1\n")


def test_mekas_option_with_leading_zeros(load):
    assert load(SHORT_HEADER.replace("-C 1", "-C " + "0" * 5_000 + "1") + "0,1\n").n_labels == 1


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
        load(f"{SHORT_HEADER}0,1\n", f"{declared}<labels><label name='l'/></labels>".encode())
    assert caught.value.path == tmp_path / "hostile.xml"
    assert caught.value.line == 1


def test_an_unknown_label_beside_many_long_attributes(load):
    n = 10_000
    names = "".join(f"@attribute {'ab' * 90}{i} {{0,1}}\n" for i in range(n))
    with pytest.raises(ArffError, match="is not an attribute"):
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
def test_memory_limit_of_labels(load, value, size):
    text = f"{SHORT_HEADER}{{0 {value}}}\n{{}}\n{{}}\n"
    assert load(text, max_label_bytes=3 * size).n_samples == 3
    problem = (
        rf"Y would take {3 * size} bytes, 3 rows of 1 labels; max_label_bytes is {3 * size - 1}"
    )
    with pytest.raises(ArffError, match=problem):
        load(text, max_label_bytes=3 * size - 1)


def test_memory_limit_is_checked_before_allocation(load):
    tracemalloc.start()
    try:
        with pytest.raises(ArffError, match="Y would take 40000000 bytes"):
            load(MANY_LABELS, max_label_bytes=N_ROWS * N_LABELS - 1)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < N_ROWS * N_LABELS
