"""Ctrl-C waits until a block has ended, and is not lost."""

import signal
import threading

import pytest

from xdcc.base.late_interrupt import late_interrupt


@pytest.fixture(autouse=True)
def python_handler():
    """Ctrl-C raises KeyboardInterrupt, also where a job in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted_block(then):
    with late_interrupt():
        signal.raise_signal(signal.SIGINT)
        then()


def test_an_interrupt_waits():
    done = []
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        interrupted_block(lambda: done.append("all"))
    assert done == ["all"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_error_of_the_block_is_the_context_of_the_interrupt():
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted_block(lambda: [][0])
    assert isinstance(caught.value.__context__, IndexError)


def test_blocks_within_blocks():
    done = []

    def two_blocks():
        with late_interrupt():
            interrupted_block(lambda: done.append("the inner one"))
            done.append("the outer one")

    with pytest.raises(KeyboardInterrupt):
        two_blocks()
    assert done == ["the inner one", "the outer one"]


def test_an_own_handler_is_called_and_comes_back():
    seen = []

    def handler(number, frame):
        seen.append(number)

    before = signal.signal(signal.SIGINT, handler)
    try:
        with late_interrupt():
            signal.raise_signal(signal.SIGINT)
            assert not seen
        assert seen == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_the_handler():
    handlers = []

    def work():
        with late_interrupt():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
