"""Parallel loops of the kernels: each iteration runs exactly once.

Kernels import `run_loop` in C. These tests call it through ctypes, with iterations in Python.
"""

import ctypes
import os
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import xdcc.kernels.threads
from xdcc.kernels.threads import cpu_quota, pretend_processors

_ITERATION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int)


def _run_loop():
    capsule = ctypes.py_object(xdcc.kernels.threads.__pyx_capi__["run_loop"])
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    arguments = ctypes.c_int64, ctypes.c_int64, ctypes.c_int, _ITERATION, ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, *arguments)(pointer(capsule, name(capsule)))


RUN_LOOP = _run_loop()


def visits(n, chunk, threads, during=lambda number, thread: None):
    """Run a loop; return (iteration, thread) for each call."""
    seen = []

    def iteration(data, number, thread):
        seen.append((number, thread))
        during(number, thread)

    RUN_LOOP(n, chunk, threads, _ITERATION(iteration), None)
    return seen


def is_complete(seen, n, threads):
    return sorted(number for number, _ in seen) == list(range(n)) and all(
        0 <= thread < threads for _, thread in seen
    )


@settings(deadline=None)
@given(n=st.integers(0, 200), chunk=st.integers(1, 40), threads=st.integers(1, 9))
def test_every_iteration_runs_once(n, chunk, threads):
    assert is_complete(visits(n, chunk, threads), n, threads)


def test_several_threads_run_a_loop():
    if cpu_quota() <= 1 or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two processors")
    idents, n_idle = set(), 0
    end = time.monotonic() + 20
    while len(idents) < 2 and time.monotonic() < end:
        n_idle += n_running() < os.cpu_count()
        visits(8, 1, 2, lambda *_: (idents.add(threading.get_ident()), time.sleep(0.001)))
    if len(idents) < 2 and n_idle < 50:
        pytest.skip("all processors are busy")
    assert len(idents) == 2


def n_running():
    """Count the threads of all processes that run or want to."""
    return int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])


def test_concurrent_iterations_have_different_thread_numbers():
    busy, wrong = [False] * 4, []

    def during(number, thread):
        wrong.append(busy[thread])
        busy[thread] = True
        time.sleep(0.0005)
        busy[thread] = False

    visits(60, 3, 4, during)
    assert not any(wrong)


@pytest.mark.parametrize("outer", [1, 2])
def test_loops_within_loops(outer):
    inner = []
    seen = visits(4, 1, outer, lambda *_: inner.append(visits(20, 3, 3)))
    assert is_complete(seen, 4, outer)
    assert len(inner) == 4
    assert all(is_complete(loop, 20, 3) for loop in inner)


def test_loops_in_many_python_threads():
    def work(_):
        return all(is_complete(visits(30, 4, 3), 30, 3) for _ in range(40))

    with ThreadPoolExecutor(6) as program:
        assert all(program.map(work, range(6)))


def test_loops_beside_busy_processes():
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        for _ in range(300):
            assert is_complete(visits(40, 2, 4), 40, 4)
    finally:
        for other in others:
            other.kill()
            other.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_forked_processes_have_their_own_threads():
    def works():
        return is_complete(visits(50, 2, 3), 50, 3)

    def child_works(then):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about forking a process with threads
            child = os.fork()
        if child == 0:
            os._exit(0 if then() else 1)
        assert works()
        end = time.monotonic() + 60
        while (result := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > end:
                os.kill(child, 9)
            time.sleep(0.01)
        return result[1] == 0

    assert works()
    assert child_works(lambda: works() and child_works(works))


def test_workers_help_as_if_processors_were_idle():
    """Three iterations wait for each other, in one of many trials: workers may come too late."""

    def meet():
        together = threading.Barrier(3)

        def arrive(*_):
            with suppress(threading.BrokenBarrierError):
                together.wait(timeout=1)

        visits(3, 1, 3, arrive)
        return not together.broken

    pretend_processors(3)
    try:
        assert any(meet() for _ in range(60))
    finally:
        pretend_processors(0)
