"""A campaign of random edits of model files: each is refused, or predicts without a fault.

    python tests/serving/model_edits.py --edits 100000 --seed 0

An edit is a number: ``edited(number)`` makes the same file again. JSON edits change, remove, repeat
and exchange entries of a model; UBJSON edits change bytes, lengths and numbers, cut and repeat
pieces; edits of ``.xdcc`` files do so with the manifest or a member and make the checksum right
again. The files are tried in child processes with a limit of memory and of time, so a crash is a
line of the report, not the end. The kernel that checks is compared with its slow twin on the way.
"""

import argparse
import hashlib
import io
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import xgboost as xgb
from threadpoolctl import threadpool_limits

from xdcc.base import booster_scan_reference
from xdcc.base._booster_scan import scan
from xdcc.base.booster_file import ModelFileError, check_booster, read_booster
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.lacovac import LaCovaCClassifier
from xdcc.rdt import RandomDecisionTreeClassifier
from xdcc.serving import load_model, save_model

MEMORY = 3 * 2**30
"""Bytes of address space of a child, its libraries included."""

SECONDS = 20
"""For one edit."""

NUMBERS = [
    *(0, 1, -1, 2, 3, 5, -5, 7, 15, 63, 64, 255, 10**4, 10**8, 2**24, 2**24 - 1),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**32 + 1, 2**63 - 1, -(2**63), 10**30),
    *(0.0, 0.5, -1.0, 1e30, 1e38, 1e39, float("nan"), float("inf"), float("-inf")),
]
OTHERS = ["", "0", "1", "-1", "1000000000", "3", "x", "[", "[[[[", "[]", "{}", None, True, [], {}]


class Models:
    """Models that edits are made of, trained once."""

    def __init__(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60, 4)).astype(np.float32)
        Y = (X[:, :3] + rng.normal(size=(60, 3)) > 0).astype(int)
        coded = X.copy()
        coded[:, 0], coded[:, 1] = rng.integers(0, 3, 60), rng.integers(0, 40, 60)
        frame = pd.DataFrame(
            {
                "a": pd.Categorical.from_codes(coded[:, 0].astype(int), ["x", "yy", "z"]),
                "b": pd.Categorical.from_codes(coded[:, 1].astype(int), [*range(40)]),
                **{name: X[:, j] for name, j in (("c", 2), ("d", 3))},
            }
        )
        self.X = X[:7].copy()
        self.X[0] = np.nan
        # Numbers for the models with categories: those in training, and some that were not there.
        self.coded = coded[:7].copy()
        self.coded[1] = [2, 39, 0, 0]
        self.coded[2] = [70, 200, 0, 0]
        plain, categories = xgb.DMatrix(X, Y), xgb.DMatrix(frame, Y, enable_categorical=True)
        one = xgb.DMatrix(frame, Y[:, 0], enable_categorical=True)
        first, classes = xgb.DMatrix(X, Y[:, 0]), xgb.DMatrix(X, Y.sum(axis=1))
        ours = {"objective": "multilabel:logistic"}
        several = {"objective": "multi:softprob", "num_class": 4}
        self.boosters = [
            self._content(params, data)
            for params, data in (
                (ours, plain),
                ({**ours, "labels_per_tree": 2}, plain),
                ({**ours, "sketch_size": 2}, plain),
                (ours, categories),
                ({"objective": "binary:logistic", "multi_strategy": "multi_output_tree"}, plain),
                ({"objective": "binary:logistic"}, plain),
                ({"objective": "binary:logistic", "rate_drop": 0.5}, one),
                ({"objective": "binary:logistic", "tree_method": "exact", "gamma": 2}, first),
                (several, classes),
                ({**several, "booster": "gblinear"}, classes),
                ({"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}, classes),
            )
        ]
        self.estimators = [
            self._file(model.fit(X, Y))
            for model in (
                MultiLabelXGBClassifier(n_estimators=2, max_depth=2, n_jobs=1),
                DynamicChainClassifier(n_estimators=2, max_depth=2, chain_length=2, cv=2, n_jobs=1),
                RandomDecisionTreeClassifier(n_estimators=2, random_state=0, n_jobs=1),
                LaCovaCClassifier(),
            )
        ]

    @staticmethod
    def _content(params, data):
        booster = xgb.train({"max_depth": 2, "nthread": 1, **params}, data, 2)
        return bytes(booster.save_raw("json")), bytes(booster.save_raw("ubj"))

    @staticmethod
    def _file(model):
        with tempfile.TemporaryDirectory() as folder:
            save_model(model, Path(folder, "model"))
            with zipfile.ZipFile(Path(folder, "model")) as archive:
                return {name: archive.read(name) for name in archive.namelist()}


def edited(models, number):
    """Make the file of a number.

    Returns
    -------
    kind : str
        ``"json"``, ``"ubj"`` or ``"xdcc"``.
    content : bytes
        The file.
    """
    draw = random.Random(number)
    kind = draw.choices(("json", "ubj", "xdcc"), (5, 4, 1))[0]
    if kind == "xdcc":
        return kind, _edited_archive(dict(draw.choice(models.estimators)), draw)
    text, binary = draw.choice(models.boosters)
    if kind == "json":
        model = json.loads(text)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            _edit_value(model, draw)
        return kind, json.dumps(model).encode()
    return kind, _edited_bytes(binary, draw)


def _edit_value(model, draw):
    """Change one entry, at a depth that is drawn: trees and their lists are met most often."""
    holder = model
    place = None
    while True:
        keys = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
        if not keys:
            break
        place = draw.choice(keys)
        below = holder[place]
        if not isinstance(below, dict | list) or not below or draw.random() < 0.12:
            break
        holder = below
    if place is None:
        return
    match draw.randrange(8):
        case 0:
            del holder[place]
        case 1 if isinstance(holder, list):
            holder.insert(place, holder[place])
        case 2:
            other = draw.choice([*holder] if isinstance(holder, dict) else [*range(len(holder))])
            holder[place], holder[other] = holder[other], holder[place]
        case 3:
            holder[place] = draw.choice(OTHERS)
        case 4 if type(holder[place]) in (int, float):
            holder[place] += draw.choice((-2, -1, 1, 2))
        case 5 if isinstance(holder[place], str):
            holder[place] = str(draw.choice(NUMBERS))
        case _:
            holder[place] = draw.choice(NUMBERS)


def _edited_bytes(content, draw):
    content = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 4))):
        at = draw.randrange(1, len(content))
        match draw.randrange(8):
            case 0:
                content[at] ^= 1 << draw.randrange(8)
            case 1:
                content[at] = draw.randrange(256)
            case 2:
                content[at] = draw.choice(b"[]{}$#LlUidDSZTFNCH")
            case 3:
                content[at : at + 4] = struct.pack(">i", draw.choice((0, 1, -1, 5, 99, 2**31 - 1)))
            case 4:
                found = content.find(b"L\0\0\0", at)
                number = draw.choice((0, 1, -1, 7, 10**6, 2**31, 2**40, 2**62, 2**63 - 1))
                content[found + 1 : found + 9] = struct.pack(">q", number)
            case 5:
                del content[at : at + draw.choice((1, 2, 4, 8, 50))]
            case 6:
                content[at:at] = content[at : at + draw.choice((1, 4, 8, 50))]
            case 7:
                del content[at:]
        if len(content) < 2:
            break
    return bytes(content)


def _edited_archive(members, draw):
    name = draw.choice(("manifest.json", "manifest.json", *members))
    if name == "manifest.json" and draw.random() < 0.9:
        manifest = json.loads(members[name])
        for _ in range(draw.choice((1, 1, 2))):
            _edit_value(manifest, draw)
        members[name] = json.dumps(manifest).encode()
    else:
        members[name] = _edited_bytes(members[name], draw)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"xdcc model sha256:" + b"0" * 64
    content = bytearray(buffer.getvalue()[:-64])
    if draw.random() < 0.2:  # headers of the archive itself
        at = draw.randrange(2, len(content) - 20)
        content[at] ^= 1 << draw.randrange(8)
    return bytes(content) + hashlib.sha256(content).hexdigest().encode()


def outcome(models, kind, content):
    """Try a file: ``"refused"``, ``"predicts"``, or ``"predicts not"`` for an error in use.

    Raises
    ------
    Exception
        Anything that is a finding.
    """
    if kind == "xdcc":
        with tempfile.NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            try:
                model = load_model(file.name)
            except ModelFileError:
                return "refused"
        try:
            model.predict_proba(models.X)
            model.predict(models.X)
        except ValueError:
            return "predicts not"
        return "predicts"
    _compare_with_twin(content)
    try:
        check_booster(content)
    except ModelFileError:
        return "refused"
    try:
        booster = read_booster(content, {"nthread": 1})
    except ModelFileError:
        return "refused by XGBoost"
    result = "predicts"
    for X in (models.X, models.coded):
        for use in (
            lambda X=X: booster.inplace_predict(X),
            lambda X=X: booster.predict(xgb.DMatrix(X)),
            lambda X=X: booster.predict(xgb.DMatrix(X), pred_leaf=True),
            lambda X=X: booster.predict(xgb.DMatrix(X), pred_contribs=True),
            lambda X=X: booster.predict(xgb.DMatrix(X), pred_contribs=True, approx_contribs=True),
            lambda X=X: booster.predict(
                xgb.DMatrix(X, feature_types=["c", "c", "q", "q"], enable_categorical=True)
            ),
        ):
            try:
                use()
            except ValueError:
                result = "predicts not"
    for use in (
        lambda: booster.save_raw("ubj"),
        lambda: booster.get_dump(with_stats=True),
        lambda: booster.get_score(importance_type="total_gain"),
        lambda: booster[:1].save_raw("json"),
    ):
        try:
            use()
        except (ValueError, NotImplementedError, IndexError):
            result = "predicts not"
    return result


def _compare_with_twin(content):
    found = []
    for read in (scan, booster_scan_reference.scan):
        try:
            read(content, deepest=32)
            found.append(True)
        except ValueError:
            found.append(False)
        except (RecursionError, TypeError, IndexError):
            return
    assert found[0] == found[1], f"kernel {found[0]}, twin {found[1]}"


def _child(models, numbers, progress, counts):
    warnings.simplefilter("ignore")
    threadpool_limits(1)  # the parent's threads are not here
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    found = Counter()
    for number in numbers:
        progress[:8] = struct.pack("<q", number)
        signal.alarm(SECONDS)
        kind, content = edited(models, number)
        try:
            result = outcome(models, kind, content)
        except Exception as error:  # anything else is a finding
            what = f"{type(error).__name__}: {error}"
            counts.write(json.dumps([number, kind, what[:300]]) + "\n")
            counts.flush()
            result = "finding"
        found[f"{kind}: {result}"] += 1
    counts.write(json.dumps(found) + "\n")
    counts.flush()
    os._exit(0)


def run(models, numbers, batch=5000):
    """Try edits in children.

    Returns
    -------
    counts : Counter
        How often each outcome came.
    findings : list of list
        Number, kind and what happened of each edit that did something else.
    """
    counts, findings = Counter(), []
    todo = [numbers[at : at + batch] for at in range(0, len(numbers), batch)]
    progress = mmap.mmap(-1, 8)
    while todo:
        part = todo.pop()
        with tempfile.TemporaryFile("w+") as file:
            with warnings.catch_warnings():
                # The child uses none of the threads that the parent may have.
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                _child(models, part, progress, file)
            _, status = os.waitpid(child, 0)
            file.seek(0)
            for entry in map(json.loads, file):
                if isinstance(entry, dict):
                    counts.update(entry)
                else:
                    findings.append(entry)
        if status:
            [last] = struct.unpack("<q", progress[:8])
            code = os.waitstatus_to_exitcode(status)
            findings.append([last, edited(models, last)[0], f"the child ended with {code}"])
            n_tried = part.index(last) + 1
            counts["tried before a child ended"] += n_tried
            todo.append(part[n_tried:])
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    begin = time.monotonic()
    first = arguments.seed * 10**9
    with xgb.config_context(verbosity=0):
        counts, findings = run(Models(), range(first, first + arguments.edits))
    for entry in findings:
        print(*entry)
    print(f"{sum(counts.values())} edits in {time.monotonic() - begin:.0f} s:")
    for name, count in sorted(counts.items()):
        print(f"  {count:8} {name}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
