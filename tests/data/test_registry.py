"""`load_dataset`: where it looks, what it downloads, and how it refuses."""

from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from xdcc.data import (
    ArffError,
    dataset_names,
    load_arff,
    load_dataset,
    load_digits_properties,
    openml,
    pinned,
)
from xdcc.data.content_digest import content_digest, label_digest
from xdcc.data.registry import DATASETS, DatasetInfo

HEADER = (
    "@relation r\n@attribute id {p,q,r}\n@attribute a numeric\n@attribute l {0,1}\n"
    "@attribute m {0,1}\n@data\n"
)
XML = "<labels><label name='m'/><label name='l'/></labels>"
LABELS = np.array([[0, 1], [1, 1], [1, 0]], dtype=np.int8)


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Set up an empty XDCC_DATA and data home and two toy data sets; return the two folders."""
    split = DatasetInfo(2, 1, 1, 2, identifiers=("id",), openml_id=1)
    monkeypatch.setitem(DATASETS, "toy", split)
    monkeypatch.setitem(pinned.LABELS, "toy", label_digest(LABELS))
    monkeypatch.setitem(DATASETS, "single", DatasetInfo(2, 0, 2, 2, has_xml=False))
    folders = tmp_path / "data", tmp_path / "home"
    for variable, folder in zip(("XDCC_DATA", "XDCC_DATA_HOME"), folders, strict=True):
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    return folders


@pytest.fixture
def write_toy(places, monkeypatch):
    """Write the files of a data set; they are the published ones then."""

    def write(root, first_value=5):
        folder = _write_toy(root, first_value)
        for file in ("toy-train.arff", "toy-test.arff"):
            content = load_arff(folder / file, folder / "toy.xml").drop_features(["id"])
            monkeypatch.setitem(pinned.CONTENT, file, content_digest(content))
        return folder

    return write


def _write_toy(root, first_value):
    folder = root / "toy"
    folder.mkdir()
    (folder / "toy-train.arff").write_text(f"{HEADER}p,{first_value},1,0\nq,6,0,0\n")
    (folder / "toy-test.arff").write_text(f"{HEADER}r,7,1,1\n")
    (folder / "toy.xml").write_text(XML)
    return folder


@pytest.fixture
def openml_answers(monkeypatch):
    """Let OpenML answer with three samples; return the arguments that it is called with."""
    calls = []

    def fetch_openml(**arguments):
        calls.append(arguments)
        return Bunch(
            data=np.asfortranarray([[0, 5.0], [1, 6.0], [2, 7.0]]),
            target=np.array([["TRUE", "0"], ["FALSE", "1"], ["true", "1"]], dtype=object),
            feature_names=["id", "a"],
            target_names=["l", "m"],
            categories={"id": ["p", "q", "r"]},
        )

    monkeypatch.setattr(openml, "fetch_openml", fetch_openml)
    return calls


@pytest.fixture
def openml_fails(monkeypatch):
    """Let OpenML be out of reach."""

    def fetch_openml(**_):
        raise URLError("no route")

    monkeypatch.setattr(openml, "fetch_openml", fetch_openml)


def test_the_names():
    names = dataset_names()
    assert len(names) == len(set(names)) == 18
    assert names[0] == "digits"
    assert {"emotions", "tmc2007-500", "rcv1-subset1"} < set(names)


def test_the_split_and_the_whole(places, write_toy):
    write_toy(places[0])
    train, test, whole = (load_dataset("toy", split) for split in ("train", "test", None))
    assert_array_equal(train.X, [[5], [6]])
    assert_array_equal(train.Y, [[0, 1], [0, 0]])
    assert_array_equal(test.X, [[7]])
    assert_array_equal(whole.X, [[5], [6], [7]])
    assert_array_equal(whole.Y, [[0, 1], [0, 0], [1, 1]])
    assert whole.label_names == ("m", "l")
    assert whole.name == "toy"
    assert whole.dropped == ("id",)
    assert load_dataset("TOY", "test").n_samples == 1


def test_one_file_without_an_xml(places, monkeypatch):
    (places[0] / "single").mkdir()
    rows = f"{HEADER}p,5,1,0\nq,6,0,0\n".replace("r\n", "'r: -C -2'\n", 1)
    file = places[0] / "single" / "single.arff"
    file.write_text(rows)
    monkeypatch.setitem(pinned.CONTENT, "single.arff", content_digest(load_arff(file)))
    dataset = load_dataset("single")
    assert_array_equal(dataset.X, [[0, 5], [1, 6]])
    assert dataset.label_names == ("l", "m")


def test_xdcc_data_goes_before_the_data_home(places, write_toy, monkeypatch):
    write_toy(places[0], first_value=1)
    assert load_dataset("toy").X[0, 0] == 1
    write_toy(places[1], first_value=2)
    with pytest.raises(ValueError, match=str(places[0])):
        load_dataset("toy")
    monkeypatch.setenv("XDCC_DATA", "")
    assert load_dataset("toy").X[0, 0] == 2


def test_the_data_home_is_in_the_users_home(places, write_toy, tmp_path, monkeypatch):
    monkeypatch.delenv("XDCC_DATA_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "xdcc_data").mkdir()
    write_toy(tmp_path / "xdcc_data")
    assert load_dataset("toy").n_samples == 3


def test_the_digits_need_no_folder(places):
    assert_array_equal(load_dataset("digits", "test").X, load_digits_properties("test").X)


def test_a_download_from_openml(places, openml_answers):
    dataset = load_dataset("toy")
    (arguments,) = openml_answers
    assert arguments["data_id"] == 1
    assert arguments["data_home"] == places[1]
    assert_array_equal(dataset.X, [[5], [6], [7]])
    assert dataset.X.flags.c_contiguous
    assert_array_equal(dataset.Y, [[1, 0], [0, 1], [1, 1]])
    assert dataset.Y.dtype == np.int8
    assert dataset.label_names == ("l", "m")
    assert dataset.dropped == ("id",)


def test_nominal_features_from_openml(openml_answers, tmp_path):
    dataset = openml.fetch("toy", 1, tmp_path)
    assert dataset.feature_types == ("nominal", "numeric")
    assert dataset.categories == (("p", "q", "r"), None)
    assert_array_equal(dataset.X[:, 0], [0, 1, 2])


def test_a_label_from_openml_that_is_not_0_or_1(monkeypatch, tmp_path):
    bunch = Bunch(data=np.ones((1, 1)), target=np.array([["maybe"]], dtype=object))
    monkeypatch.setattr(openml, "fetch_openml", lambda **_: bunch)
    with pytest.raises(ValueError, match="a label is 'maybe'; expected 0, 1, false or true"):
        openml.fetch("toy", 1, tmp_path)


@pytest.mark.parametrize("error", [IncompleteRead(b"", 5), EOFError("compressed file ended")])
def test_download_that_broke_off(places, monkeypatch, error):
    def broken(**keys):
        raise error

    monkeypatch.setattr(openml, "fetch_openml", broken)
    with pytest.raises(FileNotFoundError, match="its download from OpenML broke off") as caught:
        load_dataset("toy")
    assert "Try again, or: Provide toy-train.arff" in str(caught.value)


def test_openml_has_no_split(places, openml_answers):
    with pytest.raises(FileNotFoundError, match="OpenML does not have its split 'train'") as caught:
        load_dataset("toy", "train")
    assert "toy-train.arff, toy.xml in one of the folders" in str(caught.value)
    assert not openml_answers


def test_openml_out_of_reach(places, openml_fails):
    with pytest.raises(FileNotFoundError, match="OpenML cannot be reached") as caught:
        load_dataset("toy")
    message = str(caught.value)
    assert "no route" in message
    assert "Provide toy-train.arff, toy-test.arff, toy.xml in one of the folders" in message
    for folder in places:
        assert str(folder / "toy") in message
    assert "XDCC_DATA" in message


def test_a_data_set_that_openml_does_not_have(places, openml_answers):
    with pytest.raises(FileNotFoundError, match="OpenML does not have it") as caught:
        load_dataset("single")
    assert "Provide single.arff in one of the folders" in str(caught.value)
    assert "downloads: https://" in str(caught.value)
    assert not openml_answers


def test_a_folder_that_lacks_files_is_not_passed_over(places, write_toy, openml_answers):
    folder = write_toy(places[0])
    (folder / "toy.xml").unlink()
    (folder / "toy-test.arff").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks toy-test\.arff and toy\.xml"):
        load_dataset("toy")
    assert not openml_answers


def test_xdcc_data_that_is_no_folder(places, monkeypatch):
    monkeypatch.setenv("XDCC_DATA", str(places[0] / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere, which is no folder"):
        load_dataset("toy")


def test_files_of_another_version(places, write_toy):
    folder = write_toy(places[0])
    (folder / "toy-test.arff").write_text(f"{HEADER}r,7,1,1\nr,7,1,1\n")
    with pytest.raises(ValueError, match="has 4 samples, 1 features and 2 labels; toy has 3, 1"):
        load_dataset("toy")


def test_a_download_of_another_version(places, openml_answers, monkeypatch):
    monkeypatch.setitem(DATASETS, "toy", DatasetInfo(2, 1, 2, 3, openml_id=1))
    with pytest.raises(ValueError, match="OpenML's data set 1 has 3 samples, 2 features and 2 lab"):
        load_dataset("toy")


@pytest.mark.parametrize("split", [None, "test"])
@pytest.mark.parametrize("row", ["r,8,1,1", "r,7,1,0", "r,?,1,1"])
def test_files_of_another_content(places, write_toy, row, split):
    folder = write_toy(places[0])
    assert load_dataset("toy", split).n_samples
    (folder / "toy-test.arff").write_text(f"{HEADER}{row}\n")
    with pytest.raises(ValueError, match="has another content than what was published") as caught:
        load_dataset("toy", split)
    assert str(folder / "toy-test.arff") in str(caught.value)
    assert load_dataset("toy", "train").n_samples == 2


def test_line_ends_comments_and_identifiers_are_no_content(places, write_toy):
    folder = write_toy(places[0])
    text = f"% a copy\n{HEADER}q,7.0, 1,1\n".replace("\n", "\r\n")
    (folder / "toy-test.arff").write_bytes(text.encode())
    assert load_dataset("toy").n_samples == 3


def test_a_download_of_other_labels(places, openml_answers, monkeypatch):
    monkeypatch.setitem(pinned.LABELS, "toy", label_digest(1 - LABELS))
    with pytest.raises(ValueError, match=r"data set 1 \(its labels\) has another content"):
        load_dataset("toy")


def test_every_file_and_every_download_is_pinned():
    files = {
        f"{name}{part}.arff"
        for name, info in DATASETS.items()
        for part in (("-train", "-test") if info.n_test else ("",))
    }
    assert set(pinned.CONTENT) == files
    assert set(pinned.LABELS) == {name for name, info in DATASETS.items() if info.openml_id}


def test_a_malformed_file(places, write_toy):
    folder = write_toy(places[0])
    (folder / "toy-test.arff").write_text(HEADER)
    with pytest.raises(ArffError, match=r"toy-test\.arff, line 6, column 1: no rows"):
        load_dataset("toy")


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("nothing", None, "unknown data set 'nothing'; known are digits, emotions, "),
        ("toy", "validation", "split is 'validation'; expected None, 'train' or 'test'"),
        ("cal500", "train", "cal500 is published in one file and has no split 'train'"),
        ("digits", "all", "split is 'all'; expected None, 'train' or 'test'"),
    ],
)
def test_unknown_names_and_splits(places, name, split, message):
    with pytest.raises(ValueError, match=message):
        load_dataset(name, split)
