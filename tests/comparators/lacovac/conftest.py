"""Table 1 of the paper: 12 films, the labels crime, horror, drama, the features love, dark."""

import numpy as np
import pytest

_TABLE = """
1 1 1 1 1
1 0 0 0 1
1 0 1 1 1
1 0 0 0 1
1 0 1 1 1
0 1 0 0 1
0 1 1 1 1
0 1 0 0 1
0 1 1 1 1
1 1 1 1 0
1 0 0 0 0
0 1 1 1 0
"""


@pytest.fixture
def toy_data():
    table = np.array([line.split() for line in _TABLE.strip().split("\n")], dtype=int)
    return table[:, 3:], table[:, :3]
