"""The pinned sdist: its sources and error messages."""

import functools
import http.server
import os
import re
import tarfile
import threading
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version


@pytest.fixture
def obtain(project, tmp_path):
    """Return a function that obtains the sdist like a build, with the current environment."""

    def obtain():
        pin = project.load("pin").read_pin(project.folder / "upstream.toml")
        return project.load("staging").obtain_sdist(pin, tmp_path, os.environ)

    return obtain


@pytest.fixture
def refusal(project):
    return functools.partial(pytest.raises, project.load("pin").BuildError)


@pytest.fixture
def index(project, tmp_path, monkeypatch):
    """Serve a local package index instead of the given file; yield its folder."""
    pytest.importorskip("pypi_simple", reason="the backend needs pypi-simple")
    folder = tmp_path / "index" / "simple" / "xgboost"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text(f'<a href="{project.sdist.name}">{project.sdist.name}</a>')
    (folder / project.sdist.name).write_bytes(project.sdist.read_bytes())

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=tmp_path / "index")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}/simple")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.delenv("XDCC_XGBOOST_SDIST")
        yield folder
        server.shutdown()


def test_given_file(project, obtain):
    assert obtain() == project.sdist
    assert not project.cache.exists()


@pytest.mark.parametrize("given", ["/nonesuch.tar.gz", "relative.tar.gz"])
def test_given_file_is_missing_or_relative(project, obtain, refusal, tmp_path, monkeypatch, given):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "relative.tar.gz").touch()
    monkeypatch.setenv("XDCC_XGBOOST_SDIST", given)
    with refusal(match=f"^XDCC_XGBOOST_SDIST={given} is not the absolute path of a file; it must"):
        obtain()


def test_given_file_has_another_hash(project, obtain, refusal):
    expected = "0" * 64
    project.set_pin(sha256=expected)
    with refusal(match=rf"wrong SHA-256 of {project.sdist}: expected {expected}, got [0-9a-f]+; X"):
        obtain()


def test_download_is_cached(project, index, obtain, refusal):
    content = project.sdist.read_bytes()
    assert obtain().read_bytes() == content
    (index / project.sdist.name).unlink()
    cached = obtain()
    assert cached.is_relative_to(project.cache)
    assert cached.read_bytes() == content
    cached.write_bytes(b"damaged")
    with refusal(match=r"wrong SHA-256 of .*; delete that file to download it again"):
        obtain()


def test_download_is_not_cached_if_the_cache_is_disabled(project, index, obtain, monkeypatch):
    monkeypatch.setenv("XDCC_BUILD_CACHE", "0")
    project.sdist.unlink()  # it is in the download folder
    assert obtain() == project.sdist
    assert not project.cache.exists()


def test_download_has_another_hash(project, index, obtain, refusal):
    (index / project.sdist.name).write_bytes(b"something else")
    with refusal(match="the package index does not have the pinned file"):
        obtain()
    assert not project.cache.exists()


def test_index_without_the_file(project, index, obtain, refusal):
    (index / "index.html").write_text("")
    with refusal(match="the index has the project but not this file"):
        obtain()


def test_index_without_the_project(project, index, obtain, refusal):
    (index / "index.html").unlink()
    for file in index.iterdir():
        file.unlink()
    index.rmdir()
    with refusal(match="NoSuchProjectError"):
        obtain()


def test_no_network(project, index, obtain, refusal, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple")
    with refusal() as caught:
        obtain()
    message = str(caught.value)
    version = re.escape(project.version)
    assert re.match(rf"cannot download xgboost-{version}.tar.gz \(version {version} of xg", message)
    assert "from http://127.0.0.1:9/simple: ConnectionError" in message
    assert "Set XDCC_XGBOOST_SDIST=<file> to build from a local copy of that file" in message
    assert "secret" not in message
    assert "\n" not in message


def test_archive_with_an_entry_outside_its_folder(project, refusal, tmp_path):
    with tarfile.open(project.sdist, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("../outside"))
    pin = project.load("pin").read_pin(project.folder / "upstream.toml")
    folder = tmp_path / "inside"
    with refusal(match=f"cannot unpack {project.sdist}"):
        project.load("staging").extract_sdist(pin, project.sdist, folder)
    assert not (tmp_path / "outside").exists()


def test_sdist_without_its_root_folder(project, refusal, tmp_path):
    with tarfile.open(project.sdist, "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("elsewhere"))
    pin = project.load("pin").read_pin(project.folder / "upstream.toml")
    with refusal(match=f"does not contain the folder xgboost-{re.escape(project.version)}"):
        project.load("staging").extract_sdist(pin, project.sdist, tmp_path / "inside")


def test_the_real_pin_is_complete(project):
    real = Path(__file__).resolve().parents[2] / "third_party" / "xgboost"
    pin = project.load("pin").read_pin(real / "upstream.toml")
    assert pin.name == "xgboost"
    assert re.fullmatch(r"\d+\.\d+\.\d+", pin.version)
    assert re.fullmatch(r"[0-9a-f]{64}", pin.sha256)
    assert re.fullmatch(r"xdcc\.\d+", pin.local)
    assert pin.local_version == f"{pin.version}+{pin.local}"


def test_the_wheel_replaces_a_stock_one():
    """Our version is the higher one and satisfies the requirement of xdcc."""
    root = Path(__file__).resolve().parents[2]
    upstream = tomllib.loads((root / "third_party" / "xgboost" / "upstream.toml").read_text())
    stock = Version(upstream["version"])
    ours = Version(f"{stock}+{upstream['local']}")
    assert ours > stock
    requirements = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    (required,) = (r for r in map(Requirement, requirements) if r.name == "xgboost")
    assert required.specifier.contains(ours)
