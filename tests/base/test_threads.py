"""The number of threads: control groups of both versions, nested groups, and callers."""

import math
import os
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import xdcc
from xdcc.base import threads
from xdcc.base.threads import available_cpus, n_threads
from xdcc.kernels.threads import cpu_quota

V2 = "30 23 0:26 {root} {mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw"
V1 = "31 23 0:27 {root} {mount} rw - cgroup cgroup rw,{controllers}"
OTHERS = """\
22 1 8:1 / / rw - ext4 /dev/sda1 rw
24 22 0:22 / /proc rw - proc proc rw
"""


class System:
    """Files that stand for ``/proc/self`` and the mounted control groups."""

    def __init__(self, folder: Path) -> None:
        self.mount = folder / "cgroup"
        self.process = folder / "self"
        self.process.mkdir()

    def is_in(self, lines: str, *mounts: str, root: str = "/", **names: Any) -> "System":
        (self.process / "cgroup").write_text(lines)
        named = {"root": root, "mount": str(self.mount).replace(" ", r"\040")} | names
        listed = "\n".join(mount.format_map(named) for mount in mounts)
        (self.process / "mountinfo").write_text(OTHERS + listed + "\n")
        return self

    def v2(self, group: str, limit: str) -> "System":
        return self._write(group, {"cpu.max": limit})

    def v1(self, group: str, quota: str, period: str = "100000") -> "System":
        return self._write(group, {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": period})

    def _write(self, group: str, files: dict[str, str]) -> "System":
        folder = self.mount / group
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content)
        return self

    @property
    def quota(self) -> float:
        return cpu_quota(str(self.process))


@pytest.fixture(params=["plain", "with a space"])
def system(tmp_path: Path, request: pytest.FixtureRequest) -> System:
    folder = tmp_path / request.param
    folder.mkdir()
    return System(folder)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"": "max 100000\n", "a": "max 100000\n", "a/b": "150000 100000\n"}, 1.5),
        ({"": "max 100000\n", "a": "50000 100000\n", "a/b": "max 100000\n"}, 0.5),
        ({"a": "300000 100000\n", "a/b": "400000 100000\n"}, 3),
        ({"": "200000 100000", "a": "max 100000", "a/b": "max 100000"}, 2),
        ({"a/b/c": "100000 100000", "other": "100000 100000"}, math.inf),
        ({"a/b": "max 100000\n"}, math.inf),
        ({}, math.inf),
    ],
)
def test_version_2(system: System, limits: dict[str, str], expected: float) -> None:
    system.is_in("0::/a/b\n", V2)
    for group, limit in limits.items():
        system.v2(group, limit)
    assert system.quota == expected


@pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct", "cpuacct,cpu"])
@pytest.mark.parametrize(
    ("quotas", "expected"),
    [
        ({"": "-1\n", "a": "-1\n", "a/b": "150000\n"}, 1.5),
        ({"": "-1\n", "a": "50000\n", "a/b": "-1\n"}, 0.5),
        ({"": "-1\n", "a": "-1\n", "a/b": "-1\n"}, math.inf),
        ({"": "200000"}, 2),
    ],
)
def test_version_1(
    system: System, controllers: str, quotas: dict[str, str], expected: float
) -> None:
    groups = f"5:cpuset:/elsewhere\n4:{controllers}:/a/b\n1:name=systemd:/a:b\n0::/\n"
    system.is_in(groups, V1, controllers=controllers)
    for group, quota in quotas.items():
        system.v1(group, quota)
    assert system.quota == expected


def test_a_container_that_shows_a_part_of_the_hierarchy(system: System) -> None:
    """The container has no namespace of its own: the mount begins at its group."""
    lines = "4:cpu:/docker/1f/inside\n"
    system.is_in(lines, V1, root="/docker/1f", controllers="cpu").v1("inside", "50000")
    assert system.quota == 0.5


def test_the_root_of_a_mount_is_a_whole_name(system: System) -> None:
    system.is_in("0::/docker/1f\n", V2, root="/docker/1").v2("docker/1f", "50000 100000")
    system.v2("f", "10000 100000")
    assert system.quota == 0.5


@pytest.mark.parametrize("group", ["/../other", "/", "/of/the/host"])
def test_a_container_with_another_view_of_its_group(system: System, group: str) -> None:
    system.is_in(f"0::{group}\n", V2).v2("", "50000 100000")
    (system.mount.parent / "other").mkdir()
    (system.mount.parent / "other" / "cpu.max").write_text("10000 100000")
    assert system.quota == 0.5


def test_both_versions(system: System, tmp_path: Path) -> None:
    unified = tmp_path / "unified"
    (unified / "b").mkdir(parents=True)
    (unified / "b" / "cpu.max").write_text("300000 100000")
    mount = V2.replace("{mount}", "{unified}")
    system.is_in("4:cpu:/a\n0::/b\n", V1, mount, controllers="cpu", unified=unified)
    assert system.quota == 3
    assert system.v1("a", "200000").quota == 2


@pytest.mark.parametrize(
    "limit", ["", "max", "50000", "few 100000", "50000 0", "-5 100000", "0 100000", "1 2 3"]
)
def test_invalid_limits_are_ignored(system: System, limit: str) -> None:
    system.is_in("0::/a\n", V2).v2("", "200000 100000").v2("a", limit)
    assert system.quota == 2


def test_missing_and_invalid_files_are_ignored(system: System) -> None:
    assert system.quota == math.inf  # no files
    system.is_in("nonsense\n", V2).v2("", "50000 100000")
    assert system.quota == math.inf
    system.is_in("4:memory:/a\n", V2, V1, "x - cgroup2", controllers="memory")
    assert system.quota == math.inf
    (system.process / "mountinfo").unlink()
    assert system.quota == math.inf


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Say what joblib and the control groups allow."""

    def say(joblib_says: int, quota: float) -> None:
        monkeypatch.setattr("joblib.cpu_count", lambda: joblib_says)
        monkeypatch.setattr(threads, "cpu_quota", lambda: quota)
        threads._look_up.cache_clear()

    yield say
    threads._look_up.cache_clear()


@pytest.mark.parametrize(
    ("joblib_says", "quota", "expected"),
    [(8, math.inf, 8), (8, 0.5, 1), (8, 2.5, 3), (2, 5.0, 2), (8, 1e-9, 1)],
)
def test_the_smallest_limit_applies(
    looked_up: Any, joblib_says: int, quota: float, expected: int
) -> None:
    looked_up(joblib_says, quota)
    assert available_cpus() == expected


def test_limits_are_read_again_after_a_second(
    looked_up: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up(8, math.inf)
    monkeypatch.setattr("time.monotonic", lambda: 100.0)
    assert available_cpus() == 8
    monkeypatch.setattr(threads, "cpu_quota", lambda: 2.0)
    monkeypatch.setattr("time.monotonic", lambda: 101.5)
    assert available_cpus() == 2


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity on this system")
def test_affinity(run_python: Any) -> None:
    code = """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        from xdcc.base.threads import available_cpus, n_threads
        print(available_cpus(), n_threads(None), n_threads(-1), n_threads(-2), n_threads(3))
    """
    result = run_python("-c", textwrap.dedent(code))
    assert result.stdout.split() == ["1", "1", "1", "1", "3"], result.stderr


@pytest.mark.parametrize(
    ("n_jobs", "expected"),
    [(None, 4), (-1, 4), (-2, 3), (-4, 1), (-5, 1), (-100, 1), (1, 1), (9, 9), (np.int64(-2), 3)],
)
def test_n_jobs(
    looked_up: Any, monkeypatch: pytest.MonkeyPatch, n_jobs: Any, expected: int
) -> None:
    looked_up(4, math.inf)
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert n_threads(n_jobs) == expected
    assert n_threads(n_jobs, available=4) == expected


@pytest.mark.parametrize("variable", ["OMP_NUM_THREADS", "OMP_THREAD_LIMIT"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", 1), ("3", 3), ("3,1", 3), (" 2 ", 2), ("8", 4), ("", 4), ("0", 4), ("-2", 4), ("x", 4)],
)
def test_environment_variables_limit_threads(
    looked_up: Any, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: int
) -> None:
    looked_up(4, math.inf)
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setenv(variable, value)
    assert n_threads(None) == n_threads(-1) == expected
    assert n_threads(9) == 9


DATA = xdcc.data.make_multilabel(60, n_labels=3, random_state=0)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("RandomDecisionTreeClassifier", "xdcc.comparators.rdt.classifier"),
        ("SketchedExtraTreesClassifier", "xdcc.forest.classifier"),
        ("BoomerClassifier", "xdcc.comparators.boomer.classifier"),
        ("LaCovaCClassifier", "xdcc.comparators.lacovac.estimator"),
        ("CTBNClassifier", "xdcc.base.side_by_side"),
    ],
)
def test_estimators_use_n_threads(name: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def one(n_jobs: int | None) -> int:
        asked.append(n_jobs)
        return 1

    monkeypatch.setattr(f"{place}.n_threads", one)
    getattr(xdcc, name)(n_jobs=-2).fit(DATA.X, DATA.Y)
    assert set(asked) == {-2}


def test_folds_use_n_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "xdcc.decision.out_of_fold.n_threads", lambda n_jobs: asked.append(n_jobs) or 1
    )
    tree = DecisionTreeClassifier(max_depth=2)
    xdcc.TunedDecisionClassifierCV(tree, cv=2).fit(DATA.X, DATA.Y)
    xdcc.TunedDecisionClassifierCV(tree, cv=2, n_jobs=-2).fit(DATA.X, DATA.Y)
    assert asked == [None, -2]
