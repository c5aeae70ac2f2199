"""The values that a domain accepts, and its description."""

import numpy as np
import pytest

from xdcc.base.domains import Choice, DictOf, Number, OneOrPerLabel, check_domain

SHARE = Number(low=0, high=1, low_open=True)
COUNT = Number(low=1, whole=True)


@pytest.mark.parametrize("value", [1, 0.5, 1e-9, np.float32(0.5), np.int64(1)])
def test_number_accepts(value: object) -> None:
    assert SHARE.accepts(value)


@pytest.mark.parametrize("value", [0, 1.0001, -1, np.nan, True, np.bool_(True), "0.5", None, [0.5]])
def test_number_refuses(value: object) -> None:
    assert not SHARE.accepts(value)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.float32(np.inf), 10**400])
def test_no_number_is_infinite(value: object) -> None:
    assert not Number().accepts(value)
    assert Number().accepts(1e308)


def test_whole_numbers() -> None:
    assert COUNT.accepts(1)
    assert COUNT.accepts(np.int32(5))
    assert not COUNT.accepts(1.0)
    assert not COUNT.accepts(0)


def test_whole_numbers_have_64_bits() -> None:
    assert COUNT.accepts(2**63 - 1)
    assert Number(whole=True).accepts(-(2**63))
    for value in (2**63, np.uint64(2**63), 10**30, 10**400):
        assert not COUNT.accepts(value)
        assert not Number(whole=True).accepts(-int(value) - 1)
    assert Number().accepts(2**63)  # a real number


def test_high_bound_can_be_open() -> None:
    assert not Number(high=1, high_open=True).accepts(1)
    assert Number(high=1, high_open=True).accepts(-5)


def test_choice() -> None:
    domain = Choice(("any", 1))
    assert domain.accepts("any")
    assert domain.accepts(np.int64(1))
    assert not domain.accepts("all")
    assert not domain.accepts(True)
    assert not domain.accepts(1.0)
    assert not domain.accepts(["any"])
    assert not domain.accepts(None)


def test_dict_of() -> None:
    domain = DictOf("weights", SHARE)
    assert domain.accepts({})
    assert domain.accepts({"a": 1, 2: 0.5})
    assert not domain.accepts({"a": 1, "b": 2})
    assert not domain.accepts([("a", 1)])
    assert DictOf("names").accepts({"a": "b"})
    assert not DictOf("names").accepts("a")
    assert str(domain) == "a dict of weights"


def test_one_or_per_label() -> None:
    domain = OneOrPerLabel(SHARE)
    assert domain.accepts(0.5)
    assert domain.accepts([0.5, 1])
    assert domain.accepts((0.5,))
    assert domain.accepts(np.array([0.5, 1]))
    assert not domain.accepts([0.5, 0])
    assert not domain.accepts([])
    assert not domain.accepts("0.5")


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (SHARE, "a number above 0 and at most 1"),
        (COUNT, "a whole number at least 1"),
        (Number(high=2**31, high_open=True, whole=True), "a whole number below 2**31"),
        (Number(low=0, high=3, whole=True), "a whole number at least 0 and at most 3"),
        (Number(whole=True), "a whole number"),
        (Number(high=2, high_open=True), "a number below 2"),
        (Number(), "a number"),
        (Choice(("any", 1)), "one of 'any', 1"),
        (OneOrPerLabel(SHARE), f"{SHARE}, or a sequence of one per label"),
    ],
)
def test_words(domain: object, words: str) -> None:
    assert str(domain) == words


def test_check_domain_names_parameter_value_and_domain() -> None:
    check_domain("subsample", 0.5, SHARE)
    with pytest.raises(ValueError, match=r"^subsample=2: it must be a number above 0 and"):
        check_domain("subsample", 2, SHARE)
