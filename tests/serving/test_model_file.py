"""`save_model` and `load_model`: equal predictions, equal attributes, and files that are refused.

The digest and the archive are also written by hand here, so that files that `save_model` never
writes can be tested.
"""

import hashlib
import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from xdcc.base.plugin import PluginMissingError
from xdcc.baselines import BinaryRelevance
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier
from xdcc.serving import ModelFileError, load_model, save_model
from xdcc.serving.model_file import FORMAT_VERSION


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _pack(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"xdcc model sha256:" + b"0" * 64
    content = buffer.getvalue()[:-64]
    return content + hashlib.sha256(content).hexdigest().encode()


def _rewrite(path, change):
    """Change the manifest and members of a file, and make its checksum right again."""
    members = _members(path.read_bytes())
    manifest = json.loads(members["manifest.json"])
    change(manifest, members)
    if "manifest.json" in members:
        members["manifest.json"] = json.dumps(manifest).encode()
    path.write_bytes(_pack(members))


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
    model.categories_ = {
        0: np.array(["no", "yes", "ä"], dtype=object),
        1: np.array([10, 20, -3], dtype=np.int8),
        2: np.array([False, True]),
        3: np.array([0.5, np.inf, 0.1]),
        4: np.array(["x", 1, True, None], dtype=object),
    }
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model").categories_
    _same(loaded, model.categories_)
    assert [type(value) for value in loaded[4]] == [str, int, bool, type(None)]


def test_the_same_model_gives_the_same_bytes(saved, fitted_chain, tmp_path):
    save_model(load_model(saved), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == saved.read_bytes()


def test_an_older_file_is_replaced(saved, classifier):
    save_model(classifier, saved)
    assert type(load_model(saved)) is MultiLabelXGBClassifier
    assert os.listdir(saved.parent) == [saved.name]


def test_the_file_has_the_usual_permissions(saved, tmp_path):
    (tmp_path / "other").write_bytes(b"")
    assert saved.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_nothing_in_a_file_is_executable(saved):
    members = _members(saved.read_bytes())
    assert sorted(members) == [
        *(f"boosters/{number:04}.ubj" for number in range(4)),
        "manifest.json",
    ]
    assert b"pickle" not in saved.read_bytes()


# Bad files


def test_every_truncation_is_refused(saved):
    content = saved.read_bytes()
    for length in [*range(0, len(content), 997), *range(len(content) - 90, len(content))]:
        saved.write_bytes(content[:length])
        with pytest.raises(ModelFileError, match=r"truncated|no model file|was altered"):
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
        with pytest.raises(ModelFileError, match=r"truncated|no model file|was altered"):
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
    with pytest.raises(ModelFileError, match="is no model file"):
        load_model(path)


def test_a_right_checksum_over_no_archive_is_refused(tmp_path):
    path = tmp_path / "model"
    content = b"PK nothing xdcc model sha256:"
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(ModelFileError, match=r"unknown versions.*BadZipFile"):
        load_model(path)


def test_a_newer_format_is_refused(saved):
    def change(manifest, members):
        manifest["format_version"] = FORMAT_VERSION + 1
        manifest["versions"]["xdcc"] = "99.0"
        manifest["something"] = "new"

    _rewrite(saved, change)
    with pytest.raises(ModelFileError, match=f"format {FORMAT_VERSION + 1}.*xdcc 99.0"):
        load_model(saved)


def test_boosters_of_another_xgboost_are_refused(saved):
    def change(manifest, members):
        manifest["versions"]["xgboost"] = "12.3.4"
        name = manifest["boosters"][2]
        members[name] = members[name].replace(b"multilabel:logistic", b"multilabel:mystical")

    _rewrite(saved, change)
    with pytest.raises(ModelFileError, match=r"xgboost 12\.3\.4.*cannot be read by.*mystical"):
        load_model(saved)


def _without_a_booster(manifest, members):
    del members["boosters/0001.ubj"]


def _without_a_manifest(manifest, members):
    del members["manifest.json"]


def _with_too_few_boosters(manifest, members):
    manifest["boosters"].pop()


def _with_another_class(manifest, members):
    manifest["class"] = "os.system"


def _with_an_unknown_argument(manifest, members):
    manifest["params"]["n_wings"] = 2


def _with_an_unknown_kind(manifest, members):
    manifest["fitted"]["n_labels_"] = {"pickle": "gASVAAAA"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_a_booster, "boosters/0001.ubj"),
        (_without_a_manifest, "manifest.json"),
        (_with_too_few_boosters, "IndexError"),
        (_with_another_class, "os.system"),
        (_with_an_unknown_argument, "n_wings"),
        (_with_an_unknown_kind, "pickle"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(saved, change, message):
    _rewrite(saved, change)
    with pytest.raises(ModelFileError, match=f"cannot be read by xdcc.*{message}"):
        load_model(saved)


def test_a_stock_xgboost_is_told_what_to_install(saved, monkeypatch):
    monkeypatch.setattr("xdcc.base.plugin.plugin_version", lambda: None)
    with pytest.raises(PluginMissingError, match="load_model needs the XGBoost of this project"):
        load_model(saved)


def test_a_hand_packed_file_is_read(saved, fitted_chain, rows):
    _rewrite(saved, lambda manifest, members: None)
    np.testing.assert_array_equal(
        load_model(saved).predict_proba(rows.X_new),
        fitted_chain("paper").predict_proba(rows.X_new),
    )


@pytest.mark.parametrize("name", ["missing", "missing/model", "."])
def test_wrong_paths(fitted_chain, tmp_path, name):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / name)
    if name != "missing":
        with pytest.raises(ModelFileError, match="cannot be written"):
            save_model(fitted_chain("paper"), tmp_path / name)
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_saved(rows, saved):
    before = saved.read_bytes()
    with pytest.raises(NotFittedError):
        save_model(DynamicChainClassifier(), saved)
    with pytest.raises(TypeError, match=r"not xdcc\.baselines\.\w+\.BinaryRelevance"):
        save_model(BinaryRelevance(), saved)
    model = MultiLabelXGBClassifier(n_estimators=1).fit(rows.X, rows.Y)
    model.note_ = object()
    with pytest.raises(TypeError, match="note_ holds object"):
        save_model(model, saved)
    model.note_ = np.array(["2026-11-21"], dtype="datetime64[D]")
    with pytest.raises(TypeError, match="note_ holds array of datetime64"):
        save_model(model, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_write_leaves_the_older_file(saved, classifier, monkeypatch, step):
    before = saved.read_bytes()

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(ModelFileError, match=r"cannot be written.*No space left"):
        save_model(classifier, saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]
