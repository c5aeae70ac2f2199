"""Models in files: ``.xdcc`` files, and exported chains.

Of ``.xdcc`` files bytes and entries of every member are edited, below a right checksum; of exports
the entries of ``chain.json`` and bytes of the boosters.
"""

import hashlib
import io
import json
import shutil
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import xdcc
from tests.fuzz.target import Target, mutated_bytes, mutated_data
from xdcc.serving import ModelFileError, StockChain, load_model, save_model, to_stock
from xdcc.serving.archive import pack
from xdcc.serving.stock_chain import ExportError

MARK = b"xdcc model sha256:"

_rng = np.random.default_rng(0)
X = _rng.normal(size=(60, 4)).astype(np.float32)
Y = (X[:, :3] + _rng.normal(size=(60, 3)) > 0).astype(int)

MODELS = [
    xdcc.MultiLabelXGBClassifier(n_estimators=2, max_depth=2, n_jobs=1),
    xdcc.DynamicChainClassifier(n_estimators=2, max_depth=2, chain_length=2, cv=2, n_jobs=1),
    xdcc.OrderFreeChainClassifier(n_estimators=2, max_depth=2, n_masks=2, cv=2, n_jobs=1),
    xdcc.BinaryRelevance(n_estimators=2, max_depth=2, n_jobs=1),
    xdcc.RandomDecisionTreeClassifier(n_estimators=2, max_depth=4, random_state=0, n_jobs=1),
    xdcc.LaCovaCForestClassifier(n_estimators=2, random_state=0, n_jobs=1),
    xdcc.BoomerClassifier(n_rules=5, random_state=0, n_jobs=1),
    xdcc.CTBNClassifier(C=1.0, random_state=0, n_jobs=1),
    xdcc.ThresholdClassifier(xdcc.BinaryRelevance(n_estimators=2, max_depth=2, n_jobs=1), cv=2),
]


def _members() -> list[dict[str, bytes]]:
    found = []
    for model in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.xdcc")
            save_model(model.fit(X, Y), path)
            with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
                found.append({name: archive.read(name) for name in archive.namelist()})
    return found


FILES = _members()
EDITS = [
    mutated_data([json.loads(content)]).map(lambda data: json.dumps(data).encode())
    | mutated_bytes([content])
    if name == "manifest.json"
    else mutated_bytes([content])
    for members in FILES
    for name, content in members.items()
]
"""Edits of each member of each file."""

PLACES = [(number, name) for number, members in enumerate(FILES) for name in members]


def _with_edit(place: int, content: bytes) -> bytes:
    number, name = PLACES[place]
    return pack(FILES[number] | {name: content}, MARK + b"0" * 64)[:-64]


members = st.integers(0, len(PLACES) - 1).flatmap(
    lambda place: EDITS[place].map(lambda content: _with_edit(place, content))
)
archives = mutated_bytes([pack(members, MARK + b"0" * 64)[:-64] for members in FILES])


def attempt_model_archive(body: bytes) -> None:
    Path("x.xdcc").write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    model = load_model("x.xdcc")
    try:
        proba = model.predict_proba(X[:5])
    except ValueError as error:  # what a parameter was set to, or the number of features
        raise ModelFileError(str(error)) from error
    assert proba.shape[0] == 5


model_archive = Target(members | archives, attempt_model_archive, (ModelFileError,))


X_STOCK_CHAIN = pd.DataFrame(_rng.normal(size=(60, 3)), columns=list("abc"))
X_STOCK_CHAIN["d"] = pd.Categorical.from_codes(_rng.integers(0, 3, 60), ["x", "y", "z"])
Y_STOCK_CHAIN = (_rng.random((60, 3)) < 0.5).astype(int)
CHAIN = xdcc.DynamicChainClassifier(n_estimators=2, max_depth=2, chain_length=2, cv=2, n_jobs=1)


def _exported() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        to_stock(CHAIN.fit(X_STOCK_CHAIN, Y_STOCK_CHAIN), Path(folder, "chain"))
        return {path.name: path.read_bytes() for path in Path(folder, "chain").iterdir()}


FILES_STOCK_CHAIN = _exported()
SETTINGS = json.loads(FILES_STOCK_CHAIN["chain.json"])
BOOSTERS = sorted(name for name in FILES_STOCK_CHAIN if name.endswith(".ubj"))

settings = mutated_data([SETTINGS]).map(lambda data: json.dumps(data).encode())
edits = st.tuples(
    st.just("chain.json"),
    settings | mutated_bytes([FILES_STOCK_CHAIN["chain.json"]], [b"[", b"{", b'"', b"NaN"]),
) | st.sampled_from(BOOSTERS).flatmap(
    lambda name: st.tuples(st.just(name), mutated_bytes([FILES_STOCK_CHAIN[name]]))
)


def attempt_stock_chain(edit: tuple[str, bytes]) -> None:
    shutil.rmtree("chain", ignore_errors=True)
    folder = Path("chain")
    folder.mkdir()
    for name, content in (FILES_STOCK_CHAIN | dict([edit])).items():
        (folder / name).write_bytes(content)
    chain = StockChain(folder)
    try:
        proba = chain.predict_proba(X_STOCK_CHAIN[:5])
    except ValueError as error:  # features of other names, or another number of them
        raise ExportError(str(error)) from error
    assert proba.shape[0] == 5


stock_chain = Target(edits, attempt_stock_chain, (ExportError, RuntimeError))
