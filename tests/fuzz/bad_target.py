"""A target that does all that a target must not do, for the campaign's own tests."""

import os
import signal

from hypothesis import strategies as st

from tests.fuzz.target import Target

VALUES = [*["accept", "refuse", "raise", "silent", "memory"] * 4, "crash"]


def attempt(number: int) -> None:
    value = VALUES[number % len(VALUES)]
    if value == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if value == "memory":
        bytearray(3 * 2**30)
    if value == "raise":
        raise KeyError("what nobody expects")
    if value == "silent":
        raise ValueError
    if value == "refuse":
        raise ValueError("no such value")


TARGET = Target(st.integers(0, 10**9), attempt, (ValueError,))
