"""What the kernel that grows trees refuses."""

import numpy as np
import pytest

from xdcc.rdt import RandomDecisionTreeClassifier, _forest_growing


def test_more_nodes_than_can_be_numbered(monkeypatch):
    monkeypatch.setattr(_forest_growing, "MAX_NODES", 20)
    X, Y = np.arange(40).reshape(20, 2), np.arange(20)[:, np.newaxis] % 3 == [0, 1]
    RandomDecisionTreeClassifier(n_estimators=10, max_depth=0, random_state=0).fit(X, Y)
    model = RandomDecisionTreeClassifier(n_estimators=10, random_state=0)
    with pytest.raises(ValueError, match="nodes together; no more than 20 can be numbered"):
        model.fit(X, Y)
