"""The kept reports and pages are what the tables of results give now."""

import re
from statistics import mean

import pytest
from matplotlib.figure import Figure

from experiments import PAPERS, ROOT, STUDIES
from experiments.__main__ import main
from experiments.report.overview import NOT_KEPT
from experiments.report.page_facts import table_after
from experiments.report.pages import PAGES, TEMPLATES, PageError, filled, read_blocks


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report that the tables give now; its figures are drawn, but not rendered."""
    folder = tmp_path_factory.mktemp("report")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", lambda _, file, **__: file.write("<svg/>"))
        assert main(["report", "--all", "--output", str(folder)]) == 0
    files = [folder / "README.md", *folder.rglob("REPORT.md")]
    return {str(file.relative_to(folder)): file.read_text() for file in files}


def test_reports_are_made_from_the_tables(report):
    kept = ROOT / "experiments"
    files = {str(f.relative_to(kept)) for at in (PAPERS, STUDIES) for f in at.glob("*/REPORT.md")}
    assert files | {"README.md"} == report.keys()
    for name, text in report.items():
        assert (kept / name).read_text() == text, name


def test_pages_are_made_from_the_tables(capsys):
    before = {page: (ROOT / page).read_text() for page in PAGES}
    assert main(["report", "--pages"]) == 0
    assert {page: (ROOT / page).read_text() for page in PAGES} == before
    assert capsys.readouterr().err == ""


def test_every_template_stands_on_one_page():
    placed = [name for page in PAGES for name in read_blocks(ROOT / page)]
    assert sorted(placed) == sorted(read_blocks(TEMPLATES))


@pytest.fixture
def page(tmp_path):
    """Write a page with a text."""

    def write(text):
        (tmp_path / "page.md").write_text(text)
        return tmp_path / "page.md"

    return write


def test_a_block_is_filled_and_the_rest_stays(page):
    file = page("a 1\n<!-- begin: x -->\nold\nlines\n<!-- end: x -->\n{n} b\n")
    templates, facts = {"x": "{n} is {of: 1, 2}\n"}, {"n": "7", "of": lambda text: f"<{text}>"}
    made = "a 1\n<!-- begin: x -->\n7 is <1, 2>\n<!-- end: x -->\n{n} b\n"
    assert filled(file, templates, facts) == made
    file.write_text(made)
    assert filled(file, templates, facts) == made


BROKEN = {
    "no end": ("a\n<!-- begin: x -->\nb\n", "line 2: the block x has no end; write `<!-- end: x"),
    "the next begins": (
        "<!-- begin: x -->\n<!-- begin: y -->\n<!-- end: y -->\n",
        "line 1: the block x has no end",
    ),
    "another end": (
        "\n<!-- begin: x -->\n<!-- end: y -->\n",
        "line 3: no block y begins before this end",
    ),
    "no beginning": ("a\n\n<!-- end: x -->\n", "line 3: no block x begins before this end"),
    "unknown": ("<!-- begin: z -->\n<!-- end: z -->\n", "line 1: .*page_blocks.md has no block z"),
    "unknown fact": ("<!-- begin: y -->\n<!-- end: y -->\n", "block y: unknown fact no_fact"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_blocks(page, fault):
    text, message = BROKEN[fault]
    with pytest.raises(PageError, match=message) as error:
        filled(page(text), {"x": "", "y": "{no_fact}"}, {})
    assert ("page.md" in str(error.value)) == (fault != "unknown fact")


def test_command_names_a_page_without_an_end(page, monkeypatch, capsys):
    file = page("<!-- begin: at-a-glance -->\n")
    monkeypatch.setattr("experiments.report.pages.PAGES", (str(file),))
    assert main(["report", "--pages"]) == 1
    printed = " ".join(capsys.readouterr().err.split())
    assert f"{file}, line 1: the block at-a-glance has no end" in printed


def test_the_overview_has_a_command_for_each_report(report):
    again = table_after(report["README.md"], "## Running the experiments again")
    assert {row.partition("]")[0] + "/REPORT.md" for row in again} == {
        f"[{name}" for name in report if name.endswith("REPORT.md")
    }
    for cells in again.values():
        assert re.fullmatch(r"`python -m experiments run ([a-z0-9-]+-full ?)+`", cells["command"])
        assert cells["CPU hours"] == NOT_KEPT or float(cells["CPU hours"]) > 0


def test_the_overview_has_a_row_for_every_aim(report):
    aims = table_after(report["README.md"], "## Recommended methods")
    assert list(aims) == [
        "subset accuracy",
        "example-based F1",
        "Hamming accuracy",
        "log-loss",
        "an interpretable model",
        "the shortest time",
        "many labels",
        "joint probabilities",
    ]
    for aim in aims.values():
        assert re.fullmatch(r"\d+ data sets, \d+ methods", aim["over"])
        assert re.search(r"± 0\.\d{3}$|\(.* to .*\)$", aim["mean"])
        assert all(aim.values()), "what is not known says so"
    league = table_after(report["studies/league/REPORT.md"], "## Example-based F1 on all")
    best, scores = next(iter(league.items()))
    shown = aims["example-based F1"]
    assert shown["method"] == best
    values = [float(score) for name, score in scores.items() if not name.startswith("rank")]
    assert shown["mean"].startswith(f"example-based F1: {mean(values):.3f}")
