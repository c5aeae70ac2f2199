"""The twin of the random numbers, against numbers of the generator's author."""

import pytest

from xdcc.kernels.reference import Random


def test_bits():
    random = Random(1234567)
    assert [random.draw() for _ in range(5)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
        16408922859458223821,
    ]  # fmt: skip


def test_numbers_follow_from_the_bits():
    assert Random(1234567).uniform() == pytest.approx(6457827717110365317 / 2**64)
    assert Random(1234567).below(10) == 3
