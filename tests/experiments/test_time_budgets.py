"""The script that measures time budgets: it finds the first booster, and names unknown tables."""

import pytest

from experiments.time_budgets import main, measure


def test_a_booster_is_a_member_before_the_end():
    first, used, loss = measure("large-rare-2k", seconds=2, others=1)
    assert 0 < first < used
    assert 0 < loss < 0.2  # by the frequencies of the labels it is 0.22


def test_unknown_tables_are_named(capsys):
    with pytest.raises(SystemExit):
        main(["large-rare-2k", "nonsense"])
    assert "unknown data sets: nonsense" in capsys.readouterr().err
