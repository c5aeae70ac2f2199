"""The campaign finds every kind of failure, and finds nothing in a few inputs of each target."""

import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.campaign import sanitizer_report, target_addresses, try_target
from tests.fuzz.target import Target, mutated_bytes, mutated_data

VALUES = [*["accept", "refuse", "raise", "silent", "memory"] * 4, "crash"]


def misbehave(number: int) -> None:
    """Do what a target must not do."""
    value = VALUES[number % len(VALUES)]
    if value == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if value == "memory":
        bytearray(3 * 2**30)
    if value == "raise":
        raise KeyError("unexpected")
    if value == "silent":
        raise ValueError
    if value == "refuse":
        raise ValueError("no such value")


BAD_TARGET = Target(st.integers(0, 10**9), misbehave, (ValueError,))


def test_every_kind_of_failure_is_a_finding():
    result = try_target("tests.fuzz.test_campaign:BAD_TARGET", seed=0, seconds=60, inputs=60)
    found = {
        finding.kind: VALUES[finding.value % len(VALUES)] for finding in reversed(result.findings)
    }
    assert found == {
        "SIGSEGV": "crash",
        "MemoryError": "memory",
        "KeyError": "raise",
        "ValueError": "silent",
    }
    assert result.tried == 60
    assert result.refused > 0
    assert result.accepted > 0
    assert "refused" in str(result)


def test_the_first_line_of_a_sanitizer_report_is_kept():
    said = "one line\na.cc:67:1: runtime error: signed integer overflow\n  #0 main\n"
    assert sanitizer_report(said) == "a.cc:67:1: runtime error: signed integer overflow"
    assert (
        sanitizer_report("==1==ERROR: AddressSanitizer: heap\n")
        == "==1==ERROR: AddressSanitizer: heap"
    )
    assert sanitizer_report("Killed") == ""


def test_a_target_that_cannot_be_imported_says_why():
    with pytest.raises(
        RuntimeError, match=r"no_target:TARGET cannot be tried: (.|\n)*ModuleNotFoundError"
    ):
        try_target("tests.fuzz.no_target:TARGET", seed=0, seconds=1)


@pytest.mark.parametrize(
    "strategy", [mutated_bytes([b"abcd"]), mutated_data([{"a": [1, {"b": 2}]}])]
)
def test_edits_differ(strategy):
    drawn = set()

    @settings(max_examples=50, database=None)
    @given(strategy)
    def draw(value):
        drawn.add(repr(value))

    draw()
    assert len(drawn) > 25


@pytest.mark.fuzz
@pytest.mark.parametrize("name", sorted(target_addresses()))
def test_no_findings(name):
    result = try_target(target_addresses()[name], seed=1, seconds=60, inputs=300)
    assert result.findings == []
    assert result.tried > 0
