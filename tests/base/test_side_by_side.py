"""Tasks side by side: their results, order, errors, interrupts, limits, and what is left behind."""

import os
import signal
import threading
import time
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import sklearn
import xgboost as xgb
from threadpoolctl import threadpool_info, threadpool_limits

from xdcc.base.side_by_side import (
    end_if_stopped,
    n_at_once,
    one_blas_thread,
    run_all,
    run_in_step,
    side_by_side,
    threads_each,
    with_idle_cores,
)
from xdcc.base.threads import at_least_threads, n_threads, thread_limit, threads_for

COUNTS = (1, 2, 3, 8)
SHORT = 0.002


def slow_first(number):
    time.sleep(SHORT * (10 - number))
    return number


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() <= before  # threads of earlier tests may end
    assert n_at_once() == 1


@pytest.mark.parametrize("count", COUNTS)
def test_results_come_in_the_order_of_the_tasks(count):
    with side_by_side(count):
        assert n_at_once() == count
        assert run_all([lambda number=number: slow_first(number) for number in range(9)]) == list(
            range(9)
        )
        assert run_all([]) == []


def test_tasks_run_at_the_same_time():
    both = threading.Barrier(2, timeout=10)
    with side_by_side(2):
        run_all([both.wait, both.wait])


def test_the_calling_thread_makes_no_step():
    with side_by_side(2):
        assert threading.current_thread() not in run_all([threading.current_thread] * 4)
    assert run_all([threading.current_thread] * 2) == [threading.current_thread()] * 2


@pytest.mark.parametrize("count", COUNTS)
def test_tasks_of_tasks(count):
    def outer(number):
        with side_by_side(5 if count > 1 else 1):  # the threads of the outer block are used
            assert n_at_once() == count
            return sum(run_all([lambda n=n: slow_first(n) for n in range(number)]))

    with side_by_side(count):
        assert run_all([lambda n=n: outer(n) for n in (7, 0, 1, 5)]) == [21, 0, 0, 10]


def test_idle_threads_help_with_tasks_of_tasks():
    both = threading.Barrier(2, timeout=10)
    with side_by_side(2):
        run_all([lambda: run_all([both.wait, both.wait]), lambda: None])


class TaskError(Exception):
    pass


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("depth", [1, 2])
def test_an_exception_ends_the_other_tasks(count, depth):
    error, begun = TaskError("as it was raised"), []

    def fail():
        time.sleep(3 * SHORT)
        raise error

    def go_on(number):
        for _ in range(depth - 1):
            run_all([lambda: time.sleep(SHORT)] * 1000)
        begun.append(number)
        time.sleep(SHORT)

    tasks = [fail, *(lambda number=number: go_on(number) for number in range(500))]
    with side_by_side(count), pytest.raises(TaskError) as raised:
        run_all([lambda: run_all(tasks)] if depth == 2 else tasks)
    assert raised.value is error
    assert len(begun) < 100


def test_a_long_task_ends_with_the_one_beside_it():
    began, steps = threading.Event(), []

    def fails():
        began.wait(10)
        raise OSError("of the other task")

    def long():
        began.set()
        for step in range(2000):
            end_if_stopped()
            steps.append(step)
            time.sleep(SHORT)

    end_if_stopped()  # outside of tasks it does nothing
    with side_by_side(2), pytest.raises(OSError, match="of the other task"):
        run_all([long, fails])
    assert 0 < len(steps) < 2000


def test_a_caught_exception_ends_nothing_else():
    def fails():
        raise TaskError

    def catches():
        with pytest.raises(TaskError):
            run_all([fails, lambda: slow_first(0)])
        return "caught"

    with side_by_side(3):
        assert run_all([catches, lambda: slow_first(1), catches]) == ["caught", 1, "caught"]


@pytest.mark.parametrize("count", [1, 2])
def test_ctrl_c_ends_the_tasks(count):
    begun = Counter()

    def task(number):
        if number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        begun[number] += 1
        time.sleep(10 * SHORT)

    with side_by_side(count), pytest.raises(KeyboardInterrupt):
        run_all([lambda number=number: task(number) for number in range(500)])
    assert len(begun) < 100


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("moves_cheaply", [True, False])
@pytest.mark.parametrize("slow", [0, 4])
def test_steps_are_judged_in_order(count, moves_cheaply, slow):
    lock, made, judged, at_work = threading.Lock(), Counter(), [], set()

    def advance(training, step):
        with lock:
            assert training not in at_work  # one thread at a time
            at_work.add(training)
            assert made[training] == step
            assert step <= len(judged) + (count > 1)
        time.sleep(SHORT if training == slow else 0)
        with lock:
            at_work.remove(training)
            made[training] += 1

    def is_over(step):
        with lock:
            judged.append(step)
            assert min(made[training] for training in range(5)) > step
        return step == 6

    with side_by_side(count):
        run_in_step(5, 100, advance, is_over, moves_cheaply=moves_cheaply)
    assert judged == list(range(7))
    assert max(made.values()) <= 7 + (count > 1)


def test_steps_end_at_their_number():
    with side_by_side(3):
        steps = []
        run_in_step(4, 5, lambda *step: steps.append(step), lambda step: False, moves_cheaply=True)
    assert sorted(steps) == [(training, step) for training in range(4) for step in range(5)]


def test_trainings_stay_in_their_thread_if_moving_is_expensive():
    """There are five: a thread takes over others until it has two at most."""
    threads = {training: [] for training in range(5)}

    def advance(training, step):
        threads[training].append(threading.get_ident())
        time.sleep(SHORT / 4)

    with side_by_side(2):
        run_in_step(5, 60, advance, lambda step: False, moves_cheaply=False)
    for of_training in threads.values():
        moves = sum(a != b for a, b in pairwise(of_training))
        assert moves <= 2
    assert {of_training[-1] for of_training in threads.values()} == {
        thread for of_training in threads.values() for thread in of_training
    }


def test_an_exception_in_a_step():
    def advance(training, step):
        if (training, step) == (1, 3):
            raise TaskError

    for count in COUNTS:
        with side_by_side(count), pytest.raises(TaskError):
            run_in_step(3, 10, advance, lambda step: False, moves_cheaply=True)


def test_threads_of_a_task_are_what_is_left_of_the_cores():
    assert [threads_each(task, 5, 2) for task in range(5)] == [1, 1, 1, 1, 2]
    assert [threads_each(task, 3, 8) for task in range(3)] == [2, 2, 2]
    assert threads_each(0, 1, 8) == 8

    def limits():
        return n_threads(7), threads_for(7)

    def inner():
        return run_all([limits, limits])

    with side_by_side(4):
        assert run_all([limits] * 4) == [(1, 7)] * 4
        assert run_all([limits] * 2) == [(2, 7)] * 2
        assert run_all([inner] * 2) == [[(1, 7)] * 2] * 2
    assert limits() == (7, 7)


def wait_until(condition):
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(SHORT)


def test_idle_cores_go_to_those_who_work():
    """At first all four threads have work; in the end only one has."""

    def threads_now():
        with with_idle_cores():
            return n_threads(7)

    others_end = threading.Event()
    begun = threading.Barrier(4, timeout=10)

    def long_task():
        begun.wait()
        assert threads_now() == 1
        others_end.set()
        wait_until(lambda: threads_now() == 4)
        return n_threads(7)

    def short_task():
        begun.wait()
        assert others_end.wait(10)

    with side_by_side(4):
        assert run_all([long_task, short_task, short_task, short_task])[0] == 1
    assert threads_now() == 7


def test_a_limit_can_be_raised_within(threads):
    def limits():
        return n_threads(7), xgb.core._LIB.omp_get_max_threads()

    before = limits()
    with thread_limit(2):
        with at_least_threads(1):
            assert limits() == (2, 2)
        with at_least_threads(3):
            assert limits() == (3, 3)
            with thread_limit(1):
                assert limits() == (1, 1)
        assert limits() == (2, 2)
    assert limits() == before


def test_xgboost_keeps_to_the_threads_of_a_task(threads):
    """No thread takes more than OpenMP allows, whatever its parameter."""
    seen = []

    def train():
        seen.append(xgb.core._LIB.omp_get_max_threads())

    with side_by_side(2):
        run_all([train, train])
        before = xgb.core._LIB.omp_get_max_threads()
    assert seen == [1, 1]
    with thread_limit(1):
        assert xgb.core._LIB.omp_get_max_threads() == 1
    assert xgb.core._LIB.omp_get_max_threads() == before


def test_threads_have_the_settings_of_the_caller():
    def settings():
        return (
            xgb.get_config()["verbosity"],
            sklearn.get_config()["assume_finite"],
            np.geterr()["over"],
        )

    with (
        xgb.config_context(verbosity=0),
        sklearn.config_context(assume_finite=True),
        np.errstate(over="raise"),
        side_by_side(2),
    ):
        assert run_all([settings, settings]) == [(0, True, "raise")] * 2


def blas_threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_products_use_one_thread_until_the_last_block_ends():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with side_by_side(1, limit_blas=False):
            assert blas_threads() == before
        with side_by_side(1):
            assert blas_threads() == {1}
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def test_workers_that_train_together_keep_the_order(monkeypatch):
    monkeypatch.setattr("xdcc.base.side_by_side.collective.is_distributed", lambda: True)
    with side_by_side(4):
        assert n_at_once() == 1


@pytest.mark.parametrize("n_possible", [0, 1, 2])
def test_threads_that_cannot_be_started_are_done_without(n_possible, monkeypatch):
    start, started = threading.Thread.start, []

    def limited(thread):
        if len(started) == n_possible:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with side_by_side(4):
        assert n_at_once() == max(1, n_possible)
        assert run_all([lambda number=number: slow_first(number) for number in range(4)]) == [
            *range(4)
        ]


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all", 10**6])
def test_bad_numbers_of_threads(n_jobs):
    match = f"n_jobs={n_jobs!r}: it must be a whole number from 1 to .*-1 for all processors"
    with pytest.raises(ValueError, match=match), side_by_side(n_jobs):
        pass
