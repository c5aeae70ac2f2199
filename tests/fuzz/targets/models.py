"""Models in files: ``.xdcc`` files and compiled models.

Of ``.xdcc`` files bytes and entries of every member are edited, below a right checksum; of compiled
models bytes, entries of the header and numbers in the arrays.
"""

import hashlib
import io
import json
import math
import random
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse

import xdcc
from tests.fuzz.target import Target, mutated_bytes, mutated_data
from xdcc.serving import (
    CompiledModel,
    ModelFileError,
    load_model,
    save_model,
)
from xdcc.serving.archive import pack
from xdcc.serving.compiled_file import compiled_content

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


X_NAMED = pd.DataFrame(_rng.normal(size=(60, 3)), columns=list("abc"))
X_NAMED["d"] = pd.Categorical.from_codes(_rng.integers(0, 3, 60), ["x", "y", "z"])
Y_NAMED = (_rng.random((60, 3)) < 0.5).astype(int)


def _tuned(estimator: Any) -> xdcc.decision.TunedDecisionClassifierCV:
    return xdcc.decision.TunedDecisionClassifierCV(estimator, cv=2, n_jobs=1)


_COMPILED = [
    MODELS[0],
    _tuned(MODELS[0]),
    _tuned(xdcc.forest.SketchedExtraTreesClassifier(2, random_state=0, n_jobs=1)),
    _tuned(xdcc.linear.LogisticLabels(C=1.0)),
    *MODELS[1:3],
    *MODELS[4:7],
]
COMPILED = [
    *(CompiledModel(model.fit(X, Y)) for model in _COMPILED),
    CompiledModel(_tuned(MODELS[0]).fit(X_NAMED, Y_NAMED)),
]


def _compiled() -> list[tuple[bytes, dict[str, Any], bytes]]:
    """Return the preamble, the header and the arrays of each file."""
    found = []
    for model in COMPILED:
        content = compiled_content(model)
        begin = content.index(b"\n") + 9
        end = begin + int.from_bytes(content[begin - 8 : begin], "little")
        found.append((content[: begin - 8], json.loads(content[begin:end]), content[end:-32]))
    return found


FILES_COMPILED = _compiled()


def _joined(before: bytes, header: bytes, arrays: bytes) -> bytes:
    header += b" " * (-(len(before) + 8 + len(header)) % 64)
    return before + len(header).to_bytes(8, "little") + header + arrays


def _with_numbers(number: int, seed: int) -> bytes:
    """Change some of the whole numbers in the arrays."""
    before, header, arrays = FILES_COMPILED[number]
    rng, edited = random.Random(seed), bytearray(arrays)
    for _ in range(rng.choice((1, 1, 2, 5))):
        kind, shape, begin = rng.choice(header["arrays"])
        size = np.dtype(kind).itemsize
        if 0 not in shape:
            at = begin + size * rng.randrange(math.prod(shape))
            value = rng.choice((rng.randrange(-9, 99), -(2**31), 2**31 - 1, 10**6))
            edited[at : at + min(size, 8)] = value.to_bytes(8, "little", signed=True)[:size]
    return _joined(before, json.dumps(header).encode(), bytes(edited))


headers = st.sampled_from(FILES_COMPILED).flatmap(
    lambda file: mutated_data([file[1]]).map(
        lambda data: _joined(file[0], json.dumps(data).encode(), file[2])
    )
)
numbers = st.builds(_with_numbers, st.integers(0, len(COMPILED) - 1), st.integers(0, 2**64 - 1))
files = mutated_bytes(
    [
        _joined(before, json.dumps(header).encode(), arrays)
        for before, header, arrays in FILES_COMPILED
    ]
)


def attempt_compiled_model(body: bytes) -> None:
    Path("x").write_bytes(body + hashlib.sha256(body).digest())
    model = load_model("x", compiled=True)
    for rows in (X[:1], X, sparse.csr_array(X), X_NAMED):
        with suppress(ValueError), np.errstate(all="ignore"):  # another form of X
            model.predict(rows)
            model.predict_proba(rows)


compiled_model = Target(headers | numbers | files, attempt_compiled_model, (ModelFileError,))
