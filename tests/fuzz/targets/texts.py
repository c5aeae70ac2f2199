"""Texts: ARFF files, XML of Mulan, configurations and records of experiments.

ARFF files are valid ones with odd cells, and edits of them. XML is edited, and in other encodings.
Of a configuration both the text and its content are edited. Of records, plain and packed, damaged
ones count as missing.
"""

import gzip
import json
from pathlib import Path

import yaml
from hypothesis import strategies as st

from experiments.engine.configuration import ConfigurationError, load_configuration
from experiments.engine.records import FORMAT, PACK, RecordStore, record_line
from tests.fuzz import ROOT
from tests.fuzz.target import Target, mutated_bytes, mutated_data
from xdcc.data import load_arff
from xdcc.data.arff import read_label_names
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


def attempt_arff(content: bytes) -> None:
    Path("x.arff").write_bytes(content)
    data = load_arff("x.arff")
    assert data.X.shape[0] == data.Y.shape[0] > 0


arff = Target(files() | mutated_bytes([DENSE, SPARSE], PIECES), attempt_arff, (ArffError,))


FLAT = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="red"></label><label name="dark &amp; blue"/>
</labels>
"""
NESTED = b"<labels><label name='a'><label name='b'><label name='c'/></label></label></labels>"
ENTITY = b"""<!DOCTYPE labels [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><labels><label name="&c;&c;"/>&c;</labels>"""
PIECES_MULAN_XML = [
    *(b"<", b">", b"/>", b"&", b"&#0;", b"&#x10ffff;", b"&c;", b"]]>", b"<![CDATA[", b"<!--"),
    *(b"<label name='x'/>", b"<label>", b"<labels>", b" name=''", b" xmlns:q='r'", b"\xff\xfe"),
    *(b'encoding="utf-16"', b"<!DOCTYPE a SYSTEM 'file:///etc/passwd'>", b"<?x y?>", b"q:label"),
]
ENCODINGS = [
    "latin-1",
    "utf-16",
    "ascii",
    "big5",
    "utf-7",
    "x-none",
    "hex",
    "idna",
    "cp500",
    "ucs-4",
]

other_encodings = st.builds(
    lambda name, content: content.replace(b"utf-8", name.encode()),
    st.sampled_from(ENCODINGS) | st.text(st.characters(codec="utf-8"), max_size=6),
    st.sampled_from([FLAT]) | mutated_bytes([FLAT], PIECES_MULAN_XML),
)


def attempt_mulan_xml(content: bytes) -> None:
    Path("x.xml").write_bytes(content)
    assert read_label_names(Path("x.xml"))


mulan_xml = Target(
    mutated_bytes([FLAT, NESTED, ENTITY], PIECES_MULAN_XML) | other_encodings,
    attempt_mulan_xml,
    (ArffError,),
)


FILES = [
    path.read_bytes()
    for path in sorted((ROOT / "experiments").rglob("*.yaml"))
    if path.stat().st_size < 6000
]
PIECES_YAML_CONFIGURATION = [
    *(b":", b"- ", b"[", b"]", b"{", b"}", b"&a ", b"*a", b"!!python/object:os.system", b"|", b">"),
    *(
        b"\t",
        b"'",
        b'"',
        b"#",
        b"? ",
        b"<<: *a",
        b"extends: tiny",
        b"\xff",
        b"12:30:45",
        b"2020-13-45",
    ),
]


def attempt_yaml_configuration(content: object) -> None:
    path = Path("x.yaml")
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
    load_configuration(path)


yaml_configuration = Target(
    mutated_bytes(FILES, PIECES_YAML_CONFIGURATION)
    | mutated_data([yaml.safe_load(content) for content in FILES]),
    attempt_yaml_configuration,
    (ConfigurationError,),
)


def _line(**result: object) -> bytes:
    key = {"format": FORMAT, "dataset": "digits", "method": "br", "params": result, "seed": 0}
    return record_line({"key": key, "result": result or None, "error": None, "run": {"s": 0.5}})


LINES = [_line(), _line(depth=3), _line(loss=float("nan"), text="ä\n"), _line(of=[1, {"x": None}])]
PIECES_RECORDS = [
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"null", b"\xff", b"\\ud800", b"1e999")
]

lines = mutated_bytes(LINES, PIECES_RECORDS) | mutated_data(
    [json.loads(line) for line in LINES]
).map(record_line)
packs = st.lists(lines, max_size=3).map(b"".join).map(lambda text: gzip.compress(text, 1))
damaged = mutated_bytes([gzip.compress(b"".join(LINES[:3]), 1)])


def attempt_records(content: bytes) -> None:
    folder = Path("records")
    (folder / "digits").mkdir(parents=True, exist_ok=True)
    pack, loose = folder / f"study{PACK}", folder / "digits" / "br-1.json"
    for path in (pack, loose):
        path.unlink(missing_ok=True)
    (pack if content.startswith(b"\x1f\x8b") else loose).write_bytes(content)
    store = RecordStore(folder, report_broken=lambda sentence: None)
    for record in store.read_all():
        record["key"]["dataset"], record.get("result")


records = Target(lines | packs | damaged, attempt_records)
