"""pip can read the index page of the wheels."""

import subprocess
import sys
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "wheel_index.py"


def _wheel(folder, name, version, requires=""):
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return wheel


def _make(site, *wheels):
    return subprocess.run(
        [sys.executable, SCRIPT, site, *wheels], capture_output=True, text=True, check=False
    )


def _download(site, wanted, to):
    command = [sys.executable, "-m", "pip", "download", "--isolated", "--no-cache-dir"]
    index = ["--index-url", (site / "simple").as_uri(), "--dest", str(to)]
    return subprocess.run([*command, *index, wanted], capture_output=True, text=True, check=False)


def test_pip_finds_both_wheels(tmp_path):
    ours = _wheel(tmp_path, "xgboost", "3.4.1+xdcc.2")
    wheels = [_wheel(tmp_path, "xdcc", "0.2.0", "Requires-Dist: xgboost>=3.4.1,<3.5\n"), ours]
    site = tmp_path / "site"
    assert _make(site, *wheels).returncode == 0
    done = _download(site, "xdcc", tmp_path / "got")
    assert done.returncode == 0, done.stderr
    assert {file.name for file in (tmp_path / "got").iterdir()} == {wheel.name for wheel in wheels}

    (site / "simple" / "xgboost" / ours.name).write_bytes(b"something else")
    done = _download(site, "xgboost", tmp_path / "refused")
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr


def test_without_wheels(tmp_path):
    assert "usage: python .ci/wheel_index.py <folder" in _make(tmp_path).stderr
