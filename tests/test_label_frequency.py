"""Label frequencies by hand."""

import numpy as np

from xdcc.label_frequency import label_frequency

NAN = np.nan
Y = np.array([[1, 0, NAN], [1, NAN, NAN], [0, 1, NAN], [0, 0, NAN]])


def test_unknown_entries_do_not_count() -> None:
    np.testing.assert_allclose(label_frequency(Y, empty=0.5), [1 / 2, 1 / 3, 0.5])


def test_weights() -> None:
    weight = np.array([3.0, 1.0, 0.0, 4.0])
    np.testing.assert_allclose(label_frequency(Y, weight, empty=0), [4 / 8, 0, 0])


def test_only_some_entries_count() -> None:
    where = np.array([[True, False, True], [False, True, True], [True, True, True], [False] * 3])
    np.testing.assert_allclose(label_frequency(Y, where=where, empty=0.25), [1 / 2, 1, 0.25])
