"""`experiments/REPORT.md` and the README say what the records in `experiments/results` say."""

import pytest

from experiments.__main__ import RESULTS, main
from experiments.__main__ import ROOT as REPOSITORY

REPORT = REPOSITORY / "experiments" / "REPORT.md"


@pytest.fixture(scope="module")
def made_again(tmp_path_factory):
    """The report that the records give now."""
    folder = tmp_path_factory.mktemp("report")
    assert main(["report", "--output", str(folder)]) == 0
    return folder


def test_report_is_made_from_the_records(made_again):
    assert RESULTS.is_dir()
    assert (made_again / "REPORT.md").read_text() == REPORT.read_text()
