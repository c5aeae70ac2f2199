"""The reader of ARFF files: formats, round trips, and agreement of the fast and the exact path."""

from pathlib import Path

import numpy as np
import pytest
import scipy.io.arff
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from xdcc.data import ArffError, load_arff
from xdcc.data.arff_rows import (
    AttributeReader,
    _exact_dense,
    _exact_sparse,
    read_dense,
    read_sparse,
)
from xdcc.data.arff_text import Line, read_header

NAN = np.nan
LABELS_XML = '<labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'


@pytest.fixture
def read(tmp_path):
    """Write the text (or bytes) of an ARFF file and an optional XML, and load them."""

    def read(text, xml=None, n_labels=None):
        arff_path = tmp_path / "some data.arff"
        arff_path.write_bytes(text if isinstance(text, bytes) else text.encode())
        if xml is None:
            return load_arff(arff_path, n_labels=n_labels)
        xml_path = tmp_path / "labels.xml"
        xml_path.write_text(xml, encoding="utf-8")
        return load_arff(arff_path, xml_path, n_labels)

    return read


def test_a_dense_file_with_numeric_and_nominal_features(read):
    dataset = read(
        "@relation weather\n"
        "@attribute temperature numeric\n"
        "@attribute outlook {sunny,rainy,overcast}\n"
        "@attribute play {0,1}\n"
        "@attribute swim {0,1}\n"
        "@data\n"
        "21.5,overcast,1,0\n"
        "-3e-1,sunny,0,1\n",
        n_labels=2,
    )
    assert_array_equal(dataset.X, [[21.5, 2], [-0.3, 0]])
    assert dataset.X.dtype == np.float64
    assert dataset.X.flags.c_contiguous
    assert_array_equal(dataset.Y, [[1, 0], [0, 1]])
    assert dataset.Y.dtype == np.int8
    assert dataset.feature_names == ("temperature", "outlook")
    assert dataset.feature_types == ("numeric", "nominal")
    assert dataset.categories == (None, ("sunny", "rainy", "overcast"))
    assert dataset.label_names == ("play", "swim")
    assert dataset.name == "weather"
    assert dataset.dropped == ()
    assert dataset.sample_weight is None


def test_a_sparse_file_where_absent_is_zero_or_the_first_category(read):
    dataset = read(
        "@relation r\n"
        "@attribute a numeric\n"
        "@attribute b {x,y,z}\n"
        "@attribute c real\n"
        "@attribute l {0,1}\n"
        "@data\n"
        "{0 2.5,2 ?,3 1}\n"
        "{ }\n"
        "{1 z, 2 0}\n"
        "{1 x}\n",
        n_labels=1,
    )
    assert isinstance(dataset.X, sparse.csr_array)
    assert_array_equal(dataset.X.toarray(), [[2.5, 0, NAN], [0, 0, 0], [0, 2, 0], [0, 0, 0]])
    # Explicit zeros and first categories are not stored.
    assert dataset.X.nnz == 3
    assert_array_equal(dataset.Y, [[1], [0], [0], [0]])
    assert dataset.Y.dtype == np.int8


def test_the_labels_are_the_last_or_the_first_attributes(read):
    text = "@relation r\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute c {0,1}\n@data\n1,0,1\n"
    assert read(text, n_labels=2).label_names == ("b", "c")
    assert read(text, n_labels=-2).label_names == ("a", "b")


@pytest.mark.parametrize(
    ("relation", "labels", "name"),
    [
        ("'Slashdot: -C 2 -split-number 1891' %50", ("a", "b"), "Slashdot"),
        ("'x y: -C -1'", ("c",), "x y"),
        ("x:-C  1", ("a",), "x"),
        ("'LangLog: -C 1-weka.filters.Reorder-R2'", ("a",), "LangLog"),
        ("' -C 1'", ("a",), "some data"),
    ],
)
def test_mekas_option_in_the_relation_names_the_labels(read, relation, labels, name):
    dataset = read(
        f"@relation {relation}\n"
        "@attribute a {0,1}\n@attribute b {0,1}\n@attribute c {0,1}\n@data\n1,0,1\n"
    )
    assert dataset.label_names == labels
    assert dataset.name == name


def test_n_labels_overrides_mekas_option(read):
    text = "@relation 'r: -C 1'\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0\n"
    assert read(text, n_labels=1).label_names == ("b",)


def test_xml_determines_labels_and_their_order(read):
    dataset = read(
        "@relation 'r: -C 1'\n"
        "@attribute l1 {0,1}\n@attribute a numeric\n@attribute l2 {0,1}\n"
        "@attribute b numeric\n@attribute l3 {0,1}\n"
        "@data\n1,5,0,6,0\n0,7,1,8,1\n",
        LABELS_XML.format("<label name='l3'/><label name='l1'></label><label name='l2'/>"),
    )
    assert dataset.label_names == ("l3", "l1", "l2")
    assert_array_equal(dataset.Y, [[0, 1, 0], [1, 0, 1]])
    assert dataset.feature_names == ("a", "b")
    assert_array_equal(dataset.X, [[5, 6], [7, 8]])


def test_a_hierarchy_of_labels_is_read_in_document_order(read):
    dataset = read(
        "@relation r\n@attribute a numeric\n@attribute c {0,1}\n@attribute p {0,1}\n"
        "@attribute q {0,1}\n@data\n5,1,0,0\n",
        '<?xml version="1.0" encoding="utf-8"?>\n<!-- two levels -->\n'
        "<labels><label name='p'><label name='c'/></label><label name='q'/></labels>",
    )
    assert dataset.label_names == ("p", "c", "q")
    assert_array_equal(dataset.Y, [[0, 1, 0]])


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        ("plain", "plain"),
        ("0;", "0;"),
        ("1-1/2", "1-1/2"),
        ("50%", "50%"),
        ("don't", "don't"),
        (r"back\slash", r"back\slash"),
        ("'two words'", "two words"),
        ('"two words"', "two words"),
        ('"it\'s"', "it's"),
        (r"'it\'s'", "it's"),
        (r"'a\\b'", r"a\b"),
        (r"'tab\tnew\nline\r'", "tab\tnew\nline\r"),
        (r"'caf\u00e9'", "café"),
        ("'{brace}, comma % percent'", "{brace}, comma % percent"),
        ("Größe", "Größe"),
        ("'line\u2028separator'", "line\u2028separator"),
    ],
)
def test_quoted_escaped_and_unusual_names(read, declared, name):
    dataset = read(
        f"@relation r\n@attribute {declared} numeric\n@attribute l {{0,1}}\n@data\n5,1\n",
        n_labels=1,
    )
    assert dataset.feature_names == (name,)


def test_unusual_label_names_match_the_xml(read):
    dataset = read(
        "@relation r\n@attribute a numeric\n@attribute 'R\\'n\\'B & <Größe>' {0,1}\n@data\n5,1\n",
        LABELS_XML.format("<label name=\"R'n'B &amp; &lt;Größe&gt;\"/>"),
    )
    assert dataset.label_names == ("R'n'B & <Größe>",)


def test_utf8_latin1_and_byte_order_mark(read):
    text = "@relation r\n@attribute Größe numeric\n@attribute l {0,1}\n@data\n5,1\n"
    for encoding in ("utf-8", "utf-8-sig", "latin-1"):
        assert read(text.encode(encoding), n_labels=1).feature_names == ("Größe",)


def test_keywords_and_types_in_upper_and_lower_case(read):
    dataset = read(
        "@RELATION r\n@Attribute a REAL\n@ATTRIBUTE b Integer\n@attribute l NUMERIC\n@DATA\n"
        "1,2,1\n",
        n_labels=1,
    )
    assert_array_equal(dataset.X, [[1, 2]])


def test_comments_blank_lines_and_white_space(read):
    dataset = read(
        "% a comment\n\n"
        "  @relation 'a % b'  % after the relation\n"
        "@attribute\ta\tnumeric % after a declaration\n"
        "@attribute b{ x , 'y % z' }\n"
        "@attribute l {0,1}   \n"
        "\n@data % after the keyword\n\n"
        " 5 ,\tx , 1 \n"
        "   \n"
        "% between rows\n"
        "6,'y % z',0 % after a row\n"
        "\n",
        n_labels=1,
    )
    assert dataset.name == "a % b"
    assert dataset.categories == (None, ("x", "y % z"))
    assert_array_equal(dataset.X, [[5, 0], [6, 1]])
    assert_array_equal(dataset.Y, [[1], [0]])


def test_white_space_quotes_and_comments_in_sparse_rows(read):
    dataset = read(
        "@relation r\n@attribute a numeric\n@attribute b {x,'y }, z'}\n@attribute l {0,1}\n@data\n"
        "  {  0\t5 ,  1   'y }, z' , 2 1 }  % comment\n"
        "\n{1 x}\n",
        n_labels=1,
    )
    assert_array_equal(dataset.X.toarray(), [[5, 1], [0, 0]])
    assert_array_equal(dataset.Y, [[1], [0]])


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_systems(read, newline):
    lines = ["@relation r", "@attribute a numeric", "@attribute l {0,1}", "@data", "5,1", "6,0"]
    dataset = read(newline.join(lines), n_labels=1)
    assert_array_equal(dataset.X, [[5], [6]])


def test_missing_values_and_unknown_labels(read):
    dataset = read(
        "@relation r\n@attribute a numeric\n@attribute b {'?',y}\n@attribute l {0,1}\n"
        "@attribute m numeric\n@data\n?,'?',?,1\n 5 , ? , 0 , ? \n6,y,1,0\n7,?,1,0\n",
        n_labels=2,
    )
    assert_array_equal(dataset.X, [[NAN, 0], [5, NAN], [6, 1], [7, NAN]])
    assert_array_equal(dataset.Y, [[NAN, 1], [0, NAN], [1, 0], [1, 0]])
    assert dataset.Y.dtype == np.float64


def test_strings_and_dates_are_dropped_and_recorded(read):
    header = (
        "@relation r\n@attribute id string\n@attribute a numeric\n"
        "@attribute day date 'yyyy-MM-dd'\n@attribute l {0,1}\n@data\n"
    )
    dense = read(header + "'x, y',5,2020-01-02,1\nplain,6,?,0\n", n_labels=1)
    assert dense.dropped == ("id", "day")
    assert dense.feature_names == ("a",)
    assert_array_equal(dense.X, [[5], [6]])
    in_sparse = read(header + "{0 'x, y',1 5,3 1}\n{0 plain,1 6}\n", n_labels=1)
    assert in_sparse.dropped == ("id", "day")
    assert_array_equal(in_sparse.X.toarray(), [[5], [6]])


@pytest.mark.parametrize(
    ("label_type", "zero", "one"),
    [
        ("{0,1}", "0", "1"),
        ("{1,0}", "0", "1"),
        ("{'0', '1'}", "'0'", "1"),
        ("{false,true}", "false", "true"),
        ("{TRUE,FALSE}", "FALSE", "TRUE"),
        ("numeric", "0", "1"),
        ("integer", "0.0", "1e0"),
    ],
)
def test_values_of_labels(read, label_type, zero, one):
    header = f"@relation r\n@attribute a numeric\n@attribute l {label_type}\n@data\n"
    assert_array_equal(read(f"{header}5,{zero}\n6,{one}\n", n_labels=1).Y, [[0], [1]])
    in_sparse = read(f"{header}{{0 5,1 {zero}}}\n{{0 6,1 {one}}}\n{{1 ?}}\n", n_labels=1)
    assert_array_equal(in_sparse.Y, [[0], [1], [NAN]])


def test_a_label_that_a_sparse_row_lacks_has_its_first_category(read):
    dataset = read(
        "@relation r\n@attribute a numeric\n@attribute l {0,1}\n@attribute m {1,0}\n"
        "@attribute n numeric\n@data\n{0 5}\n{2 0}\n{1 1,2 1,3 1}\n",
        n_labels=3,
    )
    assert_array_equal(dataset.Y, [[0, 1, 0], [0, 0, 0], [1, 1, 1]])


def test_instance_weights(read):
    header = "@relation r\n@attribute a numeric\n@attribute l {0,1}\n@data\n"
    dense = read(header + "5,1,{2.5}\n6,0\n7,0, { 0 } \n", n_labels=1)
    assert_array_equal(dense.sample_weight, [2.5, 1, 0])
    assert_array_equal(dense.X, [[5], [6], [7]])
    in_sparse = read(header + "{0 5,1 1}, {2.5}\n{0 6}\n{}{0}\n", n_labels=1)
    assert_array_equal(in_sparse.sample_weight, [2.5, 1, 0])
    assert_array_equal(in_sparse.X.toarray(), [[5], [6], [0]])


def test_paths_can_be_strings(tmp_path):
    path = tmp_path / "r.arff"
    path.write_text("@relation r\n@attribute a numeric\n@attribute l {0,1}\n@data\n5,1\n")
    assert load_arff(str(path), n_labels=1).n_samples == 1


def test_scipys_reader_agrees_on_a_dense_file(tmp_path):
    random = np.random.default_rng(0)
    numbers = random.normal(size=(50, 3)) * 10.0 ** random.integers(-6, 6, size=(50, 3))
    colours, labels = random.choice(["red", "green", "blue"], 50), random.integers(0, 2, (50, 2))
    text = "@relation r\n" + "".join(f"@attribute x{i} numeric\n" for i in range(3))
    text += "@attribute colour {red, green, blue}\n@attribute l {0,1}\n@attribute m {0,1}\n@data\n"
    for row in range(50):
        text += ",".join([*map(repr, numbers[row].tolist()), colours[row]])
        text += f",{labels[row, 0]},{labels[row, 1]}\n"
    path = tmp_path / "r.arff"
    path.write_text(text)

    expected, meta = scipy.io.arff.loadarff(path)
    dataset = load_arff(path, n_labels=2)
    for i in range(3):
        assert_array_equal(dataset.X[:, i], expected[f"x{i}"])
    assert dataset.categories[3] == meta["colour"][1]
    named = np.array(dataset.categories[3])[dataset.X[:, 3].astype(int)]
    assert_array_equal(named, expected["colour"].astype(str))
    assert_array_equal(dataset.Y[:, 0], expected["l"].astype(int))


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_arff(Path(tmp_path) / "nothing.arff", n_labels=1)


NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0)
MISSING = st.just(None)


@st.composite
def tables(draw):
    """Draw attributes (name, categories or None), with labels last, and rows of values."""
    n_features, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    names = draw(st.lists(NAMES, min_size=n_features + n_labels, max_size=n_features + n_labels,
                          unique=True))  # fmt: skip
    categories = st.none() | st.lists(NAMES, min_size=1, max_size=4, unique=True)
    types = [draw(categories) for _ in range(n_features)]
    types += [draw(st.sampled_from([None, ["0", "1"], ["1", "0"]])) for _ in range(n_labels)]
    columns = []
    for position, type_ in enumerate(types):
        if position >= n_features:
            values = st.sampled_from(["0", "1"]) if type_ else st.sampled_from([0.0, 1.0])
        else:
            values = NUMBERS if type_ is None else st.sampled_from(type_)
        columns.append(values | MISSING)
    rows = draw(st.lists(st.tuples(*columns), min_size=1, max_size=5))
    return names, types, n_labels, rows


def quote(text):
    """Write a text with quotes and escapes."""
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def spell(value):
    if value is None:
        return "?"
    return quote(value) if isinstance(value, str) else repr(value)


def write(path, names, types, rows, sparse):
    lines = ["@relation r"]
    for name, type_ in zip(names, types, strict=True):
        declared = "numeric" if type_ is None else "{" + ",".join(map(quote, type_)) + "}"
        lines.append(f"@attribute {quote(name)} {declared}")
    lines.append("@data")
    for row in rows:
        if sparse:
            absent = [0.0 if type_ is None else type_[0] for type_ in types]
            cells = [f"{i} {spell(v)}" for i, v in enumerate(row) if v != absent[i]]
            lines.append("{" + ",".join(cells) + "}")
        else:
            lines.append(",".join(map(spell, row)))
    path.write_text("\n".join(lines), encoding="utf-8", newline="")


def as_number(value, type_, is_label):
    if value is None:
        return np.nan
    if isinstance(value, float):
        return value
    return float(value) if is_label else type_.index(value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
def test_round_trip_of_dense_and_sparse_files(tmp_path_factory, table):
    names, types, n_labels, rows = table
    n_features = len(names) - n_labels
    numbers = np.array(
        [[as_number(v, types[i], i >= n_features) for i, v in enumerate(row)] for row in rows]
    )
    path = tmp_path_factory.mktemp("roundtrip") / "r.arff"
    for is_sparse in (False, True):
        write(path, names, types, rows, is_sparse)
        dataset = load_arff(path, n_labels=n_labels)
        X = dataset.X.toarray() if is_sparse else dataset.X
        assert_array_equal(X, numbers[:, :n_features])
        assert_array_equal(dataset.Y, numbers[:, n_features:])
        assert dataset.feature_names == tuple(names[:n_features])
        assert dataset.label_names == tuple(names[n_features:])
        assert dataset.categories == tuple(t and tuple(t) for t in types[:n_features])
        assert dataset.sample_weight is None


HEADER = [
    "@relation r",
    "@attribute a numeric",
    "@attribute b {x, 'y z', '', ' x', '?', 1, '_', 'é'}",
    "@attribute s string",
    "@attribute l numeric",
    "@attribute m {1,0}",
    "@data",
]
ATTRIBUTES = read_header([Line(Path("r"), 1, text) for text in HEADER])[0].attributes
READERS = [AttributeReader(a, a.name in "lm") for a in ATTRIBUTES]
CELLS = st.sampled_from([
    "0", "1", " 1", "1 ", "2.5", "-1e3", "1.", ".5", "+1", "1e999", "nan", "-inf", "1_0", "\uff11",
    "?", " ? ", "", " ", "x", " x", "y z", "'y z'", "' x'", "''", "'?'", "'", "_", "é", "1\t",
    "{2}",
])  # fmt: skip
INDICES = st.sampled_from([
    "0", "1", "2", "3", "4", "5", "-1", "+3", "-0", "1_0", "x", "",
    "0" * 4_400 + "1", "1" * 4_400,
])  # fmt: skip


def outcome(read):
    """Return the result of `read`, or the text of its error."""
    try:
        return read()
    except ArffError as error:
        return str(error)


@settings(max_examples=400, deadline=None)
@given(st.lists(CELLS, min_size=4, max_size=6))
@example(["1", "x", "s", "1", "0"])
@example(["1", "", "s", "1", "0"])
@example(["1", "x", "", "1", "0"])
@example(["1", " x", "s", "1", "0"])
@example(["inf", "x", "s", "1", "0"])
def test_dense_rows(cells):
    row = Line(Path("r"), 7, ",".join(cells))
    exact = outcome(lambda: _exact_dense(row, READERS))
    fast = outcome(lambda: read_dense([row], READERS))
    if isinstance(exact, str):
        assert fast == exact
    else:
        assert_array_equal(fast[0], [exact[0]])
        assert fast[1] == exact[1]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(INDICES, CELLS), max_size=3), st.booleans())
@example([("0", "1"), ("4", "0")], False)
@example([("4", "0"), ("0", "1")], False)
@example([("-1", "1")], False)
@example([("2", "?")], False)
def test_sparse_rows(entries, in_order):
    if in_order:
        entries = sorted(entries)
    body = ",".join(f"{index} {cell}" for index, cell in entries)
    row = Line(Path("r"), 7, f"{{{body}}}")
    exact = outcome(lambda: _exact_sparse(row, READERS))
    fast = outcome(lambda: read_sparse([row], READERS))
    if isinstance(exact, str):
        assert fast == exact
    else:
        assert list(zip(fast[0].indices, map(repr, fast[0].data.tolist()), strict=True)) == [
            (index, repr(value)) for index, value in exact[0]
        ]
        assert fast[1] == exact[1]
