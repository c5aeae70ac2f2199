"""The experiments stand beside the package: scripts, which a test runs as a user does, and the
package `experiments`, which is imported from the repository's root.
"""

import io
import os
import runpy
import subprocess
import sys
import traceback
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml

from experiments.engine.configuration import find_configuration, load_configuration
from experiments.engine.plan import groups
from experiments.engine.records import RecordStore
from experiments.engine.runner import Runner
from experiments.engine.task import Task
from xdcc.data import load_arff, make_multilabel, published
from xdcc.data.published import content_digest
from xdcc.data.registry import DATASETS

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "experiments"


@pytest.fixture
def run_script(tmp_path, monkeypatch, run_python):
    """Run a script or a module of the folder `experiments` in an empty folder.

    Return its status and output. It runs in this process, which has imported everything already, or
    `apart`, in a process of its own.
    """

    def run(script, *args, apart=False):
        is_file = script.endswith(".py")
        file = EXPERIMENTS / script if is_file else find_spec(f"experiments.{script}").origin
        command = [str(file), *map(str, args)]
        if apart:
            return run_python(*command)
        output, errors, returncode = io.StringIO(), io.StringIO(), 0
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.resetwarnings()
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", command)
            if is_file:
                patch.setattr(sys, "path", [str(Path(command[0]).parent), *sys.path])
            patch.setattr(os, "environ", os.environ.copy())
            with redirect_stdout(output), redirect_stderr(errors):
                try:
                    runpy.run_path(command[0], run_name="__main__")
                except SystemExit as end:
                    returncode = end.code if isinstance(end.code, int) else int(bool(end.code))
                    if isinstance(end.code, str):
                        errors.write(end.code)
                except Exception:
                    returncode = 1
                    traceback.print_exc()
        return subprocess.CompletedProcess(
            command, returncode, output.getvalue(), errors.getvalue()
        )

    return run


@pytest.fixture
def write_benchmark(tmp_path, monkeypatch):
    """Write made data as the files of a benchmark, of the same size; return the folder of all.

    They are the published ones then, in this process. Half of the features are nominal, and the
    labels depend on the features and on each other.
    """

    def write(name):
        info = DATASETS[name]
        n_rows = info.n_train + info.n_test
        made = make_multilabel(n_rows, info.n_features, info.n_labels, noise=0.05, random_state=0)
        names = made.feature_names
        types = ["{a,b,c,d}" if k % 2 else "numeric" for k in range(info.n_features)]
        types += ["{0,1}"] * info.n_labels
        nominal = np.array([*"abcd"])[np.digitize(made.X, [-1, 0, 1])]
        X = np.where(np.arange(info.n_features) % 2, nominal, made.X.round(2).astype(str))
        rows = [",".join(row) for row in np.hstack([X, made.Y.astype(int).astype(str)])]
        attributes = zip((*names, *made.label_names), types, strict=True)
        header = [f"@relation {name}", *(f"@attribute {a} {t}" for a, t in attributes), "@data"]
        parts = {name: rows}
        if info.n_test:
            parts = {f"{name}-train": rows[: info.n_train], f"{name}-test": rows[info.n_train :]}
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        for part, lines in parts.items():
            (folder / f"{part}.arff").write_text("\n".join([*header, *lines]))
        labels = "".join(f'<label name="{label}"/>' for label in made.label_names)
        xml = folder / f"{name}.xml"
        xml.write_text(f"<labels>{labels}</labels>")
        for part in parts:
            content = load_arff(folder / f"{part}.arff", xml)
            monkeypatch.setitem(published.CONTENT, f"{part}.arff", content_digest(content))
        return folder.parent

    return write


@pytest.fixture
def flags_data(write_benchmark, monkeypatch):
    """Put made data where `load_dataset` finds them as flags, which has few rows."""
    monkeypatch.setenv("XDCC_DATA", str(write_benchmark("flags")))


@pytest.fixture
def write_config(tmp_path):
    """Write a configuration like `tiny`, with some keys replaced; return its file."""

    def write(name="small", folder=tmp_path, **keys):
        content = yaml.safe_load((EXPERIMENTS / "studies" / "tiny" / "quick.yaml").read_text())
        for key, value in keys.items():
            if value is None:
                del content[key]
            else:
                content[key] = value
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(content, sort_keys=False))
        return file

    return write


@dataclass(frozen=True)
class Run:
    """Records and calls of a run of `tiny`; tests only read them, or copy the records."""

    records: Path
    started: list[Task]
    ended: list[Task]


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory):
    found = Run(tmp_path_factory.mktemp("tiny") / "records", [], [])
    runner = Runner(
        RecordStore(found.records),
        on_start=found.started.append,
        on_end=lambda task, record: found.ended.append(task),
    )
    runner.run(groups(load_configuration(find_configuration("tiny-quick"))))
    return found


@pytest.fixture
def root():
    """Folder from which `python -m experiments` is run."""
    return ROOT
