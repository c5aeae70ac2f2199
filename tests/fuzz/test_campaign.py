"""The campaign finds every kind of failure, and finds nothing in a few inputs of each target."""

import itertools
import os
import pickle
import shlex
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import main
from tests.fuzz.campaign import command, read_input, target_addresses, try_target
from tests.fuzz.target import Different, Target, mutated_bytes, mutated_data
from tests.fuzz.worker import sanitizer_report

VALUES = [*["accept", "refuse", "raise", "silent", "memory"] * 4, "crash"]


def misbehave(number: int) -> None:
    """Do what a target must not do."""
    value = VALUES[number % len(VALUES)]
    if value == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if value == "memory":
        bytearray(5 * 2**30)
    if value == "raise":
        raise KeyError("unexpected")
    if value == "silent":
        raise ValueError
    if value == "refuse":
        raise ValueError("no such value")


BAD_TARGET = Target(st.integers(0, 10**9), misbehave, (ValueError,))


def refuse_odd_numbers(number: int) -> None:
    if number == 250:
        signal.raise_signal(signal.SIGKILL)
    if number == 300:
        raise Different(str(number))
    if number % 2:
        raise ValueError(f"{number} is odd")


STREAM_TARGET = Target(lambda seed: itertools.count(seed), refuse_odd_numbers, (ValueError,))


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


def test_inputs_of_a_function_are_tried_in_order_by_one_child_after_the_other():
    result = try_target("tests.fuzz.test_campaign:STREAM_TARGET", seed=10, seconds=60, inputs=500)
    assert (result.tried, result.refused, result.accepted) == (500, 250, 248)
    assert [(finding.kind, finding.value) for finding in result.findings] == [
        ("killed", 250),
        ("Different", 300),
    ]


def test_a_command_tries_an_input_again(tmp_path, monkeypatch, capsys):
    value = {"model": "it's", "params": {"gamma": float("nan"), "rules": ["a"]}}
    text = shlex.split(command("texts", value))
    assert text[:5] == ["python", "-m", "tests.fuzz", "texts", "--again"]
    assert repr(read_input(text[5])) == repr(value)
    for other in b"bytes", ("a", "tuple"):
        assert command("texts", other) is None
    kept = tmp_path / "kept.pickle"
    kept.write_bytes(pickle.dumps(other))
    assert read_input(str(kept)) == other

    tried = []
    monkeypatch.setattr("tests.fuzz.__main__.load_target", lambda _: Target(None, tried.append))
    monkeypatch.setattr("os.environ", dict(os.environ))
    assert main(["settings", "--again", '{"a": 1}', "--times", "3"]) == 0
    assert tried == [{"a": 1}] * 3
    assert capsys.readouterr().out == "{'a': 1}\n"


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
