"""The script that compares searches in time budgets with single members."""

import numpy as np
import pytest

from experiments import budget_grid
from experiments.budget_grid import Cell, main, precisions, topics


def test_precisions_by_hand():
    Y = np.array([[1, 0, 1], [0, 0, 1]], np.float32)
    Y_proba = np.array([[0.9, 0.5, 0.1], [0.2, 0.3, 0.1]])
    assert precisions(Y, Y_proba, 1).tolist() == [1, 0]
    assert precisions(Y, Y_proba, 2).tolist() == [0.5, 0]


def test_labels_have_words_of_their_own():
    X, Y = topics(800, 300, 10, 30)
    assert X.shape == (800, 300)
    assert 1 <= Y.sum(axis=1).mean() <= 5
    with_label = X[Y[:, 0] == 1].mean(axis=0) - X[Y[:, 0] == 0].mean(axis=0)
    assert with_label.max() > 0.2


def test_a_row_for_each_budget(monkeypatch, capsys):
    monkeypatch.setattr(budget_grid, "_CELLS", (Cell(200, 50, 6, 15, (1.0, 2.0)),))
    main([])
    *_, first, second = capsys.readouterr().out.splitlines()
    for row, budget in ((first, 1.0), (second, 2.0)):
        table, seconds, used, search, *_ = (part.strip() for part in row.strip("|").split("|"))
        assert (table, float(seconds)) == ("200 x 50, 15 words, 6 labels", budget)
        assert 0 < float(used) < 300
        assert float(search) == pytest.approx(0.5, abs=0.5)
