"""Runs: they go on after interruptions and failures, lose nothing, and show how far they are."""

import io
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console

from experiments.engine.configuration import load_configuration
from experiments.engine.evaluation import Evaluation, Inner
from experiments.engine.plan import groups, records_of_studies
from experiments.engine.progress import Display, TimeLeft
from experiments.engine.records import RecordStore, StorageError
from experiments.engine.runner import RunInterruptedError, Runner
from experiments.engine.task import Task

N_TASKS = 12 + 8
"""Tasks of `tiny`: three methods with two draws on two folds, at most two final models each."""


@pytest.fixture
def small(write_config):
    return load_configuration(write_config())


@pytest.fixture
def one_method(write_config):
    """Two trials and a final model per fold, in a moment."""
    methods = {"BR": {"method": "br", "grid": {"n_estimators": [5], "max_depth": [2, 3]}}}
    return load_configuration(write_config(methods=methods, report=[]))


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "records")


def contents(folder):
    """The content of records that is the same in every run, by their names."""
    found = {}
    for path in folder.glob("*/*.json"):
        record = json.loads(path.read_text())
        del record["run"], record["sha256"]
        found[path.stem] = record
    return found


def test_run_and_nothing_left_to_do(small, store, tiny_run):
    assert len(Runner(store).missing(groups(small))) == N_TASKS
    done, started = RecordStore(tiny_run.records), []
    assert len(tiny_run.started) == len(tiny_run.ended) == len(list(done.read_all()))
    assert all(record["error"] is None for record in done.read_all())
    assert not list(done.folder.glob("*/*.npz"))
    runner = Runner(done, on_start=started.append)
    assert runner.missing(groups(small)) == []
    runner.run(groups(small))
    assert started == []


def test_packed_records_are_not_made_again(small, store, tiny_run):
    shutil.copytree(tiny_run.records, store.folder)
    store.pack(records_of_studies([small]))
    assert store.loose_names() == []
    started = []
    again = Runner(RecordStore(store.folder), on_start=started.append)
    assert again.missing(groups(small)) == []
    again.run(groups(small))
    assert started == []
    assert store.loose_names() == []


def test_failed_record_that_is_packed_is_tried_again(one_method, store):
    Runner(store, time_limit=1e-3).run(groups(one_method))
    store.pack(records_of_studies([one_method]))
    Runner(store, retry_failed=True).run(groups(one_method))
    assert all(record["error"] is None for record in store.read_all())
    assert len(list(store.read_all())) == 6


def test_order_is_that_of_the_configuration(write_config, store):
    config = load_configuration(write_config(tuning=None, report=[]))
    started = []
    Runner(store, n_processes=1, on_start=started.append).run(groups(config))
    wanted = [task for group in groups(config) for task in group.finals]
    assert [task.name for task in started] == list(dict.fromkeys(task.name for task in wanted))


def test_final_model_follows_its_trials(one_method, store):
    started = []
    Runner(store, n_processes=1, on_start=started.append).run(groups(one_method))
    assert [task.fold for task in started] == [0, 0, 0, 1, 1, 1]
    assert [task.inner is None for task in started] == [False, False, True] * 2


def test_number_of_processes_changes_nothing(small, store, tiny_run):
    Runner(store, n_processes=3).run(groups(small))
    assert contents(store.folder) == contents(tiny_run.records)  # of two processes


def test_records_say_how_they_were_made(one_method, store):
    Runner(store).run(groups(one_method))
    for record in store.read_all():
        run = record["run"]
        assert run["train_time"] > 0
        assert run["train_wall_time"] > 0
        assert run["wall_time"] >= run["train_wall_time"]
        assert 20 < run["peak_memory"] < 2000
        assert run["versions"]["xgboost"]
        assert run["machine"]["cores"] == os.cpu_count()


def test_predictions_on_request(one_method, store):
    Runner(store).run(groups(one_method))
    runner = Runner(store, keep_predictions=True)
    assert len(runner.missing(groups(one_method))) == 2, "the final models are trained again"
    runner.run(groups(one_method))
    assert len(list(store.folder.glob("*/*.npz"))) == 2
    assert runner.missing(groups(one_method)) == []


def test_failure_is_recorded_and_the_rest_goes_on(write_config, store):
    grid = {"n_estimators": [5], "max_depth": [2, -3]}
    config = load_configuration(
        write_config(methods={"BR": {"method": "br", "grid": grid}}, report=[])
    )
    Runner(store).run(groups(config))
    failed = [record for record in store.read_all() if record["error"]]
    assert len(failed) == 2
    for record in failed:
        assert record["key"]["params"]["max_depth"] == -3
        assert record["result"] is None
        assert "max_depth" in record["error"]["message"]
        assert "Traceback" in record["error"]["traceback"]
        assert record["run"]["wall_time"] > 0
    finals = [r for r in store.read_all() if r["key"]["inner"] is None]
    assert [r["key"]["params"]["max_depth"] for r in finals] == [2, 2]
    assert Runner(store).missing(groups(config)) == []
    assert len(Runner(store, retry_failed=True).missing(groups(config))) == 2


def kill_first_worker(number):
    """Return a callback that kills the process of the first task, and only that."""
    killed = []

    def kill(task):
        if not killed:
            (worker,) = multiprocessing.active_children()
            killed.append(task.name)
            os.kill(worker.pid, number)

    return kill


def test_crash_of_a_method_is_recorded(one_method, store):
    Runner(store, n_processes=1, on_start=kill_first_worker(signal.SIGKILL)).run(groups(one_method))
    (failed,) = [record for record in store.read_all() if record["error"]]
    assert failed["error"]["message"] == "the process was ended by SIGKILL"
    assert len([r for r in store.read_all() if r["key"]["inner"] is None]) == 2


def test_task_that_was_told_to_end_is_done_next_time(one_method, store):
    runner = Runner(store, n_processes=1, on_start=kill_first_worker(signal.SIGTERM))
    with pytest.raises(RunInterruptedError, match="1 tasks were ended from outside"):
        runner.run(groups(one_method))
    assert all(record["error"] is None for record in store.read_all())
    Runner(store).run(groups(one_method))
    assert len(list(store.read_all())) == 6


def test_time_limit(one_method, store):
    Runner(store, time_limit=1e-3).run(groups(one_method))
    errors = [record["error"] for record in store.read_all()]
    assert errors
    assert {error["type"] for error in errors} == {"Timeout"}
    assert errors[0]["message"] == "ran longer than 0.001 s"


def test_one_run_at_a_time(one_method, store):
    def run_again(task):
        Runner(RecordStore(store.folder)).run(groups(one_method))

    with pytest.raises(StorageError, match="another process is writing"):
        Runner(store, on_start=run_again).run(groups(one_method))


def start(root, config, results, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", "--results", results, "run", config],
        cwd=root,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


@pytest.mark.slow
def test_full_disk(root, write_config, tmp_path, tiny_run):
    """A limit on the size of files stands for the full disk: writing fails in the same place."""
    config = write_config()
    results = tmp_path / "results"
    groups_of_config = list(groups(load_configuration(config)))
    store = RecordStore(results / "records")
    shutil.copytree(tiny_run.records, store.folder)
    before = contents(store.folder)
    one = sorted(store.folder.glob("*/*.json"))[0]
    one.unlink()

    def limit_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    limited = start(root, config, results, preexec_fn=limit_files)
    message = limited.communicate(timeout=300)[1]
    assert limited.returncode == 1
    assert f"cannot write {one}: File too large" in message
    left = contents(store.folder)
    assert left == {name: record for name, record in before.items() if name != one.stem}
    Runner(store).run(groups_of_config)
    assert contents(store.folder) == before


def test_truncated_record_is_redone(one_method, store):
    Runner(store).run(groups(one_method))
    before = contents(store.folder)
    broken = sorted(store.folder.glob("*/*.json"))[2]
    broken.write_text(broken.read_text()[:300])
    messages = []
    again = RecordStore(store.folder, messages.append)
    Runner(again).run(groups(one_method))
    assert contents(store.folder) == before
    assert any(str(broken) in message for message in messages)


def test_interrupt_says_how_to_continue(root, write_config, tmp_path):
    # ten times as many tasks: the run is not over before the interrupt reaches it
    config = write_config(seeds=[*range(10)])
    run = start(root, config, tmp_path / "results")
    until_records(tmp_path / "results" / "records", 2)(run)
    os.killpg(run.pid, signal.SIGINT)  # as the terminal does on Ctrl-C
    message = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert "Stopped. Run the same command to continue." in message
    assert "Traceback" not in message
    left = contents(tmp_path / "results" / "records").values()
    assert len(left) >= 2
    assert all(record["error"] is None for record in left)


def kill_and_continue(root, config, results, waits):
    """Start a run, kill it with all its processes, several times; then let one come to its end."""
    for wait in waits:
        run = start(root, config, results)
        wait(run)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    store = RecordStore(results / "records")
    Runner(store).run(groups(load_configuration(config)))
    return contents(store.folder)


def until_records(folder, number):
    """Return a function that waits until there are that many records, or the run is over."""

    def wait(run):
        while run.poll() is None and len(list(folder.glob("*/*.json"))) < number:
            time.sleep(0.002)

    return wait


def test_killed_run_continues(root, write_config, tmp_path, tiny_run):
    config = write_config()
    folder = tmp_path / "killed" / "records"
    found = kill_and_continue(root, config, tmp_path / "killed", [until_records(folder, 5)])
    assert found == contents(tiny_run.records)


@pytest.mark.slow
def test_ten_random_kills(root, write_config, tmp_path):
    methods = {
        f"XDCC {depth}": {
            "method": "xdcc",
            "params": {"chain_length": 7},
            "grid": {"n_estimators": [20], "max_depth": [depth, depth + 1]},
        }
        for depth in (2, 4, 6)
    }
    config = write_config(
        methods=methods, report=[], datasets=["digits"], evaluation={"type": "k_fold", "folds": 3}
    )
    undisturbed = kill_and_continue(root, config, tmp_path / "undisturbed", [])
    seconds = random.Random(0)
    waits = [lambda run: time.sleep(seconds.uniform(0.5, 5))] * 10
    assert kill_and_continue(root, config, tmp_path / "killed", waits) == undisturbed


def test_worker_ends_with_its_run(root, write_config, tmp_path):
    """A run leaves no workers behind, even if they are not in its process group."""
    methods = {"BR": {"method": "br", "grid": {"n_estimators": [100_000], "max_depth": [6, 7]}}}
    config = write_config(methods=methods, report=[])
    run = start(root, config, tmp_path / "results")
    deadline = time.monotonic() + 60
    while not (workers := _descendants(run.pid)) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(run.pid, signal.SIGKILL)
    run.communicate()
    while any(map(_is_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_is_alive, workers))


def _descendants(pid):
    """Processes that the run's server has forked."""
    found = []
    for child in _children(pid):
        found += _children(child)
    return found


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(number) for number in file.read().split()]
    except FileNotFoundError:
        return []


def _is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def tasks(*kinds):
    return [
        Task(dataset, Evaluation(), 0, Inner(2, 0), method, {"k": k}, 0)
        for k, (dataset, method) in enumerate(kinds)
    ]


def test_time_left():
    a, b, c = ("flags", "br"), ("flags", "cc"), ("yeast", "br")
    todo = tasks(a, a, a, b, c)
    estimate = TimeLeft(todo, n_processes=2)
    assert estimate.seconds() is None
    estimate.done(todo[0], 4.0)
    # two like it; the others are taken for as long: 4 · 4 s by two processes
    assert estimate.seconds() == pytest.approx(8.0)
    estimate.done(todo[3], 2.0)
    # two of 4 s; yeast is unknown, so the mean of the medians, 3 s
    assert estimate.seconds() == pytest.approx((8 + 3) / 2)
    for task in (todo[1], todo[2], todo[4]):
        estimate.done(task, 4.0)
    assert estimate.seconds() == 0


@pytest.mark.parametrize("terminal", [True, False])
def test_display(write_config, tmp_path, terminal):
    grid = {"n_estimators": [5], "max_depth": [2, -1]}
    config = load_configuration(
        write_config(methods={"BR": {"method": "br", "grid": grid}}, report=[])
    )
    store = RecordStore(tmp_path)
    found = list(groups(config))
    runner = Runner(store)
    output = io.StringIO()
    console = Console(file=output, force_terminal=terminal, width=120)
    missing = runner.missing(found)
    with Display("small", found, missing, store, "example_f1", 2, console) as display:
        runner.on_start, runner.on_end = display.start, display.end
        runner.run(found)
    printed = output.getvalue()
    assert "failed: digits-tiny, br, fold 0, inner fold 0" in printed
    assert "left" in printed
    if terminal:
        printed = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", printed)
        assert "F1 so far" in printed
        assert "6/6" in printed
        assert "2 failed" in printed
    else:
        assert "digits-tiny, BR, fold 1: example_f1 0." in printed
        assert "\x1b" not in printed
