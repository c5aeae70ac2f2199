"""`load_dataset`: search path, downloads, and errors."""

import functools
import gc
import hashlib
import http.server
import re
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pooch
import pytest
import requests
from numpy.testing import assert_array_equal

from xdcc.data import (
    ArffError,
    dataset_names,
    load_arff,
    load_dataset,
    load_digits_properties,
    published,
)
from xdcc.data.published import content_digest
from xdcc.data.registry import DATASETS, DatasetInfo

# Requests leaves closing the socket of a failed download to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

HEADER = (
    "@relation r\n@attribute id {p,q,r}\n@attribute a numeric\n@attribute l {0,1}\n"
    "@attribute m {0,1}\n@data\n"
)
XML = "<labels><label name='m'/><label name='l'/></labels>"
FILES = ["toy-train.arff", "toy-test.arff", "toy.xml"]


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Set up an empty XDCC_DATA and data home, and two toy data sets; return the two folders."""
    monkeypatch.setitem(DATASETS, "toy", DatasetInfo(2, 1, 1, 2, identifiers=("id",)))
    monkeypatch.setitem(DATASETS, "single", DatasetInfo(2, 0, 2, 2, has_xml=False))
    folders = tmp_path / "data", tmp_path / "home"
    for variable, folder in zip(("XDCC_DATA", "XDCC_DATA_HOME"), folders, strict=True):
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    return folders


@pytest.fixture
def write_toy(places, monkeypatch):
    """Write the files of a data set and register them as the published ones."""

    def write(root, first_value=5):
        folder = _write_toy(root, first_value)
        for file in FILES[:2]:
            content = load_arff(folder / file, folder / "toy.xml").drop_features(["id"])
            monkeypatch.setitem(published.CONTENT, file, content_digest(content))
        return folder

    return write


def _write_toy(root, first_value):
    folder = root / "toy"
    folder.mkdir()
    (folder / "toy-train.arff").write_text(f"{HEADER}p,{first_value},1,0\nq,6,0,0\n")
    (folder / "toy-test.arff").write_text(f"{HEADER}r,7,1,1\n")
    (folder / "toy.xml").write_text(XML)
    return folder


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files; those in `cut_off` lack their last bytes."""

    def do_GET(self):
        self.server.asked.append(self.path[1:])
        super().do_GET()

    def copyfile(self, source, outputfile):
        content = source.read()
        outputfile.write(content[:-5] if self.path[1:] in self.server.cut_off else content)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path, write_toy, monkeypatch):
    """Publish the files of a data set on this machine, from `folder`; `asked` lists requests."""
    (tmp_path / "published").mkdir()
    folder = write_toy(tmp_path / "published")
    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.folder, server.asked, server.cut_off = folder, [], set()
        for file in FILES:
            url = f"http://127.0.0.1:{server.server_port}/{file}"
            monkeypatch.setitem(published.URLS, file, url)
            digest = hashlib.sha256((folder / file).read_bytes()).hexdigest()
            monkeypatch.setitem(published.SHA256, file, digest)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
    gc.collect()  # while warnings about open sockets are ignored


def files_in(folder):
    return sorted(file.name for file in folder.glob("**/*") if file.is_file())


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
    monkeypatch.setitem(published.CONTENT, "single.arff", content_digest(load_arff(file)))
    dataset = load_dataset("single")
    assert_array_equal(dataset.X, [[0, 5], [1, 6]])
    assert dataset.label_names == ("l", "m")


def test_xdcc_data_precedes_the_data_home(places, write_toy, monkeypatch):
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


def test_a_download_is_made_once(places, server):
    dataset = load_dataset("toy")
    assert_array_equal(dataset.X, [[5], [6], [7]])
    assert_array_equal(dataset.Y, [[0, 1], [0, 0], [1, 1]])
    assert (dataset.name, dataset.dropped) == ("toy", ("id",))
    assert server.asked == FILES
    assert files_in(places[1]) == sorted(FILES)
    assert not files_in(places[0])
    for file in FILES:
        assert (places[1] / "toy" / file).read_bytes() == (server.folder / file).read_bytes()
    server.asked.clear()
    assert [load_dataset("toy", split).n_samples for split in ("train", "test", None)] == [2, 1, 3]
    assert not server.asked


def test_a_split_is_downloaded_alone(places, server):
    assert_array_equal(load_dataset("toy", "test").X, [[7]])
    assert server.asked == ["toy-test.arff", "toy.xml"]
    assert_array_equal(load_dataset("toy", "train").X, [[5], [6]])
    assert server.asked[2:] == ["toy-train.arff"]


def test_the_data_home_is_made(places, server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDCC_DATA_HOME", str(tmp_path / "not" / "yet"))
    assert load_dataset("toy").n_samples == 3
    assert files_in(tmp_path / "not" / "yet" / "toy") == sorted(FILES)


def test_files_that_are_there_are_not_downloaded(places, server):
    (places[1] / "toy").mkdir()
    file = places[1] / "toy" / "toy-train.arff"
    file.write_text("% a copy\n" + (server.folder / file.name).read_text())
    assert load_dataset("toy").n_samples == 3
    assert server.asked == FILES[1:]
    assert file.read_text().startswith("% a copy")


def test_download_with_wrong_digest(places, server):
    file = server.folder / "toy-test.arff"
    file.write_text(file.read_text() + "% changed\n")
    with pytest.raises(ValueError, match="is not the published file") as caught:
        load_dataset("toy")
    assert str(caught.value) == (
        f"{published.URLS[file.name]} is not the published file with the SHA-256 "
        f"{published.SHA256[file.name]}; the download was discarded"
    )
    assert files_in(places[1]) == ["toy-train.arff"]


def refusal(*words):
    """Expect an error for files that cannot be downloaded."""
    pattern = ".*".join(map(re.escape, ("cannot be downloaded (", *words, "Try again, or provide")))
    return pytest.raises(FileNotFoundError, match=pattern)


def test_file_that_is_no_longer_available(places, server):
    (server.folder / "toy-test.arff").unlink()
    with refusal("404") as caught:
        load_dataset("toy")
    message = str(caught.value)
    assert message.startswith(
        f"{places[1] / 'toy'} lacks toy-train.arff and toy-test.arff and toy.xml, and "
        "toy-test.arff cannot be downloaded ("
    )
    assert message.endswith(
        "Try again, or provide toy-train.arff and toy-test.arff and toy.xml in "
        f"{places[0] / 'toy'} or {places[1] / 'toy'} (see XDCC_DATA and XDCC_DATA_HOME); "
        f"sources: {', '.join(published.URLS[file] for file in FILES)}"
    )


def test_unreachable_server(places, server, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    monkeypatch.setitem(published.URLS, FILES[0], f"http://127.0.0.1:{port}/{FILES[0]}")
    with refusal("refused") as caught:
        load_dataset("toy")
    assert str(caught.value).count("http") == len(FILES)
    assert not files_in(places[1])


def test_incomplete_download(places, server):
    server.cut_off.add("toy-test.arff")
    with refusal("IncompleteRead"):
        load_dataset("toy")
    assert files_in(places[1]) == ["toy-train.arff"]
    server.cut_off.clear()
    assert load_dataset("toy").n_samples == 3


def test_data_home_that_cannot_be_created(places, server, monkeypatch):
    (places[1] / "file").touch()
    monkeypatch.setenv("XDCC_DATA_HOME", str(places[1] / "file"))
    with refusal("file"):
        load_dataset("toy")


@pytest.mark.parametrize("file", FILES)
def test_an_interrupted_download_is_continued(places, server, monkeypatch, file):
    iter_content = requests.Response.iter_content

    def interrupted(response, chunk_size):
        yield next(iter_content(response, 7))
        if response.url.endswith(file):
            raise KeyboardInterrupt
        yield from iter_content(response, chunk_size)

    with monkeypatch.context() as patch:
        patch.setattr(requests.Response, "iter_content", interrupted)
        with pytest.raises(KeyboardInterrupt):
            load_dataset("toy")
    before = FILES[: FILES.index(file)]
    assert files_in(places[1]) == sorted(before)
    server.asked.clear()
    assert load_dataset("toy").n_samples == 3
    assert server.asked == FILES[len(before) :]


def test_two_downloads_at_once(places, server, monkeypatch):
    both = threading.Barrier(2)
    retrieve = pooch.retrieve

    def retrieve_together(*args, **keys):
        both.wait(60)
        return retrieve(*args, **keys)

    monkeypatch.setattr(pooch, "retrieve", retrieve_together)
    with ThreadPoolExecutor(2) as pool:
        loaded = list(pool.map(load_dataset, ["toy", "toy"]))
    assert [dataset.n_samples for dataset in loaded] == [3, 3]
    assert files_in(places[1]) == sorted(FILES)


def test_data_set_without_download(places, monkeypatch):
    monkeypatch.setitem(published.CONVERTED, "single", "another format")
    with pytest.raises(FileNotFoundError) as caught:
        load_dataset("single")
    assert str(caught.value) == (
        f"{places[1] / 'single'} lacks single.arff, for which there is no download (converted from "
        f"another format); provide single.arff in {places[0] / 'single'} or "
        f"{places[1] / 'single'} (see XDCC_DATA and XDCC_DATA_HOME)"
    )


def test_folder_with_missing_files_is_not_skipped(places, server):
    shutil.copytree(server.folder, places[0] / "toy", ignore=lambda *_: FILES[1:])
    with pytest.raises(FileNotFoundError, match=r"lacks toy-test\.arff and toy\.xml$"):
        load_dataset("toy")
    assert not server.asked


def test_xdcc_data_that_is_not_a_folder(places, monkeypatch):
    monkeypatch.setenv("XDCC_DATA", str(places[0] / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere, which is not a folder"):
        load_dataset("toy")


def test_files_of_another_version(places, write_toy):
    folder = write_toy(places[0])
    (folder / "toy-test.arff").write_text(f"{HEADER}r,7,1,1\nr,7,1,1\n")
    with pytest.raises(ValueError, match="has 4 samples, 1 features and 2 labels; toy has 3, 1"):
        load_dataset("toy")


@pytest.mark.parametrize("split", [None, "test"])
@pytest.mark.parametrize("row", ["r,8,1,1", "r,7,1,0", "r,?,1,1"])
def test_files_with_other_content(places, write_toy, row, split):
    folder = write_toy(places[0])
    assert load_dataset("toy", split).n_samples
    (folder / "toy-test.arff").write_text(f"{HEADER}{row}\n")
    with pytest.raises(ValueError, match="is not the published one") as caught:
        load_dataset("toy", split)
    assert str(folder / "toy-test.arff") in str(caught.value)
    assert load_dataset("toy", "train").n_samples == 2


def test_line_ends_comments_and_identifiers_do_not_count(places, write_toy):
    folder = write_toy(places[0])
    text = f"% a copy\n{HEADER}q,7.0, 1,1\n".replace("\n", "\r\n")
    (folder / "toy-test.arff").write_bytes(text.encode())
    assert load_dataset("toy").n_samples == 3


def test_every_file_is_pinned():
    arff = {
        f"{name}{part}.arff"
        for name, info in DATASETS.items()
        for part in (("-train", "-test") if info.n_test else ("",))
    }
    assert set(published.CONTENT) == arff
    files = arff | {f"{name}.xml" for name, info in DATASETS.items() if info.has_xml}
    converted = {f"{name}.{kind}" for name in published.CONVERTED for kind in ("arff", "xml")}
    assert set(published.URLS) == set(published.SHA256) == files - converted
    for file, digest in published.SHA256.items():
        assert re.fullmatch("[0-9a-f]{64}", digest), file
        assert re.search("/[0-9a-f]{40}/", published.URLS[file]), "an address names a commit"


def test_a_malformed_file(places, write_toy):
    folder = write_toy(places[0])
    (folder / "toy-test.arff").write_text(HEADER)
    with pytest.raises(ArffError, match=r"toy-test\.arff, line 6, column 1: no rows"):
        load_dataset("toy")


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("nothing", None, "unknown data set 'nothing'; expected one of digits, emotions, "),
        ("toy", "validation", "split is 'validation'; expected None, 'train' or 'test'"),
        ("cal500", "train", "cal500 has no split 'train'"),
        ("digits", "all", "split is 'all'; expected None, 'train' or 'test'"),
    ],
)
def test_unknown_names_and_splits(places, name, split, message):
    with pytest.raises(ValueError, match=message):
        load_dataset(name, split)
