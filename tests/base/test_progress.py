"""Progress bars: how often they are written."""

import io
import sys

import pytest

from xdcc.base.progress import progress_bar


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, _Terminal])
def test_only_a_terminal_sees_every_step(stream, monkeypatch: pytest.MonkeyPatch) -> None:
    written = stream()
    monkeypatch.setattr(sys, "stderr", written)
    clock = iter(range(10**6))
    monkeypatch.setattr("tqdm.std.time", lambda: next(clock) * 0.2)
    for _ in progress_bar(range(200), desc="rules"):
        pass
    n_lines = written.getvalue().count("\r")
    assert (n_lines < 20) == (stream is io.StringIO)
    assert "200/200" in written.getvalue()
