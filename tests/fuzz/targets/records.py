"""Records of experiments, loose and packed: what is not whole counts as missing."""

import gzip
import json
from pathlib import Path

from hypothesis import strategies as st

from experiments.engine.records import PACK, RecordStore, record_line
from tests.fuzz import ROOT
from tests.fuzz.mutation import mutated_bytes, mutated_data
from tests.fuzz.target import Target


def _some_lines() -> list[bytes]:
    packs = sorted((ROOT / "experiments").rglob(PACK))
    with gzip.open(min(packs, key=lambda path: path.stat().st_size)) as file:
        return sorted(file.read().splitlines(keepends=True), key=len)[:6]


LINES = _some_lines()
PIECES = [
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"NaN", b"null", b"\xff", b"\\ud800", b"1e999")
]

lines = mutated_bytes(LINES, PIECES) | mutated_data([json.loads(line) for line in LINES]).map(
    record_line
)
packs = st.lists(lines, max_size=3).map(b"".join).map(lambda text: gzip.compress(text, 1))
damaged = mutated_bytes([gzip.compress(b"".join(LINES[:3]), 1)])


def attempt(content: bytes) -> None:
    folder = Path("records")
    (folder / "digits").mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*/*"):
        path.unlink()
    name = PACK if content.startswith(b"\x1f\x8b") else "br-1.json"
    (folder / "digits" / name).write_bytes(content)
    store = RecordStore(folder, report_broken=lambda sentence: None)
    for record in store.read_all():
        record["key"]["dataset"], record.get("result")


TARGET = Target(lines | packs | damaged, attempt)
