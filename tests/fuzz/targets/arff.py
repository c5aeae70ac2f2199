"""ARFF files: grammatical ones with odd cells, and edits of them."""

from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.mutation import mutated_bytes
from tests.fuzz.target import Target
from xdcc.data import load_arff
from xdcc.data.arff_text import ArffError

DENSE = b"""% a comment
@relation 'colours: -C 2'
@attribute red {0,1}
@attribute 'dark \\'blue' {no, yes}
@attribute x numeric
@attribute kind {a,'b c',"d,e"}
@attribute at date "yyyy-MM-dd"
@attribute text string
@data
1,no,0.5,a,"2020-01-01",'some, text'
0,yes,?,'b c',?,x % comment
0,no,-1e-3,"d,e",'2021-02-03',"y" ,{2}
"""
SPARSE = b"""@RELATION "sparse: -C -1"
@ATTRIBUTE x REAL
@ATTRIBUTE kind {a, b}
@ATTRIBUTE count INTEGER [0,3]
@ATTRIBUTE red {0,1}
@DATA
{0 1.5, 3 1}
{}
{1 b,2 3}, {0.5}
{2 ?}
"""
PIECES = [
    *(b"'", b'"', b"\\", b"\\'", b"%", b"{", b"}", b",", b" ", b"\t", b"\n", b"\r", b"?", b"@"),
    *(b"@attribute", b"@data", b"@relation", b"-C 1", b"-C", b"numeric", b"{0,1}", b"{0 1}"),
    *(
        b"nan",
        b"inf",
        b"1e999",
        b"1_0",
        b"0x1",
        b"\xe9",
        b"\xff\xfe",
        b"\0",
        b"\xc3\xa9",
        b"9" * 30,
    ),
]

words = st.sampled_from(
    ["0", "1", "?", "a", "'b c'", "x y", "", "1e5", "-.5", "'", "\\'", "\u0663"]
)
cells = words | st.text(st.characters(codec="utf-8"), max_size=4)
rows = st.lists(cells, max_size=5).map(",".join) | st.lists(
    st.tuples(st.integers(-1, 5) | words, cells).map(lambda pair: f"{pair[0]} {pair[1]}"),
    max_size=4,
).map(lambda entries: "{" + ",".join(entries) + "}")
kinds = st.sampled_from(["numeric", "{0,1}", "string", "date", "{a,'b c'}", "relational", "{}", ""])
attributes = st.tuples(cells, kinds).map(lambda pair: f"@attribute {pair[0]} {pair[1]}")


@st.composite
def files(draw: st.DrawFn) -> bytes:
    option = draw(st.sampled_from(["", "-C 1", "-C -1", "-C 2", "-C 0", "-C 99999999999999999999"]))
    lines = [f"@relation 'r: {option}'", "@attribute red {0,1}", "@attribute x numeric"]
    lines += [*draw(st.lists(attributes, max_size=3)), "@data"]
    lines += draw(st.lists(rows, min_size=1, max_size=5))
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines).encode("utf-8", "surrogatepass")


def attempt(content: bytes) -> None:
    Path("x.arff").write_bytes(content)
    data = load_arff("x.arff")
    assert data.X.shape[0] == data.Y.shape[0] > 0


TARGET = Target(files() | mutated_bytes([DENSE, SPARSE], PIECES), attempt, (ArffError,))
