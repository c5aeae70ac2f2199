"""How often an estimator checks X and Y: once in `fit`, once in a prediction."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression

import xdcc
from xdcc.base import features, labels

X, Y = make_multilabel_classification(
    n_samples=120, n_features=6, n_classes=4, n_labels=2, random_state=5
)
BOOSTER = xdcc.MultiLabelXGBClassifier(n_estimators=6, max_depth=3, n_jobs=1)
CHAIN = xdcc.DynamicChainClassifier(n_estimators=3, chain_length=2, cv=2, n_jobs=1)
ORDER_FREE = xdcc.OrderFreeChainClassifier(BOOSTER, n_estimators=5, cv=2, n_jobs=1)

ESTIMATORS = {
    "booster": BOOSTER,
    "chain": CHAIN,
    "chain of forests": xdcc.RandomDecisionTreeClassifier(n_estimators=5, random_state=0),
    "rules": xdcc.BoomerClassifier(n_rules=5, random_state=0),
    "order-free chain": ORDER_FREE,
    "order-free chain by known labelsets": clone(ORDER_FREE).set_params(
        prediction="subset_accuracy"
    ),
    "order-free chain on a chain": xdcc.OrderFreeChainClassifier(CHAIN, n_estimators=5, cv=2),
    "threshold": xdcc.ThresholdClassifier(BOOSTER, cv=2),
    "thresholds on linear models": xdcc.ThresholdClassifier(
        xdcc.BinaryRelevance(estimator=LogisticRegression()), cv=2, method="per_label"
    ),
    "tuned booster": xdcc.TunedDecisionClassifierCV(BOOSTER, cv=2),
    "tuned booster, one model": xdcc.TunedDecisionClassifierCV(BOOSTER, cv=2, ensemble=False),
    "tuned chain": xdcc.TunedDecisionClassifierCV(CHAIN, cv=2),
    "tuned rules": xdcc.TunedDecisionClassifierCV(
        xdcc.BoomerClassifier(n_rules=5, random_state=0), cv=2, n_jobs=1
    ),
    "tuned order-free chain": xdcc.TunedDecisionClassifierCV(ORDER_FREE, cv=2),
    "threshold of a tuned booster": xdcc.ThresholdClassifier(
        xdcc.TunedDecisionClassifierCV(BOOSTER, cv=2), cv=2
    ),
    "automatic": xdcc.MultiLabelClassifier(cv=2, n_jobs=1),
    "automatic for labelsets": xdcc.MultiLabelClassifier("subset_accuracy", cv=2, n_jobs=1),
}


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[int, int]]:
    """Count the checks of X and of Y since the last call."""
    counts = {"X": 0, "Y": 0}

    def counted(module: Any, name: str, what: str) -> None:
        check = getattr(module, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            counts[what] += 1
            return check(*args, **kwargs)

        monkeypatch.setattr(module, name, counting)

    counted(features, "check_array", "X")
    counted(labels, "_label_values", "Y")

    def count() -> tuple[int, int]:
        found = counts["X"], counts["Y"]
        counts.update(X=0, Y=0)
        return found

    return count


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_once(name: str, form: Callable[[Any], Any], checks: Callable[[], Any]) -> None:
    rows = form(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ESTIMATORS[name].fit(rows, Y)
    assert checks() == (1, 1)
    # Plain arrays without names are read without the check; of frames, only single rows may be.
    of_X = 0 if form is np.asarray else 1
    for predict in (model.predict, model.predict_proba):
        predict(rows)
        assert checks() == (of_X, 0)
    model.score(rows, Y)
    assert checks() == (of_X, 1)


def test_what_is_left_to_another_classifier(checks: Callable[[], Any]) -> None:
    model = xdcc.TunedDecisionClassifierCV(LogisticRegression(), cv=2).fit(X, Y[:, 0])
    assert checks() == (1, 0)  # of its shape
    model.predict(X)
    assert checks() == (0, 0)
