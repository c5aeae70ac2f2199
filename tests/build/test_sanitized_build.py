"""The build of ``develop.py --sanitize`` trains random settings without a report."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "third_party" / "xgboost"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sanitizers"),
    [("address", "address,undefined,float-cast-overflow"), ("thread", "thread")],
)
def test_random_settings(tmp_path: Path, kind: str, sanitizers: str) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=True)  # with the packages of this one, but for both wheels
    python = environment / "bin" / "python"
    packages = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    here = sysconfig.get_path("purelib")
    Path(packages, "base.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    path = os.pathsep.join(
        [str(python.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    run = {"env": os.environ | {"PATH": path}, "cwd": ROOT, "check": True, "timeout": 3600}
    build = [python, SCRIPTS / "develop.py", "--sanitize", sanitizers, tmp_path / "build"]
    subprocess.run(build, **run)
    # Old versions of ThreadSanitizer fail with address randomisation.
    sanitized = ["setarch", "--addr-no-randomize", python, SCRIPTS / "sanitized.py", kind]
    fuzz = ["-m", "tests.fuzz", "settings", "--inputs", "300", "--minutes", "10"]
    subprocess.run([*sanitized, *fuzz], **run)
