"""Exported chains: entries of ``chain.json`` and bytes of the boosters edited."""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import xdcc
from tests.fuzz.mutation import mutated_bytes, mutated_data
from tests.fuzz.target import Target
from xdcc.serving import StockChain, to_stock
from xdcc.serving.stock_chain import ExportError

_rng = np.random.default_rng(0)
X = pd.DataFrame(_rng.normal(size=(60, 3)), columns=list("abc"))
X["d"] = pd.Categorical.from_codes(_rng.integers(0, 3, 60), ["x", "y", "z"])
Y = (_rng.random((60, 3)) < 0.5).astype(int)
CHAIN = xdcc.DynamicChainClassifier(n_estimators=2, max_depth=2, chain_length=2, cv=2, n_jobs=1)


def _exported() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        to_stock(CHAIN.fit(X, Y), Path(folder, "chain"))
        return {path.name: path.read_bytes() for path in Path(folder, "chain").iterdir()}


FILES = _exported()
SETTINGS = json.loads(FILES["chain.json"])
BOOSTERS = sorted(name for name in FILES if name.endswith(".ubj"))

settings = mutated_data([SETTINGS]).map(lambda data: json.dumps(data).encode())
edits = st.tuples(
    st.just("chain.json"),
    settings | mutated_bytes([FILES["chain.json"]], [b"[", b"{", b'"', b"NaN"]),
) | st.sampled_from(BOOSTERS).flatmap(
    lambda name: st.tuples(st.just(name), mutated_bytes([FILES[name]]))
)


def attempt(edit: tuple[str, bytes]) -> None:
    shutil.rmtree("chain", ignore_errors=True)
    folder = Path("chain")
    folder.mkdir()
    for name, content in (FILES | dict([edit])).items():
        (folder / name).write_bytes(content)
    chain = StockChain(folder)
    try:
        proba = chain.predict_proba(X[:5])
    except ValueError as error:  # features of other names, or another number of them
        raise ExportError(str(error)) from error
    assert proba.shape[0] == 5


TARGET = Target(edits, attempt, (ExportError, RuntimeError))
