"""Fixtures of the tests of the speed benchmark."""

import pytest

from experiments.speed import data, limits, run
from tests.experiments.speed.cases import TINY


@pytest.fixture
def arrays(tmp_path):
    """Write a data set's arrays; return the file."""

    def write(name=TINY, storage="dense"):
        data.write_arrays(name, storage, 0, tmp_path / "arrays.npz")
        return tmp_path / "arrays.npz"

    return write


@pytest.fixture
def in_parts(tmp_path):
    """Write a data set in parts; return the file."""

    def write(name="synthetic-200x5x3", storage="in parts"):
        data.write_parts(name, storage, 0, tmp_path / "data.npz")
        return tmp_path / "data.npz"

    return write


@pytest.fixture
def compiler():
    try:
        return limits.find_compiler()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def stub(monkeypatch):
    """Replace the measuring by a function of the job; return the list of what was measured."""
    measured = []

    def measure(job, file, goal):
        assert file.exists()
        measured.append((job.data, job.candidate))
        outcome = measure.outcomes.get((job.data, job.candidate), "measured")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome, {"library": measure.library}

    measure.outcomes, measure.library = {}, "a"
    monkeypatch.setattr(run, "measure_in_child", measure)
    return measured, measure
