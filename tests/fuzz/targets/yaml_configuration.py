"""Configurations of experiments: edits of the text and of what it says."""

from pathlib import Path

import yaml

from experiments.engine.configuration import ConfigurationError, load_configuration
from tests.fuzz import ROOT
from tests.fuzz.mutation import mutated_bytes, mutated_data
from tests.fuzz.target import Target

FILES = [
    path.read_bytes()
    for path in sorted((ROOT / "experiments").rglob("*.yaml"))
    if path.stat().st_size < 6000
]
PIECES = [
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


def attempt(content: object) -> None:
    path = Path("x.yaml")
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
    load_configuration(path)


TARGET = Target(
    mutated_bytes(FILES, PIECES) | mutated_data([yaml.safe_load(content) for content in FILES]),
    attempt,
    (ConfigurationError,),
)
