"""Some edits pass, none is a finding; a process that ends badly is one, with its command."""

import pytest

from tests.fuzz import many_edits


def test_some_edits(capsys):
    assert many_edits.main(["--edits", "300", "--seed", "3"]) == 0
    edits, accepted, findings = capsys.readouterr().out.split(", ")
    assert (edits, findings) == ("300 edits", "0 findings\n")
    assert 0 < int(accepted.split()[0]) < 300


@pytest.mark.parametrize(
    ("code", "seconds", "status"),
    [("import os; os.abort()", 60, "-6"), ("import time; time.sleep(9)", 0.1, "more than 0.1 s")],
)
def test_a_process_that_ends_badly(capsys, monkeypatch, code, seconds, status):
    monkeypatch.setattr(many_edits, "COMMAND", ["-c", code])
    monkeypatch.setattr(many_edits, "SECONDS", seconds)
    assert many_edits.main(["--edits", "5", "--seed", "3"]) == 1
    said = capsys.readouterr().out
    assert f"--here --seed=3 --edits=5 ended with {status}" in said
    assert said.endswith("5 edits, 0 accepted, 1 findings\n")
