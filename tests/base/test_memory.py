"""Available memory: the machine's, and what control groups of both versions leave."""

import os
import resource
from pathlib import Path

import pytest

from xdcc.base import memory
from xdcc.base.memory import NotEnoughMemoryError, available_memory, require_memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


class System:
    """Files that stand for ``/proc`` and the mounted control groups."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.groups = folder / "proc", folder / "groups"

    def write(self, file: str, text: str) -> None:
        path = self.proc.parent / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def group(self, name: str, **files: object) -> None:
        for file, content in files.items():
            self.write(f"groups/{name}/memory.{file}", f"{content}\n")

    @property
    def available(self) -> float:
        return available_memory(str(self.proc), str(self.groups))


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


def test_the_machine(system: System) -> None:
    assert system.available == MACHINE
    system.write("proc/meminfo", "MemTotal:  9 kB\nMemFree:  3 kB\nMemAvailable:  7 kB\n")
    assert system.available == 7 * 1024


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ({"a": {"max": 5000, "current": 1000}}, 4000),
        ({"a": {"max": 5000, "current": 1000, "stat": "anon 9\ninactive_file 300"}}, 4300),
        ({"": {"max": 5000, "current": 1000}, "a/b": {"max": "max", "current": 900}}, 4000),
        ({"a": {"max": 5000, "current": 1000}, "a/b": {"max": 2000, "current": 900}}, 1100),
        ({"a": {"max": 5000, "current": 6000}}, 0),
        ({"other": {"max": 5000, "current": 1000}, "a": {"max": "max", "current": 1}}, MACHINE),
        ({"a": {"max": 5000}}, MACHINE),
    ],
)
def test_version_2(system: System, groups: dict[str, dict[str, object]], expected: int) -> None:
    system.write("proc/self/cgroup", "0::/a/b\n")
    for name, files in groups.items():
        system.group(name, **files)
    assert system.available == expected


def test_version_1(system: System) -> None:
    system.write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/a/b\n1:cpu:/c\n0::/\n")
    system.group("memory/a", limit_in_bytes=2**63 - 4096, usage_in_bytes=10)
    assert system.available == MACHINE
    files = {"limit_in_bytes": 3000, "usage_in_bytes": 1000}
    system.group("cpu/c", **files)
    assert system.available == MACHINE
    system.group("memory/a/b", **files, stat="inactive_file 20\ntotal_inactive_file 50")
    assert system.available == 2050
    # A container shows its own group where the host has the topmost one.
    system.group("memory", **{**files, "limit_in_bytes": 2500})
    assert system.available == 1500


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, MACHINE),
        ({resource.RLIMIT_AS: 90 * 1024}, 60 * 1024),
        ({resource.RLIMIT_AS: 90 * 1024, resource.RLIMIT_DATA: 50 * 1024}, 40 * 1024),
        ({resource.RLIMIT_DATA: 5 * 1024}, 0),
    ],
)
def test_limits_of_the_process(
    system: System, monkeypatch: pytest.MonkeyPatch, limits: dict[int, int], expected: int
) -> None:
    def limit(kind: int) -> tuple[int, int]:
        return limits.get(kind, resource.RLIM_INFINITY), resource.RLIM_INFINITY

    monkeypatch.setattr(resource, "getrlimit", limit)
    assert system.available == MACHINE  # without files of the process
    system.write("proc/self/status", "Name:\tpython\nVmSize:\t  30 kB\nVmData:\t  10 kB\n")
    assert system.available == expected


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 3.0 * 2**20)
    require_memory(3 * 2**20, "It", "Wait.")
    with pytest.raises(NotEnoughMemoryError, match=r"^It may take 2\.0 GiB, but 3 MiB are avail"):
        require_memory(2**31, "It", "Wait.")
