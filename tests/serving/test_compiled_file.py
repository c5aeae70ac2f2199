"""Files of compiled models: equal predictions, and a `ModelFileError` for every damaged one."""

import hashlib
import json
import struct

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from tests.serving.test_compiled import MEMBERS, colours, short_of_time, tuned
from xdcc.automatic.joint_labelset import JointLabelset
from xdcc.automatic.mixture import Member, second_level
from xdcc.boosting import MultiLabelXGBClassifier
from xdcc.chain import DynamicChainClassifier, OrderFreeChainClassifier
from xdcc.data import make_multilabel
from xdcc.decision import KnownLabelsets, TunedDecisionClassifierCV
from xdcc.serving import CompiledModel, ModelFileError, load_model, save_model
from xdcc.serving.compiled_file import _FORMAT


def saved(model, path, **arguments):
    compiled = CompiledModel(model, **arguments)
    save_model(compiled, path)
    return compiled


def assert_equal(loaded, compiled, X):
    for method in ("decision_function", "predict_proba", "predict"):
        found, expected = getattr(loaded, method)(X), getattr(compiled, method)(X)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("name", MEMBERS)
def test_the_same_predictions(name, tmp_path):
    data = make_multilabel(300, n_labels=5, missing=0.1, random_state=0)
    path = tmp_path / "model"
    compiled = saved(tuned(name).fit(data.X[:150], data.Y[:150]), path, n_jobs=1)
    loaded = load_model(path, compiled=True)
    assert loaded.n_jobs == 1
    assert_equal(loaded, compiled, data.X[150:])
    first = path.read_bytes()
    save_model(loaded, path)
    assert path.read_bytes() == first
    assert_equal(loaded, compiled, data.X[150:])  # of the replaced file


def test_a_single_booster_and_classes(tmp_path):
    data = make_multilabel(100, n_labels=1, random_state=0)
    model = MultiLabelXGBClassifier(n_estimators=3).fit(data.X, np.where(data.Y[:, 0], "a", "b"))
    compiled = saved(model, tmp_path / "model")
    assert_equal(load_model(tmp_path / "model", compiled=True), compiled, data.X)


def test_sparse_rows_and_categories(tmp_path):
    path = tmp_path / "model"
    X = sparse.random_array((100, 20), density=0.3, format="csr", rng=np.random.default_rng(0))
    for zeros in ("missing", "zero"):
        model = MultiLabelXGBClassifier(n_estimators=3, sparse_zeros=zeros)
        compiled = saved(model.fit(X, (X[:, :2].toarray() > 0.2).astype(int)), path)
        assert_equal(load_model(path, compiled=True), compiled, X)
    frame = colours(100, 0)
    model = MultiLabelXGBClassifier(n_estimators=3).fit(frame, frame[["size"]] > 0)
    compiled = saved(model, path)
    loaded = load_model(path, compiled=True)
    assert_equal(loaded, compiled, frame)
    with pytest.raises(ValueError, match="must be a DataFrame as in fit"):
        loaded.predict(np.zeros((1, 3)))


def test_a_mixture_with_a_second_level(tmp_path):
    data = make_multilabel(300, n_labels=3, random_state=3)
    X, Y = data.X[:150].astype(np.float32), data.Y[:150]
    mixed = short_of_time(X, Y)
    mixed.members_ = []
    for name in MEMBERS:
        each = tuned(name).fit(X, Y)
        mixed.members_.append(Member(name, 1 / 3, each.estimators_, each.calibration_))
    features = second_level([member.margins(X, 3) for member in mixed.members_])
    level = tuned("booster").fit(features, Y)
    mixed.stacked_ = [Member("second level", 0.4, level.estimators_, level.calibration_)]
    compiled = saved(mixed, tmp_path / "model")
    assert_equal(load_model(tmp_path / "model", compiled=True), compiled, data.X[150:])


def test_a_joint_labelset(tmp_path):
    data = make_multilabel(300, n_labels=3, random_state=0)
    X, Y = data.X[:150], data.Y[:150]
    model = tuned("booster").fit(X, Y)
    chain = OrderFreeChainClassifier(n_estimators=20, cv=3, n_jobs=1).fit(X, Y)
    known = KnownLabelsets.of(Y.astype(np.float32))
    model.rule_ = JointLabelset(chain.booster_, model.calibration_.constant, known, 0.5)
    compiled = saved(model, tmp_path / "model")
    assert_equal(load_model(tmp_path / "model", compiled=True), compiled, data.X[150:])


def test_chains(tmp_path):
    data = make_multilabel(150, n_labels=3, random_state=0)
    dynamic = DynamicChainClassifier(chain_length=2, n_estimators=3, n_jobs=1)
    order_free = OrderFreeChainClassifier(n_estimators=10, cv=3, n_jobs=1)
    for model in (
        dynamic,
        TunedDecisionClassifierCV(dynamic, cv=2),
        order_free,
        clone(order_free).set_params(prediction="subset_accuracy"),
    ):
        compiled = saved(model.fit(data.X, data.Y), tmp_path / "model")
        assert_equal(load_model(tmp_path / "model", compiled=True), compiled, data.X)


def test_an_estimator_is_compiled(tmp_path):
    data = make_multilabel(100, n_labels=2, random_state=0)
    model = MultiLabelXGBClassifier(n_estimators=3).fit(data.X, data.Y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model", compiled=True)
    assert type(loaded) is CompiledModel
    assert_equal(loaded, CompiledModel(model), data.X)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    data = make_multilabel(100, n_labels=2, random_state=0)
    path = tmp_path_factory.mktemp("compiled") / "model"
    saved(tuned("booster").fit(pd.DataFrame(data.X), data.Y), path)
    return path.read_bytes()


def with_header(content, change):
    """Edit the header, below a right checksum."""
    begin = len(_FORMAT) + 8
    size = struct.unpack("<Q", content[begin - 8 : begin])[0]
    header = json.loads(content[begin : begin + size])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-(begin + len(text)) % 64)
    body = _FORMAT + struct.pack("<Q", len(text)) + text + content[begin + size : -32]
    return body + hashlib.sha256(body).digest()


def layout_of(header):
    return next(each for each in header["objects"] if each["class"] == "Layout")["attributes"]


def array_of(header, name):
    return header["arrays"][layout_of(header)[name]["array"]]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda content: b"", "cannot be read"),
        (lambda content: b"something else" * 10, "not a model file"),
        (lambda content: content.replace(b"model 2\n", b"model 9\n"), "compile the model again"),
        (lambda content: content[:-1], "checksum"),
        (lambda content: content[:40], "checksum"),
        (lambda content: content[:5000] + b"x" + content[5001:], "checksum"),
    ],
)
def test_damaged_files(content, damage, message, tmp_path):
    (tmp_path / "model").write_bytes(damage(content))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model", compiled=True)


def set_entry(header, name, position, value):
    array_of(header, name)[position] = value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(arrays=3), "not a list"),
        (lambda h: h.update(n_jobs=0), "n_jobs"),
        (lambda h: set_entry(h, "root", 1, [10**9]), "begins at"),
        (lambda h: set_entry(h, "root", 1, [-1]), "whole numbers"),
        (lambda h: set_entry(h, "root", 2, 1), "begins at"),
        (lambda h: set_entry(h, "root", 0, "|O"), "type object"),
        (lambda h: set_entry(h, "root", 0, ">i4"), "type"),
        (lambda h: set_entry(h, "root", 0, "<f4"), "root of a Layout"),
        (lambda h: layout_of(h).update(n_labels=3), "does not fit"),
        (lambda h: layout_of(h).update(root=layout_of(h)["leaf_start"]), "Layout"),
        (lambda h: h["objects"].pop(), "holds a"),
    ],
)
def test_headers_that_do_not_fit(content, change, message, tmp_path):
    (tmp_path / "model").write_bytes(with_header(content, change))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model", compiled=True)


@pytest.mark.parametrize(
    ("name", "entry", "value"),
    [
        *(("nodes", (3, column), value) for column in (1, 2, 3) for value in (10**6, -(10**6))),
        ("nodes", (3, 2), 3),
        ("nodes", (0, 0), 0x7FC00000),
        ("root", 1, -(10**6)),
        ("root", 1, 0),
        ("slot_feature", 0, 5),
        ("slot_start", 1, 10**6),
    ],
)
def test_every_index_is_checked(content, name, entry, value, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    compiled = load_model(path, compiled=True)
    array = getattr(compiled._parts.predictor.source.layouts[0], name).copy()
    array[entry] = value
    object.__setattr__(compiled._parts.predictor.source.layouts[0], name, array)
    save_model(compiled, path)
    with pytest.raises(ModelFileError, match="does not fit"):
        load_model(path, compiled=True)


def test_what_load_model_is_asked_for(content, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match="compiled=True"):
        load_model(path)
    with pytest.raises(ModelFileError, match="max_bytes"):
        load_model(path, compiled=True, max_bytes=100)
    assert load_model(path, compiled=True, max_bytes=len(content)).n_labels_ == 2
    with pytest.raises(FileNotFoundError, match="missing"):
        load_model(tmp_path / "missing", compiled=True)
