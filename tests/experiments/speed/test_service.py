"""The benchmark of the documented service: both kinds of servers answer, and are compared."""

import re

from experiments.speed import service
from xdcc.boosting import MultiLabelXGBClassifier


def test_an_estimator_and_its_compiled_model_are_served_and_compared(monkeypatch, capsys):
    for name, value in {"DATA": "digits", "N_TURNS": 1, "SECONDS": 0.2}.items():
        monkeypatch.setattr(service, name, value)
    service.compare("small", MultiLabelXGBClassifier(n_estimators=3, n_jobs=1))
    *lines, last = capsys.readouterr().out.splitlines()
    for line, kind in zip(lines, ("estimator", "compiled"), strict=True):
        found = re.fullmatch(
            rf"small, {kind}: (\d+) requests a second, median ([\d.]+) ms, p99 ([\d.]+) ms", line
        )
        per_second, median, p99 = map(float, found.groups())
        assert per_second > 0
        assert 0 < median <= p99
        assert median < 40  # an answer is not held back until the client acknowledges its head
    assert re.fullmatch(r"small: [\d.]+ times as many", last)
