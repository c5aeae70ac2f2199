"""`experiments/REPORT.md` and the README say what the records in `experiments/results` say."""

import pytest

from experiments.__main__ import ROOT as REPOSITORY
from experiments.__main__ import main


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report that the records give now."""
    folder = tmp_path_factory.mktemp("report")
    assert main(["report", "--output", str(folder)]) == 0
    return (folder / "REPORT.md").read_text()


def table_after(text, heading):
    """Rows of the first table after a heading: name → column → cell."""
    lines = iter(text[text.index(heading) :].splitlines())
    rows = [next(line for line in lines if line.startswith("|"))]
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append(line)
    header, _, *body = [
        [cell.replace("*", "").strip() for cell in row.strip("|").split("|")] for row in rows
    ]
    return {name: dict(zip(header[1:], cells, strict=True)) for name, *cells in body}


def test_report_is_made_from_the_records(report):
    assert (REPOSITORY / "experiments" / "REPORT.md").read_text() == report


def test_the_readme_shows_numbers_of_the_report(report):
    shown = table_after((REPOSITORY / "README.md").read_text(), "XDCC's Table 3")
    made = table_after(report, "## Table 3: average ranks\n\nPublished ranks are over ten")
    columns = {
        "example-based F1": "example-based F1 (11 data sets)",
        "subset accuracy": "subset accuracy (11 data sets)",
        "Hamming accuracy": "Hamming accuracy (11 data sets)",
        "training time": "training time (CPU s) (11 data sets)",
    }
    assert len(shown) == 6
    for line, cells in shown.items():
        assert cells == {name: made[line][title] for name, title in columns.items()}, line
