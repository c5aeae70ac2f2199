"""Imports on first use, by several threads, too."""

import sys
import threading

import pytest

from xdcc.base.lazy_import import LazyModule, on_first_use

SLOW = """
import threading, time
threading.begun.set()
time.sleep(0.2)
number = 7
"""


def test_a_module_that_another_thread_is_importing(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(threading, "begun", threading.Event(), raising=False)
    slow = LazyModule("slow_to_import")
    assert "slow_to_import" not in sys.modules
    first = threading.Thread(target=lambda: slow.number)
    first.start()
    assert threading.begun.wait(60)
    assert slow.number == 7
    first.join()
    del sys.modules["slow_to_import"]


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'load_all'"):
        _ = LazyModule("json").load_all
    with pytest.raises(AttributeError, match=r"module 'xdcc\.base' has no attribute 'Learnt'"):
        on_first_use("xdcc.base", Learned="learned")("Learnt")
