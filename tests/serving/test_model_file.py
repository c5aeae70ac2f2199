"""`save_model` and `load_model`: equal predictions, equal attributes, and files that are refused.

The digest and the archive are also written by hand here, so that files that `save_model` never
writes can be tested. That every estimator predicts the same is in ``test_every_estimator.py``.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tracemalloc
import zipfile
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from tests.serving.archives import members_of, pack, rewrite
from tests.serving.format_2 import to_format_2
from xdcc import MultiLabelClassifier
from xdcc.automatic.mixture import Member
from xdcc.base.plugin import PluginMissingError
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.comparators.lacovac import LaCovaCClassifier
from xdcc.data import make_multilabel
from xdcc.decision import TunedDecisionClassifierCV
from xdcc.linear import LogisticLabels
from xdcc.serving import CompiledModel, ModelFileError, load_model, save_model, to_stock
from xdcc.serving.model_file import FORMAT_VERSION, OLDEST_FORMAT

ROOT = Path(__file__).parents[2]


@pytest.fixture
def saved(fitted_chain, tmp_path):
    path = tmp_path / "chain.xdcc"
    save_model(fitted_chain("paper"), path)
    return path


def _same(left, right):
    if isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)
    elif isinstance(left, dict):
        assert list(left) == list(right)
        for key in left:
            _same(left[key], right[key])
    elif isinstance(left, list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            _same(one, other)
    elif hasattr(left, "save_raw"):
        assert left.save_raw("ubj") == right.save_raw("ubj")
    else:
        assert type(left) is type(right)
        assert left == right


def test_every_chain_predicts_the_same(chain, rows, on_sparse, tmp_path):
    save_model(chain, tmp_path / "chain")
    loaded = load_model(tmp_path / "chain")
    assert type(loaded) is DynamicChainClassifier
    for X, found, expected in (
        (rows.X_new, loaded, chain),
        (sparse.csr_matrix(np.nan_to_num(rows.X_new)), on_sparse(loaded), on_sparse(chain)),
    ):
        np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
        np.testing.assert_array_equal(found.predict(X), expected.predict(X))
        _same(vars(found.chain_order(X)), vars(expected.chain_order(X)))
    assert loaded.get_params() == chain.get_params()
    fitted = {name: value for name, value in vars(chain).items() if name.endswith("_")}
    _same(fitted, {name: value for name, value in vars(loaded).items() if name.endswith("_")})


def test_a_single_booster_predicts_the_same(classifier, rows, tmp_path):
    save_model(classifier, str(tmp_path / "booster"))
    loaded = load_model(str(tmp_path / "booster"))
    assert type(loaded) is MultiLabelXGBClassifier
    np.testing.assert_array_equal(
        loaded.predict_proba(rows.X_new), classifier.predict_proba(rows.X_new)
    )
    assert loaded.evals_result_ == classifier.evals_result_
    assert loaded.get_booster().best_iteration == classifier.best_iteration_


def test_arguments_come_back(fitted_chain, tmp_path):
    chain = fitted_chain("every argument")
    save_model(chain, tmp_path / "chain")
    loaded = load_model(tmp_path / "chain").get_params()
    assert loaded["base_score"] == [0.2, 0.3, 0.4, 0.5]
    assert type(loaded["max_depth"]) is int
    assert type(loaded["colsample_bytree"]) is float
    assert loaded["chain_length"] is None
    config = json.loads(load_model(tmp_path / "chain").boosters_[0][0].save_config())
    assert config["learner"]["generic_param"]["nthread"] == "1"


@pytest.mark.parametrize("name", ["random_state", "seed"])
def test_a_generator_is_stored_as_none(rows, tmp_path, name):
    generator = np.random.RandomState(3)
    model = MultiLabelXGBClassifier(n_estimators=2, subsample=0.5, **{name: generator})
    save_model(model.fit(rows.X, rows.Y), tmp_path / "model")
    assert model.get_params()[name] is generator
    loaded = load_model(tmp_path / "model")
    assert loaded.get_params()[name] is None
    np.testing.assert_array_equal(loaded.predict_proba(rows.X), model.predict_proba(rows.X))


def test_a_frame_with_odd_names(rows, tmp_path):
    X = pd.DataFrame(rows.X, columns=["age [years]", "a<b", "größe", "", "e"])
    Y = pd.DataFrame(rows.Y, columns=["lief", "sank", "glühte", "日本"])
    chain = DynamicChainClassifier(n_estimators=3, max_depth=2).fit(X, Y)
    save_model(chain, tmp_path / "chain")
    loaded = load_model(tmp_path / "chain")
    np.testing.assert_array_equal(loaded.predict_proba(X), chain.predict_proba(X))
    _same(loaded.label_names_, chain.label_names_)
    _same(loaded.feature_names_in_, chain.feature_names_in_)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X.rename(columns={"e": "f"}))


def test_categories_come_back_with_their_types(rows, tmp_path):
    model = MultiLabelXGBClassifier(n_estimators=2).fit(rows.X, rows.Y)
    categories = {
        0: np.array(["no", "yes", "ä"], dtype=object),
        1: np.array([10, 20, -3], dtype=np.int8),
        2: np.array([False, True]),
        3: np.array(["2026-11-21"], dtype="datetime64[ns]"),
        4: np.array(["x", 2, True, None], dtype=object),
    }
    model._input_form = replace(model._input_form, categories=categories)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model").categories_
    _same(loaded, categories)
    assert [type(value) for value in loaded[4]] == [str, int, bool, type(None)]


def test_the_same_model_gives_the_same_bytes(saved, fitted_chain, tmp_path):
    save_model(load_model(saved), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_loading_imports_what_the_file_needs(tmp_path, rows):
    model = LaCovaCClassifier(n_jobs=1).fit(np.nan_to_num(rows.X), rows.Y)
    save_model(model, tmp_path / "model")
    code = (
        "import json, sys, xdcc.serving\n"
        "packages = ('xdcc.comparators.ctbn', 'xdcc.comparators.baselines')\n"
        f"model = xdcc.serving.load_model({str(tmp_path / 'model')!r})\n"
        "print(json.dumps([type(model).__name__, *(name in sys.modules for name in packages)]))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True)
    assert json.loads(done.stdout) == ["LaCovaCClassifier", False, False]


def test_an_older_file_is_replaced(saved, classifier):
    save_model(classifier, saved)
    assert type(load_model(saved)) is MultiLabelXGBClassifier
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_has_the_usual_permissions(saved, tmp_path):
    (tmp_path / "other").write_bytes(b"")
    assert saved.stat().st_mode == (tmp_path / "other").stat().st_mode


WRITERS = {
    "model": save_model,
    "compiled": lambda model, path: save_model(CompiledModel(model), path),
    "stock": to_stock,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_links_are_followed_and_modes_kept(writer, classifier, tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    WRITERS[writer](classifier, tmp_path / "link")
    assert os.readlink(tmp_path / "link") == "real"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    WRITERS[writer](classifier, tmp_path / "same")
    assert (tmp_path / "real").read_bytes() == (tmp_path / "same").read_bytes()


@pytest.mark.parametrize("write", [save_model, to_stock])
def test_the_path_is_checked_before_the_model(write, tmp_path):
    model = object()  # neither takes it
    with pytest.raises(TypeError, match="must be the name of a file, not a BytesIO"):
        write(model, io.BytesIO())
    with pytest.raises(FileNotFoundError, match=r"folder does not exist: .*missing'"):
        write(model, tmp_path / "missing" / "model")
    with pytest.raises(IsADirectoryError, match="A folder is not replaced"):
        write(model, tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="A device, pipe or socket is not replaced"):
        write(model, tmp_path / "fifo")
    with pytest.raises(TypeError, match="object"):
        write(model, tmp_path / "model")
    assert os.listdir(tmp_path) == ["fifo"]


def test_files_that_cannot_be_read(tmp_path):
    for compiled in (False, True):
        with pytest.raises(FileNotFoundError, match="missing"):
            load_model(tmp_path / "missing", compiled=compiled)
        with pytest.raises(IsADirectoryError):
            load_model(tmp_path, compiled=compiled)
        with pytest.raises(TypeError, match="must be the name of a file, not a BytesIO"):
            load_model(io.BytesIO(b"PK"), compiled=compiled)


def test_nothing_in_a_file_is_executable(saved):
    members = members_of(saved.read_bytes())
    assert {name.split("/")[0] for name in members} == {"arrays", "boosters", "manifest.json"}
    for name in members:
        if name.startswith("arrays/"):
            np.load(io.BytesIO(members[name]), allow_pickle=False)
    assert b"pickle" not in saved.read_bytes()


# Bad files


def test_every_truncation_is_refused(saved):
    content = saved.read_bytes()
    for length in [*range(0, len(content), 997), *range(len(content) - 90, len(content))]:
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"truncated|not a model file|was altered"):
            load_model(saved)


def test_every_altered_bit_is_refused(saved):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    places = {*range(100), *range(len(content) - 200, len(content))}
    places |= set(rng.integers(len(content), size=300).tolist())
    for place in places:
        altered = bytearray(content)
        altered[place] ^= 1 << int(rng.integers(8))
        saved.write_bytes(altered)
        with pytest.raises(ModelFileError, match=r"truncated|not a model file|was altered"):
            load_model(saved)


def test_more_bytes_are_refused(saved):
    saved.write_bytes(saved.read_bytes() + b"\n")
    with pytest.raises(ModelFileError, match="no checksum at its end"):
        load_model(saved)


def test_another_zip_archive_is_refused(tmp_path):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("manifest.json", "{}")
    with pytest.raises(ModelFileError, match="save_model did not write it"):
        load_model(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"\x80\x04\x95"])
def test_something_else_is_refused(tmp_path, content):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_model(path)


def test_a_correct_checksum_of_something_else_is_refused(tmp_path):
    path = tmp_path / "model"
    content = b"PK nothing xdcc model sha256:"
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(ModelFileError, match=r"unknown versions.*BadZipFile"):
        load_model(path)


LATER = {
    "MultiLabelClassifier": ("constraints", "refit", "stacked_", "cv_results_", "constraints_"),
    "MultiLabelXGBClassifier": ("callbacks",),
    "Columns": ("mean",),
}
"""Attributes by class that files of 0.2 do not have."""


def test_files_of_0_2_are_read(tmp_path):
    """The files have format 2, and lack what was added since then."""
    data = make_multilabel(120, n_labels=3, random_state=0)
    model = MultiLabelClassifier(cv=2, n_jobs=1).fit(data.X, data.Y)
    model.stacked_ = []
    kinds = [MultiLabelXGBClassifier(n_estimators=3, n_jobs=1), LogisticLabels(cv=2, n_jobs=1)]
    folds = [TunedDecisionClassifierCV(kind, cv=2).fit(data.X, data.Y) for kind in kinds]
    model.members_ = [
        Member(f"member {number}", 0.5, each.estimators_, each.calibration_)
        for number, each in enumerate(folds)
    ]
    path = tmp_path / "model.xdcc"
    save_model(model, path)
    removed = set()

    def as_before(manifest, members):
        to_format_2(manifest)
        for entry in manifest["objects"]:
            for name in LATER.get(entry["class"], ()):
                removed.add((entry["class"], name))
                entry["attributes"].pop(name)

    rewrite(path, as_before)
    assert removed == {(kind, name) for kind, names in LATER.items() for name in names}
    old = load_model(path)
    np.testing.assert_array_equal(old.predict_proba(data.X), model.predict_proba(data.X))
    np.testing.assert_array_equal(old.predict(data.X), model.predict(data.X))
    assert (old.constraints, old.refit) == (None, "auto")
    assert not hasattr(old, "cv_results_")
    save_model(old, path)
    np.testing.assert_array_equal(load_model(path).predict(data.X), model.predict(data.X))


def test_formats_before_that_are_refused(saved):
    rewrite(saved, lambda manifest, members: manifest.update(format_version=1))
    with pytest.raises(ModelFileError, match=r"has format 1, but xdcc .* reads formats 2 and 3\."):
        load_model(saved)


@pytest.mark.parametrize("number", [FORMAT_VERSION - 2, FORMAT_VERSION + 1, -1])
def test_another_format_is_refused(saved, number):
    def change(manifest, members):
        manifest["format_version"] = number
        manifest["versions"]["xdcc"] = "99.0"
        manifest["something"] = "new"

    rewrite(saved, change)
    advice = "update xdcc" if number > FORMAT_VERSION else "use these, or fit the model again"
    with pytest.raises(ModelFileError, match=rf"format {number},.*xdcc 99\.0,.*: {advice}\.$"):
        load_model(saved)


def test_page_error_and_constants_name_the_same_formats(saved):
    page = (ROOT / "docs" / "guide" / "serving.md").read_text("utf-8")
    told = re.findall(r"xdcc (\S+) writes format (\d+) and reads (formats \d+ and \d+)\.", page)
    formats = f"formats {OLDEST_FORMAT} and {FORMAT_VERSION}"
    assert told == [(version("xdcc"), str(FORMAT_VERSION), formats)]
    manifest = json.loads(members_of(saved.read_bytes())["manifest.json"])
    assert manifest["format_version"] == FORMAT_VERSION
    assert manifest["versions"]["xdcc"] == version("xdcc")
    rewrite(saved, lambda manifest, members: manifest.update(format_version=FORMAT_VERSION + 1))
    with pytest.raises(ModelFileError, match=rf"but xdcc {version('xdcc')} reads {formats}\."):
        load_model(saved)


def test_boosters_of_another_xgboost_are_refused(saved):
    def change(manifest, members):
        manifest["versions"]["xgboost"] = "12.3.4"
        name = "boosters/0002.ubj"
        members[name] = members[name].replace(b"multilabel:logistic", b"multilabel:mystical")

    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=r"xgboost 12\.3\.4.*cannot be read by.*mystical"):
        load_model(saved)


def _without(name):
    def change(manifest, members):
        (members if name in members else manifest).pop(name)

    return change


def _with(**entries):
    def change(manifest, members):
        manifest.update(entries)

    return change


def _with_member(name, content):
    def change(manifest, members):
        members[name] = content

    return change


def _with_attribute(name, value):
    def change(manifest, members):
        manifest["objects"][-1]["attributes"][name] = value

    return change


def _with_class(name):
    def change(manifest, members):
        manifest["objects"][-1]["class"] = name

    return change


def _with_part(kind, name, value):
    def change(manifest, members):
        [part] = [entry for entry in manifest["objects"] if entry["class"] == kind]
        part["attributes"][name] = value

    return change


def _without_attribute(name):
    def change(manifest, members):
        del manifest["objects"][-1]["attributes"][name]

    return change


def _of_another_label(manifest, members):
    booster = xgb.Booster(model_file=bytearray(members["boosters/0000.ubj"]))
    X = np.zeros((2, booster.num_features()))
    other = xgb.train({"objective": "binary:logistic"}, xgb.DMatrix(X, [0, 1]), 1)
    members["boosters/0000.ubj"] = bytes(other.save_raw("ubj"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("boosters/0001.ubj"), "differ from its manifest"),
        (_without("arrays/0000.npy"), "differ from its manifest"),
        (_without("manifest.json"), "manifest.json"),
        (_without("versions"), "versions"),
        (_without("format_version"), "format_version"),
        (_without("objects"), "objects"),
        (_without("n_arrays"), "n_arrays"),
        (_with_member("more", b""), "differ from its manifest"),
        (_with(versions=[]), "not a mapping"),
        (_with(format_version=float("nan")), "nan is not a whole number"),
        (_with(format_version=True), "True is not a whole number"),
        (_with(format_version="3"), "'3' is not a whole number"),
        (_with(threads=3), "not a list of whole numbers"),
        (_with(threads=["1"]), "not a list of whole numbers"),
        (_with(threads=[1]), "differ from its manifest"),
        (_with(n_arrays=10**12), "number of arrays is 1000000000000"),
        (_with(n_arrays=-1), "number of arrays is -1"),
        (_with(objects={}), "no objects"),
        (_with_class("os.system"), "os.system"),
        (_with_class("PropagationRule"), "has no attribute"),
        (
            _with(objects=[{"class": "EstimatorModels", "attributes": {"estimators": []}}]),
            "not an est",
        ),
        (
            _with(objects=[{"class": "XGBModel", "attributes": {}}]),
            "lacks its feature_types",
        ),
        (_with_attribute("n_wings", 2), "no attribute 'n_wings'"),
        (_with_attribute("predict", "x"), "no attribute 'predict'"),
        (_with_part("InputForm", "n_features", {"pickle": "gASVAAAA"}), "pickle"),
        (_with_part("InputForm", "n_features", "4"), "n_features of an InputForm is a str"),
        (_with_part("InputForm", "n_features", True), "n_features of an InputForm is a bool"),
        (_with_part("InputForm", "n_features", 6), "number of features does not fit"),
        (_with_part("InputForm", "n_features", 0), "n_features does not fit"),
        (_with_part("InputForm", "sparse_zeros", "seven"), "sparse_zeros of an InputForm is a str"),
        (_with_part("InputForm", "is_sparse", None), "is_sparse does not fit"),
        (_with_part("LabelForm", "is_named", 1), "is_named of a LabelForm is an int"),
        (_with_attribute("n_rounds_", 5), "boosters_ does not fit"),
        (_with_attribute("boosters_", []), "boosters_ does not fit"),
        (_with_attribute("boosters_", [[], [], [], []]), "boosters_ does not fit"),
        (_with_attribute("boosters_", [{"booster": 0}]), "is a list with entries of another type"),
        (_with_attribute("boosters_", {"booster": 0}), "boosters_ of a .* is a Booster"),
        (_with_attribute("end_label_", True), "number of features does not fit"),
        (_with_attribute("rule_", None), "rule_ of a DynamicChainClassifier is a NoneType"),
        (
            _with_part("LabelForm", "classes", {"values": {"shape": [0], "entries": []}}),
            "classes does",
        ),
        (_with_part("LabelForm", "classes", 3), "classes of a LabelForm is an int"),
        (_with_attribute("n_estimators", -1), "n_estimators"),
        (_with_attribute("booster_params", {"dict": [["n_wings", 2]]}), "n_wings"),
        (_with_attribute("n_jobs", "many"), "n_jobs"),
        (_with_attribute("max_depth", {"float": "nan"}), "max_depth"),
        (_with_part("PropagationRule", "labels_per_round", 10**8), "rule_ does not fit"),
        (_without_attribute("_input_form"), "lacks its _input_form"),
        (_without_attribute("boosters_"), "lacks its boosters_"),
        (_without_attribute("n_estimators"), "lacks its n_estimators"),
        (_of_another_label, "number of outputs does not fit"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=f"cannot be read by xdcc.*{message}"):
        load_model(saved)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("[" * 200_000, "RecursionError"),
        ('{"versions": {}, "a": ' * 200_000, "RecursionError"),
        ("[]", "not a mapping"),
        ("7", "not a mapping"),
        ("{", "JSON"),
        ("1" * 5000, "ValueError"),
        ("\udcff", "Unicode"),
        ('{"versions": {}, "format_version": NaN}', "nan is not a whole number"),
        (" " * (2**25 + 1), "times its own|33554433 bytes"),
    ],
    ids=lambda value: value[:20],
)
def test_another_manifest_is_refused(tmp_path, manifest, message):
    path = tmp_path / "model"
    path.write_bytes(pack({"manifest.json": manifest.encode("utf-8", "surrogateescape")}))
    with pytest.raises(ModelFileError, match=f"cannot be read by xdcc.*({message})"):
        load_model(path)


def test_a_zip_bomb_takes_no_memory(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", " " * 2**26)
        archive.comment = b"xdcc model sha256:" + b"0" * 64
    content = buffer.getvalue()[:-64]
    path = tmp_path / "model"
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="more than 100 times its own"):
            load_model(path)
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_a_limit_of_bytes(saved):
    size = len(saved.read_bytes())
    unpacked = sum(map(len, members_of(saved.read_bytes()).values()))
    assert unpacked > size
    load_model(saved, max_bytes=unpacked)
    load_model(saved, max_bytes=np.int64(unpacked))
    with pytest.raises(ModelFileError, match=f"have {unpacked} bytes, more than max_bytes={size}"):
        load_model(saved, max_bytes=size)
    with pytest.raises(ModelFileError, match=f"has more than max_bytes={size - 1} bytes"):
        load_model(saved, max_bytes=size - 1)
    for wrong in (0, -1, 1.5, "1"):
        with pytest.raises(ValueError, match=f"max_bytes={wrong!r} is not a positive whole number"):
            load_model(saved, max_bytes=wrong)


def _ubj_of_brackets(manifest, members):
    members["boosters/0000.ubj"] = b"{L" + (1).to_bytes(8) + b"a" + b"[" * 10**6


def _json_of_brackets(manifest, members):
    members["boosters/0000.ubj"] = b'{"a":' + b"[" * 100_000


def _empty(manifest, members):
    members["boosters/0000.ubj"] = b""


def _child_outside(manifest, members):
    booster = xgb.Booster(model_file=bytearray(members["boosters/0000.ubj"]))
    model = json.loads(booster.save_raw("json"))
    model["learner"]["gradient_booster"]["model"]["trees"][0]["left_children"][0] = 10**8
    members["boosters/0000.ubj"] = json.dumps(model).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_ubj_of_brackets, "a list without its length"),
        (_json_of_brackets, "more than 32 brackets"),
        (_empty, "it is empty"),
        (_child_outside, r"tree 0: left_children\[0\] is 100000000"),
    ],
)
def test_a_booster_is_checked_before_xgboost_reads_it(saved, change, message):
    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=f"cannot be read by xdcc.*not a booster: .*{message}"):
        load_model(saved)


def test_an_array_without_content_takes_no_memory(saved):
    def change(manifest, members):
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (300000000,)}"
        members["arrays/0000.npy"] = (
            b"\x93NUMPY\x01\x00" + bytes([len(header), 0]) + header.encode()
        )

    rewrite(saved, change)
    with pytest.raises(ModelFileError, match=r"shape \(300000000,\) .* has 0 bytes"):
        load_model(saved)


def test_stock_xgboost_raises_an_error_with_instructions(saved, monkeypatch):
    monkeypatch.setattr("xdcc.base.plugin.plugin_version", lambda: None)
    with pytest.raises(PluginMissingError, match="load_model needs the XGBoost of this project"):
        load_model(saved)


def test_a_hand_packed_file_is_read(saved, fitted_chain, rows):
    rewrite(saved, lambda manifest, members: None)
    np.testing.assert_array_equal(
        load_model(saved).predict_proba(rows.X_new),
        fitted_chain("paper").predict_proba(rows.X_new),
    )


def test_what_cannot_be_saved(rows, saved):
    before = saved.read_bytes()
    with pytest.raises(NotFittedError):
        save_model(DynamicChainClassifier(), saved)
    with pytest.raises(TypeError, match=r"estimator of xdcc, not sklearn\.\w+\.\w+\.LogisticReg"):
        save_model(LogisticRegression(), saved)
    with pytest.raises(TypeError, match="to_local"):
        save_model(type("Mine", (MultiLabelXGBClassifier,), {})(), saved)
    model = MultiLabelXGBClassifier(n_estimators=1).fit(rows.X, rows.Y)
    model.note_ = "mine"
    with pytest.raises(TypeError, match="'note_' that the class does not declare"):
        save_model(model, saved)
    del model.note_
    model.evals_result_ = {"validation_0": {"mine": [object()]}}
    with pytest.raises(TypeError, match="evals_result_ holds object"):
        save_model(model, saved)
    model.evals_result_ = []
    with pytest.raises(TypeError, match="evals_result_ of a MultiLabelXGBClassifier is a list"):
        save_model(model, saved)
    model.evals_result_ = {}
    with pytest.raises(ValueError, match="max_depth"):
        save_model(model.set_params(max_depth=-1), saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_older_file(saved, classifier, monkeypatch, step):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space left"):
        save_model(classifier, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
