"""Mulan's XML of label names: edits, and other encodings."""

from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.mutation import mutated_bytes
from tests.fuzz.target import Target
from xdcc.data.arff import read_label_names
from xdcc.data.arff_text import ArffError

FLAT = b"""<?xml version="1.0" encoding="utf-8"?>
<labels xmlns="http://mulan.sourceforge.net/labels">
<label name="red"></label><label name="dark &amp; blue"/>
</labels>
"""
NESTED = b"<labels><label name='a'><label name='b'><label name='c'/></label></label></labels>"
ENTITY = b"""<!DOCTYPE labels [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><labels><label name="&c;&c;"/>&c;</labels>"""
PIECES = [
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
    st.sampled_from([FLAT]) | mutated_bytes([FLAT], PIECES),
)


def attempt(content: bytes) -> None:
    Path("x.xml").write_bytes(content)
    assert read_label_names(Path("x.xml"))


TARGET = Target(
    mutated_bytes([FLAT, NESTED, ENTITY], PIECES) | other_encodings, attempt, (ArffError,)
)
